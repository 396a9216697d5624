package talk

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/run"
)

// A Node is a running node, as its control interface shows it.
type Node interface {
	Send(ctx context.Context, r run.Request) (run.Reply, error)
	Log(ctx context.Context, q parley.LogQuery, wait time.Duration) ([]parley.LogRecord, error)
}

// A Speaker says things as one agent of a node. Its fields are set before use.
type Speaker struct {
	Node   Node
	Own    identity.Address // who speaks
	Stream bool             // ask for answers in pieces

	// Printed speaks as the uAgents example prints the protocol. Agents made from
	// it expect text and nothing else.
	Printed bool
}

// Say says a text. first says that the session begins with it. The reply has the
// ID in the log and whether the peer has it already, if it took it within wait.
func (s *Speaker) Say(ctx context.Context, c *Conversation, text string, first bool, wait time.Duration) (run.Reply, error) {
	var contents []chat.Content
	if first && !s.Printed {
		contents = append(contents, chat.StartSessionContent{})
	}
	contents = append(contents, chat.TextContent{Text: text})
	if s.Stream && !s.Printed {
		contents = append(contents, chat.MetadataContent{Metadata: map[string]string{"stream": "true"}})
	}
	return s.send(ctx, c, wait, contents...)
}

// Interrupt asks the peer to end a stream.
func (s *Speaker) Interrupt(ctx context.Context, c *Conversation, stream uuid.UUID) error {
	_, err := s.send(ctx, c, 0, chat.EndStreamContent{StreamID: stream})
	return err
}

// End ends a session. The peer is told within wait, or later.
func (s *Speaker) End(ctx context.Context, c *Conversation, wait time.Duration) error {
	if s.Printed {
		return nil
	}
	_, err := s.send(ctx, c, wait, chat.EndSessionContent{})
	return err
}

func (s *Speaker) send(ctx context.Context, c *Conversation, wait time.Duration, contents ...chat.Content) (run.Reply, error) {
	m := chat.ChatMessage{Timestamp: time.Now().UTC(), MsgID: uuid.New(), Content: contents}
	payload, err := messages().codec.Marshal(m)
	if err != nil {
		return run.Reply{}, err
	}
	schema := messageSchema()
	if s.Printed {
		schema = chat.PrintedMessageDigest
	}
	return s.Node.Send(ctx, run.Request{
		From: string(s.Own), To: c.Peer, Session: c.Session, Schema: schema, Payload: payload, Timeout: wait,
	})
}

const (
	page       = 1000
	followWait = 20 * time.Second
)

// Recall fills a book with the latest records, of one session or of all, and
// returns the number after which to follow.
func (s *Speaker) Recall(ctx context.Context, b *Book, session string) (after int64, err error) {
	records, err := s.Node.Log(ctx, parley.LogQuery{Agent: s.Own, Session: session, Limit: page, Last: true}, 0)
	for _, r := range records {
		b.Apply(r)
		after = r.Seq
	}
	for _, c := range b.conversations {
		c.Unread = 0
	}
	return after, err
}

// Follow hands over records as they come, until ctx ends or take says no.
func (s *Speaker) Follow(ctx context.Context, session string, after int64, take func(parley.LogRecord) error) error {
	for ctx.Err() == nil {
		records, err := s.Node.Log(ctx, parley.LogQuery{Agent: s.Own, Session: session, After: after, Limit: page}, followWait)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return err
		}
		for _, r := range records {
			after = r.Seq
			if err := take(r); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// Drain waits until what was said in a session has left the node, or ctx ends.
func (s *Speaker) Drain(ctx context.Context, session string) {
	for {
		records, err := s.Node.Log(ctx, parley.LogQuery{Agent: s.Own, Session: session, Limit: page, Last: true}, 0)
		if err != nil {
			return
		}
		pending := make(map[string]bool)
		for _, r := range records {
			switch r.Event {
			case "sent":
				pending[r.ID] = true
			case "delivered", "dead", "dropped":
				delete(pending, r.ID)
			}
		}
		if len(pending) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}
