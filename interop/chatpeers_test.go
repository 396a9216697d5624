package interop

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/protocol/chat"
)

// Package chat with real Python agents of all three models.

// A listener chats and keeps what it hears.
type listener struct {
	*parley.Agent
	heard chan string // texts, whole
	acks  chan uuid.UUID
}

// newListener answers with f.
func newListener(t *testing.T, seed string, f func(context.Context, *chat.Turn) error) *listener {
	l := &listener{parley.NewAgent("listener", &parley.AgentOptions{Key: fixedKey(t, seed)}), make(chan string, 1000), make(chan uuid.UUID, 1000)}
	chat.Handle(l.Agent, func(ctx context.Context, c *chat.Turn) error {
		l.heard <- c.Text()
		return f(ctx, c)
	}, &chat.Options{OnAcknowledged: func(_ context.Context, _ *parley.Turn, in chat.ChatAcknowledgement) error {
		l.acks <- in.AcknowledgedMsgID
		return nil
	}})
	return l
}

func next[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(60 * time.Second):
		t.Fatalf("%s: nothing came", what)
		panic("unreachable")
	}
}

// tell repeats what was said and counts to twenty, slowly enough for pieces.
func tell(ctx context.Context, c *chat.Turn) error {
	return c.Stream(ctx, func(_ context.Context, say func(string) error) error {
		for i := range 21 {
			piece := fmt.Sprintf(" %d", i)
			if i == 0 {
				piece = c.Text() + ":"
			}
			if err := say(piece); err != nil {
				return err
			}
			time.Sleep(30 * time.Millisecond)
		}
		return nil
	})
}

const told = "one two three four: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"

// A Python agent says the same twice in one session: at once, and in pieces. The
// Go agent hears it whole both times. It answers in the model of its partner: at
// once, and then in pieces, in their order, with a start and an end.
func TestStreamsWithAPythonAgentOfEachModel(t *testing.T) {
	peers, err := filepath.Abs("peers")
	if err != nil {
		t.Fatal(err)
	}
	for _, models := range []string{"printed", "mended", "core"} {
		t.Run(models, func(t *testing.T) {
			l := newListener(t, "listener "+models, tell)
			url := startNode(t, l.Agent)

			p := startPeer(t, "../python/streamer.py", url, "PEER_ADDRESS="+string(l.Address()), "CHAT="+models, "PYTHONPATH="+peers)

			var got []event
			acks := 0
			p.wait("done", func(e event) bool {
				switch {
				case e.Event == "error":
					t.Errorf("the peer complains: %+v", e)
				case e.Event == "ack":
					acks++
				case e.Event == "received":
					got = append(got, e)
				}
				return e.Event == "done"
			})
			for range 2 {
				if heard := next(t, "a text", l.heard); heard != "one two three four" {
					t.Errorf("the Go agent heard %q", heard)
				}
			}
			if acks != 7 {
				t.Errorf("%d acknowledgements of 7 messages", acks)
			}
			kinds, texts, ids := contentsOf(t, got)
			if kinds[0] != "text" || texts[0] != told {
				t.Errorf("the first answer is %q %q, want one text", kinds[0], texts[0])
			}
			end := "end-stream"
			if models == "printed" {
				end = "start-stream"
			}
			all := strings.Join(kinds[1:], " ")
			if pieces := len(kinds) - 3; pieces < 2 || all != "start-stream"+strings.Repeat(" text", pieces)+" "+end {
				t.Errorf("the second answer has the contents %s", all)
			}
			if said := strings.Join(texts[1:], ""); said != told {
				t.Errorf("the pieces are %q", said)
			}
			if len(ids) != 2 || ids[0] != ids[1] {
				t.Errorf("the stream begins and ends as %v", ids)
			}
			for range got {
				next(t, "an acknowledgement", l.acks)
			}
		})
	}
}

// contentsOf lists the kinds of all contents, the texts, and the streams that are
// begun or ended.
func contentsOf(t *testing.T, got []event) (kinds, texts, streams []string) {
	t.Helper()
	for _, e := range got {
		for _, item := range e.Body["content"].([]any) {
			content := item.(map[string]any)
			kinds = append(kinds, content["type"].(string))
			if text, ok := content["text"].(string); ok {
				texts = append(texts, text)
			}
			if id, ok := content["stream_id"].(string); ok {
				streams = append(streams, id)
			}
		}
	}
	if len(kinds) == 0 {
		t.Fatal("the peer heard nothing")
	}
	return kinds, texts, streams
}

// agent1 greets, agent2 waits to be greeted. Both acknowledge and answer every
// text; the Go partner stops after three.
func TestChatHandleWithThePythonPair(t *testing.T) {
	for _, c := range []struct {
		program string
		greeted bool // by the peer
		says    string
	}{{"agent1.py", true, "Hello from Agent1!"}, {"agent2.py", false, "Hello from Agent2!"}} {
		t.Run(c.program, func(t *testing.T) {
			l := newListener(t, "partner of "+c.program, func(_ context.Context, c *chat.Turn) error {
				if len(c.Lines()) >= 5 {
					return nil
				}
				return c.Say("and then?")
			})
			url := startNode(t, l.Agent)
			p := startPeer(t, c.program, url, "AGENT_SEED="+c.program, "PEER_ADDRESS="+string(l.Address()))
			peer := p.started().Address
			if !c.greeted {
				greetPeer(t, l.Agent, url, peer)
			}
			for range 3 {
				if heard := next(t, "a text", l.heard); heard != c.says {
					t.Errorf("heard %q, want %q", heard, c.says)
				}
			}
			for range 2 {
				next(t, "an acknowledgement", l.acks)
			}
			sent, session := 0, ""
			for acks := 0; acks < 3; {
				e := p.wait("three acknowledgements", func(e event) bool { return e.Event == "ack" || e.Event == "received" || e.Event == "error" })
				switch e.Event {
				case "ack":
					acks++
				case "received":
					sent++
				default:
					t.Fatalf("the peer complains: %+v", e)
				}
				if session == "" {
					session = e.Session
				}
				if e.Session != session {
					t.Errorf("a message in session %s, want %s", e.Session, session)
				}
			}
			if sent < 2 {
				t.Errorf("the peer heard %d texts", sent)
			}
		})
	}
}

func greetPeer(t *testing.T, a *parley.Agent, url string, peer identity.Address) {
	t.Helper()
	waitRegistered(t, url, peer)
	if _, err := a.Send(t.Context(), peer, chat.Text("hello")); err != nil {
		t.Fatal(err)
	}
}
