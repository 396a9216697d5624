package talk_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/talk"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/transport/parleyhttp"
	"github.com/parley-agents/parley/wire/uagents"
)

// visit lets a user say something to an agent that answers in a certain way, and
// returns what the user gets to see.
func visit(t *testing.T, to identity.Address, answer func(w http.ResponseWriter, e *uagents.Envelope), texts ...string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e, err := uagents.Open(body, identity.NewVerifier(nil))
		if err != nil || !e.Sender.IsUser() || e.Signature != nil || e.Target != to || r.Header.Get("x-uagents-connection") != "sync" {
			t.Errorf("the agent gets %s (%v)", body, err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("content-type", "application/json")
		answer(w, e)
	}))
	defer server.Close()
	transport, err := parleyhttp.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	visitor, err := talk.NewVisitor(ctx, transport, server.URL+"/submit", 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer visitor.Wait()
	defer cancel()
	book := talk.NewBook(visitor.Address())
	s := &talk.Speaker{Node: visitor, Own: visitor.Address()}
	c := book.Open(uuid.NewString(), to)
	for _, text := range texts {
		if _, err := s.Say(ctx, c, text, false, 0); err != nil {
			t.Fatal(err)
		}
	}
	var events []string
	ended := 0
	err = s.Follow(ctx, c.Session, 0, func(r parley.LogRecord) error {
		for _, e := range book.Apply(r) {
			events = append(events, strings.TrimSpace(e.Event+" "+e.Text+e.Reason))
			if e.Event != talk.EventSent && e.Event != talk.EventDelivered {
				ended++
			}
		}
		if ended == len(texts) {
			cancel()
		}
		return nil
	})
	if ctx.Err() == nil {
		t.Fatal(err)
	}
	return strings.Join(events, "; ")
}

// What comes back is believed if it is signed by the agent, or came on the
// connection to it and belongs to what was said.
func TestWhatAUserBelieves(t *testing.T) {
	key, err := identity.Generate()
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := identity.Generate()
	if err != nil {
		t.Fatal(err)
	}
	const payload = `{"timestamp": "2026-03-04T05:06:07Z", "msg_id": "5f0f5f5e-7f58-4f6a-8c62-cf6cbb0c2f10", "content": [{"type": "text", "text": "welcome"}]}`
	reply := func(e *uagents.Envelope) *uagents.Envelope {
		r := &uagents.Envelope{Version: 1, Sender: key.Address(), Target: e.Sender, Session: e.Session, SchemaDigest: digest[chat.ChatMessage](t)}
		r.SetPayload([]byte(payload))
		return r
	}
	const lies = "sent hi; failed the reply belongs to another message"
	for _, tc := range []struct {
		name   string
		answer func(w http.ResponseWriter, e *uagents.Envelope)
		want   string
	}{
		{"unsigned", func(w http.ResponseWriter, e *uagents.Envelope) { _, _ = w.Write(reply(e).Encode()) }, "sent hi; delivered; said welcome"},
		{"signed", func(w http.ResponseWriter, e *uagents.Envelope) {
			r := reply(e)
			r.Sign(key)
			_, _ = w.Write(r.Encode())
		}, "sent hi; delivered; said welcome"},
		{"signed by another", func(w http.ResponseWriter, e *uagents.Envelope) {
			r := reply(e)
			r.Sign(stranger)
			_, _ = w.Write(r.Encode())
		}, "sent hi; failed unverified: signature: "},
		{"of another agent", func(w http.ResponseWriter, e *uagents.Envelope) {
			r := reply(e)
			r.Sender = stranger.Address()
			_, _ = w.Write(r.Encode())
		}, lies},
		{"for another user", func(w http.ResponseWriter, e *uagents.Envelope) {
			r := reply(e)
			r.Target = stranger.Address()
			_, _ = w.Write(r.Encode())
		}, lies},
		{"in another session", func(w http.ResponseWriter, e *uagents.Envelope) {
			r := reply(e)
			r.Session = uuid.New()
			_, _ = w.Write(r.Encode())
		}, lies},
		{"no envelope", func(w http.ResponseWriter, _ *uagents.Envelope) { _, _ = io.WriteString(w, "{}") }, "sent hi; failed malformed: version: the field is required"},
		{"nothing", func(http.ResponseWriter, *uagents.Envelope) {}, "sent hi; failed it was taken over, and no reply came"},
		{"refused", func(w http.ResponseWriter, _ *uagents.Envelope) {
			http.Error(w, `{"error": "no"}`, http.StatusBadRequest)
		}, "sent hi; failed refused: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := visit(t, key.Address(), tc.answer, "hi"); !strings.HasPrefix(got, tc.want) {
				t.Errorf("the user sees %q, want %q", got, tc.want)
			}
		})
	}
}

// Peers know a user who waits by the address alone, so only one message waits at
// a time, in order.
func TestAUserWaitsForOneReplyAtATime(t *testing.T) {
	key, err := identity.Generate()
	if err != nil {
		t.Fatal(err)
	}
	var waiting atomic.Int32
	got := visit(t, key.Address(), func(w http.ResponseWriter, e *uagents.Envelope) {
		if waiting.Add(1) > 1 {
			t.Error("two messages wait at once")
		}
		time.Sleep(50 * time.Millisecond)
		waiting.Add(-1)
		text, _ := e.DecodePayload()
		r := &uagents.Envelope{Version: 1, Sender: key.Address(), Target: e.Sender, Session: e.Session, SchemaDigest: digest[chat.ChatMessage](t)}
		r.SetPayload(text)
		_, _ = w.Write(r.Encode())
	}, "one", "two", "three")
	if got = strings.ReplaceAll(got, "delivered; ", ""); !strings.HasSuffix(got, "said one; said two; said three") {
		t.Errorf("the user sees %q", got)
	}
}
