// Pythonpartner is a Go agent for the Python program beside it, partner.py: each
// asks the other.
//
//	go run ./examples/pythonpartner -listen 127.0.0.1:8010
//	python examples/pythonpartner/partner.py AGENT_ADDRESS http://127.0.0.1:8010
package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/run"
)

// Shout is a text to be made louder.
type Shout struct {
	Text string `json:"text"`
}

// Echo is the louder text.
type Echo struct {
	Text string `json:"text"`
}

func main() {
	loud := parley.NewAgent("loud", nil)
	parley.Handle(loud, func(_ context.Context, t *parley.Turn, in Shout) (Echo, error) {
		fmt.Printf("%s says %q\n", t.Sender, in.Text)
		return Echo{Text: strings.ToUpper(in.Text)}, nil
	})
	run.Main(loud)
}
