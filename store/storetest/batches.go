package storetest

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

func batchIsWhole(t *testing.T, s parley.Store) {
	b := full(alice, "one")

	commit(t, s, b)

	ctx := t.Context()
	same(t, "Inbox", must(s.Inbox(ctx, alice, 0, many))(t), b.Inbox)
	same(t, "Outbox", must(s.Outbox(ctx, bob, 0, many))(t), b.Outbox)
	same(t, "Replies", must(s.Replies(ctx, alice, "one"))(t), b.Outbox)
	same(t, "Dialogue", must(s.Dialogue(ctx, alice, "one"))(t), b.Dialogues[0])
	b.Bury[0].Agent, b.Log[0].Agent = alice, alice
	same(t, "Dead", must(s.Dead(ctx, 0, many))(t), b.Bury)
	same(t, "Log", must(s.Log(ctx, parley.LogQuery{}))(t), b.Log)
	value, ok, err := s.Get(ctx, alice, "one")
	if !ok || err != nil || string(value) != "value" {
		t.Errorf("Get = %q, %v, %v, want the value", value, ok, err)
	}
	wantSeen(t, s.Commit(ctx, &parley.Batch{Agent: alice, Marks: b.Marks}), b.Marks[0])
}

func emptyBatch(t *testing.T, s parley.Store) {
	commit(t, s, &parley.Batch{Agent: alice})
	commit(t, s, &parley.Batch{Agent: alice, Done: []string{"no such"}, Retry: []parley.Retry{{ID: "no such"}}, Outcomes: []parley.Outcome{{ID: "no such", State: parley.Failed}}, Unbury: []int64{77}, Delete: []string{"no such"}})

	if waiting := must(s.Waiting(t.Context()))(t); len(waiting) > 0 {
		t.Errorf("Waiting = %v, want nobody", waiting)
	}
}

func seenMark(t *testing.T, s parley.Store) {
	first := mark("old")
	commit(t, s, &parley.Batch{Agent: alice, Marks: []parley.Mark{first}})
	b := full(alice, "one")
	b.Marks = append(b.Marks, parley.Mark{ID: "old", Inbox: "another", Expires: noon.Add(time.Minute)})

	err := s.Commit(t.Context(), b)

	wantSeen(t, err, first)
	if got := applied(t, s, alice, "one"); got != "nothing" {
		t.Errorf("applied after a seen mark: %s, want nothing", got)
	}
	commit(t, s, full(alice, "one")) // neither was its new mark kept
	if got := applied(t, s, alice, "one"); got != "all" {
		t.Errorf("applied without the seen mark: %s, want all", got)
	}
}

func markTwiceInBatch(t *testing.T, s parley.Store) {
	b := full(alice, "one")
	again := b.Marks[0]
	again.Inbox = "another"
	b.Marks = append(b.Marks, again)

	err := s.Commit(t.Context(), b)

	wantSeen(t, err, b.Marks[0])
	if got := applied(t, s, alice, "one"); got != "nothing" {
		t.Errorf("applied after a seen mark: %s, want nothing", got)
	}
}

func dialogueConflict(t *testing.T, s parley.Store) {
	commit(t, s, &parley.Batch{Agent: alice, Dialogues: []parley.DialogueRecord{{ID: "old", Version: 1, State: []byte("first")}}})
	for _, d := range []parley.DialogueRecord{{ID: "old", Version: 1}, {ID: "old", Version: 3}, {ID: "old", Version: 0}, {ID: "new", Version: 2}} {
		b := full(alice, "one")
		b.Dialogues = append(b.Dialogues, d)

		err := s.Commit(t.Context(), b)

		wantCode(t, "Commit", err, fault.Conflict)
		if got := applied(t, s, alice, "one"); got != "nothing" {
			t.Errorf("applied after a conflict: %s, want nothing", got)
		}
	}
	same(t, "Dialogue", must(s.Dialogue(t.Context(), alice, "old"))(t), parley.DialogueRecord{ID: "old", Version: 1, State: []byte("first")})
	commit(t, s, full(alice, "one")) // its mark was not kept either
}

func dialogueAdvances(t *testing.T, s parley.Store) {
	same(t, "a dialogue that was never stored", must(s.Dialogue(t.Context(), alice, "d"))(t), parley.DialogueRecord{ID: "d"})
	var last parley.DialogueRecord
	for v := range int64(5) {
		last = parley.DialogueRecord{ID: "d", Version: v + 1, State: bytes.Repeat([]byte("x"), int(v)*1000)}

		commit(t, s, &parley.Batch{Agent: alice, Dialogues: []parley.DialogueRecord{last}})

		same(t, "Dialogue", must(s.Dialogue(t.Context(), alice, "d"))(t), last)
	}
	next := parley.DialogueRecord{ID: "d", Version: 6}
	last = parley.DialogueRecord{ID: "d", Version: 7, State: []byte("two at once")}

	commit(t, s, &parley.Batch{Agent: alice, Dialogues: []parley.DialogueRecord{next, last}})

	same(t, "Dialogue", must(s.Dialogue(t.Context(), alice, "d"))(t), last)
}

func inboxConflict(t *testing.T, s parley.Store) {
	commit(t, s, &parley.Batch{Agent: alice, Inbox: []parley.InboxEntry{inbound("old", 1)}})
	b := full(alice, "one")
	b.Inbox = append(b.Inbox, inbound("old", 2))

	err := s.Commit(t.Context(), b)

	wantCode(t, "Commit", err, fault.Conflict)
	if got := applied(t, s, alice, "one"); got != "nothing" {
		t.Errorf("applied after a conflict: %s, want nothing", got)
	}
	same(t, "Inbox", must(s.Inbox(t.Context(), alice, 0, many))(t), []parley.InboxEntry{inbound("old", 1)})
}

func partsInOrder(t *testing.T, s parley.Store) {
	commit(t, s, &parley.Batch{
		Agent:    alice,
		Inbox:    []parley.InboxEntry{inbound("a", 1), inbound("b", 2)},
		Done:     []string{"a"},
		Retry:    []parley.Retry{{ID: "b", Attempts: 3}},
		Outbox:   []parley.OutboxEntry{outbound("o", bob, 1)},
		Outcomes: []parley.Outcome{{ID: "o", State: parley.Delivered}},
		Set:      []parley.KeyValue{{Key: "k", Value: []byte("v")}},
		Delete:   []string{"k"},
	})

	inbox := must(s.Inbox(t.Context(), alice, 0, many))(t)
	if len(inbox) != 1 || inbox[0].ID != "b" || inbox[0].Attempts != 3 {
		t.Errorf("Inbox = %+v, want b alone, tried three times", inbox)
	}
	if e := must(s.OutboxEntry(t.Context(), alice, "o"))(t); e.State != parley.Delivered {
		t.Errorf("State = %d, want %d", e.State, parley.Delivered)
	}
	if _, ok, _ := s.Get(t.Context(), alice, "k"); ok {
		t.Error("a key that was set and deleted is there")
	}
}

func batchesTogether(t *testing.T, s parley.Store) {
	commit(t, s, &parley.Batch{Agent: bob, Marks: []parley.Mark{mark("old")}})
	refused := full(bob, "two")
	refused.Marks = append(refused.Marks, mark("old"))

	for _, order := range [][]*parley.Batch{{full(alice, "one"), refused}, {refused, full(alice, "one")}} {
		wantSeen(t, s.Commit(t.Context(), order...), mark("old"))
		for agent, name := range map[identity.Address]string{alice: "one", bob: "two"} {
			if got := applied(t, s, agent, name); got != "nothing" {
				t.Errorf("applied of %s when one batch was refused: %s, want nothing", agent, got)
			}
		}
	}
	if err := s.Commit(t.Context(), full(alice, "one"), full(bob, "two")); err != nil {
		t.Fatal(err)
	}
	for agent, name := range map[identity.Address]string{alice: "one", bob: "two"} {
		if got := applied(t, s, agent, name); got != "all" {
			t.Errorf("applied of %s: %s, want all", agent, got)
		}
	}
}

func dueDialogues(t *testing.T, s parley.Store) {
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	commit(t, s, &parley.Batch{Agent: alice, Dialogues: []parley.DialogueRecord{
		{ID: "third", Version: 1, Next: at(3)}, {ID: "first", Version: 1, Next: at(1)}, {ID: "never", Version: 1}, {ID: "late", Version: 1, Next: at(9)},
	}})
	commit(t, s, &parley.Batch{Agent: bob, Dialogues: []parley.DialogueRecord{{ID: "second", Version: 1, Next: at(2)}}})
	all := []parley.DueDialogue{{Agent: alice, ID: "first", Next: at(1)}, {Agent: bob, ID: "second", Next: at(2)}, {Agent: alice, ID: "third", Next: at(3)}}
	ctx := t.Context()

	same(t, "Due", must(s.Due(ctx, at(3), many))(t), all)
	same(t, "Due up to a limit", must(s.Due(ctx, at(3), 2))(t), all[:2])

	commit(t, s, &parley.Batch{Agent: alice, Dialogues: []parley.DialogueRecord{{ID: "first", Version: 2}}})
	same(t, "Due when one is settled", must(s.Due(ctx, at(3), many))(t), all[1:])
}

func agentsAreApart(t *testing.T, s parley.Store) {
	ctx := t.Context()
	commit(t, s, full(alice, "one"))

	if got := applied(t, s, bob, "one"); got != "nothing" {
		t.Errorf("of alice bob sees %s, want nothing", got)
	}
	commit(t, s, full(bob, "one")) // the same IDs, marks and versions

	if got := applied(t, s, bob, "one"); got != "all" {
		t.Errorf("of his own bob sees %s, want all", got)
	}
	dead := must(s.Dead(ctx, 0, many))(t)
	if len(dead) != 2 || dead[0].Agent != alice || dead[1].Agent != bob {
		t.Fatalf("Dead = %+v, want one letter of alice and one of bob", dead)
	}
	commit(t, s, &parley.Batch{
		Agent: bob, Done: []string{"one"}, Retry: []parley.Retry{{ID: "one", Attempts: 9}}, Outcomes: []parley.Outcome{{ID: "one", State: parley.Failed}},
		Unbury: []int64{dead[0].Seq, dead[1].Seq}, Delete: []string{"one"},
	})
	if got := applied(t, s, alice, "one"); got != "all" {
		t.Errorf("of her own alice sees %s after bob has ended his, want all", got)
	}
	if e := must(s.OutboxEntry(ctx, alice, "one"))(t); e.State != parley.Pending {
		t.Errorf("bob's outcome has changed alice's entry to %d", e.State)
	}
	if got := applied(t, s, nell, "one"); got != "nothing" {
		t.Errorf("nell sees %s, want nothing", got)
	}
}

func noSharedMemory(t *testing.T, s parley.Store) {
	b := full(alice, "one")
	b.Outbox[0].Reason = &parley.DeliveryError{Code: fault.Unavailable, Text: "later"}
	spoil := func() {
		for _, bytes := range [][]byte{b.Inbox[0].Message.Payload, b.Outbox[0].Message.Payload, b.Outbox[0].Sealed, b.Bury[0].Message.Payload, b.Dialogues[0].State, b.Set[0].Value, b.Log[0].Message.Payload} {
			copy(bytes, "spoilt spoilt")
		}
		b.Outbox[0].Reason.Text = "spoilt"
	}
	commit(t, s, b)
	spoil()

	for _, when := range []string{"what was committed was changed", "what was read was changed"} {
		ctx := t.Context()
		inbox, outbox := must(s.Inbox(ctx, alice, 0, many))(t)[0], must(s.Outbox(ctx, bob, 0, many))(t)[0]
		dead, log := must(s.Dead(ctx, 0, many))(t)[0], must(s.Log(ctx, parley.LogQuery{}))(t)[0]
		dialogue, entry := must(s.Dialogue(ctx, alice, "one"))(t), must(s.OutboxEntry(ctx, alice, "one"))(t)
		value, _, err := s.Get(ctx, alice, "one")
		if err != nil {
			t.Fatal(err)
		}
		for what, content := range map[string][]byte{
			"Inbox": inbox.Message.Payload, "Outbox": outbox.Message.Payload, "Sealed": outbox.Sealed, "Dead": dead.Message.Payload,
			"Log": log.Message.Payload, "Dialogue": dialogue.State, "Get": value, "OutboxEntry": entry.Sealed,
		} {
			if strings.Contains(string(content), "spoi") {
				t.Errorf("%s after %s: %q", what, when, content)
			}
			copy(content, "spoilt spoilt")
		}
		if outbox.Reason == nil || entry.Reason == nil || outbox.Reason.Text != "later" || entry.Reason.Text != "later" {
			t.Fatalf("Reason after %s: %+v and %+v", when, outbox.Reason, entry.Reason)
		}
		outbox.Reason.Text, entry.Reason.Text = "spoilt", "spoilt"
	}
}

// contentsSurvive tries what text, bytes and times can be.
func contentsSurvive(t *testing.T, s parley.Store) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	long := strings.Repeat("long ", 100_000)
	for i, text := range []string{"", "plain", "it's \"quoted\"; DROP TABLE inbox; --", "zero\x00inside", "ünïcødé 日本 🙂", string(every), "trailing ", "123", "1e5", long} {
		m := parley.Message{From: "f", To: bob, Session: text, Schema: text, Protocol: text, Payload: []byte(text), Proof: parley.Proof(text)}
		id := string(rune('a'+i)) + text
		in := parley.InboxEntry{ID: id, Dialogue: text, Message: m, Attempts: i, Before: noon}
		out := parley.OutboxEntry{
			ID: id, Dialogue: text, Message: m, Sealed: []byte(text), Sync: i%2 == 0, Repeats: i%3 == 0, Attempts: i, Next: noon.Add(time.Microsecond),
			Reason: &parley.DeliveryError{Code: fault.Refused, Endpoint: "http://example.com/?q=" + strings.ToValidUTF8(text, ""), Status: 400 + i, Text: strings.ToValidUTF8(text, "")},
		}
		dead := parley.DeadLetter{Agent: alice, Time: noon, ID: id, Message: m, Code: parley.Code(text), Reason: text}
		log := parley.LogRecord{Time: noon, Agent: alice, Event: text, ID: id, Message: m, Detail: text}
		dialogue := parley.DialogueRecord{ID: id, Version: 1, State: []byte(text), Next: noon, Expires: noon.Add(time.Hour)}
		before := must(s.Log(t.Context(), parley.LogQuery{Limit: many}))(t)

		commit(t, s, &parley.Batch{
			Agent: alice, Marks: []parley.Mark{{ID: id, Inbox: text, Expires: noon}}, Inbox: []parley.InboxEntry{in}, Outbox: []parley.OutboxEntry{out}, Bury: []parley.DeadLetter{dead},
			Dialogues: []parley.DialogueRecord{dialogue}, Set: []parley.KeyValue{{Key: id, Value: []byte(text)}}, Log: []parley.LogRecord{log},
		})

		ctx := t.Context()
		inbox, letters := must(s.Inbox(ctx, alice, 0, many))(t), must(s.Dead(ctx, 0, many))(t)
		same(t, "Inbox", inbox[len(inbox)-1], in)
		same(t, "OutboxEntry", must(s.OutboxEntry(ctx, alice, id))(t), out)
		same(t, "Dead", letters[len(letters)-1], dead)
		same(t, "Log", must(s.Log(ctx, parley.LogQuery{Limit: many}))(t)[len(before):], []parley.LogRecord{log})
		same(t, "Dialogue", must(s.Dialogue(ctx, alice, id))(t), dialogue)
		value, ok, err := s.Get(ctx, alice, id)
		if !ok || err != nil || string(value) != text {
			t.Errorf("Get = %d bytes, %v, %v, want the %d bytes that were set", len(value), ok, err, len(text))
		}
		wantSeen(t, s.Commit(ctx, &parley.Batch{Agent: alice, Marks: []parley.Mark{{ID: id}}}), parley.Mark{ID: id, Inbox: text, Expires: noon})
	}
}
