package quota_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/quota"
	"github.com/parley-agents/parley/store/sqlite"
)

const (
	crashFolder  = "PARLEY_QUOTA_FOLDER"
	crashSenders = 16
	crashEach    = 10
)

func TestMain(m *testing.M) {
	if folder := os.Getenv(crashFolder); folder != "" {
		if err := untilAnswered(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A process in which 16 senders send ten messages each is killed again and
// again. In the end each has had six replies and four refusals, and has paid for
// six.
func TestExactWhenKilled(t *testing.T) {
	folder := t.TempDir()
	child := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), crashFolder+"="+folder)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	killed := 0
	for range 8 {
		cmd := child()
		kill := time.AfterFunc(time.Duration(30+rand.IntN(120))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		if err := cmd.Wait(); err != nil {
			killed++
		}
		kill.Stop()
	}
	last := child()
	stuck := time.AfterFunc(2*time.Minute, func() { _ = last.Process.Kill() })
	if err := last.Wait(); err != nil {
		t.Fatal(err)
	}
	stuck.Stop()
	if killed == 0 {
		t.Error("it was never killed in the middle")
	}

	store := openIn(t, folder)
	served := address(t, "served")
	for i := range crashSenders {
		sender := address(t, fmt.Sprint("sender", i))
		replies, refusals := number(t, store, sender, "replies"), number(t, store, sender, "refusals")
		entries, err := quota.Read(t.Context(), store, served, sender, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) != 1 || entries[0].Requests != 6 || replies != 6 || refusals != crashEach-6 {
			t.Errorf("sender %d: %d replies, %d refusals, paid %+v", i, replies, refusals, entries)
		}
	}
}

func openIn(t *testing.T, folder string) parley.Store {
	store, err := sqlite.Open(filepath.Join(folder, "parley.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// untilAnswered runs the node of the test until all messages are answered.
func untilAnswered(folder string) error {
	store, err := sqlite.Open(filepath.Join(folder, "parley.db"), nil)
	if err != nil {
		return err
	}
	defer store.Close()
	limits, err := quota.New(limited())
	if err != nil {
		return err
	}
	served := parley.NewAgent("served", nil)
	served.Use(limits.Middleware())
	parley.Handle(served, func(_ context.Context, _ *parley.Turn, in Prompt) (Reply, error) {
		time.Sleep(20 * time.Millisecond) // so that it is killed in the middle
		return Reply(in), nil
	})
	answered := make(chan struct{}, crashSenders*crashEach)
	agents := []*parley.Agent{served}
	for i := range crashSenders {
		agents = append(agents, sendingAgent(fmt.Sprint("sender", i), served, answered))
	}
	if err := giveKeys(agents); err != nil {
		return err
	}
	node, err := parley.NewNode(&parley.NodeOptions{Store: store, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if err := node.Add(agents...); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer stop()
		for range agents[1:] {
			<-answered
		}
	}()
	return node.Run(ctx)
}

// sendingAgent sends all its messages in its first turn, counts what comes back
// in its store, and says when that is all.
func sendingAgent(name string, to *parley.Agent, answered chan<- struct{}) *parley.Agent {
	a := parley.NewAgent(name, nil)
	a.OnStart(func(ctx context.Context, t *parley.Turn) error {
		if _, sent, err := t.Get(ctx, "sent"); err != nil || sent {
			return err
		}
		for n := range crashEach {
			if err := t.Send(to.Address(), Prompt{fmt.Sprint(n)}); err != nil {
				return err
			}
		}
		return t.Set("sent", []byte("true"))
	})
	count := func(ctx context.Context, t *parley.Turn, key string) error {
		n, _, err := parley.Load[int](ctx, t, key)
		if err != nil {
			return err
		}
		return parley.Save(t, key, n+1)
	}
	parley.On(a, func(ctx context.Context, t *parley.Turn, _ Reply) error { return count(ctx, t, "replies") })
	parley.On(a, func(ctx context.Context, t *parley.Turn, in parley.ErrorMessage) error {
		if in.Error != exceeded {
			return count(ctx, t, "surprises")
		}
		return count(ctx, t, "refusals")
	})
	done := false
	a.Every(10*time.Millisecond, func(ctx context.Context, t *parley.Turn) error {
		replies, _, err := parley.Load[int](ctx, t, "replies")
		if err != nil {
			return err
		}
		refusals, _, err := parley.Load[int](ctx, t, "refusals")
		if err == nil && replies+refusals >= crashEach && !done {
			done = true
			answered <- struct{}{}
		}
		return err
	})
	return a
}

func giveKeys(agents []*parley.Agent) error {
	for _, a := range agents {
		key, err := identity.FromSeed(a.Name(), 0)
		if err != nil {
			return err
		}
		a.SetKey(key)
	}
	return nil
}

func number(t *testing.T, store parley.Store, agent identity.Address, key string) int {
	text, _, err := store.Get(t.Context(), agent, key)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(string(text))
	return n
}
