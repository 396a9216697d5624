package parleyhttp

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Options configure a [Transport]. The zero value listens on 127.0.0.1:8000
// without encryption.
type Options struct {
	// Listen is the host and port of the server; default 127.0.0.1:8000. Port 0
	// takes a free one, see [Transport.URL].
	Listen string

	// CertFile and KeyFile make the server speak TLS. The PEM files are read
	// again when they change.
	CertFile, KeyFile string

	// ServerTLS makes the server speak TLS, for what files cannot say. With
	// CertFile, it needs no certificates.
	ServerTLS *tls.Config

	// ClientTLS is used to send to https endpoints: roots other than the
	// system's, certificates of our own.
	ClientTLS *tls.Config

	// TrustedProxies are believed when they say, in X-Forwarded-For, for whom
	// they ask. Nobody else is.
	TrustedProxies []netip.Prefix

	// Handlers are served beside the paths of the agents: under a prefix if the
	// key ends with a slash, else at exactly that path. They write their own
	// answers, CORS headers and refusals included; limits apply to them too.
	Handlers map[string]http.Handler

	Limits   Limits
	Timeouts Timeouts

	// Logger gets failures of the server; default none.
	Logger *slog.Logger
}

// Limits bound what strangers can make the transport hold or do. Zero means the
// default.
type Limits struct {
	Body   int64 // bytes of a request's body; default: a payload of 1 MiB in base64, with its envelope
	Header int   // bytes of a request's headers; default 32 KiB
	Memory int64 // bytes of all bodies held at once; default 256 MiB

	Requests        int // running at once; default 4096
	RequestsPerPeer int // of these for one network address; default 2048

	Connections        int // open at once; default 8192
	ConnectionsPerPeer int // of these from one network address that is no trusted proxy; default 4096

	RatePerPeer  float64 // requests per second from one network address; default no limit
	BurstPerPeer int     // requests it may make at once; default those of one second

	Response int64 // bytes of an answer to what we sent; default as Body

	PerHost      int // connections to one host for messages; default 64
	WaitsPerHost int // further ones to one host for messages that wait for their reply; default 512
}

// Timeouts bound how long anything waits. Zero means the default.
type Timeouts struct {
	Header time.Duration // for the headers of a request to arrive; default 10 s
	Body   time.Duration // for its body; default 30 s
	Wait   time.Duration // for a message to be taken over, and for the reply to one that waits; default 60 s
	Write  time.Duration // for the answer to be taken; default 30 s
	Idle   time.Duration // for the next request on a connection; default 60 s
	Grace  time.Duration // for running requests when the server stops; default 10 s

	Connect time.Duration // to connect to another host; default 10 s
	Send    time.Duration // to hand over a message and get the answer; default 30 s
	Ask     time.Duration // the same for a message that waits for its reply; default 5 min
}

const (
	defaultListen = "127.0.0.1:8000"
	defaultBody   = 1<<20*4/3 + 32<<10

	// idleOut is below the five seconds after which the peers' server, and many
	// another, closes a connection: one that is closed while we write to it
	// leaves us not knowing what became of the message.
	idleOut = 4 * time.Second

	// lastCall is how long connections stay open when the server stops: what is
	// on its way on them is told to come back. Were they cut at once, its senders
	// could not know what became of it.
	lastCall = 100 * time.Millisecond

	// settle is how long, after the grace time, answers to waits that were cut
	// may take to get out.
	settle = time.Second
)

// reserved are the paths of the node itself.
var reserved = []string{"/submit", "/messages", "/agent_info", "/connect", "/disconnect"}

// completed returns the options with the defaults filled in, or what is wrong
// with them.
func (o *Options) completed() (*Options, error) {
	if o == nil {
		o = &Options{}
	}
	c := *o
	c.Listen = cmp.Or(c.Listen, defaultListen)
	if _, port, err := net.SplitHostPort(c.Listen); err != nil || port == "" {
		return nil, fmt.Errorf("parleyhttp: Listen is %q, expected host:port", c.Listen)
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		return nil, fmt.Errorf("parleyhttp: CertFile and KeyFile go together")
	}
	c.TrustedProxies = slices.Clone(c.TrustedProxies)
	for _, p := range c.TrustedProxies {
		if !p.IsValid() {
			return nil, fmt.Errorf("parleyhttp: TrustedProxies has an invalid network")
		}
	}
	c.Handlers = maps.Clone(c.Handlers)
	for prefix, h := range c.Handlers {
		if h == nil {
			return nil, fmt.Errorf("parleyhttp: the handler of %q is nil", prefix)
		}
		if !strings.HasPrefix(prefix, "/") || prefix == "/" || slices.Contains(reserved, prefix) {
			return nil, fmt.Errorf("parleyhttp: a handler at %q: expected a path such as /v1/things/ that is not the node's own", prefix)
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if err := c.Limits.complete(); err != nil {
		return nil, err
	}
	return &c, c.Timeouts.complete()
}

func (l *Limits) complete() error {
	for _, n := range []int64{
		l.Body, int64(l.Header), l.Memory, int64(l.Requests), int64(l.RequestsPerPeer), int64(l.Connections),
		int64(l.ConnectionsPerPeer), int64(l.BurstPerPeer), l.Response, int64(l.PerHost), int64(l.WaitsPerHost),
	} {
		if n < 0 {
			return fmt.Errorf("parleyhttp: a limit is %d, expected a positive number or 0 for the default", n)
		}
	}
	if !(l.RatePerPeer >= 0) || l.RatePerPeer > 1e9 { // NaN is neither
		return fmt.Errorf("parleyhttp: RatePerPeer is %v, expected requests per second", l.RatePerPeer)
	}
	l.Body = cmp.Or(l.Body, defaultBody)
	l.Header = cmp.Or(l.Header, 32<<10)
	l.Memory = cmp.Or(l.Memory, 256<<20)
	l.Requests = cmp.Or(l.Requests, 4096)
	l.RequestsPerPeer = cmp.Or(l.RequestsPerPeer, 2048)
	l.Connections = cmp.Or(l.Connections, 8192)
	l.ConnectionsPerPeer = cmp.Or(l.ConnectionsPerPeer, 4096)
	l.BurstPerPeer = cmp.Or(l.BurstPerPeer, max(1, int(l.RatePerPeer)))
	l.Response = cmp.Or(l.Response, defaultBody)
	l.PerHost = cmp.Or(l.PerHost, 64)
	l.WaitsPerHost = cmp.Or(l.WaitsPerHost, 512)
	return nil
}

func (t *Timeouts) complete() error {
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&t.Header, 10 * time.Second},
		{&t.Body, 30 * time.Second},
		{&t.Wait, time.Minute},
		{&t.Write, 30 * time.Second},
		{&t.Idle, time.Minute},
		{&t.Grace, 10 * time.Second},
		{&t.Connect, 10 * time.Second},
		{&t.Send, 30 * time.Second},
		{&t.Ask, 5 * time.Minute},
	} {
		if *d.value < 0 {
			return fmt.Errorf("parleyhttp: a timeout is %v, expected a positive time or 0 for the default", *d.value)
		}
		*d.value = cmp.Or(*d.value, d.standard)
	}
	return nil
}
