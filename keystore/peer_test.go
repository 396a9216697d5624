package keystore_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/keystore"
)

// peerFile writes a private_keys.json as uAgents does.
func peerFile(t testing.TB, names ...string) string {
	t.Helper()
	file := map[string]map[string]string{}
	for _, name := range names {
		file[name] = map[string]string{"identity_key": seeded(t, name).Expose(), "wallet_key": inBase64(t, wallet(t, name))}
	}
	text, err := json.MarshalIndent(file, "", "    ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// inBase64 writes a key as the peers' ledger library does.
func inBase64(t testing.TB, key *identity.Key) string {
	t.Helper()
	secret, err := hex.DecodeString(key.Expose())
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(secret)
}

func wallet(t testing.TB, seed string) *identity.Key {
	t.Helper()
	key, err := identity.WalletFromSeed(seed, 0)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestParsePeerKeys(t *testing.T) {
	keys, err := keystore.ParsePeerKeys([]byte(peerFile(t, "alice", "bob/the second", "")))

	if err != nil || len(keys) != 3 {
		t.Fatalf("ParsePeerKeys = %v, %v, want three keys", keys, err)
	}
	for i, name := range []string{"", "alice", "bob/the second"} {
		if keys[i].Name != name || keys[i].Identity.Expose() != seeded(t, name).Expose() ||
			keys[i].Wallet.Expose() != wallet(t, name).Expose() {
			t.Errorf("key %d = %+v, want that of %q", i, keys[i], name)
		}
	}
}

// A file written by uagents 0.26.1, name and all.
func TestParsePeerKeysOfARealFile(t *testing.T) {
	keys, err := keystore.ParsePeerKeys([]byte(`{
    "my agent": {
        "identity_key": "2aae669cf3fc9e077e0c51b48d020912bd61444877ea8b1d35dafdaaa2af9f07",
        "wallet_key": "EOb3/OTMKGq1YvWLPuJcD0/yjshgSJ+5qc3sL2kjUeU="
    }
}`))

	if err != nil || len(keys) != 1 || keys[0].Name != "my agent" {
		t.Fatalf("ParsePeerKeys = %v, %v", keys, err)
	}
	if got, want := keys[0].Identity.Address(), identity.Address("agent1q0xxjjduxn46c4u4ar5plzkmqqa0uajp62efs6060qnud4hpe9tdxwmalhx"); got != want {
		t.Errorf("address = %s, want %s", got, want)
	}
	if got, want := keys[0].Wallet.WalletAddress(), "fetch1sghhhaxs38egjp5zqp760jrvamc73h533uhdlj"; got != want {
		t.Errorf("wallet = %s, want %s", got, want)
	}
}

func TestPeerWalletsInHexAreRead(t *testing.T) {
	keys, err := keystore.ParsePeerKeys(fmt.Appendf(nil, `{"a": {"identity_key": %q, "wallet_key": %q}}`,
		seeded(t, "a").Expose(), wallet(t, "a").Expose()))

	if err != nil || keys[0].Wallet.Expose() != wallet(t, "a").Expose() {
		t.Errorf("ParsePeerKeys = %v, %v", keys, err)
	}
}

func TestPeerKeysKeepTheOrderOfTheFile(t *testing.T) {
	a, b := seeded(t, "a").Expose(), seeded(t, "b").Expose()

	keys, err := keystore.ParsePeerKeys(fmt.Appendf(nil,
		`{"z": {"identity_key": %q}, "a": {"identity_key": %q, "wallet_key": "", "other": 1}}`, a, b))

	if err != nil || len(keys) != 2 || keys[0].Name != "z" || keys[1].Name != "a" {
		t.Fatalf("ParsePeerKeys = %+v, %v, want z and a", keys, err)
	}
	if keys[0].Wallet != nil || keys[1].Wallet != nil {
		t.Error("there is no wallet in the file")
	}
}

func TestBadPeerFiles(t *testing.T) {
	good := peerFile(t, "alice")
	digits := seeded(t, "alice").Expose()
	number := strings.Repeat("7", 64)
	var many []string
	for i := range 1001 {
		many = append(many, fmt.Sprintf(`"%d": {"identity_key": %q}`, i, digits))
	}
	for _, tc := range []struct {
		name, text string
		code       fault.Code
		parts      []string
	}{
		{"nothing", "", fault.Malformed, []string{"private_keys.json"}},
		{"a list", "[]", fault.Malformed, []string{"private_keys.json"}},
		{"null", "null", fault.Malformed, []string{"private_keys.json"}},
		{"cut off", good[:len(good)-2], fault.Malformed, []string{"private_keys.json"}},
		{"cut off in a key", good[:60], fault.Malformed, []string{"private_keys.json"}},
		{"something after it", good + "{}", fault.Malformed, []string{"private_keys.json"}},
		{"a name twice", `{"alice": {"identity_key": "` + digits + `"}, ` + good[1:], fault.Malformed, []string{`"alice"`, "twice"}},
		{"an entry that is no object", `{"alice": "` + digits + `"}`, fault.Malformed, []string{`"alice"`, "private_keys.json"}},
		{"a number as key", `{"alice": {"identity_key": ` + number + `}}`, fault.Malformed, []string{`"alice"`}},
		{"no identity", `{"alice": {"wallet_key": "` + digits + `"}}`, fault.Malformed, []string{`"alice".identity_key`}},
		{"null", `{"alice": null}`, fault.Malformed, []string{`"alice".identity_key`}},
		{"a broken identity", `{"alice": {"identity_key": "` + digits[1:] + `x"}}`, fault.Malformed, []string{`"alice".identity_key`}},
		{"a broken wallet", `{"alice": {"identity_key": "` + digits + `", "wallet_key": "` + digits[2:] + `"}}`, fault.Malformed, []string{`"alice".wallet_key`}},
		{"a name of a megabyte", `{"` + strings.Repeat("x", 1<<19) + `": 1}`, fault.Malformed, []string{strings.Repeat("x", 64) + `"`}},
		{"too many agents", "{" + strings.Join(many, ",") + "}", fault.TooLarge, []string{"1000 agents"}},
		{"too large", good + strings.Repeat(" ", 1<<20), fault.TooLarge, []string{"1048576 bytes"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			keys, err := keystore.ParsePeerKeys([]byte(tc.text))

			wantCode(t, err, tc.code, tc.parts...)
			if keys != nil {
				t.Errorf("%d keys were returned", len(keys))
			}
			if len(err.Error()) > 300 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			if shown := fmt.Sprintf("%v %#v", err, err); strings.Contains(shown, digits[2:18]) || strings.Contains(shown, number[:16]) {
				t.Errorf("the error shows the secret: %s", shown)
			}
		})
	}
}

func TestAThousandPeerKeysAreNotTooMany(t *testing.T) {
	var many []string
	digits := seeded(t, "alice").Expose()
	for i := range 1000 {
		many = append(many, fmt.Sprintf(`"%d": {"identity_key": %q}`, i, digits))
	}

	keys, err := keystore.ParsePeerKeys([]byte("{" + strings.Join(many, ",") + "}"))

	if err != nil || len(keys) != 1000 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
}

// FuzzParsePeerKeys checks that no file crashes the reader, that errors have a
// code, and that what was read is a file that is read the same.
func FuzzParsePeerKeys(f *testing.F) {
	f.Add([]byte(peerFile(f, "alice", "bob")))
	f.Add([]byte(`{"a": {"identity_key": ""}}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		keys, err := keystore.ParsePeerKeys(data)
		if err != nil {
			if code := fault.CodeOf(err); code != fault.Malformed && code != fault.TooLarge {
				t.Errorf("code = %q: %v", code, err)
			}
			return
		}
		file := map[string]map[string]string{}
		for _, key := range keys {
			file[key.Name] = map[string]string{"identity_key": key.Identity.Expose()}
			if key.Wallet != nil {
				file[key.Name]["wallet_key"] = key.Wallet.Expose()
			}
		}
		text, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		again, err := keystore.ParsePeerKeys(text)
		if err != nil || len(again) != len(keys) {
			t.Errorf("%d keys were read again as %d, %v", len(keys), len(again), err)
		}
	})
}
