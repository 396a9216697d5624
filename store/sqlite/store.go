package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
)

// Options change how a store works. Zero fields mean their defaults.
type Options struct {
	// Queue is how many commits may wait for the writer; more wait for a place
	// in the queue. Default 1024.
	Queue int

	// Readers is how many reads run at the same time. Default: twice the number
	// of processors, at least 4.
	Readers int

	// Cache is the memory of the writer for pages of the file, in bytes. Each
	// reader has a quarter of it. Default 4 MiB.
	Cache int

	// CheckLimit is the size of the largest file, in bytes, that is checked for
	// damage when the store was not closed properly; it takes about a second
	// for 200 MiB. Default 64 MiB; negative for none.
	CheckLimit int64

	// Log gets what nobody waits for, such as a failed clean-up. Default: the
	// default logger.
	Log *slog.Logger
}

func (o *Options) withDefaults() Options {
	full := Options{}
	if o != nil {
		full = *o
	}
	for field, value := range map[*int]int{&full.Queue: 1024, &full.Readers: max(4, 2*runtime.GOMAXPROCS(0)), &full.Cache: 4 << 20} {
		if *field <= 0 {
			*field = value
		}
	}
	if full.CheckLimit == 0 {
		full.CheckLimit = 64 << 20
	}
	if full.Log == nil {
		full.Log = slog.Default()
	}
	return full
}

// Store is a [parley.Store] in a file.
type Store struct {
	path    string
	opts    Options
	lock    *os.File
	queue   chan *request
	readers chan *conn // nil for one that is not open yet
	writer  *writer
	ended   chan struct{} // closed when the writer has ended

	// gate is held by those who use the queue or a reader, and by Close alone.
	gate   sync.RWMutex
	closed bool
	stats  counters
}

type counters struct{ commits, refused, transactions, checkpoints atomic.Int64 }

// Stats are numbers about a store since it was opened.
type Stats struct {
	Commits      int64 // that were applied
	Refused      int64 // that were not
	Transactions int64 // how many transactions they shared
	Checkpoints  int64 // how often the write-ahead log was emptied into the file
	Queued       int   // commits that wait now
}

// Stats returns numbers about the store.
func (s *Store) Stats() Stats {
	return Stats{
		Commits: s.stats.commits.Load(), Refused: s.stats.refused.Load(), Transactions: s.stats.transactions.Load(),
		Checkpoints: s.stats.checkpoints.Load(), Queued: len(s.queue),
	}
}

// Commit applies batches; see [parley.Store]. If ctx ends while they wait for the
// writer they are not applied. Once the writer has them, Commit returns what
// became of them.
func (s *Store) Commit(ctx context.Context, batches ...*parley.Batch) error {
	r := newRequest()
	r.batches = batches
	return s.submit(ctx, r)
}

// submit hands a request to the writer and waits for the result.
func (s *Store) submit(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return notDone(err)
	}
	if err := s.enqueue(ctx, r); err != nil {
		return err
	}
	select {
	case err := <-r.done:
		r.free()
		return err
	case <-ctx.Done():
	}
	if r.leave() {
		return notDone(ctx.Err())
	}
	err := <-r.done
	r.free()
	return err
}

func (s *Store) enqueue(ctx context.Context, r *request) error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return errClosed()
	}
	select {
	case s.queue <- r:
		return nil
	default:
	}
	select {
	case s.queue <- r:
		return nil
	case <-ctx.Done():
		return notDone(ctx.Err())
	}
}

// Close lets commits that wait be done, empties the write-ahead log into the file
// and releases it. Calls after it fail.
func (s *Store) Close() error {
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	close(s.queue)
	<-s.ended
	var errs []error
	for range s.opts.Readers {
		if c := <-s.readers; c != nil {
			errs = append(errs, c.Close())
		}
	}
	errs = append(errs, s.writer.finish(), s.lock.Close())
	if err := errors.Join(errs...); err != nil {
		return s.failure("close", err)
	}
	return nil
}

func errClosed() error {
	return &fault.Error{Code: fault.Unavailable, Text: "the store is closed"}
}

func notDone(err error) error {
	return &fault.Error{Code: fault.Unavailable, Text: "nothing was done: " + err.Error(), Err: err}
}

// failure gives an error of SQLite a code and a text that a peer may see. The
// path and SQLite's own words are in the cause.
func (s *Store) failure(what string, err error) error {
	if err == nil {
		return nil
	}
	if _, coded := errors.AsType[*fault.Error](err); coded {
		return err
	}
	code, text := explain(err)
	return &fault.Error{Code: code, Text: text, Err: fmt.Errorf("%s %s: %w", what, s.path, err)}
}
