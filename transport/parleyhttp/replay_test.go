package parleyhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/transport/parleyhttp"
	"github.com/parley-agents/parley/transport/parleyhttp/replay"
	"github.com/parley-agents/parley/wire/uagents"
)

func TestVectorsOfTheTransport(t *testing.T) {
	records := replay.Load(t)
	ours := map[string]*fakeHost{"": newFakeHost(records, ""), "bureau": newFakeHost(records, "bureau")}
	for _, c := range records.Cases {
		if c.IsMessage() {
			continue // replayed with a node
		}
		t.Run(c.Name, func(t *testing.T) {
			host := ours[c.Mode]
			host.show(t, c.Response.Body)
			transport := openFrom(t, nil, c.FromElsewhere())
			transport.Attach(host)
			serve(t, transport, neverDelivered(t))

			got, err := c.Request.Send(strings.TrimPrefix(transport.URL(), "http://"))

			if err != nil {
				t.Fatal(err)
			}
			for _, wrong := range replay.Deliberate.Compare(&c, got) {
				t.Error(wrong)
			}
			if got.Headers["server"] != "parley" || got.Headers["x-parley"] != "1" {
				t.Errorf("headers %v, want server: parley and x-parley: 1", got.Headers)
			}
		})
	}
}

// The records of messages reach deliver unchanged, and the peers' texts for what
// it refuses reach the sender.
func TestVectorsOfMessagesReachDeliver(t *testing.T) {
	records := replay.Load(t)
	for _, c := range records.Cases {
		if !c.IsMessage() {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			var got parley.Frame
			transport := open(t, nil)
			serve(t, transport, func(_ context.Context, f parley.Frame) (parley.Frame, error) {
				got = f
				if c.Response.Status == http.StatusBadRequest {
					var said struct{ Error string }
					if err := json.Unmarshal([]byte(c.Response.Body), &said); err != nil {
						t.Error(err)
					}
					return parley.Frame{}, parley.Errorf(fault.Malformed, "%s", said.Error)
				}
				return parley.Frame{Body: []byte(c.Response.Body)}, nil
			})

			answer, err := c.Request.Send(strings.TrimPrefix(transport.URL(), "http://"))

			if err != nil {
				t.Fatal(err)
			}
			if string(got.Body) != string(c.Request.Body) {
				t.Errorf("deliver got %q, want %q", got.Body, c.Request.Body)
			}
			if c.Response.Status == http.StatusInternalServerError {
				return // refused with a reason: U21, shown by the node's tests
			}
			for _, wrong := range (replay.Differences{}).Compare(&c, answer) {
				t.Error(wrong)
			}
		})
	}
}

// fakeHost has the routes of the recorded agents.
type fakeHost struct {
	agents []parley.AgentInfo
	routes []parley.Route
	shown  []parley.LogRecord
}

type (
	restIn struct {
		Name  string `json:"name"`
		Count int    `json:"count" parley:"default=1"`
	}
	restOut struct {
		Greeting string `json:"greeting"`
		Total    int    `json:"total"`
	}
	restTime struct {
		At time.Time `json:"at"`
	}
)

func newFakeHost(f *replay.File, mode string) *fakeHost {
	alpha, beta := identity.Address(f.Agent), identity.Address(f.Beta)
	h := &fakeHost{agents: []parley.AgentInfo{{Name: "alpha", Address: alpha}}}
	h.get(alpha, "/rest/get", func() ([]byte, error) { return encode(restOut{"hi", 3}), nil })
	h.routes = append(h.routes, parley.Route{Agent: alpha, Method: "POST", Path: "/rest/post", Serve: func(_ context.Context, body []byte) ([]byte, error) {
		var in restIn
		if err := codecOf[restIn](true).Unmarshal(body, &in); err != nil {
			return nil, err
		}
		return encode(restOut{"hello " + in.Name, in.Count}), nil
	}})
	mismatch := func() ([]byte, error) { return nil, parley.Errorf(fault.Unsupported, "details") }
	h.get(alpha, "/rest/bad", mismatch)
	h.get(alpha, "/rest/none", mismatch)
	h.get(alpha, "/rest/raise", func() ([]byte, error) { return nil, errors.New("boom") })
	h.get(alpha, "/rest/time", func() ([]byte, error) {
		return encode(restTime{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}), nil
	})
	if mode == "bureau" {
		h.agents = append(h.agents, parley.AgentInfo{Name: "beta", Address: beta})
		h.get(beta, "/rest/get", func() ([]byte, error) { return encode(restOut{"beta", 4}), nil })
	}
	return h
}

func (h *fakeHost) get(a identity.Address, path string, f func() ([]byte, error)) {
	h.routes = append(h.routes, parley.Route{Agent: a, Method: "GET", Path: path, Serve: func(context.Context, []byte) ([]byte, error) { return f() }})
}

// show makes the host know what a recorded page tells, so that only the form of
// the page is compared.
func (h *fakeHost) show(t *testing.T, body string) {
	var page struct {
		Address   string
		Protocols []string
		Endpoints []parley.Endpoint
		Envelopes []struct {
			Timestamp               int64
			Sender, Target, Session string
			Schema                  string  `json:"schema_digest"`
			Protocol                *string `json:"protocol_digest"`
			Payload                 string
		}
	}
	if json.Unmarshal([]byte(body), &page) != nil {
		return // not such a page
	}
	for i := range h.agents {
		if string(h.agents[i].Address) == page.Address {
			h.agents[i].Protocols, h.agents[i].Endpoints = page.Protocols, page.Endpoints
		}
	}
	h.shown = nil
	for _, e := range page.Envelopes {
		m := parley.Message{
			From: identity.Address(e.Sender), To: identity.Address(e.Target), Session: e.Session, Schema: e.Schema, Payload: []byte(e.Payload),
		}
		if e.Protocol != nil {
			m.Protocol = *e.Protocol
		}
		h.shown = append(h.shown, parley.LogRecord{Time: time.Unix(e.Timestamp, 0), Message: m})
	}
}

func (h *fakeHost) Agent(a identity.Address) (parley.AgentInfo, bool) {
	i := slices.IndexFunc(h.agents, func(info parley.AgentInfo) bool { return info.Address == a })
	if i < 0 {
		return parley.AgentInfo{}, false
	}
	return h.agents[i], true
}

func (h *fakeHost) Agents() iter.Seq[parley.AgentInfo] { return slices.Values(h.agents) }

func (h *fakeHost) Routes(method, path string) []parley.Route {
	return slices.DeleteFunc(slices.Clone(h.routes), func(r parley.Route) bool { return r.Method != method || r.Path != path })
}

func (h *fakeHost) Ready() bool { return true }

func (h *fakeHost) Messages(_ context.Context, a identity.Address, limit int) ([]parley.LogRecord, error) {
	if _, ok := h.Agent(a); !ok || limit < len(h.shown) {
		return nil, fmt.Errorf("asked for %d messages of %s", limit, a)
	}
	return h.shown, nil
}

func codecOf[T any](lax bool) *uagents.Codec {
	model, err := spec.FromGo[T]()
	if err != nil {
		panic(err)
	}
	codec, err := uagents.NewCodec(model, &uagents.CodecOptions{Lax: lax})
	if err != nil {
		panic(err)
	}
	return codec
}

func encode[T any](v T) []byte {
	text, err := codecOf[T](false).Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

func neverDelivered(t *testing.T) parley.Deliver {
	return func(_ context.Context, f parley.Frame) (parley.Frame, error) {
		t.Errorf("delivered %q", f.Body)
		return parley.Frame{}, nil
	}
}

// openFrom makes a transport whose clients seem to come from another machine.
func openFrom(t *testing.T, o *parleyhttp.Options, elsewhere bool) *parleyhttp.Transport {
	t.Helper()
	transport := open(t, o)
	if elsewhere {
		transport.Relocate(&net.TCPAddr{IP: net.IPv4(203, 0, 113, 9), Port: 4711})
	}
	return transport
}

// serve runs Serve until the test ends.
func serve(t *testing.T, transport *parleyhttp.Transport, deliver parley.Deliver) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	returned := make(chan error, 1)
	go func() { returned <- transport.Serve(ctx, deliver) }()
	stop = func() error {
		cancel()
		select {
		case err := <-returned:
			returned <- err
			return err
		case <-time.After(20 * time.Second):
			t.Error("Serve did not return")
			return nil
		}
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}
