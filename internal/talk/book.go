// Package talk is the inside of parley chat: it reads conversations out of the
// message log of a node, speaks in them, and shows them as lines. Package screen
// shows the same in a terminal.
package talk

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/protocol/chat"
)

// A State is how far something that was said has come.
type State uint8

// The states. Late is a message that was delivered and not acknowledged for
// [Patience]: it is never sent again for that.
const (
	Stored State = iota
	Delivered
	Acknowledged
	Late
	Failed
)

// Patience is how long an acknowledgement may take before a message is shown as
// unacknowledged.
const Patience = 30 * time.Second

// An Entry is one thing that was said, or a note about the conversation.
type Entry struct {
	Mine      bool
	Note      bool // said by nobody: Text tells what happened
	MsgID     uuid.UUID
	Time      time.Time
	Text      string
	Resources []Resource
	Metadata  map[string]string
	Stream    uuid.UUID // in which it came, if it did
	Open      bool      // the stream goes on
	Reason    string    // of the last failure

	state  State
	record string // ID in the log
}

// State returns how far an own entry has come.
func (e *Entry) State(now time.Time) State {
	if e.state == Delivered && now.Sub(e.Time) > Patience {
		return Late
	}
	return e.state
}

// A Resource is something that was attached; the number is its place in the
// session, from 1.
type Resource struct {
	Number int    `json:"number"`
	URI    string `json:"uri"`
	Type   string `json:"mime_type,omitempty"`
	Name   string `json:"name,omitempty"`

	// Metadata is all that the peer says about it.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// A Conversation is what was said in one session.
type Conversation struct {
	Session string
	Peer    identity.Address
	Entries []*Entry
	Last    time.Time
	Ended   bool // by the peer
	Unread  int  // entries since the reader looked; the reader sets it to 0

	resources []Resource
	visiting  bool // as a user: only one reply can come back
}

// Resource returns an attached resource by its number.
func (c *Conversation) Resource(number int) (Resource, bool) {
	if number < 1 || number > len(c.resources) {
		return Resource{}, false
	}
	return c.resources[number-1], true
}

// Streaming returns the entry that the peer is saying now, or nil.
func (c *Conversation) Streaming() *Entry {
	for _, e := range slices.Backward(c.Entries) {
		if e.Open && !e.Mine {
			return e
		}
	}
	return nil
}

const (
	maxConversations = 200
	maxEntries       = 2000
	maxResources     = 2000
	maxEntryText     = 256 << 10
)

// A Book holds the conversations of one agent. It is filled from the log, the
// oldest record first, and forgets the oldest conversations and entries when
// there are too many.
type Book struct {
	own           identity.Address
	conversations []*Conversation // in the order in which they began
}

// NewBook makes an empty book of an agent.
func NewBook(own identity.Address) *Book { return &Book{own: own} }

// Conversations lists all, in the order in which they began.
func (b *Book) Conversations() []*Conversation { return b.conversations }

// Find returns the conversation in a session, or nil.
func (b *Book) Find(session string) *Conversation {
	for _, c := range b.conversations {
		if c.Session == session {
			return c
		}
	}
	return nil
}

// Open returns the conversation in a session, begun if it is not there.
func (b *Book) Open(session string, peer identity.Address) *Conversation {
	if c := b.Find(session); c != nil {
		return c
	}
	if len(b.conversations) == maxConversations {
		b.conversations = slices.Delete(b.conversations, 0, 1)
	}
	c := &Conversation{Session: session, Peer: peer, visiting: b.own.IsUser()}
	b.conversations = append(b.conversations, c)
	return c
}

// An Event is something that happened in a conversation, as --json prints it.
type Event struct {
	Event     string            `json:"event"`
	Time      time.Time         `json:"time"`
	Session   string            `json:"session"`
	Peer      identity.Address  `json:"peer"`
	MsgID     string            `json:"msg_id,omitempty"`
	Text      string            `json:"text,omitempty"`
	Resources []Resource        `json:"resources,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
	Stream    string            `json:"stream,omitempty"`
	Reason    string            `json:"reason,omitempty"`
}

// The events. Said is a whole answer: one that came in pieces is said when the
// last has come, and each piece is a Piece before.
const (
	EventSent         = "sent"
	EventDelivered    = "delivered"
	EventRetried      = "retried"
	EventAcknowledged = "acknowledged"
	EventFailed       = "failed"
	EventSaid         = "said"
	EventPiece        = "piece"
	EventError        = "error"
	EventEnded        = "ended"
)

// Apply takes the next record of the log and returns what it means.
func (b *Book) Apply(r parley.LogRecord) []Event {
	if r.Agent != b.own || r.Message.Session == "" {
		return nil
	}
	outward := r.Message.From == b.own
	peer := r.Message.From
	if outward {
		peer = r.Message.To
	}
	known := isMessage(r.Message.Schema) || r.Message.Schema == ackSchema() || r.Message.Schema == parley.ErrorMessageDigest
	if !known {
		return nil
	}
	c := b.Find(r.Message.Session)
	if c == nil {
		if !isMessage(r.Message.Schema) {
			return nil // about what is not, or no longer, in the book
		}
		c = b.Open(r.Message.Session, peer)
	}
	event := Event{Time: r.Time.UTC(), Session: c.Session, Peer: peer}
	switch {
	case outward && r.Event == "sent" && isMessage(r.Message.Schema):
		return c.said(r, event)
	case outward:
		return c.outcome(r, event)
	case r.Event == "received":
		return c.received(r, event)
	case r.Event == "refused":
		return c.note(event, EventError, "something that cannot be read: "+CleanLine(r.Detail))
	}
	return nil
}

// said takes an own message.
func (c *Conversation) said(r parley.LogRecord, event Event) []Event {
	m, err := readMessage(r.Message.Payload)
	if err != nil {
		return nil
	}
	event.Event, event.MsgID = EventSent, m.MsgID.String()
	e := &Entry{Mine: true, MsgID: m.MsgID, Time: r.Time, Text: Clean(m.Text()), record: r.ID}
	for _, content := range m.Content {
		switch content := content.(type) {
		case chat.ResourceContent:
			e.Resources = append(e.Resources, c.attach(content)...)
		case chat.EndStreamContent:
			for _, open := range c.Entries {
				if !open.Mine && open.Open && open.Stream == content.StreamID {
					open.Reason = "interrupted"
				}
			}
		}
	}
	event.Text, event.Resources = e.Text, e.Resources
	if e.Text != "" || len(e.Resources) > 0 {
		c.add(e)
	}
	return []Event{event}
}

// outcome takes what became of an own message.
func (c *Conversation) outcome(r parley.LogRecord, event Event) []Event {
	e := c.find(func(e *Entry) bool { return e.Mine && e.record == r.ID })
	if e == nil {
		return nil
	}
	event.MsgID, event.Reason = e.MsgID.String(), CleanLine(r.Detail)
	switch r.Event {
	case "delivered":
		event.Event, e.Reason = EventDelivered, ""
		e.state = max(e.state, Delivered)
	case "retried":
		event.Event, e.Reason = EventRetried, event.Reason
	case "dead", "dropped":
		event.Event, e.Reason, e.state = EventFailed, event.Reason, Failed
	default:
		return nil
	}
	return []Event{event}
}

// MarkDelivered notes that the node says so: between agents of one node the log
// has no line for it.
func (c *Conversation) MarkDelivered(record string) {
	if e := c.find(func(e *Entry) bool { return e.Mine && e.record == record }); e != nil {
		e.state = max(e.state, Delivered)
	}
}

func (c *Conversation) received(r parley.LogRecord, event Event) []Event {
	switch r.Message.Schema {
	case ackSchema():
		ack, err := readAck(r.Message.Payload)
		if err != nil {
			return nil
		}
		event.Event, event.MsgID = EventAcknowledged, ack.AcknowledgedMsgID.String()
		if e := c.find(func(e *Entry) bool { return e.Mine && e.MsgID == ack.AcknowledgedMsgID }); e != nil {
			e.state, e.Reason = Acknowledged, ""
		}
		if c.visiting {
			c.visiting = false // told once
			c.add(&Entry{Note: true, Time: event.Time, Text: "acknowledged, and " + noMore})
		}
		return []Event{event}
	case parley.ErrorMessageDigest:
		var report struct {
			Error string `json:"error"`
		}
		_ = json.Unmarshal(r.Message.Payload, &report) // an empty report is one too
		return c.note(event, EventError, CleanLine(report.Error))
	}
	m, err := readMessage(r.Message.Payload)
	if err != nil {
		return c.note(event, EventError, "a message that cannot be read: "+CleanLine(err.Error()))
	}
	event.MsgID = m.MsgID.String()
	return c.hear(m, r.Time, event)
}

// noMore is why a user gets an acknowledgement and no answer.
const noMore = "nothing else can reach a user: only the first reply comes back on the connection"

// hear takes a message of the peer, content by content.
func (c *Conversation) hear(m chat.ChatMessage, at time.Time, event Event) (events []Event) {
	whole := &Entry{MsgID: m.MsgID, Time: at}
	var metadata map[string]string
	finish := func() {
		if whole.Text != "" || len(whole.Resources) > 0 || metadata != nil {
			said := event
			said.Event, said.Text, said.Resources, said.Metadata = EventSaid, whole.Text, whole.Resources, metadata
			events = append(events, said)
			whole.Metadata = metadata
			c.add(whole)
		}
		whole, metadata = &Entry{MsgID: m.MsgID, Time: at}, nil
	}
	for _, content := range m.Content {
		open := c.Streaming()
		switch content := content.(type) {
		case chat.TextContent:
			text := Clean(content.Text)
			if open == nil {
				whole.Text += text
				continue
			}
			if len(open.Text)+len(text) <= maxEntryText {
				open.Text += text
			}
			piece := event
			piece.Event, piece.Text, piece.Stream = EventPiece, text, open.Stream.String()
			events = append(events, piece)
		case chat.ResourceContent:
			into := whole
			if open != nil {
				into = open
			}
			into.Resources = append(into.Resources, c.attach(content)...)
		case chat.MetadataContent:
			metadata = cleanMap(content.Metadata)
		case chat.StartStreamContent:
			finish()
			if open != nil {
				events = append(events, c.close(open, event))
			}
			c.add(&Entry{MsgID: m.MsgID, Time: at, Stream: content.StreamID, Open: true})
		case chat.EndStreamContent:
			if open != nil && open.Stream == content.StreamID {
				events = append(events, c.close(open, event))
			}
		case chat.EndSessionContent:
			finish()
			c.Ended = true
			ended := event
			events = append(events, c.note(ended, EventEnded, "")...)
		case chat.StartSessionContent:
			c.Ended = false
		}
	}
	finish()
	return events
}

// close ends a stream: what came in pieces is said.
func (c *Conversation) close(e *Entry, event Event) Event {
	e.Open = false
	event.Event, event.Text, event.Resources, event.Stream, event.Reason = EventSaid, e.Text, e.Resources, e.Stream.String(), e.Reason
	return event
}

func (c *Conversation) note(event Event, kind, text string) []Event {
	event.Event, event.Reason = kind, text
	shown := "the peer reports an error: " + text
	if kind == EventEnded {
		shown = "the peer has ended the session"
	}
	c.add(&Entry{Note: true, Time: event.Time, Text: shown})
	return []Event{event}
}

func (c *Conversation) add(e *Entry) {
	if len(e.Text) > maxEntryText {
		e.Text = Clean(e.Text[:maxEntryText])
	}
	if len(c.Entries) == maxEntries {
		c.Entries = slices.Delete(c.Entries, 0, 1)
	}
	c.Entries = append(c.Entries, e)
	c.Last = e.Time
	if !e.Mine {
		c.Unread++
	}
}

func (c *Conversation) find(fits func(*Entry) bool) *Entry {
	for _, e := range slices.Backward(c.Entries) {
		if fits(e) {
			return e
		}
	}
	return nil
}

func (c *Conversation) attach(content chat.ResourceContent) []Resource {
	var all []chat.Resource
	switch attached := content.Resource.(type) {
	case chat.Resource:
		all = []chat.Resource{attached}
	case chat.Resources:
		all = attached
	}
	var added []Resource
	for _, r := range all {
		if len(c.resources) == maxResources {
			break
		}
		shown := Resource{
			Number: len(c.resources) + 1, URI: CleanLine(r.URI),
			Type: CleanLine(r.Metadata["mime_type"]), Name: CleanLine(r.Metadata["name"]), Metadata: cleanMap(r.Metadata),
		}
		c.resources = append(c.resources, shown)
		added = append(added, shown)
	}
	return added
}

func cleanMap(dirty map[string]string) map[string]string {
	if len(dirty) == 0 {
		return nil
	}
	clean := make(map[string]string, len(dirty))
	for key, value := range dirty {
		clean[CleanLine(key)] = CleanLine(value)
	}
	return clean
}

// MetadataLine is what is said about something, in one line; "" if nothing is.
func MetadataLine(metadata map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		parts = append(parts, key+": "+metadata[key])
	}
	line := []rune(strings.Join(parts, " · "))
	if len(line) > maxMetadata {
		return string(line[:maxMetadata]) + "…"
	}
	return string(line)
}

// About is what is said about a resource besides its label, in one line.
func (r Resource) About() string {
	rest := maps.Clone(r.Metadata)
	delete(rest, "mime_type") // the label has it
	return MetadataLine(rest)
}

// Label is a resource in a line of text.
func (r Resource) Label() string {
	uri := r.URI
	if len(uri) > maxLabel {
		uri = uri[:maxLabel] + "…"
	}
	label := "[" + strconv.Itoa(r.Number) + "] " + Clean(uri)
	if r.Type != "" {
		label += " (" + r.Type + ")"
	}
	return label
}

const (
	maxLabel    = 120
	maxMetadata = 300
)
