package chat_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/store/memory"
)

// The agent of a person acknowledges what it is told and answers nothing; what was
// said is in the log.
func TestThePersonAcknowledgesAndTheLogKeeps(t *testing.T) {
	store := memory.New()
	node, err := parley.NewNode(&parley.NodeOptions{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	person, friend := chat.NewPerson("you"), parley.NewAgent("friend", nil)
	acked, said := make(chan chat.ChatAcknowledgement, 10), make(chan chat.ChatMessage, 10)
	parley.On(friend, func(_ context.Context, _ *parley.Turn, in chat.ChatAcknowledgement) error { acked <- in; return nil })
	parley.On(friend, func(_ context.Context, _ *parley.Turn, in chat.ChatMessage) error { said <- in; return nil })
	for _, a := range []*parley.Agent{person, friend} {
		key, err := identity.FromSeed(a.Name(), 0)
		if err != nil {
			t.Fatal(err)
		}
		a.SetKey(key)
	}
	if err := node.Add(person, friend); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- node.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()

	m := chat.Text("are you there?")
	if _, err := friend.Send(t.Context(), person.Address(), m); err != nil {
		t.Fatal(err)
	}
	select {
	case ack := <-acked:
		if ack.AcknowledgedMsgID != m.MsgID {
			t.Errorf("%s is acknowledged", ack.AcknowledgedMsgID)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("no acknowledgement")
	}
	if len(said) != 0 {
		t.Error("the person's agent speaks by itself")
	}
	if log, err := store.Log(t.Context(), parley.LogQuery{Agent: person.Address(), Limit: 100}); err != nil || len(log) == 0 || len(log[0].Message.Payload) == 0 {
		t.Errorf("the log has %d lines (%v)", len(log), err)
	}
	if keys, err := store.Keys(t.Context(), person.Address(), "", "", 10); err != nil || len(keys) != 0 {
		t.Errorf("the person's agent keeps %v (%v)", keys, err)
	}
}

// What a person says by a command reaches the node as JSON; its acknowledgement
// counts all the same, and nothing is reported as lost later.
func TestWhatWasSaidByACommandIsAcknowledged(t *testing.T) {
	store := memory.New()
	person, ai := chat.NewPerson("you"), newAgent(t, "ai")
	person.SetKey(newAgent(t, "you").Key())
	chat.Handle(ai, echo, nil)
	host(t, store, person, ai)
	m := chat.Text("are you there?")
	payload, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	model, err := spec.FromGo[chat.ChatMessage]()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := spec.Digest(model)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := person.Send(t.Context(), ai.Address(), parley.Raw{Schema: schema, Payload: payload}); err != nil {
		t.Fatal(err)
	}

	handled := func() (n int) {
		log, err := store.Log(t.Context(), parley.LogQuery{Agent: person.Address(), Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range log {
			if r.Event == "handled" {
				n++
			}
		}
		return n
	}
	for deadline := time.Now().Add(20 * time.Second); handled() < 2; time.Sleep(time.Millisecond) { // the acknowledgement and the answer
		if time.Now().After(deadline) {
			t.Fatal("no acknowledgement and no answer")
		}
	}
	due, err := store.Due(t.Context(), time.Now().Add(time.Hour), 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range due {
		if d.Agent == person.Address() {
			t.Error("an acknowledgement is still waited for")
		}
	}
}
