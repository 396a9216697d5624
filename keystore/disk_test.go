//go:build linux || darwin || freebsd

package keystore_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/keystore"
)

// TestMain also serves as the other process of the tests that need one.
func TestMain(m *testing.M) {
	if task := os.Getenv("PARLEY_KEYSTORE_TASK"); task != "" {
		os.Exit(tasks[task](os.Getenv("PARLEY_KEYSTORE_DIR")))
	}
	os.Exit(m.Run())
}

// tasks are what another process can be asked to do. They return its status.
var tasks = map[string]func(dir string) int{
	"race":      raceTask,
	"write":     writeTask,
	"full disk": fullDiskTask,
}

// otherProcess prepares a process that does a task in a folder.
func otherProcess(t *testing.T, task, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), "PARLEY_KEYSTORE_TASK="+task, "PARLEY_KEYSTORE_DIR="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

const raceNames = 40

// raceTask waits for its input to end, so that all processes start together,
// then creates the same keys as the others and tells which it got.
func raceTask(dir string) int {
	store, err := keystore.Open(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	bufio.NewReader(os.Stdin).ReadString(0)
	for i := range raceNames {
		entry, err := store.New(fmt.Sprint("key", i), nil)
		switch fault.CodeOf(err) {
		case "":
			fmt.Println(entry.Name, entry.Address)
		case fault.Conflict:
		default:
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

// Whoever was told that its key is stored must find exactly that key.
func TestProcessesDoNotTakeTheSameName(t *testing.T) {
	store, dir := open(t)
	var processes []*exec.Cmd
	var outputs []*strings.Builder
	start, release, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		cmd, output := otherProcess(t, "race", dir), new(strings.Builder)
		cmd.Stdin, cmd.Stdout = start, output
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		processes, outputs = append(processes, cmd), append(outputs, output)
	}
	start.Close()

	release.Close()

	winners := map[string]string{}
	for i, cmd := range processes {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(outputs[i].String()) {
			name, address, _ := strings.Cut(strings.TrimSpace(line), " ")
			if winners[name] != "" {
				t.Errorf("two processes were told that %s is theirs", name)
			}
			winners[name] = address
		}
	}
	entries, err := store.List()
	if err != nil || len(entries) != raceNames || len(winners) != raceNames {
		t.Fatalf("%d keys, %d winners, %v; want %d of each", len(entries), len(winners), err, raceNames)
	}
	for _, entry := range entries {
		if winners[entry.Name] != string(entry.Address) {
			t.Errorf("%s is the key of %s, but %s was told so", entry.Name, entry.Address, winners[entry.Name])
		}
	}
}

// writeTask creates keys until the process is killed.
func writeTask(dir string) int {
	store, err := keystore.Open(dir)
	for i := 0; err == nil; i++ {
		_, err = store.New(fmt.Sprint("key", i), nil)
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// A process is killed in the middle of writing keys, a few times.
func TestKilledProcessesLeaveOnlyWholeKeys(t *testing.T) {
	for range 3 {
		store, folder := open(t)
		cmd := otherProcess(t, "write", folder)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for len(filesIn(t, folder)) < 20 {
			time.Sleep(time.Millisecond)
		}
		cmd.Process.Kill()
		cmd.Wait()

		entries, err := store.List()

		if err != nil || len(entries) < 19 {
			t.Fatalf("%d keys, %v", len(entries), err)
		}
		for _, entry := range entries {
			if _, err := store.Get(entry.Name, ""); err != nil {
				t.Error(err)
			}
		}
		if _, err := store.New("after the crash", nil); err != nil {
			t.Error(err)
		}
	}
}

// fullDiskTask creates a key while no file may have more than ten bytes, which
// ends a write half way as a full disk does. It succeeds if New tells so.
func fullDiskTask(dir string) int {
	store, err := keystore.Open(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	signal.Ignore(syscall.SIGXFSZ) // else the process would end
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 10, Max: 10}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if _, err := store.New("alice", nil); fault.CodeOf(err) != fault.Internal {
		fmt.Fprintln(os.Stderr, "New on a full disk:", err)
		return 1
	}
	return 0
}

func TestFailedWritesLeaveNothing(t *testing.T) {
	store, dir := open(t)

	if err := otherProcess(t, "full disk", dir).Run(); err != nil {
		t.Fatal(err)
	}

	if left := filesIn(t, dir); len(left) > 0 {
		t.Errorf("the folder has %q, want nothing", left)
	}
	if _, err := store.New("alice", nil); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// Opening a pipe waits for the other end; a key store must not.
func TestPipesAreRefusedWithoutWaiting(t *testing.T) {
	store, dir := open(t)
	path := filepath.Join(dir, "keys", "alice.key")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	done := make(chan error, 1)

	go func() { _, err := store.Get("alice", ""); done <- err }()

	select {
	case err := <-done:
		wantCode(t, err, fault.Malformed, path)
	case <-time.After(5 * time.Second):
		t.Error("Get waits for somebody to write into the pipe")
	}
}

// What a crash may leave behind is neither listed nor in the way.
func TestLeftoversAreHarmless(t *testing.T) {
	store, dir := open(t)
	for _, name := range []string{".new-123", ".new-456.key", "alice.key~", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, "keys", name), []byte(`{"version":`), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	entry, err := store.New("alice", nil)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := store.List()

	if err != nil || len(entries) != 1 || entries[0] != entry {
		t.Errorf("List = %+v, %v, want %+v alone", entries, err, entry)
	}
}

func TestOnlyTheOwnerCanRead(t *testing.T) {
	store, dir := open(t)
	entry, err := store.New("alice", nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{
		filepath.Join(dir, "keys"): 0o700,
		entry.Path:                 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %04o, want %04o", path, got, want)
		}
	}
	if got := filesIn(t, dir); len(got) != 1 {
		t.Errorf("the folder has %q, want the key alone", got)
	}
}

func TestFilesOpenToOthersAreRefused(t *testing.T) {
	for _, mode := range []os.FileMode{0o640, 0o620, 0o610, 0o604, 0o602, 0o601, 0o644, 0o777} {
		t.Run(fmt.Sprintf("%04o", mode), func(t *testing.T) {
			store, _ := open(t)
			entry, err := store.New("alice", nil)
			if err != nil {
				t.Fatal(err)
			}
			chmod(t, entry.Path, mode)

			_, errGet := store.Get("alice", "")
			_, errFind := store.Find("alice")
			entries, errList := store.List()

			for _, err := range []error{errGet, errFind, errList} {
				wantCode(t, err, fault.Malformed, fmt.Sprintf("(mode %04o): chmod 600 %s", mode, entry.Path))
			}
			if len(entries) != 0 {
				t.Errorf("List = %+v", entries)
			}
			chmod(t, entry.Path, 0o600)
			if _, err := store.Get("alice", ""); err != nil {
				t.Errorf("after chmod 600: %v", err)
			}
		})
	}
}

func TestFoldersOpenToOthersAreRefused(t *testing.T) {
	_, dir := open(t)
	folder := filepath.Join(dir, "keys")
	for _, mode := range []os.FileMode{0o750, 0o705, 0o755, 0o701} {
		chmod(t, folder, mode)

		_, err := keystore.Open(dir)

		wantCode(t, err, fault.Malformed, fmt.Sprintf("(mode %04o): chmod 700 %s", mode, folder))
	}
	chmod(t, folder, 0o700)
	if _, err := keystore.Open(dir); err != nil {
		t.Errorf("after chmod 700: %v", err)
	}
}

func TestOpenFailsWhereThereCanBeNoFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	_, err := keystore.Open(path)

	wantCode(t, err, fault.Internal, path)
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}
