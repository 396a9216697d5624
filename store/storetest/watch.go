package storetest

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
)

// patience is how long one call may take. It is only used up by stores that are
// broken.
var patience = 30 * time.Second

// watched ends the test when a call of the store does not return.
type watched struct {
	parley.Store
	t *testing.T
}

func watch(t *testing.T, s parley.Store) *watched { return &watched{s, t} }

func within[T any](w *watched, call string, f func() T) T {
	w.t.Helper()
	result := make(chan T, 1)
	go func() { result <- f() }()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r := <-result:
		return r
	case <-timer.C:
		w.t.Errorf("%s did not return within %v", call, patience)
		runtime.Goexit()
		panic("unreachable")
	}
}

// outcome is what most calls return.
type outcome[T any] struct {
	value T
	err   error
}

func both[T any](value T, err error) outcome[T] { return outcome[T]{value, err} }

func (w *watched) Commit(ctx context.Context, batches ...*parley.Batch) error {
	return within(w, "Commit", func() error { return w.Store.Commit(ctx, batches...) })
}

func (w *watched) Due(ctx context.Context, at time.Time, limit int) ([]parley.DueDialogue, error) {
	o := within(w, "Due", func() outcome[[]parley.DueDialogue] { return both(w.Store.Due(ctx, at, limit)) })
	return o.value, o.err
}

func (w *watched) Close() error {
	return within(w, "Close", w.Store.Close)
}

func (w *watched) Inbox(ctx context.Context, agent identity.Address, after int64, limit int) ([]parley.InboxEntry, error) {
	o := within(w, "Inbox", func() outcome[[]parley.InboxEntry] { return both(w.Store.Inbox(ctx, agent, after, limit)) })
	return o.value, o.err
}

func (w *watched) Waiting(ctx context.Context) ([]identity.Address, error) {
	o := within(w, "Waiting", func() outcome[[]identity.Address] { return both(w.Store.Waiting(ctx)) })
	return o.value, o.err
}

func (w *watched) Outbox(ctx context.Context, target identity.Address, after int64, limit int) ([]parley.OutboxEntry, error) {
	o := within(w, "Outbox", func() outcome[[]parley.OutboxEntry] { return both(w.Store.Outbox(ctx, target, after, limit)) })
	return o.value, o.err
}

func (w *watched) Targets(ctx context.Context) ([]identity.Address, error) {
	o := within(w, "Targets", func() outcome[[]identity.Address] { return both(w.Store.Targets(ctx)) })
	return o.value, o.err
}

func (w *watched) OutboxEntry(ctx context.Context, agent identity.Address, id string) (parley.OutboxEntry, error) {
	o := within(w, "OutboxEntry", func() outcome[parley.OutboxEntry] { return both(w.Store.OutboxEntry(ctx, agent, id)) })
	return o.value, o.err
}

func (w *watched) Replies(ctx context.Context, agent identity.Address, inbox string) ([]parley.OutboxEntry, error) {
	o := within(w, "Replies", func() outcome[[]parley.OutboxEntry] { return both(w.Store.Replies(ctx, agent, inbox)) })
	return o.value, o.err
}

func (w *watched) Dialogue(ctx context.Context, agent identity.Address, id string) (parley.DialogueRecord, error) {
	o := within(w, "Dialogue", func() outcome[parley.DialogueRecord] { return both(w.Store.Dialogue(ctx, agent, id)) })
	return o.value, o.err
}

func (w *watched) Get(ctx context.Context, agent identity.Address, key string) ([]byte, bool, error) {
	var ok bool
	o := within(w, "Get", func() outcome[[]byte] {
		value, found, err := w.Store.Get(ctx, agent, key)
		ok = found
		return both(value, err)
	})
	return o.value, ok, o.err
}

func (w *watched) Keys(ctx context.Context, agent identity.Address, prefix, after string, limit int) ([]string, error) {
	o := within(w, "Keys", func() outcome[[]string] { return both(w.Store.Keys(ctx, agent, prefix, after, limit)) })
	return o.value, o.err
}

func (w *watched) Dead(ctx context.Context, after int64, limit int) ([]parley.DeadLetter, error) {
	o := within(w, "Dead", func() outcome[[]parley.DeadLetter] { return both(w.Store.Dead(ctx, after, limit)) })
	return o.value, o.err
}

func (w *watched) Log(ctx context.Context, q parley.LogQuery) ([]parley.LogRecord, error) {
	o := within(w, "Log", func() outcome[[]parley.LogRecord] { return both(w.Store.Log(ctx, q)) })
	return o.value, o.err
}

func (w *watched) Trim(ctx context.Context, now, before time.Time) (bool, error) {
	o := within(w, "Trim", func() outcome[bool] { return both(w.Store.Trim(ctx, now, before)) })
	return o.value, o.err
}
