package bench

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
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

// BenchmarkIdleAgents prints the memory of agents that wait for a message, of
// the peer's, and of the least that an agent could be: a key, an address and a
// function.
func BenchmarkIdleAgents(b *testing.B) {
	heading(fmt.Sprintf("Resident memory per idle agent with one handler in a running node, of %d (Python: of 1000)", idleAgents))
	theirs := numbers(b, "uag_mem.py", "1000")["per_agent"] * 1e3
	line{"aim at most 1500 B", "B", idle(b, "agents"), theirs, idle(b, "bare"), true, 0, 0}.print()
	for range b.N { // the framework wants a loop
	}
}

// idle measures in a process of its own, where nothing was freed before.
func idle(b *testing.B, what string) float64 {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "PARLEY_BENCH_ROLE=idle", "PARLEY_BENCH_IDLE="+what)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	check(err)
	check(cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	check(err)
	check(cmd.Wait())
	n, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
	check(err)
	return n
}

func idleProcess() {
	n, err := parley.NewNode(&parley.NodeOptions{Store: memory.New()})
	check(err)
	type least struct {
		key      *identity.Key
		address  identity.Address
		handlers map[string]func()
	}
	var all []least
	before := residentBytes()
	for range idleAgents {
		key, err := identity.Generate()
		check(err)
		if os.Getenv("PARLEY_BENCH_IDLE") == "bare" {
			all = append(all, least{key, key.Address(), map[string]func(){schema: func() {}}})
			continue
		}
		a := parley.NewAgent("idle", &parley.AgentOptions{Key: key})
		parley.Handle(a, func(_ context.Context, _ *parley.Turn, in Ping) (Pong, error) { return Pong(in), nil })
		check(n.Add(a))
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	for !n.Ready() {
		time.Sleep(time.Millisecond)
	}
	debug.FreeOSMemory() // as the runtime does by itself after some minutes
	fmt.Println(float64(residentBytes()-before) / idleAgents)
	runtime.KeepAlive(all)
	stop()
	check(<-done)
}

func residentBytes() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	check(err)
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	check(err)
	return pages * int64(os.Getpagesize())
}
