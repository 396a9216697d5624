// Pingpong is two agents in one node: ping asks every second, pong answers and
// counts, in values that survive a restart.
//
//	go run ./examples/pingpong
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/run"
)

// Ping is a serve.
type Ping struct {
	N int `json:"n"`
}

// Pong is the return.
type Pong struct {
	N     int `json:"n"`
	Total int `json:"total"` // returns since the beginning of time
}

func main() {
	pong := parley.NewAgent("pong", nil)
	parley.Handle(pong, func(ctx context.Context, t *parley.Turn, in Ping) (Pong, error) {
		total, _, err := parley.Load[int](ctx, t, "total")
		if err != nil {
			return Pong{}, err
		}
		return Pong{N: in.N, Total: total + 1}, parley.Save(t, "total", total+1)
	})

	ping := parley.NewAgent("ping", nil)
	n := 0
	ping.Every(time.Second, func(ctx context.Context, t *parley.Turn) error {
		n++
		reply, err := parley.Ask[Pong](ctx, t, pong.Address(), Ping{N: n})
		if err != nil {
			return err
		}
		fmt.Printf("pong %d, %d in total\n", reply.N, reply.Total)
		return nil
	})
	run.Main(ping, pong)
}
