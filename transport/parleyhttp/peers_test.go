package parleyhttp

import (
	"net/netip"
	"testing"
	"time"
)

func TestGateSpreadsOutRequests(t *testing.T) {
	limits := Limits{RatePerPeer: 10, BurstPerPeer: 3}
	if err := limits.complete(); err != nil {
		t.Fatal(err)
	}
	g := newGate(limits)
	start := time.Now()
	peer, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for _, step := range []struct {
		who      netip.Addr
		after    time.Duration
		admitted bool
	}{
		{peer, 0, true}, {peer, 0, true}, {peer, 0, true},
		{peer, 0, false},
		{other, 0, true},
		{peer, 99 * time.Millisecond, false},
		{peer, 100 * time.Millisecond, true},
		{peer, 100 * time.Millisecond, false},
		{peer, 10 * time.Second, true}, {peer, 10 * time.Second, true}, {peer, 10 * time.Second, true},
		{peer, 10 * time.Second, false},
	} {
		refusal := g.enter(step.who, start.Add(step.after))
		if admitted := refusal == nil; admitted != step.admitted {
			t.Errorf("%s after %v: admitted %v (%+v), want %v", step.who, step.after, admitted, refusal, step.admitted)
		} else if admitted {
			g.leave(step.who)
		}
	}
}

func TestGateForgetsPeers(t *testing.T) {
	unlimited := newGate(Limits{Requests: 1 << 20, RequestsPerPeer: 10})
	limited := newGate(Limits{Requests: 1 << 20, RequestsPerPeer: 10, RatePerPeer: 0.001, BurstPerPeer: 1})
	now := time.Now()
	for i := range maxPeers + maxPeers/2 {
		peer := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		for _, g := range []*gate{unlimited, limited} {
			if refusal := g.enter(peer, now); refusal != nil {
				t.Fatalf("peer %d: %+v", i, refusal)
			}
			g.leave(peer)
		}
	}

	if len(unlimited.peers) != 0 {
		t.Errorf("%d peers without requests are remembered", len(unlimited.peers))
	}
	if len(limited.peers) > maxPeers {
		t.Errorf("%d peers are remembered, want at most %d", len(limited.peers), maxPeers)
	}
}

func TestPeersAreCountedByNetwork(t *testing.T) {
	same := peerKey(addrOf("[2001:db8::1]:4711")) == peerKey(addrOf("2001:db8::2%eth0"))
	mapped := peerKey(addrOf("[::ffff:192.0.2.1]:1")) == peerKey(addrOf("192.0.2.1"))
	if !same || !mapped || peerKey(addrOf("192.0.2.1")) == peerKey(addrOf("192.0.2.2")) {
		t.Error("want one peer per IPv4 address and per IPv6 network of 64 bits")
	}
}
