package memory

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

// none stands for agents that never committed anything.
var none = &agent{}

// read runs f on the state of an agent, beside other reads.
func (s *store) read(ctx context.Context, address identity.Address, f func(*agent)) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	a := s.agents[address]
	if a == nil {
		a = none
	}
	f(a)
	return nil
}

func (s *store) Inbox(ctx context.Context, address identity.Address, after int64, limit int) (found []parley.InboxEntry, err error) {
	err = s.read(ctx, address, func(a *agent) {
		for _, e := range a.inbox {
			if e.Seq > after && len(found) < limit {
				found = append(found, cloneInbox(*e))
			}
		}
	})
	return found, err
}

func (s *store) Waiting(ctx context.Context) (found []identity.Address, err error) {
	err = s.read(ctx, "", func(*agent) {
		for address, a := range s.agents {
			if len(a.inbox) > 0 {
				found = append(found, address)
			}
		}
	})
	return found, err
}

func (s *store) Outbox(ctx context.Context, target identity.Address, after int64, limit int) (found []parley.OutboxEntry, err error) {
	err = s.read(ctx, "", func(*agent) {
		q := s.pending[target]
		first, _ := q.find(after + 1)
		for _, e := range q[first:] {
			if len(found) >= limit {
				break
			}
			found = append(found, cloneOutbox(e.OutboxEntry))
		}
	})
	return found, err
}

func (s *store) Targets(ctx context.Context) (found []identity.Address, err error) {
	err = s.read(ctx, "", func(*agent) { found = slices.Collect(maps.Keys(s.pending)) })
	return found, err
}

func (s *store) OutboxEntry(ctx context.Context, address identity.Address, id string) (found parley.OutboxEntry, err error) {
	var missing error
	err = s.read(ctx, address, func(a *agent) {
		e := a.outbox[id]
		if e == nil {
			missing = fault.Errorf(fault.NotFound, "", "no message %s in the outbox of %s", id, address)
			return
		}
		found = cloneOutbox(e.OutboxEntry)
	})
	if err == nil {
		err = missing
	}
	return found, err
}

func (s *store) Replies(ctx context.Context, address identity.Address, inbox string) (found []parley.OutboxEntry, err error) {
	err = s.read(ctx, address, func(a *agent) {
		for _, e := range a.replies[inbox] {
			found = append(found, cloneOutbox(e.OutboxEntry))
		}
	})
	return found, err
}

func (s *store) Dialogue(ctx context.Context, address identity.Address, id string) (parley.DialogueRecord, error) {
	found := parley.DialogueRecord{ID: id}
	err := s.read(ctx, address, func(a *agent) {
		if d, ok := a.dialogues[id]; ok {
			found = d
			found.State = bytes.Clone(d.State)
		}
	})
	return found, err
}

func (s *store) Due(ctx context.Context, at time.Time, limit int) (found []parley.DueDialogue, err error) {
	err = s.read(ctx, "", func(*agent) {
		for address, a := range s.agents {
			for id, d := range a.dialogues {
				if !d.Next.IsZero() && !d.Next.After(at) {
					found = append(found, parley.DueDialogue{Agent: address, ID: id, Next: d.Next})
				}
			}
		}
	})
	slices.SortFunc(found, func(a, b parley.DueDialogue) int { return a.Next.Compare(b.Next) })
	return found[:max(min(limit, len(found)), 0)], err
}

func (s *store) Get(ctx context.Context, address identity.Address, key string) (value []byte, ok bool, err error) {
	err = s.read(ctx, address, func(a *agent) {
		value, ok = a.values[key]
		value = bytes.Clone(value)
	})
	return value, ok, err
}

func (s *store) Keys(ctx context.Context, address identity.Address, prefix, after string, limit int) (found []string, err error) {
	err = s.read(ctx, address, func(a *agent) {
		for key := range a.values {
			if strings.HasPrefix(key, prefix) && key > after {
				found = append(found, key)
			}
		}
		slices.Sort(found)
		found = found[:min(len(found), max(limit, 0))]
	})
	return found, err
}

func (s *store) Dead(ctx context.Context, after int64, limit int) (found []parley.DeadLetter, err error) {
	err = s.read(ctx, "", func(*agent) {
		for _, d := range s.dead {
			if d.Seq > after && len(found) < limit {
				d.Message = cloneMessage(d.Message)
				found = append(found, d)
			}
		}
	})
	return found, err
}

func (s *store) Log(ctx context.Context, q parley.LogQuery) (found []parley.LogRecord, err error) {
	limit := q.Limit
	if limit <= 0 {
		limit = maxLog
	}
	err = s.read(ctx, "", func(*agent) {
		for i := range s.log {
			r := s.log[i]
			if q.Last {
				r = s.log[len(s.log)-1-i]
			}
			if len(found) < limit && matches(q, r) {
				r.Message = cloneMessage(r.Message)
				found = append(found, r)
			}
		}
	})
	if q.Last {
		slices.Reverse(found)
	}
	return found, err
}

func matches(q parley.LogQuery, r parley.LogRecord) bool {
	return r.Seq > q.After && (q.Agent == "" || q.Agent == r.Agent) && (q.Session == "" || q.Session == r.Message.Session)
}
