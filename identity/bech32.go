package identity

import (
	"strings"

	"github.com/parley-agents/parley/fault"
)

const (
	bech32Letters  = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
	bech32Checksum = 6  // letters at the end
	bech32Prefix   = 83 // letters of the longest prefix

	// maxBech32 is over all that honest peers produce: 65 letters for an agent,
	// 63 for a user, 113 for a signature.
	maxBech32 = 128
)

// What peers answer to text that is not bech32, and to text whose letters do
// not make whole bytes.
const (
	textUndecodable   = "Unable to decode value"
	textInconvertible = "Unable to convert value"
)

// bech32Values is the inverse of bech32Letters, 0xff for every other byte.
var bech32Values = func() (values [256]byte) {
	for i := range values {
		values[i] = 0xff
	}
	for i := range bech32Letters {
		values[bech32Letters[i]] = byte(i)
	}
	return values
}()

// EncodeBech32 writes data in bech32 (the original form of BIP 173) with the
// given prefix, which is expected to be short and in lower case.
func EncodeBech32(prefix string, data []byte) string {
	words, _ := regroup(data, 8, 5)
	state := bech32State(prefix)
	var text strings.Builder
	text.Grow(len(prefix) + 1 + len(words) + bech32Checksum)
	text.WriteString(prefix)
	text.WriteByte('1')
	for _, w := range words {
		state = bech32Step(state, w)
		text.WriteByte(bech32Letters[w])
	}
	for range bech32Checksum {
		state = bech32Step(state, 0)
	}
	state ^= 1
	for i := range bech32Checksum {
		text.WriteByte(bech32Letters[state>>(5*(bech32Checksum-1-i))&31])
	}
	return text.String()
}

// DecodeBech32 reads what honest peers write: lower case, at most 128 letters.
// The error is [fault.Malformed].
func DecodeBech32(s string) (prefix string, data []byte, err error) {
	if len(s) > maxBech32 {
		return "", nil, malformed(textUndecodable)
	}
	if prefix, data, err = DecodeBech32Lenient(s); err != nil {
		return "", nil, err
	}
	if s != strings.ToLower(s) {
		return "", nil, malformed("bech32 in upper case, which is not accepted")
	}
	return prefix, data, nil
}

// DecodeBech32Lenient reads exactly what the uAgents library reads: also upper
// case, at any length. The error is [fault.Malformed] with that library's text.
func DecodeBech32Lenient(s string) (prefix string, data []byte, err error) {
	if !bech32Case(s) {
		return "", nil, malformed(textUndecodable)
	}
	lower := strings.ToLower(s)
	end := strings.LastIndexByte(lower, '1')
	if end < 1 || end > bech32Prefix || len(lower)-end-1 <= bech32Checksum {
		return "", nil, malformed(textUndecodable)
	}
	prefix = lower[:end]
	words := []byte(lower[end+1:])
	state := bech32State(prefix)
	for i, letter := range words {
		words[i] = bech32Values[letter]
		if words[i] > 31 {
			return "", nil, malformed(textUndecodable)
		}
		state = bech32Step(state, words[i])
	}
	if state != 1 {
		return "", nil, malformed(textUndecodable)
	}
	data, whole := regroup(words[:len(words)-bech32Checksum], 5, 8)
	if !whole || len(data) == 0 {
		return "", nil, malformed(textInconvertible)
	}
	return prefix, data, nil
}

// bech32Case reports whether s is visible ASCII in one case. It looks at bytes
// since letters outside ASCII may have an ASCII letter as their lower case.
func bech32Case(s string) bool {
	var lower, upper bool
	for i := range len(s) {
		if s[i] < 33 || s[i] > 126 {
			return false
		}
		lower = lower || 'a' <= s[i] && s[i] <= 'z'
		upper = upper || 'A' <= s[i] && s[i] <= 'Z'
	}
	return !lower || !upper
}

// bech32State is the state of the checksum after the prefix.
func bech32State(prefix string) uint32 {
	state := uint32(1)
	for i := range len(prefix) {
		state = bech32Step(state, prefix[i]>>5)
	}
	state = bech32Step(state, 0)
	for i := range len(prefix) {
		state = bech32Step(state, prefix[i]&31)
	}
	return state
}

// bech32Step takes one word of five bits into the checksum: a BCH code over
// GF(32) whose generator BIP 173 fixes.
func bech32Step(state uint32, word byte) uint32 {
	generator := [5]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3}
	top := state >> 25
	state = state&0x1ffffff<<5 ^ uint32(word)
	for i, g := range generator {
		if top>>i&1 == 1 {
			state ^= g
		}
	}
	return state
}

// regroup turns words of from bits into words of to bits. Bits left over fill
// one more word when they are split (8 to 5); when they are joined (5 to 8) they
// were such filling: less than a word, and zero, or else whole is false.
func regroup(in []byte, from, to uint) (out []byte, whole bool) {
	out = make([]byte, 0, (len(in)*int(from)+int(to)-1)/int(to))
	var acc, bits uint
	for _, w := range in {
		acc = acc<<from | uint(w)
		bits += from
		for bits >= to {
			bits -= to
			out = append(out, byte(acc>>bits))
			acc &= 1<<bits - 1
		}
	}
	if from < to {
		return out, bits < from && acc == 0
	}
	if bits > 0 {
		out = append(out, byte(acc<<(to-bits)))
	}
	return out, true
}

func malformed(format string, args ...any) error {
	return fault.Errorf(fault.Malformed, "", format, args...)
}
