// Package chat holds the messages of the uAgents chat protocol, version 0.3.0.
//
// Two agents hold a conversation in one session: a message, its acknowledgement,
// an answer, its acknowledgement.
package chat

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// Content is one part of a message.
type Content = AgentContent

// Attached is one [Resource] or several [Resources].
type Attached = ResourceContentResource

// Resources are several.
type Resources = ResourceContentResourceList

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
