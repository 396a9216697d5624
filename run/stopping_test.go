package run_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/run"
)

// Somebody who follows the log does not hold up a node that is to stop.
func TestFollowersDoNotHoldUpTheEnd(t *testing.T) {
	data := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	started, done := make(chan string, 1), make(chan error, 1)
	opts := &run.Options{Data: data, Listen: "127.0.0.1:0", Started: func(url string) { started <- url }}
	go func() { done <- run.Run(ctx, opts, parley.NewAgent("quiet", nil)) }()
	select {
	case <-started:
	case err := <-done:
		t.Fatal(err)
	}
	control, err := run.ReadControl(data)
	if err != nil {
		t.Fatal(err)
	}
	following := make(chan int, 1)
	go func() {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, control.URL+"/parley/v1/log?wait=25s", nil)
		if err != nil {
			t.Error(err)
			return
		}
		request.Header.Set("authorization", "Bearer "+control.Token)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Error(err)
			following <- 0
			return
		}
		response.Body.Close()
		following <- response.StatusCode
	}()
	select {
	case status := <-following:
		t.Fatalf("the follower got %d and does not wait", status)
	case <-time.After(2 * time.Second):
	}
	began := time.Now()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 9*time.Second {
		t.Errorf("the node took %s to stop", took)
	}
	if status := <-following; status != http.StatusOK {
		t.Errorf("the follower got %d", status)
	}
}
