package chat_test

import (
	"context"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/protocol/chat"
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
