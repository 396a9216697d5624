package assistant_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/assistant"
	"github.com/parley-agents/parley/fault"
	prompts "github.com/parley-agents/parley/protocol/llm"
)

// A slow model makes many conversations wait at the same time, not one after the
// other.
func TestManyChatsWithASlowModel(t *testing.T) {
	const pause = 3 * time.Second
	p := newProxy(t)
	p.set(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(pause)
		p.pass.ServeHTTP(w, r)
	})
	friends := newFriends(t, count(50, 200))
	ai := meet(t, &assistant.Options{Model: p.usual(t, 8)}, friends...)

	began := time.Now()
	var all sync.WaitGroup
	for _, f := range friends {
		all.Go(func() {
			if answer := f.say(t, ai, uuid.NewString(), mention); answer == "" || strings.HasPrefix(answer, "An error") {
				t.Errorf("%s gets %q", f.Name(), answer)
			}
		})
	}
	all.Wait()
	took, sum := time.Since(began), time.Duration(len(friends))*pause
	t.Logf("%d chats in %s; one after the other at least %s", len(friends), took.Round(time.Millisecond), sum)
	if took > sum/5 {
		t.Errorf("%d chats took %s", len(friends), took)
	}
}

// Of ten prompts that each of many senders sends at the same time, six are
// answered and four refused: not one more or less.
func TestTheLimitIsExactUnderLoad(t *testing.T) {
	const senders, each, limit = 64, 10, 6
	friends := newFriends(t, senders)
	opts := &assistant.Options{}
	if os.Getenv("PARLEY_LONG") != "" { // the limit is the same whoever answers
		opts.Model = newProxy(t).usual(t, 2)
	}
	ai := meet(t, opts, friends...)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var answered, refused [senders]atomic.Int32
	var all sync.WaitGroup
	for i, f := range friends {
		for j := range each {
			all.Go(func() {
				response, err := parley.Ask[prompts.Response](ctx, f.Agent, ai.Address(), prompts.ContextPrompt{Text: fmt.Sprint("prompt ", j)})
				switch {
				case err == nil && response.Text != "":
					answered[i].Add(1)
				case fault.CodeOf(err) == fault.Refused && strings.Contains(err.Error(), "Rate limit exceeded for ContextPrompt. This handler allows for 6 calls per 60 minutes. Try again later."):
					refused[i].Add(1)
				default:
					t.Errorf("%s gets %+v, %v", f.Name(), response, err)
				}
			})
		}
	}
	all.Wait()
	for i := range friends {
		if a, r := answered[i].Load(), refused[i].Load(); a != limit || r != each-limit {
			t.Errorf("%s: %d answered and %d refused, want %d and %d", friends[i].Name(), a, r, limit, each-limit)
		}
	}
}
