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

// chatter acknowledges each message and answers it, if it has an answer.
func chatter(name string, answer func(text string) string) *parley.Agent {
	a := parley.NewAgent(name, nil)
	parley.Handle(a, func(_ context.Context, t *parley.Turn, in chat.ChatMessage) (chat.ChatAcknowledgement, error) {
		fmt.Printf("%s hears %q\n", name, in.Text())
		if reply := answer(in.Text()); reply != "" {
			return chat.Acknowledge(in), t.Send(t.Sender, chat.Text(reply))
		}
		return chat.Acknowledge(in), nil
	})
	parley.On(a, func(_ context.Context, _ *parley.Turn, _ chat.ChatAcknowledgement) error {
		fmt.Printf("%s is acknowledged\n", name)
		return nil
	})
	return a
}

func main() {
	bob := chatter("bob", func(text string) string { return "You said: " + text })
	alice := chatter("alice", func(string) string { return "" })
	alice.OnStart(func(_ context.Context, t *parley.Turn) error { return t.Send(bob.Address(), chat.Text("Hello, Bob")) })
	run.Main(alice, bob)
}
