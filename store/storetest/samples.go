package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

// A store does not look into addresses, so readable ones do.
const (
	alice identity.Address = "agent1alice"
	bob   identity.Address = "agent1bob"
	carol identity.Address = "agent1carol"
	nell  identity.Address = "agent1nell" // never committed anything
)

const many = 1000 // a limit that no test reaches

// noon is a time long ago, as a store must keep it: to the microsecond.
var noon = time.Date(2024, 5, 17, 12, 0, 0, 123456000, time.UTC)

func message(from, to identity.Address, n int) parley.Message {
	return parley.Message{
		From: from, To: to,
		Session:  fmt.Sprintf("session-%d", n),
		Schema:   "model:1c2bc5f9d0ad2f2b3e0b4d1f0e2a9c8b7a6f5e4d3c2b1a09f8e7d6c5b4a39281",
		Protocol: "proto:a03398ea81d7aaaf67e72940937676eae0d019f8e1d8b5efbadfef9fd2e98bb2",
		Payload:  fmt.Appendf(nil, `{"n": %d}`, n),
		Proof:    parley.Signed,
		Expires:  noon.Add(time.Duration(n) * time.Minute),
		Sync:     n%2 == 1,
	}
}

func inbound(id string, n int) parley.InboxEntry {
	return parley.InboxEntry{ID: id, Dialogue: fmt.Sprintf("dialogue-%d", n), Message: message(bob, alice, n)}
}

func outbound(id string, to identity.Address, n int) parley.OutboxEntry {
	return parley.OutboxEntry{
		ID: id, Dialogue: fmt.Sprintf("dialogue-%d", n), Message: message(alice, to, n),
		Sealed: fmt.Appendf(nil, "sealed %d", n), Deadline: noon.Add(time.Hour),
	}
}

func mark(id string) parley.Mark {
	return parley.Mark{ID: id, Inbox: "inbox of " + id, Expires: noon.Add(time.Hour)}
}

func record(event string, n int) parley.LogRecord {
	return parley.LogRecord{Time: noon.Add(time.Duration(n) * time.Second), Event: event, ID: fmt.Sprint(n), Message: message(bob, alice, n), Detail: "as it happened"}
}

func letter(id string, n int) parley.DeadLetter {
	return parley.DeadLetter{
		Time: noon.Add(time.Duration(n) * time.Second), Inbound: n%2 == 0, ID: id, Message: message(alice, bob, n),
		Code: fault.Unknown, Reason: "the line went dead",
	}
}

// full is a batch with something of everything, all of it named after name.
func full(agent identity.Address, name string) *parley.Batch {
	return &parley.Batch{
		Agent:     agent,
		Marks:     []parley.Mark{mark(name)},
		Inbox:     []parley.InboxEntry{inbound(name, 1)},
		Outbox:    []parley.OutboxEntry{reply(name, name)},
		Bury:      []parley.DeadLetter{letter(name, 2)},
		Dialogues: []parley.DialogueRecord{{ID: name, Version: 1, State: []byte("open")}},
		Set:       []parley.KeyValue{{Key: name, Value: []byte("value")}},
		Log:       []parley.LogRecord{record(name, 3)},
	}
}

func reply(id, inbox string) parley.OutboxEntry {
	e := outbound(id, bob, 4)
	e.InReply = inbox
	return e
}

// commit fails the test if the store refuses the batch.
func commit(t *testing.T, s parley.Store, b *parley.Batch) {
	t.Helper()
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatalf("Commit = %v, want nil", err)
	}
}

// applied says how much of a [full] batch is there: "all", "nothing" or what is.
func applied(t *testing.T, s parley.Store, agent identity.Address, name string) string {
	t.Helper()
	ctx := t.Context()
	parts := map[string]bool{}
	for _, e := range must(s.Inbox(ctx, agent, 0, many))(t) {
		parts["inbox"] = parts["inbox"] || e.ID == name
	}
	_, err := s.OutboxEntry(ctx, agent, name)
	parts["outbox"] = err == nil
	parts["replies"] = len(must(s.Replies(ctx, agent, name))(t)) > 0
	for _, d := range must(s.Dead(ctx, 0, many))(t) {
		parts["dead"] = parts["dead"] || d.ID == name && d.Agent == agent
	}
	parts["dialogue"] = must(s.Dialogue(ctx, agent, name))(t).Version > 0
	_, ok, err := s.Get(ctx, agent, name)
	parts["value"] = ok && err == nil
	for _, r := range must(s.Log(ctx, parley.LogQuery{Agent: agent, Limit: many}))(t) {
		parts["log"] = parts["log"] || r.Event == name
	}
	var there, missing []string
	for part, ok := range parts {
		if ok {
			there = append(there, part)
		} else {
			missing = append(missing, part)
		}
	}
	slices.Sort(there)
	slices.Sort(missing)
	switch {
	case len(missing) == 0:
		return "all"
	case len(there) == 0:
		return "nothing"
	}
	return fmt.Sprintf("only %v, not %v", there, missing)
}

// must returns a value, or ends the test with the error that came with it.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatalf("%T: %v, want no error", value, err)
		}
		return value
	}
}

// same compares what a store returned with what it was given. Seq is the store's
// own and not compared.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	g, w := normal(got), normal(want)
	if !reflect.DeepEqual(g, w) {
		t.Errorf("%s:\n got %+v\nwant %+v", what, g, w)
	}
}

// normal returns a copy without the differences that mean nothing: the zone of a
// time, an empty slice for nil, the Seq.
func normal(v any) any {
	c := reflect.New(reflect.TypeOf(v)).Elem()
	c.Set(reflect.ValueOf(v))
	normalise(c)
	return c.Interface()
}

func normalise(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if at, ok := v.Interface().(time.Time); ok {
			v.Set(reflect.ValueOf(at.UTC().Round(0)))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).Name == "Seq" {
				v.Field(i).SetZero()
			}
			normalise(v.Field(i))
		}
	case reflect.Slice:
		if v.Len() == 0 {
			v.SetZero()
			return
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(c, v)
		v.Set(c)
		if v.Type().Elem().Kind() == reflect.Struct {
			for i := range v.Len() {
				normalise(v.Index(i))
			}
		}
	}
}

func wantCode(t *testing.T, what string, err error, want parley.Code) {
	t.Helper()
	if got := fault.CodeOf(err); err == nil || got != want {
		t.Errorf("%s = %v (code %q), want an *Error with code %q", what, err, got, want)
	}
}

func wantSeen(t *testing.T, err error, want parley.Mark) {
	t.Helper()
	seen, ok := errors.AsType[*parley.SeenError](err)
	if !ok {
		t.Fatalf("Commit = %v, want a *SeenError", err)
	}
	same(t, "the mark in the error", seen.Mark, want)
}

// ids returns the IDs of entries, in their order.
func ids[T parley.InboxEntry | parley.OutboxEntry | parley.DeadLetter | parley.LogRecord](entries []T) []string {
	found := []string{}
	for _, e := range entries {
		found = append(found, reflect.ValueOf(e).FieldByName("ID").String())
	}
	return found
}

func wantIDs(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}
