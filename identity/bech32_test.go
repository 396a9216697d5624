package identity_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

const (
	undecodable   = "Unable to decode value"
	inconvertible = "Unable to convert value"
)

// TestDecodeBech32 gives each text to both readers. An empty complaint means
// that the text is read.
func TestDecodeBech32(t *testing.T) {
	long := identity.EncodeBech32("x", make([]byte, 80))
	for _, tc := range []struct {
		name, text      string
		lenient, strict string
	}{
		{"lower case", "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw", "", ""},
		{"upper case", "ABCDEF1QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LMQQQXW", "", "bech32 in upper case, which is not accepted"},
		{"mixed case", "abcdef1Qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw", undecodable, undecodable},
		{"wrong letter", "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxq", undecodable, undecodable},
		{"a letter that is none", "abcdef1bpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw", undecodable, undecodable},
		{"the checksum of bech32m", "abcdef1l7aum6echk45nj3s0wdvt2fg8x9yrzpqzd3ryx", undecodable, undecodable},
		{"no prefix", "1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw", undecodable, undecodable},
		{"no separator", "qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw", undecodable, undecodable},
		{"nothing", "", undecodable, undecodable},
		{"no data", "a12uel5l", undecodable, undecodable},
		{"a checksum too short", "a1uel5l", undecodable, undecodable},
		{"a prefix of 83", identity.EncodeBech32(strings.Repeat("a", 83), []byte{1}), "", ""},
		{"a prefix of 84", identity.EncodeBech32(strings.Repeat("a", 84), []byte{1}), undecodable, undecodable},
		{"separators in the prefix", identity.EncodeBech32("a1b1", []byte{1}), "", ""},
		{"a space in the prefix", identity.EncodeBech32("a b", []byte{1}), undecodable, undecodable},
		{"delete in the prefix", identity.EncodeBech32("a\x7fb", []byte{1}), undecodable, undecodable},
		{"the edges of the letters", identity.EncodeBech32("!~", []byte{1}), "", ""},
		{"more than 128 letters", long, "", undecodable},
		{"one word of data", checksummed("a", "q"), inconvertible, inconvertible},
		{"five bits of filling", checksummed("a", "qqqqqqqqq"), inconvertible, inconvertible},
		{"filling that is not zero", checksummed("a", "ql"), inconvertible, inconvertible},
		{"filling of zeros", checksummed("a", "lu"), "", ""},
		{"the Kelvin sign as K", strings.ReplaceAll(strings.ToUpper(identity.EncodeBech32("k", []byte{1})), "K", "\u212a"), undecodable, undecodable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			checkDecode(t, "lenient", identity.DecodeBech32Lenient, tc.text, tc.lenient)
			checkDecode(t, "strict", identity.DecodeBech32, tc.text, tc.strict)
		})
	}
}

func checkDecode(t *testing.T, who string, decode func(string) (string, []byte, error), in, want string) {
	t.Helper()
	prefix, data, err := decode(in)
	if want == "" {
		if err != nil {
			t.Errorf("%s: %q: %v", who, in, err)
		} else if again := identity.EncodeBech32(prefix, data); again != strings.ToLower(in) {
			t.Errorf("%s: %q was read as what is written %q", who, in, again)
		}
		return
	}
	refusal, ok := errors.AsType[*fault.Error](err)
	if !ok || refusal.Code != fault.Malformed || refusal.Text != want {
		t.Errorf("%s: %q: %v, want malformed %q", who, in, err, want)
	}
}

// checksummed writes letters that EncodeBech32 would never write, with the right
// checksum, computed a second time here so that a mistake in it shows.
func checksummed(prefix, letters string) string {
	const alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
	state := uint32(1)
	step := func(v byte) {
		top := state >> 25
		state = state&0x1ffffff<<5 ^ uint32(v)
		for i, g := range []uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				state ^= g
			}
		}
	}
	for i := range len(prefix) {
		step(prefix[i] >> 5)
	}
	step(0)
	for i := range len(prefix) {
		step(prefix[i] & 31)
	}
	for i := range len(letters) {
		step(byte(strings.IndexByte(alphabet, letters[i])))
	}
	for range 6 {
		step(0)
	}
	state ^= 1
	var sum []byte
	for i := range 6 {
		sum = append(sum, alphabet[state>>(5*(5-i))&31])
	}
	return prefix + "1" + letters + string(sum)
}

func TestBech32GivesBackWhatWasWritten(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 64; n++ {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(random.Uint32())
		}

		prefix, again, err := identity.DecodeBech32(identity.EncodeBech32("some-prefix", data))

		if err != nil || prefix != "some-prefix" || !bytes.Equal(again, data) {
			t.Errorf("%d bytes: %q %x, %v, want %x", n, prefix, again, err, data)
		}
	}
}

// Bech32 promises to find up to four wrong letters; one at each place is enough
// to see that every letter is covered.
func TestBech32FindsEachWrongLetter(t *testing.T) {
	right := identity.EncodeBech32("agent", make([]byte, 33))
	for i := range right {
		for _, letter := range []byte("qz2l") {
			wrong := []byte(right)
			if wrong[i] == letter || wrong[i] == '1' {
				continue
			}
			wrong[i] = letter
			if _, _, err := identity.DecodeBech32(string(wrong)); err == nil {
				t.Errorf("%s was read", wrong)
			}
		}
	}
}
