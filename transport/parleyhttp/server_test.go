package parleyhttp_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/transport/parleyhttp"
	"github.com/parley-agents/parley/transport/parleyhttp/replay"
)

const patience = 10 * time.Second

func accept(context.Context, parley.Frame) (parley.Frame, error) { return parley.Frame{}, nil }

// waitForEnd is a deliver that waits for as long as it is let.
func waitForEnd(ctx context.Context, _ parley.Frame) (parley.Frame, error) {
	<-ctx.Done()
	return parley.Frame{Body: []byte("cut")}, nil
}

// await takes what arrives on c, or ends the test.
func await[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("waited in vain")
		panic("unreachable")
	}
}

func dial(t *testing.T, transport *parleyhttp.Transport) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(transport.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

// ask sends text and returns the answer; a status of 0 says that the server hung
// up without one.
func ask(t *testing.T, transport *parleyhttp.Transport, text string) replay.Response {
	t.Helper()
	c := dial(t, transport)
	go io.WriteString(c, text) // the server may answer before it has read all
	return readAnswer(t, c)
}

func readAnswer(t *testing.T, c net.Conn) replay.Response {
	t.Helper()
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || err != nil && strings.Contains(err.Error(), "reset") {
		return replay.Response{}
	}
	if err != nil {
		t.Fatalf("neither an answer nor the end of the connection: %v", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	headers := map[string]string{}
	for name := range answer.Header {
		headers[strings.ToLower(name)] = answer.Header.Get(name)
	}
	if answer.Close {
		headers["connection"] = "close"
	}
	return replay.Response{Status: answer.StatusCode, Headers: headers, Body: string(body)}
}

// message is a request that carries a message.
func message(body string, headers ...string) string {
	headers = append(headers, "host: x", "content-type: application/json", fmt.Sprintf("content-length: %d", len(body)))
	return "POST /submit HTTP/1.1\r\n" + strings.Join(headers, "\r\n") + "\r\n\r\n" + body
}

func wantAnswer(t *testing.T, got replay.Response, status int, body string) {
	t.Helper()
	if got.Status != status || !strings.Contains(got.Body, body) {
		t.Errorf("answer %d %s, want %d %s", got.Status, got.Body, status, body)
	}
}

func TestErrorsOfDeliverBecomeAnswers(t *testing.T) {
	for _, tc := range []struct {
		err    error
		status int
		body   string
		header string
	}{
		{parley.Errorf(fault.Malformed, "empty or invalid payload"), 400, `{"error": "empty or invalid payload"}`, "malformed"},
		{&fault.Error{Code: fault.Malformed, Field: "a\r\nb", Text: "é"}, 400, `{"error": "\u00e9"}`, `malformed; field="a\r\nb"`},
		{&fault.Error{Code: fault.Unverified, Field: "signature", Text: "Signature verification failed"}, 400, `{"error": "Signature verification failed"}`, `unverified; field="signature"`},
		{parley.Errorf(fault.NotFound, "unable to route envelope"), 400, `{"error": "unable to route envelope"}`, "not_found"},
		{parley.Errorf(fault.Expired, "too late"), 400, `{"error": "too late"}`, "expired"},
		{parley.Errorf(fault.Forbidden, "no"), 400, `{"error": "no"}`, "forbidden"},
		{parley.Errorf(fault.OutOfTurn, "not now"), 400, `{"error": "not now"}`, "out_of_turn"},
		{parley.Errorf(fault.Conflict, "not so"), 400, `{"error": "not so"}`, "conflict"},
		{parley.Errorf(fault.Unhandled, "who?"), 400, `{"error": "who?"}`, "unhandled"},
		{parley.Errorf(fault.TooLarge, "deep"), 413, `{"error": "deep"}`, "too_large"},
		{parley.Errorf(fault.Unavailable, "later"), 503, `{"error": "later"}`, "unavailable"},
		{parley.Errorf(fault.Internal, "disk /dev/sda1"), 500, `{"error": "internal error"}`, "internal"},
		{fmt.Errorf("commit: %w", context.DeadlineExceeded), 500, `{"error": "internal error"}`, "internal"},
		{fmt.Errorf("wrapped: %w", parley.Errorf(fault.Expired, "old")), 400, `{"error": "old"}`, "expired"},
	} {
		t.Run(tc.err.Error(), func(t *testing.T) {
			transport := open(t, nil)
			serve(t, transport, func(context.Context, parley.Frame) (parley.Frame, error) { return parley.Frame{}, tc.err })

			got := ask(t, transport, message("{}"))

			if got.Status != tc.status || got.Body != tc.body || got.Headers["x-parley-error"] != tc.header {
				t.Errorf("answer %d %s (%s), want %d %s (%s)", got.Status, got.Body, got.Headers["x-parley-error"], tc.status, tc.body, tc.header)
			}
			if got.Headers["retry-after"] != "" {
				t.Error("one agent's trouble must not hold up the others of its host: no Retry-After")
			}
		})
	}
}

func TestOptionsOfTheServerItself(t *testing.T) {
	transport := open(t, nil)
	serve(t, transport, neverDelivered(t))

	got := ask(t, transport, "OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n")

	if got.Status != 204 || got.Headers["access-control-allow-origin"] != "*" {
		t.Errorf("answer %+v, want 204 as for any path", got)
	}
}

func TestPanicsAreErrorsOfOneRequest(t *testing.T) {
	transport := open(t, nil)
	serve(t, transport, func(_ context.Context, f parley.Frame) (parley.Frame, error) {
		if string(f.Body) == "panic" {
			panic("secret")
		}
		return parley.Frame{}, nil
	})

	wantAnswer(t, ask(t, transport, message("panic")), 500, `{"error": "internal error"}`)
	wantAnswer(t, ask(t, transport, message("fine")), 200, "{}")
}

func TestFramesSayWhatTheConnectionKnows(t *testing.T) {
	for _, tc := range []struct {
		headers []string
		want    parley.Frame
	}{
		{nil, parley.Frame{Peer: "127.0.0.1"}},
		{[]string{"x-uagents-connection: sync"}, parley.Frame{Peer: "127.0.0.1", Sync: true}},
		{[]string{"x-uagents-connection: SYNC"}, parley.Frame{Peer: "127.0.0.1"}},
		{[]string{"x-parley: 1"}, parley.Frame{Peer: "127.0.0.1", Deduplicates: true}},
		{[]string{"x-parley: no"}, parley.Frame{Peer: "127.0.0.1"}},
	} {
		transport := open(t, nil)
		frames := make(chan parley.Frame, 1)
		serve(t, transport, func(_ context.Context, f parley.Frame) (parley.Frame, error) {
			frames <- f
			return parley.Frame{}, nil
		})

		ask(t, transport, message("", tc.headers...))

		got := await(t, frames)
		if got.Sync != tc.want.Sync || got.Peer != tc.want.Peer || got.Deduplicates != tc.want.Deduplicates {
			t.Errorf("%v: frame %+v, want %+v", tc.headers, got, tc.want)
		}
	}
}

// U18: a body over the limit is refused before it is read into memory.
func TestU18BodiesOverTheLimitAreNotRead(t *testing.T) {
	for _, tc := range []struct {
		name, head string
		chunked    bool
	}{
		{"announced", "POST /submit HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100000000000\r\n\r\n", false},
		{"chunked", "POST /submit HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n", true},
		{"chunked, to a route", "POST /rest/post HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			limits := parleyhttp.Limits{Memory: 1} // nothing may be held of what is known to be too large
			if tc.chunked {
				limits.Memory = 2 << 20
			}
			transport := open(t, &parleyhttp.Options{Limits: limits})
			transport.Attach(newFakeHost(&replay.File{}, ""))
			serve(t, transport, neverDelivered(t))
			c := dial(t, transport)
			go func() {
				_, _ = io.WriteString(c, tc.head)
				for chunk := bytes.Repeat([]byte("x"), 1<<16); ; {
					if tc.chunked {
						if _, err := fmt.Fprintf(c, "%x\r\n%s\r\n", len(chunk), chunk); err != nil {
							return
						}
					} else if _, err := c.Write(chunk); err != nil {
						return
					}
				}
			}()

			got := readAnswer(t, c)

			if got.Status != 413 || !strings.HasPrefix(got.Body, `{"error": "the body is larger than`) || got.Headers["connection"] != "close" {
				t.Errorf("answer %+v, want 413 and the end of the connection", got)
			}
		})
	}
}

func TestTheLimitOfBodiesIsExact(t *testing.T) {
	transport := open(t, &parleyhttp.Options{Limits: parleyhttp.Limits{Body: 10_000}})
	serve(t, transport, func(_ context.Context, f parley.Frame) (parley.Frame, error) {
		return parley.Frame{}, parley.Errorf(fault.Refused, "%d", len(f.Body))
	})
	for _, size := range []int{0, 1, 4095, 4096, 4097, 9_999, 10_000} {
		wantAnswer(t, ask(t, transport, message(strings.Repeat("x", size))), 400, fmt.Sprintf(`"%d"`, size))
		wantAnswer(t, ask(t, transport, chunked(size)), 400, fmt.Sprintf(`"%d"`, size))
	}
	wantAnswer(t, ask(t, transport, message(strings.Repeat("x", 10_001))), 413, "")
	wantAnswer(t, ask(t, transport, chunked(10_001)), 413, "")
}

func chunked(size int) string {
	text := "POST /submit HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
	if size > 0 {
		text += fmt.Sprintf("%x\r\n%s\r\n", size, strings.Repeat("x", size))
	}
	return text + "0\r\n\r\n"
}

func TestMemoryOfBodiesIsBounded(t *testing.T) {
	transport := open(t, &parleyhttp.Options{Limits: parleyhttp.Limits{Memory: 150_000}})
	let := make(chan struct{})
	entered := make(chan struct{}, 1)
	serve(t, transport, func(_ context.Context, f parley.Frame) (parley.Frame, error) {
		if len(f.Body) > 1000 {
			entered <- struct{}{}
			<-let
		}
		return parley.Frame{}, nil
	})
	first := dial(t, transport)
	_, _ = io.WriteString(first, message(strings.Repeat("x", 80_000)))
	await(t, entered)

	got := ask(t, transport, message(strings.Repeat("x", 80_000)))

	if got.Status != 503 || got.Headers["retry-after"] == "" {
		t.Errorf("answer %+v, want 503 with Retry-After", got)
	}
	wantAnswer(t, ask(t, transport, message(strings.Repeat("x", 500))), 200, "{}")
	close(let)
	wantAnswer(t, readAnswer(t, first), 200, "{}")
	wantAnswer(t, ask(t, transport, message(strings.Repeat("x", 80_000))), 200, "{}")
}

func TestAnnouncingALargeBodyTakesNoMemory(t *testing.T) {
	transport := open(t, &parleyhttp.Options{Limits: parleyhttp.Limits{Memory: 1 << 20}})
	serve(t, transport, accept)
	const size = 10_000
	var announced []net.Conn
	for range 1 << 20 / size * 2 {
		c := dial(t, transport)
		_, _ = fmt.Fprintf(c, "POST /submit HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\nx", size)
		announced = append(announced, c)
	}
	time.Sleep(20 * time.Millisecond)

	for _, c := range announced {
		_, _ = io.WriteString(c, strings.Repeat("x", size-1))
		wantAnswer(t, readAnswer(t, c), 200, "{}")
	}
}

func TestSlowClientsAreCutOff(t *testing.T) {
	transport := open(t, &parleyhttp.Options{Timeouts: parleyhttp.Timeouts{
		Header: 200 * time.Millisecond, Body: 200 * time.Millisecond, Idle: 200 * time.Millisecond, Write: 200 * time.Millisecond,
	}})
	huge := bytes.Repeat([]byte("x"), 64<<20) // more than the sockets hold
	delivered := make(chan struct{}, 1)
	serve(t, transport, func(_ context.Context, f parley.Frame) (parley.Frame, error) {
		if f.Sync {
			delivered <- struct{}{}
			return parley.Frame{Body: huge}, nil
		}
		return parley.Frame{}, nil
	})
	for _, tc := range []struct {
		name   string
		text   string
		status int
	}{
		{"that say nothing", "", 0},
		{"whose headers trickle", "POST /submit HTTP/1.1\r\nhost: x\r\n", 0},
		{"whose body trickles", "POST /submit HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n", 408},
		{"whose chunks trickle", "POST /submit HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n", 408},
		{"whose body nobody wants", "POST /nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n", 404},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := dial(t, transport)
			began := time.Now()
			go func() {
				_, _ = io.WriteString(c, tc.text)
				for tc.text != "" {
					more := "1\r\nx\r\n"
					if strings.HasSuffix(tc.name, "headers trickle") {
						more = "a: b\r\n"
					}
					if _, err := io.WriteString(c, more); err != nil {
						return
					}
					time.Sleep(20 * time.Millisecond)
				}
			}()

			got := readAnswer(t, c)
			_, _ = io.Copy(io.Discard, c) // until the server hangs up

			if got.Status != tc.status || time.Since(began) > 5*time.Second {
				t.Errorf("answer %+v after %v, want %d soon", got, time.Since(began), tc.status)
			}
		})
	}
	t.Run("that do not ask again", func(t *testing.T) {
		c := dial(t, transport)
		_, _ = io.WriteString(c, message("{}"))
		wantAnswer(t, readAnswer(t, c), 200, "{}")
		began := time.Now()

		_, err := c.Read(make([]byte, 1))

		if err != io.EOF || time.Since(began) > 5*time.Second {
			t.Errorf("Read = %v after %v, want the end soon", err, time.Since(began))
		}
	})
	t.Run("that do not read", func(t *testing.T) {
		c := dial(t, transport)
		_, _ = io.WriteString(c, message("", "x-uagents-connection: sync"))
		await(t, delivered)

		time.Sleep(500 * time.Millisecond)

		n, _ := io.Copy(io.Discard, c)
		if n >= int64(len(huge)) {
			t.Errorf("all of %d bytes were kept for a client that did not read", n)
		}
	})
}

// The times of one request and of its parts do not run on into the next.
func TestTimeoutsEndWithWhatTheyAreFor(t *testing.T) {
	transport := open(t, &parleyhttp.Options{Timeouts: parleyhttp.Timeouts{
		Header: 100 * time.Millisecond, Body: 100 * time.Millisecond, Write: 100 * time.Millisecond,
	}})
	serve(t, transport, func(ctx context.Context, f parley.Frame) (parley.Frame, error) {
		select {
		case <-time.After(300 * time.Millisecond):
			return parley.Frame{Body: f.Body}, nil
		case <-ctx.Done():
			return parley.Frame{Body: []byte("cut")}, nil
		}
	})
	c := dial(t, transport)
	answers := bufio.NewReader(c)
	for i := range 2 {
		_, _ = io.WriteString(c, message("{}", "x-uagents-connection: sync", "expect: 100-continue"))
		var answer *http.Response
		for answer == nil || answer.StatusCode == http.StatusContinue {
			var err error
			if answer, err = http.ReadResponse(answers, nil); err != nil {
				t.Fatalf("request %d: %v", i, err)
			}
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil || string(body) != "{}" {
			t.Errorf("request %d: %q, %v, want the reply", i, body, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func TestHugeHeadersAreRefused(t *testing.T) {
	transport := open(t, nil)
	serve(t, transport, neverDelivered(t))

	got := ask(t, transport, message("{}", "a: "+strings.Repeat("x", 100<<10)))
	many := ask(t, transport, message("{}", strings.Repeat("a: b\r\n", 20_000)+"c: d"))

	wantAnswer(t, got, 431, "")
	wantAnswer(t, many, 431, "")
}

func TestClientsThatHangUpEarlyLeaveNothing(t *testing.T) {
	transport := open(t, nil)
	serve(t, transport, neverDelivered(t))
	wantAnswer(t, ask(t, transport, "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"), 404, "")
	before := runtime.NumGoroutine()
	for _, text := range []string{
		"", "P", "POST /submit HTTP/1.1\r\n",
		"POST /submit HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{",
		"POST /submit HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{",
		"POST /submit HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
	} {
		c := dial(t, transport)
		_, _ = io.WriteString(c, text)
		_ = c.Close()
	}

	wantGoroutines(t, before)
}

// U15: waiting is bounded by the server, whatever the message says.
func TestU15WaitsAreBounded(t *testing.T) {
	transport := open(t, &parleyhttp.Options{Timeouts: parleyhttp.Timeouts{Wait: 100 * time.Millisecond}})
	serve(t, transport, waitForEnd)

	got := ask(t, transport, message("{}", "x-uagents-connection: sync"))

	wantAnswer(t, got, 200, "cut")
}

// U15: a wait does not hold up the end.
func TestU15WaitsAreCutWhenTheServerStops(t *testing.T) {
	transport := open(t, &parleyhttp.Options{Timeouts: parleyhttp.Timeouts{Grace: 100 * time.Millisecond}})
	entered := make(chan struct{}, 1)
	stop := serve(t, transport, func(ctx context.Context, f parley.Frame) (parley.Frame, error) {
		entered <- struct{}{}
		return waitForEnd(ctx, f)
	})
	c := dial(t, transport)
	_, _ = io.WriteString(c, message("{}", "x-uagents-connection: sync"))
	await(t, entered)
	began := time.Now()

	err := stop()

	if err != nil || time.Since(began) > 2*time.Second {
		t.Errorf("Serve returned %v after %v, want nil after the grace time", err, time.Since(began))
	}
	wantAnswer(t, readAnswer(t, c), 200, "cut")
}

func TestADeliverThatNeverReturnsDoesNotHoldUpTheEnd(t *testing.T) {
	transport := open(t, &parleyhttp.Options{Timeouts: parleyhttp.Timeouts{Grace: 50 * time.Millisecond}})
	entered, let := make(chan struct{}), make(chan struct{})
	defer close(let)
	stop := serve(t, transport, func(context.Context, parley.Frame) (parley.Frame, error) {
		close(entered)
		<-let
		return parley.Frame{}, nil
	})
	_, _ = io.WriteString(dial(t, transport), message("{}"))
	await(t, entered)

	if err := stop(); err == nil || !strings.Contains(err.Error(), "1 requests are still running") {
		t.Errorf("Serve = %v, want an error that says what is still running", err)
	}
}

// A client must not send the next message on a connection that is about to end.
func TestAnswersGivenWhileStoppingEndTheConnection(t *testing.T) {
	transport := open(t, nil)
	entered, let := make(chan struct{}, 1), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- transport.Serve(ctx, func(context.Context, parley.Frame) (parley.Frame, error) {
			entered <- struct{}{}
			<-let
			return parley.Frame{}, nil
		})
	}()
	c := dial(t, transport)
	_, _ = io.WriteString(c, message("{}"))
	await(t, entered)

	cancel()
	time.Sleep(20 * time.Millisecond)
	close(let)

	if got := readAnswer(t, c); got.Status != 200 || got.Headers["connection"] != "close" {
		t.Errorf("answer %+v, want 200 and the end of the connection", got)
	}
	if err := await(t, served); err != nil {
		t.Error(err)
	}
}

// Clients open connections in advance; they must not hold up the end.
func TestSilentConnectionsDoNotHoldUpTheEnd(t *testing.T) {
	transport := open(t, nil)
	stop := serve(t, transport, accept)
	dial(t, transport)
	wantAnswer(t, ask(t, transport, message("{}")), 200, "{}")
	began := time.Now()

	err := stop()

	if err != nil || time.Since(began) > 2*time.Second {
		t.Errorf("Serve returned %v after %v, want nil at once", err, time.Since(began))
	}
}

func TestAClientThatLeavesEndsOnlyItsOwnWait(t *testing.T) {
	for _, sync := range []bool{true, false} {
		transport := open(t, nil)
		entered, result := make(chan struct{}), make(chan bool, 1)
		serve(t, transport, func(ctx context.Context, _ parley.Frame) (parley.Frame, error) {
			close(entered)
			select {
			case <-ctx.Done():
				result <- true
			case <-time.After(300 * time.Millisecond):
				result <- false
			}
			return parley.Frame{}, nil
		})
		c := dial(t, transport)
		header := "a: b"
		if sync {
			header = "x-uagents-connection: sync"
		}
		_, _ = io.WriteString(c, message("{}", header))
		await(t, entered)

		_ = c.Close()

		if ended := await(t, result); ended != sync {
			t.Errorf("sync %v: the context ended: %v; a message is taken over whoever waits", sync, ended)
		}
	}
}

func TestRequestsBeyondTheLimitsAreToldToComeBack(t *testing.T) {
	for _, tc := range []struct {
		name   string
		limits parleyhttp.Limits
		status int
	}{
		{"in all", parleyhttp.Limits{Requests: 3}, 503},
		{"per peer", parleyhttp.Limits{RequestsPerPeer: 3}, 429},
	} {
		t.Run(tc.name, func(t *testing.T) {
			transport := open(t, &parleyhttp.Options{Limits: tc.limits})
			entered, let := make(chan struct{}), make(chan struct{})
			serve(t, transport, func(context.Context, parley.Frame) (parley.Frame, error) {
				entered <- struct{}{}
				<-let
				return parley.Frame{}, nil
			})
			var running []net.Conn
			for range 3 {
				c := dial(t, transport)
				_, _ = io.WriteString(c, message("{}"))
				await(t, entered)
				running = append(running, c)
			}

			got := ask(t, transport, message("{}"))

			if got.Status != tc.status || got.Headers["retry-after"] != "1" || got.Headers["x-parley"] != "1" {
				t.Errorf("answer %+v, want %d with Retry-After", got, tc.status)
			}
			close(let)
			for _, c := range running {
				wantAnswer(t, readAnswer(t, c), 200, "{}")
			}
			go func() { <-entered }()
			wantAnswer(t, ask(t, transport, message("{}")), 200, "{}")
		})
	}
}

func TestTheRateOfAPeerIsLimited(t *testing.T) {
	transport := open(t, &parleyhttp.Options{Limits: parleyhttp.Limits{RatePerPeer: 0.1, BurstPerPeer: 2}})
	serve(t, transport, accept)

	first, second, third := ask(t, transport, message("{}")), ask(t, transport, message("{}")), ask(t, transport, message("{}"))

	wantAnswer(t, first, 200, "{}")
	wantAnswer(t, second, 200, "{}")
	if third.Status != 429 || third.Headers["retry-after"] != "10" {
		t.Errorf("third answer %+v, want 429 and Retry-After: 10", third)
	}
}

func TestConnectionsBeyondTheLimitsAreHungUpOn(t *testing.T) {
	for name, limits := range map[string]parleyhttp.Limits{
		"in all": {Connections: 2}, "per peer": {ConnectionsPerPeer: 2},
	} {
		t.Run(name, func(t *testing.T) {
			transport := open(t, &parleyhttp.Options{Limits: limits})
			serve(t, transport, accept)
			first, second := dial(t, transport), dial(t, transport)
			_, _ = io.WriteString(first, message("{}"))
			_, _ = io.WriteString(second, message("{}"))
			wantAnswer(t, readAnswer(t, first), 200, "{}")
			wantAnswer(t, readAnswer(t, second), 200, "{}")

			wantAnswer(t, ask(t, transport, message("{}")), 0, "")

			_ = first.Close()
			for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
				if got := ask(t, transport, message("{}")); got.Status == 200 {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("a closed connection still counts")
				}
			}
		})
	}
}

// U21: pages for this machine do not open for those who claim to be it, nor for
// what only passes through it.
func TestU21OnlyThisMachineSeesMessages(t *testing.T) {
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	for _, tc := range []struct {
		name      string
		elsewhere bool
		proxies   []netip.Prefix
		host      string
		headers   string
		want      int
	}{
		{"from here", false, nil, "127.0.0.1:8000", "", 200},
		{"from here, by name", false, nil, "localhost:8000", "", 200},
		{"from here, IPv6", false, nil, "[::1]:8000", "", 200},
		{"from elsewhere", true, nil, "127.0.0.1:8000", "", 403},
		{"from elsewhere, claiming to be here", true, nil, "127.0.0.1:8000", "x-forwarded-for: 127.0.0.1\r\n", 403},
		{"by a proxy that nobody configured", false, nil, "127.0.0.1:8000", "x-forwarded-for: 127.0.0.1\r\n", 403},
		{"by a proxy that nobody configured, other header", false, nil, "127.0.0.1:8000", "forwarded: for=8.8.8.8\r\n", 403},
		{"by a trusted proxy, for somebody else", false, loopback, "127.0.0.1:8000", "x-forwarded-for: 8.8.8.8\r\n", 403},
		{"by a trusted proxy, for somebody who claims to be here", false, loopback, "127.0.0.1:8000", "x-forwarded-for: 127.0.0.1, 8.8.8.8\r\n", 403},
		{"by a trusted proxy, for somebody without a name", false, loopback, "127.0.0.1:8000", "x-forwarded-for: 127.0.0.1, unknown, 127.0.0.1\r\n", 200},
		{"by a trusted proxy, for here", false, loopback, "127.0.0.1:8000", "x-forwarded-for: 127.0.0.1\r\n", 200},
		{"by a name that somebody else's name server gave this machine", false, nil, "evil.example:8000", "", 403},
		{"by a web page of another origin", false, nil, "127.0.0.1:8000", "origin: https://evil.example\r\n", 403},
		{"by a web page without origin", false, nil, "127.0.0.1:8000", "origin: null\r\n", 403},
		{"by a web page of this machine", false, nil, "127.0.0.1:8000", "origin: http://localhost:3000\r\n", 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			transport := openFrom(t, &parleyhttp.Options{TrustedProxies: tc.proxies}, tc.elsewhere)
			transport.Attach(newFakeHost(&replay.File{Agent: "agent1alpha"}, ""))
			serve(t, transport, neverDelivered(t))

			got := ask(t, transport, "GET /messages HTTP/1.1\r\nhost: "+tc.host+"\r\n"+tc.headers+"\r\n")

			if got.Status != tc.want {
				t.Errorf("answer %d %s, want %d", got.Status, got.Body, tc.want)
			}
		})
	}
}

func TestOnlyTrustedProxiesSayWhoAsks(t *testing.T) {
	for _, tc := range []struct {
		proxies []netip.Prefix
		header  string
		want    string
	}{
		{nil, "8.8.8.8", "127.0.0.1"},
		{[]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, "8.8.8.8", "8.8.8.8"},
		{[]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, "1.1.1.1, 8.8.8.8", "8.8.8.8"},
		{[]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("8.8.8.8/32")}, "1.1.1.1, 8.8.8.8", "1.1.1.1"},
		{[]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, "[2001:db8::1]:77", "2001:db8::1"},
		{[]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, "8.8.8.8:77", "8.8.8.8"},
		{[]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, "nonsense", "127.0.0.1"},
	} {
		transport := open(t, &parleyhttp.Options{TrustedProxies: tc.proxies})
		peers := make(chan string, 1)
		serve(t, transport, func(_ context.Context, f parley.Frame) (parley.Frame, error) {
			peers <- f.Peer
			return parley.Frame{}, nil
		})

		ask(t, transport, message("{}", "x-forwarded-for: "+tc.header))

		if got := await(t, peers); got != tc.want {
			t.Errorf("proxies %v, header %q: peer %q, want %q", tc.proxies, tc.header, got, tc.want)
		}
	}
}

func TestHandlersAreServedBesideTheAgents(t *testing.T) {
	say := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s %d %v", text, r.URL.Path, len(body), err != nil)
		})
	}
	transport := open(t, &parleyhttp.Options{
		Limits: parleyhttp.Limits{Body: 100},
		Handlers: map[string]http.Handler{
			"/v1/": say("v1"), "/v1/almanac/": say("almanac"), "/metrics": say("metrics"),
			"/v1/panic": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret") }),
		},
	})
	serve(t, transport, accept)
	for _, tc := range []struct {
		request string
		status  int
		body    string
	}{
		{"GET /v1/almanac/agents HTTP/1.1\r\nhost: x\r\n\r\n", 200, "almanac /v1/almanac/agents 0 false"},
		{"OPTIONS /v1/other HTTP/1.1\r\nhost: x\r\n\r\n", 200, "v1 /v1/other 0 false"},
		{"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n", 200, "metrics /metrics 0 false"},
		{"GET /metrics/more HTTP/1.1\r\nhost: x\r\n\r\n", 404, `{"error": "not found"}`},
		{"GET /v1 HTTP/1.1\r\nhost: x\r\n\r\n", 404, `{"error": "not found"}`},
		{"POST /v1/x HTTP/1.1\r\nhost: x\r\ncontent-length: 200\r\n\r\n" + strings.Repeat("x", 200), 200, "v1 /v1/x 100 true"},
		{"GET /v1/panic HTTP/1.1\r\nhost: x\r\n\r\n", 0, ""},
		{message("{}"), 200, "{}"},
	} {
		got := ask(t, transport, tc.request)
		if got.Status != tc.status || got.Body != tc.body {
			t.Errorf("%q: answer %d %s, want %d %s", tc.request[:20], got.Status, got.Body, tc.status, tc.body)
		}
		if strings.HasPrefix(got.Body, "v1") && got.Headers["access-control-allow-origin"] != "" {
			t.Error("a handler decides itself which pages may ask")
		}
	}
}

func wantGoroutines(t *testing.T, atMost int) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		n := runtime.NumGoroutine()
		if n <= atMost {
			return
		}
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, want at most %d\n%s", n, atMost, stacks[:runtime.Stack(stacks, true)])
		}
	}
}
