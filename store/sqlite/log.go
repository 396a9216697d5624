package sqlite

import (
	"context"
	"slices"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
)

// maxLog is how many records a query without a limit returns.
const maxLog = 1000

const selectLog = "SELECT" + messageColumns + ", seq, time, (SELECT address FROM agent WHERE id = agent), event, id, detail FROM log "

func scanLog(r row) (parley.LogRecord, error) {
	m, r := scanMessage(r), r[messageWidth:]
	return parley.LogRecord{Seq: r.int(0), Time: r.time(1), Agent: identity.Address(r.text(2)), Event: r.text(3), ID: r.text(4), Detail: r.text(5), Message: m}, nil
}

// Log returns records of the log; see [parley.Store]. Without a limit it returns
// at most 1,000.
func (s *Store) Log(ctx context.Context, q parley.LogQuery) (found []parley.LogRecord, err error) {
	if q.Limit <= 0 {
		q.Limit = maxLog
	}
	order := " ORDER BY seq LIMIT ?"
	if q.Last {
		order = " ORDER BY seq DESC LIMIT ?"
	}
	switch {
	case q.Session != "":
		found, err = s.sessionLog(ctx, q, order)
	case q.Agent != "":
		found, err = read(ctx, s, scanLog, selectLog+"INDEXED BY log_agent WHERE agent = "+numberOf+" AND seq > ?"+order, string(q.Agent), q.After, int64(q.Limit))
	default:
		found, err = read(ctx, s, scanLog, selectLog+"WHERE seq > ?"+order, q.After, int64(q.Limit))
	}
	if q.Last {
		slices.Reverse(found)
	}
	return found, err
}

// blocksOf finds the blocks of the log that have records of a session, by asking
// the index once for each block there is: a microsecond each.
const blocksOf = `WITH RECURSIVE block (n) AS (
		SELECT (SELECT min(seq) FROM log WHERE seq > ?1) >> 10
		UNION ALL SELECT n + 1 FROM block WHERE n < (SELECT max(seq) FROM log) >> 10
	) SELECT n FROM block WHERE EXISTS (SELECT 1 FROM log INDEXED BY log_session WHERE seq >> 10 = n AND session = ?2)`

// sessionLog goes through the blocks that have records of the session, in the
// order of the query.
func (s *Store) sessionLog(ctx context.Context, q parley.LogQuery, order string) (found []parley.LogRecord, err error) {
	err = s.with(ctx, func(c *conn) error {
		blocks, err := collect(c, func(r row) (int64, error) { return r.int(0), nil }, blocksOf, q.After, q.Session)
		slices.Sort(blocks)
		if q.Last {
			slices.Reverse(blocks)
		}
		for i := 0; i < len(blocks) && len(found) < q.Limit && err == nil; i++ {
			var records []parley.LogRecord
			records, err = collect(c, scanLog, selectLog+"INDEXED BY log_session WHERE seq >> 10 = ?1 AND session = ?2 AND seq > ?3 AND (?4 = '' OR agent = (SELECT id FROM agent WHERE address = ?4))"+order,
				blocks[i], q.Session, q.After, string(q.Agent), int64(q.Limit-len(found)))
			found = append(found, records...)
		}
		return err
	})
	return found, err
}
