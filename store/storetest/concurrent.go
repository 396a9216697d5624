package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

const (
	committers = 32
	each       = 25
)

// together runs f in many goroutines and waits for all of them.
func together(n int, f func(i int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { f(i) })
	}
	group.Wait()
}

func concurrentCommits(t *testing.T, s parley.Store) {
	ctx := t.Context()

	together(committers, func(i int) {
		agent := []identity.Address{alice, bob, carol}[i%3]
		for n := range each {
			id := fmt.Sprintf("%d/%d", i, n)
			b := &parley.Batch{Agent: agent, Marks: []parley.Mark{mark(id)}, Inbox: []parley.InboxEntry{inbound(id, n)}, Outbox: []parley.OutboxEntry{outbound(id, carol, n)}, Set: []parley.KeyValue{{Key: id, Value: []byte(id)}}}
			if err := s.Commit(ctx, b); err != nil {
				t.Errorf("Commit of %s = %v", id, err)
				return
			}
		}
	})

	found := map[string]int{}
	for _, agent := range []identity.Address{alice, bob, carol} {
		last := map[string]int{} // by committer
		for _, e := range must(s.Inbox(ctx, agent, 0, 2*committers*each))(t) {
			found[e.ID]++
			var i, n int
			if _, err := fmt.Sscanf(e.ID, "%d/%d", &i, &n); err != nil {
				t.Fatal(err)
			}
			if by := fmt.Sprint(i); n != last[by] {
				t.Errorf("%s comes as number %d of its committer, out of order", e.ID, last[by])
			} else {
				last[by]++
			}
		}
		for _, key := range must(s.Keys(ctx, agent, "", "", 2*committers*each))(t) {
			found["key "+key]++
		}
	}
	for _, e := range must(s.Outbox(ctx, carol, 0, 2*committers*each))(t) {
		found["out "+e.ID]++
	}
	if len(found) != 3*committers*each {
		t.Errorf("%d things landed, want %d", len(found), 3*committers*each)
	}
	for id, times := range found {
		if times != 1 {
			t.Errorf("%s landed %d times", id, times)
		}
	}
}

func oneIsFirst(t *testing.T, s parley.Store) {
	ctx := t.Context()
	for n := range each {
		id := fmt.Sprint(n)
		var first atomic.Int64
		together(committers, func(i int) {
			m := mark(id)
			m.Inbox = fmt.Sprintf("%d of %d", i, n)
			e := inbound(m.Inbox, n)
			err := s.Commit(ctx, &parley.Batch{Agent: alice, Marks: []parley.Mark{m}, Inbox: []parley.InboxEntry{e}})
			if _, seen := errors.AsType[*parley.SeenError](err); !seen && err != nil {
				t.Errorf("Commit = %v, want nil or a *SeenError", err)
			}
			if err == nil {
				first.Add(1)
			}
		})
		if first.Load() != 1 {
			t.Errorf("%d were first with mark %d, want 1", first.Load(), n)
		}
	}
	if entries := must(s.Inbox(ctx, alice, 0, many))(t); len(entries) != each {
		t.Errorf("%d entries, want one for each of %d marks", len(entries), each)
	}
}

func oneAdvances(t *testing.T, s parley.Store) {
	ctx := t.Context()
	for range each {
		d := must(s.Dialogue(ctx, alice, "d"))(t)
		d.Version++
		var wins atomic.Int64
		together(8, func(i int) {
			mine := d
			mine.State = fmt.Append(nil, i)
			switch err := s.Commit(ctx, &parley.Batch{Agent: alice, Dialogues: []parley.DialogueRecord{mine}}); {
			case err == nil:
				wins.Add(1)
			case fault.CodeOf(err) != fault.Conflict:
				t.Errorf("Commit = %v, want nil or a conflict", err)
			}
		})
		if wins.Load() != 1 {
			t.Errorf("%d have advanced the dialogue to version %d, want 1", wins.Load(), d.Version)
		}
	}
	if d := must(s.Dialogue(ctx, alice, "d"))(t); d.Version != each {
		t.Errorf("version %d after %d rounds", d.Version, each)
	}
}

// failuresStayAlone mixes batches that must fail with such that must not. Stores
// that write several batches at once have to tell them apart.
func failuresStayAlone(t *testing.T, s parley.Store) {
	ctx := t.Context()
	commit(t, s, &parley.Batch{Agent: alice, Marks: []parley.Mark{mark("old")}})
	type failure struct {
		name string
		ok   bool
	}
	results := make(chan failure, 2*committers)

	together(2*committers, func(i int) {
		b := full(alice, fmt.Sprint(i))
		switch i % 4 {
		case 1:
			b.Marks = append(b.Marks, mark("old"))
		case 3:
			b.Dialogues = append(b.Dialogues, parley.DialogueRecord{ID: "new", Version: 7})
		}
		results <- failure{fmt.Sprint(i), s.Commit(ctx, b) == nil}
	})
	close(results)

	for r := range results {
		var i int
		_, _ = fmt.Sscan(r.name, &i)
		want := map[bool]string{true: "all", false: "nothing"}[i%2 == 0]
		if r.ok != (i%2 == 0) {
			t.Errorf("batch %s succeeds: %v, want %v", r.name, r.ok, i%2 == 0)
		}
		if got := applied(t, s, alice, r.name); got != want {
			t.Errorf("of batch %s is applied: %s, want %s", r.name, got, want)
		}
	}
}

func readYourWrites(t *testing.T, s parley.Store) {
	ctx := t.Context()
	together(8, func(i int) {
		for n := range each {
			key, value := fmt.Sprint("key ", i), fmt.Sprint(n)
			if err := s.Commit(ctx, &parley.Batch{Agent: alice, Set: []parley.KeyValue{{Key: key, Value: []byte(value)}}}); err != nil {
				t.Error(err)
				return
			}
			got, ok, err := s.Get(ctx, alice, key)
			if err != nil || !ok || string(got) != value {
				t.Errorf("Get = %q, %v, %v after %s was committed", got, ok, err, value)
				return
			}
		}
	})
}

func endedContext(t *testing.T, s parley.Store) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()

	err := s.Commit(ended, full(alice, "ended"))

	want := map[bool]string{true: "all", false: "nothing"}[err == nil]
	if got := applied(t, s, alice, "ended"); got != want {
		t.Errorf("Commit with an ended context = %v, and applied is %s", err, got)
	}

	var names sync.Map
	together(committers, func(i int) {
		for n := range 4 {
			name := fmt.Sprintf("%d/%d", i, n)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				time.Sleep(time.Duration(i*n) * 20 * time.Microsecond)
				cancel()
			}()
			names.Store(name, s.Commit(ctx, full(alice, name)))
		}
	})

	names.Range(func(name, err any) bool {
		got := applied(t, s, alice, name.(string))
		if got != "all" && got != "nothing" || err == nil && got != "all" {
			t.Errorf("Commit whose context ended meanwhile = %v, and applied is %s", err, got)
		}
		return true
	})
}

func closedRefuses(t *testing.T, s parley.Store) {
	commit(t, s, full(alice, "one"))

	if err := s.Close(); err != nil {
		t.Fatalf("Close = %v, want nil", err)
	}

	ctx := t.Context()
	wantCode(t, "Commit", s.Commit(ctx, full(alice, "two")), fault.Unavailable)
	wantCode(t, "Commit of nothing", s.Commit(ctx, &parley.Batch{Agent: alice}), fault.Unavailable)
	_, err := s.Inbox(ctx, alice, 0, many)
	wantCode(t, "Inbox", err, fault.Unavailable)
	_, _, err = s.Get(ctx, alice, "one")
	wantCode(t, "Get", err, fault.Unavailable)
	_, err = s.Trim(ctx, noon, noon)
	wantCode(t, "Trim", err, fault.Unavailable)
	_ = s.Close() // once more must not harm
}

// loaded closes a store while many commit to it, and returns the IDs of those
// inbox entries whose commit succeeded.
func loaded(t *testing.T, s parley.Store) []string {
	t.Helper()
	var mu sync.Mutex
	var kept []string
	var running sync.WaitGroup
	for i := range committers {
		running.Go(func() {
			for n := range 10_000 {
				id := fmt.Sprintf("%d/%d", i, n)
				err := s.Commit(t.Context(), &parley.Batch{Agent: alice, Inbox: []parley.InboxEntry{inbound(id, n)}})
				if err != nil {
					if fault.CodeOf(err) != fault.Unavailable {
						t.Errorf("Commit to a store that is being closed = %v, want code %s", err, fault.Unavailable)
					}
					return
				}
				mu.Lock()
				kept = append(kept, id)
				mu.Unlock()
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	if err := s.Close(); err != nil {
		t.Errorf("Close = %v, want nil", err)
	}
	running.Wait()
	slices.Sort(kept)
	return kept
}

func closeUnderLoad(t *testing.T, s parley.Store) {
	if kept := loaded(t, s); len(kept) == 0 {
		t.Error("no commit succeeded before the store was closed")
	}
}
