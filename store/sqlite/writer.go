package sqlite

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

const (
	maxGroup      = 1024    // batches in one transaction
	maxGroupBytes = 8 << 20 // of contents in one transaction

	pageSize   = 4096
	checkpoint = 2000 // pages in the write-ahead log after which it is emptied
	walLimit   = 8000 // pages after which readers are waited for, so that it can be

	seqBlock  = 1 << 16 // numbers that are reserved at a time
	maxAgents = 1 << 16 // numbers of agents that are remembered
)

// request is something for the writer to do. Its owner waits on done.
type request struct {
	batch *parley.Batch
	trim  *trimming
	state atomic.Int32
	done  chan error
}

const (
	queued int32 = iota
	taken        // by the writer: it will send to done
	left         // by its owner: the writer must not look at it
)

var requests = sync.Pool{New: func() any { return &request{done: make(chan error, 1)} }}

func newRequest() *request { return requests.Get().(*request) }

// free gives a request back that the writer has answered.
func (r *request) free() {
	r.batch, r.trim = nil, nil
	r.state.Store(queued)
	requests.Put(r)
}

func (r *request) take() bool  { return r.state.CompareAndSwap(queued, taken) }
func (r *request) leave() bool { return r.state.CompareAndSwap(queued, left) }

// size is about how many bytes a request will write.
func (r *request) size() int {
	if r.batch == nil {
		return 0
	}
	n := 0
	for i := range r.batch.Inbox {
		n += len(r.batch.Inbox[i].Message.Payload)
	}
	for i := range r.batch.Outbox {
		n += len(r.batch.Outbox[i].Message.Payload) + len(r.batch.Outbox[i].Sealed)
	}
	for i := range r.batch.Log {
		n += len(r.batch.Log[i].Message.Payload)
	}
	for i := range r.batch.Bury {
		n += len(r.batch.Bury[i].Message.Payload)
	}
	for i := range r.batch.Dialogues {
		n += len(r.batch.Dialogues[i].State)
	}
	for i := range r.batch.Set {
		n += len(r.batch.Set[i].Value)
	}
	return n
}

// seqs is how many numbers a request needs.
func (r *request) seqs() int64 {
	if r.batch == nil {
		return 0
	}
	return int64(len(r.batch.Inbox) + len(r.batch.Outbox) + len(r.batch.Bury) + len(r.batch.Log))
}

// writer is the one goroutine that changes the file.
type writer struct {
	*conn
	store  *Store
	agents map[identity.Address]int64

	next     int64 // the next seq to be given
	reserved int64 // the first that is not reserved in the file
	pages    int   // written to the write-ahead log since it was last emptied
	broken   error // why nothing can be written any more
}

func newWriter(s *Store, c *conn) (*writer, error) {
	w := &writer{conn: c, store: s, agents: map[identity.Address]int64{}}
	next, err := c.number("SELECT value FROM counter WHERE name = 'seq'")
	w.next, w.reserved = next, next
	return w, err
}

// run writes groups of requests until the queue is closed and empty. A group is
// what has come while the one before was being synced: nobody is made to wait
// for others, and the busier it is the less each has to pay for the sync.
func (w *writer) run() {
	defer close(w.store.ended)
	var group []*request
	for first := range w.store.queue {
		group = w.gather(group[:0], first)
		if len(group) == 0 {
			continue
		}
		results := w.commit(group)
		for i, r := range group {
			group[i] = nil
			r.done <- results[i]
		}
		w.emptyLog()
	}
}

// gather takes what is in the queue, up to the limits of a transaction.
func (w *writer) gather(group []*request, first *request) []*request {
	size := 0
	for r := first; ; {
		if r.take() {
			group = append(group, r)
			size += r.size()
		}
		if len(group) >= maxGroup || size >= maxGroupBytes {
			return group
		}
		select {
		case next, open := <-w.store.queue:
			if !open {
				return group
			}
			r = next
		default:
			return group
		}
	}
}

// commit does the requests of a group in one transaction and returns an error or
// nil for each.
func (w *writer) commit(group []*request) []error {
	results := make([]error, len(group))
	err := w.transact(group, results)
	if err != nil && len(group) > 1 && w.broken == nil {
		// One of them may have asked for too much: each gets its own chance.
		for i := range group {
			copy(results[i:], w.commit(group[i:i+1]))
		}
		return results
	}
	for i := range results {
		if err != nil {
			results[i] = w.store.failure("write to", err)
		}
		switch {
		case group[i].batch == nil:
		case results[i] == nil:
			w.store.stats.commits.Add(1)
		default:
			w.store.stats.refused.Add(1)
		}
	}
	return results
}

// transact does the requests in one transaction. Those that are refused get their
// error in results; the error returned is one of all of them, and then nothing
// was changed.
func (w *writer) transact(group []*request, results []error) error {
	if w.broken != nil {
		return w.broken
	}
	if _, err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	reserved, err := w.attempt(group, results)
	if err == nil {
		_, err = w.exec("COMMIT")
	}
	if err != nil {
		_, _ = w.exec("ROLLBACK") // unless SQLite has done so
		clear(w.agents)           // some may have got their number in this transaction
		if isSyncFailure(err) {
			code, text := explain(err)
			w.broken = &fault.Error{Code: code, Text: text + "; restart to find out what is there", Err: err}
		}
		return err
	}
	w.reserved = reserved
	w.store.stats.transactions.Add(1)
	return nil
}

// attempt does the requests inside a transaction. It returns the new limit of
// the reserved numbers.
func (w *writer) attempt(group []*request, results []error) (reserved int64, err error) {
	reserved, err = w.reserve(group)
	if err != nil {
		return 0, err
	}
	now := time.Now()
	for i, r := range group {
		if results[i], err = w.savepoint(r, now); err != nil {
			return 0, err
		}
	}
	return reserved, nil
}

// savepoint does one request so that it leaves nothing behind if it is refused.
func (w *writer) savepoint(r *request, now time.Time) (refusal, err error) {
	var agent int64
	if r.batch != nil {
		// Outside the savepoint: the number outlives a refusal.
		if agent, err = w.agent(r.batch.Agent); err != nil {
			return nil, err
		}
	}
	if _, err := w.exec("SAVEPOINT request"); err != nil {
		return nil, err
	}
	if r.batch != nil {
		refusal = w.apply(agent, r.batch, now)
	} else {
		refusal = w.trim(r.trim)
	}
	if refusal != nil && !isRefusal(refusal) {
		return nil, refusal
	}
	if refusal != nil {
		if _, err := w.exec("ROLLBACK TO request"); err != nil {
			return nil, err
		}
	}
	_, err = w.exec("RELEASE request")
	return refusal, err
}

// reserve makes sure that the numbers which the group needs were never given
// before, not even to rows that are gone. The file says from where on numbers are
// free; to write that down for each transaction would cost a page each.
func (w *writer) reserve(group []*request) (reserved int64, err error) {
	needed := w.next
	for _, r := range group {
		needed += r.seqs()
	}
	if needed <= w.reserved {
		return w.reserved, nil
	}
	reserved = needed + seqBlock
	_, err = w.exec("UPDATE counter SET value = ? WHERE name = 'seq'", reserved)
	return reserved, err
}

func (w *writer) seq() int64 {
	n := w.next
	w.next++
	return n
}

// agent returns the number of an agent, which is given at its first batch.
func (w *writer) agent(address identity.Address) (id int64, err error) {
	if id, ok := w.agents[address]; ok {
		return id, nil
	}
	if len(w.agents) >= maxAgents {
		clear(w.agents)
	}
	id, err = w.number("SELECT id FROM agent WHERE address = ?", string(address))
	if err == nil && id == 0 {
		id, err = w.number("INSERT INTO agent (address) VALUES (?) RETURNING id", string(address))
	}
	if err == nil {
		w.agents[address] = id
	}
	return id, err
}

// emptyLog copies the write-ahead log into the file when it has grown enough.
// SQLite would do so by itself, but would not say when that fails.
func (w *writer) emptyLog() {
	written, _, err := w.Conn.(sqlite.DBStatus).Status(sqlite.DBStatusCacheWrite, true)
	w.pages += written
	if err != nil || w.pages < checkpoint || w.broken != nil {
		return
	}
	w.pages = 0
	size, err := w.checkpoint("PASSIVE")
	if err == nil && size > walLimit {
		// Readers have kept it from being started over. They are short: wait.
		_, err = w.checkpoint("RESTART")
	}
	switch {
	case isSyncFailure(err):
		w.broken = w.store.failure("write to", err)
		fallthrough
	case err != nil:
		w.store.opts.Log.Warn("the store's write-ahead log cannot be emptied", "path", w.store.path, "error", err)
	default:
		w.store.stats.checkpoints.Add(1)
	}
}

// checkpoint returns how many pages the log had.
func (w *writer) checkpoint(mode string) (pages int64, err error) {
	err = w.query(func(r row) error { pages = r.int(1); return nil }, "PRAGMA wal_checkpoint("+mode+")")
	return pages, err
}

// finish leaves a file without a write-ahead log, when all readers are closed.
func (w *writer) finish() error {
	if w.broken != nil {
		return errors.Join(w.broken, w.Close())
	}
	_, err := w.exec("UPDATE counter SET value = ? WHERE name = 'seq'", w.next)
	if err == nil {
		_, err = w.checkpoint("TRUNCATE")
	}
	if err != nil {
		err = fmt.Errorf("the last checkpoint: %w", err)
	}
	return errors.Join(err, w.Close())
}
