package parleyhttp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/transport/parleyhttp/replay"
)

// FuzzServer checks that whatever bytes arrive on a connection, the server does
// not panic, answers in HTTP or not at all, never claims that something went
// wrong on its side, says on every answer of its own who it is, and closes the
// connection in the end.
func FuzzServer(f *testing.F) {
	for _, c := range replay.Load(f).Cases {
		f.Add(c.Request.Bytes())
	}
	for _, text := range []string{
		"",
		"GET / HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n",
		"CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"POST /submit HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"POST /submit HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n{}",
		"POST /submit HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}",
		"HEAD /submit HTTP/1.1\r\nhost: x\r\n\r\nGET /rest HTTP/1.1\r\nhost: x\r\n\r\nPOST /rest HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\n1",
		"GET /messages HTTP/1.1\r\nhost: [::1\r\norigin: :\r\nx-forwarded-for: ,,[\r\n\r\n",
		"GET http://[::1]:1/mounted/%00 HTTP/1.1\r\nhost: x\r\n\r\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, request []byte) {
		synctest.Test(t, func(t *testing.T) { // net/http waits before it hangs up: not in there
			c := converse(t, request)
			checkAnswers(t, c.written.Bytes(), bytes.Contains(request, []byte("HEAD")))
		})
	})
}

// converse serves one connection on which the request arrives and nothing more.
func converse(t *testing.T, request []byte) *memoryConn {
	listener := newMemoryListener()
	transport, err := New(&Options{
		Limits:   Limits{Body: 4096, Header: 4096, RatePerPeer: 1e9},
		Handlers: map[string]http.Handler{"/mounted/": http.NotFoundHandler()},
	})
	if err != nil {
		t.Fatal(err)
	}
	transport.Attach(fuzzHost{})
	transport.listener, transport.bound = listener, &net.TCPAddr{Port: 1}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- transport.Serve(ctx, func(_ context.Context, f parley.Frame) (parley.Frame, error) {
			if !bytes.HasPrefix(f.Body, []byte("{")) {
				return parley.Frame{}, &fault.Error{Code: fault.Malformed, Field: string(f.Body), Text: string(f.Body)}
			}
			return parley.Frame{Body: f.Body}, nil
		})
	}()
	c := listener.connect(request)
	select {
	case <-c.closed:
	case <-time.After(time.Hour):
		t.Error("the connection stays open after its end")
		_ = c.Close()
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	return c
}

// checkAnswers reads the answers. Those to HEAD have no body, whatever their
// length says, so that only the first one can be told from the next.
func checkAnswers(t *testing.T, written []byte, head bool) {
	for r := bufio.NewReader(bytes.NewReader(written)); ; {
		if _, err := r.Peek(1); err == io.EOF {
			return
		}
		answer, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("not HTTP: %v\n%q", err, written)
		}
		if s := answer.StatusCode; s >= 500 && s != http.StatusHTTPVersionNotSupported && s != http.StatusNotImplemented {
			t.Fatalf("the server blames itself: %q", written)
		}
		if strings.HasPrefix(answer.Header.Get("Content-Type"), typeJSON) && answer.Header.Get("X-Parley") != "1" {
			t.Fatalf("an answer of ours without x-parley: %v", answer.Header)
		}
		if head {
			return
		}
		_, _ = io.Copy(io.Discard, answer.Body)
	}
}

// fuzzHost has a route for each way of ending.
type fuzzHost struct{}

func (fuzzHost) Agent(a identity.Address) (parley.AgentInfo, bool) {
	return parley.AgentInfo{Address: a}, a == "agent1alpha"
}

func (fuzzHost) Agents() iter.Seq[parley.AgentInfo] {
	return slices.Values([]parley.AgentInfo{{Address: "agent1alpha"}, {Address: "agent1beta"}})
}

func (fuzzHost) Routes(method, path string) []parley.Route {
	if path != "/rest" {
		return nil
	}
	return []parley.Route{{Method: method, Path: path, Serve: func(_ context.Context, body []byte) ([]byte, error) {
		if len(body) > 3 {
			return nil, &fault.Error{Code: fault.Malformed, Field: string(body), Text: string(body)}
		}
		return body, nil
	}}}
}

func (fuzzHost) Ready() bool { return true }

func (fuzzHost) Messages(context.Context, identity.Address, int) ([]parley.LogRecord, error) {
	return []parley.LogRecord{{}}, nil
}

// A memoryListener hands out connections whose other end has said all it will.
type memoryListener struct {
	incoming chan *memoryConn
	closed   chan struct{}
	close    func()
}

func newMemoryListener() *memoryListener {
	l := &memoryListener{incoming: make(chan *memoryConn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

func (l *memoryListener) connect(request []byte) *memoryConn {
	c := &memoryConn{request: bytes.NewReader(request), closed: make(chan struct{})}
	c.close = sync.OnceFunc(func() { close(c.closed) })
	l.incoming <- c
	return c
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.incoming:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.close()
	return nil
}

func (l *memoryListener) Addr() net.Addr { return &net.TCPAddr{} }

type memoryConn struct {
	mu      sync.Mutex
	request *bytes.Reader
	written bytes.Buffer
	closed  chan struct{}
	close   func()
}

func (c *memoryConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.request.Read(p)
}

func (c *memoryConn) Write(p []byte) (int, error) {
	select {
	case <-c.closed:
		return 0, errors.New("closed")
	default:
		return c.written.Write(p)
	}
}

func (c *memoryConn) Close() error {
	c.close()
	return nil
}

func (c *memoryConn) LocalAddr() net.Addr              { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
func (c *memoryConn) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
func (c *memoryConn) SetDeadline(time.Time) error      { return nil }
func (c *memoryConn) SetReadDeadline(time.Time) error  { return nil }
func (c *memoryConn) SetWriteDeadline(time.Time) error { return nil }
