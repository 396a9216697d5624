package parley

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/spec"
)

// Handlers is where handlers are registered: an [Agent] or a [Protocol].
type Handlers interface{ register(h *handler, err error) }

// A HandlerFunc is a handler without its types, as middleware sees it: in is the
// message, out the reply or nil.
type HandlerFunc func(ctx context.Context, t *Turn, in any) (out any, err error)

// Middleware wraps a handler.
type Middleware func(next HandlerFunc) HandlerFunc

// A HandlerOption changes one handler.
type HandlerOption func(*handler)

// AllowUnsigned lets messages of user addresses, which do not sign, reach the
// handler. [Turn.Proof] tells them apart.
func AllowUnsigned() HandlerOption { return func(h *handler) { h.unsigned = true } }

// Confirm sends a receipt for every message, made by f. It is stored together with
// the message, before the handler runs; to a caller who waits on the connection it
// is the reply.
func Confirm[In, Receipt any](f func(In) Receipt) HandlerOption {
	return func(h *handler) {
		h.confirm = func(in any) any { return f(in.(In)) }
		receipt, err := modelOf(reflect.TypeFor[Receipt]())
		if err != nil {
			h.mistake = err
			return
		}
		h.receipt = receipt
	}
}

// Notice calls f as soon as a message is stored, before its turn comes: for what
// must not wait for an earlier message of the same dialogue.
func Notice[In any](f func(from identity.Address, session string, in In)) HandlerOption {
	return func(h *handler) {
		h.notice = func(from identity.Address, session string, in any) { f(from, session, in.(In)) }
	}
}

// Mend lets f correct the JSON of messages before it is read, and has it read as
// generously as Python agents do. f is called more than once for a message and must
// give the same each time.
func Mend(f func(payload []byte) ([]byte, error)) HandlerOption {
	return func(h *handler) { h.mend = f }
}

// Together registers a handler in several protocols that one agent includes.
func Together(protocols ...*Protocol) Handlers { return together(protocols) }

type together []*Protocol

func (all together) register(h *handler, err error) {
	for _, p := range all {
		p.register(h, err)
	}
}

// A handler is a registered handler without its types.
type handler struct {
	model    *model
	replies  []*model
	unsigned bool
	mistake  error
	bare     bool          // without middleware
	confirm  func(any) any // makes the receipt
	notice   func(from identity.Address, session string, in any)
	receipt  *model // of the receipt, or nil
	mend     func(payload []byte) ([]byte, error)
	run      HandlerFunc
	decode   func(m *model, payload []byte, lax bool) (any, error)
}

// Handle makes the agent answer every In with what f returns: an Out, or one of
// its variants if Out is a sealed interface. An error goes to the peer instead;
// see [Error].
//
// Handlers of different dialogues run concurrently; see [AgentOptions.Serial].
func Handle[In, Out any](to Handlers, f func(context.Context, *Turn, In) (Out, error), opts ...HandlerOption) {
	replies, err := repliesOf(reflect.TypeFor[Out]())
	if reflect.TypeFor[Out]() == reflect.TypeFor[struct{}]() {
		replies, err = nil, nil
	}
	add[In](to, replies, err, func(ctx context.Context, t *Turn, in any) (any, error) {
		out, err := f(ctx, t, in.(In))
		if err != nil || replies == nil {
			return nil, err
		}
		return out, nil
	}, opts)
}

// On makes the agent take every In without answering.
func On[In any](to Handlers, f func(context.Context, *Turn, In) error, opts ...HandlerOption) {
	add[In](to, nil, nil, func(ctx context.Context, t *Turn, in any) (any, error) { return nil, f(ctx, t, in.(In)) }, opts)
}

func add[In any](to Handlers, replies []*model, err error, run HandlerFunc, opts []HandlerOption) {
	h := newHandler[In](run)
	h.replies = replies
	for _, opt := range opts {
		opt(h)
	}
	to.register(h, cmp.Or(err, h.mistake))
}

func newHandler[In any](run HandlerFunc) *handler {
	h := &handler{run: run, decode: decode[In]}
	h.model, h.mistake = modelOf(reflect.TypeFor[In]())
	return h
}

func decode[In any](m *model, payload []byte, lax bool) (any, error) {
	var in In
	err := m.codec(lax).Unmarshal(payload, &in)
	return in, err
}

// read decodes a message for the handler.
func (h *handler) read(payload []byte, lax bool) (any, error) {
	if h.mend != nil {
		mended, err := h.mend(payload)
		if err != nil {
			return nil, err
		}
		payload, lax = mended, true
	}
	return h.decode(h.model, payload, lax)
}

func (a *Agent) register(h *handler, err error) {
	if err != nil {
		a.mistakes = append(a.mistakes, err)
		return
	}
	a.own = append(a.own, h)
}

// A handlerTable holds the handlers of an agent, in the order of their schemas. A
// node may host very many agents, and maps are large.
type handlerTable []*handler

func (t handlerTable) search(schema string) (int, bool) {
	return slices.BinarySearchFunc(t, schema, func(h *handler, schema string) int { return strings.Compare(h.model.digest, schema) })
}

// add reports whether there was no other for the same schema.
func (t *handlerTable) add(h *handler) bool {
	i, taken := t.search(h.model.digest)
	if taken {
		return (*t)[i] == h
	}
	*t = slices.Insert(*t, i, h)
	return true
}

// find returns the handler for a schema, or nil.
func (t handlerTable) find(schema string) *handler {
	if i, ok := t.search(schema); ok {
		return t[i]
	}
	return nil
}

// A Protocol is a set of handlers that an agent includes as one. With rules, it
// handles the messages that the rules give to the agent's role, all of them and
// no others; without, its rules are what its handlers say.
type Protocol struct {
	rules    *spec.Protocol
	fixed    bool // the rules were given
	handlers []*handler
	mistakes []error
}

// NewProtocol makes a protocol without handlers. Rules with messages are
// binding; those with a name and version only are filled by the handlers.
func NewProtocol(rules *spec.Protocol) *Protocol {
	return &Protocol{rules: rules, fixed: len(rules.Messages) > 0}
}

func (p *Protocol) register(h *handler, err error) {
	if err != nil {
		p.mistakes = append(p.mistakes, fmt.Errorf("protocol %s: %w", p.rules.Name, err))
		return
	}
	if h.model == errorModel && slices.ContainsFunc(p.handlers, func(other *handler) bool { return other.model == errorModel }) {
		return // the author's own comes first, the agent's default last
	}
	p.handlers = append(p.handlers, h)
	if !p.fixed {
		p.note(h)
	}
}

// note writes a handler into rules that its handlers make.
func (p *Protocol) note(h *handler) {
	add := func(m *model) string {
		if p.rules.Message(m.record.Name) == nil {
			p.rules.Messages = append(p.rules.Messages, spec.Message{Name: m.record.Name, Body: m.record})
		}
		return m.record.Name
	}
	rule := spec.Rule{Message: add(h.model)}
	for _, reply := range h.replies {
		rule.Replies = append(rule.Replies, add(reply))
	}
	if h.receipt != nil {
		rule.Replies = append(rule.Replies, add(h.receipt))
	}
	if p.rules.Rule(rule.Message) == nil {
		p.rules.Rules = append(p.rules.Rules, rule)
	}
}

// complete checks the handlers against rules that were given.
func (p *Protocol) complete(role string) error {
	if err := p.rules.Check(); err != nil {
		return fmt.Errorf("protocol %s: %w", p.rules.Name, err)
	}
	if !p.fixed {
		return nil
	}
	if len(p.rules.Roles) > 0 && p.rules.Role(role) == nil {
		return fmt.Errorf("protocol %s: Include must name a role of it, not %q", p.rules.Name, role)
	}
	for i := range p.rules.Rules {
		m := p.rules.Message(p.rules.Rules[i].Message)
		handled := slices.ContainsFunc(p.handlers, func(h *handler) bool { return h.model.record.Name == m.Name })
		if p.rules.HandledBy(m, role) && !handled && !isErrorMessage(m) {
			return fmt.Errorf("protocol %s: no handler for %s", p.rules.Name, m.Name)
		}
	}
	for _, h := range p.handlers {
		m := p.rules.Message(h.model.record.Name)
		if m == nil || p.rules.Rule(m.Name) == nil || !p.rules.HandledBy(m, role) {
			return fmt.Errorf("protocol %s: %s is not for the role %q to handle", p.rules.Name, h.model.record.Name, role)
		}
		for _, reply := range h.replies {
			if reply != errorModel && !slices.Contains(p.rules.Rule(m.Name).Replies, reply.record.Name) {
				return fmt.Errorf("protocol %s: %s is no reply to %s", p.rules.Name, reply.record.Name, m.Name)
			}
		}
	}
	return nil
}

// isErrorMessage reports whether a message of some rules is the [ErrorMessage],
// which every agent hears without being told.
func isErrorMessage(m *spec.Message) bool {
	if m.Body == nil || m.Name != errorModel.record.Name {
		return false
	}
	digest, err := spec.Digest(m.Body)
	return err == nil && digest == errorModel.digest
}

func (p *Protocol) digest(role string) (string, error) {
	digest, err := p.rules.Digest(role)
	if err != nil {
		return "", fmt.Errorf("protocol %s: %w", p.rules.Name, err)
	}
	return digest, nil
}
