package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/parley-agents/parley/fault"
)

// Open opens the store in a file, which is made if it is not there; its folder
// must be. Beside it SQLite keeps path-wal and path-shm while the store is open,
// and path.lock says which process has it. Options may be nil.
//
// The error has code Unavailable if another process has the store open,
// Unsupported if the file is not ours or newer than this package, and Internal if
// it is damaged.
func Open(path string, opts *Options) (*Store, error) {
	return openWith(path, opts, migrations)
}

func openWith(path string, opts *Options, steps []string) (*Store, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, unusable(path, err)
	}
	lock, err := lockStore(path)
	if err != nil {
		return nil, unusable(path, err)
	}
	s, err := open(path, opts.withDefaults(), steps)
	if err != nil {
		lock.Close()
		return nil, err
	}
	s.lock = lock
	return s, nil
}

// resolve follows links, so that one file has one lock whatever it is called.
func resolve(name string) (path string, err error) {
	if path, err = filepath.Abs(name); err != nil {
		return name, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return path, fault.Errorf(fault.NotFound, "", "%s: its folder does not exist: mkdir -p -m 700 %s", path, filepath.Dir(path))
	}
	if err != nil {
		return path, err
	}
	return filepath.Join(folder, filepath.Base(path)), nil
}

func lockStore(path string) (*os.File, error) {
	name := path + ".lock"
	lock, held, err := lockFile(name)
	if err != nil {
		return nil, err
	}
	if held {
		by := "another process"
		if pid, err := os.ReadFile(name); err == nil && len(pid) > 0 {
			by = "another process (" + strings.TrimSpace(string(pid)) + ")"
		}
		return nil, fault.Errorf(fault.Unavailable, "", "%s has %s open: stop it first, or use another file", by, path)
	}
	if err := lock.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(lock, "%d\n", os.Getpid()) // for the message above only
	}
	return lock, nil
}

// open does what Open does, once the lock is ours.
func open(path string, opts Options, steps []string) (_ *Store, err error) {
	s := &Store{path: path, opts: opts, queue: make(chan *request, opts.Queue), readers: make(chan *conn, opts.Readers), ended: make(chan struct{})}
	info, err := createIfMissing(path)
	if err != nil {
		return nil, unusable(path, err)
	}
	c, err := dial(dsn(path, opts.Cache))
	if err != nil {
		return nil, unusable(path, err)
	}
	defer func() {
		if err != nil {
			_ = c.Close()
		}
	}()
	if err := s.prepare(c, info.Size(), steps); err != nil {
		return nil, unusable(path, err)
	}
	if s.writer, err = newWriter(s, c); err != nil {
		return nil, unusable(path, err)
	}
	for range opts.Readers {
		s.readers <- nil
	}
	go s.writer.run()
	return s, nil
}

// createIfMissing makes the file before SQLite does: messages are nobody else's
// to read, and the name must survive a crash as well as what is in the file.
func createIfMissing(path string) (fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	// Closed before SQLite opens it: closing any descriptor of a file drops the
	// locks that SQLite has on it.
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if info.Size() > 0 || runtime.GOOS == "windows" {
		return info, nil
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	return info, errors.Join(folder.Sync(), folder.Close())
}

// dsn names the file for the driver, with what is the same for all connections.
func dsn(path string, cache int) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	path = strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	return fmt.Sprintf("file://%s?_pragma=cache_size(%d)&_pragma=temp_store(memory)&_dqs=0&_error_rc=1", path, -max(cache>>10, 100))
}

// prepare makes sure that the file is ours and whole, and brings it to the newest
// version. It changes nothing of a file that it refuses.
func (s *Store) prepare(c *conn, size int64, steps []string) error {
	version, err := s.identify(c, len(steps))
	if err != nil {
		return err
	}
	wal, err := os.Stat(s.path + "-wal")
	if crashed := err == nil && wal.Size() > 0; crashed && size <= s.opts.CheckLimit {
		if err := quickCheck(c); err != nil {
			return err
		}
	}
	var mode string
	err = c.query(func(r row) error { mode = r.text(0); return nil }, "PRAGMA journal_mode = WAL")
	if err != nil {
		return err
	}
	if mode != "wal" {
		return fault.Errorf(fault.Unsupported, "", "%s: no write-ahead log on this file system (journal mode %s): put the store on a local disk", s.path, mode)
	}
	for _, pragma := range []string{
		"PRAGMA synchronous = FULL",
		"PRAGMA fullfsync = ON", // on macOS an ordinary sync does not reach the disk
		"PRAGMA checkpoint_fullfsync = ON",
		"PRAGMA wal_autocheckpoint = 0", // see writer.checkpoint
		fmt.Sprintf("PRAGMA journal_size_limit = %d", maxLogPages*pageSize),
	} {
		if _, err := c.exec(pragma); err != nil {
			return err
		}
	}
	return migrate(c, version, steps)
}

// identify returns the version of the file, 0 for a new one.
func (s *Store) identify(c *conn, newest int) (version int, err error) {
	id, err := c.number("PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	v, err := c.number("PRAGMA user_version")
	switch {
	case err != nil:
		return 0, err
	case id == 0 && v == 0:
		objects, err := c.number("SELECT count(*) FROM sqlite_schema")
		if err != nil || objects == 0 {
			return 0, err
		}
		fallthrough
	case id != applicationID:
		return 0, fault.Errorf(fault.Unsupported, "", "%s is a database of another program: use another file", s.path)
	case v > int64(newest):
		return 0, fault.Errorf(fault.Unsupported, "",
			"%s was written by a newer Parley (version %d of the file, this one knows up to %d): use the newer Parley, or a copy of the file from before", s.path, v, newest)
	}
	return int(v), nil
}

// migrate takes the steps that lead from a version to the newest, each in a
// transaction of its own.
func migrate(c *conn, version int, steps []string) error {
	for ; version < len(steps); version++ {
		script := fmt.Sprintf("BEGIN IMMEDIATE;\n%s;\nPRAGMA application_id = %d;\nPRAGMA user_version = %d;\nCOMMIT;", steps[version], applicationID, version+1)
		if _, err := c.run(script); err != nil {
			_, _ = c.run("ROLLBACK")
			return fmt.Errorf("to version %d of the file: %w", version+1, err)
		}
	}
	return nil
}

// quickCheck looks for damage in every page.
func quickCheck(c *conn) error {
	var found []string
	err := c.query(func(r row) error { found = append(found, r.text(0)); return nil }, "PRAGMA quick_check(5)")
	if err != nil {
		return err
	}
	if len(found) == 1 && found[0] == "ok" {
		return nil
	}
	return &damage{strings.Join(found, "; ")}
}

// damage is what a check has found.
type damage struct{ found string }

func (d *damage) Error() string { return d.found }

// unusable says why a file cannot be opened and what to do about it.
func unusable(path string, err error) error {
	_, damaged := errors.AsType[*damage](err)
	switch code := resultCode(err) & 0xff; {
	case isRefusal(err):
		return err
	case code == sqlite3.SQLITE_NOTADB:
		return fault.Errorf(fault.Unsupported, "", "%s is no database (%w): use another file, or restore a copy", path, err)
	case damaged || code == sqlite3.SQLITE_CORRUPT:
		return fault.Errorf(fault.Internal, "", "%s is damaged (%w): restore a copy, or save what is left with: sqlite3 %[1]s .recover", path, err)
	case code == 0:
		return fault.Errorf(fault.Internal, "", "%s cannot be opened: %w", path, err)
	}
	code, text := explain(err)
	return fault.Errorf(code, "", "%s cannot be opened: %s: %w", path, text, err)
}
