package health_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/vectors"
	"github.com/parley-agents/parley/protocol/health"
	"github.com/parley-agents/parley/store/memory"
)

func TestTheDigestsAreThoseOfTheLibrary(t *testing.T) {
	rules := health.Rules()
	recorded := vectors.Decode[map[string]string](t, vectors.Load(t, "digests.json")["health specification per role"])
	for role, want := range map[string]string{"": recorded["None"], health.Agent: recorded["agent"], health.Monitor: recorded["monitor"]} {
		if got, err := rules.Digest(role); err != nil || got != want {
			t.Errorf("digest for role %q = %s (%v), want %s", role, got, err, want)
		}
	}
}

func TestAnAgentIsHealthyWhenAllChecksSucceed(t *testing.T) {
	well := func(context.Context, *parley.Turn) error { return nil }
	for _, tc := range []struct {
		name   string
		checks []health.Check
		want   health.HealthStatus
	}{
		{"no checks", nil, health.Healthy},
		{"all succeed", []health.Check{well, well}, health.Healthy},
		{"one fails", []health.Check{well, func(context.Context, *parley.Turn) error { return errors.New("no disk") }}, health.Unhealthy},
		{"one panics", []health.Check{func(context.Context, *parley.Turn) error { panic("nil map") }, well}, health.Unhealthy},
	} {
		t.Run(tc.name, func(t *testing.T) {
			agent, monitor := parley.NewAgent("patient", nil), parley.NewAgent("doctor", nil)
			agent.Include(health.NewProtocol(tc.checks...), &parley.Include{Role: health.Agent})
			host(t, agent, monitor)

			got, err := parley.Ask[health.AgentHealth](t.Context(), monitor, agent.Address(), health.HealthCheck{})

			if want := (health.AgentHealth{AgentName: "patient", Status: tc.want}); err != nil || got != want {
				t.Errorf("answer %v (%v), want %v", got, err, want)
			}
		})
	}
}

// A check that takes all its time leaves enough for the answer, which the rules want
// within five seconds.
func TestASlowCheckIsAnsweredInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, monitor := parley.NewAgent("patient", nil), parley.NewAgent("doctor", nil)
		agent.Include(health.NewProtocol(func(ctx context.Context, _ *parley.Turn) error { <-ctx.Done(); return ctx.Err() }), &parley.Include{Role: health.Agent})
		host(t, agent, monitor)
		got, err := parley.Ask[health.AgentHealth](t.Context(), monitor, agent.Address(), health.HealthCheck{})
		if err != nil || got.Status != health.Unhealthy {
			t.Errorf("answer %v (%v), want unhealthy", got, err)
		}
	})
}

// A check that ignores its context makes the agent unhealthy, and its monitor wait no
// longer than for others. However many ask, only so many runs of it hang.
func TestAHangingCheckIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var runs atomic.Int32
		agent, monitor := parley.NewAgent("patient", nil), parley.NewAgent("doctor", nil)
		agent.Include(health.NewProtocol(func(context.Context, *parley.Turn) error { runs.Add(1); <-release; return nil }), &parley.Include{Role: health.Agent})
		host(t, agent, monitor)
		defer close(release)
		var all sync.WaitGroup
		for range 40 {
			all.Go(func() {
				got, err := parley.Ask[health.AgentHealth](t.Context(), monitor, agent.Address(), health.HealthCheck{})
				if err != nil || got.Status != health.Unhealthy {
					t.Errorf("answer %v (%v), want unhealthy", got, err)
				}
			})
		}
		all.Wait()
		if n := runs.Load(); n > 16 {
			t.Errorf("%d runs of the check hang, at most 16 may", n)
		}
	})
}

func host(t *testing.T, agents ...*parley.Agent) {
	t.Helper()
	node, err := parley.NewNode(&parley.NodeOptions{Store: memory.New(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range agents {
		key, err := identity.FromSeed(a.Name(), 0)
		if err != nil {
			t.Fatal(err)
		}
		a.SetKey(key)
	}
	if err := node.Add(agents...); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- node.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
