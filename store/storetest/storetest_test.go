package storetest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/store/memory"
	"github.com/parley-agents/parley/store/storetest"
)

// The suite is run against each broken store in a process of its own, since a
// suite that fails is what is wanted.
func TestTheSuiteSeesWhatIsBroken(t *testing.T) {
	seesBroken(t, breakages, func(t *testing.T, b *broken) {
		storetest.Run(t, func(*testing.T) parley.Store {
			s := *b
			s.Store = memory.New()
			return &s
		})
	})
}

func TestTheDurableSuiteSeesWhatIsBroken(t *testing.T) {
	seesBroken(t, forgetful, func(t *testing.T, open func(string) parley.Store) {
		storetest.RunDurable(t, func(_ *testing.T, dir string) parley.Store { return open(dir) })
	})
}

func TestEveryPromiseIsBrokenOnce(t *testing.T) {
	names, durable := storetest.Names()
	for _, name := range names {
		if breakages[name] == nil {
			t.Errorf("no store breaks %q: add one to breakages", name)
		}
	}
	for _, name := range durable {
		if forgetful[name] == nil {
			t.Errorf("no store breaks %q: add one to forgetful", name)
		}
	}
	if len(breakages) != len(names) || len(forgetful) != len(durable) {
		t.Errorf("%d and %d breakages for %d and %d promises", len(breakages), len(forgetful), len(names), len(durable))
	}
}

func seesBroken[T any](t *testing.T, breakages map[string]T, run func(*testing.T, T)) {
	const variable = "PARLEY_BROKEN_STORE"
	if promise := os.Getenv(variable); promise != "" {
		storetest.SetPatience(500 * time.Millisecond)
		run(t, breakages[promise])
		return
	}
	for promise := range breakages {
		t.Run(promise, func(t *testing.T) {
			t.Parallel()
			test, _, _ := strings.Cut(t.Name(), "/")
			line := strings.ReplaceAll(promise, " ", "_")
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.timeout=1m", "-test.run=^"+test+"$/^"+line+"$")
			cmd.Env = append(os.Environ(), variable+"="+promise)

			out, err := cmd.CombinedOutput()

			if err == nil || !strings.Contains(string(out), "--- FAIL: "+test+"/"+line) {
				t.Errorf("the suite passes a store that breaks this promise (%v):\n%s", err, out)
			}
			if strings.Contains(string(out), "test timed out") || strings.Contains(string(out), "panic:") {
				t.Errorf("the suite hangs or panics:\n%s", out)
			}
		})
	}
}
