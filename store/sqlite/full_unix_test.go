//go:build unix

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/store/sqlite"
)

// filling commits until there is no more room, frees some and goes on.
type filling struct {
	store *sqlite.Store
	free  func() error
	codes map[parley.Code]bool // that a commit may fail with
}

func (f *filling) run() error {
	ctx := context.Background()
	kept := map[string]bool{}
	n := 0
	until := func(full bool) error {
		for range 20_000 {
			n++
			err := f.store.Commit(ctx, numbered(n))
			if err == nil {
				kept[fmt.Sprintf("%06d", n)] = true
			} else if !f.codes[fault.CodeOf(err)] {
				return fmt.Errorf("commit %d on a full disk: %w, with a wrong code", n, err)
			}
			if full == (err != nil) {
				return nil
			}
		}
		return fmt.Errorf("after %d commits the disk is full: %v, want %v", n, !full, full)
	}
	for range 3 { // full is full
		if err := until(true); err != nil {
			return err
		}
	}
	if _, err := f.store.Inbox(ctx, alice, 0, 10); err != nil {
		return fmt.Errorf("reading on a full disk: %w", err)
	}
	before := len(kept)
	if err := errors.Join(f.free(), until(false)); err != nil {
		return err
	}
	for range 10 {
		n++
		if err := f.store.Commit(ctx, numbered(n)); err != nil {
			return fmt.Errorf("commit with space again: %w", err)
		}
		kept[fmt.Sprintf("%06d", n)] = true
	}
	found, err := f.store.Keys(ctx, alice, "", "", 1_000_000)
	if err != nil || len(found) != len(kept) || before < 10 {
		return fmt.Errorf("%d batches are there, %d were acknowledged, %d before the disk was full (%w)", len(found), len(kept), before, err)
	}
	return nil
}

// smallDisk returns a folder on a disk of its own.
func smallDisk(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a small disk (%v): %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	return dir
}

// What is in the log when there is no room to copy it is found at the next start.
func TestClosingOnAFullDiskLosesNothing(t *testing.T) {
	dir := smallDisk(t)
	s := openIn(t, dir, &sqlite.Options{Log: slog.New(slog.DiscardHandler)})
	kept := 0
	for s.Commit(t.Context(), numbered(kept+1)) == nil {
		kept++
	}
	_ = os.WriteFile(filepath.Join(dir, "the rest"), make([]byte, 4<<20), 0o600) // as much as there is

	if err := s.Close(); err != nil {
		t.Errorf("Close = %v, want nil", err)
	}

	if err := os.Remove(filepath.Join(dir, "the rest")); err != nil {
		t.Fatal(err)
	}
	if found := series(t, openIn(t, dir, &sqlite.Options{Log: slog.New(slog.DiscardHandler)})); len(found) != kept || kept == 0 {
		t.Errorf("%d batches are there, %d were acknowledged", len(found), kept)
	}
}

func TestAFullDiskHarmsNothing(t *testing.T) {
	dir := smallDisk(t)
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	s := openIn(t, dir, nil)

	err := (&filling{s, func() error { return os.Remove(ballast) }, map[parley.Code]bool{fault.Unavailable: true}}).run()

	if err != nil {
		t.Fatal(err)
	}
	series(t, s)
	if err := s.Close(); err != nil {
		t.Fatalf("Close = %v", err)
	}
	sqlite.Check(t, filepath.Join(dir, "parley.db"))
	series(t, openIn(t, dir, nil))
}

func init() {
	children["limited"] = func(path string) error {
		s, err := sqlite.Open(path, nil)
		if err != nil {
			return err
		}
		signal.Ignore(syscall.SIGXFSZ)
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			return err
		}
		small := limit
		small.Cur = 1 << 20
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
			return err
		}
		err = (&filling{s, func() error { return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit) }, map[parley.Code]bool{fault.Unavailable: true}}).run()
		if err := errors.Join(err, s.Close()); err != nil {
			return err
		}
		fmt.Println("fine")
		return nil
	}
}

// A file that may not grow fails in another way than a full disk, and needs no
// right to mount one.
func TestALimitedFileHarmsNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "parley.db")

	spawn(t, "limited", path).await(t, "fine")

	sqlite.Check(t, path)
	series(t, openIn(t, dir, nil))
}
