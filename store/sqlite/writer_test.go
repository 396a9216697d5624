package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

// faulty is a connection whose statements fail when told so.
type faulty struct {
	driver.Conn
	sqlite.DBStatus
	fail atomic.Pointer[func(query string) error]
}

func (f *faulty) check(query string) error {
	if fail := f.fail.Load(); fail != nil {
		return (*fail)(query)
	}
	return nil
}

func (f *faulty) Prepare(query string) (driver.Stmt, error) {
	s, err := f.Conn.Prepare(query)
	return &faultyStmt{s, query, f}, err
}

type faultyStmt struct {
	driver.Stmt
	query string
	conn  *faulty
}

func (s *faultyStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := s.conn.check(s.query); err != nil {
		return nil, err
	}
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

func (s *faultyStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.conn.check(s.query); err != nil {
		return nil, err
	}
	return s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
}

// sqliteError is an error as SQLite returns it.
type sqliteError int

func (e sqliteError) Error() string { return "made up by the test" }
func (e sqliteError) Code() int     { return int(e) }

// openFaulty opens a store whose writer fails as the argument of fail says.
func openFaulty(t *testing.T) (s *Store, fail func(func(query string) error)) {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "parley.db"), &Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	f := &faulty{Conn: s.writer.Conn, DBStatus: s.writer.Conn.(sqlite.DBStatus)}
	s.writer.Conn = f // it has nothing to do yet
	return s, func(fail func(string) error) { f.fail.Store(&fail) }
}

func set(key string) *parley.Batch {
	return &parley.Batch{Agent: "agent1alice", Set: []parley.KeyValue{{Key: key}}}
}

func TestAFailedCommitIsRolledBackAndTheNextWorks(t *testing.T) {
	for code, want := range map[int]parley.Code{
		sqlite3.SQLITE_FULL:        fault.Unavailable,
		sqlite3.SQLITE_IOERR_WRITE: fault.Unavailable,
		sqlite3.SQLITE_BUSY:        fault.Unavailable,
		sqlite3.SQLITE_CORRUPT:     fault.Internal,
		sqlite3.SQLITE_NOMEM:       fault.Internal,
	} {
		for _, at := range []string{"BEGIN", "UPDATE counter", "INSERT INTO agent", "INSERT INTO inbox", "INSERT INTO value", "COMMIT"} {
			s, fail := openFaulty(t)
			fail(func(query string) error {
				if strings.HasPrefix(query, at) {
					return sqliteError(code)
				}
				return nil
			})

			lost := set("lost")
			lost.Inbox = []parley.InboxEntry{{ID: "lost"}}
			err := s.Commit(t.Context(), lost)

			if got := fault.CodeOf(err); got != want {
				t.Errorf("Commit = %v when %s fails with %d, want code %s", err, at, code, want)
			}
			var cause sqliteError
			if !errors.As(err, &cause) {
				t.Errorf("Commit = %v, want SQLite's error as the cause", err)
			}
			if strings.Contains(err.Error(), s.path) {
				t.Errorf("Commit = %v: peers see the path", err)
			}
			fail(func(string) error { return nil })
			if err := s.Commit(t.Context(), set("kept")); err != nil {
				t.Errorf("the commit after %s failed with %d: %v", at, code, err)
			}
			if keys, err := s.Keys(t.Context(), "agent1alice", "", "", 10); err != nil || !slices.Equal(keys, []string{"kept"}) {
				t.Errorf("Keys = %q, %v, want the one that was acknowledged", keys, err)
			}
		}
	}
}

// A batch that fails in a way nobody foresaw takes no other with it.
func TestAFailureIsOfTheBatchThatCausesIt(t *testing.T) {
	s, fail := openFaulty(t)
	fail(func(query string) error {
		if strings.HasPrefix(query, "DELETE FROM value") {
			return sqliteError(sqlite3.SQLITE_NOMEM)
		}
		return nil
	})
	bad := set("bad")
	bad.Delete = []string{"x"}
	group := []*request{{batches: []*parley.Batch{set("one")}}, {batches: []*parley.Batch{bad}}, {batches: []*parley.Batch{set("two")}}}

	results := s.writer.commit(group)

	if results[0] != nil || results[1] == nil || results[2] != nil {
		t.Errorf("results = %v, want an error for the second alone", results)
	}
	if keys, err := s.Keys(t.Context(), "agent1alice", "", "", 10); err != nil || !slices.Equal(keys, []string{"one", "two"}) {
		t.Errorf("Keys = %q, %v, want one and two", keys, err)
	}
	stats := s.Stats()
	if stats.Commits != 2 || stats.Refused != 1 {
		t.Errorf("%d commits and %d refused, want 2 and 1", stats.Commits, stats.Refused)
	}
}

// The system reports a failed sync once, and the next one succeeds whether the
// data is there or not. So there is no next one.
func TestAfterAFailedSyncNothingIsWritten(t *testing.T) {
	for _, at := range []string{"COMMIT", "PRAGMA wal_checkpoint"} {
		s, fail := openFaulty(t)
		if err := s.Commit(t.Context(), set("before")); err != nil {
			t.Fatal(err)
		}
		fail(func(query string) error {
			if strings.HasPrefix(query, at) {
				return sqliteError(sqlite3.SQLITE_IOERR_FSYNC)
			}
			return nil
		})
		big := &parley.Batch{Agent: "agent1alice", Set: []parley.KeyValue{{Key: "big", Value: make([]byte, checkpointPages*pageSize)}}}
		for i := 0; s.Commit(t.Context(), big) == nil; i++ { // the log is emptied after a commit
			if i == 10 {
				t.Fatalf("no commit fails when %s does", at)
			}
		}
		fail(func(string) error { return nil })

		err := s.Commit(t.Context(), set("after"))

		if fault.CodeOf(err) != fault.Internal || !strings.Contains(err.Error(), "sync") {
			t.Errorf("Commit after a sync failed in %s = %v, want code %s", at, err, fault.Internal)
		}
		if _, ok, err := s.Get(t.Context(), "agent1alice", "before"); !ok || err != nil {
			t.Errorf("Get = %v, %v: reading must go on", ok, err)
		}
		if err := s.Close(); err == nil {
			t.Error("Close succeeds, want the failure")
		}
	}
}

// Nothing else in the tests notices a lost power supply.
func TestTheWriterSyncs(t *testing.T) {
	s, _ := openFaulty(t)
	for pragma, want := range map[string]int64{"synchronous": 2, "fullfsync": 1, "checkpoint_fullfsync": 1, "wal_autocheckpoint": 0} {
		if got, err := s.writer.number("PRAGMA " + pragma); err != nil || got != want {
			t.Errorf("PRAGMA %s = %d, %v, want %d", pragma, got, err, want)
		}
	}
}

// The log can only start over when nobody reads from it, so readers that never
// pause must not make it grow without end.
func TestTheLogStaysSmallUnderReads(t *testing.T) {
	s, _ := openFaulty(t)
	s.writer.emptyAt, s.writer.waitAt = 20, 80 // it has nothing to do yet
	if err := s.Commit(t.Context(), set("key")); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for ctx.Err() == nil {
				if _, err := s.Keys(context.Background(), "agent1alice", "", "", 20); err != nil {
					t.Error(err)
				}
			}
		})
	}

	var largest int64
	for n := range 500 {
		b := &parley.Batch{Agent: "agent1alice", Set: []parley.KeyValue{{Key: fmt.Sprint(n), Value: make([]byte, 3*pageSize)}}}
		if err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(s.path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		largest = max(largest, info.Size()/pageSize)
	}
	stop()
	readers.Wait()

	if largest > 1000 {
		t.Errorf("the log has grown to %d pages while more than 2000 were written, want 1000 at most", largest)
	}
	if s.Stats().Checkpoints == 0 {
		t.Error("the log was never emptied")
	}
}

// Somebody who copies the file keeps the log from starting over. The writer waits
// for that reader less and less often.
func TestALongReaderDoesNotStopCommits(t *testing.T) {
	s, fail := openFaulty(t)
	s.writer.emptyAt, s.writer.waitAt = 20, 80 // it has nothing to do yet
	if err := s.Commit(t.Context(), set("key")); err != nil {
		t.Fatal(err)
	}
	other, err := dial(dsn(s.path, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.run("BEGIN; SELECT count(*) FROM value;"); err != nil {
		t.Fatal(err)
	}
	var waits atomic.Int64
	fail(func(query string) error {
		if strings.Contains(query, "RESTART") {
			waits.Add(1)
		}
		return nil
	})

	for n := range 300 {
		b := &parley.Batch{Agent: "agent1alice", Set: []parley.KeyValue{{Key: fmt.Sprint(n), Value: make([]byte, 3*pageSize)}}}
		if err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := other.run("COMMIT"); err != nil {
		t.Fatal(err)
	}
	if n := waits.Load(); n < 1 || n > 8 {
		t.Errorf("the writer has waited %d times for the reader during 300 commits, want a few times", n)
	}
}

func TestNumbersOfAgentsAreNotAllRemembered(t *testing.T) {
	s, _ := openFaulty(t)
	for i := range maxAgents { // the writer has nothing to do yet
		s.writer.agents[identity.Address(fmt.Sprint(i))] = int64(i)
	}

	err := s.Commit(t.Context(), set("key"))

	if err != nil || len(s.writer.agents) != 1 {
		t.Errorf("Commit = %v, and %d agents are remembered, want the last one", err, len(s.writer.agents))
	}
}

// TestStatementsUseIndexes asks SQLite how it would run every statement: reads
// are only short, and commits only cheap, if none of them walks through a table.
func TestStatementsUseIndexes(t *testing.T) {
	s, _ := openFaulty(t)
	useEverything(t, s)
	var statements []string
	gather := func(c *conn) {
		for query := range c.prepared {
			if !strings.HasPrefix(query, "PRAGMA") && !strings.Contains(query, "sqlite_schema") {
				statements = append(statements, query)
			}
		}
	}
	for range s.opts.Readers {
		c := <-s.readers
		if c != nil {
			gather(c)
		}
		s.readers <- c
	}
	reads := len(statements)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	gather(s.writer.conn)
	if reads < 15 || len(statements) < 35 {
		t.Fatalf("%d statements, %d of them reads: are all in use?", len(statements), reads)
	}
	c, err := dial(dsn(s.path, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, query := range statements {
		for _, step := range plan(t, c, query) {
			scan := strings.HasPrefix(step, "SCAN") && !slices.Contains([]string{"SCAN CONSTANT ROW", "SCAN waiting", "SCAN pending", "SCAN block"}, step)
			if scan || strings.Contains(step, "TEMP B-TREE") || strings.Contains(step, "AUTOMATIC") {
				t.Errorf("%s in\n%s", step, query)
			}
		}
	}
}

func plan(t *testing.T, c *conn, query string) (steps []string) {
	t.Helper()
	args := make([]any, strings.Count(query, "?"))
	err := c.query(func(r row) error { steps = append(steps, r.text(3)); return nil }, "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return steps
}

// useEverything runs every statement there is.
func useEverything(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	one := &parley.Batch{
		Agent: "agent1alice", Marks: []parley.Mark{{ID: "m"}}, Inbox: []parley.InboxEntry{{ID: "i"}}, Done: []string{"i"}, Retry: []parley.Retry{{ID: "i"}},
		Outbox: []parley.OutboxEntry{{ID: "o"}}, Outcomes: []parley.Outcome{{ID: "o"}}, Bury: []parley.DeadLetter{{}}, Unbury: []int64{1},
		Dialogues: []parley.DialogueRecord{{ID: "d", Version: 1}, {ID: "d", Version: 2}}, Set: []parley.KeyValue{{Key: "k"}}, Delete: []string{"k"}, Log: []parley.LogRecord{{Message: parley.Message{Session: "s"}}},
	}
	errs := []error{s.Commit(ctx, one)}
	note := func(_ any, err error) { errs = append(errs, err) }
	_ = s.Commit(ctx, one)                                                                                            // a seen mark
	_ = s.Commit(ctx, &parley.Batch{Agent: "agent1alice", Dialogues: []parley.DialogueRecord{{ID: "d", Version: 9}}}) // a conflict
	note(s.Trim(ctx, time.Now(), time.Now()))
	note(s.Inbox(ctx, "agent1alice", 0, 1))
	note(s.Waiting(ctx))
	note(s.Outbox(ctx, "", 0, 1))
	note(s.Targets(ctx))
	note(s.OutboxEntry(ctx, "agent1alice", "o"))
	note(s.Replies(ctx, "agent1alice", "i"))
	note(s.Dialogue(ctx, "agent1alice", "d"))
	_, _, err := s.Get(ctx, "agent1alice", "k")
	note(nil, err)
	note(s.Keys(ctx, "agent1alice", "", "", 1))
	note(s.Keys(ctx, "agent1alice", "k", "", 1))
	note(s.Dead(ctx, 0, 1))
	for _, q := range []parley.LogQuery{{}, {Agent: "agent1alice"}, {Session: "s"}, {Agent: "agent1alice", Session: "s"}} {
		note(s.Log(ctx, q))
		q.Last = true
		note(s.Log(ctx, q))
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
