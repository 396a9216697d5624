package parley_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/store/memory"
	"github.com/parley-agents/parley/transport/parleyhttp"
	"github.com/parley-agents/parley/transport/parleyhttp/replay"
	"github.com/parley-agents/parley/wire/uagents"
)

type (
	Open struct {
		N int `json:"n"`
	}
	Silent struct {
		A *string `json:"a"`
	}
	Slow struct {
		Seconds float64 `json:"seconds"`
	}
	RestIn struct {
		Name  string `json:"name"`
		Count int    `json:"count" parley:"default=1"`
	}
	RestOut struct {
		Greeting string `json:"greeting"`
		Total    int    `json:"total"`
	}
	RestTime struct {
		At time.Time `json:"at"`
	}
)

// TestHTTPVectors replays what was recorded from the real library against Go
// agents with the same handlers: status, headers that matter and body.
func TestHTTPVectors(t *testing.T) {
	records := replay.Load(t)
	servers := map[string]string{"": serveRecorded(t, recordedAlpha(t, records)), "bureau": ""}
	if records.Beta != "" {
		servers["bureau"] = serveRecorded(t, recordedAlpha(t, records), recordedBeta(t, records))
	}
	for _, c := range records.Cases {
		if c.FromElsewhere() {
			continue // replayed by the transport, which can pretend to be asked from elsewhere
		}
		t.Run(c.Name, func(t *testing.T) {
			soon(t, records, &c)
			got, err := c.Request.Send(servers[c.Mode])
			if err != nil {
				t.Fatal(err)
			}
			switch c.Request.Path {
			case "/messages":
				sameForm(t, &c, &got)
			case "/agent_info":
				sameProtocols(t, &c, &got)
			}
			got.Body, c.Response.Body = said(t, got.Body), said(t, c.Response.Body)
			for _, wrong := range replay.Deliberate.Compare(&c, got) {
				t.Error(wrong)
			}
		})
	}
}

// recordedAlpha is the agent that the records were made with, in Go.
func recordedAlpha(t *testing.T, records *replay.File) *parley.Agent {
	alpha := parley.NewAgent("alpha", &parley.AgentOptions{Key: key(t, records.AgentSeed), Lax: true})
	parley.Handle(alpha, func(_ context.Context, _ *parley.Turn, in Ping) (Pong, error) { return Pong{"pong:" + in.Text}, nil })
	parley.Handle(alpha, func(_ context.Context, _ *parley.Turn, in Open) (Pong, error) {
		return Pong{fmt.Sprintf("open:%d", in.N)}, nil
	}, parley.AllowUnsigned())
	parley.On(alpha, func(context.Context, *parley.Turn, Silent) error { return nil })
	parley.Handle(alpha, func(ctx context.Context, _ *parley.Turn, in Slow) (Pong, error) {
		select {
		case <-time.After(time.Duration(in.Seconds * float64(time.Second))):
		case <-ctx.Done():
		}
		return Pong{fmt.Sprintf("slow:%v", in.Seconds)}, ctx.Err()
	})
	parley.HandleGet(alpha, "/rest/get", func(context.Context, *parley.Turn) (RestOut, error) { return RestOut{"hi", 3}, nil })
	parley.HandlePost(alpha, "/rest/post", func(_ context.Context, _ *parley.Turn, in RestIn) (RestOut, error) {
		return RestOut{"hello " + in.Name, in.Count}, nil
	})
	parley.HandleGet(alpha, "/rest/raise", func(context.Context, *parley.Turn) (RestOut, error) { return RestOut{}, errors.New("boom") })
	parley.HandleGet(alpha, "/rest/time", func(context.Context, *parley.Turn) (RestTime, error) {
		return RestTime{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, nil
	})
	for _, path := range []string{"/rest/bad", "/rest/none"} { // a wrong value does not compile; this is what is left
		parley.HandleGet(alpha, path, func(context.Context, *parley.Turn) (RestOut, error) {
			return RestOut{}, parley.Errorf(fault.Unsupported, "no greeting fits")
		})
	}
	return alpha
}

func recordedBeta(t *testing.T, records *replay.File) *parley.Agent {
	beta := parley.NewAgent("beta", &parley.AgentOptions{Key: key(t, records.BetaSeed)})
	parley.HandleGet(beta, "/rest/get", func(context.Context, *parley.Turn) (RestOut, error) { return RestOut{"beta", 4}, nil })
	parley.On(beta, func(context.Context, *parley.Turn, Pong) error { return nil })
	return beta
}

func serveRecorded(t *testing.T, agents ...*parley.Agent) (address string) {
	t.Helper()
	transport, err := parleyhttp.New(&parleyhttp.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := transport.Listen(); err != nil {
		t.Fatal(err)
	}
	n, err := parley.NewNode(&parley.NodeOptions{
		Store: memory.New(), Transports: []parley.Transport{transport}, Endpoints: []parley.Endpoint{{URL: transport.URL() + "/submit", Weight: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Add(agents...); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for !n.Ready() {
		time.Sleep(time.Millisecond)
	}
	return strings.TrimPrefix(transport.URL(), "http://")
}

// soon makes an envelope that expired soon after it was recorded expire soon
// after now. Those that have always been expired, or never will be, stay.
func soon(t *testing.T, records *replay.File, c *replay.Case) {
	t.Helper()
	const past, future = 1_000_000_000, 4_000_000_000
	e, err := uagents.Decode(c.Request.Body)
	if err != nil || e.Expires == nil || *e.Expires < past || *e.Expires > future {
		return
	}
	e.Expires = new(uint64(time.Now().Add(2 * time.Second).Unix()))
	if string(e.Sender) == records.Sender {
		e.Sign(key(t, records.SenderSeed))
	}
	c.Request.Body = e.Encode()
	for name := range c.Request.Headers {
		if strings.EqualFold(name, "content-length") {
			c.Request.Headers[name] = fmt.Sprint(len(c.Request.Body))
		}
	}
}

// said is what an envelope says, and any other body as it is. Parley signs its
// replies (U9), and a signed envelope has an expiry and a nonce.
func said(t *testing.T, body string) string {
	t.Helper()
	e, err := uagents.Decode([]byte(body))
	if err != nil {
		return body
	}
	if e.Signature != nil {
		if err := e.Verify(identity.NewVerifier(nil)); err != nil {
			t.Errorf("the reply does not verify: %v", err)
		}
	}
	payload, err := e.DecodePayload()
	if err != nil {
		t.Errorf("the reply's payload: %v", err)
	}
	return fmt.Sprintf("%s to %s in %s: %s %s", e.Sender, e.Target, e.Session, e.SchemaDigest, payload)
}

// sameForm checks that the page of messages tells of each what the peer tells.
// The messages are others: it shows what this node has done so far.
func sameForm(t *testing.T, c *replay.Case, got *replay.Response) {
	t.Helper()
	var ours, theirs struct{ Envelopes []map[string]any }
	if json.Unmarshal([]byte(c.Response.Body), &theirs) != nil || len(theirs.Envelopes) == 0 {
		return // a refusal
	}
	if err := json.Unmarshal([]byte(got.Body), &ours); err != nil || len(ours.Envelopes) == 0 {
		t.Fatalf("no messages: %s (%v)", got.Body, err)
	}
	for _, e := range ours.Envelopes {
		for field := range theirs.Envelopes[0] {
			if _, there := e[field]; !there || len(e) != len(theirs.Envelopes[0]) {
				t.Errorf("a message is %v, want the fields of %v", e, theirs.Envelopes[0])
			}
		}
	}
	got.Body = c.Response.Body
}

// sameProtocols checks that the peer has all protocols that the agent claims,
// with the same digests. It has one more, that of its quotas.
func sameProtocols(t *testing.T, c *replay.Case, got *replay.Response) {
	t.Helper()
	var ours, theirs struct{ Protocols []string }
	if json.Unmarshal([]byte(c.Response.Body), &theirs) != nil || json.Unmarshal([]byte(got.Body), &ours) != nil {
		return // a refusal
	}
	for _, digest := range ours.Protocols {
		text := fmt.Sprintf("%q", digest)
		if !strings.Contains(c.Response.Body, text) {
			t.Errorf("the peer has no protocol %s: %v", digest, theirs.Protocols)
		}
	}
	list := func(digests []string) string {
		text, _ := json.Marshal(digests)
		return strings.ReplaceAll(string(text), ",", ", ")
	}
	got.Body = strings.Replace(got.Body, list(ours.Protocols), list(theirs.Protocols), 1)
}
