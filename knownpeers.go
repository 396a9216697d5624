package parley

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parley-agents/parley/identity"
)

// knownPeers remembers which peers drop what they have seen, so that an
// ambiguous failure towards them can be tried again, also after a restart. Who
// has not shown it for the time of retention is forgotten.
type knownPeers struct {
	store     Store
	retention time.Duration
	trimmed   string // the last key that trim has looked at

	mu    sync.Mutex
	cache map[identity.Address]time.Time // when it was stored; zero if it is not
}

// peerShelf is the agent under which this stands in the store. It is no address,
// so no agent can be it.
const peerShelf = identity.Address("peers")

const (
	peerPrefix    = "dedups/"
	maxKnownPeers = 10_000
)

func newKnownPeers(store Store, retention time.Duration) *knownPeers {
	return &knownPeers{store: store, retention: retention, cache: make(map[identity.Address]time.Time)}
}

// dedups reports whether a peer has shown that it drops repeats.
func (k *knownPeers) dedups(ctx context.Context, peer identity.Address) bool {
	return !k.since(ctx, peer).IsZero()
}

// since is when it was last noted that a peer drops repeats, or zero.
func (k *knownPeers) since(ctx context.Context, peer identity.Address) time.Time {
	k.mu.Lock()
	noted, cached := k.cache[peer]
	k.mu.Unlock()
	if cached {
		return noted
	}
	noted, err := k.read(ctx, peerPrefix+string(peer))
	if err == nil {
		k.remember(peer, noted)
	}
	return noted
}

func (k *knownPeers) read(ctx context.Context, key string) (noted time.Time, err error) {
	value, ok, err := k.store.Get(ctx, peerShelf, key)
	if err != nil || !ok {
		return time.Time{}, err
	}
	seconds, _ := strconv.ParseInt(string(value), 10, 64)
	return time.Unix(seconds, 0), nil
}

func (k *knownPeers) remember(peer identity.Address, noted time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.cache) >= maxKnownPeers {
		clear(k.cache)
	}
	k.cache[peer] = noted
}

// learn stores that a peer drops repeats, if that was not noted lately.
func (k *knownPeers) learn(ctx context.Context, peer identity.Address) {
	now := time.Now()
	if now.Sub(k.since(ctx, peer)) < k.retention/2 {
		return
	}
	b := &Batch{Agent: peerShelf, Set: []KeyValue{{peerPrefix + string(peer), strconv.AppendInt(nil, now.Unix(), 10)}}}
	if k.store.Commit(ctx, b) == nil {
		k.remember(peer, now)
	}
}

// trim forgets peers that were noted before a time. It looks at some of them in
// each call, in turn.
func (k *knownPeers) trim(ctx context.Context, before time.Time) error {
	const some = 500
	keys, err := k.store.Keys(ctx, peerShelf, peerPrefix, k.trimmed, some)
	if err != nil {
		return err
	}
	old := &Batch{Agent: peerShelf}
	for _, key := range keys {
		noted, err := k.read(ctx, key)
		if err != nil {
			return err
		}
		if noted.Before(before) {
			old.Delete = append(old.Delete, key)
		}
	}
	if len(old.Delete) > 0 {
		if err := k.store.Commit(ctx, old); err != nil {
			return err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range old.Delete {
		delete(k.cache, identity.Address(strings.TrimPrefix(key, peerPrefix)))
	}
	k.trimmed = ""
	if len(keys) == some {
		k.trimmed = keys[some-1]
	}
	return nil
}
