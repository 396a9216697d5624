// Package vectors hands the recorded behaviour of real libraries to the tests
// of the packages that must match it.
//
// With the environment variable PARLEY_VECTORS naming a folder, the same file
// names are read there instead, so that the same tests judge vectors that were
// not known when the code was written.
package vectors

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

//go:embed testdata
var recorded embed.FS

// Env names the variable that points the vector tests to another folder.
const Env = "PARLEY_VECTORS"

// A File is one vector file: its lists and fields by name.
type File map[string]json.RawMessage

// Load reads a vector file such as "identities.json". Where PARLEY_VECTORS is
// set and the folder lacks the file, the test is skipped.
func Load(t testing.TB, name string) File {
	t.Helper()
	text, err := Read(name)
	if errors.Is(err, fs.ErrNotExist) && os.Getenv(Env) != "" {
		t.Skipf("%s has no %s", os.Getenv(Env), name)
	}
	if err != nil {
		t.Fatal(err)
	}
	var file File
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return file
}

// Read returns the bytes of a vector file.
func Read(name string) ([]byte, error) {
	folder := os.Getenv(Env)
	if folder == "" {
		return recorded.ReadFile("testdata/" + name)
	}
	text, err := os.ReadFile(filepath.Join(folder, name))
	if !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	below, _ := filepath.Glob(filepath.Join(folder, "*", name))
	if len(below) == 0 {
		return nil, err
	}
	return os.ReadFile(below[0])
}

// A Check judges one list or field of a vector file.
type Check func(t *testing.T, text json.RawMessage)

// Run gives each list or field of the file to its check. One that the file
// lacks is skipped; one that nobody checks fails the test, unless it is named
// in descriptive (prose about the file).
func (f File) Run(t *testing.T, checks map[string]Check, descriptive ...string) {
	t.Helper()
	prose := map[string]bool{"meta": true, "notes": true}
	for _, key := range descriptive {
		prose[key] = true
	}
	for key := range f {
		if _, known := checks[key]; !known && !prose[key] {
			t.Errorf("nothing here checks %q", key)
		}
	}
	for key, check := range checks {
		t.Run(key, func(t *testing.T) {
			text, present := f[key]
			if !present {
				t.Skipf("the file has no %q", key)
			}
			check(t, text)
		})
	}
}

// Cases decodes a list of vectors and runs one subtest per case. A field that
// Case does not know fails the test: it may say something that is not checked.
func Cases[Case any](t *testing.T, text json.RawMessage, name func(Case) string, check func(*testing.T, Case)) {
	t.Helper()
	for _, c := range Decode[[]Case](t, text) {
		t.Run(name(c), func(t *testing.T) { check(t, c) })
	}
}

// Decode reads a vector strictly: unknown fields fail the test.
func Decode[V any](t testing.TB, text json.RawMessage) V {
	t.Helper()
	var v V
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("vector: %v", err)
	}
	return v
}
