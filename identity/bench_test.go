package identity_test

import (
	"crypto/sha256"
	"testing"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"

	"github.com/parley-agents/parley/identity"
)

func BenchmarkSign(b *testing.B) {
	key, digest := seeded(b, "bench"), sha256.Sum256([]byte("message"))
	for b.Loop() {
		key.SignDigest(digest)
	}
}

// BenchmarkVerifyBare is the arithmetic alone, with the key parsed: the plain
// path that a table has to beat.
func BenchmarkVerifyBare(b *testing.B) {
	key, digest := seeded(b, "bench"), sha256.Sum256([]byte("message"))
	public, err := secp256k1.ParsePubKey(key.PublicKey())
	if err != nil {
		b.Fatal(err)
	}
	raw := rawSignature(b, key.SignDigest(digest))
	var r, s secp256k1.ModNScalar
	r.SetByteSlice(raw[:32])
	s.SetByteSlice(raw[32:])
	signature := ecdsa.NewSignature(&r, &s)
	for b.Loop() {
		if !signature.Verify(digest[:], public) {
			b.Fatal("refused")
		}
	}
}

func BenchmarkVerifyNewSender(b *testing.B) {
	key, digest := seeded(b, "bench"), sha256.Sum256([]byte("message"))
	signature := key.SignDigest(digest)
	for b.Loop() {
		if err := identity.Verify(key.Address(), digest[:], signature); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerifyFrequentSender(b *testing.B) {
	key, digest := seeded(b, "bench"), sha256.Sum256([]byte("message"))
	signature := key.SignDigest(digest)
	verifier := identity.NewVerifier(&identity.VerifierOptions{After: 1})
	verifier.Verify(key.Address(), digest[:], signature)
	if !verifier.Frequent(key.Address()) {
		b.Fatal("no table was made")
	}
	for b.Loop() {
		if err := verifier.Verify(key.Address(), digest[:], signature); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBuildTable is what a sender costs once when it becomes frequent.
func BenchmarkBuildTable(b *testing.B) {
	public, err := secp256k1.ParsePubKey(seeded(b, "bench").PublicKey())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		identity.BuildTable(public)
	}
}
