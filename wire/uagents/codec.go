package uagents

import (
	"reflect"
	"regexp"

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
	model    spec.Type
	opts     CodecOptions
	patterns map[string]*regexp.Regexp
}

// NewCodec makes the codec of a record or alias.
func NewCodec(model spec.Type, opts *CodecOptions) (*Codec, error) {
	c := &Codec{model: model, patterns: make(map[string]*regexp.Regexp)}
	if opts != nil {
		c.opts = *opts
	}
	if c.opts.MaxSize <= 0 {
		c.opts.MaxSize = defaultMaxSize
	}
	if c.opts.MaxDepth <= 0 {
		c.opts.MaxDepth = defaultMaxDepth
	}
	return c, c.compile(model, make(map[spec.Type]bool))
}

// compile prepares the patterns of all strings in a type.
func (c *Codec) compile(t spec.Type, seen map[spec.Type]bool) error {
	if t == nil || seen[t] {
		return nil
	}
	seen[t] = true
	if s, ok := spec.AsScalar(t); ok {
		return c.pattern(s.Limits.Pattern)
	}
	for _, part := range parts(t) {
		if err := c.compile(part.typ, seen); err != nil {
			return fault.In(part.name, err)
		}
	}
	return nil
}

type part struct {
	name string
	typ  spec.Type
}

// parts lists the types that a type is made of.
func parts(t spec.Type) []part {
	var list []part
	switch t := t.(type) {
	case *spec.List:
		return []part{{"", t.Item}}
	case *spec.Map:
		return []part{{"", t.Key}, {"", t.Value}}
	case *spec.Alias:
		return []part{{t.Name, t.Type}}
	case *spec.Tuple:
		for _, item := range t.Items {
			list = append(list, part{"", item})
		}
	case *spec.Union:
		for _, v := range t.Variants {
			list = append(list, part{"", v})
		}
	case *spec.Record:
		for _, f := range t.Fields {
			list = append(list, part{f.Name, f.Type})
		}
	}
	return list
}

// pattern compiles a regular expression, anchored at the start as Python
// agents apply it.
func (c *Codec) pattern(text string) error {
	if text == "" || c.patterns[text] != nil {
		return nil
	}
	re, err := regexp.Compile(`\A(?:` + text + `)`)
	if err != nil {
		return fault.Errorf(fault.Unsupported, "pattern", "%w", err)
	}
	c.patterns[text] = re
	return nil
}

// Marshal writes a Go value, which must be of the type that the model was made
// from.
func (c *Codec) Marshal(v any) ([]byte, error) {
	value, err := encode(reflect.ValueOf(v), c.model)
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
	value, err := c.read(payload)
	if err != nil {
		return err
	}
	fresh := reflect.New(dst.Type().Elem())
	if err := c.fill(fresh.Elem(), value, c.model); err != nil {
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
	d := decoder{codec: c, lax: c.opts.Lax}
	return d.conform(value, c.model)
}
