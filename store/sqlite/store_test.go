package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/store/sqlite"
	"github.com/parley-agents/parley/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) parley.Store { return open(t, t.TempDir()) })
}

func TestDurableStore(t *testing.T) {
	storetest.RunDurable(t, open)
}

func open(t *testing.T, dir string) parley.Store {
	t.Helper()
	s, err := sqlite.Open(filepath.Join(dir, "parley.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return s
}
