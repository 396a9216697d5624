package talk_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/talk"
	"github.com/parley-agents/parley/run"
)

// A faltering node keeps what it was told, and breaks off as it is told to.
type faltering struct {
	records []parley.LogRecord
	gone    int  // calls of Log that fail
	cut     bool // Send stores, and the connection breaks before the reply
	told    chan struct{}
}

var errBroken = errors.New("the connection broke")

func (n *faltering) Send(_ context.Context, r run.Request) (run.Reply, error) {
	id := uuid.NewString()
	n.records = append(n.records, parley.LogRecord{Seq: int64(len(n.records) + 1), Agent: me, Event: "sent", ID: id, Time: time.Now(), Message: parley.Message{
		From: me, To: r.To, Session: r.Session, Schema: r.Schema, Payload: r.Payload,
	}})
	if n.cut {
		n.cut = false
		return run.Reply{}, errBroken
	}
	return run.Reply{ID: id, Session: r.Session, State: "stored"}, nil
}

func (n *faltering) Log(ctx context.Context, q parley.LogQuery, wait time.Duration) ([]parley.LogRecord, error) {
	if n.gone > 0 {
		n.gone--
		return nil, errBroken
	}
	if q.Last {
		return n.records, nil
	}
	i := slices.IndexFunc(n.records, func(r parley.LogRecord) bool { return r.Seq > q.After })
	if i >= 0 {
		return n.records[i : i+1], nil
	}
	if wait > 0 { // nothing more will come
		close(n.told)
		<-ctx.Done()
	}
	return nil, nil
}

// A node that goes and comes back is followed from where it was: nothing is left
// out, nothing comes twice.
func TestAttend(t *testing.T) {
	n := &faltering{told: make(chan struct{})}
	s := &talk.Speaker{Node: n, Own: me}
	c := talk.NewBook(me).Open(session, peer)
	for _, text := range []string{"one", "two", "three"} {
		if _, err := s.Say(t.Context(), c, text, false, 0); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	var seen []int64
	lost, found := 0, 0
	go func() {
		defer close(ended)
		s.Attend(ctx, 1, func(r parley.LogRecord) {
			if seen = append(seen, r.Seq); r.Seq == 2 {
				n.gone = 3
			}
		}, func(err error) {
			if lost++; !errors.Is(err, errBroken) {
				t.Errorf("lost with %v", err)
			}
		}, func() { found++ })
	}()
	<-n.told
	cancel()
	<-ended
	if !slices.Equal(seen, []int64{2, 3}) || lost != 1 || found != 1 {
		t.Errorf("records %v, lost %d and found %d times, want 2, 3, once and once", seen, lost, found)
	}
}

// What the node has stored is not said again, even if it could not say so.
func TestUtterAgain(t *testing.T) {
	n := &faltering{told: make(chan struct{})}
	s := &talk.Speaker{Node: n, Own: me}
	c := talk.NewBook(me).Open(session, peer)
	stored, never := s.Compose("stored", true), s.Compose("never", false)
	n.cut = true
	_, err := s.Utter(t.Context(), c, stored, 0)
	if !talk.IsGone(err) {
		t.Fatalf("a broken connection is not told from an answer: %v", err)
	}
	for _, u := range []talk.Utterance{stored, never, stored, never} {
		if _, err := s.UtterAgain(t.Context(), c, u, 0); err != nil {
			t.Fatal(err)
		}
	}
	if len(n.records) != 2 {
		t.Errorf("%d messages were said, want 2", len(n.records))
	}
}

func TestIsGone(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{context.Canceled, false},
		{errBroken, true},
		{fault.Errorf(fault.NotFound, "data", "no node is running"), true},
		{fault.Errorf(fault.NotFound, "from", "the node has no such agent"), false},
		{fault.Errorf(fault.TooLarge, "", "too long"), false},
	} {
		if got := talk.IsGone(tc.err); got != tc.want {
			t.Errorf("IsGone(%v) = %v, want %v", tc.err, got, tc.want)
		}
	}
}
