package parleyhttp_test

import (
	"context"
	"crypto/tls"
	"math"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/transport/parleyhttp"
	"github.com/parley-agents/parley/transport/transporttest"
)

func TestTransport(t *testing.T) {
	transporttest.Run(t, func(t *testing.T) transporttest.Pair {
		alice, bob := open(t, nil), open(t, nil)
		return transporttest.Pair{
			Alice: alice, AliceAt: alice.URL() + "/submit",
			Bob: bob, BobAt: bob.URL() + "/submit",
			Absent: "http://" + freeAddress(t) + "/submit",
			Crash:  bob.Crash,
		}
	})
}

// The promises hold over TLS too.
func TestTransportOverTLS(t *testing.T) {
	certFile, keyFile, roots := certificate(t, "127.0.0.1")
	options := func() *parleyhttp.Options {
		return &parleyhttp.Options{CertFile: certFile, KeyFile: keyFile, ClientTLS: &tls.Config{RootCAs: roots}}
	}
	transporttest.Run(t, func(t *testing.T) transporttest.Pair {
		alice, bob := open(t, options()), open(t, options())
		return transporttest.Pair{
			Alice: alice, AliceAt: alice.URL() + "/submit",
			Bob: bob, BobAt: bob.URL() + "/submit",
			Absent: "https://" + freeAddress(t) + "/submit",
			Crash:  bob.Crash,
		}
	})
}

// open makes a transport that is bound to a free port.
func open(t *testing.T, o *parleyhttp.Options) *parleyhttp.Transport {
	t.Helper()
	if o == nil {
		o = &parleyhttp.Options{}
	}
	o.Listen = "127.0.0.1:0"
	transport, err := parleyhttp.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := transport.Listen(); err != nil {
		t.Fatal(err)
	}
	return transport
}

// freeAddress is one where nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestOptionsAreChecked(t *testing.T) {
	certFile, keyFile, _ := certificate(t, "127.0.0.1")
	for name, o := range map[string]*parleyhttp.Options{
		"no port":                  {Listen: "localhost"},
		"empty port":               {Listen: "localhost:"},
		"certificate without key":  {CertFile: certFile},
		"key without certificate":  {KeyFile: keyFile},
		"no such file":             {CertFile: certFile + ".old", KeyFile: keyFile},
		"files swapped":            {CertFile: keyFile, KeyFile: certFile},
		"TLS without certificate":  {ServerTLS: &tls.Config{}},
		"invalid proxy":            {TrustedProxies: []netip.Prefix{{}}},
		"handler without slash":    {Handlers: map[string]http.Handler{"v1/": http.NotFoundHandler()}},
		"handler for everything":   {Handlers: map[string]http.Handler{"/": http.NotFoundHandler()}},
		"handler for the messages": {Handlers: map[string]http.Handler{"/submit": http.NotFoundHandler()}},
		"no handler":               {Handlers: map[string]http.Handler{"/v1/": nil}},
		"negative limit":           {Limits: parleyhttp.Limits{Body: -1}},
		"negative rate":            {Limits: parleyhttp.Limits{RatePerPeer: -1}},
		"no number as a rate":      {Limits: parleyhttp.Limits{RatePerPeer: math.NaN()}},
		"negative timeout":         {Timeouts: parleyhttp.Timeouts{Wait: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parleyhttp.New(o); err == nil || !strings.HasPrefix(err.Error(), "parleyhttp: ") {
				t.Errorf("New = %v, want an error that says what is wrong", err)
			}
		})
	}
}

func TestURL(t *testing.T) {
	for listen, want := range map[string]string{
		"":               "http://127.0.0.1:8000",
		"127.0.0.1:0":    "",
		"0.0.0.0:8001":   "http://127.0.0.1:8001",
		":8001":          "http://127.0.0.1:8001",
		"[::]:8001":      "http://[::1]:8001",
		"localhost:8001": "http://localhost:8001",
	} {
		transport, err := parleyhttp.New(&parleyhttp.Options{Listen: listen})
		if err != nil {
			t.Fatal(err)
		}
		if got := transport.URL(); got != want {
			t.Errorf("Listen %q: URL() = %q, want %q", listen, got, want)
		}
	}
	bound := open(t, nil)
	if !strings.HasPrefix(bound.URL(), "http://127.0.0.1:") || strings.HasSuffix(bound.URL(), ":0") {
		t.Errorf("URL() after Listen = %q, want the port", bound.URL())
	}
}

func TestAPortInUseIsAnError(t *testing.T) {
	first := open(t, nil)
	second, err := parleyhttp.New(&parleyhttp.Options{Listen: strings.TrimPrefix(first.URL(), "http://")})
	if err != nil {
		t.Fatal(err)
	}

	if err := second.Serve(t.Context(), accept); err == nil {
		t.Error("Serve on a port in use = nil, want an error")
	}
}

func TestServeAgainIsFoundAtTheSamePlace(t *testing.T) {
	transport := open(t, nil)
	url := transport.URL()
	stop := serve(t, transport, accept)
	wantAnswer(t, ask(t, transport, message("{}")), 200, "{}")
	if err := transport.Serve(t.Context(), accept); err == nil {
		t.Error("a second Serve beside the first = nil, want an error")
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}

	if err := transport.Listen(); err != nil {
		t.Fatal(err)
	}
	serve(t, transport, accept)

	if transport.URL() != url {
		t.Errorf("URL() = %s, want %s as before", transport.URL(), url)
	}
	wantAnswer(t, ask(t, transport, message("{}")), 200, "{}")
}

// Servers and clients, used in every way at once and stopped, leave nothing.
func TestNothingIsLeftAfterServe(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		alice, bob := open(t, nil), open(t, &parleyhttp.Options{Timeouts: parleyhttp.Timeouts{Grace: 50 * time.Millisecond}})
		stopBob := serve(t, bob, func(ctx context.Context, f parley.Frame) (parley.Frame, error) {
			switch string(f.Body) {
			case "wait":
				<-ctx.Done()
			case "panic":
				panic("on purpose")
			}
			return parley.Frame{}, nil
		})
		stopAlice := serve(t, alice, accept)
		var sends sync.WaitGroup
		for i := range 40 {
			sends.Go(func() {
				body := []string{"wait", "panic", "fine", "gone"}[i%4]
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				if body == "gone" {
					ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
				}
				defer cancel()
				_, _ = alice.Send(ctx, bob.URL()+"/submit", parley.Frame{Body: []byte(body), Sync: i%3 == 0})
			})
		}
		dial(t, bob)
		time.Sleep(50 * time.Millisecond)

		if err := stopBob(); err != nil {
			t.Error(err)
		}
		sends.Wait()
		if err := stopAlice(); err != nil {
			t.Error(err)
		}
	}

	wantGoroutines(t, before)
}
