package talk_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/talk"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/spec"
)

const (
	me      = identity.Address("agent1me")
	peer    = identity.Address("agent1peer")
	session = "5f0f5f5e-7f58-4f6a-8c62-cf6cbb0c2f10"
	failed  = "model:94cb082f79871c5e80a20637f935d233f0ce11a135d5a3a3c6071e81102a84d5"
)

var (
	start  = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	stream = uuid.MustParse("11111111-1111-4111-8111-111111111111")
)

// A story is a log that is being written.
type story struct {
	t    *testing.T
	book *talk.Book
	seq  int64
}

func newStory(t *testing.T) *story { return &story{t: t, book: talk.NewBook(me)} }

var digests sync.Map // by type: they cost more than all else here

func digest[T any](t testing.TB) string {
	if known, ok := digests.Load(reflect.TypeFor[T]()); ok {
		return known.(string)
	}
	model, err := spec.FromGo[T]()
	if err != nil {
		t.Fatal(err)
	}
	text, err := spec.Digest(model)
	if err != nil {
		t.Fatal(err)
	}
	digests.Store(reflect.TypeFor[T](), text)
	return text
}

// record adds a line to the log and returns what it means, in short.
func (s *story) record(event, id string, from, to identity.Address, schema, payload, detail string) string {
	s.t.Helper()
	s.seq++
	var short []string
	for _, e := range s.book.Apply(parley.LogRecord{
		Seq: s.seq, Time: start.Add(time.Duration(s.seq) * time.Second), Agent: me, Event: event, ID: id, Detail: detail,
		Message: parley.Message{From: from, To: to, Session: session, Schema: schema, Payload: []byte(payload)},
	}) {
		if e.Session != session || e.Peer != peer {
			s.t.Errorf("an event of %s in %s", e.Peer, e.Session)
		}
		short = append(short, strings.TrimSpace(e.Event+" "+e.Text+e.Reason))
	}
	return strings.Join(short, "; ")
}

// contents are JSON, as peers write it.
func message(id uuid.UUID, contents ...string) string {
	return fmt.Sprintf(`{"timestamp": "2026-03-04T05:06:07Z", "msg_id": "%s", "content": [%s]}`, id, strings.Join(contents, ", "))
}

func text(s string) string {
	quoted, _ := json.Marshal(s)
	return `{"type": "text", "text": ` + string(quoted) + `}`
}

func (s *story) hears(contents ...string) string {
	s.t.Helper()
	return s.record("received", "in", peer, me, digest[chat.ChatMessage](s.t), message(uuid.New(), contents...), "")
}

func (s *story) says(id string, msgID uuid.UUID, what string) string {
	s.t.Helper()
	return s.record("sent", id, me, peer, digest[chat.ChatMessage](s.t), message(msgID, text(what)), "")
}

func (s *story) entries() []*talk.Entry { return s.book.Find(session).Entries }

// What was said is stored, then delivered, then acknowledged; a message that was
// taken over and not acknowledged is only shown so.
func TestStatesOfWhatWasSaid(t *testing.T) {
	s, id := newStory(t), uuid.New()
	check := func(got, want string, after time.Duration, state talk.State) {
		t.Helper()
		if got != want {
			t.Errorf("events %q, want %q", got, want)
		}
		if got := s.entries()[0].State(start.Add(after)); got != state {
			t.Errorf("state %d, want %d", got, state)
		}
	}
	check(s.says("m1", id, "hello"), "sent hello", time.Hour, talk.Stored)
	check(s.record("retried", "m1", me, peer, digest[chat.ChatMessage](t), "", "nobody listens"), "retried nobody listens", 0, talk.Stored)
	check(s.record("delivered", "m1", me, peer, digest[chat.ChatMessage](t), "", ""), "delivered", time.Second, talk.Delivered)
	check("", "", time.Hour, talk.Late)
	ack := fmt.Sprintf(`{"timestamp": "2026-03-04T05:06:07Z", "acknowledged_msg_id": "%s"}`, id)
	check(s.record("received", "a1", peer, me, digest[chat.ChatAcknowledgement](t), ack, ""), "acknowledged", time.Hour, talk.Acknowledged)
	check(s.record("delivered", "m1", me, peer, digest[chat.ChatMessage](t), "", ""), "delivered", time.Hour, talk.Acknowledged)

	s.says("m2", uuid.New(), "lost")
	if got := s.record("dead", "m2", me, peer, digest[chat.ChatMessage](t), "", "refused: 404"); got != "failed refused: 404" {
		t.Errorf("events %q", got)
	}
	if e := s.entries()[1]; e.State(start) != talk.Failed || e.Reason != "refused: 404" {
		t.Errorf("%+v", e)
	}
}

// Pieces grow in one entry, in whatever messages they come.
func TestStreams(t *testing.T) {
	begin := fmt.Sprintf(`{"type": "start-stream", "stream_id": "%s"}`, stream)
	end := fmt.Sprintf(`{"type": "end-stream", "stream_id": "%s"}`, stream)
	otherEnd := `{"type": "end-stream", "stream_id": "22222222-2222-4222-8222-222222222222"}`
	for _, tc := range []struct {
		name     string
		messages [][]string
		events   string
		entries  []string
	}{
		{"one message", [][]string{{begin, text("a"), text("b"), end}}, "piece a; piece b; said ab", []string{"ab"}},
		{"a message each", [][]string{{begin}, {text("a")}, {text("b")}, {end}}, "piece a; piece b; said ab", []string{"ab"}},
		{"something before and after", [][]string{{text("x"), begin, text("a")}, {end, text("y")}}, "said x; piece a; said a; said y", []string{"x", "a", "y"}},
		{"the end of another", [][]string{{begin, text("a")}, {otherEnd, text("b")}, {end}}, "piece a; piece b; said ab", []string{"ab"}},
		{"a second without an end of the first", [][]string{{begin, text("a")}, {strings.Replace(begin, "1111-", "2222-", 1), text("b")}}, "piece a; said a; piece b", []string{"a", "b"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStory(t)
			var events []string
			for _, contents := range tc.messages {
				if e := s.hears(contents...); e != "" {
					events = append(events, e)
				}
			}
			if got := strings.Join(events, "; "); got != tc.events {
				t.Errorf("events %q, want %q", got, tc.events)
			}
			var texts []string
			for _, e := range s.entries() {
				texts = append(texts, e.Text)
			}
			if got := strings.Join(texts, "|"); got != strings.Join(tc.entries, "|") {
				t.Errorf("entries %q, want %q", got, tc.entries)
			}
		})
	}
}

func TestWhatPeersAttachReportAndEnd(t *testing.T) {
	s := newStory(t)
	one := `{"type": "resource", "resource_id": "11111111-1111-4111-8111-111111111111", "resource": {"uri": "https://example.org/a.png", "metadata": {"mime_type": "image/png"}}}`
	two := `{"type": "resource", "resource_id": "11111111-1111-4111-8111-111111111111", "resource": [{"uri": "data:,x", "metadata": {}}, {"uri": "data:,y\u001b[2J", "metadata": {}}]}`
	s.hears(text("look"), one)
	s.hears(two)
	c := s.book.Find(session)
	for number, want := range []string{"", "[1] https://example.org/a.png (image/png)", "[2] data:,x", "[3] data:,y[2J", ""} {
		r, ok := c.Resource(number)
		if ok != (want != "") || ok && r.Label() != want {
			t.Errorf("resource %d: %q %v, want %q", number, r.Label(), ok, want)
		}
	}
	if got := s.record("received", "e", peer, me, failed, `{"error": "no \u001b[31mway"}`, ""); got != "error no [31mway" {
		t.Errorf("events %q", got)
	}
	if got := s.hears(`{"type": "end-session"}`); got != "ended" || !c.Ended {
		t.Errorf("events %q", got)
	}
	if got := s.hears(`{"type": "metadata", "metadata": {"a": "b"}}`); got != "said" || len(c.Entries) != 5 {
		t.Errorf("events %q, %d entries", got, len(c.Entries))
	}
	if got := s.record("received", "x", peer, me, digest[chat.ChatMessage](t), `{"content": 5}`, ""); !strings.HasPrefix(got, "error a message that cannot be read") {
		t.Errorf("events %q", got)
	}
	if got := s.record("received", "x", peer, me, digest[chat.ChatMessage](t), `{"content": [{"text": "without type, time and id"}]}`, ""); got != "said without type, time and id" {
		t.Errorf("events %q", got)
	}
	if got := s.record("received", "x", peer, me, "model:other", `{}`, ""); got != "" {
		t.Errorf("another protocol's message is %q", got)
	}
}

// What is said about a message or a resource is one line, in an order that does
// not change, and as harmless as text.
func TestMetadata(t *testing.T) {
	s := newStory(t)
	s.hears(text("look"), `{"type": "resource", "resource_id": "11111111-1111-4111-8111-111111111111", "resource": {"uri": "data:,x", "metadata": {"mime_type": "text/plain", "role": "proof", "name": "a\u001b[2J.txt"}}}`,
		`{"type": "metadata", "metadata": {"mood": "good", "colour": "green\nred"}}`)
	e := s.entries()[0]
	if got := talk.MetadataLine(e.Metadata); got != "colour: green red · mood: good" {
		t.Errorf("about the message: %q", got)
	}
	if got := e.Resources[0].About(); got != "name: a[2J.txt · role: proof" {
		t.Errorf("about the resource: %q", got)
	}
	if got := talk.MetadataLine(map[string]string{"long": strings.Repeat("x", 1000)}); len([]rune(got)) != 301 {
		t.Errorf("%d characters of metadata", len([]rune(got)))
	}
	if got := talk.MetadataLine(nil); got != "" {
		t.Errorf("nothing is %q", got)
	}
}

func TestABookForgetsTheOldest(t *testing.T) {
	s := newStory(t)
	for i := range 2100 {
		s.hears(text(fmt.Sprint(i)))
	}
	if e := s.entries(); len(e) != 2000 || e[0].Text != "100" || e[1999].Text != "2099" {
		t.Errorf("%d entries from %s", len(e), e[0].Text)
	}
	for i := range 300 {
		s.book.Open(fmt.Sprint(i), peer)
	}
	if c := s.book.Conversations(); len(c) != 200 || c[199].Session != "299" {
		t.Errorf("%d conversations", len(c))
	}
}

func FuzzHear(f *testing.F) {
	f.Add(message(stream, text("a")))
	f.Add(message(stream, `{"type": "start-stream", "stream_id": "11111111-1111-4111-8111-111111111111"}`, text("\x1b[2J")))
	f.Add(message(stream, `{"type": "resource", "resource_id": "11111111-1111-4111-8111-111111111111", "resource": {"uri": "\u009b", "metadata": {"mime_type": "\r"}}}`))
	schema := digest[chat.ChatMessage](f)
	f.Fuzz(func(t *testing.T, payload string) {
		b := talk.NewBook(me)
		for range 2 {
			for _, e := range b.Apply(parley.LogRecord{Agent: me, Event: "received", Message: parley.Message{From: peer, To: me, Session: session, Schema: schema, Payload: []byte(payload)}}) {
				for _, shown := range []string{e.Text, e.Reason} {
					harmless(t, shown)
				}
				for _, r := range e.Resources {
					harmless(t, r.Label())
					harmless(t, r.URI+r.Name+r.Type)
				}
			}
		}
	})
}
