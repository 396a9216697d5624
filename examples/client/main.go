// Client is the client agent of the uAgents examples: every ten seconds it sends
// three prompts to the AI agent and prints what comes back.
//
//	go run ./examples/client -data client -listen 127.0.0.1:8001 -resolve ADDRESS=http://127.0.0.1:8000/submit
//
// ADDRESS is that of the AI agent; the default is the one of examples/assistant.
// PEER_ADDRESS names another one, PERIOD (such as 2s) another time. CHAT=printed is
// for an agent that knows the chat protocol only as the example prints it.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/protocol/chat"
	prompts "github.com/parley-agents/parley/protocol/llm"
	"github.com/parley-agents/parley/run"
)

const brokenCode = `
def count():
    for i in range(3)
        print(i)
`

type Location struct {
	City        string  `json:"city"`
	Country     string  `json:"country"`
	Temperature float64 `json:"temperature"`
}

func main() {
	peer, err := identity.ParseAddress(cmp.Or(os.Getenv("PEER_ADDRESS"), "agent1q09xe6rk6lqcnchdrkcn92ma4wlmjyty3v2yzxlxdx4jylq2fcfa2rv458x"))
	check(err)
	period, err := time.ParseDuration(cmp.Or(os.Getenv("PERIOD"), "10s"))
	check(err)
	weather, err := prompts.Structured[Location]("What is the weather like in Lisbon?")
	check(err)

	client := parley.NewAgent("client", nil)
	client.Every(period, func(ctx context.Context, t *parley.Turn) error {
		c, err := chat.With(ctx, t, peer)
		if err != nil {
			return err
		}
		if os.Getenv("CHAT") == "printed" {
			c.AsPrinted()
		}
		if err := t.Send(peer, prompts.ContextPrompt{Context: "Name the syntax error in this code and repair it", Text: brokenCode}); err != nil {
			return err
		}
		if err := t.Send(peer, weather); err != nil {
			return err
		}
		return c.Say("Which river flows through Lisbon?")
	})
	parley.On(client, func(_ context.Context, _ *parley.Turn, in prompts.Response) error {
		fmt.Println("response:", in.Text)
		return nil
	})
	parley.On(client, func(_ context.Context, _ *parley.Turn, in prompts.StructuredOutputResponse) error {
		var place Location
		if err := in.Into(&place); err != nil {
			return err
		}
		fmt.Printf("weather: %+v\n", place)
		return nil
	})
	parley.On(client, func(_ context.Context, _ *parley.Turn, in parley.ErrorMessage) error {
		fmt.Println("error:", in.Error)
		return nil
	})
	chat.Handle(client, func(_ context.Context, c *chat.Turn) error {
		fmt.Println("chat:", c.Text())
		return nil
	}, &chat.Options{OnAcknowledged: func(_ context.Context, _ *parley.Turn, in chat.ChatAcknowledgement) error {
		fmt.Println("acknowledged:", in.AcknowledgedMsgID)
		return nil
	}})
	run.Main(client)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
