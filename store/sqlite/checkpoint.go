package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"

	"github.com/parley-agents/parley/fault"
)

const (
	pageSize        = 4096
	checkpointPages = 2000                // in the write-ahead log, after which it is emptied
	maxLogPages     = 4 * checkpointPages // after which readers are waited for
)

// emptyLog copies the write-ahead log into the file when it has grown enough.
// SQLite would do so by itself, but would not say when that fails.
func (w *writer) emptyLog() {
	written, _, err := w.Conn.(sqlite.DBStatus).Status(sqlite.DBStatusCacheWrite, true)
	w.pages += int64(written)
	if err != nil || w.pages < w.emptyAt || w.broken != nil {
		return
	}
	w.pages = 0
	_, size, err := w.checkpoint("PASSIVE")
	if err == nil && size > w.waitAt {
		err = w.startOver(size)
	}
	if err != nil {
		w.store.opts.Log.Warn("the store's write-ahead log cannot be emptied", "path", w.store.path, "error", err)
		w.noteFailure(err)
		return
	}
	w.store.stats.checkpoints.Add(1)
}

// startOver waits for readers, who have kept the log from being used from its
// start again. Ours are short. Where somebody else's is not, such as a copy being
// made, the log may grow to twice its size before it is tried again.
func (w *writer) startOver(size int64) error {
	if _, err := w.exec("PRAGMA busy_timeout = 200"); err != nil {
		return err
	}
	busy, _, err := w.checkpoint("RESTART")
	if busy {
		w.waitAt = 2 * size
	} else {
		w.waitAt = 4 * w.emptyAt
	}
	_, resetErr := w.exec(busyTimeout)
	return errors.Join(err, resetErr)
}

// checkpoint returns whether it was kept from doing all, and how many pages the
// log has.
func (w *writer) checkpoint(mode string) (busy bool, pages int64, err error) {
	err = w.query(func(r row) error { busy, pages = r.bool(0), r.int(1); return nil }, "PRAGMA wal_checkpoint("+mode+")")
	return busy, pages, err
}

// noteFailure ends all writing after a failed sync: what is on the disk is only
// known when the file is opened again.
func (w *writer) noteFailure(err error) {
	if isSyncFailure(err) {
		_, text := explain(err)
		w.broken = &fault.Error{Code: fault.Internal, Text: text, Err: fmt.Errorf("%s must be opened again: %w", w.store.path, err)}
	}
}

// finish leaves a file without a write-ahead log, when all readers are closed. If
// that fails nothing is lost: the next to open the file will find the log.
func (w *writer) finish() error {
	if w.broken != nil {
		return errors.Join(w.broken, w.Close())
	}
	_, err := w.exec("UPDATE counter SET value = ? WHERE name = 'seq'", w.next)
	if err == nil {
		_, _, err = w.checkpoint("TRUNCATE")
	}
	if err != nil {
		w.store.opts.Log.Warn("the store's write-ahead log cannot be emptied", "path", w.store.path, "error", err)
		w.noteFailure(err)
	}
	return errors.Join(w.broken, w.Close())
}
