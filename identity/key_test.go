package identity_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

const groupOrder = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"

func TestParseKey(t *testing.T) {
	one, last := strings.Repeat("0", 63)+"1", groupOrder[:63]+"0"
	for _, tc := range []struct {
		name, digits string
		ok           bool
	}{
		{"the least", one, true},
		{"the greatest", last, true},
		{"upper case", strings.ToUpper(last), true},
		{"zero", strings.Repeat("0", 64), false},
		{"the order of the group", groupOrder, false},
		{"over the order", strings.Repeat("f", 64), false},
		{"a digit short", one[1:], false},
		{"a byte short", one[2:], false},
		{"a byte long", "00" + one, false},
		{"no hex", strings.Repeat("g", 64), false},
		{"with a prefix", "0x" + one[2:], false},
		{"nothing", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			key, err := identity.ParseKey(tc.digits)

			switch {
			case tc.ok && err != nil:
				t.Error(err)
			case tc.ok && key.Expose() != strings.ToLower(tc.digits):
				t.Errorf("Expose = %s, want %s", key.Expose(), tc.digits)
			case !tc.ok && (key != nil || fault.CodeOf(err) != fault.Malformed):
				t.Errorf("ParseKey = %v, %v, want malformed", key, err)
			case !tc.ok && len(tc.digits) > 8 && strings.Contains(err.Error(), tc.digits[:8]):
				t.Errorf("the error shows the digits: %v", err)
			}
		})
	}
}

func TestGeneratedKeysDifferAndSign(t *testing.T) {
	a, errA := identity.Generate()
	b, errB := identity.Generate()
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	digest := sum("message")

	signature := a.SignDigest([32]byte(digest))

	if a.Address() == b.Address() {
		t.Error("two keys have one address")
	}
	if err := identity.Verify(a.Address(), digest, signature); err != nil {
		t.Error(err)
	}
	if err := identity.Verify(b.Address(), digest, signature); fault.CodeOf(err) != fault.Unverified {
		t.Errorf("the other's address: %v, want unverified", err)
	}
}

func TestSigningIsDeterministicAndOfLowS(t *testing.T) {
	for i := range 64 {
		key := seeded(t, strings.Repeat("x", i))
		data := bytes.Repeat([]byte{byte(i)}, i)
		first, second := key.Sign(data), key.Sign(data)

		if first != second {
			t.Fatalf("two signatures of one message: %s and %s", first, second)
		}
		if raw := rawSignature(t, first); !bytes.Equal(raw, lowS(raw)) {
			t.Errorf("high s: %s", hex.EncodeToString(raw))
		}
		if first != key.SignDigest(sha256.Sum256(data)) {
			t.Error("Sign must sign the SHA-256")
		}
	}
}

// A caller that changes the bytes it was given must not change the key.
func TestPublicKeyIsACopy(t *testing.T) {
	key := seeded(t, "alice")

	key.PublicKey()[0] ^= 1

	if got := identity.EncodeBech32("agent", key.PublicKey()); got != string(key.Address()) {
		t.Errorf("the public key is now that of %s", got)
	}
}
