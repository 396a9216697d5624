package chat

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
)

// A Session is a conversation with one partner, as the agent remembers it.
type Session struct {
	ID      string           `json:"id"`
	Partner identity.Address `json:"partner"`
	Started time.Time        `json:"started"`
	Last    time.Time        `json:"last"` // when something was said
	Ended   bool             `json:"ended,omitempty"`

	// Lines are what was said, oldest first. The oldest are forgotten when there
	// are too many.
	Lines []Line `json:"lines,omitempty"`

	Printed bool `json:"printed,omitempty"` // the partner uses the older model
	Streams bool `json:"streams,omitempty"` // the partner wants pieces

	Hearing *hearing `json:"hearing,omitempty"`
	Telling *telling `json:"telling,omitempty"`
	Heard   *heard   `json:"heard,omitempty"` // of the last message
}

// A Line is one thing that was said.
type Line struct {
	Own          bool      `json:"own,omitempty"` // by this agent
	Text         string    `json:"text"`
	Time         time.Time `json:"time"`
	ID           uuid.UUID `json:"id"`
	Acknowledged bool      `json:"acknowledged,omitempty"` // by the partner, for own lines
}

// hearing is a stream that comes in.
type hearing struct {
	ID   uuid.UUID `json:"id"`
	Text string    `json:"text"`
	Last time.Time `json:"last"` // when a piece came
}

// telling is a stream that goes out, as far as it is committed.
type telling struct {
	ID   uuid.UUID `json:"id"`
	Turn string    `json:"turn"`
	Sent int       `json:"sent"`
}

const (
	maxLines = 200
	maxText  = 256 << 10 // of all lines of a session, in bytes
	maxHeard = 256 << 10 // of one stream that comes in

	maxSilence = 10 * time.Minute // in a stream that comes in
	keepIdle   = 30 * 24 * time.Hour
	keyPrefix  = "chat/"
)

func sessionKey(partner identity.Address, session string) string {
	return keyPrefix + string(partner) + "/" + session
}

// loadSession returns what is remembered of a session, or a new one.
func loadSession(ctx context.Context, t *parley.Turn, partner identity.Address) (s *Session, known bool, err error) {
	found, ok, err := parley.Load[Session](ctx, t, sessionKey(partner, t.Session))
	if err != nil || ok {
		return &found, ok, err
	}
	now := time.Now().UTC()
	return &Session{ID: t.Session, Partner: partner, Started: now, Last: now}, false, nil
}

func (s *Session) save(t *parley.Turn) error {
	return parley.Save(t, sessionKey(s.Partner, s.ID), s)
}

// add remembers a line and forgets the oldest ones that are too many.
func (s *Session) add(l Line) {
	l.Text = cut(l.Text, maxText)
	l.Time = l.Time.UTC()
	s.Last = l.Time
	s.Lines = append(s.Lines, l)
	size, first := 0, len(s.Lines)
	for first > 0 && size+len(s.Lines[first-1].Text) <= maxText && len(s.Lines)-first < maxLines {
		first--
		size += len(s.Lines[first].Text)
	}
	s.Lines = slices.Clone(s.Lines[first:])
}

// cut shortens a text to a number of bytes, between two characters.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "")
}

// Sessions lists the sessions that an agent remembers, the latest first, up to
// limit.
func Sessions(ctx context.Context, t *parley.Turn, limit int) ([]Session, error) {
	var all []Session
	err := eachSession(ctx, t, func(_ string, s Session) error {
		all = append(all, s)
		return nil
	})
	slices.SortFunc(all, func(a, b Session) int { return b.Last.Compare(a.Last) })
	return all[:min(limit, len(all))], err
}

func eachSession(ctx context.Context, t *parley.Turn, f func(key string, s Session) error) error {
	const page = 100
	for after := keyPrefix; ; {
		keys, err := t.Keys(ctx, keyPrefix, after, page)
		if err != nil {
			return err
		}
		for _, key := range keys {
			after = key
			s, ok, err := parley.Load[Session](ctx, t, key)
			if err == nil && ok {
				err = f(key, s)
			}
			if err != nil {
				return err
			}
		}
		if len(keys) < page {
			return nil
		}
	}
}

// forgetOld deletes sessions in which nothing was said for long. It looks at some
// each time: a turn that had read them all would be stale as soon as anybody speaks.
func (h *chatter) forgetOld(ctx context.Context, t *parley.Turn) error {
	const page = 100
	keys, err := t.Keys(ctx, keyPrefix, h.tidied, page)
	if err != nil {
		return err
	}
	h.tidied = ""
	if len(keys) == page {
		h.tidied = keys[page-1]
	}
	for _, key := range keys {
		s, ok, err := parley.Load[Session](ctx, t, key)
		if err != nil {
			return err
		}
		if ok && time.Since(s.Last) > keepIdle {
			t.Delete(key)
		}
	}
	return nil
}
