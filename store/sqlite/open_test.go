package sqlite_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/store/sqlite"
)

// refused checks that a store is not opened, and what is said about it.
func refused(t *testing.T, path string, want parley.Code, words ...string) {
	t.Helper()
	s, err := sqlite.Open(path, nil)
	if err == nil {
		s.Close()
		t.Fatalf("Open(%s) succeeds, want code %s", path, want)
	}
	if got := fault.CodeOf(err); got != want {
		t.Errorf("Open = %v, want code %s", err, want)
	}
	for _, word := range append(words, filepath.Base(path)) {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("Open = %v, want it to say %q", err, word)
		}
	}
}

func init() {
	children["hold"] = func(path string) error {
		s, err := sqlite.Open(path, nil)
		if err != nil {
			return err
		}
		fmt.Println("open")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return s.Close()
	}
}

func TestASecondProcessIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	holder := spawn(t, "hold", path)
	holder.await(t, "open")
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}

	refused(t, path, fault.Unavailable, "another process", fmt.Sprint(holder.Process.Pid), "open")
	_, err := sqlite.Open(link, nil)
	if fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("Open of a link to it = %v, want code %s", err, fault.Unavailable)
	}

	if err := holder.Process.Kill(); err != nil { // the lock dies with its owner
		t.Fatal(err)
	}
	_ = holder.Wait()
	s, err := sqlite.Open(path, nil)
	if err != nil {
		t.Fatalf("Open after the other process was killed = %v", err)
	}
	refused(t, path, fault.Unavailable, "another process") // nor may this one open it twice
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestANewerFileIsRefusedAndLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	newer := append(sqlite.Migrations(), "CREATE TABLE something_new (x)")
	s, err := sqlite.OpenWith(path, nil, newer)
	if err != nil {
		t.Fatal(err)
	}
	mustCommit(t, s, numbered(1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	refused(t, path, fault.Unsupported, "newer Parley", fmt.Sprint(len(newer)), fmt.Sprint(len(sqlite.Migrations())))

	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the file was changed (%v)", err)
	}
	if s, err = sqlite.OpenWith(path, nil, newer); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if found := series(t, s); len(found) != 1 {
		t.Errorf("%d batches are there, want the one that was committed", len(found))
	}
}

func TestForeignFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("This is a letter to my aunt.\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other.db")
	sqlite.Script(t, other, "CREATE TABLE recipe (name TEXT); INSERT INTO recipe VALUES ('soup');")
	numbered := filepath.Join(dir, "numbered.db")
	sqlite.Script(t, numbered, "PRAGMA user_version = 1; CREATE TABLE recipe (name TEXT);")

	refused(t, text, fault.Unsupported, "no database")
	refused(t, other, fault.Unsupported, "another program")
	refused(t, numbered, fault.Unsupported, "another program")
	refused(t, filepath.Join(dir, "missing", "parley.db"), fault.NotFound, "folder does not exist")
	refused(t, dir, fault.Internal, "cannot be opened")
}

func TestDamageIsFoundAfterACrash(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "parley.db")
	s := openIn(t, dir, nil)
	for n := range 200 {
		mustCommit(t, s, numbered(n))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	sqlite.LeaveLog(t, path)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	for at := info.Size() / 4096 / 2 * 4096; at < info.Size(); at += 4096 {
		if _, err := f.WriteAt([]byte("not what was here before"), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	refused(t, path, fault.Internal, "damaged", ".recover")
}

func TestTheFileIsNobodyElses(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	dir := t.TempDir()
	s := openIn(t, dir, nil)
	mustCommit(t, s, numbered(1))

	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %04o, want nothing for others", entry.Name(), info.Mode().Perm())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnyNameWillDo(t *testing.T) {
	for _, name := range []string{"with space.db", "100%.db", "what?.db", "#1.db", "ünï.db", "a&b=c.db", "%3f.db", "mode=ro", "file:x.db"} {
		if runtime.GOOS == "windows" && strings.ContainsAny(name, "?:") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			s, err := sqlite.Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			mustCommit(t, s, numbered(1))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			files, err := os.ReadDir(filepath.Dir(path))
			if err != nil || len(files) != 2 {
				t.Fatalf("the folder has %v (%v), want the file and its lock", files, err)
			}
			if info, err := os.Stat(path); err != nil || info.Size() == 0 {
				t.Errorf("%s is empty or missing (%v)", path, err)
			}
		})
	}
}

func TestMigrationsKeepWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "parley.db")
	s := openIn(t, dir, nil)
	mustCommit(t, s, numbered(1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	base := sqlite.Migrations()

	broken := append(base[:len(base):len(base)], "CREATE TABLE one (x);", "CREATE TABLE two (x); CREATE TABLE one (x);")
	if _, err := sqlite.OpenWith(path, nil, broken); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("to version %d", len(base)+2)) {
		t.Fatalf("Open = %v, want it to name the step that fails", err)
	}
	// The step before was kept, nothing of the failed one was.
	repaired := append(base[:len(base):len(base)], "CREATE TABLE one (x);", "CREATE TABLE two (x); ALTER TABLE one ADD COLUMN y;")
	s, err := sqlite.OpenWith(path, nil, repaired)
	if err != nil {
		t.Fatalf("Open with the step repaired = %v", err)
	}
	defer s.Close()
	if found := series(t, s); !found["000001"] || len(found) != 1 {
		t.Errorf("%v is there, want the batch of before", found)
	}
	mustCommit(t, s, numbered(2))
}

// TestVersion1 opens a file as the first release wrote it. The script is never
// changed; a new version gets a test of its own.
func TestVersion1(t *testing.T) {
	script, err := os.ReadFile("testdata/version1.sql")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	sqlite.Script(t, filepath.Join(dir, "parley.db"), string(script))

	s := openIn(t, dir, nil)

	if found := series(t, s); len(found) != 3 {
		t.Errorf("%d batches are there, want 3", len(found))
	}
	err = s.Commit(t.Context(), &parley.Batch{Agent: alice, Marks: []parley.Mark{{ID: "000002"}}})
	if seen, ok := err.(*parley.SeenError); !ok || seen.Mark.Expires.Year() != 2026 {
		t.Errorf("Commit = %v, want the mark of the file", err)
	}
	dialogue, err := s.Dialogue(t.Context(), alice, "dialogue")
	if err != nil || dialogue.Version != 2 || string(dialogue.State) != "second" {
		t.Errorf("Dialogue = %+v, %v", dialogue, err)
	}
	dead, err := s.Dead(t.Context(), 0, 10)
	if err != nil || len(dead) != 1 || dead[0].Code != fault.Refused || dead[0].Agent != alice {
		t.Errorf("Dead = %+v, %v", dead, err)
	}
	failed, err := s.OutboxEntry(t.Context(), alice, "failed")
	if err != nil || failed.State != parley.Failed || failed.Reason == nil || failed.Reason.Status != 503 {
		t.Errorf("OutboxEntry = %+v, %v", failed, err)
	}
	mustCommit(t, s, numbered(4))
	if found := series(t, s); len(found) != 4 {
		t.Errorf("%d batches are there after a commit, want 4", len(found))
	}
	fresh := t.TempDir()
	openIn(t, fresh, nil)
	got, want := sqlite.Schema(t, filepath.Join(dir, "parley.db")), sqlite.Schema(t, filepath.Join(fresh, "parley.db"))
	if !slices.Equal(got, want) {
		t.Errorf("an old file has\n%s\nand a new one\n%s\nA released step was changed, or its script.", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
