package parleyhttp

import "net"

// Crash cuts everything off, as the end of the process would.
func (t *Transport) Crash() {
	t.mu.Lock()
	s := t.serving
	t.mu.Unlock()
	if s != nil {
		_ = s.http.Close()
	}
}

// Relocate makes the clients of a bound transport seem to come from an address.
func (t *Transport) Relocate(from net.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listener = &relocated{t.listener, from}
}

type relocated struct {
	net.Listener
	from net.Addr
}

func (l *relocated) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &relocatedConn{c.(*net.TCPConn), l.from}, nil
}

type relocatedConn struct {
	*net.TCPConn
	from net.Addr
}

func (c *relocatedConn) RemoteAddr() net.Addr { return c.from }
