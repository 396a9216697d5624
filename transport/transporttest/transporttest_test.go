package transporttest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/transport/parleymem"
	"github.com/parley-agents/parley/transport/transporttest"
)

// A broken transport breaks promises in one way.
type broken struct {
	parley.Transport
	send    func(ctx context.Context, to parley.Transport, endpoint string, f parley.Frame) (parley.Frame, error)
	serve   func(ctx context.Context, by parley.Transport, deliver parley.Deliver) error
	reaches func(string) bool
}

func (b broken) Send(ctx context.Context, endpoint string, f parley.Frame) (parley.Frame, error) {
	if b.send == nil {
		return b.Transport.Send(ctx, endpoint, f)
	}
	return b.send(ctx, b.Transport, endpoint, f)
}

func (b broken) Serve(ctx context.Context, deliver parley.Deliver) error {
	if b.serve == nil {
		return b.Transport.Serve(ctx, deliver)
	}
	return b.serve(ctx, b.Transport, deliver)
}

func (b broken) Reaches(endpoint string) bool {
	if b.reaches == nil {
		return b.Transport.Reaches(endpoint)
	}
	return b.reaches(endpoint)
}

// breakages are transports that break a promise, with the promise.
var breakages = map[string]broken{
	"endpoints are recognised": {reaches: func(string) bool { return true }},

	"frames arrive unchanged": {send: func(ctx context.Context, to parley.Transport, endpoint string, f parley.Frame) (parley.Frame, error) {
		f.Body = []byte(strings.ToValidUTF8(string(f.Body), "?"))
		return to.Send(ctx, endpoint, f)
	}},

	"replies arrive unchanged": {send: func(ctx context.Context, to parley.Transport, endpoint string, f parley.Frame) (parley.Frame, error) {
		reply, err := to.Send(ctx, endpoint, f)
		reply.Body = []byte(strings.TrimSpace(string(reply.Body)))
		return reply, err
	}},

	"a frame without sync gets no reply": {send: func(ctx context.Context, to parley.Transport, endpoint string, f parley.Frame) (parley.Frame, error) {
		f.Sync = true
		return to.Send(ctx, endpoint, f)
	}},

	"neither end shares memory with the other": {serve: func(ctx context.Context, by parley.Transport, deliver parley.Deliver) error {
		var buffer []byte
		return by.Serve(ctx, func(ctx context.Context, f parley.Frame) (parley.Frame, error) {
			buffer = append(buffer[:0], f.Body...)
			f.Body = buffer
			reply, err := deliver(ctx, f)
			copy(buffer, "reused")
			return reply, err
		})
	}},

	"a refusal reaches the sender with its text": {serve: mapErrors(func(error) error { return parley.Errorf(fault.Refused, "no") })},

	"a busy peer is unavailable": {serve: mapErrors(func(err error) error { return parley.Errorf(fault.Refused, "%v", err) })},

	"a failure of the peer is unknown and keeps its details to itself": {
		serve: mapErrors(func(err error) error { return parley.Errorf(fault.Unavailable, "%v", err) }),
	},

	"an absent peer is unavailable": {send: func(ctx context.Context, to parley.Transport, endpoint string, f parley.Frame) (parley.Frame, error) {
		reply, err := to.Send(ctx, endpoint, f)
		if strings.Contains(endpoint, "nobody") {
			return reply, nil
		}
		return reply, err
	}},

	"a peer that dies after taking the frame is unknown": {send: recode(fault.Unknown, fault.Refused)},

	"sync replies come back to their own request": {send: swapReplies()},

	"many concurrent sends arrive once each": {send: func(ctx context.Context, to parley.Transport, endpoint string, f parley.Frame) (parley.Frame, error) {
		if len(f.Body) == 8 && f.Body[7] == 77 {
			return parley.Frame{}, nil
		}
		return to.Send(ctx, endpoint, f)
	}},

	"a slow deliver does not block others": {serve: func(ctx context.Context, by parley.Transport, deliver parley.Deliver) error {
		var mu sync.Mutex
		return by.Serve(ctx, func(ctx context.Context, f parley.Frame) (parley.Frame, error) {
			mu.Lock()
			defer mu.Unlock()
			return deliver(ctx, f)
		})
	}},

	"Send honours its context": {send: func(ctx context.Context, to parley.Transport, endpoint string, f parley.Frame) (parley.Frame, error) {
		return to.Send(context.WithoutCancel(ctx), endpoint, f)
	}},

	"a caller who has gone ends the wait": {serve: func(ctx context.Context, by parley.Transport, deliver parley.Deliver) error {
		return by.Serve(ctx, func(ctx context.Context, f parley.Frame) (parley.Frame, error) {
			return deliver(context.WithoutCancel(ctx), f)
		})
	}},

	"Serve drains before it returns": {serve: func(ctx context.Context, by parley.Transport, deliver parley.Deliver) error {
		go by.Serve(ctx, deliver)
		<-ctx.Done()
		return nil
	}},

	"Serve stops taking when its context ends": {serve: func(ctx context.Context, by parley.Transport, deliver parley.Deliver) error {
		go by.Serve(context.WithoutCancel(ctx), deliver)
		<-ctx.Done()
		return nil
	}},

	"Serve returns when nothing is going on": {serve: func(ctx context.Context, by parley.Transport, deliver parley.Deliver) error {
		return by.Serve(context.WithoutCancel(ctx), deliver)
	}},
}

func mapErrors(f func(error) error) func(context.Context, parley.Transport, parley.Deliver) error {
	return func(ctx context.Context, by parley.Transport, deliver parley.Deliver) error {
		return by.Serve(ctx, func(ctx context.Context, in parley.Frame) (parley.Frame, error) {
			reply, err := deliver(ctx, in)
			if err != nil {
				err = f(err)
			}
			return reply, err
		})
	}
}

func recode(from, to parley.Code) func(context.Context, parley.Transport, string, parley.Frame) (parley.Frame, error) {
	return func(ctx context.Context, by parley.Transport, endpoint string, f parley.Frame) (parley.Frame, error) {
		reply, err := by.Send(ctx, endpoint, f)
		if e, ok := errors.AsType[*parley.DeliveryError](err); ok && e.Code == from {
			e.Code = to
		}
		return reply, err
	}
}

// swapReplies hands each sync reply to whoever comes next, as a transport does
// that matches replies by sender only.
func swapReplies() func(context.Context, parley.Transport, string, parley.Frame) (parley.Frame, error) {
	var mu sync.Mutex
	var last []byte
	return func(ctx context.Context, by parley.Transport, endpoint string, f parley.Frame) (parley.Frame, error) {
		reply, err := by.Send(ctx, endpoint, f)
		mu.Lock()
		defer mu.Unlock()
		last, reply.Body = reply.Body, last
		return reply, err
	}
}

// The suite is run against each broken transport in a process of its own, since
// a suite that fails is what is wanted.
func TestTheSuiteSeesWhatIsBroken(t *testing.T) {
	const variable = "PARLEY_BROKEN_TRANSPORT"
	if promise := os.Getenv(variable); promise != "" {
		transporttest.SetPatience(500 * time.Millisecond)
		transporttest.Run(t, func(*testing.T) transporttest.Pair { return breakPair(breakages[promise]) })
		return
	}
	for promise := range breakages {
		t.Run(promise, func(t *testing.T) {
			t.Parallel()
			line := strings.ReplaceAll(promise, " ", "_")
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.timeout=1m", "-test.run=^TestTheSuiteSeesWhatIsBroken$/^"+line+"$")
			cmd.Env = append(os.Environ(), variable+"="+promise)

			out, err := cmd.CombinedOutput()

			if err == nil || !strings.Contains(string(out), "--- FAIL: TestTheSuiteSeesWhatIsBroken/"+line) {
				t.Errorf("the suite passes a transport that breaks this promise (%v):\n%s", err, out)
			}
			if strings.Contains(string(out), "test timed out") {
				t.Errorf("the suite hangs:\n%s", out)
			}
		})
	}
}

func breakPair(b broken) transporttest.Pair {
	var network parleymem.Network
	alice, bob := network.Join("alice"), network.Join("bob")
	brokenAlice, brokenBob := b, b
	brokenAlice.Transport, brokenBob.Transport = alice, bob
	return transporttest.Pair{
		Alice: brokenAlice, AliceAt: alice.Endpoint(),
		Bob: brokenBob, BobAt: bob.Endpoint(),
		Absent: "mem://nobody",
		Crash:  bob.Crash,
	}
}
