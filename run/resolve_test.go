package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/run"
)

// A running node learns where an agent is, and what waited for it goes out.
func TestARunningNodeIsToldWhereAnAgentIs(t *testing.T) {
	far := parley.NewAgent("far", nil)
	parley.Handle(far, func(_ context.Context, _ *parley.Turn, in Question) (Reply, error) { return Reply(in), nil })
	farURL := serve(t, run.Options{}, far)
	near := parley.NewAgent("near", nil)
	data := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	started, done := make(chan string, 1), make(chan error, 1)
	go func() {
		done <- run.Run(ctx, &run.Options{Data: data, Listen: "127.0.0.1:0", Started: func(url string) { started <- url }}, near)
	}()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	<-started
	control, err := run.ReadControl(data)
	if err != nil {
		t.Fatal(err)
	}
	tell := func(at run.Place) (int, string) {
		body, _ := json.Marshal(at)
		request, _ := http.NewRequest("POST", control.URL+"/parley/v1/resolve", bytes.NewReader(body))
		request.Header.Set("authorization", "Bearer "+control.Token)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(text)
	}

	for _, wrong := range []run.Place{{}, {Address: far.Address()}, {Address: far.Address(), URL: "far"}, {Address: far.Address(), URL: "file:///etc/passwd"}, {Address: "far", URL: farURL}} {
		if status, text := tell(wrong); status != http.StatusBadRequest || !strings.Contains(text, `"code":"malformed"`) {
			t.Errorf("%+v: %d %s", wrong, status, text)
		}
	}
	if status, text := tell(run.Place{Address: far.Address(), URL: farURL + "/submit"}); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	if got, err := parley.Ask[Reply](t.Context(), near, far.Address(), Question{Text: "there?"}); err != nil || got.Text != "there?" {
		t.Errorf("Ask = %+v, %v", got, err)
	}
}
