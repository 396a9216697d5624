package parleyhttp

import (
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// clientOf returns the network address of the client: of the connection, or if
// that is a trusted proxy, the last one that it names and that is none.
func (s *server) clientOf(r *http.Request) netip.Addr {
	remote := addrOf(r.RemoteAddr)
	if !s.trusts(remote) {
		return remote
	}
	client := remote
	for _, name := range slices.Backward(strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")) {
		a := addrOf(strings.TrimSpace(name))
		if !a.IsValid() {
			break
		}
		client = a
		if !s.trusts(a) {
			break
		}
	}
	return client
}

func (s *server) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(s.proxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// addrOf reads an address with or without a port.
func addrOf(text string) netip.Addr {
	if ap, err := netip.ParseAddrPort(text); err == nil {
		return ap.Addr().Unmap().WithZone("")
	}
	a, _ := netip.ParseAddr(strings.Trim(text, "[]"))
	return a.Unmap().WithZone("")
}

// peer names the client in frames and logs.
func (r *request) peer() string {
	if r.client.IsValid() {
		return r.client.String()
	}
	return r.RemoteAddr
}

// local reports whether the request surely comes from this machine and not from
// a stranger by way of it: a proxy that nobody configured, or a web page that
// the browser here has open.
func (r *request) local() bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} {
		if r.has(name) && !r.server.trusts(addrOf(r.RemoteAddr)) {
			return false
		}
	}
	if !r.client.IsLoopback() || !isLoopbackName(r.Host) {
		return false
	}
	for _, origin := range r.Header["Origin"] {
		if u, err := url.Parse(origin); err != nil || !isLoopbackName(u.Host) {
			return false
		}
	}
	return true
}

// isLoopbackName reports whether a host, with or without a port, means this
// machine whatever a name server says.
func isLoopbackName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.EqualFold(host, "localhost") || addrOf(host).IsLoopback()
}

// peerKey is what limits per peer count by: an IPv6 peer has a whole network of
// addresses.
func peerKey(a netip.Addr) netip.Addr {
	if !a.Is6() {
		return a
	}
	p, _ := a.Prefix(64)
	return p.Addr()
}

// A gate admits requests within the limits.
type gate struct {
	limits   Limits
	interval time.Duration // between requests of one peer at the rate limit; 0 for none

	mu    sync.Mutex
	total int
	peers map[netip.Addr]*peerState
}

type peerState struct {
	running int
	paid    time.Time // until when the peer's requests are spread out at the rate limit
}

// maxPeers bounds how many peers a rate limit remembers.
const maxPeers = 1 << 16

func newGate(l Limits) *gate {
	g := &gate{limits: l, peers: map[netip.Addr]*peerState{}}
	if l.RatePerPeer > 0 {
		g.interval = max(1, time.Duration(float64(time.Second)/l.RatePerPeer))
	}
	return g
}

// An overload says that a request was not admitted and when to come back.
type overload struct {
	status  int
	seconds int
	text    string
}

var (
	errBusy     = &overload{http.StatusServiceUnavailable, 1, "too many requests are running"}
	errPeerBusy = &overload{http.StatusTooManyRequests, 1, "too many requests of yours are running"}
)

// enter admits a request, to be counted out by leave, or says why not.
func (g *gate) enter(client netip.Addr, now time.Time) *overload {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.total >= g.limits.Requests {
		return errBusy
	}
	key := peerKey(client)
	p := g.peers[key]
	if p == nil {
		p = &peerState{}
	}
	if p.running >= g.limits.RequestsPerPeer {
		return errPeerBusy
	}
	if g.interval > 0 {
		paid := later(p.paid, now).Add(g.interval)
		ahead := paid.Sub(now) - time.Duration(g.limits.BurstPerPeer)*g.interval
		if ahead > 0 {
			return &overload{http.StatusTooManyRequests, int(math.Ceil(ahead.Seconds())), "too many requests of yours"}
		}
		p.paid = paid
	}
	if g.peers[key] == nil {
		g.makeRoom(now)
		g.peers[key] = p
	}
	p.running++
	g.total++
	return nil
}

func (g *gate) leave(client netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.total--
	key := peerKey(client)
	p := g.peers[key]
	p.running--
	if p.running == 0 && g.interval == 0 {
		delete(g.peers, key)
	}
}

// makeRoom forgets peers that could have started afresh, and if there are too
// many others, some that have nothing running.
func (g *gate) makeRoom(now time.Time) {
	if len(g.peers) < maxPeers {
		return
	}
	for key, p := range g.peers {
		if p.running == 0 && p.paid.Before(now) {
			delete(g.peers, key)
		}
	}
	for key, p := range g.peers {
		if len(g.peers) < maxPeers*3/4 {
			return
		}
		if p.running == 0 {
			delete(g.peers, key)
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// A limitedListener hangs up on connections beyond the limits.
type limitedListener struct {
	net.Listener
	limits  Limits
	proxies []netip.Prefix

	mu    sync.Mutex
	total int
	peers map[netip.Addr]int
}

func newLimitedListener(l net.Listener, proxies []netip.Prefix, limits Limits) *limitedListener {
	return &limitedListener{Listener: l, limits: limits, proxies: proxies, peers: map[netip.Addr]int{}}
}

func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		a := addrOf(c.RemoteAddr().String())
		key := peerKey(a)
		if l.add(key, slices.ContainsFunc(l.proxies, func(p netip.Prefix) bool { return p.Contains(a) })) {
			return &limitedConn{Conn: c, release: sync.OnceFunc(func() { l.remove(key) })}, nil
		}
		_ = c.Close()
	}
}

func (l *limitedListener) add(key netip.Addr, proxy bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total >= l.limits.Connections || !proxy && l.peers[key] >= l.limits.ConnectionsPerPeer {
		return false
	}
	l.total++
	l.peers[key]++
	return true
}

func (l *limitedListener) remove(key netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if l.peers[key]--; l.peers[key] == 0 {
		delete(l.peers, key)
	}
}

// awaitEmpty waits until no connection is open.
func (l *limitedListener) awaitEmpty(within time.Duration) {
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(within / 20) {
		l.mu.Lock()
		n := l.total
		l.mu.Unlock()
		if n == 0 {
			return
		}
	}
}

type limitedConn struct {
	net.Conn
	release func()
}

func (c *limitedConn) Close() error {
	c.release()
	return c.Conn.Close()
}

// CloseWrite lets the server say goodbye before it hangs up, so that a client
// that is still sending reads why.
func (c *limitedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
