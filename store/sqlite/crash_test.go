package sqlite_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/store/sqlite"
)

// long says that there is time for full counts.
var long = os.Getenv("PARLEY_LONG") != ""

func init() {
	children["commit"] = commitForEver
}

// commitForEver commits numbered batches from many goroutines and says which were
// acknowledged, until it is killed. It goes on after the last that is there, and
// trims and reads meanwhile, so that these are killed as well.
func commitForEver(path string) error {
	s, err := sqlite.Open(path, &sqlite.Options{CheckLimit: 1 << 30})
	if err != nil {
		return err
	}
	ctx := context.Background()
	keys, err := s.Keys(ctx, alice, "", "", 1_000_000)
	if err != nil {
		return err
	}
	var next atomic.Int64
	if len(keys) > 0 {
		var last int64
		_, _ = fmt.Sscan(strings.TrimLeft(keys[len(keys)-1], "0"), &last)
		next.Store(last + 1)
	}
	fmt.Println("open")
	failed := make(chan error, 1)
	for range 16 {
		go func() {
			for {
				n := int(next.Add(1))
				if err := s.Commit(ctx, numbered(n)); err != nil {
					failed <- err
					return
				}
				_, _ = os.Stdout.WriteString(fmt.Sprintf("%06d\n", n)) // one write, so a whole line
			}
		}()
	}
	go func() {
		for {
			b := &parley.Batch{Agent: "agent1carol"}
			for i := range 50 {
				b.Marks = append(b.Marks, parley.Mark{ID: fmt.Sprint(rand.Uint64(), i), Expires: time.Now().Add(-time.Second)})
			}
			if err := s.Commit(ctx, b); err != nil {
				failed <- err
				return
			}
			if _, err := s.Trim(ctx, time.Now(), time.Now().Add(-time.Hour)); err != nil {
				failed <- err
				return
			}
		}
	}()
	return <-failed
}

// TestNothingAcknowledgedIsLostWhenKilled kills a process that commits, at random
// moments, again and again, and opens what it leaves behind.
func TestNothingAcknowledgedIsLostWhenKilled(t *testing.T) {
	kills := 20
	if long {
		kills = 200
	}
	var path string
	acknowledged, total := map[string]bool{}, 0
	for kill := range kills {
		if kill%10 == 0 { // a new file, lest the checks take all the time
			path = filepath.Join(t.TempDir(), "parley.db")
			clear(acknowledged)
		}
		p := spawn(t, "commit", path)
		p.await(t, "open")
		var lines sync.WaitGroup
		lines.Go(func() {
			for p.lines.Scan() {
				if id := p.lines.Text(); len(id) == 6 {
					acknowledged[id] = true
					total++
				}
			}
		})
		time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond)
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		lines.Wait()
		_ = p.Wait()

		s, err := sqlite.Open(path, &sqlite.Options{CheckLimit: 1 << 30})
		if err != nil {
			t.Fatalf("after kill %d: Open = %v", kill, err)
		}
		found := series(t, s)
		for id := range acknowledged {
			if !found[id] {
				t.Errorf("after kill %d: batch %s was acknowledged and is gone", kill, id)
			}
		}
		if kill == kills-1 && total < 100 {
			t.Errorf("only %d batches were acknowledged: the test shows little", total)
		}
		if err := s.Close(); err != nil {
			t.Errorf("after kill %d: Close = %v", kill, err)
		}
		if t.Failed() {
			return
		}
	}
}

// TestATornLogLosesItsEndAtMost cuts and spoils the write-ahead log at many
// places. What is left is always a start of what was committed.
func TestATornLogLosesItsEndAtMost(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir, nil)
	const count = 40
	for n := 1; n <= count; n++ {
		mustCommit(t, s, numbered(n))
	}
	file, err := os.ReadFile(filepath.Join(dir, "parley.db"))
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(dir, "parley.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	// reopened returns how many batches are there with another log.
	reopened := func(t *testing.T, log []byte) int {
		t.Helper()
		dir := t.TempDir()
		path := filepath.Join(dir, "parley.db")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+"-wal", log, 0o600); err != nil {
			t.Fatal(err)
		}
		s := openIn(t, dir, nil)
		found := series(t, s)
		for n := 1; n <= len(found); n++ {
			if !found[fmt.Sprintf("%06d", n)] {
				t.Errorf("batch %d of %d is missing", n, len(found))
			}
		}
		mustCommit(t, s, numbered(count+1)) // and it can be used
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		return len(found)
	}

	if got := reopened(t, log); got != count {
		t.Fatalf("%d batches are there with the whole log, want %d", got, count)
	}
	for _, torn := range []int{1, 100, 4095, 4096, 4120} { // within the last page
		if got := reopened(t, log[:len(log)-torn]); got != count-1 {
			t.Errorf("%d batches are there without the last %d bytes, want all but the last", got, torn)
		}
	}
	spoilt := append([]byte(nil), log...)
	spoilt[len(spoilt)-2000] ^= 0x40
	if got := reopened(t, spoilt); got != count-1 {
		t.Errorf("%d batches are there with a bit of the last page flipped, want all but the last", got)
	}
	if got := reopened(t, append(append([]byte(nil), log...), "half a page that was never finished"...)); got != count {
		t.Errorf("%d batches are there with rubbish after the end, want all", got)
	}

	cuts, last := 30, 0
	if long {
		cuts = 500
	}
	for i := range cuts {
		got := reopened(t, log[:len(log)*i/cuts])
		if got < last {
			t.Errorf("%d batches are there with more of the log, %d with less", got, last)
		}
		last = got
	}
}
