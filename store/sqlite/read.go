package sqlite

import (
	"context"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

// numberOf is the number of the agent whose address is the argument.
const numberOf = "(SELECT id FROM agent WHERE address = ?)"

// with lends a connection for reading. A read is not interrupted when ctx ends:
// all of them are short.
func (s *Store) with(ctx context.Context, f func(*conn) error) (err error) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return errClosed()
	}
	if err := ctx.Err(); err != nil {
		return notDone(err)
	}
	var c *conn
	select {
	case c = <-s.readers:
	case <-ctx.Done():
		return notDone(ctx.Err())
	}
	defer func() { s.readers <- c }()
	if c == nil {
		if c, err = s.dialReader(); err != nil {
			return s.failure("read", err)
		}
	}
	return s.failure("read", f(c))
}

// read runs one query and returns what scan makes of its rows.
func read[T any](ctx context.Context, s *Store, scan func(row) (T, error), query string, args ...any) (found []T, err error) {
	err = s.with(ctx, func(c *conn) error {
		found, err = collect(c, scan, query, args...)
		return err
	})
	return found, err
}

func collect[T any](c *conn, scan func(row) (T, error), query string, args ...any) (found []T, err error) {
	err = c.query(func(r row) error {
		v, err := scan(r)
		found = append(found, v)
		return err
	}, query, args...)
	return found, err
}

func (s *Store) dialReader() (*conn, error) {
	c, err := dial(dsn(s.path, s.opts.Cache/4))
	if err != nil {
		return nil, err
	}
	if _, err := c.exec("PRAGMA query_only = ON"); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// first returns the only row, if there is one.
func first[T any](found []T, err error) (T, bool, error) {
	if err != nil || len(found) == 0 {
		var none T
		return none, false, err
	}
	return found[0], true, nil
}

// The columns of a message, in the order in which [scanMessage] reads them.
// Where sender or target are not written down they are the row's agent.
const messageColumns = ` coalesce(sender, (SELECT address FROM agent WHERE id = agent)), coalesce(target, (SELECT address FROM agent WHERE id = agent)),
	session, schema, protocol, payload, proof, expires, sync `

const messageWidth = 9

func scanMessage(r row) parley.Message {
	return parley.Message{
		From: identity.Address(r.text(0)), To: identity.Address(r.text(1)), Session: r.text(2), Schema: r.text(3), Protocol: r.text(4),
		Payload: r.blob(5), Proof: parley.Proof(r.text(6)), Expires: r.time(7), Sync: r.bool(8),
	}
}

// Inbox returns entries that are not done; see [parley.Store].
func (s *Store) Inbox(ctx context.Context, agent identity.Address, after int64, limit int) ([]parley.InboxEntry, error) {
	return read(ctx, s, func(r row) (parley.InboxEntry, error) {
		m, r := scanMessage(r), r[messageWidth:]
		return parley.InboxEntry{Seq: r.int(0), ID: r.text(1), Dialogue: r.text(2), Attempts: int(r.int(3)), Before: r.time(4), Message: m}, nil
	}, "SELECT"+messageColumns+", seq, id, dialogue, attempts, before FROM inbox WHERE agent = "+numberOf+" AND seq > ? ORDER BY seq LIMIT ?",
		string(agent), after, int64(max(limit, 0)))
}

func scanAddress(r row) (identity.Address, error) { return identity.Address(r.text(0)), nil }

// Waiting returns the agents with entries that are not done; see [parley.Store].
// It goes from agent to agent, not from entry to entry.
func (s *Store) Waiting(ctx context.Context) ([]identity.Address, error) {
	return read(ctx, s, scanAddress, `WITH RECURSIVE waiting (number) AS (
			SELECT min(agent) FROM inbox
			UNION ALL SELECT (SELECT min(agent) FROM inbox WHERE agent > number) FROM waiting WHERE number IS NOT NULL
		) SELECT address FROM waiting JOIN agent ON agent.id = number`)
}

// Targets returns the targets with pending entries; see [parley.Store].
func (s *Store) Targets(ctx context.Context) ([]identity.Address, error) {
	return read(ctx, s, scanAddress, `WITH RECURSIVE pending (address) AS (
			SELECT min(target) FROM outbox WHERE state = 0
			UNION ALL SELECT (SELECT min(target) FROM outbox WHERE state = 0 AND target > address) FROM pending WHERE address IS NOT NULL
		) SELECT address FROM pending WHERE address IS NOT NULL`)
}

const selectOutbox = "SELECT" + messageColumns + ", seq, id, in_reply, dialogue, sealed, waits, repeats, deadline, state, attempts, next, reason FROM outbox "

func scanOutbox(r row) (e parley.OutboxEntry, err error) {
	m, r := scanMessage(r), r[messageWidth:]
	e = parley.OutboxEntry{
		Seq: r.int(0), ID: r.text(1), InReply: r.text(2), Dialogue: r.text(3), Message: m, Sealed: r.blob(4), Sync: r.bool(5), Repeats: r.bool(6),
		Deadline: r.time(7), State: parley.OutboxState(r.int(8)), Attempts: int(r.int(9)), Next: r.time(10),
	}
	e.Reason, err = decodeReason(r.text(11))
	return e, err
}

// Outbox returns pending entries to a target; see [parley.Store].
func (s *Store) Outbox(ctx context.Context, target identity.Address, after int64, limit int) ([]parley.OutboxEntry, error) {
	return read(ctx, s, scanOutbox, selectOutbox+"WHERE target = ? AND state = 0 AND seq > ? ORDER BY seq LIMIT ?", string(target), after, int64(max(limit, 0)))
}

// OutboxEntry returns an entry by its ID; see [parley.Store].
func (s *Store) OutboxEntry(ctx context.Context, agent identity.Address, id string) (parley.OutboxEntry, error) {
	e, ok, err := first(read(ctx, s, scanOutbox, selectOutbox+"WHERE agent = "+numberOf+" AND id = ?", string(agent), id))
	if err == nil && !ok {
		err = fault.Errorf(fault.NotFound, "", "no message %s in the outbox of %s", id, agent)
	}
	return e, err
}

// Replies returns the entries that answer an inbox entry; see [parley.Store].
func (s *Store) Replies(ctx context.Context, agent identity.Address, inbox string) ([]parley.OutboxEntry, error) {
	return read(ctx, s, scanOutbox, selectOutbox+"WHERE agent = "+numberOf+" AND in_reply = ? ORDER BY seq", string(agent), inbox)
}

// Dialogue returns a dialogue; see [parley.Store].
func (s *Store) Dialogue(ctx context.Context, agent identity.Address, id string) (parley.DialogueRecord, error) {
	d, _, err := first(read(ctx, s, func(r row) (parley.DialogueRecord, error) {
		return parley.DialogueRecord{Version: r.int(0), State: r.blob(1), Next: r.time(2), Expires: r.time(3)}, nil
	}, "SELECT version, state, next, expires FROM dialogue WHERE agent = "+numberOf+" AND id = ?", string(agent), id))
	d.ID = id
	return d, err
}

// Due returns dialogues in which something is due; see [parley.Store].
func (s *Store) Due(ctx context.Context, at time.Time, limit int) ([]parley.DueDialogue, error) {
	return read(ctx, s, func(r row) (parley.DueDialogue, error) {
		return parley.DueDialogue{Agent: identity.Address(r.text(0)), ID: r.text(1), Next: r.time(2)}, nil
	}, "SELECT (SELECT address FROM agent WHERE id = dialogue.agent), id, next FROM dialogue WHERE next <= ? ORDER BY next LIMIT ?",
		when(at), int64(max(limit, 0)))
}

// Get returns a value; see [parley.Store].
func (s *Store) Get(ctx context.Context, agent identity.Address, key string) (value []byte, ok bool, err error) {
	return first(read(ctx, s, func(r row) ([]byte, error) { return r.blob(0), nil },
		"SELECT value FROM value WHERE agent = "+numberOf+" AND key = ?", string(agent), key))
}

// Keys returns keys with a prefix; see [parley.Store].
func (s *Store) Keys(ctx context.Context, agent identity.Address, prefix, after string, limit int) ([]string, error) {
	scan := func(r row) (string, error) { return r.text(0), nil }
	if end, ok := afterPrefix(prefix); ok {
		return read(ctx, s, scan, "SELECT key FROM value WHERE agent = "+numberOf+" AND key > ? AND key >= ? AND key < ? ORDER BY key LIMIT ?",
			string(agent), after, prefix, end, int64(max(limit, 0)))
	}
	return read(ctx, s, scan, "SELECT key FROM value WHERE agent = "+numberOf+" AND key > ? AND key >= ? ORDER BY key LIMIT ?",
		string(agent), after, prefix, int64(max(limit, 0)))
}

// afterPrefix returns the least text that is greater than all with the prefix;
// ok is false if there is none.
func afterPrefix(prefix string) (end string, ok bool) {
	b := []byte(prefix)
	for len(b) > 0 && b[len(b)-1] == 0xff {
		b = b[:len(b)-1]
	}
	if len(b) == 0 {
		return "", false
	}
	b[len(b)-1]++
	return string(b), true
}

// Dead returns dead letters; see [parley.Store].
func (s *Store) Dead(ctx context.Context, after int64, limit int) ([]parley.DeadLetter, error) {
	return read(ctx, s, func(r row) (parley.DeadLetter, error) {
		m, r := scanMessage(r), r[messageWidth:]
		return parley.DeadLetter{
			Seq: r.int(0), Agent: identity.Address(r.text(1)), Time: r.time(2), Inbound: r.bool(3), ID: r.text(4),
			Code: parley.Code(r.text(5)), Reason: r.text(6), Message: m,
		}, nil
	}, "SELECT"+messageColumns+", seq, (SELECT address FROM agent WHERE id = agent), time, inbound, id, code, reason FROM dead WHERE seq > ? ORDER BY seq LIMIT ?",
		after, int64(max(limit, 0)))
}
