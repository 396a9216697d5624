package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

func everythingStays(t *testing.T, reopen func() parley.Store) {
	s := reopen()
	one, two := full(alice, "one"), full(bob, "two")
	one.Inbox[0].Attempts, one.Inbox[0].Before = 2, noon
	commit(t, s, one)
	commit(t, s, two)
	commit(t, s, &parley.Batch{Agent: alice, Outcomes: []parley.Outcome{{ID: "one", State: parley.Failed, Attempts: 5, Reason: &parley.DeliveryError{Code: fault.Unknown, Text: "reset"}}}})

	for range 2 {
		s = reopen()
		ctx := t.Context()
		for agent, name := range map[identity.Address]string{alice: "one", bob: "two"} {
			if got := applied(t, s, agent, name); got != "all" {
				t.Errorf("of batch %s there is %s, want all", name, got)
			}
			if err := s.Commit(ctx, &parley.Batch{Agent: agent, Marks: []parley.Mark{mark(name)}}); !isSeen(err) {
				t.Errorf("the mark of %s: Commit = %v, want a *SeenError", name, err)
			}
		}
		same(t, "Inbox", must(s.Inbox(ctx, alice, 0, many))(t), one.Inbox)
		want := one.Outbox[0]
		want.State, want.Attempts, want.Reason = parley.Failed, 5, &parley.DeliveryError{Code: fault.Unknown, Text: "reset"}
		same(t, "OutboxEntry", must(s.OutboxEntry(ctx, alice, "one"))(t), want)
		wantIDs(t, "Outbox", ids(must(s.Outbox(ctx, bob, 0, many))(t)), "two")
		if waiting := must(s.Waiting(ctx))(t); len(waiting) != 2 {
			t.Errorf("Waiting = %v, want alice and bob", waiting)
		}
	}
}

func isSeen(err error) bool {
	_, seen := errors.AsType[*parley.SeenError](err)
	return seen
}

func goneStaysGone(t *testing.T, reopen func() parley.Store) {
	s := reopen()
	commit(t, s, full(alice, "one"))
	dead := must(s.Dead(t.Context(), 0, many))(t)
	commit(t, s, &parley.Batch{Agent: alice, Done: []string{"one"}, Unbury: []int64{dead[0].Seq}, Delete: []string{"one"}})
	refused := full(alice, "two")
	refused.Marks = append(refused.Marks, mark("one"))
	if err := s.Commit(t.Context(), refused); !isSeen(err) {
		t.Fatalf("Commit = %v, want a *SeenError", err)
	}

	s = reopen()

	ctx := t.Context()
	wantIDs(t, "Inbox", ids(must(s.Inbox(ctx, alice, 0, many))(t)))
	wantIDs(t, "Dead", ids(must(s.Dead(ctx, 0, many))(t)))
	if keys := must(s.Keys(ctx, alice, "", "", many))(t); len(keys) > 0 {
		t.Errorf("Keys = %q, want none", keys)
	}
	if got := applied(t, s, alice, "two"); got != "nothing" {
		t.Errorf("of a refused batch there is %s, want nothing", got)
	}
	commit(t, s, full(alice, "two"))
}

func seqIsNewAfterRestart(t *testing.T, reopen func() parley.Store) {
	var inbox, dead, log int64
	for range 3 {
		s := reopen()
		ctx := t.Context()
		b := full(alice, "one")
		b.Marks, b.Dialogues, b.Outbox = nil, nil, nil
		commit(t, s, b)
		entries, letters, records := must(s.Inbox(ctx, alice, inbox, many))(t), must(s.Dead(ctx, dead, many))(t), must(s.Log(ctx, parley.LogQuery{After: log}))(t)
		if len(entries) != 1 || len(letters) != 1 || len(records) != 1 {
			t.Fatalf("after Seq %d, %d and %d: %d entries, %d letters and %d records, want the new one of each", inbox, dead, log, len(entries), len(letters), len(records))
		}
		inbox, dead, log = entries[0].Seq, letters[0].Seq, records[0].Seq
		commit(t, s, &parley.Batch{Agent: alice, Done: []string{"one"}, Unbury: []int64{dead}})
	}
}

func closedUnderLoadStays(t *testing.T, reopen func() parley.Store) {
	kept := loaded(t, reopen())

	s := reopen()

	found := ids(must(s.Inbox(t.Context(), alice, 0, 1_000_000))(t))
	slices.Sort(found)
	if !slices.Equal(found, kept) {
		t.Errorf("%d entries are there, %d commits succeeded", len(found), len(kept))
	}
}
