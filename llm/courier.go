package llm

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/parley-agents/parley/fault"
)

// A courier carries requests to the server: with the key, again when the server
// is busy, and never more of an answer than fits.
type courier struct {
	http     *http.Client
	key      Secret
	retries  int
	backoff  time.Duration
	patience time.Duration // who asks to wait longer is not waited for
}

const (
	maxAnswer  = 8 << 20
	maxBackoff = 10 * time.Second
)

func newCourier(c *Config) *courier {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	// A redirect might lead the key and the conversation to anywhere.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &courier{http: &http.Client{Transport: transport, CheckRedirect: stay}, key: c.APIKey, retries: c.Retries, backoff: c.Backoff, patience: c.Timeout}
}

// Do is what the library calls instead of http.Client.Do.
func (c *courier) Do(r *http.Request) (*http.Response, error) {
	if !c.key.Empty() {
		r.Header.Set("Authorization", "Bearer "+c.key.Expose())
	}
	r.Header["Idempotency-Key"] = nil // not sent: lets net/http repeat a request on a connection that was found dead
	wait := c.backoff
	for try := 0; ; try++ {
		response, err := c.http.Do(r)
		if err != nil {
			return nil, err
		}
		if status := response.StatusCode; status >= 300 && status < 400 {
			_ = response.Body.Close()
			return nil, &fault.Error{Code: fault.Malformed, Text: fmt.Sprintf("the model's server sends us elsewhere (status %d): its URL has changed", status)}
		}
		if !busy(response.StatusCode) || try >= c.retries {
			response.Body = &limited{body: response.Body, left: maxAnswer}
			return response, nil
		}
		pause := wait/2 + rand.N(wait/2+1) // so that those refused together do not come back together
		if asked, ok := retryAfter(response.Header.Get("Retry-After"), time.Now()); ok {
			pause = asked
		}
		if pause > c.patience {
			_ = response.Body.Close()
			return nil, &fault.Error{Code: fault.Unavailable,
				Text: fmt.Sprintf("the model's server is busy, try again in %s", pause.Round(time.Second))}
		}
		_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection can be used again
		_ = response.Body.Close()
		if err := sleep(r.Context(), pause); err != nil {
			return nil, err
		}
		wait = min(2*wait, maxBackoff)
		if r.GetBody != nil {
			if r.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

func busy(status int) bool { return status == http.StatusTooManyRequests || status >= 500 }

// retryAfter reads the header of that name: seconds or a date.
func retryAfter(text string, now time.Time) (time.Duration, bool) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds >= 0 && seconds < 1e9 {
		return time.Duration(seconds * float64(time.Second)), true
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(0, date.Sub(now)), true
	}
	return 0, false
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// limited reads no more of an answer than left.
type limited struct {
	body io.ReadCloser
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fault.Errorf(fault.TooLarge, "", "the model's server answers with more than %d bytes", maxAnswer)
	}
	n, err := l.body.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

func (l *limited) Close() error { return l.body.Close() }
