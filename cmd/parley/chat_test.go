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
	chat.Handle(a, chatter, nil)
	run.Main(a, chat.NewPerson("you"))
}

// chatter answers what the scripts need.
func chatter(ctx context.Context, c *chat.Turn) error {
	send := func(contents ...chat.Content) error {
		return c.Send(chat.ChatMessage{Timestamp: time.Now(), MsgID: uuid.New(), Content: contents})
	}
	switch text := c.Text(); text {
	case "", "silence":
		return nil
	case "piecewise": // whether it was asked for or not
		id := uuid.New()
		for _, contents := range [][]chat.Content{
			{chat.StartStreamContent{StreamID: id}, chat.TextContent{Text: "one "}},
			{chat.TextContent{Text: "two "}},
			{chat.TextContent{Text: "three"}, chat.EndStreamContent{StreamID: id}},
		} {
			if err := send(contents...); err != nil {
				return err
			}
		}
		return nil
	case "story": // comes in pieces and does not end
		return c.Stream(ctx, func(ctx context.Context, say func(string) error) error {
			for _, piece := range []string{"Once ", "upon ", "a ", "time"} {
				if err := say(piece); err != nil {
					return err
				}
				time.Sleep(150 * time.Millisecond)
			}
			<-ctx.Done()
			return ctx.Err()
		})
	case "markdown":
		return c.Say("# Facts\n\n- **bold** and *leaning*\n- `code` and [a link](https://example.org)\n\n```\nfor {\n}\n```\n")
	case "picture":
		return send(chat.ResourceContent{ResourceID: uuid.New(), Resource: chat.Resource{
			URI: "data:text/plain;base64,aGVsbG8=", Metadata: map[string]string{"mime_type": "text/plain"},
		}})
	case "escape":
		return c.Say("\x1b]0;owned\x07\x1b[2Jred\u009b31m")
	default:
		return c.Say("You said: " + strings.ToUpper(text))
	}
}
