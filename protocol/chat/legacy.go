package chat

import (
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/spec"
)

// The older models. The uAgents example prints the chat protocol, version 0.2.1,
// with a slip: the end of a stream says "start-stream". Agents made from it are
// around, so the same handler serves them, and answers in the model that the
// partner used.

// The digests of the older versions: of the message as printed, and of the two
// protocols.
const (
	PrintedMessageDigest  = "model:3d36cd468c2b2f67cd032f39e75c40d4bf474b4d9e2eb7bde27296c337ad96d9"
	PrintedManifestDigest = "proto:ad1e2cfc0405e88e1a0f8c30a472f26916b0f5ba6c94b1d6d1c06e5ca3d98d93"
	MendedManifestDigest  = "proto:82e68ddc1afffdeb54166919c8c39372ad78d5a0bd88d496e6c4faa457c7627f"
)

// printedMessage is a ChatMessage as printed.
type printedMessage struct {
	_         struct{}         `parley:"name=ChatMessage"`
	Timestamp time.Time        `json:"timestamp"`
	MsgID     uuid.UUID        `json:"msg_id" parley:"uuid4"`
	Content   []printedContent `json:"content"`
}

type printedContent interface{ printed(printedContents) }

type printedContents = func(TextContent, ResourceContent, MetadataContent, StartSessionContent, EndSessionContent, StartStreamContent, printedEnd)

// printedEnd is an EndStreamContent as printed.
type printedEnd struct {
	_        struct{}  `parley:"name=EndStreamContent"`
	Type     string    `json:"type" parley:"literal=start-stream"`
	StreamID uuid.UUID `json:"stream_id" parley:"uuid4"`
}

func (TextContent) printed(printedContents)         {}
func (ResourceContent) printed(printedContents)     {}
func (MetadataContent) printed(printedContents)     {}
func (StartSessionContent) printed(printedContents) {}
func (EndSessionContent) printed(printedContents)   {}
func (StartStreamContent) printed(printedContents)  {}
func (printedEnd) printed(printedContents)          {}

func printedOf(m ChatMessage) printedMessage {
	p := printedMessage{Timestamp: m.Timestamp, MsgID: m.MsgID, Content: []printedContent{}}
	for _, content := range m.Content {
		switch content := content.(type) {
		case EndStreamContent:
			p.Content = append(p.Content, printedEnd{StreamID: content.StreamID})
		case printedContent:
			p.Content = append(p.Content, content)
		}
	}
	return p
}

// current reads a message as printed. hears is the stream that the partner has
// open: the end of it looks like another start.
func (p printedMessage) current(hears uuid.UUID) ChatMessage {
	m := ChatMessage{Timestamp: p.Timestamp, MsgID: p.MsgID}
	for _, content := range p.Content {
		switch content := content.(type) {
		case StartStreamContent:
			if content.StreamID == hears {
				m.Content = append(m.Content, EndStreamContent{StreamID: hears})
				hears = uuid.Nil
				continue
			}
			hears = content.StreamID
			m.Content = append(m.Content, content)
		case printedEnd: // cannot be told from a start, which is tried first
		case Content:
			m.Content = append(m.Content, content)
		}
	}
	return m
}

// MessageID is the name by which acknowledgements know the message.
func (p printedMessage) MessageID() string { return p.MsgID.String() }

// olderRules returns the protocols of version 0.2.1, which declare no replies: as
// printed, and with the slip mended.
func olderRules() (printed, mended *spec.Protocol, err error) {
	slipped, err := spec.FromGo[printedMessage]()
	if err != nil {
		return nil, nil, err
	}
	message, err := spec.FromGo[ChatMessage]()
	if err != nil {
		return nil, nil, err
	}
	ack, err := spec.FromGo[ChatAcknowledgement]()
	if err != nil {
		return nil, nil, err
	}
	rules := func(name string, m *spec.Record) *spec.Protocol {
		return &spec.Protocol{
			Name: name, Version: "0.2.1",
			Messages: []spec.Message{{Name: m.Name, Body: m}, {Name: ack.Name, Body: ack, Class: spec.Acknowledge}},
			Rules:    []spec.Rule{{Message: m.Name}, {Message: ack.Name}},
		}
	}
	return rules("AgentChatProtcol", slipped), rules("AgentChatProtocol", message), nil
}
