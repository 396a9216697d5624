package screen

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
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
)

// A screenTest is a screen without a terminal and without a node: what it wants
// to send is only looked at. The tests in cmd/parley drive the real thing.
type screenTest struct {
	*testing.T
	m *model
}

func newScreen(t *testing.T, width, height int) *screenTest {
	s := &screenTest{t, newModel(t.Context(), Options{
		Speaker: &talk.Speaker{Own: me}, Book: talk.NewBook(me), Session: session, Peer: peer, Names: map[identity.Address]string{peer: "bob"},
	})}
	s.do(tea.WindowSizeMsg{Width: width, Height: height})
	return s
}

func (s *screenTest) do(msg tea.Msg) (cmd tea.Cmd) {
	_, cmd = s.m.Update(msg)
	return cmd
}

// press presses keys by their names; others are typed as text.
func (s *screenTest) press(keys ...string) (cmd tea.Cmd) {
	named := map[string]tea.Key{
		"enter": {Code: tea.KeyEnter}, "alt+enter": {Code: tea.KeyEnter, Mod: tea.ModAlt}, "esc": {Code: tea.KeyEscape},
		"up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown}, "f1": {Code: tea.KeyF1},
		"ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+d": {Code: 'd', Mod: tea.ModCtrl}, "ctrl+n": {Code: 'n', Mod: tea.ModCtrl},
	}
	for _, k := range keys {
		if key, ok := named[k]; ok {
			cmd = s.do(tea.KeyPressMsg(key))
			continue
		}
		for _, r := range k {
			cmd = s.do(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
	return cmd
}

func (s *screenTest) shows() string {
	return blanks.ReplaceAllString(plain([]string{s.m.View().Content}), "")
}

var blanks = regexp.MustCompile(`(?m) +$`)

func (s *screenTest) want(text string) {
	s.Helper()
	if !strings.Contains(s.shows(), text) {
		s.Errorf("no %q on the screen:\n%s", text, s.shows())
	}
}

func (s *screenTest) never(text string) {
	s.Helper()
	if strings.Contains(s.shows(), text) {
		s.Errorf("%q on the screen:\n%s", text, s.shows())
	}
}

func schema[T any](t *testing.T) string {
	t.Helper()
	model, err := spec.FromGo[T]()
	if err != nil {
		t.Fatal(err)
	}
	text, err := spec.Digest(model)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (s *screenTest) hears(contents string) {
	s.Helper()
	s.log("received", peer, me, contents)
}

func (s *screenTest) log(event string, from, to identity.Address, contents string) {
	s.Helper()
	s.do(parley.LogRecord{Agent: me, Event: event, Time: time.Now(), ID: uuid.NewString(), Message: parley.Message{
		From: from, To: to, Session: s.m.current.Session, Schema: schema[chat.ChatMessage](s.T),
		Payload: fmt.Appendf(nil, `{"timestamp": "2026-03-04T05:06:07Z", "msg_id": "%s", "content": [%s]}`, uuid.NewString(), contents),
	}})
}

const streamBegins = `{"type": "start-stream", "stream_id": "11111111-1111-4111-8111-111111111111"}`

func TestEnterSaysItAndAltEnterIsANewLine(t *testing.T) {
	s := newScreen(t, 60, 20)
	if s.press("one", "alt+enter", "two"); s.m.input.Value() != "one\ntwo" {
		t.Errorf("the input has %q", s.m.input.Value())
	}
	s.want("> one")
	s.want("> two")
	if s.press("enter") == nil || s.m.input.Value() != "" || len(s.m.begun) != 1 {
		t.Errorf("nothing was said, or %q is left", s.m.input.Value())
	}
	s.press(`three\`, "enter", "four")
	if s.m.input.Value() != "three\nfour" {
		t.Errorf("the input has %q", s.m.input.Value())
	}
	s.press("enter")
	if s.press("   ", "enter") != nil {
		t.Error("blanks were said")
	}
	if len(s.m.begun) != 1 {
		t.Errorf("%d sessions were begun", len(s.m.begun))
	}
}

func TestHistoryOfInput(t *testing.T) {
	s := newScreen(t, 60, 20)
	s.press("one", "enter", "two", "enter", "draft")
	for _, step := range []struct{ key, want string }{
		{"up", "two"}, {"up", "one"}, {"up", "one"}, {"down", "two"}, {"down", "draft"}, {"down", "draft"},
	} {
		s.press(step.key)
		if got := s.m.input.Value(); got != step.want {
			t.Errorf("after %s the input has %q, want %q", step.key, got, step.want)
		}
	}
}

// Esc and Ctrl-C stop an answer; a second Ctrl-C leaves.
func TestInterrupt(t *testing.T) {
	s := newScreen(t, 60, 20)
	s.hears(streamBegins + `, {"type": "text", "text": "once upon"}`)
	s.want("once upon")
	s.want("an answer is coming: Esc stops it")
	if s.press("ctrl+c") == nil || s.m.leaving {
		t.Error("the stream was not interrupted")
	}
	s.want("interrupted; Ctrl-C again leaves")
	if s.press("esc"); s.m.leaving {
		t.Error("Esc leaves")
	}
	if s.press("ctrl+c") == nil || !s.m.leaving {
		t.Error("the second Ctrl-C does not leave")
	}
}

func TestLeaving(t *testing.T) {
	for _, keys := range [][]string{{"ctrl+d"}, {"ctrl+c"}, {"/quit", "enter"}, {"text", "ctrl+c", "ctrl+c"}} {
		s := newScreen(t, 60, 20)
		if s.press(keys...); !s.m.leaving {
			t.Errorf("%q does not leave", keys)
		}
	}
	for _, keys := range [][]string{{"text", "ctrl+d"}, {"text", "ctrl+c"}, {"esc"}} {
		s := newScreen(t, 60, 20)
		if s.press(keys...); s.m.leaving {
			t.Errorf("%q leaves", keys)
		}
	}
}

func TestScrolling(t *testing.T) {
	s := newScreen(t, 60, 12)
	for i := range 20 {
		s.hears(fmt.Sprintf(`{"type": "text", "text": "line %d."}`, i))
	}
	s.want("line 19.")
	s.press("pgup", "pgup")
	s.never("line 19.")
	s.want("there is more below")
	s.hears(`{"type": "text", "text": "newest"}`)
	s.never("newest") // who reads above is not disturbed
	for range 9 {
		s.press("pgdown")
	}
	s.want("newest")
}

func TestSessions(t *testing.T) {
	s := newScreen(t, 90, 12)
	s.log("sent", me, peer, `{"type": "text", "text": "in the first"}`)
	s.press("/new", "enter")
	s.want("session 2 of 2")
	s.never("in the first")
	s.press("/sessions", "enter")
	s.want("   1  " + session + "  bob  in the first")
	s.want("*  2  ")
	s.press("esc", "/switch 1", "enter")
	s.want("session 1 of 2")
	s.want("in the first")
	s.press("ctrl+n")
	s.want("session 2 of 2")
	s.press("/switch 9", "enter")
	s.want("there is no such session")
	s.press("/dance", "enter")
	s.want("there is no /dance: see /help")
	if s.press("//dance", "enter") == nil {
		t.Error("a text with two slashes is not said")
	}
	s.press("/save 1", "enter")
	s.want("there is no such attachment")
	s.press("/help", "enter")
	s.want("Ctrl-N, Ctrl-P")
	s.press("pgdown")
	s.want("/save N [FILE]")
	s.press("x")
	s.never("/save N [FILE]")
	if s.m.input.Value() != "" {
		t.Errorf("the key that closes a page was typed: %q", s.m.input.Value())
	}
}

func TestMetadataIsShown(t *testing.T) {
	s := newScreen(t, 60, 20)
	s.hears(`{"type": "text", "text": "look"}, {"type": "metadata", "metadata": {"mood": "good", "colour": "green"}}`)
	s.want("  look\n  colour: green · mood: good\n")
}

// What is said while the node is gone waits for it, in order, and is said when it
// is back.
func TestTheNodeIsGone(t *testing.T) {
	s := newScreen(t, 60, 20)
	s.hears(`{"type": "text", "text": "before"}`)
	s.press("first", "enter")
	s.do(lost{})
	s.want("the node is gone, trying again; Ctrl-D leaves")
	if s.press("second", "enter") != nil {
		t.Error("something was asked of a node that is gone")
	}
	s.do(done{session: session, unsaid: &unsaid{number: 1, in: s.m.current, message: s.m.o.Speaker.Compose("first", true)}})
	s.want("you · waits for the node\n  first\n\nyou · waits for the node\n  second\n")
	if s.press("/new", "enter"); strings.Contains(s.shows(), "waits for the node") {
		t.Error("it is shown in another session")
	}
	s.press("/switch 1", "enter")
	if s.do(found{}) == nil || !s.m.repeating {
		t.Error("the node is back, and nothing is said")
	}
	s.never("the node is gone")
	if s.do(saidAgain{number: 1}) == nil || len(s.m.unsaid) != 1 || !s.m.repeating {
		t.Errorf("%d wait, want the second", len(s.m.unsaid))
	}
	if s.do(saidAgain{number: 2, err: errors.New("broken again")}); len(s.m.unsaid) != 1 || s.m.repeating {
		t.Error("what broke again is given up")
	}
	s.do(tick(time.Now()))
	if s.do(saidAgain{number: 2}); len(s.m.unsaid) != 0 {
		t.Error("it still waits")
	}
	s.want("before")
	s.never("waits for the node")
	s.do(lost{})
	if s.press("ctrl+c") == nil || !s.m.leaving {
		t.Error("Ctrl-C does not leave while the node is gone")
	}
}

// Every size of window shows something of the right size.
func TestSizes(t *testing.T) {
	s := newScreen(t, 60, 20)
	s.hears(`{"type": "text", "text": "a **long** text that has to be wrapped in most windows, with 世界 in it"}`)
	s.log("sent", me, peer, `{"type": "text", "text": "and an own one that is quite long as well, as some are"}`)
	for _, size := range [][2]int{{1, 1}, {5, 3}, {10, 4}, {20, 6}, {33, 50}, {200, 5}, {80, 24}} {
		s.do(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		lines := strings.Split(strings.TrimSuffix(s.shows(), "\n"), "\n")
		if size[1] >= 4 && len(lines) != size[1] {
			t.Errorf("%d lines in a window of %dx%d", len(lines), size[0], size[1])
		}
	}
	s.want("a long text")
	s.do(tea.WindowSizeMsg{Width: 20, Height: 8})
	s.want(" bob")
	s.never("session")
	s.want("F1 helps")
	s.do(tea.WindowSizeMsg{Width: 45, Height: 8})
	s.want("session 1 of 1  5f0f5f5e")
	s.want("Enter says it, F1 helps, Ctrl-D leaves")
}
