package parley

import (
	"context"
	"errors"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

// A Finder finds agents that speak a protocol.
type Finder interface {
	// Find returns up to limit addresses of agents that speak the protocol with
	// the given digest.
	Find(ctx context.Context, protocol string, limit int) ([]identity.Address, error)
}

// maxBroadcast is how many agents a broadcast reaches at most.
const maxBroadcast = 1000

// Broadcast sends a message to all agents that are known to speak a protocol,
// but for the sender, up to limit (0 means 100). All of it is stored in one
// step; there is a receipt for each.
func (a *Agent) Broadcast(ctx context.Context, protocol string, msg any, limit int) ([]*Receipt, error) {
	if a.node == nil || a.node.opts.Finder == nil {
		return nil, errors.New("the node has no directory to find agents in")
	}
	if limit <= 0 {
		limit = 100
	}
	found, err := a.node.opts.Finder.Find(ctx, protocol, min(limit+1, maxBroadcast))
	if err != nil {
		return nil, err
	}
	session := newSession()
	t := a.newTurn("broadcast/"+session, session)
	var receipts []*Receipt
	for _, address := range found {
		if address == a.Address() || len(receipts) == limit {
			continue
		}
		e, err := t.add(address, msg, session, "")
		if err != nil {
			return nil, err
		}
		receipts = append(receipts, a.node.deliverer.watch(e.ID, a.Address(), address))
	}
	if err := t.commit(ctx, nil); err != nil {
		for _, r := range receipts {
			a.node.deliverer.unwatch(r)
		}
		return nil, err
	}
	return receipts, nil
}

// Manifests returns the manifests of the protocols that agents of the node
// publish; see [Include.PublishManifest].
func (n *Node) Manifests() ([][]byte, error) {
	var all [][]byte
	for _, a := range n.order {
		for _, in := range a.included {
			if !in.PublishManifest {
				continue
			}
			manifest, err := in.protocol.rules.Manifest(in.Role)
			if err != nil {
				return nil, fault.In(in.protocol.rules.Name, err)
			}
			all = append(all, manifest)
		}
	}
	return all, nil
}
