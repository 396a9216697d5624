// Chatpair is two agents that hold the four-message conversation of the uAgents
// chat protocol in one session: message, acknowledgement, answer,
// acknowledgement.
//
//	go run ./examples/chatpair
package main

import (
	"context"
	"fmt"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/run"
)

// chatter answers what it hears, if it has an answer. Acknowledging is not its
// business: every message is acknowledged before it is heard.
func chatter(name string, answer func(text string) string) *parley.Agent {
	a := parley.NewAgent(name, nil)
	chat.Handle(a, func(_ context.Context, c *chat.Turn) error {
		fmt.Printf("%s hears %q\n", name, c.Text())
		if reply := answer(c.Text()); reply != "" {
			return c.Say(reply)
		}
		return nil
	}, &chat.Options{OnAcknowledged: func(context.Context, *parley.Turn, chat.ChatAcknowledgement) error {
		fmt.Printf("%s is acknowledged\n", name)
		return nil
	}})
	return a
}

func main() {
	bob := chatter("bob", func(text string) string { return "You said: " + text })
	alice := chatter("alice", func(string) string { return "" })
	alice.OnStart(func(ctx context.Context, t *parley.Turn) error {
		c, err := chat.With(ctx, t, bob.Address())
		if err != nil {
			return err
		}
		return c.Say("Hello, Bob")
	})
	run.Main(alice, bob)
}
