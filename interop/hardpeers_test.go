package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/wire/uagents"
)

// A Python agent is killed while messages are on their way, and comes back with
// the same seed on another port: what was sent meanwhile arrives there.
func TestAPythonAgentComesBackOnAnotherPort(t *testing.T) {
	t.Parallel()
	const n = 5
	answers := make(chan string, 100)
	sender := parley.NewAgent("sender", nil)
	parley.On(sender, func(_ context.Context, _ *parley.Turn, in EchoResponse) error {
		answers <- in.Text
		return nil
	})
	url := startNode(t, sender)
	first := startPeer(t, "rest_agent.py", url, "AGENT_SEED=comes back")
	at := first.started().Address
	waitRegistered(t, url, at)
	if _, err := parley.Ask[EchoResponse](t.Context(), sender, at, EchoRequest{Text: "before", Count: 1}); err != nil {
		t.Fatal(err)
	}
	first.kill()
	for range first.events { // until it is gone
	}
	var receipts []*parley.Receipt
	for i := range n {
		receipt, err := sender.Send(t.Context(), at, EchoRequest{Text: fmt.Sprint("meanwhile ", i), Count: 1})
		if err != nil {
			t.Fatal(err)
		}
		receipts = append(receipts, receipt)
	}
	second := startPeer(t, "rest_agent.py", url, "AGENT_SEED=comes back")
	if second.started().Address != at {
		t.Fatal("it is another agent")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, receipt := range receipts {
		if err := receipt.Wait(ctx); err != nil {
			t.Fatal(err)
		}
	}
	heard := map[string]int{}
	for range n {
		select {
		case text := <-answers:
			heard[text]++
		case <-ctx.Done():
			t.Fatalf("only these answers came: %v", heard)
		}
	}
	for i := range n {
		if heard[fmt.Sprint("meanwhile ", i)] != 1 {
			t.Errorf("the answers are %v", heard)
		}
	}
}

// register tells an Almanac where the agent of a key is.
func register(t *testing.T, almanac string, k *identity.Key, endpoints ...uagents.Endpoint) {
	t.Helper()
	r := &uagents.Registration{Identifier: "agent://" + string(k.Address()), Protocols: []string{}, Endpoints: endpoints, Metadata: json.RawMessage("{}")}
	if err := r.Sign(k, time.Now()); err != nil {
		t.Fatal(err)
	}
	body, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post(almanac+"/v1/almanac/agents", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("status %d", response.StatusCode)
	}
}

// Of an agent's endpoints one is dead, one belongs to another agent, one is no
// URL, and the right one weighs least: messages and questions arrive.
func TestOneOfManyEndpointsIsRight(t *testing.T) {
	t.Parallel()
	asker := parley.NewAgent("asker", nil)
	url := startNode(t, asker)
	other := startNode(t) // where the Python agents register
	bureau := startPeer(t, "bureau.py", other, "COUNT=1", "SEED_PREFIX=many endpoints ")
	wrong := startPeer(t, "rest_agent.py", other)
	at := bureau.started().Address
	wrong.started()
	k := seedKey(t, "many endpoints 0")
	if k.Address() != at {
		t.Fatalf("the bureau has %s", at)
	}
	endpoint := func(port, weight int) uagents.Endpoint {
		return uagents.Endpoint{URL: fmt.Sprintf("http://127.0.0.1:%d/submit", port), Weight: int64(weight)}
	}
	register(t, url, k, endpoint(freePort(t), 1<<62), endpoint(wrong.port, 1<<62), uagents.Endpoint{URL: "no URL", Weight: -1}, endpoint(bureau.port, 1))
	for range 3 {
		got, err := parley.Ask[EchoResponse](t.Context(), asker, at, EchoRequest{Text: "there?", Count: 2})
		if err != nil || got.Text != "there?" {
			t.Fatalf("Ask = %+v, %v", got, err)
		}
	}

	nowhere := seedKey(t, "nowhere")
	register(t, url, nowhere, uagents.Endpoint{URL: "ftp://127.0.0.1/submit", Weight: 1}, uagents.Endpoint{Weight: 1}, endpoint(freePort(t), 0))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := parley.Ask[EchoResponse](ctx, asker, nowhere.Address(), EchoRequest{Text: "there?"}); err == nil || fault.CodeOf(err) == fault.Internal {
		t.Errorf("an agent without an endpoint that works: %v", err)
	}
	if got, err := parley.Ask[EchoResponse](t.Context(), asker, at, EchoRequest{Text: "still?"}); err != nil || got.Text != "still?" {
		t.Errorf("afterwards: %+v, %v", got, err)
	}
}

// Many Go agents of one node ask one Python agent at the same time.
func TestManyGoAgentsAskOnePythonAgent(t *testing.T) {
	t.Parallel()
	var askers []*parley.Agent
	for i := range count(40, 200) {
		askers = append(askers, parley.NewAgent(fmt.Sprint("asker-", i), nil))
	}
	url := startNode(t, askers...)
	at := startPeer(t, "rest_agent.py", url).started().Address
	waitRegistered(t, url, at)
	var all sync.WaitGroup
	for i, a := range askers {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			text := fmt.Sprint("from ", i)
			if got, err := parley.Ask[EchoResponse](ctx, a, at, EchoRequest{Text: text, Count: i}); err != nil || got.Text != text || got.Count != i {
				t.Errorf("%s: %+v, %v", text, got, err)
			}
		})
	}
	all.Wait()
}
