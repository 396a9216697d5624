package talk

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
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
	return s.Utter(ctx, c, s.Compose(text, first), wait)
}

// An Utterance is something to be said, which stays the same however often it is
// tried.
type Utterance struct{ message chat.ChatMessage }

// Text is what it says.
func (u Utterance) Text() string { return u.message.Text() }

// Compose makes an utterance of a text.
func (s *Speaker) Compose(text string, first bool) Utterance {
	var contents []chat.Content
	if first && !s.Printed {
		contents = append(contents, chat.StartSessionContent{})
	}
	contents = append(contents, chat.TextContent{Text: text})
	if s.Stream && !s.Printed {
		contents = append(contents, chat.MetadataContent{Metadata: map[string]string{"stream": "true"}})
	}
	return compose(contents...)
}

func compose(contents ...chat.Content) Utterance {
	return Utterance{chat.ChatMessage{Timestamp: time.Now().UTC(), MsgID: uuid.New(), Content: contents}}
}

// UtterAgain says something of which is not known whether the node has it: it is
// not said twice.
func (s *Speaker) UtterAgain(ctx context.Context, c *Conversation, u Utterance, wait time.Duration) (run.Reply, error) {
	records, err := s.Node.Log(ctx, parley.LogQuery{Agent: s.Own, Session: c.Session, Limit: page, Last: true}, 0)
	if err != nil {
		return run.Reply{}, err
	}
	for _, r := range records {
		if r.Event != "sent" || r.Message.From != s.Own || !isMessage(r.Message.Schema) {
			continue
		}
		if known, err := readMessage(r.Message.Payload); err == nil && known.MsgID == u.message.MsgID {
			return run.Reply{ID: r.ID, Session: c.Session, State: "stored"}, nil
		}
	}
	return s.Utter(ctx, c, u, wait)
}

// Interrupt asks the peer to end a stream.
func (s *Speaker) Interrupt(ctx context.Context, c *Conversation, stream uuid.UUID) error {
	_, err := s.Utter(ctx, c, compose(chat.EndStreamContent{StreamID: stream}), 0)
	return err
}

// End ends a session. The peer is told within wait, or later. Users just leave:
// many agents reply nothing to the end of a session, and who waits for the reply
// would wait in vain.
func (s *Speaker) End(ctx context.Context, c *Conversation, wait time.Duration) error {
	if s.Printed || s.Own.IsUser() {
		return nil
	}
	_, err := s.Utter(ctx, c, compose(chat.EndSessionContent{}), wait)
	return err
}

// Utter says something; see [Speaker.Say].
func (s *Speaker) Utter(ctx context.Context, c *Conversation, u Utterance, wait time.Duration) (run.Reply, error) {
	payload, err := messages().codec.Marshal(u.message)
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

// Attend follows all sessions until ctx ends, also where the node goes and comes
// back: lost and found are told of it. No record is left out, and none comes
// twice.
func (s *Speaker) Attend(ctx context.Context, after int64, take func(parley.LogRecord), lost func(error), found func()) {
	hand := func(r parley.LogRecord) error {
		after = r.Seq
		take(r)
		return nil
	}
	for {
		err := s.Follow(ctx, "", after, hand)
		if ctx.Err() != nil {
			return
		}
		lost(err)
		for wait := minBackoff; err != nil; wait = min(2*wait, maxBackoff) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			_, err = s.Node.Log(ctx, parley.LogQuery{Agent: s.Own, After: after, Limit: 1}, 0)
		}
		found()
	}
}

const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 3 * time.Second
)

// IsGone reports whether an error says that the node could not be asked, and not
// that it said no. What was to be said may have reached it or not.
func IsGone(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	coded, ok := errors.AsType[*fault.Error](err)
	return !ok || coded.Code == fault.Internal || coded.Code == fault.NotFound && coded.Field == "data"
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
