package chat

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/identity"
)

// minPause is the least time between two pieces.
const minPause = 100 * time.Millisecond

// A stream is something being said in pieces.
type stream struct {
	turn  *Turn
	id    uuid.UUID
	live  bool // pieces go out
	whole strings.Builder
	held  strings.Builder // not sent yet
	last  time.Time
}

func (s *stream) say(ctx context.Context, piece string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if piece == "" {
		return nil
	}
	s.whole.WriteString(piece)
	s.held.WriteString(piece)
	if !s.live || time.Since(s.last) < minPause {
		return nil
	}
	return s.flush(ctx)
}

// flush sends what is held and commits how far the stream is.
func (s *stream) flush(ctx context.Context) error {
	c := s.turn
	m := ChatMessage{Timestamp: time.Now(), MsgID: uuid.New()}
	if s.last.IsZero() {
		m.Content = append(m.Content, StartStreamContent{StreamID: s.id})
	}
	m.Content = append(m.Content, TextContent{Text: s.held.String()})
	if err := c.put(m); err != nil {
		return err
	}
	s.held.Reset()
	s.last = time.Now()
	c.session.Telling = &telling{ID: s.id, Turn: c.ID, Sent: c.Sent()}
	if err := c.session.save(c.Turn); err != nil {
		return err
	}
	return c.Flush(context.WithoutCancel(ctx))
}

// end sends the rest. What ends a stream is committed with the turn.
func (s *stream) end(ctx context.Context) error {
	c := s.turn
	if s.whole.Len() == 0 {
		return nil
	}
	if !s.live || s.last.IsZero() { // all of it is here: no pieces needed
		return c.Say(s.whole.String())
	}
	m := ChatMessage{Timestamp: time.Now(), MsgID: uuid.New()}
	if s.held.Len() > 0 {
		m.Content = append(m.Content, TextContent{Text: s.held.String()})
	}
	m.Content = append(m.Content, EndStreamContent{StreamID: s.id})
	if err := c.put(m); err != nil {
		return err
	}
	c.session.Telling = nil
	c.session.add(Line{Own: true, Text: s.whole.String(), Time: m.Timestamp, ID: m.MsgID})
	return c.session.save(c.Turn)
}

// streams are those that an agent is saying now, by their ID.
type streams struct {
	mu      sync.Mutex
	cancels map[told]context.CancelCauseFunc
}

// told names a stream: only who hears it may end it.
type told struct {
	partner identity.Address
	session string
	id      uuid.UUID
}

func (s *streams) add(id told, cancel context.CancelCauseFunc) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancels == nil {
		s.cancels = make(map[told]context.CancelCauseFunc)
	}
	s.cancels[id] = cancel
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.cancels, id)
	}
}

// hear looks for a wish to end a stream. It is called when a message is taken over:
// its turn comes only after the one that is streaming.
func (s *streams) hear(from identity.Address, session string, m ChatMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, content := range m.Content {
		if end, ok := content.(EndStreamContent); ok {
			if cancel := s.cancels[told{from, session, end.StreamID}]; cancel != nil {
				cancel(ErrCancelled)
			}
		}
	}
}
