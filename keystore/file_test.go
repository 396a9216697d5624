package keystore_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/keystore"
)

// fields are the content of a key file, to be changed by a test.
type fields map[string]any

// TestDamagedFiles: each is refused with its path, and no complaint shows the
// secret, not even where a decoder would quote what it found.
func TestDamagedFiles(t *testing.T) {
	key, other := seeded(t, "alice"), seeded(t, "bob")
	digits := strings.Repeat("7", 64) // valid, and JSON takes it for a number
	right := func(change fields) fields {
		file := fields{"version": 1, "address": key.Address(), "private_key": key.Expose()}
		for name, value := range change {
			file[name] = value
			if value == nil {
				delete(file, name)
			}
		}
		return file
	}
	sealed := encrypted(t, "right", key.Expose())
	locked := func(data []byte) fields { return right(fields{"private_key": nil, "encrypted": data}) }
	for _, tc := range []struct {
		name    string
		content any
		code    fault.Code
		text    string
	}{
		{"right", right(nil), "", ""},
		{"right and encrypted", locked(sealed), "", ""},
		{"empty", "", fault.Malformed, "no key file"},
		{"cut off", `{"version": 1, "private_key": "` + key.Expose(), fault.Malformed, "no key file"},
		{"something after it", encode(t, right(nil)) + "x", fault.Malformed, "no key file"},
		{"no version", right(fields{"version": nil}), fault.Malformed, "no key file"},
		{"a key for a version", right(fields{"version": json.Number(digits)}), fault.Malformed, "no key file"},
		{"version 0", right(fields{"version": 0}), fault.Malformed, "no key file"},
		{"a later version", right(fields{"version": 2, "more": 1}), fault.Unsupported, "version 2"},
		{"an unknown field", right(fields{key.Expose(): 1}), fault.Malformed, "no key file of version 1"},
		{"a number as key", right(fields{"private_key": json.Number(digits)}), fault.Malformed, "no key file of version 1"},
		{"no address", right(fields{"address": nil}), fault.Malformed, "not one of an agent"},
		{"a broken address", right(fields{"address": key.Address()[:64] + "b"}), fault.Malformed, "not one of an agent"},
		{"the address of a user", right(fields{"address": "user1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnzs23v9ccrydpk8qarc0sxs5jpk"}), fault.Malformed, "not one of an agent"},
		{"no key", right(fields{"private_key": nil}), fault.Malformed, "either"},
		{"two keys", right(fields{"encrypted": sealed}), fault.Malformed, "either"},
		{"the key of another", right(fields{"private_key": other.Expose()}), fault.Malformed, "not that of its address " + string(key.Address())},
		{"a short key", right(fields{"private_key": key.Expose()[:62]}), fault.Malformed, "no private key"},
		{"the encrypted key of another", locked(encrypted(t, "right", other.Expose())), fault.Malformed, "not that of its address"},
		{"something else encrypted", locked(encrypted(t, "right", key.Expose()+"\n")), fault.Malformed, "no private key"},
		{"something long encrypted", locked(encrypted(t, "right", strings.Repeat("0", 10000))), fault.Malformed, "no private key"},
		{"no age file", locked([]byte("age-encryption.org/v2\n")), fault.Malformed, "cannot be read"},
		{"an age file cut off", locked(sealed[:len(sealed)-1]), fault.Malformed, "cannot be read"},
		{"an age file with a bit flipped", locked(flipped(sealed)), fault.Malformed, "cannot be read"},
		{"an age file for a machine", locked(forMachine(t, key.Expose())), fault.Malformed, "cannot be read"},
		{"an age file that costs too much", locked(costing(t, sealed, keystore.MaxWorkFactor+1)), fault.Malformed, "work factor"},
		{"an age file that costs the world", locked(costing(t, sealed, 30)), fault.Malformed, "work factor"},
		{"too large", encode(t, right(nil)) + strings.Repeat(" ", 16<<10), fault.TooLarge, "over 16384 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			store, dir := open(t)
			path := place(t, dir, "alice", tc.content)

			got, err := store.Get("alice", "right")

			if tc.code == "" {
				if err != nil || got.Expose() != key.Expose() {
					t.Errorf("Get = %v, %v, want the key of %v", got, err, key)
				}
				return
			}
			wantCode(t, err, tc.code, tc.text, path)
			for _, secret := range []string{key.Expose(), other.Expose(), digits} {
				if shown := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(shown, secret[:16]) {
					t.Errorf("the error shows the secret: %s", shown)
				}
			}
		})
	}
}

// A file that cannot be read is named, and the others are listed all the same.
func TestDamagedFilesDoNotHideOthers(t *testing.T) {
	store, dir := open(t)
	entry, err := store.New("alice", nil)
	if err != nil {
		t.Fatal(err)
	}
	broken := place(t, dir, "broken", "{}")
	folder := filepath.Join(dir, "keys", "folder.key")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}

	entries, err := store.List()

	if len(entries) != 1 || entries[0] != entry {
		t.Errorf("List = %+v, want %+v", entries, entry)
	}
	wantCode(t, err, fault.Malformed, broken, folder)
}

func encode(t *testing.T, f fields) string {
	t.Helper()
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func encrypted(t *testing.T, passphrase, content string) []byte {
	t.Helper()
	recipient, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		t.Fatal(err)
	}
	recipient.SetWorkFactor(4)
	return sealedFor(t, recipient, content)
}

func forMachine(t *testing.T, content string) []byte {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return sealedFor(t, identity.Recipient(), content)
}

func sealedFor(t *testing.T, recipient age.Recipient, content string) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := age.Encrypt(&out, recipient)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// flipped changes the last bit, which belongs to the encrypted key.
func flipped(data []byte) []byte {
	changed := bytes.Clone(data)
	changed[len(changed)-1] ^= 1
	return changed
}

// costing changes the work factor that an age file asks for.
func costing(t *testing.T, data []byte, factor int) []byte {
	t.Helper()
	changed := bytes.Replace(data, []byte(" 4\n"), fmt.Appendf(nil, " %d\n", factor), 1)
	if bytes.Equal(changed, data) {
		t.Fatalf("no work factor in\n%s", data)
	}
	return changed
}

// FuzzKeyFile checks that no content crashes the reader, and that what was read
// is written so that it is read the same.
func FuzzKeyFile(f *testing.F) {
	key := seeded(f, "alice")
	f.Add(fmt.Appendf(nil, `{"version":1,"address":%q,"private_key":%q}`, key.Address(), key.Expose()))
	f.Add(fmt.Appendf(nil, `{"version":1,"address":%q,"encrypted":%q}`, key.Address(),
		base64.StdEncoding.EncodeToString([]byte("age-encryption.org/v1\n-> scrypt x 4\n"))))
	f.Add([]byte(`{"version":2}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		once, err := keystore.RewriteFile(content)
		if err != nil {
			if code := fault.CodeOf(err); code != fault.Malformed && code != fault.Unsupported {
				t.Errorf("code = %q: %v", code, err)
			}
			return
		}
		twice, err := keystore.RewriteFile(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Errorf("written as\n%s\nand read as\n%s\n%v", once, twice, err)
		}
	})
}
