// Package parleyhttp carries envelopes over HTTP as uAgents do: a POST to
// /submit, answered when the message is stored.
//
// The server answers as the Python library does, in the order of its checks,
// except where that would be a fault; docs/differences.md lists those. Every
// response says by the header x-parley that this node drops repeats.
package parleyhttp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/parley-agents/parley"
)

// Options say where to listen and what to bear. Nil means the defaults.
type Options struct {
	Listen string // host:port; default 127.0.0.1:8000; port 0 takes a free one

	// TLS makes the server speak HTTPS. ClientTLS is for requests to others.
	TLS, ClientTLS *tls.Config

	// Handlers serve other paths, each all that starts with its key.
	Handlers map[string]http.Handler

	// TrustedProxies may say by X-Forwarded-For who a request is from. Nobody
	// else may.
	TrustedProxies []netip.Prefix

	Limits Limits
	Logger *slog.Logger
}

// Limits bound what strangers can make the server do. Zero means the default.
type Limits struct {
	Body     int64         // bytes of a request; default 1.5 MiB
	Requests int           // at once; default 4096
	PerPeer  int           // at once from one address; default 1024
	Header   time.Duration // to send the headers; default 10 s
	Read     time.Duration // to send the whole request; default 60 s
	Idle     time.Duration // of a connection that is kept; default 2 min
	Grace    time.Duration // for running requests when the server stops; default 10 s
}

const (
	defaultListen   = "127.0.0.1:8000"
	defaultBody     = 3 << 19
	defaultRequests = 4096
	defaultPerPeer  = 1024
	defaultHeader   = 10 * time.Second
	defaultRead     = time.Minute
	defaultIdle     = 2 * time.Minute
	defaultGrace    = 10 * time.Second
)

// A Transport serves envelopes on one address and sends them to any. It
// implements [parley.HostedTransport].
type Transport struct {
	opts     Options
	listener net.Listener
	client   *http.Client
	host     atomic.Pointer[parley.Host]
	server   atomic.Pointer[http.Server]
	peers    *peerCounter
	requests chan struct{}
}

var _ parley.HostedTransport = (*Transport)(nil)

// New listens at once, so that the address is known; nothing is served before
// [Transport.Serve].
func New(opts *Options) (*Transport, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.defaults()
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s (is another program using it?): %w", o.Listen, err)
	}
	if o.TLS != nil {
		listener = tls.NewListener(listener, o.TLS)
	}
	return &Transport{
		opts: o, listener: listener, client: newClient(o.ClientTLS),
		peers: &peerCounter{limit: o.Limits.PerPeer, now: make(map[string]int)}, requests: make(chan struct{}, o.Limits.Requests),
	}, nil
}

func (o *Options) defaults() {
	if o.Listen == "" {
		o.Listen = defaultListen
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	l := &o.Limits
	l.Body = orDefault(l.Body, defaultBody)
	l.Requests = orDefault(l.Requests, defaultRequests)
	l.PerPeer = orDefault(l.PerPeer, defaultPerPeer)
	l.Header = orDefault(l.Header, defaultHeader)
	l.Read = orDefault(l.Read, defaultRead)
	l.Idle = orDefault(l.Idle, defaultIdle)
	l.Grace = orDefault(l.Grace, defaultGrace)
}

func orDefault[N int | int64 | time.Duration](n, otherwise N) N {
	if n <= 0 {
		return otherwise
	}
	return n
}

// URL is where the server can be reached from this machine.
func (t *Transport) URL() string {
	scheme := "http"
	if t.opts.TLS != nil {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(t.listener.Addr().String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// Attach says whose agents are served; see [parley.HostedTransport].
func (t *Transport) Attach(h parley.Host) { t.host.Store(&h) }

// Reaches reports whether the endpoint is an HTTP URL.
func (t *Transport) Reaches(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

var errNoHost = errors.New("the transport serves no node yet")
