package identity

import (
	"strings"
	"sync"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
)

// VerifierOptions are the settings of a [Verifier]. Zero values mean the default.
type VerifierOptions struct {
	// Lenient takes what the uAgents library takes and [Verify] does not:
	// addresses and signatures in upper case, and addresses that carry a key in
	// raw, uncompressed or hybrid form. One key then has several addresses.
	Lenient bool

	// After is the number of verified messages from one sender after which a
	// table is made for it, which costs as much as some ten verifications.
	// The default is 32; a negative number means never.
	After int

	// MemoryLimit bounds the bytes kept about all senders together. The default
	// is 32 MiB, about 420 frequent senders; a negative number keeps nothing.
	MemoryLimit int
}

const (
	defaultAfter       = 32
	defaultMemoryLimit = 32 << 20

	// knownShare is the part of the memory for senders without a table.
	knownShare = 16

	// knownBytes is what such a sender takes, with the map and list around it.
	knownBytes = 512
)

// A Verifier checks signatures like [Verify] and remembers the keys of those
// who sent before. It may be used by many goroutines at once.
//
// Only signatures that verified are counted and remembered. So a forger cannot
// fill the memory, push out others or make a table be built.
type Verifier struct {
	lenient bool
	after   int

	mu       sync.Mutex
	known    *lru[Address, *sender] // verified at least once
	frequent *lru[Address, *table]  // verified often
}

// A sender is someone whose key is known.
type sender struct {
	key      *secp256k1.PublicKey
	verified int // since it was remembered or its table was made
}

// NewVerifier returns a verifier with the given options, or the defaults for nil.
func NewVerifier(options *VerifierOptions) *Verifier {
	var o VerifierOptions
	if options != nil {
		o = *options
	}
	if o.After == 0 {
		o.After = defaultAfter
	}
	if o.MemoryLimit == 0 {
		o.MemoryLimit = defaultMemoryLimit
	}
	forKnown := max(o.MemoryLimit, 0) / knownShare
	forTables := max(o.MemoryLimit, 0) - forKnown
	if o.After < 0 {
		forTables = 0
	}
	return &Verifier{
		lenient:  o.Lenient,
		after:    o.After,
		known:    newLRU[Address, *sender](forKnown / knownBytes),
		frequent: newLRU[Address, *table](forTables / (tableBytes + knownBytes)),
	}
}

// Verify gives the same verdict and the same errors as the function [Verify],
// except for what [VerifierOptions.Lenient] lets pass.
func (v *Verifier) Verify(address Address, digest []byte, signature string) error {
	key, t := v.recall(address)
	c, err := readClaim(key, address, digest, signature, v.lenient)
	if err != nil {
		return err
	}
	if err := c.check(t); err != nil {
		return err
	}
	if v.remember(address, c.key) {
		t := newTable(c.key)
		v.mu.Lock()
		defer v.mu.Unlock()
		v.frequent.put(owned(address), t)
	}
	return nil
}

// recall returns what is known about the sender, if anything.
func (v *Verifier) recall(address Address) (*secp256k1.PublicKey, *table) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if t, found := v.frequent.peek(address); found {
		return t.key, t
	}
	if s, found := v.known.peek(address); found {
		return s.key, nil
	}
	return nil, nil
}

// remember counts a verified message and reports whether the sender has earned
// a table. The count starts again then, so that of two goroutines only one makes
// it, and a sender whose table was dropped has to earn it anew.
func (v *Verifier) remember(address Address, key *secp256k1.PublicKey) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, found := v.frequent.peek(address); found {
		v.frequent.use(address)
		return false
	}
	s, found := v.known.peek(address)
	if !found {
		s = &sender{key: key}
		v.known.put(owned(address), s)
	}
	v.known.use(address)
	s.verified++
	if v.frequent.limit == 0 || s.verified < v.after {
		return false
	}
	s.verified = 0
	return true
}

// owned returns a copy of an address that is going to be kept: it may be a part
// of a whole message, which would be kept with it.
func owned(address Address) Address { return Address(strings.Clone(string(address))) }
