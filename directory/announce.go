package directory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/wire/uagents"
)

// An Announcement is an agent that an Almanac is to know, with the key that signs
// for it.
type Announcement struct {
	Agent parley.AgentInfo
	Key   *identity.Key
}

const (
	announceEvery  = time.Hour
	probeEvery     = time.Minute
	firstPause     = time.Second
	lastPause      = 5 * time.Minute
	farewellTime   = 2 * time.Second
	announceAtOnce = 100 // agents in one request
)

// Announce keeps an Almanac informed about agents and the manifests of their
// protocols until ctx ends, and then says that they are gone. It tries again and
// again while the Almanac cannot be reached; every registration is signed when it
// is sent.
func (c *Client) Announce(ctx context.Context, agents []Announcement, manifests [][]byte, log *slog.Logger) {
	// What is under way when ctx ends may come to its end, else it might be heard
	// after the farewell.
	work, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(farewellTime, cut) })()
	pause := time.Duration(0)
	for ctx.Err() == nil {
		wait, probed := announceEvery, agents[:min(1, len(agents))]
		if err := c.announceAll(work, agents, manifests); err != nil && ctx.Err() == nil {
			pause = min(max(2*pause, firstPause), lastPause)
			wait, probed = pause/2+rand.N(pause/2), nil
			log.Warn("the almanac was not told about the agents", "error", err, "again_in", wait)
		} else {
			pause = 0
		}
		c.rest(ctx, wait, probed)
	}
	c.sayFarewell(context.WithoutCancel(ctx), agents, log)
}

// rest waits until it is time to announce again: now and then it looks whether
// the Almanac still knows the agents, which one that lost its memory does not.
func (c *Client) rest(ctx context.Context, wait time.Duration, probed []Announcement) {
	for until := time.Now().Add(wait); ; {
		pause := min(time.Until(until), c.probeEvery)
		if pause <= 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		for _, a := range probed {
			if known, err := c.ask(ctx, a.Agent.Address); err == nil && len(known.endpoints) == 0 {
				return
			}
		}
	}
}

// AnnounceOnce tells an Almanac about agents once.
func (c *Client) AnnounceOnce(ctx context.Context, agents []Announcement) error {
	return c.announceAll(ctx, agents, nil)
}

func (c *Client) announceAll(ctx context.Context, agents []Announcement, manifests [][]byte) error {
	var failed []error // each is for itself
	for some := range slices.Chunk(agents, announceAtOnce) {
		failed = append(failed, c.register(ctx, some))
	}
	for _, m := range manifests {
		failed = append(failed, c.post(ctx, "/manifests", m))
	}
	return errors.Join(append(failed, c.setStatus(ctx, agents, true))...)
}

// register signs and sends registrations, one alone as an agent would, several
// as a bureau would.
func (c *Client) register(ctx context.Context, agents []Announcement) error {
	var signed []json.RawMessage
	for _, a := range agents {
		r := &uagents.Registration{Identifier: "agent://" + string(a.Agent.Address), Protocols: a.Agent.Protocols, Metadata: json.RawMessage("{}")}
		for _, e := range a.Agent.Endpoints {
			r.Endpoints = append(r.Endpoints, uagents.Endpoint{URL: e.URL, Weight: int64(e.Weight)})
		}
		if err := r.Sign(a.Key, time.Now()); err != nil {
			return err
		}
		text, err := r.Encode()
		if err != nil {
			return err
		}
		signed = append(signed, text)
	}
	if len(signed) == 1 {
		return c.post(ctx, "/agents", signed[0])
	}
	body, err := json.Marshal(struct {
		Attestations []json.RawMessage `json:"attestations"`
	}{signed})
	if err != nil {
		return err
	}
	return c.post(ctx, "/agents/batch", body)
}

func (c *Client) setStatus(ctx context.Context, agents []Announcement, active bool) error {
	for _, a := range agents {
		s := &uagents.StatusUpdate{Identifier: "agent://" + string(a.Agent.Address), Active: active}
		if err := s.Sign(a.Key, time.Now()); err != nil {
			return err
		}
		body, err := s.Encode()
		if err != nil {
			return err
		}
		if err := c.post(ctx, "/agents/"+url.PathEscape(string(a.Agent.Address))+"/status", body); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) sayFarewell(ctx context.Context, agents []Announcement, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, farewellTime)
	defer cancel()
	if err := c.setStatus(ctx, agents, false); err != nil {
		log.Info("the almanac was not told that the agents are gone", "error", err)
	}
}

func (c *Client) post(ctx context.Context, path string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return fault.Errorf(fault.Unavailable, "almanac", "%w", err)
	}
	defer response.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(response.Body, maxBody)) // only for the text below
	if response.StatusCode >= 400 {
		return fault.Errorf(fault.Refused, "almanac", "%s: status %d: %.200s", path, response.StatusCode, said)
	}
	return nil
}
