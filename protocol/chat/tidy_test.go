package chat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/store/memory"
)

type countingReads struct {
	parley.Store
	reads atomic.Int64
}

func (s *countingReads) Get(ctx context.Context, a identity.Address, key string) ([]byte, bool, error) {
	if strings.Contains(key, "old-partner") {
		s.reads.Add(1)
		time.Sleep(50 * time.Microsecond) // about what SQLite takes
	}
	return s.Store.Get(ctx, a, key)
}

// Old sessions are looked for once an hour, also while somebody chats.
func TestTidyingEnds(t *testing.T) {
	const sessions = 200
	store := &countingReads{Store: memory.New()}
	bob, alice := newAgent(t, "bob"), newFriend(t, "alice")
	text0, _ := json.Marshal(chat.Session{Last: time.Now()})
	b := &parley.Batch{Agent: bob.Address()}
	for i := range sessions {
		b.Set = append(b.Set, parley.KeyValue{Key: fmt.Sprintf("chat/zz-old-partner/%d", i), Value: text0})
	}
	session := uuid.NewString()
	if err := store.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	chat.Handle(bob, echo, nil)
	mine, _ := json.Marshal(chat.Session{ID: session, Partner: alice.Address(), Last: time.Now()})
	_ = store.Commit(t.Context(), &parley.Batch{Agent: bob.Address(), Set: []parley.KeyValue{{Key: "chat/" + string(alice.Address()) + "/" + session, Value: mine}}})
	host(t, store, bob, alice.Agent)
	for range 60 { // a line every 50 ms
		alice.say(t, session, bob, text("hi"))
		time.Sleep(50 * time.Millisecond)
	}
	t.Log(store.reads.Load())
	if n := store.reads.Load(); n > 2*sessions {
		t.Errorf("%d sessions were read %d times in 3 s", sessions, n)
	}
}
