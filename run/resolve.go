package run

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"sync"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/directory"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

// maxKnown bounds what a running node is told about where agents are.
const maxKnown = 10_000

// places are the addresses whose URLs the node was told, at its start or since.
type places struct {
	mu   sync.RWMutex
	urls map[identity.Address]string
}

func newPlaces(given map[identity.Address]string) *places {
	p := &places{urls: make(map[identity.Address]string)}
	maps.Copy(p.urls, given)
	return p
}

// Resolve is that of [parley.Resolver].
func (p *places) Resolve(ctx context.Context, agent identity.Address) ([]parley.Endpoint, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return parley.Static(p.urls).Resolve(ctx, agent)
}

func (p *places) add(at Place) error {
	if _, err := identity.ParseAddress(string(at.Address)); err != nil {
		return fault.In("address", err)
	}
	if err := checkURL("url", at.URL); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.urls[at.Address]; !known && len(p.urls) >= maxKnown {
		return fault.Errorf(fault.TooLarge, "", "the node knows %d agents by their URL already", maxKnown)
	}
	p.urls[at.Address] = at.URL
	return nil
}

func checkURL(field, text string) error {
	if u, err := url.Parse(text); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fault.Errorf(fault.Malformed, field, "expected a URL such as http://127.0.0.1:8001/submit, found %.200q", text)
	}
	return nil
}

// A Place tells a running node where an agent is, until the node stops.
type Place struct {
	Address identity.Address `json:"address"`
	URL     string           `json:"url"`

	// Almanac is told about the agents of the node, so that those there can
	// answer; "" is none.
	Almanac string `json:"almanac,omitempty"`
}

func (c *control) resolve(r *http.Request) (any, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fault.Errorf(fault.TooLarge, "", "%w", err)
	}
	var at Place
	if err := json.Unmarshal(body, &at); err != nil {
		return nil, fault.Errorf(fault.Malformed, "", "%w", err)
	}
	if err := c.places.add(at); err != nil || at.Almanac == "" {
		return at, err
	}
	return at, directory.NewClient(at.Almanac).AnnounceOnce(r.Context(), announcements(c.node, c.agents))
}
