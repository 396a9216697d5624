package parley_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/store/memory"
)

// What is known about peers survives a restart, and goes when it is old: nobody
// fills the store by coming with ever new addresses.
func TestKnownPeersAreForgottenWhenTheyAreOld(t *testing.T) {
	ctx, store := t.Context(), memory.New()
	stored := func() int {
		t.Helper()
		keys, err := store.Keys(ctx, "peers", "", "", 10_000)
		if err != nil {
			t.Fatal(err)
		}
		return len(keys)
	}
	peer := func(i int) identity.Address { return identity.Address(fmt.Sprintf("agent%04d", i)) }
	const many = 1200 // more than one call of Trim looks at

	known := parley.NewKnownPeers(store, time.Hour)
	for i := range many {
		known.Learn(ctx, peer(i))
	}
	restarted := parley.NewKnownPeers(store, time.Hour)
	if !restarted.Dedups(ctx, peer(7)) || restarted.Dedups(ctx, peer(many)) {
		t.Error("after a restart it is not known who drops repeats")
	}

	trim := func(before time.Time) {
		t.Helper()
		for range 4 {
			if err := restarted.Trim(ctx, before); err != nil {
				t.Fatal(err)
			}
		}
	}
	trim(time.Now().Add(-time.Hour))
	if stored() != many {
		t.Errorf("%d of %d peers are left, and none was old", stored(), many)
	}
	trim(time.Now().Add(time.Hour))
	if stored() != 0 || restarted.Dedups(ctx, peer(7)) {
		t.Errorf("%d old peers are left", stored())
	}
}

// A peer that shows it again and again is noted again, but not each time.
func TestKnownPeersAreNotedAgain(t *testing.T) {
	ctx, store := t.Context(), memory.New()
	noted := func(retention time.Duration) string {
		t.Helper()
		parley.NewKnownPeers(store, retention).Learn(ctx, "agent1")
		value, _, err := store.Get(ctx, "peers", "dedups/agent1")
		if err != nil {
			t.Fatal(err)
		}
		return string(value)
	}
	old := fmt.Sprint(time.Now().Add(-45 * time.Minute).Unix())
	if err := store.Commit(ctx, &parley.Batch{Agent: "peers", Set: []parley.KeyValue{{Key: "dedups/agent1", Value: []byte(old)}}}); err != nil {
		t.Fatal(err)
	}
	if noted(2*time.Hour) != old {
		t.Error("noted again although it was noted lately")
	}
	if noted(time.Hour) == old {
		t.Error("not noted again although it will soon be forgotten")
	}
}
