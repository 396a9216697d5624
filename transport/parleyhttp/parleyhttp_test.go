package parleyhttp_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/transport/parleyhttp"
	"github.com/parley-agents/parley/transport/transporttest"
)

func open(t *testing.T, opts *parleyhttp.Options) *parleyhttp.Transport {
	t.Helper()
	if opts == nil {
		opts = &parleyhttp.Options{}
	}
	opts.Listen = "127.0.0.1:0"
	transport, err := parleyhttp.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	transport.Attach(emptyHost{})
	return transport
}

func TestTransport(t *testing.T) {
	transporttest.Run(t, func(t *testing.T) transporttest.Pair {
		alice, bob := open(t, nil), open(t, nil)
		nobody, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		absent := "http://" + nobody.Addr().String() + "/submit"
		nobody.Close()
		return transporttest.Pair{
			Alice: alice, AliceAt: alice.URL() + "/submit", Bob: bob, BobAt: bob.URL() + "/submit",
			Absent: absent, Crash: func() { parleyhttp.Crash(bob) },
		}
	})
}

// serve runs a transport until the test ends.
func serve(t *testing.T, transport *parleyhttp.Transport, deliver parley.Deliver) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- transport.Serve(ctx, deliver) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(30 * time.Second):
			t.Error("Serve does not return")
		}
	})
}

func taking(context.Context, parley.Frame) (parley.Frame, error) { return parley.Frame{}, nil }

// U18: what is too large is refused before it is read, with and without a length.
func TestU18TooLargeIsRefusedBeforeItIsRead(t *testing.T) {
	transport := open(t, &parleyhttp.Options{Limits: parleyhttp.Limits{Body: 1000}})
	serve(t, transport, func(context.Context, parley.Frame) (parley.Frame, error) {
		t.Error("delivered")
		return parley.Frame{}, nil
	})
	endless := io.LimitReader(neverEnding{}, 1<<30)
	for name, body := range map[string]io.Reader{"with a length": strings.NewReader(strings.Repeat("x", 1001)), "chunked": endless} {
		response, err := http.Post(transport.URL()+"/submit", "application/json", body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != 413 || !strings.Contains(string(text), `{"error": "`) {
			t.Errorf("%s: %d %s, want 413", name, response.StatusCode, text)
		}
	}
}

type neverEnding struct{}

func (neverEnding) Read(b []byte) (int, error) { return len(b), nil }

// A client that sends its headers slowly, or its body never, is cut off and
// holds nobody up.
func TestSlowClientsAreCutOff(t *testing.T) {
	transport := open(t, &parleyhttp.Options{Limits: parleyhttp.Limits{Header: 100 * time.Millisecond, Read: 200 * time.Millisecond}})
	serve(t, transport, taking)
	for name, text := range map[string]string{
		"headers": "POST /submit HTTP/1.1\r\nhost: x\r\ncontent-type: appl",
		"body":    "POST /submit HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(transport.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(conn); err != nil {
			t.Errorf("%s: still open after ten seconds: %v", name, err)
		}
	}
	if _, err := open(t, nil).Send(t.Context(), transport.URL()+"/submit", parley.Frame{Body: []byte("{}")}); err != nil {
		t.Errorf("an honest client: %v", err)
	}
}

func TestLimitsPerPeer(t *testing.T) {
	transport := open(t, &parleyhttp.Options{Limits: parleyhttp.Limits{PerPeer: 1}})
	entered, release := make(chan struct{}), make(chan struct{})
	serve(t, transport, func(context.Context, parley.Frame) (parley.Frame, error) {
		close(entered)
		<-release
		return parley.Frame{}, nil
	})
	client := open(t, nil)
	first := make(chan error, 1)
	go func() {
		_, err := client.Send(context.Background(), transport.URL()+"/submit", parley.Frame{Body: []byte("{}")})
		first <- err
	}()
	<-entered
	_, err := client.Send(t.Context(), transport.URL()+"/submit", parley.Frame{Body: []byte("{}")})
	if e, ok := err.(*parley.DeliveryError); !ok || e.Status != 429 || e.Code != fault.Unavailable {
		t.Errorf("the second at once: %v, want 429", err)
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// What peers can answer, and what it means for the message.
func TestAnswersOfPeers(t *testing.T) {
	for _, tc := range []struct {
		name    string
		answer  http.HandlerFunc
		code    parley.Code
		text    string
		timeout time.Duration
	}{
		{"taken", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }, "", "", 0},
		{"busy", status(503, ""), fault.Unavailable, "503", 0},
		{"too many", status(429, ""), fault.Unavailable, "429", 0},
		{"broken", status(500, "Internal Server Error"), fault.Unknown, "Internal Server Error", 0},
		{"refused", status(400, `{"error": "unable to route envelope"}`), fault.Refused, "unable to route envelope", 0},
		{"moved", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		}, fault.Refused, "307", 0},
		{"reset", func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, fault.Unknown, "", 0},
		{"hangs", func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body); <-r.Context().Done() }, fault.Unknown, "", 200 * time.Millisecond},
		{"garbage", func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			_, _ = io.WriteString(conn, "what?\r\n\r\n")
			conn.Close()
		}, fault.Unknown, "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			peer := httptest.NewServer(tc.answer)
			defer peer.Close()
			ctx := t.Context()
			if tc.timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, tc.timeout)
				defer cancel()
			}
			_, err := open(t, nil).Send(ctx, peer.URL+"/submit", parley.Frame{Body: []byte("{}")})
			if tc.code == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if e, ok := err.(*parley.DeliveryError); !ok || e.Code != tc.code || !strings.Contains(e.Error(), tc.text) {
				t.Errorf("Send = %v, want %s with %q", err, tc.code, tc.text)
			}
		})
	}
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}
}

func TestTLS(t *testing.T) {
	reference := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	defer reference.Close()
	server := open(t, &parleyhttp.Options{TLS: &tls.Config{Certificates: reference.TLS.Certificates}})
	serve(t, server, taking)
	pool := x509.NewCertPool()
	pool.AddCert(reference.Certificate())

	trusting := open(t, &parleyhttp.Options{ClientTLS: &tls.Config{RootCAs: pool}})
	if _, err := trusting.Send(t.Context(), server.URL()+"/submit", parley.Frame{Body: []byte("{}")}); err != nil {
		t.Errorf("with the right root: %v", err)
	}
	_, err := open(t, nil).Send(t.Context(), server.URL()+"/submit", parley.Frame{Body: []byte("{}")})
	if e, ok := err.(*parley.DeliveryError); !ok || e.Code != fault.Unavailable {
		t.Errorf("without it: %v, want unavailable", err)
	}
}

// U21: a proxy header counts only from a proxy that was named.
func TestU21ProxyHeadersOfStrangersCountForNothing(t *testing.T) {
	transport := open(t, nil)
	got := make(chan string, 1)
	serve(t, transport, func(_ context.Context, f parley.Frame) (parley.Frame, error) {
		got <- f.Peer
		return parley.Frame{}, nil
	})
	request, err := http.NewRequest("POST", transport.URL()+"/submit", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("content-type", "application/json")
	request.Header.Set("x-forwarded-for", "8.8.8.8")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if peer := <-got; peer != "127.0.0.1" {
		t.Errorf("the request is taken to be from %s", peer)
	}
}

// FuzzRequest sends arbitrary bytes to the server: it answers or closes, and
// lives.
func FuzzRequest(f *testing.F) {
	transport, err := parleyhttp.New(&parleyhttp.Options{Listen: "127.0.0.1:0", Limits: parleyhttp.Limits{Header: time.Second, Read: time.Second}})
	if err != nil {
		f.Fatal(err)
	}
	transport.Attach(emptyHost{})
	ctx, cancel := context.WithCancel(context.Background())
	f.Cleanup(cancel)
	go func() { _ = transport.Serve(ctx, taking) }()
	address := strings.TrimPrefix(transport.URL(), "http://")
	f.Add([]byte("POST /submit HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"))
	f.Add([]byte("HEAD /submit HTTP/1.1\r\nhost: x\r\nx-uagents-address: agent1\r\n\r\n"))
	f.Add([]byte("OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatalf("the server is gone: %v", err)
		}
		defer conn.Close()
		_, _ = conn.Write(data) // it may close early
		_ = conn.(*net.TCPConn).CloseWrite()
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := io.Copy(io.Discard, bufio.NewReader(conn)); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Fatalf("no answer and no end: %q", data)
		}
	})
}
