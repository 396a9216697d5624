package sqlite

import (
	"errors"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
)

// resultCode returns SQLite's extended result code, 0 if err is not from there.
func resultCode(err error) int {
	type coded interface {
		error
		Code() int
	}
	if e, ok := errors.AsType[coded](err); ok {
		return e.Code()
	}
	return 0
}

// explain says what an error of SQLite means, in words that are safe to show.
func explain(err error) (parley.Code, string) {
	switch code := resultCode(err); code & 0xff {
	case sqlite3.SQLITE_FULL:
		return fault.Unavailable, "the disk of the store is full"
	case sqlite3.SQLITE_IOERR:
		if isSyncFailure(err) {
			return fault.Internal, "the disk of the store cannot be trusted: a sync has failed"
		}
		return fault.Unavailable, "the disk of the store has failed"
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fault.Internal, "the store is damaged"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fault.Unavailable, "another program uses the store"
	case sqlite3.SQLITE_TOOBIG:
		return fault.TooLarge, "too large for the store"
	}
	return fault.Internal, "the store has failed"
}

// isSyncFailure reports whether the system has said that something may not be on
// the disk. It says so once: the next sync succeeds even if the data is lost.
func isSyncFailure(err error) bool {
	code := resultCode(err)
	return code == sqlite3.SQLITE_IOERR_FSYNC || code == sqlite3.SQLITE_IOERR_DIR_FSYNC
}

// isRefusal reports whether an error says that a batch must not be applied, and
// not that it could not.
func isRefusal(err error) bool {
	if _, seen := errors.AsType[*parley.SeenError](err); seen {
		return true
	}
	_, coded := errors.AsType[*fault.Error](err)
	return coded
}
