package identity_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"

	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/vectors"
)

// malleable tells the signatures that the Bitcoin file calls invalid only for
// their high s, which is fine here since real peers produce it.
func malleable(v wycheproofCase) bool {
	return v.Result == "invalid" && (slices.Contains(v.Flags, "SignatureMalleabilityBitcoin") ||
		v.Comment == "edge case for signature malleability")
}

// TestWycheproofVectors runs the edge cases of the Wycheproof project. Bitcoin's
// signatures are DER, which the test unwraps strictly; the others are r and s.
func TestWycheproofVectors(t *testing.T) {
	for name, unwrap := range map[string]func([]byte) ([]byte, error){
		"ecdsa_secp256k1_sha256_bitcoin_test.json": fromDER,
		"ecdsa_secp256k1_sha256_p1363_test.json":   func(raw []byte) ([]byte, error) { return raw, nil },
	} {
		t.Run(name, func(t *testing.T) {
			groups := func(t *testing.T, text json.RawMessage) {
				for _, g := range vectors.Decode[[]wycheproofGroup](t, text) {
					g.check(t, unwrap)
				}
			}
			vectors.Load(t, name).Run(t, map[string]vectors.Check{"testGroups": groups},
				"algorithm", "schema", "numberOfTests", "header")
		})
	}
}

type wycheproofGroup struct {
	Type      string
	Source    json.RawMessage
	PublicKey struct {
		Type, Curve          string
		KeySize              int
		Uncompressed, WX, WY string
	}
	PublicKeyDER, PublicKeyPEM string // the same key once more
	PublicKeyJWK               json.RawMessage
	SHA                        string
	Tests                      []wycheproofCase
}

type wycheproofCase struct {
	ID       int `json:"tcId"`
	Comment  string
	Flags    []string
	Msg, Sig string
	Result   string // valid, invalid or acceptable
}

func (g wycheproofGroup) check(t *testing.T, unwrap func([]byte) ([]byte, error)) {
	if g.PublicKey.Curve != "secp256k1" || g.SHA != "SHA-256" {
		t.Fatalf("curve %s with %s is not ours", g.PublicKey.Curve, g.SHA)
	}
	public, err := secp256k1.ParsePubKey(unhex(t, g.PublicKey.Uncompressed))
	if err != nil {
		t.Fatal(err)
	}
	address := identity.Address(identity.EncodeBech32("agent", public.SerializeCompressed()))
	for _, v := range g.Tests {
		t.Run(fmt.Sprintf("%d %s", v.ID, v.Comment), func(t *testing.T) {
			digest := sha256.Sum256(unhex(t, v.Msg))

			raw, err := unwrap(unhex(t, v.Sig))
			if err == nil {
				err = verifyBothWays(t, address, digest[:], identity.EncodeBech32("sig", raw))
			}

			accepted := err == nil
			switch {
			case v.Result == "acceptable":
			case malleable(v):
				if !accepted || bytes.Equal(raw, lowS(raw)) {
					t.Errorf("%v, want a high s to be accepted", err)
				}
			case v.Result != "valid" && v.Result != "invalid":
				t.Fatalf("unknown result %q", v.Result)
			case accepted != (v.Result == "valid"):
				t.Errorf("%v, want %s (%v)", err, v.Result, v.Flags)
			}
		})
	}
}

// fromDER reads a sequence of two integers, each in the shortest form, and
// returns them as 32 bytes each.
func fromDER(der []byte) ([]byte, error) {
	errDER := errors.New("not DER")
	if len(der) < 2 || der[0] != 0x30 || int(der[1]) != len(der)-2 || der[1] >= 0x80 {
		return nil, errDER
	}
	rest := der[2:]
	var raw [64]byte
	for i := range 2 {
		if len(rest) < 3 || rest[0] != 0x02 || rest[1] == 0 || rest[1] >= 0x80 || len(rest) < 2+int(rest[1]) {
			return nil, errDER
		}
		integer := rest[2 : 2+rest[1]]
		rest = rest[2+rest[1]:]
		if integer[0] >= 0x80 || len(integer) > 1 && integer[0] == 0 && integer[1] < 0x80 {
			return nil, errDER // negative, or not the shortest
		}
		if integer[0] == 0 {
			integer = integer[1:]
		}
		if len(integer) > 32 {
			return nil, errors.New("over 256 bits")
		}
		copy(raw[32*(i+1)-len(integer):], integer)
	}
	if len(rest) > 0 {
		return nil, errDER
	}
	return raw[:], nil
}
