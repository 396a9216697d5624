package parleyhttp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
)

func pipe(t *testing.T) (*conn, net.Conn) {
	ours, theirs := net.Pipe()
	t.Cleanup(func() {
		ours.Close()
		theirs.Close()
	})
	return &conn{Conn: ours}, theirs
}

func TestConnKnowsWhetherARequestTouchedIt(t *testing.T) {
	c, theirs := pipe(t)
	go io.Copy(io.Discard, theirs)
	if _, err := c.Write([]byte("an earlier request")); err != nil {
		t.Fatal(err)
	}
	before := c.mark()

	untouched := c.abandon(before)
	_, err := c.Write([]byte("too late"))

	if !untouched || !errors.Is(err, errEnded) || !c.abandon(before) {
		t.Errorf("untouched %v, then Write = %v: want untouched for good", untouched, err)
	}

	c, theirs = pipe(t)
	go io.Copy(io.Discard, theirs)
	before = c.mark()
	_, _ = c.Write([]byte("request"))
	if c.abandon(before) {
		t.Error("abandon = true, want false after a write")
	}
}

// A write that blocks counts from its beginning: some of it may have gone.
func TestConnIsTouchedByAWriteThatHangs(t *testing.T) {
	c, theirs := pipe(t)
	before := c.mark()
	go c.Write([]byte("request"))
	if _, err := theirs.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}

	if c.abandon(before) {
		t.Error("abandon = true, want false: the other end has read something")
	}
}

func TestConnThatEndedTakesNothing(t *testing.T) {
	c, theirs := pipe(t)
	before := c.mark()
	_ = theirs.Close()
	_, _ = c.Read(make([]byte, 1))

	n, err := c.Write([]byte("request"))

	if n != 0 || !errors.Is(err, errEnded) || !c.abandon(before) {
		t.Errorf("Write = %d, %v, want nothing written", n, err)
	}
}

// What a connection from the pool did not take goes out on another one; what a
// new one did not take is known not to be taken.
func TestSendsOnConnectionsThatEnded(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked.Add(1) }))
	defer server.Close()
	transport, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var dialed []*conn
	broken := false
	dial := transport.client.messages.DialContext
	transport.client.messages.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err == nil {
			dialed = append(dialed, c.(*conn))
			c.(*conn).ended = broken
		}
		return c, err
	}
	send := func() parley.Code {
		_, err := transport.Send(t.Context(), server.URL, parley.Frame{Body: []byte("{}")})
		if e, ok := errors.AsType[*parley.DeliveryError](err); ok {
			return e.Code
		}
		return fault.CodeOf(err)
	}
	if code := send(); code != "" {
		t.Fatal(code)
	}

	dialed[0].abandon(0)
	again := send()
	broken = true
	dialed[1].abandon(0)
	fresh := send()

	if again != "" || len(dialed) != 3 || asked.Load() != 2 {
		t.Errorf("after the end of a connection: %q, %d connections, %d requests; want another connection", again, len(dialed), asked.Load())
	}
	if fresh != fault.Unavailable {
		t.Errorf("on a new connection that takes nothing: %q, want unavailable", fresh)
	}
}
