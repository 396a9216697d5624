package parley

import (
	"context"
	"sync"

	"github.com/parley-agents/parley/identity"
)

// knownPeers remembers which peers drop what they have seen, so that an
// ambiguous failure towards them can be tried again, also after a restart.
type knownPeers struct {
	store Store

	mu    sync.Mutex
	cache map[identity.Address]bool
}

// peerShelf is the agent under which this stands in the store. It is no address,
// so no agent can be it.
const peerShelf = identity.Address("peers")

const maxKnownPeers = 10_000

func newKnownPeers(store Store) *knownPeers {
	return &knownPeers{store: store, cache: make(map[identity.Address]bool)}
}

// dedups reports whether a peer has shown that it drops repeats.
func (k *knownPeers) dedups(ctx context.Context, peer identity.Address) bool {
	k.mu.Lock()
	known, cached := k.cache[peer]
	k.mu.Unlock()
	if cached {
		return known
	}
	_, ok, err := k.store.Get(ctx, peerShelf, "dedups/"+string(peer))
	if err != nil {
		return false
	}
	k.remember(peer, ok)
	return ok
}

func (k *knownPeers) remember(peer identity.Address, dedups bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.cache) >= maxKnownPeers {
		clear(k.cache)
	}
	k.cache[peer] = dedups
}

// learn stores that a peer drops repeats, once.
func (k *knownPeers) learn(ctx context.Context, peer identity.Address) {
	if k.dedups(ctx, peer) {
		return
	}
	b := &Batch{Agent: peerShelf, Set: []KeyValue{{"dedups/" + string(peer), []byte("1")}}}
	if k.store.Commit(ctx, b) == nil {
		k.remember(peer, true)
	}
}
