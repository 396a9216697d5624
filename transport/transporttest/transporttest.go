// Package transporttest holds the promises of parley.Transport as a test suite.
//
// An implementation runs it with one line:
//
//	func TestTransport(t *testing.T) { transporttest.Run(t, openPair) }
//
// A broken transport fails the suite and never hangs it: every wait in here ends.
package transporttest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/parley-agents/parley"
)

// A Pair is two transports, each able to reach the other.
type Pair struct {
	Alice, Bob     parley.Transport
	AliceAt, BobAt string // their endpoints

	// Absent is an endpoint of the same kind that nobody serves.
	Absent string

	// Crash ends Bob as the death of the process would: connections are cut and
	// nothing is answered any more.
	Crash func()
}

// Run tests the transport that open returns. Each promise gets its own pair;
// open uses t.Cleanup to release what it acquires.
func Run(t *testing.T, open func(t *testing.T) Pair) {
	for _, promise := range []struct {
		name  string
		check func(*testing.T, Pair)
	}{
		{"endpoints are recognised", endpointsAreRecognised},
		{"frames arrive unchanged", framesArriveUnchanged},
		{"replies arrive unchanged", repliesArriveUnchanged},
		{"a frame without sync gets no reply", noReplyWithoutSync},
		{"neither end shares memory with the other", noSharedMemory},
		{"both ends may send at once", bothDirections},
		{"a refusal reaches the sender with its text", refusalKeepsText},
		{"a busy peer is unavailable", busyIsUnavailable},
		{"a failure of the peer is unknown and keeps its details to itself", failureIsUnknown},
		{"an absent peer is unavailable", absentIsUnavailable},
		{"a peer that dies after taking the frame is unknown", crashIsUnknown},
		{"sync replies come back to their own request", repliesFindTheirRequest},
		{"many concurrent sends arrive once each", concurrentSends},
		{"a slow deliver does not block others", slowDeliverBlocksNobody},
		{"Send honours its context", sendHonoursContext},
		{"a caller who has gone ends the wait", goneCallerEndsTheWait},
		{"Serve drains before it returns", serveDrains},
		{"Serve stops taking when its context ends", serveStopsTaking},
		{"Serve returns when nothing is going on", serveReturnsWhenIdle},
	} {
		t.Run(promise.name, func(t *testing.T) { promise.check(t, open(t)) })
	}
}

// patience is how long the suite waits for what should happen at once. It is
// only used up by transports that are broken.
var patience = 10 * time.Second

// glance is how long the suite watches that something does not happen.
const glance = 50 * time.Millisecond

// A service is a running Serve.
type service struct {
	stop     context.CancelFunc
	returned chan error
}

// serve starts Serve and stops it at the end of the test. It returns at once:
// use a send that retries until the other end is up.
func serve(t *testing.T, tr parley.Transport, deliver parley.Deliver) *service {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	s := &service{stop: cancel, returned: make(chan error, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.returned <- tr.Serve(ctx, deliver)
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case <-done:
		case <-time.After(patience):
			t.Error("Serve did not return after its context had ended")
		}
	})
	return s
}

// A release lets blocked deliver calls go on. Tests defer open, so that a failed
// one does not wait for them.
type release struct {
	c    chan struct{}
	open func()
}

func newRelease() *release {
	c := make(chan struct{})
	return &release{c: c, open: sync.OnceFunc(func() { close(c) })}
}

type outcome struct {
	reply parley.Frame
	err   error
}

// start sends in the background, until the other end serves.
func start(ctx context.Context, tr parley.Transport, endpoint string, f parley.Frame) <-chan outcome {
	result := make(chan outcome, 1)
	go func() {
		deadline := time.Now().Add(patience)
		for {
			reply, err := tr.Send(ctx, endpoint, f)
			if code(err) == unavailable && time.Now().Before(deadline) && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
				continue
			}
			result <- outcome{reply, err}
			return
		}
	}()
	return result
}

// send sends until the other end serves, and fails the test if that takes long.
func send(t *testing.T, tr parley.Transport, endpoint string, f parley.Frame) (parley.Frame, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	o := await(t, "Send to return", start(ctx, tr, endpoint, f))
	return o.reply, o.err
}

// sendOnce is send for an end that is known not to serve.
func sendOnce(t *testing.T, tr parley.Transport, endpoint string, f parley.Frame) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	result := make(chan error, 1)
	go func() {
		_, err := tr.Send(ctx, endpoint, f)
		result <- err
	}()
	return await(t, "Send to return", result)
}

// await returns what arrives on c, or ends the test.
func await[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience + patience/4):
		t.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

const (
	refused     parley.Code = "refused"
	unavailable parley.Code = "unavailable"
	unknown     parley.Code = "unknown"
)

// code returns the code of a delivery error, "" for nil and "other" for errors
// of any other type.
func code(err error) parley.Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*parley.DeliveryError](err); ok {
		return e.Code
	}
	return "other"
}

func wantCode(t *testing.T, err error, want parley.Code) {
	t.Helper()
	if got := code(err); got != want {
		t.Errorf("Send = %v (code %q), want a *DeliveryError with code %q", err, got, want)
	}
}
