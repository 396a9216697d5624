package parleyhttp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
)

// A server is one running Serve.
type server struct {
	transport *Transport
	opts      *Options
	host      parley.Host // may be nil
	deliver   parley.Deliver
	http      *http.Server
	listener  *limitedListener
	mounts    mounts
	proxies   []netip.Prefix
	gate      *gate
	memory    atomic.Int64 // bytes of bodies that are held

	ctx context.Context // of all that is done for requests
	cut context.CancelFunc

	mu       sync.Mutex
	running  int
	stopping bool
	idle     chan struct{} // closed when it stops and nothing runs
	silent   map[net.Conn]struct{}
}

// begin counts a request in; false says that the server takes no more.
func (s *server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	s.running++
	return true
}

func (s *server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	if s.stopping && s.running == 0 {
		close(s.idle)
	}
}

func (s *server) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// stop takes no more requests and lets running ones finish, within the grace
// time.
func (s *server) stop() error {
	s.mu.Lock()
	s.stopping = true
	if s.running == 0 {
		close(s.idle)
	}
	for c := range s.silent {
		_ = c.SetReadDeadline(time.Now().Add(lastCall))
	}
	s.mu.Unlock()
	_ = s.listener.Close()
	s.listener.awaitEmpty(lastCall)

	if s.shutdown(s.opts.Timeouts.Grace) == nil {
		return nil
	}
	s.cut()
	_ = s.shutdown(settle)
	_ = s.http.Close()
	select {
	case <-s.idle:
		return nil
	case <-time.After(settle):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Errorf("parleyhttp: %d requests are still running after the grace time of %v", s.running, s.opts.Timeouts.Grace)
}

func (s *server) shutdown(within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), within)
	defer cancel()
	return s.http.Shutdown(ctx)
}

// watch keeps track of connections on which nothing was asked yet. Clients open
// some in advance; net/http would wait five seconds for them when it stops.
func (s *server) watch(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == http.StateNew {
		s.silent[c] = struct{}{}
	} else {
		delete(s.silent, c)
	}
}

// A request is one request being answered.
type request struct {
	*http.Request
	server   *server
	w        http.ResponseWriter
	control  *http.ResponseController
	body     *watchedBody // nil if there is none
	client   netip.Addr
	answered bool
}

// ServeHTTP admits a request and answers it.
func (s *server) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	r := &request{Request: hr, server: s, w: w, control: http.NewResponseController(w), client: s.clientOf(hr)}
	header := w.Header()
	header["Server"] = serverName
	header[headerParley] = headerYes
	r.limitBody()

	mount := s.mounts.find(hr.URL.Path)
	if mount == nil {
		allowEverybody(header)
	}
	if !s.begin() {
		r.whileStopping()
		return
	}
	defer s.end()
	if refusal := s.gate.enter(r.client, time.Now()); refusal != nil {
		r.overload(refusal)
		return
	}
	defer s.gate.leave(r.client)
	defer r.survive(mount != nil)
	if mount != nil {
		hr.Body = http.MaxBytesReader(w, hr.Body, s.opts.Limits.Body)
		mount.ServeHTTP(w, hr)
		return
	}
	r.serve()
}

// serve makes the peers' checks in the peers' order.
func (r *request) serve() {
	path := r.URL.Path
	if r.Method == http.MethodOptions {
		r.answer(http.StatusNoContent, "", nil)
		return
	}
	if r.serveRoute() {
		return
	}
	switch {
	case path != "/submit":
		r.refuse(http.StatusNotFound, "not found")
	case r.Method == http.MethodHead:
		r.w.Header()["X-Uagents-Status"] = []string{r.readiness(true)}
		r.answer(http.StatusOK, "", nil)
	case !r.has("Content-Type") && r.has("User-Agent"):
		r.answer(http.StatusOK, typeJSON, []byte(`{"status": "OK - Agent is running"}`))
	case !r.has("Content-Type"):
		r.refuse(http.StatusBadRequest, "missing header: content-type")
	case !strings.Contains(r.last("Content-Type"), typeJSON):
		r.refuse(http.StatusBadRequest, "invalid content-type")
	default:
		r.submit()
	}
}

// readiness is what a HEAD request learns about the agent that it names.
func (r *request) readiness(taking bool) string {
	if !r.has(headerAddress) {
		return "indeterminate"
	}
	host := r.server.host
	if !taking || host == nil || !host.Ready() {
		return "not-ready"
	}
	if _, here := host.Agent(identity.Address(r.last(headerAddress))); !here {
		return "not-ready"
	}
	r.w.Header()["X-Uagents-Response-Time-Hint"] = []string{"5"}
	return "ready"
}

// whileStopping answers what arrives on connections that are about to close.
func (r *request) whileStopping() {
	if r.Method == http.MethodHead && r.URL.Path == "/submit" {
		r.w.Header()["X-Uagents-Status"] = []string{r.readiness(false)}
		r.answer(http.StatusOK, "", nil)
		return
	}
	r.refuse(http.StatusServiceUnavailable, "the server is stopping")
}

// submit hands a message over and answers with what became of it.
func (r *request) submit() {
	body, release, ok := r.readBody()
	defer release()
	if !ok {
		return
	}
	f := parley.Frame{
		Body:         body,
		Sync:         r.last("X-Uagents-Connection") == "sync",
		Peer:         r.peer(),
		Deduplicates: r.last(headerParley) == headerYes[0],
	}
	ctx, cancel := r.context(f.Sync)
	defer cancel()
	reply, err := r.server.deliver(ctx, f)
	switch {
	case err != nil:
		r.fail(err)
	case f.Sync:
		r.answer(http.StatusOK, typeJSON, reply.Body)
	default:
		r.answer(http.StatusOK, typeJSON, []byte("{}"))
	}
}

// context bounds what is done for the request. Only work for a caller who waits
// ends with the caller: everything else is finished once it has begun.
func (r *request) context(waits bool) (context.Context, context.CancelFunc) {
	parent := r.server.ctx
	if waits {
		parent = r.Context()
	}
	return context.WithTimeout(parent, r.server.opts.Timeouts.Wait)
}

// survive makes a panic the error of one request.
func (r *request) survive(mounted bool) {
	v := recover()
	switch {
	case v == nil:
		return
	case v == http.ErrAbortHandler:
		panic(v)
	}
	r.server.opts.Logger.Error("panic", "method", r.Method, "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
	if r.answered || mounted {
		panic(http.ErrAbortHandler) // the client sees a cut connection, not half an answer
	}
	r.fail(errors.New("panic"))
}

// has and last read a header as the peers do: it is there or not, and the last
// one counts.
func (r *request) has(canonical string) bool { return len(r.Header[canonical]) > 0 }

func (r *request) last(canonical string) string {
	values := r.Header[canonical]
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// mounts are handlers by path, the longest first.
type mounts []mount

type mount struct {
	path    string
	handler http.Handler
}

func newMounts(handlers map[string]http.Handler) mounts {
	var m mounts
	for path, h := range handlers {
		m = append(m, mount{path, h})
	}
	slices.SortFunc(m, func(a, b mount) int { return len(b.path) - len(a.path) })
	return m
}

func (m mounts) find(path string) http.Handler {
	for _, mount := range m {
		if path == mount.path || strings.HasSuffix(mount.path, "/") && strings.HasPrefix(path, mount.path) {
			return mount.handler
		}
	}
	return nil
}
