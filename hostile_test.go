package parley_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/wire/uagents"
)

// Weights come from whoever registers; none of them stops the node.
func TestWeightsOfAStrangerHarmNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bob := answering(t, "bob")
	w.start("b", nil, bob)
	alice := agent(t, "alice")
	w.start("a", &parley.NodeOptions{Resolver: parley.ResolverFunc(func(ctx context.Context, a identity.Address) ([]parley.Endpoint, error) {
		known, err := w.Resolve(ctx, a)
		if err != nil {
			return nil, err
		}
		url := known[0].URL
		return []parley.Endpoint{{URL: "nowhere:x", Weight: math.MaxInt}, {URL: url, Weight: math.MaxInt}, {URL: url, Weight: math.MinInt}, {URL: url}}, nil
	})}, alice)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for range 5 {
		if got, err := parley.Ask[Pong](ctx, alice, bob.Address(), Ping{"hi"}); err != nil || got.Text != "pong:hi" {
			t.Fatalf("Ask = %+v, %v", got, err)
		}
	}
}

// Who waits on a connection with the key of an agent of the node itself gets what
// the peer says then: the reply went to the agent.
func TestACallerWithTheKeyOfALocalAgentIsAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bob := answering(t, "bob")
	w.start("b", nil, bob)
	soon := func(d *uagents.Draft) { d.Expires = uint64(time.Now().Add(3 * time.Second).Unix()) }
	frame, err := w.post("b", sealed(t, key(t, "bob"), bob.Address(), digestOf[Ping](t), `{"text": "me?"}`, soon), true)
	if err != nil {
		t.Fatal(err)
	}
	if got := replyText(t, frame); !contains(got, "Query envelope expired") {
		t.Errorf("the caller gets %q", got)
	}
}
