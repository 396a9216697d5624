package sqlite

import (
	"os"
	"sync"
	"testing"
)

// HoldReaders takes all connections for reading until release is called.
func HoldReaders(t *testing.T, s *Store) (release func()) {
	t.Helper()
	var held []*conn
	for range s.opts.Readers {
		held = append(held, <-s.readers)
	}
	release = sync.OnceFunc(func() {
		for _, c := range held {
			s.readers <- c
		}
	})
	t.Cleanup(release)
	return release
}

// OpenWith is Open with other migrations.
var OpenWith = openWith

// Migrations are the steps to the newest version.
func Migrations() []string { return migrations }

// Script runs SQL on a file without looking at what it is.
func Script(t *testing.T, path, script string) {
	t.Helper()
	c, err := dial(dsn(path, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.run(script); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// LeaveLog leaves a write-ahead log beside the file, as a crash does.
func LeaveLog(t *testing.T, path string) {
	t.Helper()
	c, err := dial(dsn(path, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.run("PRAGMA journal_mode = WAL; UPDATE counter SET value = value + 1;"); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+"-wal", log, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Check fails the test if the file is not whole.
func Check(t *testing.T, path string) {
	t.Helper()
	c, err := dial(dsn(path, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var found string
	err = c.query(func(r row) error { found = r.text(0); return nil }, "PRAGMA integrity_check(1)")
	if err != nil || found != "ok" {
		t.Errorf("integrity_check = %q, %v, want ok", found, err)
	}
}

// Schema returns what is in the file, without the contents.
func Schema(t *testing.T, path string) (statements []string) {
	t.Helper()
	c, err := dial(dsn(path, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = c.query(func(r row) error { statements = append(statements, r.text(0)); return nil }, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	return statements
}
