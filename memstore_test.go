package parley_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

type memStore struct {
	mu     sync.Mutex
	seq    int64
	marks  map[string]parley.Mark
	inbox  []parley.InboxEntry
	owner  map[string]identity.Address
	outbox []parley.OutboxEntry
	kv     map[string][]byte
	dead   []parley.DeadLetter
	log    []parley.LogRecord
	dia    map[string]parley.DialogueRecord
}

func newMemStore() *memStore {
	return &memStore{marks: map[string]parley.Mark{}, owner: map[string]identity.Address{}, kv: map[string][]byte{}, dia: map[string]parley.DialogueRecord{}}
}

func (s *memStore) Commit(ctx context.Context, b *parley.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range b.Marks {
		if old, ok := s.marks[string(b.Agent)+m.ID]; ok {
			return &parley.SeenError{Mark: old}
		}
	}
	for _, m := range b.Marks {
		s.marks[string(b.Agent)+m.ID] = m
	}
	for _, e := range b.Inbox {
		s.seq++
		e.Seq = s.seq
		s.owner[e.ID] = b.Agent
		s.inbox = append(s.inbox, e)
	}
	for _, id := range b.Done {
		s.inbox = slices.DeleteFunc(s.inbox, func(e parley.InboxEntry) bool { return e.ID == id && s.owner[id] == b.Agent })
	}
	for _, e := range b.Outbox {
		if slices.ContainsFunc(s.outbox, func(o parley.OutboxEntry) bool { return o.ID == e.ID && o.Message.From == e.Message.From }) {
			continue
		}
		s.seq++
		e.Seq = s.seq
		s.outbox = append(s.outbox, e)
	}
	for _, o := range b.Outcomes {
		for i := range s.outbox {
			if s.outbox[i].ID == o.ID && s.outbox[i].Message.From == b.Agent {
				s.outbox[i].State, s.outbox[i].Attempts, s.outbox[i].Next, s.outbox[i].Reason = o.State, o.Attempts, o.Next, o.Reason
			}
		}
	}
	for _, d := range b.Dialogues {
		s.dia[string(b.Agent)+d.ID] = d
	}
	for _, kv := range b.Set {
		s.kv[string(b.Agent)+"|"+kv.Key] = kv.Value
	}
	for _, k := range b.Delete {
		delete(s.kv, string(b.Agent)+"|"+k)
	}
	for _, d := range b.Bury {
		s.seq++
		d.Seq = s.seq
		s.dead = append(s.dead, d)
	}
	for _, r := range b.Log {
		s.seq++
		r.Seq = s.seq
		s.log = append(s.log, r)
	}
	return nil
}
func (s *memStore) Inbox(ctx context.Context, a identity.Address, after int64, limit int) (out []parley.InboxEntry, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.inbox {
		if s.owner[e.ID] == a && e.Seq > after && len(out) < limit {
			out = append(out, e)
		}
	}
	return
}
func (s *memStore) Waiting(ctx context.Context) (out []identity.Address, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.inbox {
		out = append(out, s.owner[e.ID])
	}
	return
}
func (s *memStore) Outbox(ctx context.Context, t identity.Address, after int64, limit int) (out []parley.OutboxEntry, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.outbox {
		if e.Message.To == t && e.State == parley.Pending && e.Seq > after && len(out) < limit {
			out = append(out, e)
		}
	}
	return
}
func (s *memStore) Targets(ctx context.Context) (out []identity.Address, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.outbox {
		if e.State == parley.Pending && !slices.Contains(out, e.Message.To) {
			out = append(out, e.Message.To)
		}
	}
	return
}
func (s *memStore) OutboxEntry(ctx context.Context, a identity.Address, id string) (parley.OutboxEntry, error) {
	return parley.OutboxEntry{}, fault.Errorf(fault.NotFound, "", "x")
}
func (s *memStore) Replies(ctx context.Context, a identity.Address, in string) (out []parley.OutboxEntry, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.outbox {
		if e.Message.From == a && e.InReply == in {
			out = append(out, e)
		}
	}
	return
}
func (s *memStore) Dialogue(ctx context.Context, a identity.Address, id string) (parley.DialogueRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.dia[string(a)+id]
	d.ID = id
	return d, nil
}
func (s *memStore) Get(ctx context.Context, a identity.Address, key string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.kv[string(a)+"|"+key]
	return v, ok, nil
}
func (s *memStore) Keys(ctx context.Context, a identity.Address, prefix, after string, limit int) (out []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.kv {
		if k, ok := strings.CutPrefix(k, string(a)+"|"); ok && strings.HasPrefix(k, prefix) && k > after {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out[:min(limit, len(out))], nil
}
func (s *memStore) Dead(ctx context.Context, after int64, limit int) ([]parley.DeadLetter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.dead), nil
}
func (s *memStore) Log(ctx context.Context, q parley.LogQuery) ([]parley.LogRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log), nil
}
func (s *memStore) Trim(ctx context.Context, now, before time.Time) (bool, error) { return false, nil }
func (s *memStore) Close() error                                                  { return nil }
