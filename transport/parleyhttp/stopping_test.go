package parleyhttp_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/transport/parleyhttp/replay"
)

func TestNotReadyWhileStopping(t *testing.T) {
	transport := open(t, nil)
	transport.Attach(newFakeHost(&replay.File{Agent: "agent1alpha"}, ""))
	entered, let := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- transport.Serve(ctx, func(context.Context, parley.Frame) (parley.Frame, error) {
			close(entered)
			<-let
			return parley.Frame{}, nil
		})
	}()
	head := "HEAD /submit HTTP/1.1\r\nhost: x\r\nx-uagents-address: agent1alpha\r\n\r\n"
	before := dial(t, transport)
	_, _ = io.WriteString(before, head)
	ready, err := http.ReadResponse(bufio.NewReader(before), &http.Request{Method: "HEAD"})
	if err != nil || ready.Header.Get("x-uagents-status") != "ready" {
		t.Fatalf("%v, %v, want ready", ready, err)
	}
	_, _ = io.WriteString(dial(t, transport), message("{}"))
	await(t, entered)
	waiting := dial(t, transport) // open, and silent
	time.Sleep(20 * time.Millisecond)

	cancel()
	time.Sleep(20 * time.Millisecond)
	_, _ = io.WriteString(waiting, head)

	answer, err := http.ReadResponse(bufio.NewReader(waiting), &http.Request{Method: "HEAD"})
	if err != nil || answer.Header.Get("x-uagents-status") != "not-ready" {
		t.Errorf("%v, %v, want not-ready", answer, err)
	}
	close(let)
	if err := await(t, served); err != nil {
		t.Error(err)
	}
}
