package main

import (
	"context"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/run"
	"github.com/parley-agents/parley/spec"
)

// auction is a program with a protocol of its author's own and two agents.
func auction() {
	type Bid struct {
		Amount int64 `json:"amount"`
	}
	type Verdict struct {
		Sold bool `json:"sold"`
	}
	p := parley.NewProtocol(&spec.Protocol{Name: "Auction", Version: "1.0.0"})
	parley.Handle(p, func(_ context.Context, _ *parley.Turn, in Bid) (Verdict, error) {
		return Verdict{Sold: in.Amount > 100}, nil
	})
	auctioneer := parley.NewAgent("auctioneer", nil)
	auctioneer.Include(p, &parley.Include{PublishManifest: true})
	run.Main(auctioneer, parley.NewAgent("bidder", nil))
}
