package sqlite_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/store/sqlite"
)

const (
	benchAgent identity.Address = "agent1qvjv7v4ckc4y9wm2tz3m24p4g7s7wa7s5aa6hrztpkm3mnttqnuhsx7k9xk"
	benchPeer  identity.Address = "agent1qtw0hy4kj65fv6j8qyv5mgdecq7c4qyqfqnjgc25wz4vf5h47l9l6m7qqtg"
)

// BenchmarkCommit measures how fast messages are taken over: an inbox entry of
// about 700 bytes with its mark, on the disk when the committer goes on. Beside
// it, in the same run, the limit of the disk: the same bytes appended to a file,
// with fdatasync, in groups made in the same way.
func BenchmarkCommit(b *testing.B) {
	for _, committers := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("committers=%d", committers), func(b *testing.B) {
			s := openIn(b, b.TempDir(), nil)
			batches := make([]*parley.Batch, b.N)
			for i := range batches {
				batches[i] = received()
			}
			raw := newRawLog(b)
			start := time.Now()
			share(committers, b.N, func(int) { raw.append() })
			limit := float64(b.N) / time.Since(start).Seconds()
			raw.close()
			before := cpuTime()
			b.ResetTimer()

			share(committers, b.N, func(i int) {
				if err := s.Commit(context.Background(), batches[i]); err != nil {
					b.Error(err)
				}
			})

			b.StopTimer()
			rate := float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(rate, "commits/s")
			b.ReportMetric(limit, "raw/s")
			b.ReportMetric(100*rate/limit, "%ofraw")
			b.ReportMetric(float64((cpuTime()-before).Nanoseconds())/float64(b.N)/1000, "cpu-µs/op")
			b.ReportMetric(float64(b.N)/float64(s.Stats().Transactions), "commits/tx")
		})
	}
}

var random = rand.New(rand.NewPCG(1, 2))

func randomID() string {
	var id [16]byte
	for i := range id {
		id[i] = byte(random.Uint32())
	}
	return hex.EncodeToString(id[:])
}

// received is what a node commits for a message, but for the log.
func received() *parley.Batch {
	id, session := randomID(), randomID()
	m := parley.Message{
		From: benchPeer, To: benchAgent, Session: session, Proof: parley.Signed,
		Schema:   "model:1c2bc5f9d0ad2f2b3e0b4d1f0e2a9c8b7a6f5e4d3c2b1a09f8e7d6c5b4a39281",
		Protocol: "proto:a03398ea81d7aaaf67e72940937676eae0d019f8e1d8b5efbadfef9fd2e98bb2",
		Payload:  make([]byte, 300), Expires: time.Now().Add(time.Hour),
	}
	return &parley.Batch{
		Agent: benchAgent,
		Marks: []parley.Mark{{ID: id, Inbox: id, Expires: time.Now().Add(time.Hour)}},
		Inbox: []parley.InboxEntry{{ID: id, Dialogue: string(benchPeer) + "/" + session, Message: m}},
	}
}

// share has n calls of f made by a number of goroutines.
func share(goroutines, n int, f func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range goroutines {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				f(i)
			}
		})
	}
	group.Wait()
}

// rawLog appends to a file and syncs it, once for all who wait.
type rawLog struct {
	file  *os.File
	queue chan chan struct{}
	ended chan struct{}
}

func newRawLog(b *testing.B) *rawLog {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	if err != nil {
		b.Fatal(err)
	}
	l := &rawLog{f, make(chan chan struct{}, 1024), make(chan struct{})}
	go func() {
		defer close(l.ended)
		record := make([]byte, 700)
		for first := range l.queue {
			group, text := []chan struct{}{first}, append([]byte(nil), record...)
			for more := true; more; {
				select {
				case r, open := <-l.queue:
					if more = open; open {
						group, text = append(group, r), append(text, record...)
					}
				default:
					more = false
				}
			}
			if _, err := f.Write(text); err != nil {
				b.Error(err)
			}
			if err := syscall.Fdatasync(int(f.Fd())); err != nil {
				b.Error(err)
			}
			for _, r := range group {
				r <- struct{}{}
			}
		}
	}()
	return l
}

var waits = sync.Pool{New: func() any { return make(chan struct{}, 1) }}

func (l *rawLog) append() {
	done := waits.Get().(chan struct{})
	l.queue <- done
	<-done
	waits.Put(done)
}

func (l *rawLog) close() {
	close(l.queue)
	<-l.ended
	l.file.Close()
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkDialogues measures what a commit costs that moves one of many stored
// dialogues on, beside taking a message over. It should be the same for few and
// for a million, which are only tried when there is time (PARLEY_LONG).
func BenchmarkDialogues(b *testing.B) {
	for _, stored := range []int{10, 1_000_000} {
		var s *sqlite.Store
		dir, versions := b.TempDir(), make([]int64, stored)
		b.Run(fmt.Sprintf("stored=%d", stored), func(b *testing.B) {
			if stored > 1000 && !long {
				b.Skip("PARLEY_LONG is not set")
			}
			if s == nil { // b.Run calls this several times
				s = fillDialogues(b, dir, stored)
			}
			benchDialogues(b, s, versions)
		})
		if s != nil {
			s.Close()
		}
	}
}

func benchDialogues(b *testing.B, s *sqlite.Store, versions []int64) {
	b.Helper()
	batches := make([]*parley.Batch, b.N)
	for i := range batches {
		n := random.IntN(len(versions))
		versions[n]++
		batches[i] = received()
		batches[i].Dialogues = []parley.DialogueRecord{{ID: dialogueName(n), Version: versions[n] + 1, State: make([]byte, 200)}}
	}
	before := cpuTime()
	b.ResetTimer()

	for _, batch := range batches {
		mustCommit(b, s, batch)
	}

	b.StopTimer()
	b.ReportMetric(float64((cpuTime()-before).Nanoseconds())/float64(b.N)/1000, "cpu-µs/op")
}

func dialogueName(n int) string {
	return fmt.Sprintf("%s/%032x", benchPeer, uint64(n)*0x9E3779B97F4A7C15)
}

func fillDialogues(b *testing.B, dir string, count int) *sqlite.Store {
	b.Helper()
	s, err := sqlite.Open(filepath.Join(dir, "parley.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	for n := 0; n < count; n += 1000 {
		batch := &parley.Batch{Agent: benchAgent}
		for i := n; i < min(n+1000, count); i++ {
			batch.Dialogues = append(batch.Dialogues, parley.DialogueRecord{ID: dialogueName(i), Version: 1, State: make([]byte, 200)})
		}
		mustCommit(b, s, batch)
	}
	return s
}
