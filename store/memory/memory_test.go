package memory_test

import (
	"testing"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/store/memory"
	"github.com/parley-agents/parley/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) parley.Store { return memory.New() })
}
