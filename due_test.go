package parley_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/dialogue"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/store/memory"
	"github.com/parley-agents/parley/wire/uagents"
)

// buyerOf makes a buyer who calls for a proposal when it starts, if call is set,
// and reports what it gets and what it does not get in time.
func buyerOf(t testing.TB, rules *spec.Protocol, from identity.Address, call bool) (a *parley.Agent, proposals chan Propose, timeouts chan dialogue.Timeout) {
	t.Helper()
	a = agent(t, "buyer")
	proposals, timeouts = make(chan Propose, 10), make(chan dialogue.Timeout, 10)
	p := parley.NewProtocol(rules)
	parley.On(p, func(_ context.Context, _ *parley.Turn, in Propose) error { proposals <- in; return nil })
	a.Include(p, &parley.Include{Role: "buyer"})
	a.OnTimeout(func(_ context.Context, _ *parley.Turn, e dialogue.Timeout) error { timeouts <- e; return nil })
	if call {
		a.OnStart(func(_ context.Context, turn *parley.Turn) error { return turn.Send(from, Cfp{"sugar"}) })
	}
	return a, proposals, timeouts
}

// silent is a seller who takes calls and proposes when it is told to.
func silent(t testing.TB, rules *spec.Protocol) (a *parley.Agent, calls chan *parley.Turn, declined chan struct{}) {
	t.Helper()
	a = agent(t, "seller")
	calls, declined = make(chan *parley.Turn, 10), make(chan struct{}, 10)
	p := parley.NewProtocol(rules)
	parley.On(p, func(_ context.Context, turn *parley.Turn, _ Cfp) error { calls <- turn; return nil })
	parley.On(p, func(context.Context, *parley.Turn, Accept) error { return nil })
	parley.On(p, func(context.Context, *parley.Turn, Decline) error { declined <- struct{}{}; return nil })
	a.Include(p, &parley.Include{Role: "seller"})
	return a, calls, declined
}

func within[T any](t testing.TB, what string, c <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-c:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: nothing came", what)
	}
	return got
}

func tradeWithin(t testing.TB, message string, d time.Duration, otherwise string) *spec.Protocol {
	t.Helper()
	rules := trade(t)
	rules.Rule(message).Within, rules.Rule(message).Else = d, otherwise
	return rules
}

func TestAnAnswerThatIsNotInTimeEndsTheExchange(t *testing.T) {
	w := newWorld(t)
	rules := tradeWithin(t, "Cfp", 100*time.Millisecond, "")
	s, calls, _ := silent(t, rules)
	buyer, proposals, timeouts := buyerOf(t, rules, s.Address(), true)
	w.start("s", nil, s)
	w.start("b", nil, buyer)
	turn := within(t, "the call", calls)

	e := within(t, "the timeout", timeouts)

	if e.Kind != dialogue.TimedOut || e.Message != "Cfp" || e.Outcome != "timeout" {
		t.Errorf("the buyer hears %+v", e)
	}
	late := sealed(t, key(t, "seller"), buyer.Address(), digestOf[Propose](t), `{"price": 7}`, func(d *uagents.Draft) { d.Session = uuid.MustParse(turn.Session) })
	f, err := w.post("b", late, true)
	if err != nil {
		t.Fatal(err)
	}
	if text := replyText(t, f); !contains(text, "Propose") {
		t.Errorf("a proposal that comes late is answered with %s", text)
	}
	if len(proposals) > 0 {
		t.Error("a proposal that came late was handled")
	}
}

// A process that was down when time was up says so after its next start, and says
// it once.
func TestTimeRunsOutAcrossARestart(t *testing.T) {
	w := newWorld(t)
	rules := tradeWithin(t, "Cfp", 300*time.Millisecond, "")
	s, calls, _ := silent(t, rules)
	w.start("s", nil, s)
	store := memory.New()
	told := 0
	live := func(call bool, until func(timeouts chan dialogue.Timeout)) {
		buyer, _, timeouts := buyerOf(t, rules, s.Address(), call)
		_, stop := w.start("b", &parley.NodeOptions{Store: store}, buyer)
		until(timeouts)
		stop()
		told += len(timeouts)
	}

	live(true, func(chan dialogue.Timeout) { within(t, "the call", calls) })
	time.Sleep(400 * time.Millisecond)
	live(false, func(timeouts chan dialogue.Timeout) {
		if told == 0 {
			timeouts <- within(t, "the timeout", timeouts)
		}
	})
	live(false, func(chan dialogue.Timeout) { time.Sleep(50 * time.Millisecond) })

	if told != 1 {
		t.Errorf("the timeout was told %d times, want once", told)
	}
}

// Where the protocol names a message to be sent instead, and it needs no content,
// the node sends it.
func TestTheMessageNamedAfterElseIsSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rules := tradeWithin(t, "Propose", time.Second, "Decline")
	s := agent(t, "seller")
	declined := make(chan struct{}, 10)
	p := parley.NewProtocol(rules)
	parley.Handle(p, func(context.Context, *parley.Turn, Cfp) (Propose, error) { return Propose{Price: 7}, nil })
	parley.On(p, func(context.Context, *parley.Turn, Accept) error { return nil })
	parley.On(p, func(context.Context, *parley.Turn, Decline) error { declined <- struct{}{}; return nil })
	s.Include(p, &parley.Include{Role: "seller"})
	buyer := agent(t, "buyer")
	undecided := parley.NewProtocol(rules)
	parley.On(undecided, func(context.Context, *parley.Turn, Propose) error { return nil })
	buyer.Include(undecided, &parley.Include{Role: "buyer"})
	buyer.OnStart(func(_ context.Context, turn *parley.Turn) error { return turn.Send(s.Address(), Cfp{"sugar"}) })
	w.start("s", nil, s)
	w.start("b", nil, buyer)

	within(t, "the decline", declined)
}

func TestReportOnlySaysWhatIsOutOfTurn(t *testing.T) {
	w := newWorld(t)
	a, accepted := agent(t, "seller"), make(chan string, 1)
	p := parley.NewProtocol(trade(t))
	parley.On(p, func(context.Context, *parley.Turn, Cfp) error { return nil })
	parley.On(p, func(_ context.Context, turn *parley.Turn, _ Accept) error { accepted <- turn.Session; return nil })
	parley.On(p, func(context.Context, *parley.Turn, Decline) error { return nil })
	a.Include(p, &parley.Include{Role: "seller", Report: true})
	w.start("s", nil, a)

	if _, err := w.post("s", sealed(t, key(t, "eve"), a.Address(), digestOf[Accept](t), `{}`, nil), false); err != nil {
		t.Fatal(err)
	}
	within(t, "an acceptance of nothing", accepted)
}

// An agent that talks to itself is both sides of the dialogue.
func TestAnAgentTalksToItselfInTurn(t *testing.T) {
	rules := trade(t)
	rules.Roles = nil
	rules.Dialogue.Initiates[0].By = nil
	for i := range rules.Messages {
		rules.Messages[i].From = nil
	}
	a, accepted := agent(t, "janus"), make(chan struct{}, 1)
	p := parley.NewProtocol(rules)
	parley.Handle(p, func(context.Context, *parley.Turn, Cfp) (Propose, error) { return Propose{Price: 7}, nil })
	parley.Handle(p, func(context.Context, *parley.Turn, Propose) (Accept, error) { return Accept{}, nil })
	parley.On(p, func(context.Context, *parley.Turn, Accept) error { accepted <- struct{}{}; return nil })
	parley.On(p, func(context.Context, *parley.Turn, Decline) error { return nil })
	a.Include(p, nil)
	a.OnStart(func(_ context.Context, turn *parley.Turn) error { return turn.Send(a.Address(), Cfp{"sugar"}) })
	newWorld(t).start("n", nil, a)

	within(t, "the acceptance", accepted)
}

type Seen struct {
	Text string `json:"text"`
}

// A receipt goes out when the message is taken over, however long its handler
// takes, and to a caller who waits it is the reply.
func TestAReceiptDoesNotWaitForTheHandler(t *testing.T) {
	w := newWorld(t)
	a, release := agent(t, "bob"), make(chan struct{})
	var handled atomic.Int32
	parley.On(a, func(ctx context.Context, _ *parley.Turn, in Note) error {
		select {
		case <-release:
		case <-ctx.Done():
		}
		handled.Add(1)
		return nil
	}, parley.Confirm(func(in Note) Seen { return Seen(in) }))
	w.start("b", nil, a)
	envelope := sealed(t, key(t, "eve"), a.Address(), digestOf[Note](t), `{"text": "hi"}`, nil)

	for range 2 { // a repeat gets the same receipt
		f, err := w.post("b", envelope, true)
		if err != nil {
			t.Fatal(err)
		}
		if text := replyText(t, f); text != `{"text": "hi"}` {
			t.Errorf("the receipt is %s", text)
		}
	}
	if handled.Load() != 0 {
		t.Error("the handler had ended")
	}
	close(release)
}
