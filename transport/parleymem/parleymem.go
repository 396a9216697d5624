// Package parleymem is a network in memory, for tests of what speaks over one.
//
//	var network parleymem.Network
//	alice, bob := network.Join("alice"), network.Join("bob")
//	go bob.Serve(ctx, deliver)
//	_, err := alice.Send(ctx, bob.Endpoint(), frame)
//
// It keeps every promise of a transport, uses no sockets and runs inside a
// testing/synctest bubble. With [Network.Inject] it breaks like a real network:
// frames and answers get lost, late or doubled.
package parleymem

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
)

// A Network connects the transports that joined it. The zero value is ready.
type Network struct {
	// Grace is how long running deliver calls may go on after the end of Serve's
	// context before theirs ends too; default 10 s. Set it before use.
	Grace time.Duration

	mu      sync.Mutex
	serving map[string]*service
	fault   func(Passage) Fault
}

// A Passage is a frame on its way from one member to another, by their names.
type Passage struct {
	From, To string
	Frame    parley.Frame
}

// A Fault is what happens to a frame on its way. The zero value is: nothing.
type Fault struct {
	Delay       time.Duration // it arrives so much later
	DelayAnswer time.Duration // its answer arrives so much later

	Refuse     bool // there is no connection; the sender knows that it was not taken
	Lose       bool // it is lost; the sender cannot know
	LoseAnswer bool // it is taken and the answer is lost; the sender cannot know
	Twice      bool // it arrives twice, and the second answer is lost
}

// Inject makes f decide about every frame from now on; nil ends that. It is
// called by Send, possibly concurrently.
func (n *Network) Inject(f func(Passage) Fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fault = f
}

// Join adds a member. Members with the same name stand for one place: of those,
// one can serve at a time, as after a restart.
func (n *Network) Join(name string) *Transport { return &Transport{network: n, name: name} }

// A Transport is one member's end of a [Network].
type Transport struct {
	// Forgetful makes the transport look like a peer that does not say that it
	// drops what it has seen. Set it before use.
	Forgetful bool

	network *Network
	name    string
}

const scheme = "mem://"

// Endpoint is where others reach this member.
func (t *Transport) Endpoint() string { return scheme + t.name }

// Reaches reports whether the endpoint is of the form mem://name.
func (t *Transport) Reaches(endpoint string) bool {
	name, ok := strings.CutPrefix(endpoint, scheme)
	return ok && name != ""
}

// Send hands a frame to the member at the endpoint; see [parley.Transport].
func (t *Transport) Send(ctx context.Context, endpoint string, f parley.Frame) (parley.Frame, error) {
	failed := func(code parley.Code, text string) (parley.Frame, error) {
		return parley.Frame{}, &parley.DeliveryError{Code: code, Endpoint: endpoint, Text: text}
	}
	name := strings.TrimPrefix(endpoint, scheme)
	if !t.Reaches(endpoint) {
		return failed(fault.Unavailable, "expected an endpoint such as mem://name")
	}
	if ctx.Err() != nil {
		return failed(fault.Unavailable, ctx.Err().Error())
	}
	trouble := t.network.trouble(Passage{From: t.name, To: name, Frame: f})
	if !pause(ctx, trouble.Delay) {
		return failed(fault.Unavailable, ctx.Err().Error())
	}
	s := t.network.service(name)
	switch {
	case trouble.Refuse || s == nil:
		return failed(fault.Unavailable, "nobody serves there")
	case trouble.Lose:
		return failed(fault.Unknown, "the connection was cut")
	}

	arriving := parley.Frame{Body: clone(f.Body), Sync: f.Sync, Peer: t.name, Deduplicates: !t.Forgetful}
	call, taken := s.take(arriving)
	if !taken {
		return failed(fault.Unavailable, "the peer is stopping")
	}
	if trouble.Twice {
		arriving.Body = clone(f.Body)
		_, _ = s.take(arriving)
	}
	answer, err := call.wait(ctx)
	if err != nil {
		return failed(fault.Unknown, err.Error())
	}
	if !pause(ctx, trouble.DelayAnswer) {
		return failed(fault.Unknown, ctx.Err().Error())
	}
	if trouble.LoseAnswer {
		return failed(fault.Unknown, "the connection was cut")
	}
	if answer.err != nil {
		code, text := translate(answer.err)
		return failed(code, text)
	}
	reply := parley.Frame{Peer: name, Deduplicates: !s.owner.Forgetful}
	if f.Sync {
		reply.Body = clone(answer.frame.Body)
	}
	return reply, nil
}

func clone(b []byte) []byte { return append([]byte{}, b...) }

// translate says what the sender learns of an error of deliver.
func translate(err error) (parley.Code, string) {
	e, ok := errors.AsType[*parley.Error](err)
	switch {
	case !ok || e.Code == fault.Internal || e.Code == fault.Unknown:
		return fault.Unknown, "internal error"
	case e.Code == fault.Unavailable:
		return fault.Unavailable, e.Text
	}
	return fault.Refused, e.Text
}

// pause waits unless the context ends first.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Serve takes frames until ctx ends; see [parley.Transport].
func (t *Transport) Serve(ctx context.Context, deliver parley.Deliver) error {
	calls, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	s := &service{owner: t, deliver: deliver, ctx: calls, idle: make(chan struct{}), crashed: make(chan struct{})}
	if err := t.network.start(t.name, s); err != nil {
		return err
	}
	defer t.network.stop(t.name, s)
	select {
	case <-ctx.Done():
	case <-s.crashed:
		return errors.New("parleymem: " + t.name + " has crashed")
	}

	s.drain()
	grace := time.AfterFunc(cmp.Or(t.network.Grace, 10*time.Second), cut)
	defer grace.Stop()
	select {
	case <-s.idle:
		return nil
	case <-s.crashed:
		return errors.New("parleymem: " + t.name + " has crashed")
	}
}

// Crash ends Serve as the death of a process would: it returns at once, and
// nobody who waits for an answer gets one. It does nothing if nobody serves.
func (t *Transport) Crash() {
	s := t.network.service(t.name)
	if s == nil {
		return
	}
	t.network.stop(t.name, s)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.stopped = true
		close(s.crashed)
	}
}

func (n *Network) trouble(p Passage) Fault {
	n.mu.Lock()
	f := n.fault
	n.mu.Unlock()
	if f == nil {
		return Fault{}
	}
	return f(p)
}

func (n *Network) service(name string) *service {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.serving[name]
}

func (n *Network) start(name string, s *service) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.serving[name] != nil {
		return fmt.Errorf("parleymem: %s is served already", name)
	}
	if n.serving == nil {
		n.serving = map[string]*service{}
	}
	n.serving[name] = s
	return nil
}

func (n *Network) stop(name string, s *service) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.serving[name] == s {
		delete(n.serving, name)
	}
}

// A service is one running Serve.
type service struct {
	owner   *Transport
	deliver parley.Deliver
	ctx     context.Context // of all deliver calls
	crashed chan struct{}

	mu       sync.Mutex
	running  int
	draining bool
	stopped  bool
	idle     chan struct{} // closed once it drains and nothing runs
}

// A call is one deliver call in its own goroutine.
type call struct {
	service *service
	cancel  context.CancelFunc
	sync    bool
	done    chan answer
}

type answer struct {
	frame parley.Frame
	err   error
}

func (s *service) take(f parley.Frame) (*call, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining || s.stopped {
		return nil, false
	}
	s.running++
	ctx, cancel := context.WithCancel(s.ctx)
	c := &call{service: s, cancel: cancel, sync: f.Sync, done: make(chan answer, 1)}
	go func() {
		defer s.finish()
		defer cancel()
		reply, err := s.deliver(ctx, f)
		c.done <- answer{reply, err}
	}()
	return c, true
}

func (s *service) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	if s.draining && s.running == 0 {
		close(s.idle)
	}
}

func (s *service) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	if s.running == 0 {
		close(s.idle)
	}
}

// wait returns the answer of the call; an error says why there is none. A sync
// call learns that its caller has gone, any other goes on regardless.
func (c *call) wait(ctx context.Context) (answer, error) {
	select {
	case a := <-c.done:
		return a, nil
	case <-c.service.crashed:
		return answer{}, errors.New("the connection was cut")
	case <-ctx.Done():
		if c.sync {
			c.cancel()
		}
		return answer{}, ctx.Err()
	}
}
