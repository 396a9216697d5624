package sqlite

import (
	"context"
	"time"
)

// maxTrim is how many rows one call of Trim deletes: few enough for commits not
// to notice that they wait.
const maxTrim = 256

// trimming is a call of Trim.
type trimming struct {
	now, before any
	more        bool
}

// Trim deletes what is old; see [parley.Store]. Outbox entries are as old as the
// commit that finished them.
func (s *Store) Trim(ctx context.Context, now, before time.Time) (more bool, err error) {
	t := &trimming{now: when(now), before: when(before)}
	r := newRequest()
	r.trim = t
	if err := s.submit(ctx, r); err != nil {
		return false, err
	}
	return t.more, nil
}

func (w *writer) trim(t *trimming) error {
	left := int64(maxTrim)
	t.more = false
	for _, step := range []struct {
		query string
		limit any
	}{
		{"DELETE FROM mark WHERE (agent, key) IN (SELECT agent, key FROM mark WHERE expires < ? LIMIT ?)", t.now},
		{"DELETE FROM dialogue WHERE rowid IN (SELECT rowid FROM dialogue WHERE expires < ? LIMIT ?)", t.now},
		{"DELETE FROM outbox WHERE seq IN (SELECT seq FROM outbox WHERE finished < ? LIMIT ?)", t.before},
		{"DELETE FROM dead WHERE seq IN (SELECT seq FROM dead WHERE time < ? LIMIT ?)", t.before},
		{"DELETE FROM log WHERE seq IN (SELECT seq FROM log WHERE time < ? LIMIT ?)", t.before},
	} {
		deleted, err := w.exec(step.query, step.limit, left)
		if err != nil {
			return err
		}
		if left -= deleted; left <= 0 {
			t.more = true
			return nil
		}
	}
	return nil
}
