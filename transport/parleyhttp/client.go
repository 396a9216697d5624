package parleyhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
)

const (
	// expectFrom is the size from which a message asks before it sends its body,
	// so that one that is refused for its size is told so.
	expectFrom = 256 << 10

	// maxReason bounds how much of a refusal is read.
	maxReason = 4 << 10

	// maxAck bounds how much of an acknowledgement is read so that the connection
	// can be used again.
	maxAck = 64 << 10

	// maxHold bounds how long a peer's wish to be left alone is respected here.
	// Who sends again has a schedule of its own.
	maxHold = 10 * time.Second
)

// A client sends frames.
type client struct {
	opts *Options

	// Messages whose sender waits for the reply have a pool of their own: many of
	// them must not keep the reply to one of them from going out.
	messages, waits *http.Transport

	mu    sync.Mutex
	holds map[string]time.Time // by host: not to be asked before
}

func newClient(o *Options) *client {
	return &client{
		opts:     o,
		messages: newPool(o, o.Limits.PerHost),
		waits:    newPool(o, o.Limits.WaitsPerHost),
		holds:    map[string]time.Time{},
	}
}

func newPool(o *Options, perHost int) *http.Transport {
	dialer := &net.Dialer{Timeout: o.Timeouts.Connect}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &conn{Conn: c}, nil
		},
		TLSClientConfig:        atLeast12(o.ClientTLS),
		TLSHandshakeTimeout:    o.Timeouts.Connect,
		MaxConnsPerHost:        perHost,
		MaxIdleConnsPerHost:    perHost,
		MaxIdleConns:           1024,
		IdleConnTimeout:        idleOut,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 32 << 10,
		DisableCompression:     true,
		Protocols:              http1(),
	}
}

func (c *client) closeIdle() {
	c.messages.CloseIdleConnections()
	c.waits.CloseIdleConnections()
}

// Send hands a frame to an endpoint; see [parley.Transport]. The frame that it
// returns says whether the peer de-duplicates also where there is an error, if
// the peer has answered.
func (t *Transport) Send(ctx context.Context, endpoint string, f parley.Frame) (parley.Frame, error) {
	return t.client.send(ctx, endpoint, f)
}

func (c *client) send(ctx context.Context, endpoint string, f parley.Frame) (parley.Frame, error) {
	u, err := parseEndpoint(endpoint)
	if err != nil {
		return parley.Frame{}, &parley.DeliveryError{Code: fault.Unavailable, Endpoint: endpoint, Text: err.Error()}
	}
	if until, held := c.held(u.Host); held {
		text := fmt.Sprintf("the peer asked to be left alone for another %v", time.Until(until).Round(time.Millisecond))
		return parley.Frame{}, &parley.DeliveryError{Code: fault.Unavailable, Endpoint: endpoint, Text: text}
	}
	pool, timeout := c.messages, c.opts.Timeouts.Send
	if f.Sync {
		pool, timeout = c.waits, c.opts.Timeouts.Ask
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	response, code, err := post(ctx, pool, u, f)
	if err != nil {
		return parley.Frame{}, &parley.DeliveryError{Code: code, Endpoint: endpoint, Text: clean(err.Error())}
	}
	defer response.Body.Close()
	reply := parley.Frame{Peer: u.Host, Deduplicates: response.Header.Get(headerParley) == headerYes[0]}
	reply.Body, err = c.judge(response, u.Host, f.Sync)
	if e, ok := errors.AsType[*parley.DeliveryError](err); ok {
		e.Endpoint, e.Status = endpoint, response.StatusCode
	}
	return reply, err
}

// post makes the request. If there is no answer, code says whether the peer can
// have got it.
func post(ctx context.Context, pool *http.Transport, u *url.URL, f parley.Frame) (_ *http.Response, code parley.Code, err error) {
	for range 3 {
		var used use
		response, err := pool.RoundTrip(newRequest(used.trace(ctx), u, f))
		if err == nil {
			return response, "", nil
		}
		untouched, reused := used.end()
		switch {
		case !untouched:
			return nil, fault.Unknown, err
		case !reused || ctx.Err() != nil:
			return nil, fault.Unavailable, err
		}
		// A connection from the pool that had ended already: nothing was sent.
	}
	return nil, fault.Unavailable, errors.New("the peer keeps closing its connections")
}

func newRequest(ctx context.Context, u *url.URL, f parley.Frame) *http.Request {
	r := (&http.Request{
		Method:     http.MethodPost,
		URL:        u,
		Host:       u.Host,
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header: http.Header{
			"Content-Type": {typeJSON},
			"User-Agent":   serverName,
			headerParley:   headerYes,
		},
		ContentLength: int64(len(f.Body)),
		Body:          http.NoBody,
		GetBody:       func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(f.Body)), nil },
	}).WithContext(ctx)
	if len(f.Body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(f.Body))
	}
	if len(f.Body) >= expectFrom {
		r.Header["Expect"] = []string{"100-continue"}
	}
	if f.Sync {
		r.Header["X-Uagents-Connection"] = []string{"sync"}
	}
	return r
}

// A use is what one request does to the connection that it gets.
type use struct {
	mu     sync.Mutex
	conn   *conn
	mark   int
	reused bool
}

func (s *use) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.conn, s.reused = connOf(info.Conn), info.Reused
		s.mark = s.conn.mark()
	}})
}

// end makes sure that nothing more is sent, and tells whether anything was.
func (s *use) end() (untouched, reused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return true, false
	}
	return s.conn.abandon(s.mark), s.reused
}

// judge turns an answer into the reply, or into the error that it means.
func (c *client) judge(r *http.Response, host string, sync bool) ([]byte, error) {
	switch {
	case r.StatusCode/100 == 2 && sync:
		return c.readReply(r)
	case r.StatusCode/100 == 2: // taken, whatever else it says
		_, _ = io.CopyN(io.Discard, r.Body, maxAck)
		return nil, nil
	}
	text := reason(r)
	switch s := r.StatusCode; {
	case s == http.StatusTooManyRequests || s == http.StatusServiceUnavailable:
		c.hold(host, r.Header.Get("Retry-After"))
		return nil, &parley.DeliveryError{Code: fault.Unavailable, Text: text}
	case s == http.StatusRequestTimeout || s == http.StatusTooEarly:
		return nil, &parley.DeliveryError{Code: fault.Unavailable, Text: text}
	case s/100 == 3:
		return nil, &parley.DeliveryError{Code: fault.Refused, Text: "redirects are not followed: " + clean(r.Header.Get("Location"))}
	case s/100 == 4:
		return nil, &parley.DeliveryError{Code: fault.Refused, Text: text}
	}
	return nil, &parley.DeliveryError{Code: fault.Unknown, Text: text}
}

func (c *client) readReply(r *http.Response) ([]byte, error) {
	limit := c.opts.Limits.Response
	if r.ContentLength <= limit {
		body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
		if err != nil {
			return nil, &parley.DeliveryError{Code: fault.Unknown, Text: "the reply did not arrive: " + clean(err.Error())}
		}
		if int64(len(body)) <= limit {
			return body, nil
		}
	}
	return nil, &parley.DeliveryError{Code: fault.Unknown, Text: fmt.Sprintf("the reply is larger than %d bytes", limit)}
}

// reason is what the peer says of a failure: the text of {"error": text}, or of
// what other servers of this network write.
func reason(r *http.Response) string {
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxReason))
	var document struct{ Error, Detail, Message any }
	if json.Unmarshal(body, &document) == nil {
		for _, said := range []any{document.Error, document.Detail, document.Message} {
			if text, ok := said.(string); ok && text != "" {
				return clean(text)
			}
		}
	}
	if text := clean(strings.TrimSpace(string(body))); text != "" {
		return text
	}
	return clean(strings.TrimSpace(r.Status))
}

// clean makes a stranger's text fit for a line of a log.
func clean(text string) string {
	const most = 500
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, "?"))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// hold remembers a peer's Retry-After.
func (c *client) hold(host, after string) {
	d := time.Duration(0)
	if seconds, err := strconv.Atoi(after); err == nil {
		d = time.Duration(min(max(seconds, 0), 3600)) * time.Second
	} else if at, err := http.ParseTime(after); err == nil {
		d = time.Until(at)
	}
	if d <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for other, until := range c.holds { // few at a time
		if until.Before(now) {
			delete(c.holds, other)
		}
	}
	c.holds[host] = now.Add(min(d, maxHold))
}

func (c *client) held(host string) (until time.Time, held bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	until, held = c.holds[host]
	return until, held && time.Now().Before(until)
}
