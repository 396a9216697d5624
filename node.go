package parley

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-agents/parley/identity"
)

// NodeOptions say what a node works with. Store is required.
type NodeOptions struct {
	Store      Store
	Transports []Transport
	Resolver   Resolver // for agents that are not in this node; nil knows none
	Finder     Finder   // for broadcasts; nil allows none
	Logger     *slog.Logger

	// Endpoints are where peers reach the agents of the node.
	Endpoints []Endpoint

	// MaxSync bounds how long a caller may wait on a connection for a reply;
	// default one minute.
	MaxSync time.Duration

	// Grace is how long handlers may take to end when the node stops; default
	// ten seconds. What is cut is handled again after the next start.
	Grace time.Duration

	// Retention is how long the log, dead letters and the marks of envelopes
	// without expiry are kept; default seven days.
	Retention time.Duration

	// RefuseUnsignedReplies drops replies on a connection that are not signed.
	// Python agents do not sign theirs; without this they are believed, because
	// the connection was ours, and marked as [ByChannel].
	RefuseUnsignedReplies bool

	// MaxSending bounds the messages that are being delivered at once; default
	// 256.
	MaxSending int

	// MaxAsking bounds the requests that wait for their replies on a connection
	// at once; default 4096.
	MaxAsking int
}

const (
	defaultMaxSync    = time.Minute
	defaultGrace      = 10 * time.Second
	defaultRetention  = 7 * 24 * time.Hour
	defaultMaxSending = 256
	defaultMaxAsking  = 4096
)

// A Node hosts agents: it receives what is sent to them, runs their handlers
// and delivers what they send. It owns all goroutines.
type Node struct {
	opts      NodeOptions
	verifier  *identity.Verifier
	values    *valueTable
	deliverer *deliverer
	peers     *knownPeers
	waiters   waiters
	asks      asks
	dialogues dialogueLocks
	clock     dueClock
	taking    atomic.Bool
	work      context.Context // of handlers; set by start

	background sync.WaitGroup

	mu     sync.RWMutex
	agents map[identity.Address]*Agent
	order  []*Agent
}

// NewNode makes a node without agents.
func NewNode(opts *NodeOptions) (*Node, error) {
	if opts == nil || opts.Store == nil {
		return nil, errors.New("a node needs a store")
	}
	n := &Node{opts: *opts, verifier: identity.NewVerifier(nil), agents: make(map[identity.Address]*Agent)}
	n.dialogues.seed = maphash.MakeSeed()
	n.clock.sooner = make(chan struct{}, 1)
	if n.opts.Logger == nil {
		n.opts.Logger = slog.New(slog.DiscardHandler)
	}
	if n.opts.Resolver == nil {
		n.opts.Resolver = Resolvers()
	}
	n.opts.MaxSync = orDefault(n.opts.MaxSync, defaultMaxSync)
	n.opts.Grace = orDefault(n.opts.Grace, defaultGrace)
	n.opts.Retention = orDefault(n.opts.Retention, defaultRetention)
	n.opts.MaxSending = orDefault(n.opts.MaxSending, defaultMaxSending)
	n.opts.MaxAsking = orDefault(n.opts.MaxAsking, defaultMaxAsking)
	n.values = newValueTable(n.opts.Store)
	n.deliverer = newDeliverer(n)
	n.peers = newKnownPeers(n.opts.Store, n.opts.Retention)
	return n, nil
}

func orDefault[N int | time.Duration](n, otherwise N) N {
	if n <= 0 {
		return otherwise
	}
	return n
}

// Add hosts agents. All mistakes in their building are reported together. Agents
// are added before the node runs.
func (n *Node) Add(agents ...*Agent) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var mistakes []error
	for _, a := range agents {
		a.node = n
		a.key = a.opts.Key
		if a.key == nil {
			mistakes = append(mistakes, fmt.Errorf("agent %s: no key", a.name))
			continue
		}
		if _, taken := n.agents[a.Address()]; taken {
			mistakes = append(mistakes, fmt.Errorf("agent %s: another agent has its address", a.name))
			continue
		}
		if err := a.build(); err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		n.agents[a.Address()] = a
		n.order = append(n.order, a)
	}
	return errors.Join(mistakes...)
}

func (n *Node) agent(address identity.Address) *Agent {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.agents[address]
}

// Run starts the node and serves until ctx ends; then it takes no more messages,
// lets handlers end within the grace time, and returns. What was taken over is
// stored, whatever happens.
func (n *Node) Run(ctx context.Context) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	ctx, end := context.WithCancel(ctx)
	defer end()
	if err := n.start(work); err != nil {
		return err
	}
	served := n.serve(ctx)
	var agents sync.WaitGroup
	for _, a := range n.order {
		if len(a.starts)+len(a.everies) > 0 {
			agents.Go(func() { a.live(ctx, work) })
		}
	}
	agents.Go(func() { n.trim(ctx) })
	agents.Go(func() { n.keepTime(ctx) })

	err := <-served
	end() // also when a transport has failed
	n.taking.Store(false)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		agents.Wait()
		n.stopLanes()
	}()
	select {
	case <-stopped:
	case <-time.After(n.opts.Grace):
		cancel() // handlers that honour their context end now
		<-stopped
	}
	n.runStops(context.WithoutCancel(ctx))
	n.deliverer.stop()
	cancel()
	n.background.Wait()
	return err
}

// start takes up what was left behind by the last run.
func (n *Node) start(work context.Context) error {
	n.work = work
	for _, a := range n.order {
		a.lanes.Store(nil)
		a.recovering.Store(true)
	}
	waiting, err := n.opts.Store.Waiting(work)
	if err != nil {
		return err
	}
	for _, a := range n.order {
		if slices.Contains(waiting, a.Address()) {
			n.background.Go(func() { n.recover(work, a) })
		} else {
			a.recovering.Store(false)
		}
	}
	if err := n.deliverer.start(work); err != nil {
		return err
	}
	n.taking.Store(true)
	return nil
}

// recover feeds stored messages to the lanes, in order, and then lets new ones
// go there directly.
func (n *Node) recover(ctx context.Context, a *Agent) {
	const page = 256
	var after int64
	for ctx.Err() == nil {
		for a.full() && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		a.feed.Lock()
		entries, err := n.opts.Store.Inbox(ctx, a.Address(), after, page)
		if err == nil && len(entries) == 0 {
			a.recovering.Store(false)
			a.feed.Unlock()
			return
		}
		a.feed.Unlock()
		if err != nil {
			a.log().Error("stored messages cannot be read", "error", err)
			time.Sleep(time.Second)
			continue
		}
		for _, e := range entries {
			a.queue().add(e)
			after = e.Seq
		}
	}
}

// serve runs all transports and returns a channel that gets the first error, or
// nil when ctx has ended and all have drained.
func (n *Node) serve(ctx context.Context) <-chan error {
	ctx, cancel := context.WithCancel(ctx)
	result := make(chan error, 1)
	failed := make(chan error, len(n.opts.Transports))
	var all sync.WaitGroup
	for _, t := range n.opts.Transports {
		if hosted, ok := t.(HostedTransport); ok {
			hosted.Attach(n)
		}
		all.Go(func() {
			if err := t.Serve(ctx, n.deliver); err != nil {
				failed <- err
				cancel()
			}
		})
	}
	go func() {
		defer cancel()
		<-ctx.Done()
		n.taking.Store(false)
		all.Wait()
		select {
		case err := <-failed:
			result <- err
		default:
			result <- nil
		}
	}()
	return result
}

// live runs an agent's start functions and intervals. Handlers get a context
// that outlives the order to stop by the grace time.
func (a *Agent) live(ctx, work context.Context) {
	for _, f := range a.starts {
		a.once(work, "start", f)
	}
	var intervals sync.WaitGroup
	for _, e := range a.everies {
		intervals.Go(func() {
			for {
				a.once(work, "interval", e.run)
				select {
				case <-ctx.Done():
					return
				case <-time.After(e.period):
				}
			}
		})
	}
	intervals.Wait()
}

// once runs a function of the author's that no message has asked for.
func (a *Agent) once(ctx context.Context, what string, f func(context.Context, *Turn) error) {
	session := newSession()
	err := errConflict
	for again := false; errors.Is(err, errConflict) && ctx.Err() == nil; again = true {
		t := a.newTurn(what+"/"+session, session)
		t.again = again
		if err = protect(func() error { return f(ctx, t) }); err == nil {
			err = t.commit(ctx, nil)
		}
	}
	if err != nil && ctx.Err() == nil {
		a.log().Error("a function of the agent failed", "what", what, "error", err)
	}
}

// protect turns a panic into an error.
func protect(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, stack())
		}
	}()
	return f()
}

func (n *Node) stopLanes() {
	none := newLanes(0, 0, nil) // of all agents that have had no message
	none.stop()
	for _, a := range n.order {
		if !a.lanes.CompareAndSwap(nil, none) {
			a.lanes.Load().stop()
		}
	}
}

func (n *Node) runStops(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, n.opts.Grace)
	defer cancel()
	for _, a := range n.order {
		for _, f := range a.stops {
			a.once(ctx, "stop", f)
		}
	}
}

const trimPeriod = time.Minute

// trim keeps the store from growing without end.
func (n *Node) trim(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(trimPeriod):
		}
		before := time.Now().Add(-n.opts.Retention)
		err := n.peers.trim(ctx, before)
		for more := err == nil; more && err == nil; {
			more, err = n.opts.Store.Trim(ctx, time.Now(), before)
		}
		if err != nil && ctx.Err() == nil {
			n.opts.Logger.Error("the store cannot be trimmed", "error", err)
		}
	}
}

func (a *Agent) info() AgentInfo {
	endpoints := a.opts.Endpoints
	if endpoints == nil {
		endpoints = a.node.opts.Endpoints
	}
	return AgentInfo{Name: a.name, Address: a.Address(), Endpoints: endpoints, Protocols: a.digests}
}

// Agent returns what may be told about an agent; see [Host].
func (n *Node) Agent(address identity.Address) (AgentInfo, bool) {
	a := n.agent(address)
	if a == nil {
		return AgentInfo{}, false
	}
	return a.info(), true
}

// Agents lists the agents; see [Host].
func (n *Node) Agents() iter.Seq[AgentInfo] {
	return func(yield func(AgentInfo) bool) {
		n.mu.RLock()
		order := slices.Clone(n.order)
		n.mu.RUnlock()
		for _, a := range order {
			if !yield(a.info()) {
				return
			}
		}
	}
}

// Routes returns the routes of the agents; see [Host].
func (n *Node) Routes(method, path string) []Route {
	n.mu.RLock()
	defer n.mu.RUnlock()
	var found []Route
	for _, a := range n.order {
		for _, r := range a.routes {
			if r.Method == method && r.Path == path {
				r.Agent = a.Address()
				found = append(found, r)
			}
		}
	}
	return found
}

// Ready reports whether messages are taken; see [Host].
func (n *Node) Ready() bool { return n.taking.Load() }

// Messages returns the latest messages of an agent; see [Host].
func (n *Node) Messages(ctx context.Context, agent identity.Address, limit int) ([]LogRecord, error) {
	return n.opts.Store.Log(ctx, LogQuery{Agent: agent, Limit: limit, Last: true})
}
