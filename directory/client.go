package directory

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

// A Client resolves agents by asking an Almanac over HTTP. Answers are kept for
// a while, also that an agent is not known.
type Client struct {
	base string
	http *http.Client

	probeEvery time.Duration

	mu    sync.Mutex
	cache map[identity.Address]cached
}

type cached struct {
	endpoints []parley.Endpoint
	until     time.Time
}

const (
	keepKnown   = 30 * time.Second // an agent that comes back elsewhere is found again soon
	keepUnknown = 5 * time.Second
	maxCached   = 10_000
	askTimeout  = 5 * time.Second
)

// NewClient asks the Almanac below a base URL, such as
// http://127.0.0.1:8000/v1/almanac.
func NewClient(base string) *Client {
	return &Client{base: strings.TrimSuffix(base, "/"), http: &http.Client{Timeout: askTimeout}, probeEvery: probeEvery, cache: make(map[identity.Address]cached)}
}

// Resolve asks for an agent's endpoints; see [parley.Resolver].
func (c *Client) Resolve(ctx context.Context, address identity.Address) ([]parley.Endpoint, error) {
	c.mu.Lock()
	known, ok := c.cache[address]
	c.mu.Unlock()
	if !ok || time.Now().After(known.until) {
		var err error
		if known, err = c.ask(ctx, address); err != nil {
			return nil, err
		}
		c.remember(address, known)
	}
	if len(known.endpoints) == 0 {
		return nil, fault.Errorf(fault.NotFound, "", "the almanac does not know %s", address)
	}
	return known.endpoints, nil
}

func (c *Client) remember(address identity.Address, known cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.cache) >= maxCached {
		clear(c.cache)
	}
	c.cache[address] = known
}

func (c *Client) ask(ctx context.Context, address identity.Address) (cached, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/agents/"+url.PathEscape(string(address)), nil)
	if err != nil {
		return cached{}, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return cached{}, fault.Errorf(fault.Unavailable, "almanac", "%w", err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotFound {
		return cached{until: time.Now().Add(keepUnknown)}, nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil || response.StatusCode != http.StatusOK {
		return cached{}, fault.Errorf(fault.Unavailable, "almanac", "status %d: %.200s", response.StatusCode, body)
	}
	// Only what is needed is read, as the library does; other services write the
	// rest as they like.
	var e struct {
		Endpoints []struct {
			URL    string
			Weight float64
		}
		Expiry *string
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return cached{}, fault.Errorf(fault.Malformed, "almanac", "%w", err)
	}
	if e.Expiry == nil {
		return cached{until: time.Now().Add(keepUnknown)}, nil
	}
	known := cached{until: time.Now().Add(keepKnown)}
	if expiry, err := time.Parse(time.RFC3339, *e.Expiry); err == nil && expiry.Before(known.until) {
		known.until = expiry
	}
	for _, endpoint := range e.Endpoints {
		known.endpoints = append(known.endpoints, parley.Endpoint{URL: endpoint.URL, Weight: int(min(max(endpoint.Weight, 0), 1<<20))})
	}
	return known, nil
}
