package storetest_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/store/memory"
)

// A broken store breaks promises in one way.
type broken struct {
	parley.Store
	commit   func(context.Context, parley.Store, *parley.Batch) error
	inbox    func([]parley.InboxEntry) []parley.InboxEntry
	waiting  func([]identity.Address) []identity.Address
	outbox   func(ctx context.Context, s parley.Store, target identity.Address, after int64, limit int) ([]parley.OutboxEntry, error)
	targets  func([]identity.Address) []identity.Address
	entry    func(parley.OutboxEntry, error) (parley.OutboxEntry, error)
	replies  func([]parley.OutboxEntry) []parley.OutboxEntry
	dialogue func(parley.DialogueRecord) parley.DialogueRecord
	due      func([]parley.DueDialogue) []parley.DueDialogue
	get      func(key string, value []byte, ok bool) ([]byte, bool)
	keys     func(ctx context.Context, s parley.Store, agent identity.Address, prefix, after string, limit int) ([]string, error)
	log      func(parley.LogQuery) parley.LogQuery
	records  func([]parley.LogRecord) []parley.LogRecord
	trim     func(ctx context.Context, s parley.Store, now, before time.Time) (bool, error)
	close    func(parley.Store) error
}

func (b *broken) Commit(ctx context.Context, batches ...*parley.Batch) error {
	if b.commit == nil {
		return b.Store.Commit(ctx, batches...)
	}
	for _, batch := range batches {
		changed := *batch
		if err := b.commit(ctx, b.Store, &changed); err != nil {
			return err
		}
	}
	return nil
}

func (b *broken) Due(ctx context.Context, at time.Time, limit int) ([]parley.DueDialogue, error) {
	found, err := b.Store.Due(ctx, at, limit)
	return maybe(b.due, found), err
}

func (b *broken) Inbox(ctx context.Context, agent identity.Address, after int64, limit int) ([]parley.InboxEntry, error) {
	if b.inbox == nil {
		return b.Store.Inbox(ctx, agent, after, limit)
	}
	all, err := b.Store.Inbox(ctx, agent, 0, 1_000_000)
	all = slices.DeleteFunc(b.inbox(all), func(e parley.InboxEntry) bool { return e.Seq <= after })
	return all[:min(limit, len(all))], err
}

func (b *broken) Waiting(ctx context.Context) ([]identity.Address, error) {
	found, err := b.Store.Waiting(ctx)
	return maybe(b.waiting, found), err
}

func (b *broken) Outbox(ctx context.Context, target identity.Address, after int64, limit int) ([]parley.OutboxEntry, error) {
	if b.outbox == nil {
		return b.Store.Outbox(ctx, target, after, limit)
	}
	return b.outbox(ctx, b.Store, target, after, limit)
}

func (b *broken) Targets(ctx context.Context) ([]identity.Address, error) {
	found, err := b.Store.Targets(ctx)
	return maybe(b.targets, found), err
}

func (b *broken) OutboxEntry(ctx context.Context, agent identity.Address, id string) (parley.OutboxEntry, error) {
	found, err := b.Store.OutboxEntry(ctx, agent, id)
	if b.entry != nil {
		return b.entry(found, err)
	}
	return found, err
}

func (b *broken) Replies(ctx context.Context, agent identity.Address, inbox string) ([]parley.OutboxEntry, error) {
	found, err := b.Store.Replies(ctx, agent, inbox)
	return maybe(b.replies, found), err
}

func (b *broken) Dialogue(ctx context.Context, agent identity.Address, id string) (parley.DialogueRecord, error) {
	found, err := b.Store.Dialogue(ctx, agent, id)
	return maybe(b.dialogue, found), err
}

func (b *broken) Get(ctx context.Context, agent identity.Address, key string) ([]byte, bool, error) {
	value, ok, err := b.Store.Get(ctx, agent, key)
	if b.get != nil {
		value, ok = b.get(key, value, ok)
	}
	return value, ok, err
}

func (b *broken) Keys(ctx context.Context, agent identity.Address, prefix, after string, limit int) ([]string, error) {
	if b.keys == nil {
		return b.Store.Keys(ctx, agent, prefix, after, limit)
	}
	return b.keys(ctx, b.Store, agent, prefix, after, limit)
}

func (b *broken) Log(ctx context.Context, q parley.LogQuery) ([]parley.LogRecord, error) {
	found, err := b.Store.Log(ctx, maybe(b.log, q))
	return maybe(b.records, found), err
}

func (b *broken) Trim(ctx context.Context, now, before time.Time) (bool, error) {
	if b.trim == nil {
		return b.Store.Trim(ctx, now, before)
	}
	return b.trim(ctx, b.Store, now, before)
}

func (b *broken) Close() error {
	if b.close == nil {
		return b.Store.Close()
	}
	return b.close(b.Store)
}

func maybe[T any](f func(T) T, v T) T {
	if f == nil {
		return v
	}
	return f(v)
}

// altered is a Commit that changes the batch first.
func altered(change func(*parley.Batch)) func(context.Context, parley.Store, *parley.Batch) error {
	return func(ctx context.Context, s parley.Store, b *parley.Batch) error {
		change(b)
		return s.Commit(ctx, b)
	}
}

// forgiving is a Commit that does something else when a batch is refused.
func forgiving(instead func(ctx context.Context, s parley.Store, b *parley.Batch, err error) error) func(context.Context, parley.Store, *parley.Batch) error {
	return func(ctx context.Context, s parley.Store, b *parley.Batch) error {
		err := s.Commit(ctx, b)
		if err != nil {
			return instead(ctx, s, b, err)
		}
		return nil
	}
}

func reversed[T any](list []T) []T {
	slices.Reverse(list)
	return list
}

func isSeen(err error) bool {
	_, seen := errors.AsType[*parley.SeenError](err)
	return seen
}

// breakages are stores that break a promise, with the promise.
var breakages = map[string]*broken{
	"a batch is applied whole": {commit: altered(func(b *parley.Batch) { b.Log = nil })},

	"a batch of nothing is no error": {commit: func(ctx context.Context, s parley.Store, b *parley.Batch) error {
		if len(b.Done) > 0 && b.Done[0] == "no such" {
			return errors.New("no such entry")
		}
		return s.Commit(ctx, b)
	}},

	"a seen mark changes nothing and names the first": {commit: forgiving(func(ctx context.Context, s parley.Store, b *parley.Batch, err error) error {
		if isSeen(err) && len(b.Marks) == 2 {
			b.Marks = b.Marks[:1] // written before the second was looked at
			_ = s.Commit(ctx, &parley.Batch{Agent: b.Agent, Marks: b.Marks})
		}
		return err
	})},

	"a mark seen twice in one batch is seen": {commit: altered(func(b *parley.Batch) {
		b.Marks = slices.CompactFunc(b.Marks, func(a, b parley.Mark) bool { return a.ID == b.ID })
	})},

	"a dialogue at another version is a conflict and changes nothing": {commit: forgiving(func(ctx context.Context, s parley.Store, b *parley.Batch, err error) error {
		if fault.CodeOf(err) == fault.Conflict {
			_ = s.Commit(ctx, &parley.Batch{Agent: b.Agent, Set: b.Set})
		}
		return err
	})},

	"a dialogue advances by one version": {dialogue: func(d parley.DialogueRecord) parley.DialogueRecord {
		d.State = d.State[:min(len(d.State), 1000)]
		return d
	}},

	"an inbox ID that waits is a conflict and changes nothing": {commit: forgiving(func(ctx context.Context, s parley.Store, b *parley.Batch, err error) error {
		if fault.CodeOf(err) == fault.Conflict && len(b.Inbox) > 0 {
			return nil
		}
		return err
	})},

	"parts of a batch are applied in their order": {commit: func(ctx context.Context, s parley.Store, b *parley.Batch) error {
		first := &parley.Batch{Agent: b.Agent, Done: b.Done, Retry: b.Retry, Outcomes: b.Outcomes, Delete: b.Delete}
		b.Done, b.Retry, b.Outcomes, b.Delete = nil, nil, nil, nil
		return errors.Join(s.Commit(ctx, first), s.Commit(ctx, b))
	}},

	"the batches of a commit are applied together": {commit: altered(func(*parley.Batch) {})},

	"dialogues in which something is due come in order of time": {due: func(all []parley.DueDialogue) []parley.DueDialogue { return reversed(all) }},

	"two agents do not see each other": {commit: altered(func(b *parley.Batch) { b.Agent = "agent1alice" })},

	"neither side shares memory with the other": sharing(),

	"all bytes and times survive": {commit: altered(func(b *parley.Batch) {
		b.Inbox = slices.Clone(b.Inbox)
		for i := range b.Inbox {
			b.Inbox[i].Before = b.Inbox[i].Before.Truncate(time.Millisecond)
		}
	})},

	"inbox entries come in order of Seq, from after, up to limit": {inbox: reversed[parley.InboxEntry]},

	"an entry that is done is gone": {commit: altered(func(b *parley.Batch) { b.Done = b.Done[:min(1, len(b.Done))] })},

	"a retry is remembered": {inbox: func(entries []parley.InboxEntry) []parley.InboxEntry {
		for i := range entries {
			entries[i].Attempts = 0
		}
		return entries
	}},

	"Waiting names the agents with entries that are not done": {waiting: everSeen()},

	"a Seq is never given twice": {inbox: func(entries []parley.InboxEntry) []parley.InboxEntry {
		for i := range entries {
			entries[i].Seq = int64(i) + 1
		}
		return entries
	}},

	"outbox entries come by target, in order of Seq, from after, up to limit": {
		outbox: func(ctx context.Context, s parley.Store, target identity.Address, after int64, _ int) ([]parley.OutboxEntry, error) {
			return s.Outbox(ctx, target, after, 1_000_000)
		},
	},

	"an outbox ID that exists stays as it is": {commit: altered(func(b *parley.Batch) {
		for _, e := range b.Outbox {
			b.Outcomes = append(b.Outcomes, parley.Outcome{ID: e.ID, State: e.State})
		}
	})},

	"only pending entries are to be sent": {commit: altered(func(b *parley.Batch) {
		b.Outbox = slices.Clone(b.Outbox)
		for i := range b.Outbox {
			if b.Outbox[i].State == parley.Held {
				b.Outbox[i].State = parley.Pending
			}
		}
	})},

	"an outcome changes what it says and nothing else": {commit: altered(func(b *parley.Batch) {
		b.Outcomes = slices.Clone(b.Outcomes)
		for i := range b.Outcomes {
			b.Outcomes[i].Reason = nil
		}
	})},

	"Targets names those with pending entries": {targets: everSeen()},

	"an outbox entry is found by its ID, or not found": {entry: func(e parley.OutboxEntry, _ error) (parley.OutboxEntry, error) { return e, nil }},

	"replies are found by what they answer": {replies: reversed[parley.OutboxEntry]},

	"an empty value is there, an absent one is not": {get: func(_ string, value []byte, ok bool) ([]byte, bool) { return value, ok && len(value) > 0 }},

	"the last write of a key wins": {commit: altered(func(b *parley.Batch) { b.Set = reversed(slices.Clone(b.Set)) })},

	"keys come in order of bytes, by prefix, from after, up to limit": {keys: anyLetter},

	"dead letters stay until they are dug out": {commit: altered(func(b *parley.Batch) { b.Unbury = nil })},

	"the log is read from a place, by agent and by session": {log: func(q parley.LogQuery) parley.LogQuery {
		q.Session = ""
		return q
	}},

	"the last records of the log come in order": {records: reversed[parley.LogRecord]},

	"Trim deletes what is old and nothing else": {trim: func(context.Context, parley.Store, time.Time, time.Time) (bool, error) { return false, nil }},

	"Trim deletes a bounded number and says if there is more": {trim: func(ctx context.Context, s parley.Store, now, before time.Time) (bool, error) {
		for {
			if more, err := s.Trim(ctx, now, before); !more || err != nil {
				return false, err
			}
		}
	}},

	"concurrent commits land once each": {commit: func(ctx context.Context, s parley.Store, b *parley.Batch) error {
		if len(b.Inbox) == 1 && b.Inbox[0].ID == "7/7" {
			return nil
		}
		return s.Commit(ctx, b)
	}},

	"of many who bring a mark one is first": {commit: forgiving(func(_ context.Context, _ parley.Store, _ *parley.Batch, err error) error {
		if isSeen(err) {
			return nil
		}
		return err
	})},

	"of many who advance a dialogue one does": {commit: forgiving(func(ctx context.Context, s parley.Store, b *parley.Batch, err error) error {
		if fault.CodeOf(err) == fault.Conflict {
			return nil
		}
		return err
	})},

	"a failing batch does not harm others": {commit: failingTogether()},

	"what was committed is read at once": {commit: func(ctx context.Context, s parley.Store, b *parley.Batch) error {
		if len(b.Set) == 1 && len(b.Inbox) == 0 {
			time.AfterFunc(5*time.Millisecond, func() { _ = s.Commit(context.WithoutCancel(ctx), b) })
			return nil
		}
		return s.Commit(ctx, b)
	}},

	"an ended context applies all or nothing": {commit: func(ctx context.Context, s parley.Store, b *parley.Batch) error {
		if ctx.Err() != nil {
			b.Log = nil
			_ = s.Commit(context.WithoutCancel(ctx), b)
		}
		return s.Commit(ctx, b)
	}},

	"a closed store refuses": {close: func(parley.Store) error { return nil }},

	"Close waits for commits or refuses them": {commit: forgiving(func(ctx context.Context, _ parley.Store, _ *parley.Batch, _ error) error {
		select {} // as if it waited for a writer that has ended
	})},
}

// sharing keeps and hands out the caller's own bytes.
func sharing() *broken {
	var mu sync.Mutex
	values := map[string][]byte{}
	return &broken{
		commit: func(ctx context.Context, s parley.Store, b *parley.Batch) error {
			mu.Lock()
			defer mu.Unlock()
			for _, v := range b.Set {
				values[v.Key] = v.Value
			}
			return s.Commit(ctx, b)
		},
		get: func(key string, _ []byte, ok bool) ([]byte, bool) {
			mu.Lock()
			defer mu.Unlock()
			return values[key], ok
		},
	}
}

// everSeen adds who was there before.
func everSeen() func([]identity.Address) []identity.Address {
	var mu sync.Mutex
	seen := map[identity.Address]bool{}
	return func(now []identity.Address) []identity.Address {
		mu.Lock()
		defer mu.Unlock()
		for _, a := range now {
			seen[a] = true
		}
		var all []identity.Address
		for a := range seen {
			all = append(all, a)
		}
		return all
	}
}

// anyLetter takes an underscore for any letter, as LIKE does.
func anyLetter(ctx context.Context, s parley.Store, agent identity.Address, prefix, after string, limit int) ([]string, error) {
	all, err := s.Keys(ctx, agent, "", after, 1_000_000)
	all = slices.DeleteFunc(all, func(key string) bool {
		if len(key) < len(prefix) {
			return true
		}
		head := []byte(key[:len(prefix)])
		for i := range head {
			if prefix[i] == '_' {
				head[i] = '_'
			}
		}
		return !bytes.Equal(head, []byte(prefix))
	})
	return all[:min(limit, len(all))], err
}

// failingTogether refuses the batch after one that was refused, as a store does
// that rolls back all of a group.
func failingTogether() func(context.Context, parley.Store, *parley.Batch) error {
	var failed atomic.Bool
	return func(ctx context.Context, s parley.Store, b *parley.Batch) error {
		if failed.Swap(false) {
			return errors.New("rolled back")
		}
		err := s.Commit(ctx, b)
		failed.Store(err != nil)
		return err
	}
}

// forgetful are stores that lose something when they are opened again, with the
// promise that this breaks.
var forgetful = map[string]func(dir string) parley.Store{
	"everything is there after a restart":              func(string) parley.Store { return memory.New() },
	"what is gone stays gone after a restart":          replaying(func(b *parley.Batch) { b.Done = nil }),
	"a Seq is never given twice, also after a restart": func(string) parley.Store { return memory.New() },
	"commits under way when a store is closed are there or were refused": replaying(func(b *parley.Batch) {
		b.Inbox = slices.DeleteFunc(b.Inbox, func(e parley.InboxEntry) bool { return strings.HasSuffix(e.ID, "/1") })
	}),
}

// replaying keeps the batches of each folder, without what forget takes from
// them, and commits them to a new store when it is opened.
func replaying(forget func(*parley.Batch)) func(dir string) parley.Store {
	var mu sync.Mutex
	kept := map[string][]parley.Batch{}
	return func(dir string) parley.Store {
		s := memory.New()
		for _, b := range kept[dir] {
			_ = s.Commit(context.Background(), &b)
		}
		return &broken{Store: s, commit: func(ctx context.Context, s parley.Store, b *parley.Batch) error {
			mu.Lock()
			defer mu.Unlock()
			err := s.Commit(ctx, b)
			if err == nil {
				forget(b)
				kept[dir] = append(kept[dir], *b)
			}
			return err
		}}
	}
}
