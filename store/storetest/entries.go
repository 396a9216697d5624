package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

func inboxOrder(t *testing.T, s parley.Store) {
	ctx := t.Context()
	commit(t, s, &parley.Batch{Agent: alice, Inbox: []parley.InboxEntry{inbound("z", 1), inbound("y", 2)}})
	commit(t, s, &parley.Batch{Agent: bob, Inbox: []parley.InboxEntry{inbound("other", 1)}})
	commit(t, s, &parley.Batch{Agent: alice, Inbox: []parley.InboxEntry{inbound("x", 3), inbound("w", 4)}})

	all := must(s.Inbox(ctx, alice, 0, many))(t)
	wantIDs(t, "all", ids(all), "z", "y", "x", "w")
	if !slices.IsSortedFunc(all, func(a, b parley.InboxEntry) int { return int(a.Seq - b.Seq) }) || all[0].Seq <= 0 {
		t.Errorf("Seqs are not positive and rising: %+v", all)
	}
	wantIDs(t, "with a limit", ids(must(s.Inbox(ctx, alice, 0, 3))(t)), "z", "y", "x")
	wantIDs(t, "after the second", ids(must(s.Inbox(ctx, alice, all[1].Seq, 1))(t)), "x")
	wantIDs(t, "after the last", ids(must(s.Inbox(ctx, alice, all[3].Seq, many))(t)))
	wantIDs(t, "with a limit of 0", ids(must(s.Inbox(ctx, alice, 0, 0))(t)))
}

func doneIsGone(t *testing.T, s parley.Store) {
	ctx := t.Context()
	commit(t, s, &parley.Batch{Agent: alice, Inbox: []parley.InboxEntry{inbound("a", 1), inbound("b", 2), inbound("c", 3)}})

	commit(t, s, &parley.Batch{Agent: alice, Done: []string{"a", "c"}})
	commit(t, s, &parley.Batch{Agent: alice, Done: []string{"a"}}) // once more means nothing

	wantIDs(t, "after two are done", ids(must(s.Inbox(ctx, alice, 0, many))(t)), "b")
	commit(t, s, &parley.Batch{Agent: alice, Retry: []parley.Retry{{ID: "a", Attempts: 1}}})
	wantIDs(t, "a retry does not bring it back", ids(must(s.Inbox(ctx, alice, 0, many))(t)), "b")
}

func retryIsRemembered(t *testing.T, s parley.Store) {
	commit(t, s, &parley.Batch{Agent: alice, Inbox: []parley.InboxEntry{inbound("a", 1), inbound("b", 2)}})

	commit(t, s, &parley.Batch{Agent: alice, Retry: []parley.Retry{{ID: "a", Attempts: 2, Before: noon}}})

	want := []parley.InboxEntry{inbound("a", 1), inbound("b", 2)}
	want[0].Attempts, want[0].Before = 2, noon
	same(t, "Inbox", must(s.Inbox(t.Context(), alice, 0, many))(t), want)
}

func waitingAgents(t *testing.T, s parley.Store) {
	want := func(when string, want ...identity.Address) {
		t.Helper()
		got := must(s.Waiting(t.Context()))(t)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("Waiting %s = %v, want %v", when, got, want)
		}
	}
	want("at first")
	commit(t, s, &parley.Batch{Agent: carol, Set: []parley.KeyValue{{Key: "k"}}})
	commit(t, s, &parley.Batch{Agent: alice, Inbox: []parley.InboxEntry{inbound("a", 1), inbound("b", 2)}})
	commit(t, s, &parley.Batch{Agent: bob, Inbox: []parley.InboxEntry{inbound("a", 1)}})
	want("with three entries", alice, bob)
	commit(t, s, &parley.Batch{Agent: alice, Done: []string{"a"}})
	want("with one each", alice, bob)
	commit(t, s, &parley.Batch{Agent: alice, Done: []string{"b"}})
	want("when alice is done", bob)
}

// A reader who goes on after the last Seq it has seen must see what comes later,
// also when the last ones are gone by then.
func seqIsNew(t *testing.T, s parley.Store) {
	ctx := t.Context()
	var inbox, dead int64
	for i := range 5 {
		id := fmt.Sprint(i)
		commit(t, s, &parley.Batch{Agent: alice, Inbox: []parley.InboxEntry{inbound(id, i)}, Bury: []parley.DeadLetter{letter(id, i)}})
		entries, letters := must(s.Inbox(ctx, alice, inbox, many))(t), must(s.Dead(ctx, dead, many))(t)
		if len(entries) != 1 || len(letters) != 1 {
			t.Fatalf("after Seq %d and %d: %d entries and %d letters, want the new one of each", inbox, dead, len(entries), len(letters))
		}
		inbox, dead = entries[0].Seq, letters[0].Seq
		commit(t, s, &parley.Batch{Agent: alice, Done: []string{id}, Unbury: []int64{dead}})
	}
}

func outboxOrder(t *testing.T, s parley.Store) {
	ctx := t.Context()
	commit(t, s, &parley.Batch{Agent: alice, Outbox: []parley.OutboxEntry{outbound("z", bob, 1), outbound("other", carol, 2), outbound("y", bob, 3)}})
	fromCarol := outbound("x", bob, 4)
	fromCarol.Message.From = carol
	commit(t, s, &parley.Batch{Agent: carol, Outbox: []parley.OutboxEntry{fromCarol}})
	commit(t, s, &parley.Batch{Agent: alice, Outbox: []parley.OutboxEntry{outbound("w", bob, 5)}})

	all := must(s.Outbox(ctx, bob, 0, many))(t)
	same(t, "all", all, []parley.OutboxEntry{outbound("z", bob, 1), outbound("y", bob, 3), fromCarol, outbound("w", bob, 5)})
	if !slices.IsSortedFunc(all, func(a, b parley.OutboxEntry) int { return int(a.Seq - b.Seq) }) || all[0].Seq <= 0 {
		t.Errorf("Seqs are not positive and rising: %+v", all)
	}
	wantIDs(t, "with a limit", ids(must(s.Outbox(ctx, bob, 0, 3))(t)), "z", "y", "x")
	wantIDs(t, "after the second", ids(must(s.Outbox(ctx, bob, all[1].Seq, 1))(t)), "x")
	wantIDs(t, "after the last", ids(must(s.Outbox(ctx, bob, all[3].Seq, many))(t)))
	wantIDs(t, "with a limit of 0", ids(must(s.Outbox(ctx, bob, 0, 0))(t)))
	wantIDs(t, "of another target", ids(must(s.Outbox(ctx, nell, 0, many))(t)))
}

func outboxStays(t *testing.T, s parley.Store) {
	first := outbound("a", bob, 1)
	commit(t, s, &parley.Batch{Agent: alice, Outbox: []parley.OutboxEntry{first}})
	commit(t, s, &parley.Batch{Agent: alice, Outcomes: []parley.Outcome{{ID: "a", State: parley.Delivered}}})
	again := outbound("a", carol, 2)

	commit(t, s, &parley.Batch{Agent: alice, Outbox: []parley.OutboxEntry{again, outbound("b", bob, 3)}})

	first.State = parley.Delivered
	same(t, "OutboxEntry", must(s.OutboxEntry(t.Context(), alice, "a"))(t), first)
	wantIDs(t, "the rest of the batch", ids(must(s.Outbox(t.Context(), bob, 0, many))(t)), "b")
	if targets := must(s.Targets(t.Context()))(t); slices.Contains(targets, carol) {
		t.Errorf("Targets = %v, want bob alone", targets)
	}
}

func outboxStates(t *testing.T, s parley.Store) {
	ctx := t.Context()
	var batch parley.Batch
	batch.Agent = alice
	for i, state := range []parley.OutboxState{parley.Pending, parley.Held, parley.Delivered, parley.Failed} {
		e := outbound(fmt.Sprint("as ", i), bob, i)
		e.State = state
		batch.Outbox = append(batch.Outbox, e)
	}
	batch.Outbox = append(batch.Outbox, outbound("last", bob, 9))
	commit(t, s, &batch)
	wantIDs(t, "at first", ids(must(s.Outbox(ctx, bob, 0, many))(t)), "as 0", "last")

	steps := []struct {
		id    string
		state parley.OutboxState
		want  []string
	}{
		{"as 1", parley.Pending, []string{"as 0", "as 1", "last"}}, // the caller has gone: in its old place
		{"as 0", parley.Pending, []string{"as 0", "as 1", "last"}}, // tried in vain
		{"as 0", parley.Delivered, []string{"as 1", "last"}},
		{"as 1", parley.Failed, []string{"last"}},
		{"as 1", parley.Pending, []string{"as 1", "last"}}, // resent
		{"last", parley.Held, []string{"as 1"}},
	}
	for _, step := range steps {
		commit(t, s, &parley.Batch{Agent: alice, Outcomes: []parley.Outcome{{ID: step.id, State: step.state}}})
		what := fmt.Sprintf("when %q is in state %d", step.id, step.state)
		wantIDs(t, what, ids(must(s.Outbox(ctx, bob, 0, many))(t)), step.want...)
		if e := must(s.OutboxEntry(ctx, alice, step.id))(t); e.State != step.state {
			t.Errorf("%s: State = %d", what, e.State)
		}
	}
}

func outcomes(t *testing.T, s parley.Store) {
	e := outbound("a", bob, 1)
	e.Attempts = 1
	commit(t, s, &parley.Batch{Agent: alice, Outbox: []parley.OutboxEntry{e, outbound("b", bob, 2)}})
	reason := &parley.DeliveryError{Code: fault.Unavailable, Endpoint: "http://example.com/submit", Status: 503, Text: "come back \"later\""}

	commit(t, s, &parley.Batch{Agent: alice, Outcomes: []parley.Outcome{{ID: "a", Attempts: 2, Next: noon.Add(time.Minute), Reason: reason}}})

	e.Attempts, e.Next, e.Reason = 2, noon.Add(time.Minute), reason
	same(t, "after a failure", must(s.Outbox(t.Context(), bob, 0, many))(t), []parley.OutboxEntry{e, outbound("b", bob, 2)})

	commit(t, s, &parley.Batch{Agent: alice, Outcomes: []parley.Outcome{{ID: "a", State: parley.Delivered, Attempts: 3}}})

	e.State, e.Attempts, e.Next, e.Reason = parley.Delivered, 3, time.Time{}, nil
	same(t, "after the delivery", must(s.OutboxEntry(t.Context(), alice, "a"))(t), e)
}

func pendingTargets(t *testing.T, s parley.Store) {
	want := func(when string, want ...identity.Address) {
		t.Helper()
		got := must(s.Targets(t.Context()))(t)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("Targets %s = %v, want %v", when, got, want)
		}
	}
	want("at first")
	held := outbound("held", nell, 1)
	held.State = parley.Held
	commit(t, s, &parley.Batch{Agent: alice, Outbox: []parley.OutboxEntry{outbound("a", bob, 1), outbound("b", bob, 2), outbound("c", carol, 3), held}})
	want("with three pending", bob, carol)
	commit(t, s, &parley.Batch{Agent: alice, Outcomes: []parley.Outcome{{ID: "a", State: parley.Delivered}, {ID: "c", State: parley.Failed}}})
	want("with one pending", bob)
	commit(t, s, &parley.Batch{Agent: alice, Outcomes: []parley.Outcome{{ID: "b", State: parley.Delivered}, {ID: "held", State: parley.Pending}}})
	want("when a held one was let go", nell)
}

func outboxEntry(t *testing.T, s parley.Store) {
	e := outbound("a", bob, 1)
	commit(t, s, &parley.Batch{Agent: alice, Outbox: []parley.OutboxEntry{e}})

	same(t, "OutboxEntry", must(s.OutboxEntry(t.Context(), alice, "a"))(t), e)
	for _, missing := range []struct {
		agent identity.Address
		id    string
	}{{alice, "b"}, {bob, "a"}, {nell, "a"}, {alice, ""}} {
		_, err := s.OutboxEntry(t.Context(), missing.agent, missing.id)
		wantCode(t, fmt.Sprintf("OutboxEntry(%s, %q)", missing.agent, missing.id), err, fault.NotFound)
	}
}

func replies(t *testing.T, s parley.Store) {
	ctx := t.Context()
	commit(t, s, &parley.Batch{Agent: alice, Outbox: []parley.OutboxEntry{reply("b", "in"), outbound("no reply", bob, 1), reply("a", "in"), reply("c", "other")}})
	commit(t, s, &parley.Batch{Agent: alice, Outcomes: []parley.Outcome{{ID: "b", State: parley.Delivered}, {ID: "a", State: parley.Failed}}})
	commit(t, s, &parley.Batch{Agent: alice, Outbox: []parley.OutboxEntry{reply("d", "in")}})

	wantIDs(t, "replies to in", ids(must(s.Replies(ctx, alice, "in"))(t)), "b", "a", "d")
	wantIDs(t, "replies to other", ids(must(s.Replies(ctx, alice, "other"))(t)), "c")
	wantIDs(t, "replies to nothing", ids(must(s.Replies(ctx, alice, "nothing"))(t)))
	wantIDs(t, "what is no reply answers nothing", ids(must(s.Replies(ctx, alice, ""))(t)))
	wantIDs(t, "replies of another", ids(must(s.Replies(ctx, bob, "in"))(t)))
}
