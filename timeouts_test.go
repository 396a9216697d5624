package parley_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/dialogue"
	"github.com/parley-agents/parley/store/memory"
)

func TestAPeerIsNotToldOfOurTimeoutsErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rules := tradeWithin(t, "Cfp", 100*time.Millisecond, "")
	s, _, _ := silent(t, rules)
	told := make(chan string, 10)
	parley.On(s, func(_ context.Context, _ *parley.Turn, in parley.ErrorMessage) error { told <- in.Error; return nil })
	buyer, _, _ := buyerOf(t, rules, s.Address(), true)
	buyer.OnTimeout(func(context.Context, *parley.Turn, dialogue.Timeout) error { return errors.New("my own trouble") })
	w.start("s", nil, s)
	w.start("b", nil, buyer)
	select {
	case text := <-told:
		t.Errorf("the peer, who has sent nothing, is told %q", text)
	case <-time.After(time.Second):
	}
}

func TestADamagedDialogueHarmsNoOther(t *testing.T) {
	w := newWorld(t)
	rules := tradeWithin(t, "Cfp", 300*time.Millisecond, "")
	s, _, _ := silent(t, rules)
	buyer, _, timeouts := buyerOf(t, rules, s.Address(), true)
	store := memory.New()
	damaged := parley.DialogueRecord{ID: string(s.Address()) + "/" + uuid.NewString(), Version: 1, State: []byte(`{"v":99}`), Next: time.Now().Add(-time.Minute), Expires: time.Now().Add(time.Hour)}
	if err := store.Commit(t.Context(), &parley.Batch{Agent: buyer.Address(), Dialogues: []parley.DialogueRecord{damaged}}); err != nil {
		t.Fatal(err)
	}
	w.start("s", nil, s)
	w.start("b", &parley.NodeOptions{Store: store}, buyer)
	select {
	case <-timeouts:
	case <-time.After(4 * time.Second):
		t.Error("time stands still for all dialogues of the node")
	}
}
