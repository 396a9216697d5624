package assistant_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/assistant"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/llamatest"
	"github.com/parley-agents/parley/llm"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/protocol/health"
	prompts "github.com/parley-agents/parley/protocol/llm"
	"github.com/parley-agents/parley/quota"
	"github.com/parley-agents/parley/store/memory"
)

// count is how much a test does: all in `make test-long`.
func count(sample, full int) int {
	if os.Getenv("PARLEY_LONG") != "" {
		return full
	}
	return sample
}

func keyOf(t *testing.T, seed string) *identity.Key {
	t.Helper()
	key, err := identity.FromSeed(seed, 0)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// A friend is somebody who talks with the assistant.
type friend struct {
	*parley.Agent
	heard chan chat.ChatMessage
}

func newFriend(t *testing.T, name string) *friend {
	f := &friend{parley.NewAgent(name, &parley.AgentOptions{Key: keyOf(t, name)}), make(chan chat.ChatMessage, 1000)}
	parley.On(f, func(_ context.Context, _ *parley.Turn, m chat.ChatMessage) error { f.heard <- m; return nil }, parley.Confirm(chat.Acknowledge))
	parley.On(f, func(context.Context, *parley.Turn, chat.ChatAcknowledgement) error { return nil })
	return f
}

func newFriends(t *testing.T, n int) []*friend {
	var all []*friend
	for i := range n {
		all = append(all, newFriend(t, fmt.Sprint("friend ", i)))
	}
	return all
}

// meet hosts an assistant and its friends until the test ends.
func meet(t *testing.T, opts *assistant.Options, friends ...*friend) *parley.Agent {
	t.Helper()
	opts.Key = keyOf(t, "assistant")
	ai, err := assistant.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	node, err := parley.NewNode(&parley.NodeOptions{Store: memory.New(), Logger: slog.New(slog.DiscardHandler), Grace: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	agents := []*parley.Agent{ai}
	for _, f := range friends {
		agents = append(agents, f.Agent)
	}
	if err := node.Add(agents...); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- node.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for !node.Ready() {
		time.Sleep(time.Millisecond)
	}
	return ai
}

// say says something and returns the answer.
func (f *friend) say(t *testing.T, ai *parley.Agent, session, text string) string {
	t.Helper()
	if _, err := f.SendIn(t.Context(), session, ai.Address(), chat.Text(text)); err != nil {
		t.Fatal(err)
	}
	return f.next(t).Text()
}

func (f *friend) next(t *testing.T) chat.ChatMessage {
	t.Helper()
	select {
	case m := <-f.heard:
		return m
	case <-time.After(2 * time.Minute):
		t.Errorf("%s hears nothing", f.Name())
		return chat.ChatMessage{}
	}
}

// A proxy stands before the real server and does to requests what the network and
// busy servers do.
type proxy struct {
	mu    sync.Mutex
	fault http.HandlerFunc // for requests that mention it; nil passes all
	pass  *httputil.ReverseProxy
	url   string
}

const mention = "gremlin"

func newProxy(t *testing.T) *proxy {
	t.Helper()
	target, err := url.Parse(strings.TrimSuffix(llamatest.Start(t), "/v1"))
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{pass: httputil.NewSingleHostReverseProxy(target)}
	p.pass.FlushInterval = -1
	p.pass.ErrorLog = log.New(io.Discard, "", 0) // of callers who gave up
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.url = server.URL + "/v1"
	return p
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	p.mu.Lock()
	f := p.fault
	p.mu.Unlock()
	if f != nil && bytes.Contains(body, []byte(mention)) {
		f(w, r)
		return
	}
	p.pass.ServeHTTP(w, r)
}

func (p *proxy) set(f http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
}

// model is an impatient one, so that the tests need not wait.
func (p *proxy) model(t *testing.T, maxTokens int) *llm.Model {
	t.Helper()
	return newModel(t, &llm.Config{BaseURL: p.url, Model: "tiny", MaxTokens: maxTokens, Retries: 1, Backoff: time.Millisecond})
}

// usual is one as people have it. Where many come at once the server refuses some
// connections, and they are to come again.
func (p *proxy) usual(t *testing.T, maxTokens int) *llm.Model {
	t.Helper()
	return newModel(t, &llm.Config{BaseURL: p.url, Model: "tiny", MaxTokens: maxTokens})
}

func newModel(t *testing.T, c *llm.Config) *llm.Model {
	t.Helper()
	model, err := llm.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return model
}

const place = `{"title": "Place", "type": "object", "properties": {
	"name": {"type": "string", "maxLength": 8}, "kind": {"enum": ["town", "river"]}, "floors": {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3}
}, "required": ["name", "kind", "floors"], "additionalProperties": false}`

func placePrompt(t *testing.T, prompt string) prompts.StructuredOutputPrompt {
	t.Helper()
	p := prompts.StructuredOutputPrompt{Prompt: prompt}
	if err := json.Unmarshal([]byte(place), &p.OutputSchema); err != nil {
		t.Fatal(err)
	}
	return p
}

// checkPlace compares an answer with what the schema says, by hand.
func checkPlace(out map[string]any) error {
	name, ok := out["name"].(string)
	if !ok || len([]rune(name)) > 8 {
		return fmt.Errorf("name %v", out["name"])
	}
	if out["kind"] != "town" && out["kind"] != "river" {
		return fmt.Errorf("kind %v", out["kind"])
	}
	floors, _ := out["floors"].([]any)
	for _, f := range floors {
		if _, ok := f.(bool); !ok {
			return fmt.Errorf("floors %v", floors)
		}
	}
	if len(floors) < 1 || len(floors) > 3 || len(out) != 3 {
		return fmt.Errorf("%v", out)
	}
	return nil
}

// The tests of this file have a real llama.cpp server answer.
func TestTheAssistantAnswers(t *testing.T) {
	p := newProxy(t)
	friends := newFriends(t, count(10, 60))
	ai := meet(t, &assistant.Options{Model: p.model(t, 200)}, friends...)
	ada := friends[0]

	session := uuid.NewString()
	for _, text := range []string{"Which river flows through Lisbon?", "And through Porto?"} {
		if answer := ada.say(t, ai, session, text); answer == "" || strings.HasPrefix(answer, "An error occurred") {
			t.Errorf("the answer to %q is %q", text, answer)
		}
	}
	response, err := parley.Ask[prompts.Response](t.Context(), ada.Agent, ai.Address(), prompts.ContextPrompt{Context: "Be brief.", Text: "Why?"})
	if err != nil || response.Text == "" {
		t.Errorf("the answer to a ContextPrompt is %+v (%v)", response, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for i, f := range friends {
		all.Go(func() {
			answer, err := parley.Ask[prompts.StructuredOutputResponse](ctx, f.Agent, ai.Address(), placePrompt(t, fmt.Sprint("place ", i)))
			if err == nil {
				err = checkPlace(answer.Output)
			}
			if err != nil {
				t.Errorf("structured prompt %d: %v", i, err)
			}
		})
	}
	all.Wait()
}

// A conversation that has grown longer than the model can take goes on with the end of
// it; one message that is too long by itself is told to be.
func TestALongConversationGoesOn(t *testing.T) {
	p := newProxy(t)
	ada := newFriend(t, "ada")
	ai := meet(t, &assistant.Options{Model: p.model(t, 20)}, ada)
	session := uuid.NewString()
	for i := range 5 { // the model has room for a thousand letters
		if answer := ada.say(t, ai, session, fmt.Sprint(i, strings.Repeat(" and so on", 40))); answer == "" || strings.HasPrefix(answer, "An error occurred") {
			t.Fatalf("message %d is answered with %q", i, answer)
		}
	}
	if answer := ada.say(t, ai, session, strings.Repeat("and so on ", 1000)); answer != "An error occurred: the prompt is too long for the model" {
		t.Errorf("the long message is answered with %q", answer)
	}
	if answer := ada.say(t, ai, session, "Still there?"); strings.HasPrefix(answer, "An error occurred") {
		t.Errorf("the short message after it is answered with %q", answer)
	}
}

// Each fault of the model's server becomes a clear text in chat and an
// ErrorMessage for prompts. Meanwhile another conversation goes on, and when the
// server is well again, so does the one that met the fault.
func TestFaultsOfTheServerAreTold(t *testing.T) {
	p := newProxy(t)
	for _, c := range []struct {
		name       string
		fault      http.HandlerFunc
		says       string
		partOfText bool // what came before the fault is said too
	}{
		{"gone", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "broke off", false},
		{"slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "did not answer within 4s", false},
		{"busy", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }, "busy", false},
		{"garbage", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>hello</html>") }, "", false},
		{"cut", func(w http.ResponseWriter, r *http.Request) { p.pass.ServeHTTP(&cutter{w, 500}, r) }, "broke off", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			patience := time.Minute
			if c.name == "slow" {
				patience = 4 * time.Second
			}
			model := newModel(t, &llm.Config{BaseURL: p.url, Model: "tiny", MaxTokens: 40, Retries: 1, Backoff: time.Millisecond, Timeout: patience})
			ada, bob := newFriend(t, "ada"), newFriend(t, "bob")
			ai := meet(t, &assistant.Options{Model: model}, ada, bob)
			p.set(c.fault)
			session, other := uuid.NewString(), uuid.NewString()
			if _, err := ada.SendIn(t.Context(), session, ai.Address(), chat.Text(mention)); err != nil {
				t.Fatal(err)
			}
			if answer := patiently(t, bob, ai, other, "meanwhile"); answer == "" || strings.HasPrefix(answer, "An error") {
				t.Errorf("the other conversation gets %q", answer)
			}
			answer := ada.next(t).Text()
			if c.partOfText && !strings.HasPrefix(answer, "An error") {
				answer = ada.next(t).Text()
			}
			if !strings.HasPrefix(answer, "An error occurred: ") || !strings.Contains(answer, c.says) || strings.Contains(answer, "127.0.0.1") {
				t.Errorf("the chat gets %q, want an error that says %q", answer, c.says)
			}
			for _, prompt := range []any{prompts.ContextPrompt{Text: mention}, placePrompt(t, mention)} {
				text := refusal(t, ada, ai, prompt)
				if !strings.Contains(text, c.says) || strings.Contains(text, "127.0.0.1") || strings.Contains(text, "internal error") {
					t.Errorf("%T gets %q, want an ErrorMessage that says %q", prompt, text, c.says)
				}
			}
			p.set(nil)
			if answer := patiently(t, ada, ai, session, mention+" is gone"); answer == "" || strings.HasPrefix(answer, "An error") {
				t.Errorf("after the fault the chat gets %q", answer)
			}
			select {
			case m := <-ada.heard:
				t.Errorf("one more message: %q", m.Text())
			default:
			}
		})
	}
}

// An answer that is larger than a message may be is told to be, to everybody.
func TestAnAnswerThatNoMessageHolds(t *testing.T) {
	long := strings.Repeat("and so on ", 300_000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"stream":true`)) {
			for piece := range slices.Chunk([]byte(long), 10_000) {
				fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\n", piece)
			}
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			return
		}
		fmt.Fprintf(w, `{"choices":[{"message":{"content":%q},"finish_reason":"stop"}]}`, `{"a": "`+long+`"}`)
	}))
	defer server.Close()
	model := newModel(t, &llm.Config{BaseURL: server.URL, Model: "tiny"})
	ada := newFriend(t, "ada")
	ai := meet(t, &assistant.Options{Model: model}, ada)
	if answer := ada.say(t, ai, uuid.NewString(), "hello"); !strings.HasPrefix(answer, "An error occurred: a payload of 3") {
		t.Errorf("the chat gets %.99q", answer)
	}
	for _, prompt := range []any{prompts.ContextPrompt{Text: "hello"}, prompts.StructuredOutputPrompt{Prompt: "hello", OutputSchema: map[string]any{"type": "object"}}} {
		if text := refusal(t, ada, ai, prompt); !strings.HasPrefix(text, "a payload of 3") {
			t.Errorf("%T gets %q", prompt, text)
		}
	}
}

// What a peer asks for that cannot be had is told before the model is asked.
func TestSchemasOfPeersThatCannotBeUsed(t *testing.T) {
	ada := newFriend(t, "ada")
	ai := meet(t, &assistant.Options{Model: lost(t), Limit: quota.PerHour(100)}, ada)
	for _, tc := range []struct {
		schema map[string]any
		says   string
	}{
		{map[string]any{"type": 7}, "schema cannot be used"},
		{map[string]any{"$ref": "http://127.0.0.1:1/secret.json"}, "$ref must point into the schema itself"},
		{map[string]any{"properties": map[string]any{"a": map[string]any{"$ref": "file:///etc/passwd"}}}, "$ref must point into the schema itself"},
		{map[string]any{"$ref": "#/$defs/Nobody"}, "Nobody"},
		{map[string]any{"$schema": "http://json-schema.org/draft-04/schema#"}, "only draft-07 and 2020-12"},
		{map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"pattern": "("}}}, "schema cannot be used"},
		{map[string]any{"type": "object", "description": strings.Repeat("x", 70_000)}, "at most 65536 bytes"},
	} {
		if text := refusal(t, ada, ai, prompts.StructuredOutputPrompt{Prompt: "hello", OutputSchema: tc.schema}); !strings.Contains(text, tc.says) {
			t.Errorf("%.200v gets %q, want %q", tc.schema, text, tc.says)
		}
	}
}

// patiently says something again if the machine is too busy for the model.
func patiently(t *testing.T, f *friend, ai *parley.Agent, session, text string) (answer string) {
	t.Helper()
	for range 5 {
		if answer = f.say(t, ai, session, text); !strings.Contains(answer, "did not answer within") {
			break
		}
	}
	return answer
}

func TestAServerThatIsDownIsTold(t *testing.T) {
	ada := newFriend(t, "ada")
	ai := meet(t, &assistant.Options{Model: lost(t)}, ada)
	const says = "nothing listens"
	if answer := ada.say(t, ai, uuid.NewString(), "hello"); !strings.HasPrefix(answer, "An error occurred: ") || !strings.Contains(answer, says) {
		t.Errorf("the chat gets %q, want an error that says %q", answer, says)
	}
	for _, prompt := range []any{prompts.ContextPrompt{Text: "hello"}, placePrompt(t, "hello")} {
		if text := refusal(t, ada, ai, prompt); !strings.Contains(text, says) {
			t.Errorf("%T gets %q, want an ErrorMessage that says %q", prompt, text, says)
		}
	}
}

// lost is a model whose server is down.
func lost(t *testing.T) *llm.Model {
	t.Helper()
	gone := httptest.NewServer(nil)
	gone.Close()
	model := newModel(t, &llm.Config{BaseURL: gone.URL, Retries: -1})
	return model
}

// refusal asks and returns the text of the ErrorMessage that comes back.
func refusal(t *testing.T, f *friend, ai *parley.Agent, prompt any) string {
	t.Helper()
	_, err := parley.Ask[prompts.Response](t.Context(), f.Agent, ai.Address(), prompt)
	coded, ok := errors.AsType[*fault.Error](err)
	if !ok || coded.Code != fault.Refused {
		t.Errorf("%T gets %v, want an ErrorMessage", prompt, err)
		return ""
	}
	return coded.Text
}

// A cutter ends the connection after so many bytes of the body.
type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left > 0 {
		return c.ResponseWriter.Write(p)
	}
	_, _ = c.ResponseWriter.Write(p[:len(p)+c.left])
	_ = http.NewResponseController(c.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

func (c *cutter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// The assistant is well when its store, its model and the author's own checks are.
func TestTheAssistantSaysWhetherItIsWell(t *testing.T) {
	p := newProxy(t)
	var ill error
	var mu sync.Mutex
	own := func(context.Context, *parley.Turn) error { mu.Lock(); defer mu.Unlock(); return ill }
	ada := newFriend(t, "ada")
	ai := meet(t, &assistant.Options{Name: "Ada's assistant", Model: p.model(t, 10), Checks: []health.Check{own}}, ada)
	ask := func(want health.HealthStatus) {
		t.Helper()
		got, err := parley.Ask[health.AgentHealth](t.Context(), ada.Agent, ai.Address(), health.HealthCheck{})
		if err != nil || got.Status != want || got.AgentName != "Ada's assistant" {
			t.Errorf("it says %+v (%v), want %s", got, err, want)
		}
	}
	ask(health.Healthy)
	mu.Lock()
	ill = errors.New("out of paper")
	mu.Unlock()
	ask(health.Unhealthy)
	mu.Lock()
	ill = nil
	mu.Unlock()
	ask(health.Healthy)

	bob := newFriend(t, "bob")
	ai, ada = meet(t, &assistant.Options{Name: "Ada's assistant", Model: lost(t)}, bob), bob
	ask(health.Unhealthy)
}
