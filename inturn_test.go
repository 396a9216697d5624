package parley_test

import (
	"context"
	"testing"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/spec"
)

type (
	Cfp struct {
		Item string `json:"item"`
	}
	Propose struct {
		Price int `json:"price"`
	}
	Accept  struct{}
	Decline struct{}
)

// trade is a protocol with rules: a buyer calls for proposals, a seller
// proposes, the buyer accepts or declines, and then it is over.
func trade(t testing.TB) *spec.Protocol {
	t.Helper()
	p := &spec.Protocol{
		Name: "Trade", Version: "1.0.0", Roles: []spec.Role{{Name: "buyer"}, {Name: "seller"}},
		Rules: []spec.Rule{
			{Message: "Cfp", Replies: []string{"Propose"}}, {Message: "Propose", Replies: []string{"Accept", "Decline"}},
			{Message: "Accept"}, {Message: "Decline"},
		},
		Dialogue: &spec.Dialogue{
			Initiates:  []spec.Initiation{{Messages: []string{"Cfp"}, By: []string{"buyer"}}},
			Terminates: []string{"Accept", "Decline"}, EndStates: []string{"agreed", "declined"},
			Outcomes: []spec.Outcome{{State: "agreed", Messages: []string{"Accept"}}, {State: "declined", Messages: []string{"Decline"}}},
		},
	}
	for _, m := range []struct {
		from string
		body func() (*spec.Record, error)
	}{{"buyer", spec.FromGo[Cfp]}, {"seller", spec.FromGo[Propose]}, {"buyer", spec.FromGo[Accept]}, {"buyer", spec.FromGo[Decline]}} {
		body, err := m.body()
		if err != nil {
			t.Fatal(err)
		}
		p.Messages = append(p.Messages, spec.Message{Name: body.Name, Body: body, From: []string{m.from}})
	}
	return p
}

func seller(t testing.TB, accepted chan<- string) *parley.Agent {
	t.Helper()
	a := agent(t, "seller")
	p := parley.NewProtocol(trade(t))
	parley.Handle(p, func(context.Context, *parley.Turn, Cfp) (Propose, error) { return Propose{Price: 7}, nil })
	parley.On(p, func(_ context.Context, turn *parley.Turn, _ Accept) error { accepted <- turn.Session; return nil })
	parley.On(p, func(context.Context, *parley.Turn, Decline) error { return nil })
	a.Include(p, &parley.Include{Role: "seller"})
	return a
}

// A message that the rules do not allow now is refused, and its sender is told
// what would have been allowed.
func TestMessagesOutOfTurnAreRefused(t *testing.T) {
	w := newWorld(t)
	accepted := make(chan string, 10)
	s := seller(t, accepted)
	w.start("s", nil, s)
	eve := key(t, "eve")

	f, err := w.post("s", sealed(t, eve, s.Address(), digestOf[Accept](t), `{}`, nil), true)
	if err != nil {
		t.Fatal(err)
	}
	if got := replyText(t, f); !contains(got, "Accept") || !contains(got, "Cfp") {
		t.Errorf("the sender hears %s", got)
	}
	select {
	case <-accepted:
		t.Error("an acceptance of nothing was handled")
	default:
	}
}

func TestADialogueWithRulesRunsToItsEnd(t *testing.T) {
	w := newWorld(t)
	accepted := make(chan string, 10)
	s, buyer := seller(t, accepted), agent(t, "buyer")
	p := parley.NewProtocol(trade(t))
	refused := make(chan error, 1)
	parley.Handle(p, func(ctx context.Context, turn *parley.Turn, in Propose) (Accept, error) { return Accept{}, nil })
	buyer.Include(p, &parley.Include{Role: "buyer"})
	buyer.OnStart(func(ctx context.Context, turn *parley.Turn) error {
		if err := turn.Send(s.Address(), Cfp{"sugar"}); err != nil {
			return err
		}
		return turn.Flush(ctx)
	})
	buyer.OnStart(func(ctx context.Context, turn *parley.Turn) error {
		if err := turn.Send(s.Address(), Decline{}); err != nil { // of nothing
			return err
		}
		refused <- turn.Flush(ctx)
		return nil
	})
	w.start("s", nil, s)
	w.start("b", nil, buyer)

	<-accepted
	if err := <-refused; err == nil || fault.CodeOf(err) != fault.OutOfTurn {
		t.Errorf("sending out of turn: %v, want out_of_turn", err)
	}
}
