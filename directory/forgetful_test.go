package directory_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-agents/parley/directory"
	"github.com/parley-agents/parley/store/memory"
)

// An Almanac that comes back without its memory is told again, and not only in an
// hour.
func TestAnAlmanacThatForgotIsToldAgain(t *testing.T) {
	var current atomic.Pointer[directory.Almanac]
	fresh := func() *directory.Almanac {
		a := directory.NewAlmanac(memory.New(), nil, nil)
		current.Store(a)
		return a
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { current.Load().ServeHTTP(w, r) }))
	defer server.Close()
	first, agent := fresh(), announcement(key(t, "a"))
	client := directory.NewClient(server.URL + "/v1/almanac")
	client.ProbeEvery(20 * time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		client.Announce(ctx, []directory.Announcement{agent}, nil, slog.New(slog.DiscardHandler))
	}()
	defer func() { cancel(); <-done }()
	knows := func(a *directory.Almanac) func() bool {
		return func() bool {
			_, err := a.Resolve(t.Context(), agent.Agent.Address)
			return err == nil
		}
	}
	eventually(t, "the agent is known", knows(first))
	eventually(t, "the agent is known again", knows(fresh()))
}
