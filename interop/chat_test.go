package interop

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/protocol/chat"
)

const rounds = 10

// How the Go side acknowledges: the flow must survive all of these.
var acknowledging = map[string]func(t *parley.Turn, in chat.ChatMessage) error{
	"at once": func(t *parley.Turn, in chat.ChatMessage) error { return t.Send(t.Sender, chat.Acknowledge(in)) },
	"late": func(t *parley.Turn, in chat.ChatMessage) error {
		time.Sleep(300 * time.Millisecond)
		return t.Send(t.Sender, chat.Acknowledge(in))
	},
	"never": func(*parley.Turn, chat.ChatMessage) error { return nil },
	"twice": func(t *parley.Turn, in chat.ChatMessage) error {
		if err := t.Send(t.Sender, chat.Acknowledge(in)); err != nil {
			return err
		}
		return t.Send(t.Sender, chat.Acknowledge(in))
	},
}

// The unmodified Python pair program greets the Go agent; both acknowledge and
// answer every text, in one session, for ten rounds.
func TestChatWithAPythonAgent(t *testing.T) {
	for name, acknowledge := range acknowledging {
		t.Run("acknowledged "+name, func(t *testing.T) {
			var texts, acks atomic.Int64
			sessions := make(chan string, 1000)
			done := make(chan struct{})
			gopher := parley.NewAgent("gopher", &parley.AgentOptions{Key: fixedKey(t, "gopher "+name)})
			parley.On(gopher, func(_ context.Context, turn *parley.Turn, in chat.ChatMessage) error {
				sessions <- turn.Session
				if err := acknowledge(turn, in); err != nil {
					return err
				}
				switch n := texts.Add(1); {
				case n < rounds:
					return turn.Send(turn.Sender, chat.Text("and again"))
				case n == rounds:
					close(done)
				}
				return nil
			})
			parley.On(gopher, func(context.Context, *parley.Turn, chat.ChatAcknowledgement) error { acks.Add(1); return nil })
			url := startNode(t, gopher)
			startPeer(t, "agent1.py", url, "PEER_ADDRESS="+string(gopher.Address()), "AGENT_SEED=agent1").started()

			select {
			case <-done:
			case <-time.After(60 * time.Second):
				t.Fatalf("after %d texts and %d acknowledgements", texts.Load(), acks.Load())
			}
			first := <-sessions
			for range rounds - 1 {
				if s := <-sessions; s != first {
					t.Errorf("a message in session %s, want %s", s, first)
				}
			}
			for range 100 {
				if acks.Load() >= rounds-1 {
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
			t.Errorf("%d acknowledgements, want %d", acks.Load(), rounds-1)
		})
	}
}

func fixedKey(t *testing.T, seed string) *identity.Key {
	t.Helper()
	k, err := identity.FromSeed(seed, 0)
	if err != nil {
		t.Fatal(err)
	}
	return k
}
