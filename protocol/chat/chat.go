// Package chat holds the messages of the uAgents chat protocol, version 0.3.0.
//
// Two agents hold a conversation in one session: a message, its acknowledgement,
// an answer, its acknowledgement.
package chat

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/spec"
)

// ChatMessage is what agents say to each other.
type ChatMessage struct {
	Timestamp time.Time `json:"timestamp"`
	MsgID     uuid.UUID `json:"msg_id" parley:"uuid4"`
	Content   []Content `json:"content"`
}

// ChatAcknowledgement confirms a ChatMessage.
type ChatAcknowledgement struct {
	Timestamp         time.Time         `json:"timestamp"`
	AcknowledgedMsgID uuid.UUID         `json:"acknowledged_msg_id" parley:"uuid4"`
	Metadata          map[string]string `json:"metadata,omitempty"`
}

// Content is one part of a message.
type Content interface{ content(contents) }

type contents = func(TextContent, ResourceContent, MetadataContent, StartSessionContent, EndSessionContent, StartStreamContent, EndStreamContent)

// TextContent is text.
type TextContent struct {
	Type string `json:"type" parley:"literal=text"`
	Text string `json:"text"`
}

// A Resource is something that is elsewhere.
type Resource struct {
	URI      string            `json:"uri"`
	Metadata map[string]string `json:"metadata"` // such as mime_type and role
}

// Resources are several.
type Resources []Resource

// Attached is one [Resource] or several [Resources].
type Attached interface {
	attached(func(Resource, Resources))
}

// ResourceContent attaches resources.
type ResourceContent struct {
	Type       string    `json:"type" parley:"literal=resource"`
	ResourceID uuid.UUID `json:"resource_id" parley:"uuid4"`
	Resource   Attached  `json:"resource"`
}

// MetadataContent says things about the conversation.
type MetadataContent struct {
	Type     string            `json:"type" parley:"literal=metadata"`
	Metadata map[string]string `json:"metadata"`
}

// StartSessionContent opens a conversation.
type StartSessionContent struct {
	Type string `json:"type" parley:"literal=start-session"`
}

// EndSessionContent closes a conversation.
type EndSessionContent struct {
	Type string `json:"type" parley:"literal=end-session"`
}

// StartStreamContent says that what follows is one text in pieces.
type StartStreamContent struct {
	Type     string    `json:"type" parley:"literal=start-stream"`
	StreamID uuid.UUID `json:"stream_id" parley:"uuid4"`
}

// EndStreamContent ends the pieces.
type EndStreamContent struct {
	Type     string    `json:"type" parley:"literal=end-stream"`
	StreamID uuid.UUID `json:"stream_id" parley:"uuid4"`
}

func (TextContent) content(contents)                 {}
func (ResourceContent) content(contents)             {}
func (MetadataContent) content(contents)             {}
func (StartSessionContent) content(contents)         {}
func (EndSessionContent) content(contents)           {}
func (StartStreamContent) content(contents)          {}
func (EndStreamContent) content(contents)            {}
func (Resource) attached(func(Resource, Resources))  {}
func (Resources) attached(func(Resource, Resources)) {}

// Text makes a message of text, as of now.
func Text(text string) ChatMessage {
	return ChatMessage{Timestamp: time.Now(), MsgID: uuid.New(), Content: []Content{TextContent{Text: text}}}
}

// Text returns all text of the message, joined without anything between.
func (m ChatMessage) Text() string {
	var b strings.Builder
	for _, c := range m.Content {
		if t, ok := c.(TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// Acknowledge confirms a message, as of now.
func Acknowledge(m ChatMessage) ChatAcknowledgement {
	return ChatAcknowledgement{Timestamp: time.Now(), AcknowledgedMsgID: m.MsgID}
}

// MessageID is the name by which acknowledgements know the message.
func (m ChatMessage) MessageID() string { return m.MsgID.String() }

// Confirms names the message that is acknowledged.
func (a ChatAcknowledgement) Confirms() string { return a.AcknowledgedMsgID.String() }

// Rules returns the protocol as data.
func Rules() (*spec.Protocol, error) {
	message, err := spec.FromGo[ChatMessage]()
	if err != nil {
		return nil, err
	}
	ack, err := spec.FromGo[ChatAcknowledgement]()
	if err != nil {
		return nil, err
	}
	return &spec.Protocol{
		Name: "AgentChatProtocol", Version: "0.3.0",
		Messages: []spec.Message{
			{Name: message.Name, Body: message}, {Name: ack.Name, Body: ack, Class: spec.Acknowledge},
		},
		Rules: []spec.Rule{{Message: message.Name, Replies: []string{ack.Name}}, {Message: ack.Name}},
	}, nil
}
