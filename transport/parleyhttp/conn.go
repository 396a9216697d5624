package parleyhttp

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
)

var errEnded = errors.New("the connection has ended")

// A conn is a client's connection that knows whether a request has touched it.
// That decides whether a failed message was certainly not taken.
//
// It also refuses to write once the other end has hung up: then the request
// that was about to use a connection from the pool has not been sent, instead
// of being sent to nobody and not known to be.
type conn struct {
	net.Conn

	mu     sync.Mutex
	writes int
	ended  bool
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.mu.Lock()
		c.ended = true
		c.mu.Unlock()
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return 0, errEnded
	}
	c.writes++
	c.mu.Unlock()
	return c.Conn.Write(p)
}

// mark is taken when a request gets the connection.
func (c *conn) mark() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes
}

// abandon lets nothing more through and reports whether nothing went through
// since the mark.
func (c *conn) abandon(mark int) (untouched bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	return c.writes == mark
}

// connOf finds the conn below TLS.
func connOf(c net.Conn) *conn {
	if encrypted, ok := c.(*tls.Conn); ok {
		c = encrypted.NetConn()
	}
	ours, _ := c.(*conn)
	return ours
}
