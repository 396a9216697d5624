package parleyhttp_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/transport/parleyhttp"
)

// A peer is a program at the other end of connections, well-behaved or not. It
// gets each connection after the headers of a request have arrived on it.
func peer(t *testing.T, behave func(c net.Conn, request *http.Request)) (endpoint string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		l.Close()
		cancel()
		running.Wait()
	})
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer context.AfterFunc(ctx, func() { c.Close() })()
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(patience))
				if request, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					behave(c, request)
				}
			})
		}
	})
	return "http://" + l.Addr().String() + "/submit"
}

// says answers with the given text.
func says(text string) func(net.Conn, *http.Request) {
	return func(c net.Conn, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(c, text)
	}
}

func reset(c net.Conn, _ *http.Request) {
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
}

func newClient(t *testing.T, o *parleyhttp.Options) *parleyhttp.Transport {
	t.Helper()
	transport, err := parleyhttp.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return transport
}

func deliveryError(err error) parley.DeliveryError {
	if e, ok := errors.AsType[*parley.DeliveryError](err); ok {
		return *e
	}
	if err != nil {
		return parley.DeliveryError{Code: "not a DeliveryError", Text: err.Error()}
	}
	return parley.DeliveryError{}
}

func TestAnswersOfPeersAreUnderstood(t *testing.T) {
	hang := func(c net.Conn, _ *http.Request) { _, _ = io.Copy(io.Discard, c) }
	for _, tc := range []struct {
		name   string
		behave func(net.Conn, *http.Request)
		sync   bool
		code   parley.Code
		status int
		text   string
		reply  string
	}{
		{name: "taken", behave: says("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")},
		{name: "taken, without a length", behave: says("HTTP/1.1 200 OK\r\n\r\n{}")},
		{name: "accepted", behave: says("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")},
		{name: "taken, with a body that is cut off", behave: says("HTTP/1.1 200 OK\r\ncontent-length: 200\r\n\r\n{}")},
		{name: "taken, with a body that never comes", behave: func(c net.Conn, r *http.Request) {
			says("HTTP/1.1 200 OK\r\ncontent-length: 200\r\n\r\n")(c, r)
			hang(c, r)
		}},
		{name: "reply", sync: true, behave: says("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nreply"), reply: "reply"},
		{name: "reply in chunks", sync: true, behave: says("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nreply\r\n0\r\n\r\n"), reply: "reply"},
		{name: "empty reply", sync: true, behave: says("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")},
		{name: "reply that is cut off", sync: true, behave: says("HTTP/1.1 200 OK\r\ncontent-length: 200\r\n\r\nreply"),
			code: fault.Unknown, status: 200, text: "the reply did not arrive: unexpected EOF"},
		{name: "reply longer than it says", sync: true, behave: says("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nreply"), reply: "rep"},

		{name: "refused", behave: says("HTTP/1.1 400 Bad Request\r\n\r\n{\"error\": \"unable to route envelope\"}"),
			code: fault.Refused, status: 400, text: "unable to route envelope"},
		{name: "refused, in the registry's form", behave: says("HTTP/1.1 404 Not Found\r\n\r\n{\"detail\": \"agent not found\"}"),
			code: fault.Refused, status: 404, text: "agent not found"},
		{name: "refused in text", behave: says("HTTP/1.1 403 Forbidden\r\n\r\nno\x00entry\r\nplease\n"),
			code: fault.Refused, status: 403, text: "no entry  please"},
		{name: "refused at length", behave: says("HTTP/1.1 403 Forbidden\r\n\r\n" + strings.Repeat("no", 10_000)),
			code: fault.Refused, status: 403, text: strings.Repeat("no", 250) + "…"},
		{name: "refused without a word", behave: says("HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n"),
			code: fault.Refused, status: 410, text: "410 Gone"},
		{name: "too large", behave: says("HTTP/1.1 413 Too Large\r\n\r\n{\"error\": 7}"),
			code: fault.Refused, status: 413, text: `{"error": 7}`},
		{name: "moved", behave: says("HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n"),
			code: fault.Refused, status: 302, text: "redirects are not followed: http://169.254.169.254/"},
		{name: "moved for good", behave: says("HTTP/1.1 308 Permanent Redirect\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n"),
			code: fault.Refused, status: 308, text: "redirects are not followed: /elsewhere"},

		{name: "busy", behave: says("HTTP/1.1 503 Service Unavailable\r\n\r\n{\"error\": \"later\"}"),
			code: fault.Unavailable, status: 503, text: "later"},
		{name: "too many requests", behave: says("HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n"),
			code: fault.Unavailable, status: 429, text: "429 Too Many Requests"},
		{name: "request timeout", behave: says("HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n"),
			code: fault.Unavailable, status: 408, text: "408 Request Timeout"},

		{name: "failed", behave: says("HTTP/1.1 500 Internal Server Error\r\n\r\nInternal Server Error"),
			code: fault.Unknown, status: 500, text: "Internal Server Error"},
		{name: "bad gateway", behave: says("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n"),
			code: fault.Unknown, status: 502, text: "502 Bad Gateway"},
		{name: "out of range", behave: says("HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n"),
			code: fault.Unknown, status: 999, text: "999 Odd"},
		{name: "garbage", behave: says("SSH-2.0-OpenSSH_9.6\r\n"), code: fault.Unknown},
		{name: "endless headers", behave: func(c net.Conn, _ *http.Request) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for {
				if _, err := io.WriteString(c, "a: "+strings.Repeat("x", 1000)+"\r\n"); err != nil {
					return
				}
			}
		}, code: fault.Unknown},
		{name: "endless interim answers", behave: func(c net.Conn, _ *http.Request) {
			for {
				if _, err := io.WriteString(c, "HTTP/1.1 102 Processing\r\n\r\n"); err != nil {
					return
				}
			}
		}, code: fault.Unknown},
		{name: "reset", behave: reset, code: fault.Unknown},
		{name: "hangs up", behave: func(net.Conn, *http.Request) {}, code: fault.Unknown},
		{name: "reset in the headers of the answer", behave: func(c net.Conn, r *http.Request) {
			says("HTTP/1.1 200 OK\r\ncontent-le")(c, r)
			time.Sleep(10 * time.Millisecond)
			reset(c, r)
		}, code: fault.Unknown},
		{name: "reset in the reply", sync: true, behave: func(c net.Conn, r *http.Request) {
			says("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf")(c, r)
			time.Sleep(10 * time.Millisecond)
			reset(c, r)
		}, code: fault.Unknown, status: 200},
		{name: "hangs", behave: hang, code: fault.Unknown},
		{name: "hangs instead of a reply", sync: true, behave: hang, code: fault.Unknown},
		{name: "hangs in the reply", sync: true, behave: func(c net.Conn, r *http.Request) {
			says("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf")(c, r)
			hang(c, r)
		}, code: fault.Unknown, status: 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var asked atomic.Int32
			endpoint := peer(t, func(c net.Conn, r *http.Request) {
				asked.Add(1)
				tc.behave(c, r)
			})
			client := newClient(t, &parleyhttp.Options{Timeouts: parleyhttp.Timeouts{Send: 300 * time.Millisecond, Ask: 300 * time.Millisecond}})
			began := time.Now()

			reply, err := client.Send(t.Context(), endpoint, parley.Frame{Body: []byte("{}"), Sync: tc.sync})

			got := deliveryError(err)
			if got.Code != tc.code || got.Status != tc.status || err != nil && got.Endpoint != endpoint || tc.text != "" && got.Text != tc.text {
				t.Errorf("Send = %+v, want %s, %d, %q", got, tc.code, tc.status, tc.text)
			}
			if string(reply.Body) != tc.reply {
				t.Errorf("reply %q, want %q", reply.Body, tc.reply)
			}
			if asked.Load() != 1 {
				t.Errorf("the peer was asked %d times, want once", asked.Load())
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("Send took %v", took)
			}
		})
	}
}

func TestWhatCannotBeReachedIsUnavailable(t *testing.T) {
	encrypted := httptest.NewUnstartedServer(http.NotFoundHandler())
	encrypted.Config.ErrorLog = log.New(io.Discard, "", 0)
	encrypted.StartTLS()
	defer encrypted.Close()
	plain := "https" + strings.TrimPrefix(peer(t, func(net.Conn, *http.Request) {}), "http")
	full, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never says a word
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for name, endpoint := range map[string]string{
		"nobody listens":            "http://" + freeAddress(t) + "/submit",
		"no such name":              "http://no-such-host.invalid/submit",
		"a stranger's certificate":  encrypted.URL,
		"no TLS where TLS is meant": plain,
		"TLS that never answers":    "https://" + full.Addr().String(),
		"no endpoint":               "mailto:bob",
		"credentials":               "http://user:secret@127.0.0.1/",
	} {
		t.Run(name, func(t *testing.T) {
			client := newClient(t, &parleyhttp.Options{Timeouts: parleyhttp.Timeouts{Connect: 300 * time.Millisecond}})

			_, err := client.Send(t.Context(), endpoint, parley.Frame{Body: []byte("{}")})

			if got := deliveryError(err); got.Code != fault.Unavailable || got.Status != 0 || got.Text == "" {
				t.Errorf("Send = %+v, want unavailable", got)
			}
		})
	}
}

func TestRepliesOverTheLimitAreNotRead(t *testing.T) {
	for name, head := range map[string]string{
		"announced":     "HTTP/1.1 200 OK\r\ncontent-length: 100000000000\r\n\r\n",
		"not announced": "HTTP/1.1 200 OK\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			endpoint := peer(t, func(c net.Conn, _ *http.Request) {
				_, _ = io.WriteString(c, head)
				for {
					if _, err := c.Write(make([]byte, 1<<16)); err != nil {
						return
					}
				}
			})
			client := newClient(t, &parleyhttp.Options{Limits: parleyhttp.Limits{Response: 1000}})
			began := time.Now()

			_, err := client.Send(t.Context(), endpoint, parley.Frame{Sync: true})
			_, ack := client.Send(t.Context(), endpoint, parley.Frame{})
			took := time.Since(began)

			if got := deliveryError(err); got.Code != fault.Unknown || got.Text != "the reply is larger than 1000 bytes" {
				t.Errorf("Send = %+v, want unknown", got)
			}
			if ack != nil {
				t.Errorf("Send = %v; a message is taken whatever the acknowledgement drags along", ack)
			}
			if took > 5*time.Second {
				t.Errorf("took %v: the rest was read too", took)
			}
		})
	}
}

func TestRequestsLookAsThePeersExpect(t *testing.T) {
	for _, sync := range []bool{false, true} {
		requests := make(chan *http.Request, 1)
		endpoint := peer(t, func(c net.Conn, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			requests <- r
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nx-parley: 1\r\ncontent-length: 0\r\n\r\n")
		})

		reply, err := newClient(t, nil).Send(t.Context(), endpoint, parley.Frame{Body: []byte("body"), Sync: sync})

		if err != nil || !reply.Deduplicates || reply.Peer == "" {
			t.Errorf("Send = %+v, %v, want a peer that de-duplicates", reply, err)
		}
		r := await(t, requests)
		connection := ""
		if sync {
			connection = "sync"
		}
		body, _ := io.ReadAll(r.Body)
		if r.Method != "POST" || r.URL.Path != "/submit" || r.Header.Get("content-type") != "application/json" ||
			r.Header.Get("x-uagents-connection") != connection || r.Header.Get("x-parley") != "1" || string(body) != "body" ||
			r.Header.Get("expect") != "" || r.ContentLength != 4 {
			t.Errorf("sync %v: request %+v", sync, r)
		}
	}
}

func TestFailuresSayTooWhetherThePeerDeduplicates(t *testing.T) {
	endpoint := peer(t, says("HTTP/1.1 500 Oh\r\nx-parley: 1\r\ncontent-length: 0\r\n\r\n"))

	reply, err := newClient(t, nil).Send(t.Context(), endpoint, parley.Frame{})

	if deliveryError(err).Code != fault.Unknown || !reply.Deduplicates {
		t.Errorf("Send = %+v, %v, want unknown from a peer that de-duplicates", reply, err)
	}
}

// Large messages ask first, so that the refusal arrives instead of a reset.
func TestLargeMessagesLearnThatTheyAreTooLarge(t *testing.T) {
	server := open(t, &parleyhttp.Options{Limits: parleyhttp.Limits{Body: 300 << 10}})
	serve(t, server, accept)
	client := newClient(t, nil)
	for range 20 {
		_, err := client.Send(t.Context(), server.URL()+"/submit", parley.Frame{Body: make([]byte, 16<<20)})
		if got := deliveryError(err); got.Code != fault.Refused || got.Status != 413 {
			t.Fatalf("Send = %+v, want refused with 413", got)
		}
	}
	if _, err := client.Send(t.Context(), server.URL()+"/submit", parley.Frame{Body: make([]byte, 300<<10)}); err != nil {
		t.Error(err)
	}
}

// A connection that the peer has closed while it was idle is not a failure.
func TestConnectionsThatEndedWhileIdleAreReplaced(t *testing.T) {
	var mu sync.Mutex
	var connections []net.Conn
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }))
	server.Config.ConnState = func(c net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if state == http.StateNew {
			connections = append(connections, c)
		}
	}
	server.Start()
	defer server.Close()
	client := newClient(t, nil)
	for range 20 {
		if _, err := client.Send(t.Context(), server.URL, parley.Frame{Body: []byte("{}")}); err != nil {
			t.Fatalf("Send = %v; nothing was sent on the connection that had ended", err)
		}
		mu.Lock()
		for _, c := range connections {
			_ = c.Close()
		}
		connections = nil
		mu.Unlock()
		time.Sleep(10 * time.Millisecond) // for the end to arrive
	}
}

func TestRetryAfterIsRespected(t *testing.T) {
	var asked atomic.Int32
	endpoint := peer(t, func(c net.Conn, r *http.Request) {
		if asked.Add(1) == 1 {
			says("HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n")(c, r)
			return
		}
		says("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")(c, r)
	})
	client := newClient(t, nil)
	_, first := client.Send(t.Context(), endpoint, parley.Frame{})

	_, second := client.Send(t.Context(), endpoint, parley.Frame{})

	if deliveryError(first).Code != fault.Unavailable || deliveryError(second).Code != fault.Unavailable || asked.Load() != 1 {
		t.Errorf("%v, %v, asked %d times: want unavailable twice, and the peer left alone", first, second, asked.Load())
	}
	time.Sleep(1100 * time.Millisecond)
	if _, err := client.Send(t.Context(), endpoint, parley.Frame{}); err != nil {
		t.Errorf("Send after the time = %v", err)
	}
}

// U11: a host that does not answer takes connections only from itself.
func TestU11AHangingHostHoldsUpNobodyElse(t *testing.T) {
	arrived := make(chan struct{}, 6)
	hanging := peer(t, func(c net.Conn, _ *http.Request) {
		arrived <- struct{}{}
		_, _ = io.Copy(io.Discard, c)
	})
	fine := peer(t, says("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"))
	client := newClient(t, &parleyhttp.Options{Limits: parleyhttp.Limits{PerHost: 2, WaitsPerHost: 2}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	results := make(chan error, 6)
	for i := range 6 {
		go func() {
			_, err := client.Send(ctx, hanging, parley.Frame{Sync: i%2 == 0})
			results <- err
		}()
	}
	for range 4 { // all the connections there may be
		await(t, arrived)
	}

	_, err := client.Send(t.Context(), fine, parley.Frame{})

	if err != nil {
		t.Errorf("Send to another host = %v", err)
	}
	cancel()
	codes := map[parley.Code]int{}
	for range 6 {
		codes[deliveryError(await(t, results)).Code]++
	}
	if codes[fault.Unknown] != 4 || codes[fault.Unavailable] != 2 {
		t.Errorf("codes %v, want 4 unknown (on connections) and 2 unavailable (still waiting for one)", codes)
	}
}

// Many that wait for replies must not keep out the message that lets them have one.
func TestWaitsDoNotHoldUpMessages(t *testing.T) {
	arrived := make(chan struct{}, 3)
	endpoint := peer(t, func(c net.Conn, r *http.Request) {
		if r.Header.Get("x-uagents-connection") == "sync" {
			arrived <- struct{}{}
			_, _ = io.Copy(io.Discard, c)
		}
		says("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")(c, r)
	})
	client := newClient(t, &parleyhttp.Options{Limits: parleyhttp.Limits{PerHost: 1, WaitsPerHost: 1}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 3 {
		go client.Send(ctx, endpoint, parley.Frame{Sync: true})
	}
	await(t, arrived)

	if _, err := client.Send(t.Context(), endpoint, parley.Frame{}); err != nil {
		t.Errorf("Send beside waits = %v", err)
	}
}

func TestTLS(t *testing.T) {
	certFile, keyFile, roots := certificate(t, "127.0.0.1")
	weak := &tls.Config{MinVersion: tls.VersionTLS10}
	server := open(t, &parleyhttp.Options{CertFile: certFile, KeyFile: keyFile, ServerTLS: weak})
	serve(t, server, accept)
	old := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	if c, err := tls.Dial("tcp", strings.TrimPrefix(server.URL(), "https://"), old); err == nil {
		c.Close()
		t.Error("the server speaks TLS 1.1")
	}
	if !strings.HasPrefix(server.URL(), "https://127.0.0.1:") {
		t.Fatalf("URL() = %s, want https", server.URL())
	}
	otherName := strings.Replace(server.URL(), "127.0.0.1", "localhost", 1)
	for _, tc := range []struct {
		name     string
		endpoint string
		config   *tls.Config
		want     parley.Code
	}{
		{"known roots", server.URL() + "/submit", &tls.Config{RootCAs: roots}, ""},
		{"unknown roots", server.URL() + "/submit", nil, fault.Unavailable},
		{"another name", otherName + "/submit", &tls.Config{RootCAs: roots}, fault.Unavailable},
		{"old TLS", server.URL() + "/submit", old, fault.Unavailable},
		{"no TLS", "http" + strings.TrimPrefix(server.URL(), "https") + "/submit", nil, fault.Refused},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client := newClient(t, &parleyhttp.Options{ClientTLS: tc.config})
			for range 2 {
				_, err := client.Send(t.Context(), tc.endpoint, parley.Frame{Body: []byte("{}")})
				if got := deliveryError(err); got.Code != tc.want {
					t.Errorf("Send = %+v, want %q", got, tc.want)
				}
			}
		})
	}
}

func TestClientCertificates(t *testing.T) {
	certFile, keyFile, roots := certificate(t, "127.0.0.1")
	own, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	server := open(t, &parleyhttp.Options{
		CertFile: certFile, KeyFile: keyFile,
		ServerTLS: &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: roots},
	})
	serve(t, server, accept)
	known := newClient(t, &parleyhttp.Options{ClientTLS: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{own}}})
	stranger := newClient(t, &parleyhttp.Options{ClientTLS: &tls.Config{RootCAs: roots}})

	_, err = known.Send(t.Context(), server.URL()+"/submit", parley.Frame{})
	_, refused := stranger.Send(t.Context(), server.URL()+"/submit", parley.Frame{})

	if err != nil || refused == nil {
		t.Errorf("with certificate %v, without %v", err, refused)
	}
}
