package parley_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/store/memory"
	"github.com/parley-agents/parley/wire/uagents"
)

// A handler asks its caller back, and fails. The caller hears of it and the message
// is done.
func TestAnErrorAfterAFlushReachesTheCaller(t *testing.T) {
	w := newWorld(t)
	store := memory.New()
	alice, carol := agent(t, "alice"), answering(t, "carol")
	parley.Handle(alice, func(ctx context.Context, turn *parley.Turn, _ Note) (Pong, error) {
		if _, err := parley.Ask[Pong](ctx, turn, turn.Sender, Ping{"who are you?"}); err != nil {
			return Pong{}, err
		}
		return Pong{}, parley.Errorf(fault.Forbidden, "not you")
	})
	w.start("a", &parley.NodeOptions{Store: store}, alice, carol)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, err := parley.Ask[Pong](ctx, carol, alice.Address(), Note{})
	if err == nil || !contains(err.Error(), "not you") {
		t.Errorf("the caller hears %v", err)
	}
	left, _ := store.Inbox(t.Context(), alice.Address(), 0, 10)
	if len(left) > 0 {
		t.Errorf("%d messages are not done", len(left))
	}
}

// The same with a caller elsewhere: the error must be stored like any reply.
func TestAnErrorAfterAFlushIsStored(t *testing.T) {
	w := newWorld(t)
	store := memory.New()
	alice := agent(t, "alice")
	peer := key(t, "nobody").Address()
	parley.Handle(alice, func(ctx context.Context, turn *parley.Turn, _ Note) (Pong, error) {
		return Pong{}, errors.Join(turn.Send(peer, Ping{"x"}), turn.Flush(ctx), errors.New("no"))
	})
	w.start("a", &parley.NodeOptions{Store: store}, alice)
	eve := key(t, "eve")
	if _, err := w.post("a", sealed(t, eve, alice.Address(), digestOf[Note](t), `{"text": "x"}`, nil), false); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	out, _ := store.Outbox(t.Context(), eve.Address(), 0, 10)
	if len(out) != 1 {
		t.Errorf("%d errors for the caller are in the outbox, want 1", len(out))
	}
}

func TestAnOldPauseDoesNotBreakTheOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	alice := agent(t, "alice")
	var mu sync.Mutex
	var order []string
	down, slow := true, false
	peer := w.rawPeer("peer", func(f parley.Frame) error {
		e, _ := uagents.Decode(f.Body)
		p, _ := e.DecodePayload()
		mu.Lock()
		if down {
			mu.Unlock()
			return fault.Errorf(fault.Unavailable, "", "down")
		}
		if slow && strings.Contains(string(p), "two") {
			slow = false
			mu.Unlock()
			time.Sleep(1500 * time.Millisecond)
			return fault.Errorf(fault.Unavailable, "", "down again")
		}
		order = append(order, string(p))
		mu.Unlock()
		return nil
	})
	w.start("a", nil, alice)
	session := uuid.NewString()
	say := func(text string) {
		if _, err := alice.SendIn(t.Context(), session, peer, Ping{text}); err != nil {
			t.Fatal(err)
		}
	}
	say("one")
	time.Sleep(100 * time.Millisecond) // refused: there is a pause now
	mu.Lock()
	down, slow = false, true
	mu.Unlock()
	// The peer speaks, so the pause is over.
	_, _ = w.post("a", sealed(t, key(t, "peer"), alice.Address(), digestOf[Note](t), `{"text": "I am back"}`, nil), false)
	time.Sleep(100 * time.Millisecond)
	say("two")
	time.Sleep(1200 * time.Millisecond) // the timer of the old pause
	say("three")
	time.Sleep(3 * time.Second)
	mu.Lock()
	defer mu.Unlock()
	got := strings.Join(order, "|")
	one, two, three := strings.Index(got, "one"), strings.Index(got, "two"), strings.Index(got, "three")
	if one < 0 || two < one || three < two {
		t.Errorf("the peer got %s", got)
	}
}
