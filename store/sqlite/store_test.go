package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/store/sqlite"
	"github.com/parley-agents/parley/store/storetest"
)

const alice identity.Address = "agent1alice"

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) parley.Store { return openIn(t, t.TempDir(), nil) })
}

func TestDurableStore(t *testing.T) {
	storetest.RunDurable(t, func(t *testing.T, dir string) parley.Store { return openIn(t, dir, nil) })
}

func openIn(t testing.TB, dir string, opts *sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(filepath.Join(dir, "parley.db"), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return s
}

func set(key string) *parley.Batch {
	return &parley.Batch{Agent: alice, Set: []parley.KeyValue{{Key: key, Value: []byte("value of " + key)}}}
}

func mustCommit(t testing.TB, s parley.Store, b *parley.Batch) {
	t.Helper()
	if err := s.Commit(context.Background(), b); err != nil {
		t.Fatal(err)
	}
}

// numbered is batch n of a series: an inbox entry, a reply to it, a value and a
// log record, which are there together or not at all.
func numbered(n int) *parley.Batch {
	id := fmt.Sprintf("%06d", n)
	m := parley.Message{From: "agent1bob", To: alice, Session: "session", Payload: []byte(strings.Repeat(id, 50+n%200))}
	out := m
	out.From, out.To = m.To, m.From
	return &parley.Batch{
		Agent: alice, Marks: []parley.Mark{{ID: id, Expires: time.Now().Add(time.Hour)}}, Inbox: []parley.InboxEntry{{ID: id, Message: m}},
		Outbox: []parley.OutboxEntry{{ID: id, InReply: id, Message: out}}, Set: []parley.KeyValue{{Key: id, Value: m.Payload}},
		Log: []parley.LogRecord{{Time: time.Now(), Event: "received", ID: id, Message: m}},
	}
}

// series returns which numbered batches are there, and fails the test if one of
// them is not whole.
func series(t testing.TB, s parley.Store) map[string]bool {
	t.Helper()
	ctx := context.Background()
	inbox, err1 := s.Inbox(ctx, alice, 0, 1_000_000)
	outbox, err2 := s.Outbox(ctx, "agent1bob", 0, 1_000_000)
	keys, err3 := s.Keys(ctx, alice, "", "", 1_000_000)
	log, err4 := s.Log(ctx, parley.LogQuery{Limit: 1_000_000})
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	parts := map[string]int{}
	for _, e := range inbox {
		parts[e.ID]++
		if want := numbered(number(t, e.ID)).Inbox[0].Message.Payload; string(e.Message.Payload) != string(want) {
			t.Errorf("batch %s: the payload is not what was committed", e.ID)
		}
	}
	for _, e := range outbox {
		parts[e.ID]++
	}
	for _, key := range keys {
		parts[key]++
	}
	for _, r := range log {
		parts[r.ID]++
	}
	found := map[string]bool{}
	for id, n := range parts {
		found[id] = true
		if n != 4 {
			t.Errorf("batch %s has %d parts of 4", id, n)
		}
	}
	return found
}

func number(t testing.TB, id string) (n int) {
	t.Helper()
	if _, err := fmt.Sscanf(id, "%d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestCommitsThatArriveTogetherShareATransaction(t *testing.T) {
	s := openIn(t, t.TempDir(), nil)
	const committers, each = 64, 50

	var group sync.WaitGroup
	for i := range committers {
		group.Go(func() {
			for n := range each {
				if err := s.Commit(t.Context(), set(fmt.Sprint(i, n))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()

	stats := s.Stats()
	if stats.Commits != committers*each || stats.Refused != 0 {
		t.Errorf("%d commits and %d refused, want %d and none", stats.Commits, stats.Refused, committers*each)
	}
	if stats.Transactions > stats.Commits/4 {
		t.Errorf("%d transactions for %d commits of %d committers, want a quarter at most", stats.Transactions, stats.Commits, committers)
	}
}

// One writer and a queue of one: whoever is third waits for a place, and gives
// up when its context ends.
func TestAFullQueueHonoursTheContext(t *testing.T) {
	s := openIn(t, t.TempDir(), &sqlite.Options{Queue: 1})
	var group sync.WaitGroup
	refused := make(chan string, 1000)

	for i := range 50 {
		group.Go(func() {
			for n := range 20 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*n)*time.Microsecond)
				key := fmt.Sprintf("%d/%d", i, n)
				if err := s.Commit(ctx, set(key)); err != nil {
					if fault.CodeOf(err) != fault.Unavailable || !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("Commit = %v, want the deadline, with code %s", err, fault.Unavailable)
					}
					refused <- key
				}
				cancel()
			}
		})
	}
	group.Wait()
	close(refused)

	count := 0
	for key := range refused {
		count++
		if _, ok, err := s.Get(t.Context(), alice, key); ok || err != nil {
			t.Errorf("Get(%q) = %v, %v after its commit was given up", key, ok, err)
		}
	}
	if keys, err := s.Keys(t.Context(), alice, "", "", 10_000); err != nil || len(keys)+count != 1000 {
		t.Errorf("%d keys are there and %d were given up, want 1000 together (%v)", len(keys), count, err)
	}
	if count == 0 {
		t.Error("nobody had to give up: the test shows nothing")
	}
}

func TestReadsGiveUpWhenAllReadersAreBusy(t *testing.T) {
	s := openIn(t, t.TempDir(), &sqlite.Options{Readers: 1})
	release := sqlite.HoldReaders(t, s)

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, _, err := s.Get(ctx, alice, "key")

	if !errors.Is(err, context.DeadlineExceeded) || fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("Get = %v, want the deadline, with code %s", err, fault.Unavailable)
	}
	release()
	if _, _, err := s.Get(t.Context(), alice, "key"); err != nil {
		t.Errorf("Get = %v when a reader is free", err)
	}
}

func TestCloseLeavesOneFileAndNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	dir := t.TempDir()
	for range 5 {
		s := openIn(t, dir, nil)
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				mustCommit(t, s, set(fmt.Sprint(i)))
				_, _, _ = s.Get(t.Context(), alice, "1")
			})
		}
		group.Wait()
		if err := s.Close(); err != nil {
			t.Fatalf("Close = %v", err)
		}
	}

	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	if got := strings.Join(files, " "); got != "parley.db parley.db.lock" {
		t.Errorf("the folder has %s, want the file and its lock", got)
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
}
