package identity

import (
	"sync/atomic"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
)

var lastTable atomic.Pointer[table] // tests ask about one key many times

// VerifyByTable is Verify by a table.
func VerifyByTable(address Address, digest []byte, signature string) error {
	c, err := readClaim(nil, address, digest, signature, false)
	if err != nil {
		return err
	}
	t := lastTable.Load()
	if t == nil || !t.key.IsEqual(c.key) {
		t = newTable(c.key)
		lastTable.Store(t)
	}
	return c.check(t)
}

// BuildTable makes a table, as for a sender that became frequent.
func BuildTable(key *secp256k1.PublicKey) { newTable(key) }

// Frequent reports whether v has a table for the sender.
func (v *Verifier) Frequent(address Address) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, found := v.frequent.peek(address)
	return found
}

// Knows reports whether v knows the key of the sender, with or without a table.
func (v *Verifier) Knows(address Address) bool {
	key, _ := v.recall(address)
	return key != nil
}

// Kept returns how many senders v knows, and for how many it has a table.
func (v *Verifier) Kept() (known, frequent int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.known.order.Len(), v.frequent.order.Len()
}
