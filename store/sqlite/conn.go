package sqlite

import (
	"context"
	"database/sql/driver"
	"io"
	"time"

	"modernc.org/sqlite"
)

// conn is a connection to the file, with its prepared statements. One goroutine
// uses it at a time.
//
// It works on the driver itself: database/sql would add a pool, locks and a
// goroutine per call to connections that have only ever one user.
type conn struct {
	driver.Conn
	prepared map[string]*statement // by their text; all texts are constants
}

// statement is a prepared statement with room for its arguments.
type statement struct {
	driver.Stmt
	args []driver.NamedValue
}

// busyTimeout is how long others may hold a lock: people who look into the file.
const busyTimeout = "PRAGMA busy_timeout = 5000"

func dial(dsn string) (*conn, error) {
	connector, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	raw, err := connector.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, prepared: map[string]*statement{}}
	if _, err := c.exec(busyTimeout); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func (c *conn) prepare(query string, args []any) (*statement, error) {
	s := c.prepared[query]
	if s == nil {
		prepared, err := c.Prepare(query)
		if err != nil {
			return nil, err
		}
		s = &statement{Stmt: prepared}
		c.prepared[query] = s
	}
	s.args = s.args[:0]
	for i, a := range args {
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return s, nil
}

// exec runs a statement and returns how many rows it changed. Arguments are of
// the types that a driver takes: nil, int64, string and []byte.
func (c *conn) exec(query string, args ...any) (changed int64, err error) {
	s, err := c.prepare(query, args)
	if err != nil {
		return 0, err
	}
	result, err := s.Stmt.(driver.StmtExecContext).ExecContext(context.Background(), s.args)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// run executes a script of several statements, once.
func (c *conn) run(script string) (driver.Result, error) {
	return c.Conn.(driver.ExecerContext).ExecContext(context.Background(), script, nil)
}

// query calls each with every row that a statement returns. The row is only
// valid until each returns; what its methods return stays.
func (c *conn) query(each func(row) error, query string, args ...any) (err error) {
	s, err := c.prepare(query, args)
	if err != nil {
		return err
	}
	rows, err := s.Stmt.(driver.StmtQueryContext).QueryContext(context.Background(), s.args)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := rows.Close(); err == nil {
			err = closeErr
		}
	}()
	r := make(row, len(rows.Columns()))
	for {
		if err := rows.Next(r); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := each(r); err != nil {
			return err
		}
	}
}

// number returns the first column of the first row, 0 if there is none.
func (c *conn) number(query string, args ...any) (n int64, err error) {
	err = c.query(func(r row) error { n = r.int(0); return nil }, query, args...)
	return n, err
}

// Close also releases the prepared statements.
func (c *conn) Close() error {
	for _, s := range c.prepared {
		_ = s.Close()
	}
	return c.Conn.Close()
}

// row is a row of a result.
type row []driver.Value

func (r row) int(i int) int64 {
	n, _ := r[i].(int64)
	return n
}

func (r row) bool(i int) bool { return r.int(i) != 0 }

func (r row) text(i int) string {
	s, _ := r[i].(string)
	return s
}

func (r row) blob(i int) []byte {
	b, _ := r[i].([]byte)
	return b
}

func (r row) time(i int) time.Time {
	if r[i] == nil {
		return time.Time{}
	}
	return time.UnixMicro(r.int(i)).UTC()
}

// when is a time as it is stored.
func when(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// unless is a text as it is stored where usual is not written down.
func unless[T ~string](text, usual T) any {
	if text == usual {
		return nil
	}
	return string(text)
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
