package transporttest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
)

// contents are the bytes that frames are tried with. A transport does not know
// what they mean.
func contents() [][]byte {
	random := make([]byte, 1<<20)
	source := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(source.Uint32())
	}
	return [][]byte{
		{},
		{0},
		[]byte("{}"),
		[]byte("\r\n0\r\n\r\n"),
		{0xff, 0xfe, 0x00, '\n', '"'},
		bytes.Repeat([]byte{0xff, '\n'}, 1<<15),
		random,
	}
}

func endpointsAreRecognised(t *testing.T, p Pair) {
	for _, endpoint := range []string{p.AliceAt, p.BobAt, p.Absent} {
		if !p.Alice.Reaches(endpoint) || !p.Bob.Reaches(endpoint) {
			t.Errorf("Reaches(%q) = false, want true", endpoint)
		}
	}
	for _, endpoint := range []string{"", "nonsense", "carrier-pigeon://bob", "://", "http://%zz"} {
		if p.Alice.Reaches(endpoint) {
			t.Errorf("Reaches(%q) = true, want false", endpoint)
		}
	}
}

func framesArriveUnchanged(t *testing.T, p Pair) {
	got := make(chan parley.Frame, 1)
	serve(t, p.Bob, func(_ context.Context, f parley.Frame) (parley.Frame, error) {
		got <- f
		return parley.Frame{}, nil
	})
	for _, body := range contents() {
		for _, sync := range []bool{false, true} {
			_, err := send(t, p.Alice, p.BobAt, parley.Frame{Body: body, Sync: sync})
			if err != nil {
				t.Fatalf("Send of %d bytes, sync %v: %v", len(body), sync, err)
			}
			f := await(t, "the frame", got)
			if !bytes.Equal(f.Body, body) {
				t.Errorf("sent %d bytes, got %d others", len(body), len(f.Body))
			}
			if f.Sync != sync {
				t.Errorf("sent with Sync %v, got %v", sync, f.Sync)
			}
			if f.Peer == "" {
				t.Error("Peer is empty, want the name of the other end")
			}
		}
	}
}

func repliesArriveUnchanged(t *testing.T, p Pair) {
	serve(t, p.Bob, func(_ context.Context, f parley.Frame) (parley.Frame, error) {
		return parley.Frame{Body: f.Body}, nil
	})
	for _, body := range contents() {
		reply, err := send(t, p.Alice, p.BobAt, parley.Frame{Body: body, Sync: true})
		if err != nil {
			t.Fatalf("Send of %d bytes: %v", len(body), err)
		}
		if !bytes.Equal(reply.Body, body) {
			t.Errorf("the reply has %d bytes, got %d others", len(body), len(reply.Body))
		}
	}
}

func noReplyWithoutSync(t *testing.T, p Pair) {
	serve(t, p.Bob, func(context.Context, parley.Frame) (parley.Frame, error) {
		return parley.Frame{Body: []byte("nobody asked")}, nil
	})

	reply, err := send(t, p.Alice, p.BobAt, parley.Frame{Body: []byte("x")})

	if err != nil || len(reply.Body) != 0 {
		t.Errorf("Send = %q, %v, want no reply", reply.Body, err)
	}
}

func noSharedMemory(t *testing.T, p Pair) {
	answer := []byte("answer")
	kept := make(chan []byte, 1)
	serve(t, p.Bob, func(_ context.Context, f parley.Frame) (parley.Frame, error) {
		kept <- f.Body
		return parley.Frame{Body: answer}, nil
	})
	body := []byte("question")

	reply, err := send(t, p.Alice, p.BobAt, parley.Frame{Body: body, Sync: true})
	if err != nil {
		t.Fatal(err)
	}
	received := await(t, "the frame", kept)
	copy(body, "????????")
	copy(reply.Body, "!!!!!!")

	if string(received) != "question" {
		t.Error("the receiver's bytes change with the sender's")
	}
	if string(answer) != "answer" {
		t.Error("the receiver's reply changes with the sender's")
	}
	copy(received, "--------")
	if string(body) != "????????" {
		t.Error("the sender's bytes change with the receiver's")
	}
}

func bothDirections(t *testing.T, p Pair) {
	echo := func(_ context.Context, f parley.Frame) (parley.Frame, error) {
		return parley.Frame{Body: append([]byte("re: "), f.Body...)}, nil
	}
	serve(t, p.Alice, echo)
	serve(t, p.Bob, echo)

	toBob := start(t.Context(), p.Alice, p.BobAt, parley.Frame{Body: []byte("bob"), Sync: true})
	toAlice := start(t.Context(), p.Bob, p.AliceAt, parley.Frame{Body: []byte("alice"), Sync: true})

	if o := await(t, "Bob's reply", toBob); o.err != nil || string(o.reply.Body) != "re: bob" {
		t.Errorf("Bob answered %q, %v", o.reply.Body, o.err)
	}
	if o := await(t, "Alice's reply", toAlice); o.err != nil || string(o.reply.Body) != "re: alice" {
		t.Errorf("Alice answered %q, %v", o.reply.Body, o.err)
	}
}

func refusalKeepsText(t *testing.T, p Pair) {
	var next atomic.Value
	serve(t, p.Bob, func(context.Context, parley.Frame) (parley.Frame, error) {
		return parley.Frame{}, parley.Errorf(next.Load().(parley.Code), "not \"you\", %s, über 7", next.Load())
	})
	for _, reason := range []parley.Code{
		fault.Malformed, fault.Unverified, fault.TooLarge, fault.Unsupported, fault.NotFound, fault.Conflict,
		fault.Expired, fault.OutOfTurn, fault.Unhandled, fault.Forbidden, fault.Refused,
	} {
		next.Store(reason)
		want := fmt.Sprintf("not \"you\", %s, über 7", reason)
		for _, sync := range []bool{false, true} {
			_, err := send(t, p.Alice, p.BobAt, parley.Frame{Body: []byte("x"), Sync: sync})
			e, ok := errors.AsType[*parley.DeliveryError](err)
			if !ok || e.Code != refused || e.Text != want || e.Endpoint != p.BobAt {
				t.Errorf("Send = %#v, want refused by %s with the text %q", err, p.BobAt, want)
			}
		}
	}
}

func busyIsUnavailable(t *testing.T, p Pair) {
	var calls atomic.Int32
	serve(t, p.Bob, func(context.Context, parley.Frame) (parley.Frame, error) {
		calls.Add(1)
		return parley.Frame{}, parley.Errorf(fault.Unavailable, "come back later")
	})
	var err error
	for deadline := time.Now().Add(patience); calls.Load() == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
		err = sendOnce(t, p.Alice, p.BobAt, parley.Frame{Body: []byte("x")})
	}

	wantCode(t, err, unavailable)
	if calls.Load() != 1 {
		t.Errorf("deliver was called %d times for one Send, want 1: retrying is not the transport's", calls.Load())
	}
}

func failureIsUnknown(t *testing.T, p Pair) {
	var failure atomic.Pointer[error]
	serve(t, p.Bob, func(context.Context, parley.Frame) (parley.Frame, error) {
		return parley.Frame{}, *failure.Load()
	})
	for _, err := range []error{
		errors.New("secret"),
		parley.Errorf(fault.Internal, "secret"),
		parley.Errorf(fault.Unknown, "secret"),
		fmt.Errorf("secret: %w", context.DeadlineExceeded),
	} {
		failure.Store(&err)
		_, got := send(t, p.Alice, p.BobAt, parley.Frame{Body: []byte("x")})
		wantCode(t, got, unknown)
		if got != nil && strings.Contains(got.Error(), "secret") {
			t.Errorf("Send = %v, which shows the details of %v", got, err)
		}
	}
}

func absentIsUnavailable(t *testing.T, p Pair) {
	for _, sync := range []bool{false, true} {
		wantCode(t, sendOnce(t, p.Alice, p.Absent, parley.Frame{Body: []byte("x"), Sync: sync}), unavailable)
	}
}

func crashIsUnknown(t *testing.T, p Pair) {
	if p.Crash == nil {
		t.Fatal("the pair has no Crash: nothing shows what happens when a peer dies")
	}
	entered := make(chan struct{})
	let := newRelease()
	defer let.open()
	serve(t, p.Bob, func(context.Context, parley.Frame) (parley.Frame, error) {
		close(entered)
		<-let.c
		return parley.Frame{}, nil
	})
	sent := start(t.Context(), p.Alice, p.BobAt, parley.Frame{Body: []byte("x")})
	await(t, "the frame", entered)

	p.Crash()

	wantCode(t, await(t, "Send to return", sent).err, unknown)
	let.open()
}

func repliesFindTheirRequest(t *testing.T, p Pair) {
	const n = 100
	var mu sync.Mutex
	waiting := 0
	all := make(chan struct{})
	serve(t, p.Bob, func(ctx context.Context, f parley.Frame) (parley.Frame, error) {
		mu.Lock()
		if waiting++; waiting == n {
			close(all)
		}
		mu.Unlock()
		select { // until all are here, so that a reply could go to anybody
		case <-all:
		case <-time.After(patience):
		}
		return parley.Frame{Body: append([]byte("re "), f.Body...)}, nil
	})
	var results [n]<-chan outcome
	for i := range results {
		results[i] = start(t.Context(), p.Alice, p.BobAt, parley.Frame{Body: fmt.Append(nil, i), Sync: true})
	}
	for i, result := range results {
		o := await(t, "a reply", result)
		if want := fmt.Sprintf("re %d", i); o.err != nil || string(o.reply.Body) != want {
			t.Fatalf("request %d got %q, %v, want %q", i, o.reply.Body, o.err, want)
		}
	}
}

func concurrentSends(t *testing.T, p Pair) {
	const senders, each = 20, 25
	var mu sync.Mutex
	seen := map[uint64]int{}
	serve(t, p.Bob, func(_ context.Context, f parley.Frame) (parley.Frame, error) {
		mu.Lock()
		defer mu.Unlock()
		seen[binary.BigEndian.Uint64(f.Body)]++
		return parley.Frame{}, nil
	})
	if _, err := send(t, p.Alice, p.BobAt, parley.Frame{Body: binary.BigEndian.AppendUint64(nil, 1<<40)}); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, senders)
	for s := range senders {
		go func() {
			for i := range each {
				body := binary.BigEndian.AppendUint64(nil, uint64(s*each+i))
				if _, err := p.Alice.Send(t.Context(), p.BobAt, parley.Frame{Body: body}); err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	for range senders {
		if err := await(t, "a sender", failed); err != nil {
			t.Error(err)
		}
	}

	mu.Lock()
	defer mu.Unlock()
	for id, times := range seen {
		if times != 1 {
			t.Errorf("frame %d arrived %d times", id, times)
		}
	}
	if want := senders*each + 1; len(seen) != want {
		t.Errorf("%d frames arrived, want %d", len(seen), want)
	}
}

func slowDeliverBlocksNobody(t *testing.T, p Pair) {
	let := newRelease()
	defer let.open()
	entered := make(chan struct{}, 10)
	serve(t, p.Bob, func(_ context.Context, f parley.Frame) (parley.Frame, error) {
		if string(f.Body) == "slow" {
			entered <- struct{}{}
			<-let.c
		}
		return parley.Frame{}, nil
	})
	var slow []<-chan outcome
	for range 10 {
		slow = append(slow, start(t.Context(), p.Alice, p.BobAt, parley.Frame{Body: []byte("slow")}))
	}
	for range slow {
		await(t, "the slow frames", entered)
	}

	for range 10 {
		if _, err := send(t, p.Alice, p.BobAt, parley.Frame{Body: []byte("quick")}); err != nil {
			t.Errorf("Send beside slow ones: %v", err)
		}
	}

	let.open()
	for _, result := range slow {
		if o := await(t, "the slow sends", result); o.err != nil {
			t.Error(o.err)
		}
	}
}

func sendHonoursContext(t *testing.T, p Pair) {
	let := newRelease()
	defer let.open()
	entered := make(chan struct{}, 1)
	serve(t, p.Bob, func(context.Context, parley.Frame) (parley.Frame, error) {
		entered <- struct{}{}
		<-let.c
		return parley.Frame{}, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sent := start(ctx, p.Alice, p.BobAt, parley.Frame{Body: []byte("x")})
	await(t, "the frame", entered)

	cancel()

	wantCode(t, await(t, "Send to return after its context has ended", sent).err, unknown)
	o := await(t, "Send with an ended context", start(ctx, p.Alice, p.BobAt, parley.Frame{Body: []byte("x")}))
	wantCode(t, o.err, unavailable)
	select {
	case <-entered:
		t.Error("a frame was delivered whose context had ended before it was sent")
	case <-time.After(glance):
	}
	let.open()
}

func goneCallerEndsTheWait(t *testing.T, p Pair) {
	entered, ended := make(chan struct{}), make(chan struct{})
	serve(t, p.Bob, func(ctx context.Context, _ parley.Frame) (parley.Frame, error) {
		close(entered)
		select {
		case <-ctx.Done():
			close(ended)
		case <-time.After(patience):
		}
		return parley.Frame{}, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sent := start(ctx, p.Alice, p.BobAt, parley.Frame{Body: []byte("x"), Sync: true})
	await(t, "the frame", entered)

	cancel()

	await(t, "the end of deliver's context", ended)
	await(t, "Send to return", sent)
}

func serveDrains(t *testing.T, p Pair) {
	let := newRelease()
	defer let.open()
	entered := make(chan struct{})
	s := serve(t, p.Bob, func(ctx context.Context, _ parley.Frame) (parley.Frame, error) {
		close(entered)
		select {
		case <-let.c:
			return parley.Frame{Body: []byte("late")}, nil
		case <-ctx.Done():
			return parley.Frame{}, parley.Errorf(fault.Unavailable, "cut off")
		}
	})
	sent := start(t.Context(), p.Alice, p.BobAt, parley.Frame{Body: []byte("x"), Sync: true})
	select {
	case <-entered:
	case o := <-sent:
		t.Fatalf("Send returned (%v) before Bob saw the frame", o.err)
	case <-time.After(patience):
		t.Fatal("the frame did not arrive")
	}

	s.stop()

	select {
	case err := <-s.returned:
		t.Fatalf("Serve returned (%v) while deliver was running", err)
	case <-time.After(glance):
	}
	let.open()
	if o := await(t, "the answer of a frame that was taken", sent); o.err != nil || string(o.reply.Body) != "late" {
		t.Errorf("the frame that was taken got %q, %v, want its reply", o.reply.Body, o.err)
	}
	if err := await(t, "Serve to return", s.returned); err != nil {
		t.Errorf("Serve after a clean stop = %v, want nil", err)
	}
}

func serveStopsTaking(t *testing.T, p Pair) {
	var delivered atomic.Int32
	entered := make(chan struct{})
	let := newRelease()
	defer let.open()
	s := serve(t, p.Bob, func(_ context.Context, f parley.Frame) (parley.Frame, error) {
		if string(f.Body) == "slow" {
			close(entered)
			<-let.c
			return parley.Frame{}, nil
		}
		delivered.Add(1)
		return parley.Frame{}, nil
	})
	if _, err := send(t, p.Alice, p.BobAt, parley.Frame{Body: []byte("before")}); err != nil {
		t.Fatal(err)
	}
	slow := start(t.Context(), p.Alice, p.BobAt, parley.Frame{Body: []byte("slow")})
	await(t, "the slow frame", entered)

	s.stop()
	time.Sleep(glance) // a transport may need a moment to notice

	wantCode(t, sendOnce(t, p.Alice, p.BobAt, parley.Frame{Body: []byte("while it drains")}), unavailable)
	let.open()
	await(t, "the slow frame to be taken", slow)
	await(t, "Serve to return", s.returned)
	wantCode(t, sendOnce(t, p.Alice, p.BobAt, parley.Frame{Body: []byte("after")}), unavailable)
	if n := delivered.Load(); n != 1 {
		t.Errorf("%d frames were delivered, want only the one sent before the end", n)
	}
}

func serveReturnsWhenIdle(t *testing.T, p Pair) {
	s := serve(t, p.Bob, func(context.Context, parley.Frame) (parley.Frame, error) { return parley.Frame{}, nil })
	if _, err := send(t, p.Alice, p.BobAt, parley.Frame{Body: []byte("x")}); err != nil {
		t.Fatal(err)
	}

	s.stop()

	if err := await(t, "Serve to return", s.returned); err != nil {
		t.Errorf("Serve after a clean stop = %v, want nil", err)
	}
}
