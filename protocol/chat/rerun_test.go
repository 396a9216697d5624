package chat_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/store/memory"
)

// A question that came as a stream is answered, also when the handler is run again
// after it has flushed something.
func TestAStreamedQuestionIsAnsweredByTheSecondRun(t *testing.T) {
	bob, alice := newAgent(t, "bob"), newFriend(t, "alice")
	var runs atomic.Int32
	chat.Handle(bob, func(ctx context.Context, c *chat.Turn) error {
		if err := c.Flush(ctx); err != nil {
			return err
		}
		if runs.Add(1) == 1 {
			return parley.RetryAfter(time.Millisecond) // or the process is killed here
		}
		return echo(ctx, c)
	}, nil)
	host(t, memory.New(), bob, alice.Agent)
	session, id := uuid.NewString(), uuid.New()
	alice.say(t, session, bob, chat.StartStreamContent{StreamID: id}, text("one two"))
	alice.say(t, session, bob, chat.EndStreamContent{StreamID: id})
	select {
	case m := <-alice.heard:
		if m.Text() != "0: one two" {
			t.Errorf("answer %q", m.Text())
		}
	case <-time.After(3 * time.Second):
		t.Errorf("no answer; the handler ran %d times", runs.Load())
	}
}

func TestALineIsRememberedOnce(t *testing.T) {
	bob, alice := newAgent(t, "bob"), newFriend(t, "alice")
	var runs atomic.Int32
	chat.Handle(bob, func(ctx context.Context, c *chat.Turn) error {
		if err := c.Flush(ctx); err != nil {
			return err
		}
		if runs.Add(1) == 1 {
			return parley.RetryAfter(time.Millisecond)
		}
		return c.Say(fmt.Sprintf("%d lines before", len(c.Lines())))
	}, nil)
	host(t, memory.New(), bob, alice.Agent)
	alice.say(t, uuid.NewString(), bob, text("hello"))
	if m := within(t, "the answer", alice.heard); m.Text() != "0 lines before" {
		t.Errorf("answer %q", m.Text())
	}
}

func TestAStrangerDoesNotCancelAStream(t *testing.T) {
	bob, alice, eve := newAgent(t, "bob"), newFriend(t, "alice"), newFriend(t, "eve")
	ended := make(chan error, 1)
	chat.Handle(bob, func(ctx context.Context, c *chat.Turn) error {
		return c.Stream(ctx, func(ctx context.Context, say func(string) error) error {
			_ = say("once upon a time")
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
			ended <- context.Cause(ctx)
			return context.Cause(ctx)
		})
	}, &chat.Options{Stream: true})
	host(t, memory.New(), bob, alice.Agent, eve.Agent)
	alice.say(t, uuid.NewString(), bob, text("tell me a story"))
	start := within(t, "the first piece", alice.heard).Content[0].(chat.StartStreamContent)
	eve.say(t, uuid.NewString(), bob, chat.EndStreamContent{StreamID: start.StreamID})
	if err := within(t, "the end", ended); errors.Is(err, chat.ErrCancelled) {
		t.Error("a stranger has cancelled the stream")
	}
}
