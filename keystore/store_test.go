package keystore_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/keystore"
)

// open returns a store in a new folder, in which encrypting is cheap.
func open(t testing.TB) (store *keystore.Store, dir string) {
	t.Helper()
	dir = t.TempDir()
	return openIn(t, dir), dir
}

func openIn(t testing.TB, dir string) *keystore.Store {
	t.Helper()
	store, err := keystore.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	store.SetWorkFactor(4)
	return store
}

// seeded returns the key of a phrase.
func seeded(t testing.TB, seed string) *identity.Key {
	t.Helper()
	key, err := identity.FromSeed(seed, 0)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// wantCode checks the code of an error, and that its text has certain parts.
func wantCode(t *testing.T, err error, code fault.Code, parts ...string) {
	t.Helper()
	if got := fault.CodeOf(err); got != code {
		t.Errorf("code = %q, want %q (%v)", got, code, err)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not mention %q", err, part)
		}
	}
}

func TestKeysAreGivenBack(t *testing.T) {
	for _, tc := range []struct {
		name      string
		options   *keystore.Options
		encrypted bool
	}{
		{"as they are", nil, false},
		{"with empty options", &keystore.Options{}, false},
		{"encrypted", &keystore.Options{Passphrase: "correct horse"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			store, dir := open(t)
			key := seeded(t, "alice")
			passphrase := ""
			if tc.options != nil {
				passphrase = tc.options.Passphrase
			}

			entry, err := store.Put("alice", key, tc.options)
			if err != nil {
				t.Fatal(err)
			}
			again, err := openIn(t, dir).Get("alice", passphrase)

			if err != nil || again.Expose() != key.Expose() {
				t.Errorf("Get = %v, %v, want the key of %v", again, err, key)
			}
			want := keystore.Entry{Name: "alice", Address: key.Address(), Encrypted: tc.encrypted,
				Path: filepath.Join(dir, "keys", "alice.key")}
			if entry != want {
				t.Errorf("Put = %+v, want %+v", entry, want)
			}
			if found, err := store.Find("alice"); err != nil || found != want {
				t.Errorf("Find = %+v, %v, want %+v", found, err, want)
			}
			content := readAll(t, entry.Path)
			if shown := strings.Contains(content, key.Expose()); shown == tc.encrypted {
				t.Errorf("the file shows the private key: %v", shown)
			}
			if !strings.Contains(content, string(key.Address())) {
				t.Error("the file does not show the address")
			}
		})
	}
}

func TestNewKeysAreRandom(t *testing.T) {
	store, _ := open(t)
	a, errA := store.New("a", nil)
	b, errB := store.New("b", nil)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if a.Address == b.Address {
		t.Errorf("two new keys have the address %s", a.Address)
	}
	if key, err := store.Get("a", ""); err != nil || key.Address() != a.Address {
		t.Errorf("Get = %v, %v, want the key of %s", key, err, a.Address)
	}
}

// A second New or Put fails, and the first key is still there, byte for byte.
func TestNothingIsOverwritten(t *testing.T) {
	store, _ := open(t)
	first, err := store.New("alice", nil)
	if err != nil {
		t.Fatal(err)
	}
	before := readAll(t, first.Path)

	_, errNew := store.New("alice", nil)
	_, errPut := store.Put("alice", seeded(t, "other"), &keystore.Options{Passphrase: "x"})

	wantCode(t, errNew, fault.Conflict, first.Path)
	wantCode(t, errPut, fault.Conflict, first.Path)
	if after := readAll(t, first.Path); after != before {
		t.Errorf("the file was changed from\n%s\nto\n%s", before, after)
	}
}

// Encrypting takes a second or so; who cannot have the name need not wait.
func TestTakenNamesAreRefusedBeforeEncrypting(t *testing.T) {
	store, _ := open(t)
	if _, err := store.New("alice", nil); err != nil {
		t.Fatal(err)
	}
	store.SetWorkFactor(keystore.MaxWorkFactor + 1)
	start := time.Now()

	_, err := store.New("alice", &keystore.Options{Passphrase: "x"})

	wantCode(t, err, fault.Conflict)
	if took := time.Since(start); took > 500*time.Millisecond {
		t.Errorf("it took %v", took)
	}
}

// A name that leads nowhere is taken too: writing through it would put a key
// where nobody looks for it.
func TestNothingIsWrittenThroughALink(t *testing.T) {
	store, dir := open(t)
	elsewhere := filepath.Join(dir, "elsewhere")
	if err := os.Symlink(elsewhere, filepath.Join(dir, "keys", "alice.key")); err != nil {
		t.Skip(err)
	}

	_, err := store.New("alice", nil)

	wantCode(t, err, fault.Conflict)
	if _, err := os.Lstat(elsewhere); err == nil {
		t.Error("the key was written through the link")
	}
}

func TestAbsentKeys(t *testing.T) {
	store, _ := open(t)

	_, errGet := store.Get("nobody", "")
	_, errFind := store.Find("nobody")

	for _, err := range []error{errGet, errFind, store.Remove("nobody")} {
		wantCode(t, err, fault.NotFound, "nobody")
	}
	if entries, err := store.List(); err != nil || len(entries) != 0 {
		t.Errorf("List = %v, %v, want nothing", entries, err)
	}
}

func TestPassphrases(t *testing.T) {
	store, _ := open(t)
	entry, err := store.New("alice", &keystore.Options{Passphrase: "right"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		passphrase string
		code       fault.Code
		text       string
	}{
		{"right", "", ""},
		{"wrong", fault.Unverified, "the passphrase is wrong"},
		{"right ", fault.Unverified, "the passphrase is wrong"},
		{"", fault.Unverified, "needs a passphrase"},
	} {
		t.Run(tc.passphrase, func(t *testing.T) {
			key, err := store.Get("alice", tc.passphrase)

			if tc.code == "" {
				if err != nil || key.Address() != entry.Address {
					t.Errorf("Get = %v, %v, want the key of %s", key, err, entry.Address)
				}
				return
			}
			wantCode(t, err, tc.code, tc.text, entry.Path)
			if key != nil {
				t.Errorf("a key was returned: %v", key)
			}
		})
	}
	if got := keystore.MaxWorkFactor; got != 18 {
		t.Errorf("the work factor is %d, want 18, which takes about a second", got)
	}
	if fresh, err := keystore.Open(t.TempDir()); err != nil || fresh.WorkFactor() != keystore.MaxWorkFactor {
		t.Errorf("a new store has work factor %d, %v", fresh.WorkFactor(), err)
	}
}

func TestListShowsAllByName(t *testing.T) {
	store, _ := open(t)
	var want []keystore.Entry
	for _, name := range []string{"a", "a-b", "zoë 2"} {
		options := &keystore.Options{}
		if name == "a-b" {
			options.Passphrase = "secret"
		}
		entry, err := store.New(name, options)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, entry)
	}

	got, err := store.List()

	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("List = %+v, %v, want %+v", got, err, want)
	}
}

func TestRemovedKeysAreGone(t *testing.T) {
	store, dir := open(t)
	for _, name := range []string{"alice", "bob"} {
		if _, err := store.New(name, nil); err != nil {
			t.Fatal(err)
		}
	}

	if err := store.Remove("alice"); err != nil {
		t.Fatal(err)
	}

	if _, err := store.Get("alice", ""); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("Get of a removed key: %v, want not_found", err)
	}
	if got := filesIn(t, dir); len(got) != 1 || got[0] != "bob.key" {
		t.Errorf("the folder has %q, want bob.key alone", got)
	}
	if _, err := store.New("alice", nil); err != nil {
		t.Errorf("the name is free again: %v", err)
	}
}

func TestNames(t *testing.T) {
	store, dir := open(t)
	for _, tc := range []struct {
		name string
		why  string // the complaint; empty if there is none
	}{
		{"a", ""}, {"Agent 7 (test)", ""}, {"ζωή", ""}, {"x.key", ""}, {strings.Repeat("x", 64), ""},
		{"", "empty"},
		{strings.Repeat("x", 65), "64 bytes"},
		{strings.Repeat("é", 33), "64 bytes"},
		{".", "dot"}, {"..", "dot"}, {".hidden", "dot"},
		{"a/b", "separator"}, {"../a", "dot"}, {"/etc/passwd", "separator"}, {`a\b`, "separator"}, {"c:a", "separator"},
		{"a\nb", "printed"}, {"a\x00", "printed"}, {"a\x7f", "printed"}, {"\xff", "printed"}, {"a\u202eb", "printed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := store.New(tc.name, nil)

			if tc.why == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantCode(t, err, fault.Malformed, tc.why)
			_, errGet := store.Get(tc.name, "")
			_, errFind := store.Find(tc.name)
			for _, err := range []error{errGet, errFind, store.Remove(tc.name)} {
				wantCode(t, err, fault.Malformed, tc.why)
			}
		})
	}
	if entries, err := store.List(); err != nil || len(entries) != 5 || len(filesIn(t, dir)) != 5 {
		t.Errorf("List = %v, %v, want the five good names and no other file", entries, err)
	}
}

func readAll(t testing.TB, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// filesIn returns the names of all files in the key folder, hidden ones too.
func filesIn(t testing.TB, dir string) []string {
	t.Helper()
	files, err := os.ReadDir(filepath.Join(dir, "keys"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, file.Name())
	}
	return names
}

// place writes a key file by hand.
func place(t testing.TB, dir, name string, content any) string {
	t.Helper()
	text, isText := content.(string)
	if !isText {
		encoded, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		text = string(encoded)
	}
	path := filepath.Join(dir, "keys", name+".key")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
