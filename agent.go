package parley

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	"github.com/parley-agents/parley/dialogue"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/spec"
)

// AgentOptions say how an agent works. Nil means the defaults.
type AgentOptions struct {
	// Key is the agent's identity. An agent without one gets it from the node
	// that hosts it: package run keeps it in the data folder under the name.
	Key *identity.Key

	// Serial handles one message at a time, as Python agents do. Without it the
	// messages of different dialogues are handled concurrently.
	Serial bool

	// MaxConcurrent bounds the handlers that run at once; default 64.
	MaxConcurrent int

	// MaxWaiting bounds the messages that are taken over but not handled yet;
	// default 10,000. Beyond it senders are asked to come back later.
	MaxWaiting int

	// Lax reads payloads as generously as Python agents do; see
	// uagents.CodecOptions.
	Lax bool

	// Endpoints are where peers reach the agent; default those of the node.
	Endpoints []Endpoint
}

const (
	defaultConcurrent = 64
	defaultWaiting    = 10_000
)

// An Agent is an identity with handlers. It is built before it is given to a
// [Node]; mistakes in the building are reported together by [Node.Add].
type Agent struct {
	name       string
	opts       AgentOptions
	own        []*handler // registered on the agent itself: its implicit protocol
	included   []inclusion
	middleware []Middleware
	routes     []Route
	everies    []every
	starts     []func(context.Context, *Turn) error
	stops      []func(context.Context, *Turn) error
	timeouts   []func(context.Context, *Turn, dialogue.Timeout) error
	mistakes   []error

	// Set when the agent is added to a node.
	node     *Node
	key      *identity.Key
	handlers handlerTable
	digests  []string          // of its protocols
	ruled    map[string]ruling // messages of protocols with a dialogue block, by schema digest
	lanes    atomic.Pointer[lanes]

	// feed is held for reading while a message is stored and queued, and for
	// writing when the messages of the last run have all been queued.
	feed       sync.RWMutex
	recovering atomic.Bool
}

type every struct {
	period time.Duration
	run    func(context.Context, *Turn) error
}

// NewAgent makes an agent without handlers.
func NewAgent(name string, opts *AgentOptions) *Agent {
	a := &Agent{name: name}
	if opts != nil {
		a.opts = *opts
	}
	if a.opts.MaxConcurrent <= 0 {
		a.opts.MaxConcurrent = defaultConcurrent
	}
	if a.opts.Serial {
		a.opts.MaxConcurrent = 1
	}
	if a.opts.MaxWaiting <= 0 {
		a.opts.MaxWaiting = defaultWaiting
	}
	if name == "" {
		a.mistakes = append(a.mistakes, errors.New("an agent needs a name"))
	}
	return a
}

// Name returns the agent's name.
func (a *Agent) Name() string { return a.name }

// Address returns the agent's address: that of its key, or "" before a node has
// given it one.
func (a *Agent) Address() identity.Address {
	switch {
	case a.key != nil:
		return a.key.Address()
	case a.opts.Key != nil:
		return a.opts.Key.Address()
	}
	return ""
}

// Key returns the agent's key, or nil before it has one.
func (a *Agent) Key() *identity.Key { return a.opts.Key }

// SetKey gives the agent its identity, before it is added to a node.
func (a *Agent) SetKey(key *identity.Key) { a.opts.Key = key }

func (a *Agent) mistake(format string, args ...any) {
	a.mistakes = append(a.mistakes, fmt.Errorf(format, args...))
}

// Use puts middleware around all handlers of the agent; the first given is the
// outermost.
func (a *Agent) Use(m ...Middleware) { a.middleware = append(a.middleware, m...) }

// Every runs f when the agent starts and then again and again, a period after
// each run has ended.
func (a *Agent) Every(period time.Duration, f func(context.Context, *Turn) error) {
	if period <= 0 {
		a.mistake("Every needs a period above zero, not %s", period)
	}
	a.everies = append(a.everies, every{period, f})
}

// OnStart runs f each time the node starts, before any interval. Messages are
// taken over and handled meanwhile.
func (a *Agent) OnStart(f func(context.Context, *Turn) error) { a.starts = append(a.starts, f) }

// OnStop runs f when the node stops, after the last handler has ended.
func (a *Agent) OnStop(f func(context.Context, *Turn) error) { a.stops = append(a.stops, f) }

// Include says how a protocol is taken in.
type Include struct {
	// PublishManifest tells the directory about the protocol when the agent
	// registers.
	PublishManifest bool

	// Role is the role that the agent plays; required where the protocol has
	// roles.
	Role string

	// Report lets messages pass that are out of turn by the protocol's dialogue,
	// in both directions, and only reports them to the logger. Without it they
	// are refused.
	Report bool
}

type inclusion struct {
	protocol *Protocol
	Include
}

// Include takes in a protocol with its handlers.
func (a *Agent) Include(p *Protocol, opts *Include) {
	in := inclusion{protocol: p}
	if opts != nil {
		in.Include = *opts
	}
	a.included = append(a.included, in)
}

// build checks the agent and prepares it for work. It returns all mistakes.
func (a *Agent) build() error {
	mistakes := a.mistakes
	own := NewProtocol(&spec.Protocol{Name: a.name, Version: "0.1.0"})
	for _, h := range append(a.own[:len(a.own):len(a.own)], hearErrors) {
		own.register(h, nil)
	}
	a.handlers, a.digests = nil, nil
	for _, in := range append(a.included[:len(a.included):len(a.included)], inclusion{protocol: own}) {
		mistakes = append(mistakes, in.protocol.mistakes...)
		if err := in.protocol.complete(in.Role); err != nil {
			mistakes = append(mistakes, err)
		}
		for _, h := range in.protocol.handlers {
			if !a.handlers.add(h) {
				mistakes = append(mistakes, fmt.Errorf("two handlers for %s", h.model.record.Name))
			}
		}
		a.rulings(in)
		digest, err := in.protocol.digest(in.Role)
		if err != nil {
			mistakes = append(mistakes, err)
		}
		a.digests = append(a.digests, unique.Make(digest).Value())
	}
	if len(mistakes) > 0 {
		return fmt.Errorf("agent %s: %w", a.name, errors.Join(mistakes...))
	}
	return nil
}

// hearErrors handles the errors of peers where the author does not.
var hearErrors = newHandler[ErrorMessage](func(_ context.Context, t *Turn, in any) (any, error) {
	t.Log.Info("the peer reports an error", "error", in.(ErrorMessage).Error)
	return nil, nil
})

// queue returns the agent's lanes, which are made for its first message.
func (a *Agent) queue() *lanes {
	if l := a.lanes.Load(); l != nil {
		return l
	}
	n := a.node
	l := newLanes(a.opts.MaxConcurrent, a.opts.MaxWaiting, func(e *InboxEntry) time.Duration { return n.handle(n.work, a, e) })
	if !a.lanes.CompareAndSwap(nil, l) {
		return a.lanes.Load()
	}
	return l
}

// full reports whether no more messages should be taken over for the agent.
func (a *Agent) full() bool {
	l := a.lanes.Load()
	return l != nil && l.full()
}

func (a *Agent) log() *slog.Logger { return a.node.opts.Logger.With("agent", a.name) }

// reservedPaths belong to the node.
var reservedPaths = []string{"/submit", "/messages", "/agent_info", "/connect", "/disconnect"}

// HandleGet serves GET requests on a path, typed like a message handler. The
// paths of the node itself are refused.
func HandleGet[Out any](a *Agent, path string, f func(context.Context, *Turn) (Out, error)) {
	a.route("GET", path, reflect.TypeFor[Out](), func(ctx context.Context, t *Turn, _ []byte) (any, error) { return f(ctx, t) })
}

// HandlePost serves POST requests on a path; the request body is an In.
func HandlePost[In, Out any](a *Agent, path string, f func(context.Context, *Turn, In) (Out, error)) {
	in, err := modelOf(reflect.TypeFor[In]())
	if err != nil {
		a.mistake("route %s: %w", path, err)
		return
	}
	a.route("POST", path, reflect.TypeFor[Out](), func(ctx context.Context, t *Turn, body []byte) (any, error) {
		var request In
		if err := in.codec(a.opts.Lax).Unmarshal(body, &request); err != nil {
			return nil, err
		}
		return f(ctx, t, request)
	})
}

func (a *Agent) route(method, path string, out reflect.Type, f func(context.Context, *Turn, []byte) (any, error)) {
	response, err := modelOf(out)
	if err != nil {
		a.mistake("route %s: %w", path, err)
		return
	}
	if !strings.HasPrefix(path, "/") {
		a.mistake("route %q must start with a slash", path)
	}
	for _, reserved := range reservedPaths {
		if path == reserved {
			a.mistake("route %s belongs to the node", path)
		}
	}
	for _, other := range a.routes {
		if other.Method == method && other.Path == path {
			a.mistake("two routes for %s %s", method, path)
		}
	}
	a.routes = append(a.routes, Route{Method: method, Path: path, Serve: func(ctx context.Context, body []byte) ([]byte, error) {
		session := newSession()
		for again := false; ; again = true {
			answer, err := a.serveRoute(ctx, session, again, response, func(t *Turn) (any, error) { return f(ctx, t, body) })
			if !errors.Is(err, errConflict) || ctx.Err() != nil {
				return answer, err
			}
		}
	}})
}

// serveRoute answers a request once. An answer that is none of the type is the
// agent's own mistake, and then nothing has happened.
func (a *Agent) serveRoute(ctx context.Context, session string, again bool, response *model, f func(*Turn) (any, error)) ([]byte, error) {
	t := a.newTurn("route/"+session, session)
	t.again = again
	value, err := f(t)
	if err != nil {
		return nil, err
	}
	answer, err := response.strict.Marshal(value)
	if err != nil {
		return nil, fault.Errorf(fault.Unsupported, "", "the answer is no %s: %w", response.record.Name, err)
	}
	return answer, t.commit(ctx, nil)
}
