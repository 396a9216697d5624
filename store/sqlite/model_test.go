package sqlite_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/store/memory"
	"github.com/parley-agents/parley/store/sqlite"
)

// TestTheStoreAgreesWithTheOneInMemory commits random batches to both and
// compares everything that can be read, page by page. The log is long enough to
// have several blocks.
func TestTheStoreAgreesWithTheOneInMemory(t *testing.T) {
	rounds, steps := 1, 800
	if long {
		rounds, steps = 30, 1600
	}
	for round := range rounds {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Logf("seed %d", seed)
			m := &model{T: t, random: rand.New(rand.NewPCG(seed, 0)), path: filepath.Join(t.TempDir(), "parley.db"), memory: memory.New()}
			m.reopen()
			t.Cleanup(func() { m.sqlite.Close() })
			for step := range steps {
				m.commit()
				switch {
				case step%400 == 399:
					m.compare()
				case step%170 == 169:
					m.trim()
				case step%250 == 249:
					m.reopen()
				}
				if t.Failed() {
					t.Fatalf("at step %d of seed %d", step, seed)
				}
			}
			m.compare()
		})
	}
}

// model is the two stores.
type model struct {
	*testing.T
	random *rand.Rand
	path   string
	memory parley.Store
	sqlite *sqlite.Store
	dead   int // letters buried so far
}

var (
	modelAgents = []identity.Address{"agent1alice", "agent1bob", "", "agent1carol"}
	modelStart  = time.Date(2024, 5, 17, 12, 0, 0, 0, time.UTC)
)

func (m *model) reopen() {
	m.Helper()
	if m.sqlite != nil {
		if err := m.sqlite.Close(); err != nil {
			m.Fatal(err)
		}
	}
	var err error
	if m.sqlite, err = sqlite.Open(m.path, nil); err != nil {
		m.Fatal(err)
	}
}

func pick[T any](m *model, from []T) T { return from[m.random.IntN(len(from))] }

func (m *model) name(n int) string { return fmt.Sprint("name ", m.random.IntN(n)) }

func (m *model) time() time.Time {
	if m.random.IntN(10) == 0 {
		return time.Time{}
	}
	return modelStart.Add(time.Duration(m.random.Int64N(int64(time.Hour)))).Truncate(time.Microsecond)
}

func (m *model) message() parley.Message {
	return parley.Message{
		From: pick(m, modelAgents), To: pick(m, modelAgents), Session: pick(m, []string{"", "s1", "s2", "s3"}), Schema: m.name(3), Protocol: m.name(3),
		Payload: make([]byte, m.random.IntN(100)), Proof: parley.Signed, Expires: m.time(), Sync: m.random.IntN(2) == 0,
	}
}

// some calls f a few times, mostly not at all.
func (m *model) some(f func()) {
	for range max(0, m.random.IntN(6)-3) {
		f()
	}
}

func (m *model) batch() *parley.Batch {
	b := &parley.Batch{Agent: pick(m, modelAgents)}
	m.some(func() {
		b.Marks = append(b.Marks, parley.Mark{ID: m.name(2000), Inbox: m.name(2000), Expires: m.time()})
	})
	m.some(func() {
		b.Inbox = append(b.Inbox, parley.InboxEntry{ID: m.name(300), Dialogue: m.name(9), Message: m.message(), Attempts: m.random.IntN(9), Before: m.time()})
	})
	m.some(func() { b.Done = append(b.Done, m.name(300)) })
	m.some(func() {
		b.Retry = append(b.Retry, parley.Retry{ID: m.name(300), Attempts: m.random.IntN(9), Before: m.time()})
	})
	m.some(func() {
		b.Outbox = append(b.Outbox, parley.OutboxEntry{
			ID: m.name(500), InReply: pick(m, []string{"", m.name(100)}), Dialogue: m.name(9), Message: m.message(), Sealed: make([]byte, m.random.IntN(50)), Sync: m.random.IntN(2) == 0,
			Repeats: m.random.IntN(2) == 0, Deadline: m.time(), State: parley.OutboxState(m.random.IntN(4)), Attempts: m.random.IntN(9), Next: m.time(), Reason: m.reason(),
		})
	})
	m.some(func() {
		b.Outcomes = append(b.Outcomes, parley.Outcome{ID: m.name(500), State: parley.OutboxState(m.random.IntN(4)), Attempts: m.random.IntN(9), Next: m.time(), Reason: m.reason()})
	})
	m.some(func() {
		m.dead++ // a name of its own, by which it is found again
		b.Bury = append(b.Bury, parley.DeadLetter{Time: m.time(), Inbound: m.random.IntN(2) == 0, ID: fmt.Sprint("dead ", m.dead), Message: m.message(), Code: fault.Refused, Reason: m.name(9)})
	})
	m.some(func() {
		id := m.name(50)
		d, err := m.memory.Dialogue(m.Context(), b.Agent, id)
		if err != nil {
			m.Fatal(err)
		}
		if m.random.IntN(8) == 0 {
			d.Version += int64(m.random.IntN(4)) - 2
		}
		b.Dialogues = append(b.Dialogues, parley.DialogueRecord{ID: id, Version: d.Version + 1, State: make([]byte, m.random.IntN(500))})
	})
	m.some(func() {
		b.Set = append(b.Set, parley.KeyValue{Key: m.name(300), Value: make([]byte, m.random.IntN(200))})
	})
	m.some(func() { b.Delete = append(b.Delete, m.name(300)) })
	for range m.random.IntN(6) {
		b.Log = append(b.Log, parley.LogRecord{Time: m.time(), Event: m.name(9), ID: m.name(1000), Message: m.message(), Detail: m.name(9)})
	}
	return b
}

func (m *model) reason() *parley.DeliveryError {
	if m.random.IntN(2) == 0 {
		return nil
	}
	return &parley.DeliveryError{Code: fault.Unknown, Endpoint: m.name(9), Status: m.random.IntN(600), Text: m.name(9)}
}

func (m *model) commit() {
	m.Helper()
	b := m.batch()
	there := *b
	if m.random.IntN(3) == 0 { // the same letter in both stores, which number it as they like
		ours, theirs := must(m.memory.Dead(m.Context(), 0, 1_000_000))(m), must(m.sqlite.Dead(m.Context(), 0, 1_000_000))(m)
		if len(ours) > 0 && len(ours) == len(theirs) {
			i := m.random.IntN(len(ours))
			b.Unbury, there.Unbury = []int64{ours[i].Seq}, []int64{theirs[i].Seq}
		}
	}

	want, got := m.memory.Commit(m.Context(), b), m.sqlite.Commit(m.Context(), &there)

	wantSeen, seen := errors.AsType[*parley.SeenError](want)
	gotSeen, also := errors.AsType[*parley.SeenError](got)
	if seen != also || seen && *wantSeen != *gotSeen || !seen && fault.CodeOf(want) != fault.CodeOf(got) {
		m.Errorf("Commit = %v, in memory %v", got, want)
	}
}

func (m *model) trim() {
	m.Helper()
	now, before := m.time(), m.time()
	if m.random.IntN(4) == 0 {
		before = time.Now().Add(time.Hour)
	}
	for _, s := range []parley.Store{m.memory, m.sqlite} {
		for more := true; more; {
			more = must(s.Trim(m.Context(), now, before))(m)
		}
	}
}

func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func (m *model) compare() {
	m.Helper()
	ctx := m.Context()
	same(m, "Waiting", func(s parley.Store) []identity.Address { return slices.Sorted(slices.Values(must(s.Waiting(ctx))(m))) })
	same(m, "Targets", func(s parley.Store) []identity.Address { return slices.Sorted(slices.Values(must(s.Targets(ctx))(m))) })
	pages(m, "Dead", func(s parley.Store, after int64, limit int) []parley.DeadLetter {
		return must(s.Dead(ctx, after, limit))(m)
	})
	for _, agent := range append(modelAgents, "agent1nell") {
		pages(m, "Inbox", func(s parley.Store, after int64, limit int) []parley.InboxEntry {
			return must(s.Inbox(ctx, agent, after, limit))(m)
		})
		pages(m, "Outbox", func(s parley.Store, after int64, limit int) []parley.OutboxEntry {
			return must(s.Outbox(ctx, agent, after, limit))(m)
		})
		for _, session := range []string{"", "s1", "s2", "no such"} {
			q := parley.LogQuery{Agent: agent, Session: session}
			pages(m, fmt.Sprintf("%+v", q), func(s parley.Store, after int64, limit int) []parley.LogRecord {
				q := q
				q.After, q.Limit = after, limit
				return must(s.Log(ctx, q))(m)
			})
			for _, limit := range []int{1, 7, 300, 1_000_000} {
				q.Last, q.Limit = true, limit
				same(m, fmt.Sprintf("%+v", q), func(s parley.Store) []parley.LogRecord { return must(s.Log(ctx, q))(m) })
			}
		}
		for n := range 50 {
			same(m, "Dialogue", func(s parley.Store) []parley.DialogueRecord {
				return []parley.DialogueRecord{must(s.Dialogue(ctx, agent, fmt.Sprint("name ", n)))(m)}
			})
		}
		for n := range 100 {
			same(m, "Replies", func(s parley.Store) []parley.OutboxEntry {
				return must(s.Replies(ctx, agent, fmt.Sprint("name ", n)))(m)
			})
		}
		prefix, after, limit := pick(m, []string{"", "name 1", "name 2"}), m.name(300), m.random.IntN(100)
		same(m, "Keys", func(s parley.Store) []string { return must(s.Keys(ctx, agent, prefix, after, limit))(m) })
	}
}

// same compares what the two stores return, but for Seq.
func same[T any](m *model, what string, read func(parley.Store) []T) {
	m.Helper()
	want, got := unnumbered(read(m.memory)), unnumbered(read(m.sqlite))
	if !reflect.DeepEqual(got, want) {
		m.Errorf("%s: %d, in memory %d, or they differ:\n%.2000s\n%.2000s", what, len(got), len(want), fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
	}
}

// pages reads all by pages of a random size and compares.
func pages[T any](m *model, what string, read func(s parley.Store, after int64, limit int) []T) {
	m.Helper()
	limit := 1 + m.random.IntN(400)
	same(m, what, func(s parley.Store) (all []T) {
		var after int64
		for {
			page := read(s, after, limit)
			all = append(all, page...)
			if len(page) < limit {
				return all
			}
			after = reflect.ValueOf(page[len(page)-1]).FieldByName("Seq").Int()
		}
	})
}

// unnumbered returns entries without their Seq, and without the differences
// between nil and empty.
func unnumbered[T any](entries []T) []T {
	for i := range entries {
		v := reflect.ValueOf(&entries[i]).Elem()
		if v.Kind() != reflect.Struct {
			continue
		}
		if seq := v.FieldByName("Seq"); seq.IsValid() {
			seq.SetZero()
		}
		for _, name := range []string{"Sealed", "State"} {
			if f := v.FieldByName(name); f.IsValid() && f.Kind() == reflect.Slice && f.Len() == 0 {
				f.SetZero()
			}
		}
		if message := v.FieldByName("Message"); message.IsValid() && message.FieldByName("Payload").Len() == 0 {
			message.FieldByName("Payload").SetZero()
		}
	}
	if len(entries) == 0 {
		return nil
	}
	return entries
}
