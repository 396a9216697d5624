package identity_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"testing"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"

	"github.com/parley-agents/parley/identity"
)

// seeded returns the key of a phrase.
func seeded(t testing.TB, seed string) *identity.Key {
	t.Helper()
	key, err := identity.FromSeed(seed, 0)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// rawSignature returns r and s of a signature.
func rawSignature(t testing.TB, signature string) []byte {
	t.Helper()
	_, raw, err := identity.DecodeBech32(signature)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// verifyBothWays verifies plainly and by a table. Both must give the same error.
func verifyBothWays(t *testing.T, address identity.Address, digest []byte, signature string) error {
	t.Helper()
	plain := identity.Verify(address, digest, signature)
	byTable := identity.VerifyByTable(address, digest, signature)
	if text(byTable) != text(plain) {
		t.Errorf("by table: %v, plainly: %v", byTable, plain)
	}
	return plain
}

// verifyAllWays also asks a verifier, to which the sender becomes known and
// frequent.
func verifyAllWays(t *testing.T, address identity.Address, digest []byte, signature string) error {
	t.Helper()
	plain := verifyBothWays(t, address, digest, signature)
	verifier := identity.NewVerifier(&identity.VerifierOptions{After: 2})
	for _, way := range []string{"new", "known", "frequent"} {
		if err := verifier.Verify(address, digest, signature); text(err) != text(plain) {
			t.Errorf("%s: %v, plainly: %v", way, err, plain)
		}
	}
	return plain
}

// text returns what an error says, and nothing for none.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// lowS returns r and s with the lower of both values of s.
func lowS(raw []byte) []byte {
	var s secp256k1.ModNScalar
	s.SetByteSlice(raw[32:])
	if s.IsOverHalfOrder() {
		s.Negate()
	}
	low := s.Bytes()
	return append(bytes.Clone(raw[:32]), low[:]...)
}

func compare(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %s, want %s", what, got, want)
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	data, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func unbase64(t testing.TB, s string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// sum returns the SHA-256 of a text.
func sum(data string) []byte {
	digest := sha256.Sum256([]byte(data))
	return digest[:]
}
