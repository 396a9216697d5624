package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/run"
)

// Order asks for an error, by its code.
type Order struct {
	Code string `json:"code"`
}

// A client of a route learns from the status what it can do about an error.
func TestErrorsOfRoutesHaveTheStatusOfTheirCode(t *testing.T) {
	a := parley.NewAgent("shop", nil)
	parley.HandlePost(a, "/order", func(_ context.Context, _ *parley.Turn, in Order) (Order, error) {
		switch in.Code {
		case "":
			return in, nil
		case "plain":
			return in, errors.New("the secret is XYZZY")
		}
		return in, parley.Errorf(fault.Code(in.Code), "no")
	})
	ctx, cancel := context.WithCancel(t.Context())
	started, done := make(chan string, 1), make(chan error, 1)
	go func() {
		done <- run.Run(ctx, &run.Options{Data: t.TempDir(), Listen: "127.0.0.1:0", Started: func(url string) { started <- url }}, a)
	}()
	var url string
	select {
	case url = <-started:
	case err := <-done:
		t.Fatal(err)
	}
	for code, want := range map[fault.Code]struct {
		status int
		body   string
	}{
		"":                {200, `{"code": ""}`},
		fault.Malformed:   {400, `{"loc": ["__root__"], "msg": "no", "type": "value_error"}`},
		fault.Forbidden:   {403, `{"error": "no"}`},
		fault.NotFound:    {404, `{"error": "no"}`},
		fault.Conflict:    {409, `{"error": "no"}`},
		fault.Expired:     {410, `{"error": "no"}`},
		fault.TooLarge:    {413, `{"error": "no"}`},
		fault.Refused:     {422, `{"error": "no"}`},
		fault.Internal:    {500, "Internal Server Error"},
		"plain":           {500, "Internal Server Error"},
		fault.Unavailable: {503, `{"error": "no"}`},
	} {
		body, err := json.Marshal(Order{string(code)})
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.Post(url+"/order", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != want.status || string(text) != want.body {
			t.Errorf("%q: %d %s (%v), want %d %s", code, response.StatusCode, text, err, want.status, want.body)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
