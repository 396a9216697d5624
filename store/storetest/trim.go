package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
)

// trimAll calls Trim until there is no more to do.
func trimAll(t *testing.T, s parley.Store, now, before time.Time) {
	t.Helper()
	for range 10_000 {
		if more := must(s.Trim(t.Context(), now, before))(t); !more {
			return
		}
	}
	t.Fatal("Trim still says that there is more, after 10,000 calls")
}

func trim(t *testing.T, s parley.Store) {
	ctx := t.Context()
	now := time.Now()
	b := &parley.Batch{Agent: alice}
	b.Marks = []parley.Mark{{ID: "expired", Expires: noon.Add(-time.Second)}, {ID: "valid", Expires: noon.Add(time.Second)}, {ID: "for ever"}}
	for i, at := range []time.Time{noon.Add(-time.Hour), noon.Add(time.Hour), {}, noon} { // not in order of time
		r, d := record("received", i), letter(fmt.Sprint(i), i)
		r.Time, d.Time = at, at
		b.Log, b.Bury = append(b.Log, r), append(b.Bury, d)
	}
	for i, state := range []parley.OutboxState{parley.Pending, parley.Held, parley.Delivered, parley.Failed} {
		e := reply(fmt.Sprint("out ", i), "in")
		e.State = state
		b.Outbox = append(b.Outbox, e)
	}
	b.Inbox = []parley.InboxEntry{inbound("waits", 1)}
	b.Dialogues = []parley.DialogueRecord{{ID: "d", Version: 1}, {ID: "expired", Version: 1, Expires: noon.Add(-time.Second)}, {ID: "valid", Version: 1, Expires: noon.Add(time.Second)}}
	b.Set = []parley.KeyValue{{Key: "k"}}
	commit(t, s, b)

	trimAll(t, s, noon, noon)

	wantIDs(t, "the log", ids(must(s.Log(ctx, parley.LogQuery{}))(t)), "1", "3")
	wantIDs(t, "of alice", ids(must(s.Log(ctx, parley.LogQuery{Agent: alice}))(t)), "1", "3")
	wantIDs(t, "the dead letters", ids(must(s.Dead(ctx, 0, many))(t)), "1", "3")
	commit(t, s, &parley.Batch{Agent: alice, Marks: []parley.Mark{{ID: "expired"}}})
	for _, id := range []string{"valid", "for ever"} {
		err := s.Commit(ctx, &parley.Batch{Agent: alice, Marks: []parley.Mark{{ID: id}}})
		if _, seen := errors.AsType[*parley.SeenError](err); !seen {
			t.Errorf("the mark %q: Commit = %v, want a *SeenError", id, err)
		}
	}

	// Finished entries are as old as the commit that finished them.
	trimAll(t, s, noon, now.Add(-time.Hour))
	wantIDs(t, "replies when finished ones are young", ids(must(s.Replies(ctx, alice, "in"))(t)), "out 0", "out 1", "out 2", "out 3")
	trimAll(t, s, noon, now.Add(time.Hour))
	wantIDs(t, "replies when finished ones are old", ids(must(s.Replies(ctx, alice, "in"))(t)), "out 0", "out 1")
	_, err := s.OutboxEntry(ctx, alice, "out 2")
	wantCode(t, "OutboxEntry of a trimmed one", err, fault.NotFound)
	wantIDs(t, "what is to be sent", ids(must(s.Outbox(ctx, bob, 0, many))(t)), "out 0")
	commit(t, s, &parley.Batch{Agent: alice, Outcomes: []parley.Outcome{{ID: "out 0", State: parley.Delivered}, {ID: "out 1", State: parley.Failed}}})
	commit(t, s, &parley.Batch{Agent: alice, Outcomes: []parley.Outcome{{ID: "out 1", State: parley.Pending}}})
	trimAll(t, s, noon, now.Add(time.Hour))
	wantIDs(t, "replies when one was resent", ids(must(s.Replies(ctx, alice, "in"))(t)), "out 1")

	wantIDs(t, "what is not done", ids(must(s.Inbox(ctx, alice, 0, many))(t)), "waits")
	for id, want := range map[string]int64{"d": 1, "expired": 0, "valid": 1} {
		if d := must(s.Dialogue(ctx, alice, id))(t); d.Version != want {
			t.Errorf("Dialogue %s = %+v, want version %d", id, d, want)
		}
	}
	if _, ok, err := s.Get(ctx, alice, "k"); !ok || err != nil {
		t.Errorf("Get = %v, %v, want the value as it was", ok, err)
	}
}

func trimIsBounded(t *testing.T, s parley.Store) {
	const count = 3000
	ctx := t.Context()
	b := &parley.Batch{Agent: alice}
	for i := range count {
		m := mark(fmt.Sprint(i))
		m.Expires = noon.Add(-time.Hour)
		b.Marks = append(b.Marks, m)
		r := record("received", 0)
		r.Time = noon.Add(-time.Hour)
		b.Log = append(b.Log, r)
	}
	commit(t, s, b)

	more := must(s.Trim(ctx, noon, noon))(t)

	if !more {
		t.Errorf("Trim deletes %d things in one call and has no more to do, want less at a time", 2*count)
	}
	trimAll(t, s, noon, noon)
	if left := must(s.Log(ctx, parley.LogQuery{Limit: 1}))(t); len(left) > 0 {
		t.Errorf("there are old records in the log when Trim has no more to do")
	}
	for i := 0; i < count; i += 97 {
		commit(t, s, &parley.Batch{Agent: alice, Marks: []parley.Mark{mark(fmt.Sprint(i))}})
	}
	trimAll(t, s, noon, noon)
	wantSeen(t, s.Commit(ctx, &parley.Batch{Agent: alice, Marks: []parley.Mark{mark("97")}}), mark("97"))
}
