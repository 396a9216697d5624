package parleyhttp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

const addressHeader = "X-Uagents-Address"

// Serve takes requests until ctx ends; see [parley.Transport].
func (t *Transport) Serve(ctx context.Context, deliver parley.Deliver) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s := &server{t: t, deliver: deliver}
	h := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: t.opts.Limits.Header,
		ReadTimeout:       t.opts.Limits.Read,
		IdleTimeout:       t.opts.Limits.Idle,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(t.opts.Logger.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return work },
	}
	t.server.Store(h)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		grace, end := context.WithTimeout(context.WithoutCancel(ctx), t.opts.Limits.Grace)
		defer end()
		if h.Shutdown(grace) != nil {
			cancel() // callers who wait are told so
			_ = h.Close()
		}
		t.client.CloseIdleConnections()
	}()
	err := h.Serve(t.listener)
	if !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-stopped
	s.running.Wait()
	return nil
}

// A server answers requests.
type server struct {
	t       *Transport
	deliver parley.Deliver
	running sync.WaitGroup
}

// ServeHTTP makes the checks of the Python library, in its order.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.running.Add(1)
	defer s.running.Done()
	defer func() {
		if p := recover(); p != nil {
			s.t.opts.Logger.Error("a request failed", "panic", p)
			answerError(w, http.StatusInternalServerError, "internal error")
		}
	}()
	for name, value := range map[string]string{
		"Server": "parley", parleyHeader: "1",
		"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
		"Access-Control-Allow-Headers": "*", "Access-Control-Allow-Credentials": "false",
	} {
		w.Header().Set(name, value)
	}
	peer := s.t.peerOf(r)
	if !s.t.admit(w, peer) {
		return
	}
	defer s.t.leave(peer)
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	for prefix, h := range s.t.opts.Handlers {
		if strings.HasPrefix(r.URL.Path, prefix) {
			h.ServeHTTP(w, r)
			return
		}
	}
	host := s.t.host.Load()
	if host == nil {
		answerError(w, http.StatusServiceUnavailable, errNoHost.Error())
		return
	}
	switch {
	case s.route(w, r, *host, peer):
	case r.URL.Path != "/submit":
		answerError(w, http.StatusNotFound, "not found")
	case r.Method == http.MethodHead:
		readiness(w, r, *host)
	default:
		s.submit(w, r, peer)
	}
}

// admit bounds requests, all together and per peer.
func (t *Transport) admit(w http.ResponseWriter, peer string) bool {
	if !t.peers.enter(peer) {
		w.Header().Set("Retry-After", "1")
		answerError(w, http.StatusTooManyRequests, "too many requests at once from "+peer)
		return false
	}
	select {
	case t.requests <- struct{}{}:
		return true
	default:
		t.peers.leave(peer)
		w.Header().Set("Retry-After", "1")
		answerError(w, http.StatusServiceUnavailable, "too many requests at once")
		return false
	}
}

func (t *Transport) leave(peer string) {
	<-t.requests
	t.peers.leave(peer)
}

// A peerCounter counts the requests that each peer has under way.
type peerCounter struct {
	limit int
	mu    sync.Mutex
	now   map[string]int
}

func (c *peerCounter) enter(peer string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now[peer] >= c.limit {
		return false
	}
	c.now[peer]++
	return true
}

func (c *peerCounter) leave(peer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now[peer]--; c.now[peer] <= 0 {
		delete(c.now, peer)
	}
}

// peerOf is the address a request is from. A proxy header counts only if it is
// from a proxy that was named.
func (t *Transport) peerOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	ip, err := netip.ParseAddr(host)
	trusted := err == nil && slices.ContainsFunc(t.opts.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(ip) })
	if forwarded := r.Header.Get("X-Forwarded-For"); trusted && forwarded != "" {
		parts := strings.Split(forwarded, ",")
		return strings.TrimSpace(parts[len(parts)-1])
	}
	return host
}

func isLoopback(peer string) bool {
	ip, err := netip.ParseAddr(peer)
	return err == nil && ip.IsLoopback()
}

// readiness tells whether an agent takes messages.
func readiness(w http.ResponseWriter, r *http.Request, host parley.Host) {
	address := r.Header.Get(addressHeader)
	_, served := host.Agent(identity.Address(address))
	status := "ready"
	switch {
	case address == "":
		status = "indeterminate"
	case !served || !host.Ready():
		status = "not-ready"
	default:
		w.Header().Set("X-Uagents-Response-Time-Hint", "5")
	}
	w.Header().Set("X-Uagents-Status", status)
	w.WriteHeader(http.StatusOK)
}

// submit takes an envelope.
func (s *server) submit(w http.ResponseWriter, r *http.Request, peer string) {
	contentType, present := r.Header["Content-Type"]
	switch {
	case !present && r.UserAgent() != "":
		answer(w, http.StatusOK, map[string]string{"status": "OK - Agent is running"})
		return
	case !present:
		answerError(w, http.StatusBadRequest, "missing header: content-type")
		return
	case !strings.Contains(contentType[0], "application/json"):
		answerError(w, http.StatusBadRequest, "invalid content-type")
		return
	}
	body, ok := s.body(w, r)
	if !ok {
		return
	}
	reply, err := s.deliver(r.Context(), parley.Frame{
		Body: body, Sync: r.Header.Get(syncHeader) == "sync", Peer: peer, Deduplicates: r.Header.Get(parleyHeader) != "",
	})
	switch {
	case err != nil:
		s.refuse(w, err)
	case len(reply.Body) > 0:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(reply.Body) // the caller has gone if this fails
	default:
		w.Header().Set(replyHeader, "none")
		answer(w, http.StatusOK, struct{}{})
	}
}

// body reads at most what is allowed, and nothing of what says that it is more.
func (s *server) body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	limit := s.t.opts.Limits.Body
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")
		answerError(w, http.StatusRequestEntityTooLarge, "the request is too large")
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		answerError(w, http.StatusRequestEntityTooLarge, "the request is too large")
		return nil, false
	}
	if err != nil {
		answerError(w, http.StatusBadRequest, "the request broke off")
		return nil, false
	}
	return body, true
}

// refuse says why an envelope was not taken over. The body is what the peers
// know; code and field are in a header for those who look.
func (s *server) refuse(w http.ResponseWriter, err error) {
	coded, ok := errors.AsType[*fault.Error](err)
	if !ok {
		coded = &fault.Error{Code: fault.Internal}
	}
	status, text := http.StatusBadRequest, coded.Text
	switch coded.Code {
	case fault.TooLarge:
		status = http.StatusRequestEntityTooLarge
	case fault.Unavailable:
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
	case fault.Internal, fault.Unknown:
		status, text = http.StatusInternalServerError, "internal error"
		s.t.opts.Logger.Error("an envelope was not taken over", "error", err)
	}
	reason := string(coded.Code)
	if coded.Field != "" {
		reason += ": " + coded.Field
	}
	w.Header().Set("X-Parley-Error", reason)
	answerError(w, status, text)
}

func answerError(w http.ResponseWriter, status int, text string) {
	answer(w, status, map[string]string{"error": text})
}

// answer writes JSON with blanks and ASCII escapes, as the peers do.
func answer(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err == nil {
		text, err = pythonic(text)
	}
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error": "internal error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the caller has gone if this fails
}
