package identity_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

// A message is a digest with a right signature.
type message struct {
	address   identity.Address
	digest    []byte
	signature string
}

// from returns the n-th message of a sender.
func from(t testing.TB, seed string, n int) message {
	t.Helper()
	key, digest := seeded(t, seed), sum(fmt.Sprint(n))
	return message{key.Address(), digest, key.SignDigest([32]byte(digest))}
}

// send verifies messages of a sender and fails the test if one is refused.
func send(t testing.TB, v *identity.Verifier, seed string, times int) identity.Address {
	t.Helper()
	for n := range times {
		m := from(t, seed, n)
		if err := v.Verify(m.address, m.digest, m.signature); err != nil {
			t.Fatalf("message %d of %s: %v", n, seed, err)
		}
	}
	return from(t, seed, 0).address
}

// The vectors have the verdicts; this names the field and the order in which
// the parts are looked at, which decides what a peer is told.
func TestVerifyComplains(t *testing.T) {
	m := from(t, "alice", 1)
	user, err := identity.NewUserAddress()
	if err != nil {
		t.Fatal(err)
	}
	broken := identity.Address(string(m.address[:64]) + "b")
	offCurve := identity.Address(identity.EncodeBech32("agent", append([]byte{2}, make([]byte, 32)...)))
	short := identity.EncodeBech32("sig", make([]byte, 63))
	for _, tc := range []struct {
		name      string
		address   identity.Address
		digest    []byte
		signature string
		want      string
	}{
		{"all is well", m.address, m.digest, m.signature, ""},
		{"a broken address and signature", broken, m.digest, "x", "malformed: sender: Unable to decode value"},
		{"a user and a broken signature", user, m.digest, "x", "malformed: signature: Unable to decode value"},
		{"a user and an address as signature", user, m.digest, string(m.address), "malformed: sender: Unable to decode agent address"},
		{"no key and an address as signature", offCurve, m.digest, string(m.address), "malformed: signature: Unable to decode signature"},
		{"no key and a short signature", offCurve, m.digest, short, "malformed: sender: address carries no point of the curve"},
		{"no digest and a short signature", m.address, nil, short, "malformed: digest: digest of 0 bytes, want 32"},
		{"a long digest", m.address, make([]byte, 33), m.signature, "malformed: digest: digest of 33 bytes, want 32"},
		{"a short signature", m.address, m.digest, short, "malformed: signature: signature of 63 bytes, want 64"},
		{"zeros for a signature", m.address, m.digest, identity.EncodeBech32("sig", make([]byte, 64)), "unverified: signature: Signature verification failed"},
		{"another message", m.address, sum("other"), m.signature, "unverified: signature: Signature verification failed"},
		{"upper case", identity.Address(strings.ToUpper(string(m.address))), m.digest, m.signature, "malformed: sender: bech32 in upper case, which is not accepted"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := verifyAllWays(t, tc.address, tc.digest, tc.signature)

			if text(err) != tc.want {
				t.Errorf("%v, want %s", err, tc.want)
			}
			if _, ok := errors.AsType[*fault.Error](err); err != nil && !ok {
				t.Errorf("%T is no *fault.Error", err)
			}
		})
	}
}

func TestSignatureR(t *testing.T) {
	m := from(t, "alice", 1)
	raw := rawSignature(t, m.signature)
	for _, tc := range []struct {
		name, signature string
		want            string // the complaint; empty if there is none
	}{
		{"a signature", m.signature, ""},
		{"in upper case", strings.ToUpper(m.signature), ""},
		{"no bech32", "x", "malformed: signature: Unable to decode value"},
		{"an address", string(m.address), "malformed: signature: Unable to decode signature"},
		{"too short", identity.EncodeBech32("sig", raw[:63]), "malformed: signature: signature of 63 bytes, want 64"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := identity.SignatureR(tc.signature)

			if text(err) != tc.want {
				t.Errorf("%v, want %q", err, tc.want)
			}
			if err == nil && r != [32]byte(raw[:32]) {
				t.Errorf("r = %x, want %x", r, raw[:32])
			}
		})
	}
}

func TestFrequentSendersGetATable(t *testing.T) {
	for _, tc := range []struct {
		name    string
		options *identity.VerifierOptions
		after   int // 0: never
	}{
		{"by default after 32 messages", nil, 32},
		{"after as many as the options say", &identity.VerifierOptions{After: 3}, 3},
		{"never if the options say so", &identity.VerifierOptions{After: -1}, 0},
		{"never without memory", &identity.VerifierOptions{After: 1, MemoryLimit: -1}, 0},
		{"never if a table does not fit", &identity.VerifierOptions{After: 1, MemoryLimit: 64 << 10}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := identity.NewVerifier(tc.options)
			for n := 1; n <= 40; n++ {
				m := from(t, "alice", n)
				if err := v.Verify(m.address, m.digest, m.signature); err != nil {
					t.Fatal(err)
				}
				if got, want := v.Frequent(m.address), tc.after > 0 && n >= tc.after; got != want {
					t.Fatalf("after %d messages there is a table: %v, want %v", n, got, want)
				}
			}
		})
	}
}

// What a forger sends under a real address is refused, and neither counts for
// that sender nor is anything remembered of it.
func TestForgeriesChangeNothing(t *testing.T) {
	v := identity.NewVerifier(&identity.VerifierOptions{After: 4})
	alice := send(t, v, "alice", 3)
	forged := from(t, "mallory", 1).signature

	for i := range 100 {
		victim := from(t, fmt.Sprint("victim", i), 0)
		for _, address := range []identity.Address{alice, victim.address} {
			if err := v.Verify(address, victim.digest, forged); fault.CodeOf(err) != fault.Unverified {
				t.Fatalf("forged: %v", err)
			}
		}
	}

	if known, frequent := v.Kept(); known != 1 || frequent != 0 {
		t.Errorf("%d senders known, %d frequent, want 1 and 0", known, frequent)
	}
	if send(t, v, "alice", 1); !v.Frequent(alice) {
		t.Error("the count of the real messages was lost")
	}
}

// The one who was silent longest makes room, among those with a table and among
// those without.
func TestSilentSendersAreForgottenFirst(t *testing.T) {
	for _, tc := range []struct {
		name    string
		options identity.VerifierOptions
	}{
		{"two tables", identity.VerifierOptions{After: 1, MemoryLimit: 160 << 10}},
		{"two keys", identity.VerifierOptions{After: -1, MemoryLimit: 16 << 10}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := identity.NewVerifier(&tc.options)
			remembers := v.Knows
			if tc.options.After == 1 {
				remembers = v.Frequent
			}
			alice, bob := send(t, v, "alice", 1), send(t, v, "bob", 1)

			send(t, v, "alice", 1)
			carol := send(t, v, "carol", 1)

			if !remembers(alice) || remembers(bob) || !remembers(carol) {
				t.Errorf("alice %v, bob %v, carol %v; want bob forgotten",
					remembers(alice), remembers(bob), remembers(carol))
			}
		})
	}
}

func TestForgeriesDoNotKeepATableAlive(t *testing.T) {
	v := identity.NewVerifier(&identity.VerifierOptions{After: 1, MemoryLimit: 160 << 10}) // two tables
	alice, bob := send(t, v, "alice", 1), send(t, v, "bob", 1)

	forged := from(t, "mallory", 1)
	v.Verify(alice, forged.digest, forged.signature)
	carol := send(t, v, "carol", 1)

	if v.Frequent(alice) || !v.Frequent(bob) || !v.Frequent(carol) {
		t.Errorf("alice %v, bob %v, carol %v; want the table of alice dropped, who wrote longest ago",
			v.Frequent(alice), v.Frequent(bob), v.Frequent(carol))
	}
}

func TestDroppedTablesHaveToBeEarnedAnew(t *testing.T) {
	v := identity.NewVerifier(&identity.VerifierOptions{After: 3, MemoryLimit: 80 << 10}) // one table
	alice := send(t, v, "alice", 3)
	bob := send(t, v, "bob", 3)
	if v.Frequent(alice) || !v.Frequent(bob) {
		t.Fatal("want the one table to be bob's now")
	}

	send(t, v, "alice", 2)
	if v.Frequent(alice) {
		t.Error("a table after 2 messages, want 3")
	}
	if send(t, v, "alice", 1); !v.Frequent(alice) {
		t.Error("no table after 3 more messages")
	}
}

// The limit is held against what the heap really grew by, with senders that
// come once and senders that come often, and addresses cut out of large texts.
func TestMemoryStaysWithinTheLimit(t *testing.T) {
	const limit = 2 << 20
	const senders = 400
	v := identity.NewVerifier(&identity.VerifierOptions{After: 2, MemoryLimit: limit})
	messages := make([]message, senders)
	for i := range messages {
		messages[i] = from(t, fmt.Sprint(i), 0)
	}
	before := heap()

	for i, m := range messages {
		for range 1 + i%10/9 { // each tenth sends twice
			large := strings.Repeat("x", 64<<10) + string(m.address)
			if err := v.Verify(identity.Address(large[64<<10:]), m.digest, m.signature); err != nil {
				t.Fatal(err)
			}
		}
	}

	grown := heap() - before
	known, frequent := v.Kept()
	if known != 256 || frequent != 26 {
		t.Errorf("%d senders known, %d frequent, want 256 and 26", known, frequent)
	}
	if grown > limit {
		t.Errorf("the heap grew by %d bytes, over the limit of %d", grown, limit)
	}
	runtime.KeepAlive(messages)
}

func heap() int {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// Run with -race. Two tables for five senders: they are made and dropped all
// the time, while right messages are accepted and forged ones refused.
func TestVerifierIsSafeForConcurrentUse(t *testing.T) {
	v := identity.NewVerifier(&identity.VerifierOptions{After: 2, MemoryLimit: 160 << 10})
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			for n := range 40 {
				m := from(t, fmt.Sprint((n+w)%5), n)
				if err := v.Verify(m.address, m.digest, m.signature); err != nil {
					t.Error(err)
				}
				if err := v.Verify(m.address, sum("other"), m.signature); fault.CodeOf(err) != fault.Unverified {
					t.Errorf("forged: %v", err)
				}
			}
		})
	}
	workers.Wait()
	if known, frequent := v.Kept(); known != 5 || frequent != 2 {
		t.Errorf("%d senders known, %d frequent, want 5 and 2", known, frequent)
	}
}
