// Package memory is a store for tests: it keeps every promise of [parley.Store]
// but to survive the process.
//
//	node, err := parley.NewNode(&parley.NodeOptions{Store: memory.New()})
package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

const (
	maxTrim = 1000 // things deleted by one call of Trim
	maxLog  = 1000 // records returned by a query without a limit
)

// New returns an empty store.
func New() parley.Store {
	return &store{agents: map[identity.Address]*agent{}, pending: map[identity.Address]queue{}}
}

type store struct {
	mu      sync.RWMutex
	closed  bool
	seq     int64 // the last one given
	agents  map[identity.Address]*agent
	pending map[identity.Address]queue // by target; never empty ones
	dead    []parley.DeadLetter        // in order of Seq
	log     []parley.LogRecord         // in order of Seq
}

// agent is the state of one agent.
type agent struct {
	marks     map[string]parley.Mark
	inbox     []*parley.InboxEntry // not done, in order of Seq
	waiting   map[string]*parley.InboxEntry
	outbox    map[string]*outgoing
	replies   map[string]queue // by the inbox entry that they answer
	dialogues map[string]parley.DialogueRecord
	values    map[string][]byte
}

// outgoing is an outbox entry with the time when it was finished.
type outgoing struct {
	parley.OutboxEntry
	finished time.Time
}

// queue is outbox entries in order of Seq.
type queue []*outgoing

func (q queue) find(seq int64) (int, bool) {
	return slices.BinarySearchFunc(q, seq, func(e *outgoing, seq int64) int { return cmp.Compare(e.Seq, seq) })
}

func (q queue) with(e *outgoing) queue {
	if i, found := q.find(e.Seq); !found {
		return slices.Insert(q, i, e)
	}
	return q
}

func (q queue) without(e *outgoing) queue {
	if i, found := q.find(e.Seq); found {
		return slices.Delete(q, i, i+1)
	}
	return q
}

func (s *store) agent(address identity.Address) *agent {
	a := s.agents[address]
	if a == nil {
		a = &agent{
			marks: map[string]parley.Mark{}, waiting: map[string]*parley.InboxEntry{}, outbox: map[string]*outgoing{},
			replies: map[string]queue{}, dialogues: map[string]parley.DialogueRecord{}, values: map[string][]byte{},
		}
		s.agents[address] = a
	}
	return a
}

// write runs f alone, unless the store is closed or the caller has gone.
func (s *store) write(ctx context.Context, f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	return f()
}

func (s *store) usable(ctx context.Context) error {
	if s.closed {
		return &fault.Error{Code: fault.Unavailable, Text: "the store is closed"}
	}
	if err := ctx.Err(); err != nil {
		return &fault.Error{Code: fault.Unavailable, Text: "nothing was done: " + err.Error(), Err: err}
	}
	return nil
}

// Commit checks everything that can fail before it changes anything.
func (s *store) Commit(ctx context.Context, batches ...*parley.Batch) error {
	return s.write(ctx, func() error {
		for _, b := range batches {
			if err := s.agent(b.Agent).check(b); err != nil {
				return err
			}
		}
		for _, b := range batches {
			s.apply(s.agent(b.Agent), b)
		}
		return nil
	})
}

func (a *agent) check(b *parley.Batch) error {
	marks := map[string]parley.Mark{}
	for _, m := range b.Marks {
		for _, known := range []map[string]parley.Mark{a.marks, marks} {
			if seen, ok := known[m.ID]; ok {
				return &parley.SeenError{Mark: seen}
			}
		}
		marks[m.ID] = m
	}
	versions := map[string]int64{}
	for _, d := range b.Dialogues {
		stored, ok := versions[d.ID]
		if !ok {
			stored = a.dialogues[d.ID].Version
		}
		if stored != d.Version-1 {
			return fault.Errorf(fault.Conflict, "dialogue", "%s is at version %d, the batch expects %d", d.ID, stored, d.Version-1)
		}
		versions[d.ID] = d.Version
	}
	entries := map[string]bool{}
	for _, e := range b.Inbox {
		if a.waiting[e.ID] != nil || entries[e.ID] {
			return fault.Errorf(fault.Conflict, "inbox", "%s waits already", e.ID)
		}
		entries[e.ID] = true
	}
	return nil
}

// apply changes what the batch says, in the order of its fields.
func (s *store) apply(a *agent, b *parley.Batch) {
	for _, m := range b.Marks {
		a.marks[m.ID] = m
	}
	for _, e := range b.Inbox {
		e.Seq, e.Message = s.next(), cloneMessage(e.Message)
		a.inbox = append(a.inbox, &e)
		a.waiting[e.ID] = &e
	}
	for _, id := range b.Done {
		a.done(id)
	}
	for _, r := range b.Retry {
		if e := a.waiting[r.ID]; e != nil {
			e.Attempts, e.Before = r.Attempts, r.Before
		}
	}
	for _, e := range b.Outbox {
		s.send(a, e)
	}
	for _, o := range b.Outcomes {
		s.settle(a, o)
	}
	for _, d := range b.Bury {
		d.Seq, d.Agent, d.Message = s.next(), b.Agent, cloneMessage(d.Message)
		s.dead = append(s.dead, d)
	}
	for _, seq := range b.Unbury {
		s.dead = slices.DeleteFunc(s.dead, func(d parley.DeadLetter) bool { return d.Seq == seq && d.Agent == b.Agent })
	}
	for _, d := range b.Dialogues {
		d.State = bytes.Clone(d.State)
		a.dialogues[d.ID] = d
	}
	for _, v := range b.Set {
		a.values[v.Key] = bytes.Clone(v.Value)
	}
	for _, key := range b.Delete {
		delete(a.values, key)
	}
	for _, r := range b.Log {
		r.Seq, r.Agent, r.Message = s.next(), b.Agent, cloneMessage(r.Message)
		s.log = append(s.log, r)
	}
}

func (s *store) next() int64 {
	s.seq++
	return s.seq
}

func (a *agent) done(id string) {
	e := a.waiting[id]
	if e == nil {
		return
	}
	delete(a.waiting, id)
	i, _ := slices.BinarySearchFunc(a.inbox, e.Seq, func(e *parley.InboxEntry, seq int64) int { return cmp.Compare(e.Seq, seq) })
	a.inbox = slices.Delete(a.inbox, i, i+1)
}

func (s *store) send(a *agent, e parley.OutboxEntry) {
	if a.outbox[e.ID] != nil {
		return
	}
	e = cloneOutbox(e)
	e.Seq = s.next()
	kept := &outgoing{OutboxEntry: e}
	a.outbox[e.ID] = kept
	if e.InReply != "" {
		a.replies[e.InReply] = a.replies[e.InReply].with(kept)
	}
	s.place(kept)
}

func (s *store) settle(a *agent, o parley.Outcome) {
	e := a.outbox[o.ID]
	if e == nil {
		return
	}
	e.State, e.Attempts, e.Next, e.Reason = o.State, o.Attempts, o.Next, cloneReason(o.Reason)
	s.place(e)
}

// place puts an entry where its state says.
func (s *store) place(e *outgoing) {
	q := s.pending[e.Message.To]
	if e.State == parley.Pending {
		q = q.with(e)
	} else {
		q = q.without(e)
	}
	s.pending[e.Message.To] = q
	if len(q) == 0 {
		delete(s.pending, e.Message.To)
	}
	e.finished = time.Time{}
	if e.State == parley.Delivered || e.State == parley.Failed {
		e.finished = time.Now()
	}
}

// Trim looks at everything each time: tests have little.
func (s *store) Trim(ctx context.Context, now, before time.Time) (more bool, err error) {
	err = s.write(ctx, func() error {
		left := maxTrim
		may := func(old bool) bool {
			if old && left == 0 {
				more = true
			}
			if !old || left == 0 {
				return false
			}
			left--
			return true
		}
		for _, a := range s.agents {
			for id, m := range a.marks {
				if may(!m.Expires.IsZero() && m.Expires.Before(now)) {
					delete(a.marks, id)
				}
			}
			for id, d := range a.dialogues {
				if may(!d.Expires.IsZero() && d.Expires.Before(now)) {
					delete(a.dialogues, id)
				}
			}
			for id, e := range a.outbox {
				if may(!e.finished.IsZero() && e.finished.Before(before)) {
					delete(a.outbox, id)
					a.forgetReply(e)
				}
			}
		}
		s.dead = slices.DeleteFunc(s.dead, func(d parley.DeadLetter) bool { return may(d.Time.Before(before)) })
		s.log = slices.DeleteFunc(s.log, func(r parley.LogRecord) bool { return may(r.Time.Before(before)) })
		return nil
	})
	return more, err
}

func (a *agent) forgetReply(e *outgoing) {
	q := a.replies[e.InReply].without(e)
	if len(q) == 0 {
		delete(a.replies, e.InReply)
	} else {
		a.replies[e.InReply] = q
	}
}

func (s *store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func cloneMessage(m parley.Message) parley.Message {
	m.Payload = bytes.Clone(m.Payload)
	return m
}

func cloneInbox(e parley.InboxEntry) parley.InboxEntry {
	e.Message = cloneMessage(e.Message)
	return e
}

func cloneOutbox(e parley.OutboxEntry) parley.OutboxEntry {
	e.Message, e.Sealed, e.Reason = cloneMessage(e.Message), bytes.Clone(e.Sealed), cloneReason(e.Reason)
	return e
}

func cloneReason(r *parley.DeliveryError) *parley.DeliveryError {
	if r == nil {
		return nil
	}
	c := *r
	return &c
}
