package bench

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/store/memory"
)

const idleAgents = 100_000

// BenchmarkIdleAgents prints the memory of agents that wait for a message.
func BenchmarkIdleAgents(b *testing.B) {
	n, err := parley.NewNode(&parley.NodeOptions{Store: memory.New()})
	check(err)
	before := residentBytes()
	for i := range idleAgents {
		key, err := identity.FromSeed("idle", i%256)
		check(err)
		if i >= 256 {
			key, err = identity.Generate()
			check(err)
		}
		a := parley.NewAgent("idle", &parley.AgentOptions{Key: key})
		parley.Handle(a, func(_ context.Context, _ *parley.Turn, in Ping) (Pong, error) { return Pong(in), nil })
		check(n.Add(a))
	}
	started, stop := startIdle(n)
	<-started
	debug.FreeOSMemory() // as the runtime does by itself after some minutes
	each := float64(residentBytes()-before) / idleAgents
	fmt.Printf("\n%d idle agents with one handler in a running node: %.0f bytes each (aim 1500)\n", idleAgents, each)
	stop()
	for range b.N { // the framework wants a loop
	}
}

func startIdle(n *parley.Node) (started chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	started, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	go func() {
		for !n.Ready() {
			time.Sleep(time.Millisecond)
		}
		close(started)
	}()
	return started, func() {
		cancel()
		check(<-done)
	}
}

func residentBytes() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	check(err)
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	check(err)
	return pages * int64(os.Getpagesize())
}
