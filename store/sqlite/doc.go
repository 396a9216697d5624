// Package sqlite is the embedded store: one file that survives a crash at any
// moment, and that people can open with the sqlite3 command.
//
//	store, err := sqlite.Open("data/parley.db", nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// # Where to read
//
// store.go is what callers use, open.go the way to a file that can be trusted,
// schema.go what is in it. writer.go gathers commits into transactions, commit.go
// applies one batch, trim.go deletes what is old, checkpoint.go keeps the
// write-ahead log small, read.go and log.go read.
//
// # Guarantees
//
// What Commit acknowledged is on the disk: write-ahead log, synchronous FULL, and
// full syncs where the system knows lesser ones. One goroutine writes; batches
// that arrive while a transaction is being synced share the next one, and a batch
// that fails takes no other with it.
//
// The file is refused when it is another program's, newer than this package,
// damaged, or open in another process. A full disk is an error of the commits
// that did not fit, and of no others.
//
// Reads see what was committed before they began. They are short, so that the
// write-ahead log can be emptied and stays small.
package sqlite
