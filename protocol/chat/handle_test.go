package chat_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/vectors"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/store/memory"
)

func newAgent(t *testing.T, name string) *parley.Agent {
	t.Helper()
	key, err := identity.FromSeed(name, 0)
	if err != nil {
		t.Fatal(err)
	}
	return parley.NewAgent(name, &parley.AgentOptions{Key: key})
}

// host runs agents in one node until stop is called or the test ends.
func host(t *testing.T, store parley.Store, agents ...*parley.Agent) (stop func()) {
	t.Helper()
	node, err := parley.NewNode(&parley.NodeOptions{Store: store, Logger: slog.New(slog.DiscardHandler), Grace: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Add(agents...); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- node.Run(ctx) }()
	for !node.Ready() {
		time.Sleep(time.Millisecond)
	}
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// A friend is an agent of the test that hears everything.
type friend struct {
	*parley.Agent
	heard chan chat.ChatMessage
	acks  chan chat.ChatAcknowledgement
}

func newFriend(t *testing.T, name string) *friend {
	f := &friend{newAgent(t, name), make(chan chat.ChatMessage, 1000), make(chan chat.ChatAcknowledgement, 1000)}
	parley.On(f, func(_ context.Context, _ *parley.Turn, m chat.ChatMessage) error { f.heard <- m; return nil }, parley.Confirm(chat.Acknowledge))
	parley.On(f, func(_ context.Context, _ *parley.Turn, a chat.ChatAcknowledgement) error { f.acks <- a; return nil })
	return f
}

func within[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: nothing came", what)
		panic("unreachable")
	}
}

func (f *friend) say(t *testing.T, session string, to *parley.Agent, contents ...chat.Content) chat.ChatMessage {
	t.Helper()
	m := chat.ChatMessage{Timestamp: time.Now(), MsgID: uuid.New(), Content: contents}
	if _, err := f.SendIn(t.Context(), session, to.Address(), m); err != nil {
		t.Fatal(err)
	}
	return m
}

func text(s string) chat.Content { return chat.TextContent{Text: s} }

// echo answers with what was said, and how much was said before.
func echo(_ context.Context, c *chat.Turn) error {
	return c.Say(fmt.Sprintf("%d: %s", len(c.Lines()), c.Text()))
}

func TestAMessageIsAcknowledgedAndAnsweredInItsSession(t *testing.T) {
	bob, alice := newAgent(t, "bob"), newFriend(t, "alice")
	chat.Handle(bob, echo, nil)
	host(t, memory.New(), bob, alice.Agent)
	one, two := uuid.NewString(), uuid.NewString()

	for i, session := range []string{one, two, one} {
		sent := alice.say(t, session, bob, text(fmt.Sprint("hello ", i)))
		if ack := within(t, "the acknowledgement", alice.acks); ack.AcknowledgedMsgID != sent.MsgID {
			t.Errorf("%s is acknowledged, want %s", ack.AcknowledgedMsgID, sent.MsgID)
		}
		want := fmt.Sprintf("%d: hello %d", []int{0, 0, 2}[i], i) // each session has its own memory
		if got := within(t, "the answer", alice.heard).Text(); got != want {
			t.Errorf("answer %q, want %q", got, want)
		}
	}
}

func TestErrorsBecomeTexts(t *testing.T) {
	bob, alice := newAgent(t, "bob"), newFriend(t, "alice")
	chat.Handle(bob, func(_ context.Context, c *chat.Turn) error {
		if c.Text() == "coded" {
			return fault.Errorf(fault.Unavailable, "", "the model sleeps")
		}
		return errors.New("secret detail")
	}, nil)
	host(t, memory.New(), bob, alice.Agent)

	alice.say(t, uuid.NewString(), bob, text("coded"))
	if got := within(t, "the answer", alice.heard).Text(); got != "An error occurred: the model sleeps" {
		t.Errorf("answer %q", got)
	}
	alice.say(t, uuid.NewString(), bob, text("plain"))
	if got := within(t, "the answer", alice.heard).Text(); !strings.HasPrefix(got, "An error occurred") || strings.Contains(got, "secret") {
		t.Errorf("answer %q", got)
	}
}

func TestSessionsStartAndEnd(t *testing.T) {
	bob, alice := newAgent(t, "bob"), newFriend(t, "alice")
	events := make(chan string, 10)
	chat.Handle(bob, func(_ context.Context, c *chat.Turn) error { events <- "says " + c.Text(); return nil }, &chat.Options{
		OnStart: func(context.Context, *chat.Turn) error { events <- "start"; return nil },
		OnEnd:   func(context.Context, *chat.Turn) error { events <- "end"; return nil },
	})
	host(t, memory.New(), bob, alice.Agent)
	session := uuid.NewString()

	alice.say(t, session, bob, chat.StartSessionContent{}, text("hi"))
	alice.say(t, session, bob, chat.EndSessionContent{})

	for _, want := range []string{"start", "says hi", "end"} {
		if got := within(t, want, events); got != want {
			t.Errorf("event %q, want %q", got, want)
		}
	}
}

// counting says ten pieces, slowly enough that they are not joined into one.
func counting(ctx context.Context, c *chat.Turn) error {
	return c.Stream(ctx, func(ctx context.Context, say func(string) error) error {
		for i := range 10 {
			if err := say(fmt.Sprint(i, " ")); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(40 * time.Millisecond):
			}
		}
		return nil
	})
}

const counted = "0 1 2 3 4 5 6 7 8 9 "

// collect hears messages until one ends the stream, or is no part of one.
func (f *friend) collect(t *testing.T) (texts []string, kinds string) {
	t.Helper()
	for {
		m := within(t, "a piece", f.heard)
		texts = append(texts, m.Text())
		for _, content := range m.Content {
			switch content.(type) {
			case chat.StartStreamContent:
				kinds += "("
			case chat.TextContent:
				kinds += "."
			case chat.EndStreamContent:
				return texts, kinds + ")"
			}
		}
		if !strings.HasPrefix(kinds, "(") {
			return texts, kinds
		}
	}
}

func TestPiecesGoOnlyToThoseWhoWantThem(t *testing.T) {
	bob, alice := newAgent(t, "bob"), newFriend(t, "alice")
	chat.Handle(bob, counting, nil)
	host(t, memory.New(), bob, alice.Agent)

	alice.say(t, uuid.NewString(), bob, text("count"))
	if texts, kinds := alice.collect(t); kinds != "." || texts[0] != counted {
		t.Errorf("unasked: %q %q, want one message", kinds, texts)
	}

	id := uuid.New()
	for name, wish := range map[string][]chat.Content{
		"asked":    {text("count"), chat.MetadataContent{Metadata: map[string]string{chat.WantsStream: "true"}}},
		"streamed": {chat.StartStreamContent{StreamID: id}, text("co"), text("unt"), chat.EndStreamContent{StreamID: id}},
	} {
		alice.say(t, uuid.NewString(), bob, wish...)
		texts, kinds := alice.collect(t)
		if !strings.HasPrefix(kinds, "(.") || !strings.HasSuffix(kinds, ")") || strings.Join(texts, "") != counted {
			t.Errorf("%s: %q %q, want a stream of it all", name, kinds, texts)
		}
		if n := len(texts); n < 2 || n > 7 { // 400 ms at ten a second, and the end
			t.Errorf("%s: %d messages", name, n)
		}
	}
}

func TestAStreamThatComesInIsHeardAsAWhole(t *testing.T) {
	bob, alice := newAgent(t, "bob"), newFriend(t, "alice")
	chat.Handle(bob, echo, nil)
	host(t, memory.New(), bob, alice.Agent)
	session, id := uuid.NewString(), uuid.New()

	alice.say(t, session, bob, chat.StartStreamContent{StreamID: id})
	alice.say(t, session, bob, text("one "))
	alice.say(t, session, bob, text("two"), chat.EndStreamContent{StreamID: id})

	if got := within(t, "the answer", alice.heard).Text(); got != "0: one two" {
		t.Errorf("answer %q, want one to it all", got)
	}
}

// Streams of partners that do not keep to the order are heard as well as may be, and
// never swallow what is said after them.
func TestStreamsThatComeInOddly(t *testing.T) {
	one, two := uuid.New(), uuid.New()
	start := func(id uuid.UUID) chat.Content { return chat.StartStreamContent{StreamID: id} }
	end := func(id uuid.UUID) chat.Content { return chat.EndStreamContent{StreamID: id} }
	type message = []chat.Content
	for _, tc := range []struct {
		name string
		says []message
		want []string
	}{
		{"all in one message", []message{{start(one), text("a"), text("b"), end(one)}}, []string{"ab"}},
		{"started twice", []message{{start(one)}, {text("a ")}, {start(one)}, {text("b"), end(one)}}, []string{"a b"}},
		{"ended twice", []message{{start(one)}, {text("a"), end(one)}, {end(one)}, {text("b")}}, []string{"a", "b"}},
		{"ended without a start", []message{{end(one)}, {text("a")}}, []string{"a"}},
		{"the end of another", []message{{start(one)}, {text("a "), end(two)}, {text("b"), end(one)}}, []string{"a b"}},
		{"never ended, another begins", []message{{start(one)}, {text("a")}, {start(two)}, {text("b"), end(two)}}, []string{"a", "b"}},
		{"never ended, the session ends", []message{{start(one)}, {text("a")}, {chat.EndSessionContent{}}, {text("b")}}, []string{"a", "b"}},
		{"never ended, a session starts", []message{{start(one)}, {text("a")}, {chat.StartSessionContent{}}, {text("b")}}, []string{"a", "b"}},
		{"empty", []message{{start(one)}, {end(one)}, {text("a")}}, []string{"a"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bob, alice := newAgent(t, "bob"), newFriend(t, "alice")
			chat.Handle(bob, func(_ context.Context, c *chat.Turn) error { return c.Say(c.Text()) }, nil)
			host(t, memory.New(), bob, alice.Agent)
			session := uuid.NewString()
			for _, contents := range tc.says {
				alice.say(t, session, bob, contents...)
			}
			alice.say(t, session, bob, text("last"))
			for _, want := range append(tc.want, "last") {
				if got := within(t, "the answer", alice.heard).Text(); got != want {
					t.Fatalf("answer %q, want %q", got, want)
				}
			}
		})
	}
}

// A partner that died in the middle of a stream is heard again when it comes back.
func TestAStreamThatFellSilentIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bob, alice := newAgent(t, "bob"), newFriend(t, "alice")
		chat.Handle(bob, func(_ context.Context, c *chat.Turn) error { return c.Say(c.Text()) }, nil)
		stop := host(t, memory.New(), bob, alice.Agent)
		session := uuid.NewString()
		alice.say(t, session, bob, chat.StartStreamContent{StreamID: uuid.New()}, text("I was about to"))
		time.Sleep(time.Hour)
		alice.say(t, session, bob, text("Hello again"))
		if got := within(t, "the answer", alice.heard).Text(); got != "I was about to\nHello again" {
			t.Errorf("answer %q, want all that was said", got)
		}
		alice.say(t, session, bob, chat.StartStreamContent{StreamID: uuid.New()})
		time.Sleep(time.Hour)
		alice.say(t, session, bob, text("And again"))
		if got := within(t, "the answer", alice.heard).Text(); got != "And again" {
			t.Errorf("answer %q, want what was said after a stream of nothing", got)
		}
		stop()
	})
}

func TestAPartnerCancelsAStream(t *testing.T) {
	bob, alice := newAgent(t, "bob"), newFriend(t, "alice")
	ended := make(chan error, 1)
	chat.Handle(bob, func(ctx context.Context, c *chat.Turn) error {
		return c.Stream(ctx, func(ctx context.Context, say func(string) error) error {
			_ = say("once upon a time")
			<-ctx.Done() // a model that is thinking
			ended <- context.Cause(ctx)
			return context.Cause(ctx)
		})
	}, &chat.Options{Stream: true})
	host(t, memory.New(), bob, alice.Agent)
	session := uuid.NewString()
	alice.say(t, session, bob, text("tell me a story"))
	first := within(t, "the first piece", alice.heard)
	start := first.Content[0].(chat.StartStreamContent)

	alice.say(t, session, bob, chat.EndStreamContent{StreamID: start.StreamID})

	if err := within(t, "the cancelling", ended); !errors.Is(err, chat.ErrCancelled) {
		t.Errorf("the story ended with %v", err)
	}
	last := within(t, "the end", alice.heard)
	if end, ok := last.Content[len(last.Content)-1].(chat.EndStreamContent); !ok || end.StreamID != start.StreamID || last.Text() != "" {
		t.Errorf("the last message is %+v, want the end of the stream and no error", last)
	}
}

// A process that dies in the middle of a stream ends it after its next start, and
// says the whole.
func TestAStreamThatWasCutIsEndedAndSaidAsAWhole(t *testing.T) {
	store := memory.New()
	bob, alice := newAgent(t, "bob"), newFriend(t, "alice")
	chat.Handle(bob, func(ctx context.Context, c *chat.Turn) error {
		return c.Stream(ctx, func(ctx context.Context, say func(string) error) error {
			for i := range 3 {
				if err := say(fmt.Sprint("old ", i)); err != nil {
					return err
				}
				time.Sleep(120 * time.Millisecond)
			}
			<-ctx.Done() // until the node is stopped
			return ctx.Err()
		})
	}, &chat.Options{Stream: true})
	stop := host(t, store, bob, alice.Agent)
	alice.say(t, uuid.NewString(), bob, text("go"))
	start := within(t, "the first piece", alice.heard).Content[0].(chat.StartStreamContent)
	within(t, "the second piece", alice.heard)
	within(t, "the third piece", alice.heard)
	stop()

	again, alice2 := newAgent(t, "bob"), newFriend(t, "alice")
	chat.Handle(again, counting, &chat.Options{Stream: true})
	host(t, store, again, alice2.Agent)

	end := within(t, "the end of the old stream", alice2.heard)
	if got, ok := end.Content[0].(chat.EndStreamContent); !ok || got.StreamID != start.StreamID {
		t.Errorf("first comes %+v, want the end of the old stream", end)
	}
	if whole := within(t, "the whole", alice2.heard); whole.Text() != counted {
		t.Errorf("then comes %q, want the whole", whole.Text())
	}
}

// The other side acknowledges a line, and it shows.
func TestAcknowledgementsShowInTheSession(t *testing.T) {
	bob, alice := newAgent(t, "bob"), newFriend(t, "alice")
	chat.Handle(bob, echo, nil)
	store := memory.New()
	host(t, store, bob, alice.Agent)
	session := uuid.NewString()
	alice.say(t, session, bob, text("hi"))
	within(t, "the answer", alice.heard)

	key := "chat/" + string(alice.Address()) + "/" + session
	for range 2000 {
		value, _, err := store.Get(t.Context(), bob.Address(), key)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(value), `"acknowledged":true`) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Error("the acknowledgement never showed")
}

func TestOldLinesAreForgotten(t *testing.T) {
	bob, alice := newAgent(t, "bob"), newFriend(t, "alice")
	chat.Handle(bob, echo, nil)
	host(t, memory.New(), bob, alice.Agent)
	session := uuid.NewString()
	var got string
	for range 110 { // two lines each
		alice.say(t, session, bob, text("hi"))
		got = within(t, "the answer", alice.heard).Text()
	}
	if got != "199: hi" {
		t.Errorf("the last answer is %q, want 199 lines before it", got)
	}
}

// Digests of the older versions are those of the example programs.
func TestTheOlderVersionsAreSpoken(t *testing.T) {
	bob := newAgent(t, "bob")
	chat.Handle(bob, echo, nil)
	node, err := parley.NewNode(&parley.NodeOptions{Store: memory.New()})
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Add(bob); err != nil {
		t.Fatal(err)
	}
	info, _ := node.Agent(bob.Address())
	variants := vectors.Decode[map[string]map[string]any](t, vectors.Load(t, "digests.json")["chat variants"])
	if len(variants) != 3 {
		t.Fatalf("%d variants are recorded, want 3", len(variants))
	}
	for name, want := range map[string]string{"as printed": chat.PrintedManifestDigest, "with end-stream, no replies": chat.MendedManifestDigest, "core 0.3.0": chat.AgentManifestDigest} {
		if got := variants[name]["digest"]; got != want {
			t.Errorf("%s is recorded as %v, and written down as %s", name, got, want)
		}
	}
	for name, v := range variants {
		if digest, _ := v["digest"].(string); !slices.Contains(info.Protocols, digest) {
			t.Errorf("the protocol %q, %s, is not among %v", name, digest, info.Protocols)
		}
	}
}

// An agent knows with whom it talks, says goodbye, and can list its sessions, the
// latest first.
func TestAnAgentListsItsSessions(t *testing.T) {
	bob, alice := newAgent(t, "bob"), newFriend(t, "alice")
	listed := make(chan []chat.Session, 10)
	chat.Handle(bob, func(ctx context.Context, c *chat.Turn) error {
		if c.Partner() != alice.Address() {
			t.Errorf("the partner is %s, want alice", c.Partner())
		}
		if c.Text() == "bye" {
			return c.End()
		}
		all, err := chat.Sessions(ctx, c.Turn, 2)
		listed <- all
		return err
	}, nil)
	host(t, memory.New(), bob, alice.Agent)
	first, second, third := uuid.NewString(), uuid.NewString(), uuid.NewString()

	alice.say(t, first, bob, text("bye"))
	goodbye := within(t, "the goodbye", alice.heard)
	if _, ends := goodbye.Content[0].(chat.EndSessionContent); !ends || len(goodbye.Content) != 1 {
		t.Errorf("End says %+v", goodbye)
	}
	alice.say(t, second, bob, text("list"))
	within(t, "a list", listed)
	alice.say(t, third, bob, text("list"))

	all := within(t, "the last list", listed) // what the turn itself has heard is not committed yet
	if len(all) != 2 || all[0].ID != second || all[1].ID != first || !all[1].Ended || all[0].Ended || all[0].Partner != alice.Address() {
		t.Errorf("the sessions are %+v", all)
	}
}
