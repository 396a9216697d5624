package directory_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/directory"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/wire/uagents"
)

func announcement(k *identity.Key) directory.Announcement {
	return directory.Announcement{Key: k, Agent: parley.AgentInfo{
		Address: k.Address(), Protocols: []string{"proto:1"}, Endpoints: []parley.Endpoint{{URL: "http://127.0.0.1:9/submit", Weight: 3}},
	}}
}

// announce runs Announce until stop is called.
func announce(url string, agents ...directory.Announcement) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		directory.NewClient(url).Announce(ctx, agents, nil, slog.New(slog.DiscardHandler))
	}()
	return func() { cancel(); <-done }
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: it never was", what)
		}
	}
}

func TestAnnouncedAgentsAreFoundUntilTheyAreGone(t *testing.T) {
	for name, seeds := range map[string][]string{"one": {"a"}, "several": {"a", "b", "c"}} {
		t.Run(name, func(t *testing.T) {
			url, almanac := open(t)
			var all []directory.Announcement
			for _, seed := range seeds {
				all = append(all, announcement(key(t, seed)))
			}

			stop := announce(url, all...)

			for _, a := range all {
				eventually(t, a.Agent.Name+" is found", func() bool {
					found, err := almanac.Resolve(t.Context(), a.Agent.Address)
					return err == nil && len(found) == 1 && found[0] == a.Agent.Endpoints[0]
				})
			}
			stop()
			found, err := almanac.Find(t.Context(), "proto:1", 10)
			if err != nil || len(found) != 0 {
				t.Errorf("agents that are gone are found: %v, %v", found, err)
			}
		})
	}
}

// U19: each registration is signed when it is sent, also after failures.
func TestU19RegistrationsAreSignedAfresh(t *testing.T) {
	var tries atomic.Int32
	stamps := make(chan int64, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/agents" {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		reg, err := uagents.DecodeRegistration(body)
		if err != nil {
			t.Error(err)
			return
		}
		if err := reg.Verify(identity.NewVerifier(nil)); err != nil {
			t.Error(err)
		}
		stamps <- reg.Timestamp
		if tries.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	defer announce(server.URL, announcement(key(t, "a")))()

	first := <-stamps
	<-stamps
	third := <-stamps
	if third <= first {
		t.Errorf("signed at %d and, after two failures, at %d", first, third)
	}
}
