package main

import (
	"context"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/run"
	"github.com/parley-agents/parley/spec"
)

// auction is a program with a protocol of its author's own, which has roles, and two
// agents.
func auction() {
	type Bid struct {
		Amount int64 `json:"amount"`
	}
	type Verdict struct {
		Sold bool `json:"sold"`
	}
	rules := &spec.Protocol{
		Name: "Auction", Version: "1.0.0", Roles: []spec.Role{{Name: "auctioneer"}, {Name: "bidder"}},
		Rules: []spec.Rule{{Message: "Bid", Replies: []string{"Verdict"}}},
		Dialogue: &spec.Dialogue{
			Initiates:  []spec.Initiation{{Messages: []string{"Bid"}, By: []string{"bidder"}}},
			Terminates: []string{"Verdict"}, EndStates: []string{"over"},
			Outcomes: []spec.Outcome{{State: "over", Messages: []string{"Verdict"}}},
		},
	}
	for role, bodyOf := range map[string]func() (*spec.Record, error){"bidder": spec.FromGo[Bid], "auctioneer": spec.FromGo[Verdict]} {
		body, err := bodyOf()
		if err != nil {
			panic(err)
		}
		rules.Messages = append(rules.Messages, spec.Message{Name: body.Name, Body: body, From: []string{role}})
	}
	p := parley.NewProtocol(rules)
	parley.Handle(p, func(_ context.Context, _ *parley.Turn, in Bid) (Verdict, error) {
		return Verdict{Sold: in.Amount > 100}, nil
	})
	auctioneer := parley.NewAgent("auctioneer", nil)
	auctioneer.Include(p, &parley.Include{PublishManifest: true, Role: "auctioneer"})
	run.Main(auctioneer, parley.NewAgent("bidder", nil))
}
