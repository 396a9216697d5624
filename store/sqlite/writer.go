package sqlite

import (
	"errors"
	"time"

	"github.com/parley-agents/parley/identity"
)

const (
	maxGroup      = 1024    // batches in one transaction
	maxGroupBytes = 8 << 20 // of contents in one transaction

	seqBlock  = 1 << 16 // numbers that are reserved at a time
	maxAgents = 1 << 16 // numbers of agents that are remembered
)

// writer is the one goroutine that changes the file.
type writer struct {
	*conn
	store  *Store
	agents map[identity.Address]int64

	next     int64 // the next seq to be given
	reserved int64 // the first that is not reserved in the file
	touched  bool  // the request that is being done has changed something

	pages   int64 // written to the write-ahead log since it was last emptied
	emptyAt int64 // pages written after which the log is emptied
	waitAt  int64 // pages in the log after which readers are waited for
	broken  error // why nothing can be written any more
}

func newWriter(s *Store, c *conn) (*writer, error) {
	w := &writer{conn: c, store: s, agents: map[identity.Address]int64{}, emptyAt: checkpointPages, waitAt: maxLogPages}
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
	err := w.transact(group, results, false)
	if err == errHalfDone {
		err = w.transact(group, results, true)
	}
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
		case group[i].trim != nil:
		case results[i] == nil:
			w.store.stats.commits.Add(1)
		default:
			w.store.stats.refused.Add(1)
		}
	}
	return results
}

// errHalfDone says that a request was refused after it had changed something, in
// a transaction without savepoints. Most are refused before, by a mark that was
// seen, and savepoints cost a tenth of all the writing.
var errHalfDone = errors.New("refused halfway")

// transact does the requests in one transaction. Those that are refused get their
// error in results; the error returned is one of all of them, and then nothing
// was changed.
func (w *writer) transact(group []*request, results []error, savepoints bool) error {
	if w.broken != nil {
		return w.broken
	}
	if _, err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	reserved, err := w.attempt(group, results, savepoints)
	if err == nil {
		_, err = w.exec("COMMIT")
	}
	if err != nil {
		_, _ = w.exec("ROLLBACK") // unless SQLite has done so
		clear(w.agents)           // some may have got their number in this transaction
		w.noteFailure(err)
		return err
	}
	w.reserved = reserved
	w.store.stats.transactions.Add(1)
	return nil
}

// attempt does the requests inside a transaction. It returns the new limit of
// the reserved numbers.
func (w *writer) attempt(group []*request, results []error, savepoints bool) (reserved int64, err error) {
	reserved, err = w.reserve(group)
	if err != nil {
		return 0, err
	}
	now := time.Now()
	do := w.do
	if savepoints {
		do = w.doOrUndo
	}
	for i, r := range group {
		if results[i], err = do(r, now); err != nil {
			return 0, err
		}
	}
	return reserved, nil
}

// do does one request. If it is refused and has changed something, the error is
// errHalfDone.
func (w *writer) do(r *request, now time.Time) (refusal, err error) {
	w.touched = false
	if r.trim != nil {
		return nil, w.trim(r.trim)
	}
	for _, b := range r.batches {
		agent, failed := w.agent(b.Agent)
		if failed != nil {
			return nil, failed
		}
		if err = w.apply(agent, b, now); err != nil {
			break
		}
	}
	switch {
	case err == nil || !isRefusal(err):
		return nil, err
	case w.touched:
		return err, errHalfDone
	}
	return err, nil
}

// doOrUndo does one request so that it leaves nothing behind if it is refused.
func (w *writer) doOrUndo(r *request, now time.Time) (refusal, err error) {
	for _, b := range r.batches {
		// Outside the savepoint: the number of an agent outlives a refusal.
		if _, err := w.agent(b.Agent); err != nil {
			return nil, err
		}
	}
	if _, err := w.exec("SAVEPOINT request"); err != nil {
		return nil, err
	}
	refusal, err = w.do(r, now)
	if err == errHalfDone {
		_, err = w.exec("ROLLBACK TO request")
	}
	if err != nil {
		return nil, err
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
