package parley_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/store/memory"
	"github.com/parley-agents/parley/transport/parleymem"
)

// watchedStore remembers what is committed for messages that come in, and lets a
// test stand between the node and the store.
type watchedStore struct {
	parley.Store
	before func(*parley.Batch) error // may be nil

	mu      sync.Mutex
	commits []parley.Batch
}

func (s *watchedStore) Commit(ctx context.Context, batches ...*parley.Batch) error {
	for _, b := range batches {
		if s.before != nil {
			if err := s.before(b); err != nil {
				return err
			}
		}
	}
	if err := s.Store.Commit(ctx, batches...); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range batches {
		s.commits = append(s.commits, *b)
	}
	return nil
}

// about returns the commits that have something to do with messages.
func (s *watchedStore) about() (found []parley.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.commits {
		if len(b.Marks)+len(b.Inbox)+len(b.Done)+len(b.Retry)+len(b.Outbox) > 0 {
			found = append(found, b)
		}
	}
	return found
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it does not come to this: %s", what)
		}
	}
}

// unstarted makes a node that does not run yet.
func (w *world) unstarted(store parley.Store, a *parley.Agent) *parley.Node {
	w.t.Helper()
	n, err := parley.NewNode(&parley.NodeOptions{Store: store, Resolver: w, Transports: []parley.Transport{w.net.Join("a")}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := n.Add(a); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// fullIf lets a store take nothing while its disk is full.
func fullIf(full *atomic.Bool) func(*parley.Batch) error {
	return func(*parley.Batch) error {
		if full.Load() {
			return fault.Errorf(fault.Unavailable, "", "disk full")
		}
		return nil
	}
}

func stateOf(t *testing.T, s parley.Store, a *parley.Agent, id string) parley.OutboxState {
	t.Helper()
	e, err := s.OutboxEntry(t.Context(), a.Address(), id)
	if err != nil {
		t.Fatal(err)
	}
	return e.State
}

// What was delivered is recorded soon, also if no other commit takes it along, if
// the store fails for a moment, and when the node stops at once.
func TestWhatWasDeliveredIsRecorded(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"soon", "after a failure", "when the node stops"} {
		w := newWorld(t)
		var failures atomic.Int32
		store := &watchedStore{Store: memory.New(), before: func(b *parley.Batch) error {
			if len(b.Outcomes) > 0 && failures.Add(-1) >= 0 {
				return fault.Errorf(fault.Unavailable, "", "not now")
			}
			return nil
		}}
		if c == "after a failure" {
			failures.Store(2)
		}
		bob, alice := answering(t, "bob"), agent(t, "alice")
		w.start("b", nil, bob)
		_, stop := w.start("a", &parley.NodeOptions{Store: store}, alice)
		receipt, err := alice.Send(t.Context(), bob.Address(), Ping{"x"})
		if err != nil {
			t.Fatal(err)
		}
		if err := receipt.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if c == "when the node stops" {
			stop()
			if state := stateOf(t, store, alice, receipt.ID); state != parley.Delivered {
				t.Errorf("%s: the state is %d, want delivered", c, state)
			}
			continue
		}
		eventually(t, c, func() bool { return stateOf(t, store, alice, receipt.ID) == parley.Delivered })
	}
}

func TestWhatWasDeliveredGoesWithTheNextCommit(t *testing.T) {
	t.Parallel()
	w, store := newWorld(t), &watchedStore{Store: memory.New()}
	bob, alice := agent(t, "bob"), agent(t, "alice")
	parley.On(bob, func(context.Context, *parley.Turn, Note) error { return nil })
	w.start("b", nil, bob)
	w.start("a", &parley.NodeOptions{Store: store}, alice)
	const count = 200
	for range count {
		receipt, err := alice.Send(t.Context(), bob.Address(), Note{"x"})
		if err != nil {
			t.Fatal(err)
		}
		if err := receipt.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	shared := 0
	for _, b := range store.about() {
		shared += len(b.Outcomes)
	}
	if shared == 0 { // a slow machine may record many by themselves
		t.Errorf("none of %d was recorded with another commit", count)
	}
}

// countedReads counts how often the outbox is read.
type countedReads struct {
	watchedStore
	reads atomic.Int32
}

func (s *countedReads) Outbox(ctx context.Context, a identity.Address, after int64, limit int) ([]parley.OutboxEntry, error) {
	s.reads.Add(1)
	return s.Store.Outbox(ctx, a, after, limit)
}

// A disk that is full while messages go out: none is sent twice, and the outbox is
// not read without end.
func TestWhatCannotBeRecordedIsNotSentAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var broken atomic.Bool
	store := &countedReads{watchedStore: watchedStore{Store: memory.New(), before: fullIf(&broken)}}
	var got atomic.Int32
	peer := w.rawPeer("raw", func(parley.Frame) error { got.Add(1); return nil })
	alice := agent(t, "alice")
	n := w.unstarted(store, alice)
	for range 600 {
		if _, err := alice.Send(t.Context(), peer, Note{"x"}); err != nil {
			t.Fatal(err)
		}
	}
	broken.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	time.Sleep(2 * time.Second)
	reads, sent := store.reads.Load(), got.Load()
	broken.Store(false)
	cancel()
	<-ended
	t.Logf("%d reads, %d sent", reads, sent)
	if reads > 100 || sent > 600 {
		t.Errorf("the outbox was read %d times in two seconds, and the peer got %d messages of 600", reads, sent)
	}
}

// However many peers there are, only so much is sent that cannot be recorded; the rest
// goes out when the disk has room again, and nothing twice.
func TestWhatCannotBeRecordedIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var broken atomic.Bool
	store := &watchedStore{Store: memory.New(), before: fullIf(&broken)}
	const peers, each, bound = 24, 250, 4096 + 24*8 // what is on its way goes on
	var got atomic.Int32
	alice := agent(t, "alice")
	n := w.unstarted(store, alice)
	for i := range peers {
		peer := w.rawPeer(fmt.Sprint("raw-", i), func(parley.Frame) error { got.Add(1); return nil })
		for range each {
			if _, err := alice.Send(t.Context(), peer, Note{"x"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	broken.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	eventually(t, "no more are sent", func() bool { return got.Load() >= 4096 })
	time.Sleep(time.Second)
	if sent := got.Load(); sent > bound {
		t.Errorf("%d of %d messages were sent while nothing could be recorded, want at most %d", sent, peers*each, bound)
	}
	broken.Store(false)
	eventually(t, "all are sent", func() bool { return got.Load() >= peers*each })
	time.Sleep(100 * time.Millisecond)
	if sent := got.Load(); sent != peers*each {
		t.Errorf("%d messages were sent, want %d", sent, peers*each)
	}
}

func TestARequestThatFailsAtFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trouble parleymem.Fault // of the first passage
		sent    int32
		ok      bool
	}{
		"refused connections are tried again":        {parleymem.Fault{Refuse: true}, 2, true},
		"what may have been taken is not sent again": {parleymem.Fault{Lose: true}, 1, false},
	} {
		w, store := newWorld(t), memory.New()
		bob, alice := answering(t, "bob"), agent(t, "alice")
		w.start("b", nil, bob)
		w.start("a", &parley.NodeOptions{Store: store}, alice)
		var sent atomic.Int32
		w.net.Inject(func(p parleymem.Passage) parleymem.Fault {
			if p.To == "b" && sent.Add(1) == 1 {
				return c.trouble
			}
			return parleymem.Fault{}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		_, err := parley.Ask[Pong](ctx, alice, bob.Address(), Ping{"x"})
		cancel()
		if (err == nil) != c.ok || sent.Load() != c.sent {
			t.Errorf("%s: Ask = %v after %d tries, want %d", name, err, sent.Load(), c.sent)
		}
		dead, _ := store.Dead(t.Context(), 0, 10)
		if (len(dead) == 0) != c.ok {
			t.Errorf("%s: %d dead letters", name, len(dead))
		}
	}
}

// Who gets no reply in time hears what was in the way.
func TestARequestThatNeverArrivesSaysWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bob, alice := answering(t, "bob"), agent(t, "alice")
	w.start("b", nil, bob)
	w.start("a", nil, alice)
	w.net.Inject(func(parleymem.Passage) parleymem.Fault { return parleymem.Fault{Refuse: true} })
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()

	_, err := parley.Ask[Pong](ctx, alice, bob.Address(), Ping{"x"})

	if fault.CodeOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "no reply in time") || !strings.Contains(err.Error(), "nobody serves there") {
		t.Errorf("Ask = %v", err)
	}
}

// What was in the way is for the one who asked; whoever the handler answers does not
// learn where its peers are.
func TestWhatWasInTheWayIsNotToldToStrangers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	carol, bob, alice := answering(t, "carol"), agent(t, "bob"), agent(t, "alice")
	var why atomic.Pointer[string]
	parley.Handle(bob, func(ctx context.Context, turn *parley.Turn, in Ping) (Pong, error) {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		out, err := parley.Ask[Pong](ctx, turn, carol.Address(), in)
		if err != nil {
			why.Store(new(err.Error()))
		}
		return out, err
	})
	w.start("c", nil, carol)
	w.start("b", nil, bob)
	w.start("a", nil, alice)
	w.net.Inject(func(p parleymem.Passage) parleymem.Fault { return parleymem.Fault{Refuse: p.To == "c"} })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()

	_, err := parley.Ask[Pong](ctx, alice, bob.Address(), Ping{"x"})

	if err == nil || !strings.Contains(err.Error(), "no reply in time") || strings.Contains(err.Error(), "nobody serves there") {
		t.Errorf("the stranger hears %v", err)
	}
	if text := why.Load(); text == nil || !strings.Contains(*text, "nobody serves there") {
		t.Error("the handler does not hear what was in the way")
	}
}
