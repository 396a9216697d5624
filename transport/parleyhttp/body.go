package parleyhttp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// limitBody gives the body its time. net/http lifts the deadline once all of the
// body has arrived, so that it does not end the wait for the answer too.
func (r *request) limitBody() {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	_ = r.control.SetReadDeadline(time.Now().Add(r.server.opts.Timeouts.Body))
	r.body = &watchedBody{ReadCloser: r.Body}
	r.Body = r.body
}

// A watchedBody knows whether all of it was read.
type watchedBody struct {
	io.ReadCloser
	ended bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || err == io.EOF
	return n, err
}

// firstRead is as much as a body gets before it has sent anything.
const firstRead = 4 << 10

var (
	errTooLarge = errors.New("too large")
	errNoMemory = errors.New("no memory")
)

// readBody reads the body, or answers why not. Memory is taken as the bytes
// arrive, never because a header announces them; release gives it back.
func (r *request) readBody() (body []byte, release func(), ok bool) {
	body, held, err := r.read()
	release = func() { r.server.memory.Add(-held) }
	if err == nil {
		return body, release, true
	}
	switch {
	case errors.Is(err, errTooLarge):
		r.refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", r.server.opts.Limits.Body))
	case errors.Is(err, errNoMemory):
		r.overload(&overload{http.StatusServiceUnavailable, 1, "too much is being received"})
	case errors.Is(err, os.ErrDeadlineExceeded):
		r.refuse(http.StatusRequestTimeout, "the body did not arrive in time")
	default:
		r.refuse(http.StatusBadRequest, "the body did not arrive")
	}
	return nil, release, false
}

func (r *request) read() (body []byte, held int64, err error) {
	limit := r.server.opts.Limits.Body
	if r.ContentLength > limit {
		return nil, 0, errTooLarge
	}
	grow := func(size int64) error {
		if r.server.memory.Add(size-held) > r.server.opts.Limits.Memory {
			r.server.memory.Add(held - size)
			return errNoMemory
		}
		held = size
		larger := make([]byte, len(body), size)
		copy(larger, body)
		body = larger
		return nil
	}
	most := limit + 1 // room for one more shows that more came, or that nothing did
	if r.ContentLength >= 0 {
		most = r.ContentLength + 1
	}
	for err == nil {
		if len(body) == cap(body) {
			if err := grow(min(most, max(2*held, firstRead))); err != nil {
				return nil, held, err
			}
		}
		var n int
		n, err = r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if int64(len(body)) > limit {
			return nil, held, errTooLarge
		}
	}
	if err != io.EOF {
		return nil, held, err
	}
	return body, held, nil
}
