package chat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

// Options change how an agent chats. Nil means the defaults.
type Options struct {
	// Stream lets [Turn.Stream] send pieces to everybody. Without it only
	// partners get pieces that have streamed or asked for it themselves.
	Stream bool

	// AllowUnsigned lets users chat, who do not sign. They get the
	// acknowledgement; answers reach only agents.
	AllowUnsigned bool

	// OnStart and OnEnd run when a partner starts or ends a session.
	OnStart, OnEnd func(context.Context, *Turn) error

	// OnAcknowledged runs when a partner acknowledges something.
	OnAcknowledged func(context.Context, *parley.Turn, ChatAcknowledgement) error

	// PublishManifest tells the directory about the protocol.
	PublishManifest bool
}

// WantsStream is the key of a [MetadataContent] by which a partner asks for an
// answer in pieces: {"stream": "true"}.
const WantsStream = "stream"

// Handle lets an agent chat: f is run for everything that a partner says. It is
// acknowledged before that, whatever f does and however long it takes. An error
// of f is told to the partner: an [*parley.Error] in its own words, any other with
// the number of the message only; details go to the log.
//
// Partners of the older versions of the protocol are served as well.
func Handle(a *parley.Agent, f func(context.Context, *Turn) error, opts *Options) {
	h := &chatter{handle: f}
	if opts != nil {
		h.opts = *opts
	}
	printedRules, mendedRules, err := olderRules()
	if err != nil {
		panic(err) // the types are fixed
	}
	current, printed, mended := parley.NewProtocol(Rules()), parley.NewProtocol(printedRules), parley.NewProtocol(mendedRules)
	var who []parley.HandlerOption
	if h.opts.AllowUnsigned {
		who = append(who, parley.AllowUnsigned())
	}
	parley.On(parley.Together(current, mended), h.take, append(who, parley.Mend(Mend), parley.Confirm(Acknowledge), parley.Notice(h.streams.hear))...)
	parley.On(printed, h.takePrinted, append(who, parley.Confirm(acknowledgePrinted), parley.Notice(h.hearPrinted))...)
	parley.On(parley.Together(current, mended, printed), h.acknowledged, append(who, parley.Mend(MendAcknowledgement))...)
	a.Include(current, &parley.Include{PublishManifest: h.opts.PublishManifest, Role: RoleAgent})
	for _, p := range []*parley.Protocol{mended, printed} {
		a.Include(p, &parley.Include{PublishManifest: h.opts.PublishManifest})
	}
	a.Every(time.Minute, h.forgetOld)
}

// A chatter is the chat of one agent.
type chatter struct {
	opts    Options
	handle  func(context.Context, *Turn) error
	streams streams
	tidied  string // the key after which old sessions are looked for next
}

func acknowledgePrinted(p printedMessage) ChatAcknowledgement {
	return ChatAcknowledgement{Timestamp: time.Now(), AcknowledgedMsgID: p.MsgID}
}

func (h *chatter) hearPrinted(from identity.Address, session string, p printedMessage) {
	for _, content := range p.Content {
		if end, ok := content.(StartStreamContent); ok { // or the end of one, if it is ours
			h.streams.hear(from, session, ChatMessage{Content: []Content{EndStreamContent{StreamID: end.StreamID}}})
		}
	}
}

func (h *chatter) takePrinted(ctx context.Context, t *parley.Turn, p printedMessage) error {
	s, known, err := loadSession(ctx, t, t.Sender)
	if err != nil {
		return err
	}
	hears := uuid.Nil
	if s.Hearing != nil {
		hears = s.Hearing.ID
	}
	s.Printed = true
	return h.serve(ctx, t, s, known, p.current(hears))
}

func (h *chatter) take(ctx context.Context, t *parley.Turn, m ChatMessage) error {
	s, known, err := loadSession(ctx, t, t.Sender)
	if err != nil {
		return err
	}
	s.Printed = false
	return h.serve(ctx, t, s, known, m)
}

// serve notes what a message says and lets the author's function answer it.
func (h *chatter) serve(ctx context.Context, t *parley.Turn, s *Session, known bool, m ChatMessage) error {
	c := &Turn{Turn: t, Message: m, session: s, streams: &h.streams, always: h.opts.Stream}
	again := s.Heard != nil && s.Heard.Turn == t.ID // an earlier run has flushed
	if !again {
		s.Heard = &heard{Turn: t.ID}
		s.hear(m, s.Heard)
	}
	heard := *s.Heard
	c.text = heard.Text
	if (heard.Starts || !known) && !again {
		if err := h.run(ctx, c, h.opts.OnStart); err != nil {
			return err
		}
	}
	if heard.Something && !again {
		s.add(Line{Text: heard.Text, Time: time.Now(), ID: m.MsgID})
	}
	if err := s.save(t); err != nil {
		return err
	}
	if heard.Something {
		if err := h.answer(ctx, c); err != nil {
			return err
		}
	}
	if heard.Ends {
		return h.run(ctx, c, h.opts.OnEnd)
	}
	return nil
}

func (h *chatter) run(ctx context.Context, c *Turn, f func(context.Context, *Turn) error) error {
	if f == nil {
		return nil
	}
	return f(ctx, c)
}

// answer runs the author's function; what goes wrong becomes a text.
func (h *chatter) answer(ctx context.Context, c *Turn) error {
	err := h.handle(ctx, c)
	if err == nil || ctx.Err() != nil || parley.IsRetry(err) {
		return err
	}
	coded, ok := errors.AsType[*fault.Error](err)
	if ok && coded.Code != fault.Internal {
		c.Log.Info("a chat message is answered with an error", "error", err)
		return c.Say("An error occurred: " + coded.Text)
	}
	c.Log.Error("a chat message cannot be answered", "error", err)
	return c.Say(fmt.Sprintf("An error occurred: something went wrong here (message %s)", c.ID))
}

func (h *chatter) acknowledged(ctx context.Context, t *parley.Turn, in ChatAcknowledgement) error {
	if h.opts.OnAcknowledged != nil {
		if err := h.opts.OnAcknowledged(ctx, t, in); err != nil {
			return err
		}
	}
	s, known, err := loadSession(ctx, t, t.Sender)
	if err != nil || !known {
		return err
	}
	for i := range s.Lines {
		if l := &s.Lines[i]; l.Own && l.ID == in.AcknowledgedMsgID && !l.Acknowledged {
			l.Acknowledged = true
			return s.save(t)
		}
	}
	t.Log.Debug("an acknowledgement of nothing that is known", "message", in.AcknowledgedMsgID)
	return nil
}

// heard is what a message says. It is kept with the session, because a handler that
// has flushed and is run again must hear the same.
type heard struct {
	Turn      string `json:"turn"`
	Text      string `json:"text,omitempty"`
	Something bool   `json:"something,omitempty"` // to be answered
	Starts    bool   `json:"starts,omitempty"`
	Ends      bool   `json:"ends,omitempty"`
}

// hear notes what a message says about the session itself, and what else it says. A
// partner who dies in the middle of a stream never ends it: what came of it counts as
// said when the partner starts anew or speaks again after a long silence.
func (s *Session) hear(m ChatMessage, h *heard) {
	now := time.Now().UTC()
	if s.Hearing != nil && now.Sub(s.Hearing.Last) > maxSilence {
		if s.heardOut(h); h.Text != "" {
			h.Text += "\n"
		}
	}
	for _, content := range m.Content {
		switch content := content.(type) {
		case TextContent:
			if s.Hearing != nil {
				s.Hearing.Text, s.Hearing.Last = cut(s.Hearing.Text+content.Text, maxHeard), now
				continue
			}
			h.Text += content.Text
			h.Something = true
		case ResourceContent:
			h.Something = true
		case MetadataContent:
			if content.Metadata[WantsStream] == "true" {
				s.Streams = true
			}
			if _, wish := content.Metadata[WantsStream]; !wish || len(content.Metadata) > 1 {
				h.Something = true
			}
		case StartSessionContent:
			s.heardOut(h)
			s.Ended, h.Starts = false, true
		case EndSessionContent:
			s.heardOut(h)
			s.Ended, h.Ends = true, true
		case StartStreamContent:
			s.Streams = true
			if s.Hearing == nil || s.Hearing.ID != content.StreamID { // else it is said twice
				s.heardOut(h)
				s.Hearing = &hearing{ID: content.StreamID, Last: now}
			}
		case EndStreamContent:
			if s.Hearing != nil && s.Hearing.ID == content.StreamID {
				s.heardOut(h)
			}
		}
	}
}

// heardOut takes what came of the open stream, if there is one, as said.
func (s *Session) heardOut(h *heard) {
	if s.Hearing == nil {
		return
	}
	h.Text += s.Hearing.Text
	h.Something = h.Something || s.Hearing.Text != ""
	s.Hearing = nil
}
