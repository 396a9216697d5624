package parleyhttp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"sync"

	"github.com/parley-agents/parley"
)

// Transport is a [parley.HostedTransport] over HTTP. It is safe for concurrent
// use, and Send needs no running Serve.
type Transport struct {
	opts      *Options
	serverTLS *tls.Config
	client    *client

	mu       sync.Mutex
	host     parley.Host
	listener net.Listener // bound and not served yet
	bound    *net.TCPAddr // last bound to; kept so that a later Serve is found at the same place
	serving  *server
}

var _ parley.HostedTransport = (*Transport)(nil)

// New makes a transport. It opens nothing yet.
func New(opts *Options) (*Transport, error) {
	o, err := opts.completed()
	if err != nil {
		return nil, err
	}
	config, err := serverTLS(o)
	if err != nil {
		return nil, err
	}
	return &Transport{opts: o, serverTLS: config, client: newClient(o)}, nil
}

// Attach tells the transport what else it may serve; see [parley.HostedTransport].
func (t *Transport) Attach(h parley.Host) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.host = h
}

// Listen binds the address, so that [Transport.URL] is known before Serve is
// called. Connections that come before Serve wait for it.
func (t *Transport) Listen() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.serving != nil {
		return nil
	}
	_, err := t.listen()
	return err
}

func (t *Transport) listen() (net.Listener, error) {
	if t.listener != nil {
		return t.listener, nil
	}
	address := t.opts.Listen
	if t.bound != nil {
		address = t.bound.String()
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("parleyhttp: %w", err)
	}
	t.listener, t.bound = l, l.Addr().(*net.TCPAddr)
	return l, nil
}

// URL is where this machine reaches the server, such as http://127.0.0.1:8000.
// It is empty as long as the port is not known: see [Transport.Listen].
// Messages go to the path /submit.
func (t *Transport) URL() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	scheme := "http"
	if t.serverTLS != nil {
		scheme = "https"
	}
	host, port, _ := net.SplitHostPort(t.opts.Listen)
	if t.bound != nil {
		host, port = t.bound.AddrPort().Addr().Unmap().String(), strconv.Itoa(t.bound.Port)
	}
	if n, err := strconv.Atoi(port); err != nil || n == 0 {
		return ""
	}
	if a, err := netip.ParseAddr(host); host == "" || err == nil && a.IsUnspecified() {
		host = "127.0.0.1"
		if err == nil && a.Is6() && t.bound == nil {
			host = "::1"
		}
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

func (t *Transport) port() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bound == nil {
		return 0
	}
	return t.bound.Port
}

// Reaches reports whether the endpoint is an http or https URL. Credentials in
// it are refused: endpoints are public.
func (t *Transport) Reaches(endpoint string) bool {
	_, err := parseEndpoint(endpoint)
	return err == nil
}

func parseEndpoint(endpoint string) (*url.URL, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, errors.New("expected an endpoint such as https://host/submit")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Opaque != "" {
		return nil, errors.New("expected an endpoint such as https://host/submit")
	}
	return u, nil
}

// Serve answers requests until ctx ends; see [parley.Transport]. Then it takes
// no more, lets those that run finish within the grace time, and ends the
// context of deliver calls that are not done by then. If some of them do not
// return even so, Serve does, with an error.
func (t *Transport) Serve(ctx context.Context, deliver parley.Deliver) error {
	s, err := t.start(ctx, deliver)
	if err != nil {
		return err
	}
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.serving = nil
	}()
	defer s.cut()
	failed := make(chan error, 1)
	go func() {
		if t.serverTLS != nil {
			failed <- s.http.ServeTLS(s.listener, "", "")
		} else {
			failed <- s.http.Serve(s.listener)
		}
	}()
	select {
	case err := <-failed:
		return errors.Join(fmt.Errorf("parleyhttp: %w", err), s.stop())
	case <-ctx.Done():
	}
	err = s.stop()
	<-failed // that the listener is closed
	t.client.closeIdle()
	return err
}

func (t *Transport) start(ctx context.Context, deliver parley.Deliver) (*server, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.serving != nil {
		return nil, errors.New("parleyhttp: Serve is running already")
	}
	l, err := t.listen()
	if err != nil {
		return nil, err
	}
	t.serving = newServer(ctx, t, l, deliver)
	t.listener = nil
	return t.serving, nil
}

func newServer(ctx context.Context, t *Transport, l net.Listener, deliver parley.Deliver) *server {
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	s := &server{
		transport: t,
		opts:      t.opts,
		host:      t.host,
		deliver:   deliver,
		listener:  newLimitedListener(l, t.opts.TrustedProxies, t.opts.Limits),
		ctx:       base,
		cut:       cut,
		mounts:    newMounts(t.opts.Handlers),
		proxies:   t.opts.TrustedProxies,
		gate:      newGate(t.opts.Limits),
		idle:      make(chan struct{}),
		silent:    map[net.Conn]struct{}{},
	}
	s.http = &http.Server{
		Handler:                      s,
		BaseContext:                  func(net.Listener) context.Context { return base },
		ConnState:                    s.watch,
		ReadHeaderTimeout:            t.opts.Timeouts.Header,
		IdleTimeout:                  t.opts.Timeouts.Idle,
		MaxHeaderBytes:               t.opts.Limits.Header,
		TLSConfig:                    t.serverTLS,
		Protocols:                    http1(),
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(t.opts.Logger.Handler(), slog.LevelDebug),
	}
	return s
}

// http1 is what the peers speak. Without HTTP/2, a request has its connection to
// itself, and a failure says which bytes had left.
func http1() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	return p
}
