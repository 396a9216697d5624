package parley_test

import (
	"context"
	"errors"
	"log/slog"
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

type (
	Ping struct {
		Text string `json:"text"`
	}
	Pong struct {
		Text string `json:"text"`
	}
	Note struct {
		Text string `json:"text"`
	}
)

func key(t testing.TB, seed string) *identity.Key {
	t.Helper()
	k, err := identity.FromSeed(seed, 0)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// A world is a network of nodes that know each other's agents.
type world struct {
	t    testing.TB
	net  parleymem.Network
	mu   sync.Mutex
	urls map[identity.Address]string
}

func newWorld(t testing.TB) *world { return &world{t: t, urls: make(map[identity.Address]string)} }

func (w *world) Resolve(_ context.Context, a identity.Address) ([]parley.Endpoint, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if url, ok := w.urls[a]; ok {
		return []parley.Endpoint{{URL: url, Weight: 1}}, nil
	}
	return nil, fault.Errorf(fault.NotFound, "", "nobody knows %s", a)
}

// start runs a node with the agents until the test ends or stop is called.
func (w *world) start(name string, opts *parley.NodeOptions, agents ...*parley.Agent) (n *parley.Node, stop func()) {
	w.t.Helper()
	var o parley.NodeOptions
	if opts != nil {
		o = *opts
	}
	if o.Store == nil {
		o.Store = memory.New()
	}
	if o.Resolver == nil {
		o.Resolver = w
	}
	o.Logger = slog.New(slog.DiscardHandler)
	o.Transports = []parley.Transport{w.net.Join(name)}
	n, err := parley.NewNode(&o)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := n.Add(agents...); err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	for _, a := range agents {
		w.urls[a.Address()] = "mem://" + name
	}
	w.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	for served := false; !served; time.Sleep(time.Millisecond) { // until even nonsense is taken
		_, err := w.post(name, nil, false)
		refusal, ok := errors.AsType[*parley.DeliveryError](err)
		served = !ok || refusal.Code != fault.Unavailable
	}
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-done:
				if err != nil {
					w.t.Errorf("node %s: %v", name, err)
				}
			case <-time.After(30 * time.Second):
				w.t.Errorf("node %s does not stop", name)
			}
		})
	}
	w.t.Cleanup(stop)
	return n, stop
}

func agent(t testing.TB, name string) *parley.Agent {
	return parley.NewAgent(name, &parley.AgentOptions{Key: key(t, name)})
}

func answering(t testing.TB, name string) *parley.Agent {
	a := agent(t, name)
	parley.Handle(a, func(_ context.Context, _ *parley.Turn, in Ping) (Pong, error) { return Pong{"pong:" + in.Text}, nil })
	return a
}

func TestAgentsOfOneNodeAskEachOther(t *testing.T) {
	bob, alice := answering(t, "bob"), agent(t, "alice")
	newWorld(t).start("one", nil, bob, alice)

	pong, err := parley.Ask[Pong](t.Context(), alice, bob.Address(), Ping{"hello"})

	if err != nil || pong.Text != "pong:hello" {
		t.Errorf("Ask = %+v, %v", pong, err)
	}
}

func TestAgentsOfTwoNodesAskEachOther(t *testing.T) {
	w := newWorld(t)
	bob, alice := answering(t, "bob"), agent(t, "alice")
	w.start("b", nil, bob)
	w.start("a", nil, alice)

	pong, err := parley.Ask[Pong](t.Context(), alice, bob.Address(), Ping{"hello"})

	if err != nil || pong.Text != "pong:hello" {
		t.Errorf("Ask = %+v, %v", pong, err)
	}
}

func TestAReceiptSaysThatTheMessageWasTaken(t *testing.T) {
	w := newWorld(t)
	got := make(chan string, 1)
	bob, alice := agent(t, "bob"), agent(t, "alice")
	parley.On(bob, func(_ context.Context, turn *parley.Turn, in Note) error {
		got <- string(turn.Sender) + " " + in.Text
		return nil
	})
	w.start("b", nil, bob)
	w.start("a", nil, alice)

	receipt, err := alice.Send(t.Context(), bob.Address(), Note{"hi"})
	if err != nil {
		t.Fatal(err)
	}
	if err := receipt.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := string(alice.Address()) + " hi"; <-got != want {
		t.Errorf("bob did not get %q", want)
	}
}

func TestAReceiptSaysWhyAMessageWasRefused(t *testing.T) {
	w := newWorld(t)
	alice := agent(t, "alice")
	w.start("a", nil, alice)
	w.start("b", nil, agent(t, "bob"))
	stranger := key(t, "nobody's agent").Address()
	w.mu.Lock()
	w.urls[stranger] = "mem://b"
	w.mu.Unlock()

	receipt, err := alice.Send(t.Context(), stranger, Note{"hi"})
	if err != nil {
		t.Fatal(err)
	}
	err = receipt.Wait(t.Context())
	reason, ok := errors.AsType[*parley.DeliveryError](err)
	if !ok || reason.Code != fault.Refused || reason.Endpoint != "mem://b" || reason.Text != "unable to route envelope" {
		t.Errorf("Wait = %#v", err)
	}
}

// Values that two turns read and write at once are not lost: the second is run
// again.
func TestConcurrentTurnsDoNotLoseUpdates(t *testing.T) {
	w := newWorld(t)
	store := memory.New()
	bob, alice := agent(t, "bob"), agent(t, "alice")
	var runs atomic.Int64
	parley.Handle(bob, func(ctx context.Context, turn *parley.Turn, _ Ping) (Pong, error) {
		runs.Add(1)
		count, _, err := parley.Load[int](ctx, turn, "count")
		if err != nil {
			return Pong{}, err
		}
		time.Sleep(time.Millisecond)
		return Pong{"ok"}, parley.Save(turn, "count", count+1)
	})
	w.start("b", &parley.NodeOptions{Store: store}, bob)
	w.start("a", nil, alice)

	const n = 60
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if _, err := parley.Ask[Pong](t.Context(), alice, bob.Address(), Ping{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()

	value, _, err := store.Get(t.Context(), bob.Address(), "count")
	if err != nil || string(value) != "60" {
		t.Errorf("count = %s (%v) after %d runs, want %d", value, err, runs.Load(), n)
	}
	if runs.Load() == n {
		t.Log("no turn had to be run again: the test shows little")
	}
}

func TestMessagesOfADialogueAreHandledInOrder(t *testing.T) {
	w := newWorld(t)
	bob, alice := agent(t, "bob"), agent(t, "alice")
	var mu sync.Mutex
	var got []string
	done := make(chan struct{})
	parley.On(bob, func(_ context.Context, _ *parley.Turn, in Note) error {
		mu.Lock()
		defer mu.Unlock()
		if got = append(got, in.Text); len(got) == 50 {
			close(done)
		}
		return nil
	})
	alice.OnStart(func(_ context.Context, turn *parley.Turn) error {
		for i := range 50 {
			if err := turn.Send(bob.Address(), Note{string(rune('A' + i))}); err != nil {
				return err
			}
		}
		return nil
	})
	w.start("b", nil, bob)
	w.start("a", nil, alice)

	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("not all came")
	}
	for i, text := range got {
		if text != string(rune('A'+i)) {
			t.Fatalf("message %d is %q: out of order", i, text)
		}
	}
}

func TestRetryAfterRunsTheHandlerAgain(t *testing.T) {
	w := newWorld(t)
	bob, alice := agent(t, "bob"), agent(t, "alice")
	var runs atomic.Int64
	parley.Handle(bob, func(context.Context, *parley.Turn, Ping) (Pong, error) {
		if runs.Add(1) < 3 {
			return Pong{}, parley.RetryAfter(5 * time.Millisecond)
		}
		return Pong{"third time"}, nil
	})
	w.start("one", nil, bob, alice)

	pong, err := parley.Ask[Pong](t.Context(), alice, bob.Address(), Ping{})

	if err != nil || pong.Text != "third time" || runs.Load() != 3 {
		t.Errorf("Ask = %+v, %v after %d runs", pong, err, runs.Load())
	}
}

func TestMistakesAreReportedTogether(t *testing.T) {
	a := parley.NewAgent("", &parley.AgentOptions{Key: key(t, "x")})
	parley.On(a, func(context.Context, *parley.Turn, chan int) error { return nil })
	parley.On(a, func(context.Context, *parley.Turn, Note) error { return nil })
	parley.On(a, func(context.Context, *parley.Turn, Note) error { return nil })
	parley.HandleGet(a, "/submit", func(context.Context, *parley.Turn) (Pong, error) { return Pong{}, nil })
	a.Every(0, func(context.Context, *parley.Turn) error { return nil })
	n, err := parley.NewNode(&parley.NodeOptions{Store: memory.New()})
	if err != nil {
		t.Fatal(err)
	}

	err = n.Add(a)

	for _, want := range []string{"needs a name", "chan", "two handlers for Note", "/submit belongs to the node", "above zero"} {
		if err == nil || !contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

// slowStart is a store that takes its time to say what is left of the last run.
type slowStart struct{ parley.Store }

func (s slowStart) Targets(ctx context.Context) ([]identity.Address, error) {
	found, err := s.Store.Targets(ctx)
	time.Sleep(50 * time.Millisecond)
	return found, err
}

// Who sends while the node is starting is heard all the same.
func TestMessagesSentDuringTheStartGoOut(t *testing.T) {
	alice, bob := agent(t, "alice"), answering(t, "bob")
	n, err := parley.NewNode(&parley.NodeOptions{Store: slowStart{memory.New()}})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Add(alice, bob); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	time.Sleep(20 * time.Millisecond) // in the middle of the start, most likely

	if _, err := parley.Ask[Pong](ctx, alice, bob.Address(), Ping{"there?"}); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A turn may speak in other sessions than its own, and what it says there goes out
// with its commit or not at all.
func TestATurnSpeaksInAnotherSession(t *testing.T) {
	w := newWorld(t)
	house, ada, ben := agent(t, "house"), agent(t, "ada"), agent(t, "ben")
	sessions := make(chan string, 10)
	parley.On(ada, func(_ context.Context, turn *parley.Turn, _ Note) error { sessions <- turn.Session; return nil })
	const hers = "2b5a1c5e-0c8b-4d8e-9f53-5d1d6f0f6a11"
	parley.Handle(house, func(_ context.Context, turn *parley.Turn, in Ping) (Pong, error) {
		if err := turn.SendIn(hers, ada.Address(), Note(in)); err != nil {
			return Pong{}, err
		}
		if in.Text == "too low" {
			return Pong{}, parley.Errorf(fault.Refused, "too low")
		}
		return Pong(in), nil
	})
	w.start("a", nil, house)
	w.start("b", nil, ada, ben)

	for _, bid := range []string{"too low", "more"} {
		_, err := parley.Ask[Pong](t.Context(), ben, house.Address(), Ping{bid})
		if (err == nil) != (bid == "more") {
			t.Errorf("%s: %v", bid, err)
		}
	}

	if got := within(t, "the note", sessions); got != hers {
		t.Errorf("the note came in session %s, want %s", got, hers)
	}
	if len(sessions) != 0 {
		t.Error("what a turn said that failed went out too")
	}
}
