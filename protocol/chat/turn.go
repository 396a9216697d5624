package chat

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
)

// A Turn is a chat message being handled, or the agent's own wish to say
// something.
type Turn struct {
	*parley.Turn
	Message ChatMessage // that is being handled; empty if there is none

	session *Session
	streams *streams
	always  bool // stream whether the partner asked or not
	text    string
}

// With returns the turn's conversation with a partner, in the turn's session, for
// an agent that speaks first:
//
//	agent.OnStart(func(ctx context.Context, t *parley.Turn) error {
//		c, err := chat.With(ctx, t, friend)
//		if err != nil {
//			return err
//		}
//		return c.Say("Hello!")
//	})
func With(ctx context.Context, t *parley.Turn, partner identity.Address) (*Turn, error) {
	s, _, err := loadSession(ctx, t, partner)
	return &Turn{Turn: t, session: s}, err
}

// AsPrinted makes the agent speak version 0.2.1 as the uAgents example prints it, to
// a partner who knows no other. One who has spoken needs no such hint.
func (c *Turn) AsPrinted() { c.session.Printed = true }

// Text returns what the partner said. If it came in pieces, it is the whole of it.
func (c *Turn) Text() string { return c.text }

// Partner returns the one whom the agent talks with.
func (c *Turn) Partner() identity.Address { return c.session.Partner }

// Lines returns what was said in the session before, oldest first.
func (c *Turn) Lines() []Line {
	lines := c.session.Lines
	if n := len(lines); n > 0 && !lines[n-1].Own && lines[n-1].ID == c.Message.MsgID {
		lines = lines[:n-1]
	}
	return lines
}

// Say says something to the partner, when the turn is committed.
func (c *Turn) Say(text string) error { return c.Send(Text(text)) }

// Send sends a message to the partner, in the model that the partner uses.
func (c *Turn) Send(m ChatMessage) error {
	if err := c.put(m); err != nil {
		return err
	}
	for _, content := range m.Content {
		if _, ends := content.(EndSessionContent); ends {
			c.session.Ended = true
		}
	}
	c.session.add(Line{Own: true, Text: m.Text(), Time: m.Timestamp, ID: m.MsgID})
	return c.session.save(c.Turn)
}

func (c *Turn) put(m ChatMessage) error {
	if c.session.Printed {
		return c.Turn.Send(c.session.Partner, printedOf(m))
	}
	return c.Turn.Send(c.session.Partner, m)
}

// End says goodbye: the session is over.
func (c *Turn) End() error {
	m := Text("")
	m.Content = []Content{EndSessionContent{}}
	return c.Send(m)
}

// ErrCancelled is how a stream ends that the partner does not want to hear any
// more.
var ErrCancelled = errors.New("the partner has cancelled the stream")

// Stream says something in pieces, if the partner or the author wants pieces, and
// else in one message. say takes the pieces in order; they go out at most ten
// times a second. The context that f gets ends when the partner cancels.
//
// If the process dies in between, the handler is run again: the stream is then
// ended, and the whole of what f says follows as one message.
func (c *Turn) Stream(ctx context.Context, f func(ctx context.Context, say func(piece string) error) error) error {
	s := &stream{turn: c, id: uuid.New()}
	if t := c.session.Telling; t != nil {
		if err := c.endLeftOver(t); err != nil {
			return err
		}
	} else {
		s.live = c.session.Streams || c.always
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if c.streams != nil {
		defer c.streams.add(told{c.session.Partner, c.session.ID, s.id}, cancel)()
	}
	err := f(ctx, func(piece string) error { return s.say(ctx, piece) })
	if cause := context.Cause(ctx); cause == ErrCancelled {
		err = ErrCancelled
	}
	if ended := s.end(ctx); ended != nil && (err == nil || err == ErrCancelled) {
		return ended
	}
	if err == ErrCancelled {
		return nil
	}
	return err
}

// endLeftOver ends a stream that an earlier run has left open.
func (c *Turn) endLeftOver(t *telling) error {
	if t.Turn == c.ID {
		c.SkipTo(t.Sent)
	}
	c.session.Telling = nil
	return c.put(ChatMessage{Timestamp: time.Now(), MsgID: uuid.New(), Content: []Content{EndStreamContent{StreamID: t.ID}}})
}
