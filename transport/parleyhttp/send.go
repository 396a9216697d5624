package parleyhttp

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
)

const (
	parleyHeader = "X-Parley"
	replyHeader  = "X-Parley-Reply" // "none" tells no reply from one that looks like none
	syncHeader   = "X-Uagents-Connection"
	dialTimeout  = 5 * time.Second
	perHost      = 64
	maxReply     = 4 << 20
	maxComplaint = 4 << 10
)

func newClient(config *tls.Config) *http.Client {
	if config == nil {
		config = &tls.Config{}
	}
	config = config.Clone()
	config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
	return &http.Client{
		Transport: &http.Transport{
			DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSClientConfig:       config,
			TLSHandshakeTimeout:   dialTimeout,
			MaxIdleConns:          4 * perHost,
			MaxIdleConnsPerHost:   perHost,
			MaxConnsPerHost:       2 * perHost,
			IdleConnTimeout:       time.Minute,
			ExpectContinueTimeout: time.Second,
		},
		// An envelope goes where its resolver says, and nowhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Send posts a frame to an endpoint; see [parley.Transport].
func (t *Transport) Send(ctx context.Context, endpoint string, f parley.Frame) (parley.Frame, error) {
	failed := func(code parley.Code, status int, text string) error {
		return &parley.DeliveryError{Code: code, Endpoint: endpoint, Status: status, Text: text}
	}
	var sent atomic.Bool // once true, the other end may have got it
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	request, err := http.NewRequestWithContext(traced, http.MethodPost, endpoint, bytes.NewReader(f.Body))
	if err != nil {
		return parley.Frame{}, failed(fault.Refused, 0, err.Error())
	}
	request.GetBody = nil // a request that may have arrived is not repeated behind our back
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(parleyHeader, "1")
	if f.Sync {
		request.Header.Set(syncHeader, "sync")
	}
	response, err := t.client.Do(request)
	if err != nil {
		code := fault.Unavailable
		if sent.Load() {
			code = fault.Unknown
		}
		return parley.Frame{}, failed(code, 0, plain(err))
	}
	defer response.Body.Close()
	reply := parley.Frame{Peer: endpoint, Deduplicates: response.Header.Get(parleyHeader) != ""}
	if response.StatusCode != http.StatusOK {
		text := complaint(response)
		return reply, failed(codeOf(response.StatusCode), response.StatusCode, text)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxReply+1))
	if err != nil || len(body) > maxReply {
		if !f.Sync {
			return reply, nil // it was taken over; what else the peer has to say does not matter
		}
		return reply, failed(fault.Unknown, response.StatusCode, "the reply broke off or is too large")
	}
	none := response.Header.Get(replyHeader) == "none" || !reply.Deduplicates && string(body) == "{}"
	if f.Sync && !none {
		reply.Body = body
	}
	return reply, nil
}

// plain is an error without the URL that net/http puts before it.
func plain(err error) string {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
		if _, ok := inner.(*net.OpError); ok {
			break
		}
	}
	return err.Error()
}

func codeOf(status int) parley.Code {
	switch {
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		return fault.Unavailable
	case status >= 500:
		return fault.Unknown
	}
	return fault.Refused
}

// complaint is what the other end says is wrong.
func complaint(response *http.Response) string {
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxComplaint)) // as much as there is
	var known struct{ Error string }
	if json.Unmarshal(body, &known) == nil && known.Error != "" {
		return known.Error
	}
	if text := strings.TrimSpace(string(body)); text != "" {
		return text
	}
	return response.Status
}
