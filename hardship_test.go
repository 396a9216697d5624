package parley_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/store/memory"
	"github.com/parley-agents/parley/wire/uagents"
)

type brokenTransport struct{}

func (brokenTransport) Send(context.Context, string, parley.Frame) (parley.Frame, error) {
	return parley.Frame{}, &parley.DeliveryError{Code: fault.Unavailable}
}
func (brokenTransport) Serve(context.Context, parley.Deliver) error {
	return errors.New("listener broke")
}
func (brokenTransport) Reaches(string) bool { return false }

func TestRunReturnsWhenATransportFails(t *testing.T) {
	n, err := parley.NewNode(&parley.NodeOptions{Store: memory.New(), Transports: []parley.Transport{brokenTransport{}}, Grace: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	select {
	case err := <-done:
		if err == nil {
			t.Error("no error")
		}
	case <-time.After(5 * time.Second):
		t.Error("Run still has not returned 5 s after its transport failed")
	}
}

// rawPeer is a peer that takes what comes, and does not say that it drops repeats.
func (w *world) rawPeer(name string, take func(parley.Frame) error) identity.Address {
	k := key(w.t, name)
	tr := w.net.Join(name)
	tr.Forgetful = true
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = tr.Serve(ctx, func(_ context.Context, f parley.Frame) (parley.Frame, error) { return parley.Frame{}, take(f) })
	}()
	w.t.Cleanup(func() { cancel(); <-done })
	w.mu.Lock()
	w.urls[k.Address()] = "mem://" + name
	w.mu.Unlock()
	time.Sleep(20 * time.Millisecond)
	return k.Address()
}

func TestWhatWasFlushedIsNotSentAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var mu sync.Mutex
	var bodies []string
	peer := w.rawPeer("peer", func(f parley.Frame) error {
		e, err := uagents.Decode(f.Body)
		if err != nil {
			t.Error(err)
			return nil
		}
		id, _ := e.ID()
		mu.Lock()
		bodies = append(bodies, fmt.Sprintf("%x expires %d", id[:4], *e.Expires))
		mu.Unlock()
		return nil
	})
	alice := agent(t, "alice")
	var runs atomic.Int32
	handled := make(chan struct{}, 10)
	parley.On(alice, func(ctx context.Context, turn *parley.Turn, _ Note) error {
		if err := turn.Send(peer, Ping{"pay 10"}); err != nil {
			return err
		}
		if err := turn.Flush(ctx); err != nil {
			return err
		}
		if runs.Add(1) == 1 {
			return parley.RetryAfter(1200 * time.Millisecond)
		}
		handled <- struct{}{}
		return nil
	})
	w.start("a", nil, alice)
	if _, err := w.post("a", sealed(t, key(t, "eve"), alice.Address(), digestOf[Note](t), `{"text": "x"}`, nil), false); err != nil {
		t.Fatal(err)
	}
	<-handled
	time.Sleep(300 * time.Millisecond)
	mu.Lock()
	defer mu.Unlock()
	if len(bodies) != 1 {
		t.Errorf("the peer got it %d times: %v", len(bodies), bodies)
	}
}

func TestAsksOfOneTurnAtOnce(t *testing.T) {
	w := newWorld(t)
	bob, alice := answering(t, "bob"), agent(t, "alice")
	parley.Handle(alice, func(ctx context.Context, turn *parley.Turn, in Note) (Pong, error) {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		var all sync.WaitGroup
		var mu sync.Mutex
		var errs []error
		for i := range 20 {
			all.Go(func() {
				text := fmt.Sprint(i)
				pong, err := parley.Ask[Pong](ctx, turn, bob.Address(), Ping{text})
				if err == nil && pong.Text != "pong:"+text {
					err = errors.New("somebody else's reply: " + pong.Text)
				}
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					errs = append(errs, err)
				}
			})
		}
		all.Wait()
		if len(errs) > 0 {
			return Pong{fmt.Sprintf("%d of 20 failed: %v", len(errs), errs[0])}, nil
		}
		return Pong{"all asked"}, nil
	})
	carol := agent(t, "carol")
	w.start("b", nil, bob)
	w.start("a", nil, alice, carol)
	if pong, err := parley.Ask[Pong](t.Context(), carol, alice.Address(), Note{}); err != nil || pong.Text != "all asked" {
		t.Errorf("Ask = %+v, %v", pong, err)
	}
}

func TestWhatWasSentBeforeAFailedAskIsSent(t *testing.T) {
	w := newWorld(t)
	got := make(chan string, 10)
	bob, alice := agent(t, "bob"), agent(t, "alice")
	parley.On(bob, func(_ context.Context, _ *parley.Turn, in Ping) error { got <- in.Text; return nil })
	done := make(chan struct{}, 1)
	parley.On(alice, func(ctx context.Context, turn *parley.Turn, _ Note) error {
		if err := turn.Set("paid", []byte("1")); err != nil {
			return err
		}
		if err := turn.Send(bob.Address(), Ping{"pay"}); err != nil {
			return err
		}
		short, cancel := context.WithTimeout(ctx, 0) // the time for the optional question is up
		defer cancel()
		if _, err := parley.Ask[Pong](short, turn, bob.Address(), Ping{"optional"}); err != nil {
			turn.Log.Info("no advice", "error", err)
		}
		done <- struct{}{}
		return nil
	})
	store := memory.New()
	w.start("a", &parley.NodeOptions{Store: store}, alice, bob)
	if _, err := w.post("a", sealed(t, key(t, "eve"), alice.Address(), digestOf[Note](t), `{"text": "x"}`, nil), false); err != nil {
		t.Fatal(err)
	}
	<-done
	select {
	case text := <-got:
		if text != "pay" {
			t.Errorf("got %q", text)
		}
	case <-time.After(2 * time.Second):
		_, paid, _ := store.Get(t.Context(), alice.Address(), "paid")
		t.Errorf("the message was never sent, though the turn committed (value written: %v)", paid)
	}
}

func TestOneOutageIsOnePause(t *testing.T) {
	w := newWorld(t)
	var refuse atomic.Bool
	refuse.Store(true)
	var got atomic.Int32
	peer := w.rawPeer("peer", func(f parley.Frame) error {
		if refuse.Load() {
			time.Sleep(50 * time.Millisecond)
			return fault.Errorf(fault.Unavailable, "", "starting")
		}
		got.Add(1)
		return nil
	})
	alice := agent(t, "alice")
	w.start("a", nil, alice)
	for range 8 {
		if _, err := alice.Send(t.Context(), peer, Ping{"x"}); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(200 * time.Millisecond)
	refuse.Store(false) // it was away for a fifth of a second
	start := time.Now()
	for got.Load() < 8 && time.Since(start) < 10*time.Second {
		time.Sleep(10 * time.Millisecond)
	}
	if got.Load() < 8 {
		t.Errorf("10 s after the peer is back, %d of 8 have come", got.Load())
	}
}

// slowReads is a store whose outbox takes a while to read.
type slowReads struct {
	parley.Store
	delay time.Duration
}

func (s slowReads) Outbox(ctx context.Context, target identity.Address, after int64, limit int) ([]parley.OutboxEntry, error) {
	time.Sleep(s.delay / 2)
	e, err := s.Store.Outbox(ctx, target, after, limit)
	time.Sleep(s.delay / 2)
	return e, err
}

func TestNothingOvertakesOrDoublesWhileTheOutboxIsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := memory.New()
	alice := agent(t, "alice")
	var mu sync.Mutex
	var order []string
	session := uuid.NewString()
	k := key(t, "peer")
	_, stop := w.start("a", &parley.NodeOptions{Store: store}, alice)
	for i := range 3 { // while the peer is away
		if _, err := alice.SendIn(t.Context(), session, k.Address(), Ping{fmt.Sprint("old", i)}); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	peer := w.rawPeer("peer", func(f parley.Frame) error {
		e, _ := uagents.Decode(f.Body)
		p, _ := e.DecodePayload()
		time.Sleep(400 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		order = append(order, string(p))
		return nil
	})
	alice = agent(t, "alice")
	w.start("a2", &parley.NodeOptions{Store: slowReads{store, 300 * time.Millisecond}}, alice)
	if _, err := alice.SendIn(t.Context(), session, peer, Ping{"new"}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second)
	mu.Lock()
	defer mu.Unlock()
	want := `{"text": "old0"}|{"text": "old1"}|{"text": "old2"}|{"text": "new"}`
	if got := strings.Join(order, "|"); got != want {
		t.Errorf("the peer got\n%s\nwant\n%s", got, want)
	}
}

func TestAnswersOfAFailedTurnAreForgotten(t *testing.T) {
	w := newWorld(t)
	store := memory.New()
	bob, alice, carol := answering(t, "bob"), agent(t, "alice"), agent(t, "carol")
	parley.Handle(alice, func(ctx context.Context, turn *parley.Turn, _ Note) (Pong, error) {
		if _, err := parley.Ask[Pong](ctx, turn, bob.Address(), Ping{"x"}); err != nil {
			return Pong{}, err
		}
		return Pong{}, errors.New("no")
	})
	w.start("a", &parley.NodeOptions{Store: store}, alice, bob, carol)
	for range 3 {
		_, _ = parley.Ask[Pong](t.Context(), carol, alice.Address(), Note{})
	}
	time.Sleep(100 * time.Millisecond)
	keys, err := store.Keys(t.Context(), alice.Address(), "\x00ask/", "", 100)
	if err != nil || len(keys) > 0 {
		t.Errorf("%d answers are kept for ever, %v", len(keys), err)
	}
}

func TestAFullAgentHearsAnswers(t *testing.T) {
	w := newWorld(t)
	bob, carol := answering(t, "bob"), agent(t, "carol")
	alice := parley.NewAgent("alice", &parley.AgentOptions{Key: key(t, "alice"), MaxWaiting: 2})
	parley.Handle(alice, func(ctx context.Context, turn *parley.Turn, _ Note) (Pong, error) {
		time.Sleep(100 * time.Millisecond) // until it is full
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		return parley.Ask[Pong](ctx, turn, bob.Address(), Ping{"x"})
	})
	w.start("b", nil, bob)
	w.start("a", nil, alice, carol)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if pong, err := parley.Ask[Pong](t.Context(), carol, alice.Address(), Note{}); err != nil {
				t.Errorf("Ask = %+v, %v", pong, err)
			}
		})
	}
	all.Wait()
}

// The first run of a handler asks; the second, because of a conflict, finds the
// answer. The caller who waits on the connection gets the reply.
func TestACallerGetsTheReplyOfTheSecondRun(t *testing.T) {
	w := newWorld(t)
	bob, alice, carol := answering(t, "bob"), agent(t, "alice"), agent(t, "carol")
	parley.On(bob, func(context.Context, *parley.Turn, Note) error { return nil })
	var runs atomic.Int32
	parley.Handle(alice, func(ctx context.Context, turn *parley.Turn, _ Note) (Pong, error) {
		if err := turn.Send(bob.Address(), Note{"by the way"}); err != nil {
			return Pong{}, err
		}
		if _, err := parley.Ask[Pong](ctx, turn, bob.Address(), Ping{"x"}); err != nil {
			return Pong{}, err
		}
		if runs.Add(1) == 1 {
			return Pong{}, parley.RetryAfter(10 * time.Millisecond)
		}
		return Pong{"done"}, nil
	})
	w.start("a", nil, alice, bob, carol)
	f, err := w.post("a", sealed(t, key(t, "eve"), alice.Address(), digestOf[Note](t), `{"text": "x"}`, nil), true)
	if err != nil {
		t.Fatal(err)
	}
	if got := replyText(t, f); got != `{"text": "done"}` {
		t.Errorf("the caller gets %s", got)
	}
}

// flaky is a store that fails for a while.
type flaky struct {
	parley.Store
	broken atomic.Bool
}

func (s *flaky) Commit(ctx context.Context, b ...*parley.Batch) error {
	if s.broken.Load() {
		return fault.Errorf(fault.Unavailable, "", "the disk is full")
	}
	return s.Store.Commit(ctx, b...)
}

func TestAMessageSurvivesAFullDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := &flaky{Store: memory.New()}
	alice := agent(t, "alice")
	var mu sync.Mutex
	var order []string
	parley.On(alice, func(ctx context.Context, turn *parley.Turn, in Note) error {
		if in.Text == "1" && !slices.Contains(order, "1") {
			store.broken.Store(true)
			time.AfterFunc(200*time.Millisecond, func() { store.broken.Store(false) })
		}
		n, _, _ := parley.Load[[]string](ctx, turn, "seen")
		mu.Lock()
		order = append(order, in.Text)
		mu.Unlock()
		return parley.Save(turn, "seen", append(n, in.Text))
	})
	w.start("a", &parley.NodeOptions{Store: store}, alice)
	session := uuid.New()
	for i := 1; i <= 2; i++ {
		post := func() error {
			_, err := w.post("a", sealed(t, key(t, "eve"), alice.Address(), digestOf[Note](t), fmt.Sprintf(`{"text": "%d"}`, i), func(d *uagents.Draft) { d.Session = session }), false)
			return err
		}
		if err := post(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond)
	}
	time.Sleep(3 * time.Second)
	text, _, _ := store.Get(t.Context(), alice.Address(), "seen")
	left, _ := store.Inbox(t.Context(), alice.Address(), 0, 10)
	if string(text) != `["1","2"]` {
		t.Errorf("what was done: %s; %d acknowledged messages wait for the next start", text, len(left))
	}
}

func TestSlowAnswersDelayNoOtherDialogue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bob, alice := agent(t, "bob"), agent(t, "alice")
	got := make(chan struct{}, 1)
	parley.Handle(bob, func(_ context.Context, _ *parley.Turn, in Ping) (Pong, error) {
		time.Sleep(4 * time.Second)
		return Pong(in), nil
	})
	parley.On(bob, func(context.Context, *parley.Turn, Note) error { got <- struct{}{}; return nil })
	w.start("b", nil, bob)
	w.start("a", nil, alice)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { _, _ = parley.Ask[Pong](t.Context(), alice, bob.Address(), Ping{"x"}) })
	}
	time.Sleep(200 * time.Millisecond)
	start := time.Now()
	if _, err := alice.Send(t.Context(), bob.Address(), Note{"quick"}); err != nil {
		t.Fatal(err)
	}
	<-got
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("a message of another dialogue came after %s", took)
	}
	all.Wait()
}

func TestAReplyIsNotTriedForEver(t *testing.T) {
	w := newWorld(t)
	store := memory.New()
	bob := answering(t, "bob")
	w.start("b", &parley.NodeOptions{Store: store}, bob)
	eve := key(t, "eve") // whom nobody can reach
	far := func(d *uagents.Draft) { d.Expires = uint64(time.Date(2900, 1, 1, 0, 0, 0, 0, time.UTC).Unix()) }
	if _, err := w.post("b", sealed(t, eve, bob.Address(), digestOf[Ping](t), `{"text": "x"}`, far), false); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	out, err := store.Outbox(t.Context(), eve.Address(), 0, 10)
	if err != nil || len(out) != 1 {
		t.Fatal(out, err)
	}
	if time.Until(out[0].Deadline) > 48*time.Hour {
		t.Errorf("the reply is tried until %s", out[0].Deadline)
	}
}

func TestSendingToAUserEnds(t *testing.T) {
	w := newWorld(t)
	alice := agent(t, "alice")
	w.start("a", nil, alice)
	user, _ := identity.NewUserAddress()
	r, err := alice.Send(t.Context(), user, Ping{"x"})
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := r.Wait(ctx); errors.Is(err, context.DeadlineExceeded) {
		t.Error("a receipt that never tells: the message was dropped")
	}
}

func TestAnExpiredMessageChangesNothing(t *testing.T) {
	w := newWorld(t)
	store := memory.New()
	bob := answering(t, "bob")
	w.start("b", &parley.NodeOptions{Store: store}, bob)
	eve := key(t, "eve")
	old := func(d *uagents.Draft) { d.Expires = uint64(time.Now().Add(-time.Hour).Unix()) }
	if _, err := w.post("b", sealed(t, eve, bob.Address(), digestOf[Ping](t), `{"text": "x"}`, old), false); err == nil {
		t.Fatal("taken")
	}
	keys, _ := store.Keys(t.Context(), "peers", "", "", 10)
	if len(keys) > 0 {
		t.Errorf("a refused message has written %v", keys)
	}
}

var _ = slog.Default
var _ = slices.Sort[[]int]
