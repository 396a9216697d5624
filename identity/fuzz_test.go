package identity_test

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/vectors"
)

// seeds hands the strings of a list of vectors to add, one case at a time.
func seeds(f *testing.F, file, list string, add func(map[string]any)) {
	text, present := vectors.Load(f, file)[list]
	if !present {
		return
	}
	var cases []map[string]any
	if err := json.Unmarshal(text, &cases); err != nil {
		f.Fatal(err)
	}
	for _, c := range cases {
		add(c)
	}
}

// FuzzBech32 checks that no text crashes a reader, that the strict reader takes
// nothing that the lenient one refuses and reads the same, and that what was
// read is written as it was, apart from case.
func FuzzBech32(f *testing.F) {
	seeds(f, "signatures.json", "verify_cases", func(c map[string]any) {
		f.Add(c["signature"].(string))
		f.Add(c["address"].(string))
	})
	f.Fuzz(func(t *testing.T, s string) {
		prefix, data, err := identity.DecodeBech32Lenient(s)
		strictPrefix, strictData, strictErr := identity.DecodeBech32(s)
		if strictErr == nil && (err != nil || prefix != strictPrefix || string(data) != string(strictData)) {
			t.Fatalf("strict: %q %x; lenient: %q %x %v", strictPrefix, strictData, prefix, data, err)
		}
		if err != nil {
			return
		}
		if again := identity.EncodeBech32(prefix, data); again != strings.ToLower(s) {
			t.Errorf("%q is written %q", s, again)
		}
		if want := len(s) <= 128 && s == strings.ToLower(s); (strictErr == nil) != want {
			t.Errorf("strict: %v, want ok = %v", strictErr, want)
		}
	})
}

// FuzzIdentifier checks that an identifier is written so that it is read the
// same, and that a right address is never taken for a name.
func FuzzIdentifier(f *testing.F) {
	seeds(f, "identities.json", "parse_identifier", func(c map[string]any) { f.Add(c["identifier"].(string)) })
	f.Fuzz(func(t *testing.T, s string) {
		id := identity.ParseIdentifier(s)
		if again := identity.ParseIdentifier(id.String()); again != id {
			t.Errorf("%#v is written %q and read as %#v", id, id, again)
		}
		address, err := identity.ParseAddress(s)
		if err != nil {
			return
		}
		if id != (identity.Identifier{Address: address}) || string(address) != s {
			t.Errorf("ParseAddress takes %q, ParseIdentifier reads %#v", s, id)
		}
	})
}

// FuzzVerify checks that a table never changes an answer, whatever arrives.
func FuzzVerify(f *testing.F) {
	seeds(f, "signatures.json", "verify_cases", func(c map[string]any) {
		f.Add(c["address"].(string), unhex(f, c["digest_hex"].(string)), c["signature"].(string))
	})
	f.Fuzz(func(t *testing.T, address string, digest []byte, signature string) {
		plain := identity.Verify(identity.Address(address), digest, signature)
		byTable := identity.VerifyByTable(identity.Address(address), digest, signature)
		if text(plain) != text(byTable) {
			t.Errorf("plainly: %v, by table: %v", plain, byTable)
		}
	})
}

// FuzzTable lets the fuzzer choose the multiples that a verification adds up,
// and the relation between key and base point, so that it gets past checksums.
func FuzzTable(f *testing.F) {
	for i, k := range edges() {
		f.Add(k.Bytes(), edges()[(i+3)%len(edges())].Bytes(), edges()[(i+7)%len(edges())].Bytes(), int16(i%5-2))
	}
	f.Fuzz(func(t *testing.T, secret, u1, u2 []byte, related int16) {
		key, b := inGroup(secret), inGroup(u2)
		a := new(big.Int).SetBytes(u1[:min(len(u1), 32)])
		if related != 0 { // u1·G is a small multiple of u2·key
			a = times(times(key, b), big.NewInt(int64(related)))
		}
		craft(publicKey(key), a, b).check(t)
	})
}

// inGroup makes a number within 1 to n-1 of any bytes.
func inGroup(data []byte) *big.Int {
	k := new(big.Int).SetBytes(data[:min(len(data), 32)])
	return k.Mod(k, sub(order(), 1)).Add(k, big.NewInt(1))
}
