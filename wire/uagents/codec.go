package uagents

import (
	"math"
	"reflect"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
)

// CodecOptions say how payloads are read. Nil means the defaults.
type CodecOptions struct {
	// Lax takes all that a Python agent would take: numbers for strings, "yes"
	// for true, Unix seconds for times, the last of two equal keys. Without it a
	// value must be of the kind that the model says; only a time without offset
	// is taken, as UTC, because real agents send it.
	Lax bool

	// Generated lets Go values of [Generated] types read and write themselves where
	// that gives the same. The model must have been made from their type.
	Generated bool

	MaxSize  int // of a payload in bytes; default 1 MiB
	MaxDepth int // of nested arrays and objects; default 64
}

const (
	defaultMaxSize  = 1 << 20
	defaultMaxDepth = 64
)

// A Codec reads and writes the payloads of one model: JSON text as Python agents
// write it. It is safe for concurrent use.
type Codec struct {
	model spec.Type
	opts  CodecOptions
	plan  *plan
}

// NewCodec makes the codec of a record or alias, which must not change from
// then on.
func NewCodec(model spec.Type, opts *CodecOptions) (*Codec, error) {
	c := &Codec{model: model}
	if opts != nil {
		c.opts = *opts
	}
	if c.opts.MaxSize <= 0 {
		c.opts.MaxSize = defaultMaxSize
	}
	if c.opts.MaxDepth <= 0 {
		c.opts.MaxDepth = defaultMaxDepth
	}
	var err error
	c.plan, err = newPlan(model)
	return c, err
}

// Marshal writes a Go value, which must be of the type that the model was made
// from.
func (c *Codec) Marshal(v any) ([]byte, error) {
	if g, ok := v.(Generated); ok && c.opts.Generated && !isNil(reflect.ValueOf(v)) {
		w := Writer{text: make([]byte, 0, 512), levels: c.opts.MaxDepth}
		if g.WritePayload(&w); !w.failed && len(w.text) <= c.opts.MaxSize {
			return w.text, nil
		}
	}
	e := encoder{decoder: decoder{plan: c.plan, steps: math.MaxInt}, levels: c.opts.MaxDepth}
	value, err := e.encode(reflect.ValueOf(v), c.model)
	if err != nil {
		return nil, err
	}
	text := pyjson.Append(nil, value, pyjson.Spaced)
	if len(text) > c.opts.MaxSize {
		return nil, fault.Errorf(fault.TooLarge, "", "a payload of %d bytes, at most %d are sent", len(text), c.opts.MaxSize)
	}
	return text, nil
}

// Unmarshal reads a payload into a Go value, given by pointer. The value is
// changed only if the whole payload fits.
func (c *Codec) Unmarshal(payload []byte, v any) error {
	dst := reflect.ValueOf(v)
	if dst.Kind() != reflect.Pointer || dst.IsNil() {
		return fault.Errorf(fault.Internal, "", "Unmarshal needs a pointer, not %T", v)
	}
	if g, ok := v.(generatedReader); ok && c.opts.Generated && !c.opts.Lax && len(payload) <= c.opts.MaxSize {
		r := newReader(payload, c.opts.MaxDepth)
		if g.ReadPayload(r); r.OK() && r.depth == 0 {
			return nil
		}
	}
	value, err := c.read(payload)
	if err != nil {
		return err
	}
	fresh := reflect.New(dst.Type().Elem())
	f := filler{decoder{plan: c.plan, steps: c.steps(payload)}}
	if err := f.fill(fresh.Elem(), value, c.model); err != nil {
		return err
	}
	dst.Elem().Set(fresh.Elem())
	return nil
}

// Normalize reads a payload and writes it as the model's own agent would:
// fields in order, defaults filled in, every value in its one spelling. It
// needs no Go type.
func (c *Codec) Normalize(payload []byte) ([]byte, error) {
	value, err := c.read(payload)
	if err != nil {
		return nil, err
	}
	return pyjson.Append(nil, value, pyjson.Spaced), nil
}

func (c *Codec) read(payload []byte) (pyjson.Value, error) {
	if len(payload) > c.opts.MaxSize {
		return pyjson.Value{}, fault.Errorf(fault.TooLarge, "", "a payload of %d bytes, at most %d are read", len(payload), c.opts.MaxSize)
	}
	value, err := pyjson.Parse(payload, &pyjson.Options{
		MaxDepth:         c.opts.MaxDepth,
		UniqueKeys:       !c.opts.Lax,
		NoSurrogateHalfs: !c.opts.Lax,
	})
	if err != nil {
		return pyjson.Value{}, err
	}
	d := decoder{plan: c.plan, lax: c.opts.Lax, steps: c.steps(payload)}
	return d.conform(value, c.model)
}

// steps is how many values may be held against types for a payload. What honest
// models need is a fraction of it; a hostile one might ask for no end of them.
func (c *Codec) steps(payload []byte) int { return 100_000 + 16*len(payload) }
