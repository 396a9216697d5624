package run_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/run"
)

type (
	Question struct {
		Text string `json:"text"`
	}
	Reply struct {
		Text string `json:"text"`
	}
)

// serve runs a node on a free port until the test ends.
func serve(t *testing.T, opts run.Options, agents ...*parley.Agent) (url string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	started, done := make(chan string, 1), make(chan error, 1)
	opts.Started = func(url string) { started <- url }
	if opts.Data == "" {
		opts.Data = t.TempDir()
	}
	if opts.Listen == "" {
		opts.Listen = "127.0.0.1:0"
	}
	go func() { done <- run.Run(ctx, &opts, agents...) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the node ended with %v", err)
		}
	})
	select {
	case url = <-started:
	case err := <-done:
		done <- nil
		t.Fatal(err)
	case <-time.After(20 * time.Second):
		t.Fatal("the node does not start")
	}
	return url
}

// Two nodes that know only an Almanac find each other, also when the Almanac
// comes last: a node does not wait for it.
func TestU16NodesFindEachOtherThroughAnAlmanacThatComesLate(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	almanac := "http://" + address + "/v1/almanac"
	asker, answerer := parley.NewAgent("asker", nil), parley.NewAgent("answerer", nil)
	parley.Handle(answerer, func(_ context.Context, _ *parley.Turn, in Question) (Reply, error) { return Reply(in), nil })
	serve(t, run.Options{Almanac: almanac}, answerer)
	serve(t, run.Options{Almanac: almanac}, asker)

	serve(t, run.Options{Listen: address}, parley.NewAgent("registry", nil))

	deadline, cancel := context.WithTimeout(t.Context(), 25*time.Second)
	defer cancel()
	got, err := parley.Ask[Reply](deadline, asker, answerer.Address(), Question{"there?"})
	if err != nil || got.Text != "there?" {
		t.Errorf("Ask = %+v, %v", got, err)
	}
}
