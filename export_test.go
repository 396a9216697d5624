package parley

import (
	"context"
	"time"

	"github.com/parley-agents/parley/identity"
)

// KnownPeers is what a node knows about peers, which shows only after days.
type KnownPeers struct{ *knownPeers }

func NewKnownPeers(store Store, retention time.Duration) KnownPeers {
	return KnownPeers{newKnownPeers(store, retention)}
}

func (k KnownPeers) Dedups(ctx context.Context, p identity.Address) bool { return k.dedups(ctx, p) }
func (k KnownPeers) Learn(ctx context.Context, p identity.Address)       { k.learn(ctx, p) }
func (k KnownPeers) Trim(ctx context.Context, before time.Time) error    { return k.trim(ctx, before) }
