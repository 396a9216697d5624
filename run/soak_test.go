package run_test

import (
	"context"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/run"
)

// grace is how long a node takes to stop at most (the default), and what a busy
// machine adds to it.
const grace = 10*time.Second + 10*time.Second

// Two banks pay each other while one or the other is told to stop, and is
// started again: it ends in time and in order, and nothing is lost or doubled.
func TestRestartsUnderLoad(t *testing.T) {
	restarts, seed := 6, uint64(20261115)
	if os.Getenv("PARLEY_LONG") != "" {
		restarts = 60
	}
	random := rand.New(rand.NewPCG(seed, 1))
	north, south := twoBanks(t, 40*restarts)
	north.start()
	south.start()
	for range restarts {
		time.Sleep(time.Duration(50+random.IntN(200)) * time.Millisecond)
		victim := north
		if random.IntN(2) == 0 {
			victim = south
		}
		victim.terminate()
		victim.start()
	}
	settle(north, south)
}

// terminate asks a bank to end.
func (p *process) terminate() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	began, late := time.Now(), time.AfterFunc(grace, func() { _ = p.cmd.Process.Kill() })
	err := p.cmd.Wait()
	if !late.Stop() {
		p.t.Fatalf("%s does not stop within %s", p.name, time.Since(began))
	}
	if err != nil {
		p.t.Fatalf("%s does not stop in order: %v", p.name, err)
	}
}

// Two nodes exchange payments, each in a session of its own, for a while. Memory
// stays as it was after the beginning; under full load they stop in time, and no
// goroutine is left; nothing is lost or doubled.
func TestSoak(t *testing.T) {
	warmUp, length := 2*time.Second, 3*time.Second
	if os.Getenv("PARLEY_LONG") != "" {
		warmUp, length = time.Minute, 9*time.Minute
	}
	http.DefaultClient.CloseIdleConnections()
	goroutines := runtime.NumGoroutine()
	s := &soak{t: t, listen: [2]string{freeAddress(t), freeAddress(t)}, data: [2]string{t.TempDir(), t.TempDir()}}
	s.payments.Store(math.MaxInt64)
	s.start()
	time.Sleep(warmUp)
	before := memory()
	payments := s.ledger(0).Confirmed
	time.Sleep(length)
	after := memory()
	t.Logf("%d payments in %s; memory %+v, then %+v", s.ledger(0).Confirmed-payments, length, before, after)
	if s.ledger(0).Confirmed-payments < int(length.Seconds()) {
		t.Error("hardly a payment was made: the test shows nothing")
	}
	after.within(t, before)

	s.stop()
	http.DefaultClient.CloseIdleConnections()
	for range 100 {
		if runtime.NumGoroutine() <= goroutines {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines in the end, %d in the beginning\n%s", n, goroutines, stacks[:runtime.Stack(stacks, true)])
	}

	s.payments.Store(0) // only what is on its way
	s.start()
	s.check()
	s.stop()
}

// A soak is two nodes in this process.
type soak struct {
	t        *testing.T
	listen   [2]string
	data     [2]string
	payments atomic.Int64
	cancel   context.CancelFunc
	done     chan error
}

func (s *soak) start() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.done = cancel, make(chan error, 2)
	names := []string{"north", "south"}
	started := make(chan string, 2)
	for i, name := range names {
		peer := bankerKey(names[1-i]).Address()
		a := banker(name, peer, func() int { return int(s.payments.Load()) })
		go func() {
			s.done <- run.Run(ctx, &run.Options{
				Data: s.data[i], Listen: s.listen[i], Started: func(url string) { started <- url },
				Resolve: map[identity.Address]string{peer: "http://" + s.listen[1-i] + "/submit"},
			}, a)
		}()
	}
	for range names {
		select {
		case <-started:
		case err := <-s.done:
			s.t.Fatal(err)
		}
	}
}

func (s *soak) stop() {
	s.t.Helper()
	began := time.Now()
	s.cancel()
	for range 2 {
		select {
		case err := <-s.done:
			if err != nil {
				s.t.Error(err)
			}
		case <-time.After(grace):
			s.t.Fatalf("a node does not stop within %s", time.Since(began))
		}
	}
	s.t.Logf("stopped in %s", time.Since(began).Round(time.Millisecond))
}

func (s *soak) ledger(i int) ledger {
	s.t.Helper()
	return showLedger(s.t, s.listen[i])
}

// check waits until all payments are confirmed and counts the coins.
func (s *soak) check() {
	s.t.Helper()
	var a, b ledger
	for range 300 {
		a, b = s.ledger(0), s.ledger(1)
		if a.Confirmed == a.Sent && b.Confirmed == b.Sent {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if a.Sent != b.Received || b.Sent != a.Received || a.Confirmed != a.Sent || b.Confirmed != b.Sent || a.Balance+b.Balance != 2*startBalance {
		s.t.Errorf("the ledgers do not agree: %+v and %+v", a, b)
	}
}

// A footprint is what the process takes of the machine.
type footprint struct {
	Heap, Resident uint64
	Goroutines     int
}

func memory() footprint {
	runtime.GC()
	runtime.GC() // what finalizers let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f := footprint{Heap: m.HeapAlloc, Goroutines: runtime.NumGoroutine()}
	if text, err := os.ReadFile("/proc/self/statm"); err == nil { // where there is one
		pages, _ := strconv.ParseUint(strings.Fields(string(text))[1], 10, 64)
		f.Resident = pages * uint64(os.Getpagesize())
	}
	return f
}

// within checks that a footprint has not grown, with room for what is on its way
// when it is taken.
func (f footprint) within(t *testing.T, before footprint) {
	t.Helper()
	const room = 16 << 20
	if f.Heap > before.Heap+before.Heap/2+room {
		t.Errorf("the heap grew from %d to %d bytes", before.Heap, f.Heap)
	}
	if f.Resident > before.Resident+before.Resident/2+2*room {
		t.Errorf("resident memory grew from %d to %d bytes", before.Resident, f.Resident)
	}
	if f.Goroutines > 2*before.Goroutines+200 {
		t.Errorf("%d goroutines became %d", before.Goroutines, f.Goroutines)
	}
}
