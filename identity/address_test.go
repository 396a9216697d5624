package identity_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

const alice = "agent1qww3ju3h6kfcuqf54gkghvt2pqe8qp97a7nzm2vp8plfxflc0epzcjsv79t"

func TestParseAddress(t *testing.T) {
	public := seeded(t, "alice").PublicKey()
	hybrid := append([]byte{0x06 | public[0]&1}, make([]byte, 64)...)
	offCurve := append([]byte{2}, make([]byte, 32)...)
	overPrime := append([]byte{2}, []byte(strings.Repeat("\xff", 32))...)
	badFormat := append([]byte{5}, public[1:]...)
	for _, tc := range []struct {
		name, text string
		want       string // the complaint; empty if there is none
	}{
		{"an agent", alice, ""},
		{"a user", identity.EncodeBech32("user", make([]byte, 32)), ""},
		{"upper case", strings.ToUpper(alice), "bech32 in upper case, which is not accepted"},
		{"wrong checksum", alice[:64] + "q", undecodable},
		{"white space", " " + alice, undecodable},
		{"a user too short", identity.EncodeBech32("user", make([]byte, 31)), "user address of 31 bytes, want 32"},
		{"a name that starts like a user", "username", undecodable},
		{"a wallet", seeded(t, "alice").WalletAddress(), `address with prefix "fetch", want agent or user`},
		{"a key of 65 bytes", identity.EncodeBech32("agent", hybrid), "address carries a key of 65 bytes, want 33: the compressed form"},
		{"a key not on the curve", identity.EncodeBech32("agent", offCurve), "address carries no point of the curve"},
		{"x over the prime", identity.EncodeBech32("agent", overPrime), "address carries no point of the curve"},
		{"a key of no known form", identity.EncodeBech32("agent", badFormat), "address carries no point of the curve"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			address, err := identity.ParseAddress(tc.text)

			if tc.want == "" {
				if err != nil || string(address) != tc.text {
					t.Errorf("ParseAddress = %q, %v", address, err)
				}
				return
			}
			refusal, ok := errors.AsType[*fault.Error](err)
			if !ok || refusal.Code != fault.Malformed || refusal.Text != tc.want || address != "" {
				t.Errorf("ParseAddress = %q, %v, want malformed %q", address, err, tc.want)
			}
		})
	}
}

func TestUserAddressesAreValidAndDiffer(t *testing.T) {
	seen := map[identity.Address]bool{}
	for range 10 {
		address, err := identity.NewUserAddress()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := identity.ParseAddress(string(address)); err != nil || len(address) != 63 {
			t.Errorf("%s has %d letters: %v", address, len(address), err)
		}
		if !address.IsUser() || !identity.LooksLikeAddress(string(address)) {
			t.Errorf("%s does not count as a user", address)
		}
		if seen[address] {
			t.Errorf("%s came twice", address)
		}
		seen[address] = true
	}
}

// Lengths are counted in characters, as Python does.
func TestLooksLikeAddressCountsCharacters(t *testing.T) {
	if s := "agent" + strings.Repeat("é", 60); !identity.LooksLikeAddress(s) {
		t.Errorf("%s has 65 characters", s)
	}
	if s := "agent" + strings.Repeat("é", 30); identity.LooksLikeAddress(s) {
		t.Errorf("%s has 65 bytes but not 65 characters", s)
	}
}

// The vectors tell how identifiers are read; this is how they are written.
func TestIdentifierIsWrittenAsItIsRead(t *testing.T) {
	for _, text := range []string{
		"", alice, "agent://" + alice, "test-agent://some-name/" + alice, "some-name/" + alice,
		"some-name", "agent://some-name", "agent://", "/b/c", "p:///b/c", ":///b://c", "/user/x", "n/user/x",
	} {
		if got := identity.ParseIdentifier(text).String(); got != text {
			t.Errorf("%q is written back as %q", text, got)
		}
	}
}
