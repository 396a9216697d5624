package parley

import (
	"context"
	"sync"

	"github.com/parley-agents/parley/identity"
)

// A valueTable keeps turns that run concurrently from overwriting each other's
// values: a turn whose reading is stale when it commits is run again. One
// process owns the store, so versions are kept in memory.
type valueTable struct {
	store Store

	mu      sync.Mutex
	clock   uint64
	floor   uint64 // the version of all keys that are not in the table
	entries map[valueKey]*valueEntry
}

type valueKey struct {
	agent identity.Address
	key   string
}

type valueEntry struct {
	version uint64
	writing chan struct{} // closed when the commit that writes the key has ended
}

// maxVersions bounds the table. Forgetting versions costs at worst that turns
// that are running are run again.
const maxVersions = 100_000

func newValueTable(store Store) *valueTable {
	return &valueTable{store: store, entries: make(map[valueKey]*valueEntry)}
}

// values is what one turn has read and wants to write.
type values struct {
	table *valueTable
	agent identity.Address

	mu      sync.Mutex
	read    map[string]uint64 // the versions seen
	written map[string][]byte
	deleted map[string]bool
}

func (t *valueTable) begin(agent identity.Address) *values { return &values{table: t, agent: agent} }

// version waits until nobody writes the key and returns its version.
func (t *valueTable) version(ctx context.Context, k valueKey) (uint64, error) {
	for {
		t.mu.Lock()
		e := t.entries[k]
		if e == nil {
			defer t.mu.Unlock()
			return t.floor, nil
		}
		if e.writing == nil {
			defer t.mu.Unlock()
			return e.version, nil
		}
		writing := e.writing
		t.mu.Unlock()
		select {
		case <-writing:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func (v *values) get(ctx context.Context, key string) ([]byte, bool, error) {
	v.mu.Lock()
	value, own := v.written[key]
	gone := v.deleted[key]
	_, known := v.read[key]
	v.mu.Unlock()
	if own || gone {
		return value, own, nil
	}
	version, err := v.table.version(ctx, valueKey{v.agent, key})
	if err != nil {
		return nil, false, err
	}
	if !known {
		v.mu.Lock()
		if v.read == nil {
			v.read = make(map[string]uint64)
		}
		v.read[key] = version
		v.mu.Unlock()
	}
	return v.table.store.Get(ctx, v.agent, key)
}

func (v *values) set(key string, value []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.written == nil {
		v.written = make(map[string][]byte)
	}
	v.written[key] = value
	delete(v.deleted, key)
}

func (v *values) delete(key string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.deleted == nil {
		v.deleted = make(map[string]bool)
	}
	v.deleted[key] = true
	delete(v.written, key)
}

func (v *values) changes() (set map[string][]byte, deleted []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for key := range v.deleted {
		deleted = append(deleted, key)
	}
	return v.written, deleted
}

// check reports whether what the turn has read still stands.
func (v *values) check() error {
	v.table.mu.Lock()
	defer v.table.mu.Unlock()
	return v.checkLocked()
}

func (v *values) checkLocked() error {
	for key, seen := range v.read {
		version := v.table.floor
		e := v.table.entries[valueKey{v.agent, key}]
		if e != nil {
			version = e.version
		}
		if version != seen || e != nil && e.writing != nil {
			return errConflict
		}
	}
	return nil
}

// commit runs a store commit while the keys that it writes are marked, if what
// the turn has read still stands. Afterwards the turn starts afresh.
func (v *values) commit(ctx context.Context, commit func() error) error {
	keys, err := v.claim(ctx)
	if err != nil {
		return err
	}
	err = commit()
	v.settle(keys, err == nil)
	return err
}

func (v *values) claim(ctx context.Context) ([]valueKey, error) {
	v.mu.Lock()
	var keys []valueKey
	for key := range v.written {
		keys = append(keys, valueKey{v.agent, key})
	}
	for key := range v.deleted {
		keys = append(keys, valueKey{v.agent, key})
	}
	v.mu.Unlock()
	t := v.table
	for {
		t.mu.Lock()
		if err := v.checkLocked(); err != nil {
			t.mu.Unlock()
			return nil, err
		}
		var busy chan struct{}
		for _, k := range keys {
			if e := t.entries[k]; e != nil && e.writing != nil {
				busy = e.writing
			}
		}
		if busy == nil {
			for _, k := range keys {
				t.mark(k)
			}
			t.mu.Unlock()
			return keys, nil
		}
		t.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (t *valueTable) mark(k valueKey) {
	e := t.entries[k]
	if e == nil {
		e = &valueEntry{version: t.floor}
		t.entries[k] = e
	}
	e.writing = make(chan struct{})
}

func (v *values) settle(keys []valueKey, written bool) {
	t := v.table
	t.mu.Lock()
	for _, k := range keys {
		e := t.entries[k]
		if written {
			t.clock++
			e.version = t.clock
		}
		close(e.writing)
		e.writing = nil
	}
	if len(t.entries) > maxVersions {
		t.forget()
	}
	t.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	if written {
		v.read, v.written, v.deleted = nil, nil, nil
	}
}

// forget drops the versions of keys that nobody writes.
func (t *valueTable) forget() {
	t.clock++
	t.floor = t.clock
	for k, e := range t.entries {
		if e.writing == nil {
			delete(t.entries, k)
		}
	}
}
