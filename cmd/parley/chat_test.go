package main

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/run"
)

// chatty is a program with an agent to chat with, beside the agent of a person.
func chatty() {
	a := parley.NewAgent("chatty", nil)
	parley.On(a, chatter, parley.Confirm(chat.Acknowledge))
	parley.On(a, func(context.Context, *parley.Turn, chat.ChatAcknowledgement) error { return nil })
	run.Main(a, chat.NewPerson("you"))
}

// chatter answers what the scripts need.
func chatter(_ context.Context, t *parley.Turn, in chat.ChatMessage) error {
	say := func(contents ...chat.Content) error {
		return t.Send(t.Sender, chat.ChatMessage{Timestamp: time.Now(), MsgID: uuid.New(), Content: contents})
	}
	switch text := in.Text(); text {
	case "", "silence":
		return nil
	case "piecewise":
		id := uuid.New()
		for _, contents := range [][]chat.Content{
			{chat.StartStreamContent{StreamID: id}, chat.TextContent{Text: "one "}},
			{chat.TextContent{Text: "two "}},
			{chat.TextContent{Text: "three"}, chat.EndStreamContent{StreamID: id}},
		} {
			if err := say(contents...); err != nil {
				return err
			}
		}
		return nil
	case "picture":
		return say(chat.ResourceContent{ResourceID: uuid.New(), Resource: chat.Resource{
			URI: "data:text/plain;base64,aGVsbG8=", Metadata: map[string]string{"mime_type": "text/plain"},
		}})
	case "escape":
		return say(chat.TextContent{Text: "\x1b]0;owned\x07\x1b[2Jred\u009b31m"})
	default:
		return say(chat.TextContent{Text: "You said: " + strings.ToUpper(text)})
	}
}
