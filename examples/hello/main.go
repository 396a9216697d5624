// Hello is a whole agent: it greets whoever tells it a name.
//
//	go run ./examples/hello
package main

import (
	"context"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/run"
)

// Greet asks for a greeting.
type Greet struct {
	Name string `json:"name"`
}

// Greeting is the answer.
type Greeting struct {
	Text string `json:"text"`
}

func main() {
	hello := parley.NewAgent("hello", nil)
	parley.Handle(hello, func(_ context.Context, t *parley.Turn, in Greet) (Greeting, error) {
		t.Log.Info("greeted", "by", t.Sender)
		return Greeting{Text: "Hello, " + in.Name}, nil
	})
	run.Main(hello)
}
