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
			s := openBench(b, b.TempDir())
			batches := make([]*parley.Batch, b.N)
			for i := range batches {
				batches[i] = received(i)
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

func openBench(b *testing.B, dir string) *sqlite.Store {
	b.Helper()
	s, err := sqlite.Open(filepath.Join(dir, "parley.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
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
func received(int) *parley.Batch {
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
