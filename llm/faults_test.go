package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/llm"
)

func coded(err error) bool { return fault.CodeOf(err) != fault.Internal }

// serve runs a server that behaves badly and returns a model that asks it.
func serve(t *testing.T, handler http.HandlerFunc, change func(*llm.Config)) *llm.Model {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	config := &llm.Config{BaseURL: server.URL + "/v1", Model: "tiny", APIKey: llm.NewSecret(apiKey), Timeout: 20 * time.Second, Retries: 2, Backoff: time.Millisecond}
	if change != nil {
		change(config)
	}
	return newModel(t, config)
}

const apiKey = "sk-nobody-may-see-this"

// Each fault is shown to a plain and to a streaming completion.
func TestFaultsOfTheServerHaveACodeAndAText(t *testing.T) {
	answer := func(status int, text string, headers ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i+1 < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	hang := func(before string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, before)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}
	impatient := func(c *llm.Config) { c.Timeout = 200 * time.Millisecond }
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		change  func(*llm.Config)
		want    fault.Code
		says    string
	}{
		{"nobody listens", nil, func(c *llm.Config) { c.BaseURL = "http://127.0.0.1:1/v1" }, fault.Unavailable, "nothing listens"},
		{"no such host", nil, func(c *llm.Config) { c.BaseURL = "http://nobody.invalid/v1" }, fault.Unavailable, "the model's server cannot be"},
		{"silent", hang(""), impatient, fault.Unavailable, "did not answer within 200ms"},
		{"silent after a beginning", hang(" "), impatient, fault.Unavailable, "did not answer within 200ms"},
		{"busy", answer(429, `{"error":{"message":"slow down"}}`), nil, fault.Unavailable, "busy"},
		{"busy for an hour", answer(429, "", "Retry-After", "3600"), nil, fault.Unavailable, "try again in 1h0m0s"},
		{"busy until a date", answer(429, "", "Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)), nil, fault.Unavailable, "try again in"},
		{"failing", answer(500, "oops"), nil, fault.Unavailable, "status 500"},
		{"a bad gateway", answer(502, "<html>"), nil, fault.Unavailable, "status 502"},
		{"the key is wrong", answer(401, `{"error":{"message":"Incorrect API key provided: `+apiKey+`"}}`), nil, fault.Forbidden, "API key"},
		{"no such model", answer(404, `{"error":{"message":"no"}}`), nil, fault.NotFound, `"tiny"`},
		{"refused", answer(400, `{"error":{"message":"too many words for `+apiKey+`"}}`), nil, fault.Refused, "too many words for [secret]"},
		{"refused without JSON", answer(422, "no "+apiKey), nil, fault.Refused, "status 422"},
		{"too long", answer(413, ""), nil, fault.TooLarge, "too long"},
		{"too long, says OpenAI", answer(400, `{"error":{"message":"at most 8192 tokens","type":"invalid_request_error","code":"context_length_exceeded"}}`), nil, fault.TooLarge, "too long"},
		{"moved", answer(307, "", "Location", "/v2"), nil, fault.Malformed, "elsewhere (status 307)"},
		{"moved to another", answer(302, "", "Location", "http://localhost:1/v1"), nil, fault.Malformed, "elsewhere (status 302)"},
		{"a page", answer(200, "<html>hello</html>"), nil, "", ""},
		{"nothing", answer(200, ""), nil, fault.Unavailable, "broke off"},
		{"no completion", answer(200, `{"object": "list"}`), nil, "", ""},
		{"a completion without choices", answer(200, "data: {\"choices\":[]}\n\ndata: [DONE]\n\n"), nil, "", ""},
		{"no end of it", func(w http.ResponseWriter, _ *http.Request) {
			for range 9 << 10 {
				_, _ = io.WriteString(w, strings.Repeat(" ", 1<<10))
			}
		}, nil, fault.TooLarge, "8388608 bytes"},
		{"cut", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"hel`)
		}, nil, fault.Unavailable, "broke off"},
	} {
		for _, stream := range []func(string) error{nil, func(string) error { return nil }} {
			name := tc.name
			if stream != nil {
				name += ", streaming"
			}
			t.Run(name, func(t *testing.T) {
				model := serve(t, tc.handler, tc.change)
				began := time.Now()

				_, err := model.Complete(t.Context(), "", "hi", &llm.Options{Stream: stream})

				var f *fault.Error
				if !errors.As(err, &f) || !strings.Contains(f.Text, tc.says) || tc.want != "" && f.Code != tc.want || !coded(err) {
					t.Fatalf("Complete = %v, want %s and %q", err, tc.want, tc.says)
				}
				if strings.Contains(f.Text, "127.0.0.1") {
					t.Errorf("%q names the server", f.Text)
				}
				for e := err; e != nil; e = errors.Unwrap(e) {
					if strings.Contains(fmt.Sprintf("%v %+v", e, e), apiKey) {
						t.Errorf("the key is in %v", e)
					}
				}
				if took := time.Since(began); took > 15*time.Second {
					t.Errorf("took %s", took)
				}
			})
		}
	}
}

func TestGarbageIsMalformed(t *testing.T) {
	for _, body := range []string{"<html>hello</html>", `{"choices": "none"}`, `{"choices": []}`, `[1]`} {
		model := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }, nil)
		if _, err := model.Complete(t.Context(), "", "hi", nil); fault.CodeOf(err) != fault.Malformed {
			t.Errorf("%s: %v, want malformed", body, err)
		}
	}
}

// An answer without a word is told: silence would be taken for a lost message.
func TestAnAnswerOfNothing(t *testing.T) {
	for _, tc := range []struct {
		name, message, finish string
		want                  fault.Code
		says                  string
	}{
		{"empty", `{"content": ""}`, "stop", fault.Malformed, "answers with nothing"},
		{"no content", `{"content": null}`, "stop", fault.Malformed, "answers with nothing"},
		{"a tool that we do not have", `{"content": null, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}`, "tool_calls", fault.Malformed, "answers with nothing"},
		{"a refusal", `{"content": null, "refusal": "I will not say ` + apiKey + `."}`, "stop", fault.Refused, "declines: I will not say [secret]."},
		{"all tokens used up by thinking", `{"content": "", "reasoning_content": "Hmm."}`, "length", fault.TooLarge, "7 tokens"},
		{"filtered", `{"content": ""}`, "content_filter", fault.Refused, "content filter"},
	} {
		for _, stream := range []func(string) error{nil, func(string) error { return nil }} {
			t.Run(fmt.Sprint(tc.name, ", streaming: ", stream != nil), func(t *testing.T) {
				model := serve(t, func(w http.ResponseWriter, _ *http.Request) {
					if stream == nil {
						fmt.Fprintf(w, `{"choices":[{"message":%s,"finish_reason":%q}]}`, tc.message, tc.finish)
						return
					}
					fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":%s}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", tc.message, tc.finish)
				}, nil)
				answer, err := model.Complete(t.Context(), "", "hi", &llm.Options{Stream: stream, MaxTokens: 7})
				if fault.CodeOf(err) != tc.want || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), apiKey) {
					t.Errorf("Complete = %q (%v), want %s and %q", answer, err, tc.want, tc.says)
				}
			})
		}
	}
}

// A server that knows no streams is asked for the whole, which comes as one piece.
func TestAServerWithoutStreams(t *testing.T) {
	model := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"all of it"},"finish_reason":"stop"}]}`)
	}, nil)
	var pieces []string
	answer, err := model.Complete(t.Context(), "", "hi", &llm.Options{Stream: func(p string) error { pieces = append(pieces, p); return nil }})
	if err != nil || answer != "all of it" || len(pieces) != 1 || pieces[0] != answer {
		t.Errorf("Complete = %q, %q (%v)", answer, pieces, err)
	}
}

// Neither the key nor the conversation goes where a server sends us.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var asked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		model := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL+"/v1", status) }, nil)
		if _, err := model.Complete(t.Context(), "", "a secret", nil); fault.CodeOf(err) != fault.Malformed {
			t.Errorf("%d: %v, want malformed", status, err)
		}
		if err := model.Check(t.Context()); fault.CodeOf(err) != fault.Malformed {
			t.Errorf("%d: Check = %v, want malformed", status, err)
		}
	}
	if asked.Load() > 0 {
		t.Errorf("the other server was asked %d times", asked.Load())
	}
}

// What matters of a stream is its last piece, not how the connection ends.
func TestAStreamThatIsWholeButNotClosed(t *testing.T) {
	pieces := "data: {\"choices\":[{\"delta\":{\"content\":\"gr\u00fc\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"\u00df\"},\"finish_reason\":\"stop\"}]}\n\n"
	for name, end := range map[string]func(*http.Request){
		"hangs":  func(r *http.Request) { <-r.Context().Done() },
		"breaks": func(*http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			model := serve(t, func(w http.ResponseWriter, r *http.Request) {
				for i := range len(pieces) { // also in the middle of a letter
					_, _ = io.WriteString(w, pieces[i:i+1])
					_ = http.NewResponseController(w).Flush()
				}
				end(r)
			}, func(c *llm.Config) { c.Timeout = 3 * time.Second })
			got := ""
			answer, err := model.Complete(t.Context(), "", "hi", &llm.Options{Stream: func(p string) error { got += p; return nil }})
			if err != nil || answer != "grüß" || got != answer {
				t.Errorf("Complete = %q, %q (%v)", answer, got, err)
			}
		})
	}
}

func TestAnErrorInTheMiddleOfAStream(t *testing.T) {
	model := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"error\":{\"message\":\"out of memory\",\"code\":500}}\n\n")
	}, nil)
	var got string
	_, err := model.Complete(t.Context(), "", "hi", &llm.Options{Stream: func(p string) error { got += p; return nil }})
	if fault.CodeOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "out of memory") || got != "a" {
		t.Errorf("after %q: %v, want unavailable and the reason", got, err)
	}
}

// A slow backend gives a piece every 50 s, five times, and is silent then.
type slow struct{}

func (slow) String() string              { return "slow" }
func (slow) Check(context.Context) error { return nil }
func (slow) Generate(ctx context.Context, _ *llm.Request, stream func(string) error) (*llm.Answer, error) {
	for range 5 {
		select {
		case <-time.After(50 * time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if stream != nil {
			if err := stream("a"); err != nil {
				return nil, err
			}
		}
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// The limit of time is for each piece, and the reader's time is not the model's.
func TestAStreamMayTakeLongButNotBeSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llm.NewModel(slow{}) // with a minute
		var got string
		began := time.Now()
		_, err := model.Complete(t.Context(), "", "hi", &llm.Options{Stream: func(p string) error {
			got += p
			time.Sleep(2 * time.Minute)
			return nil
		}})
		if fault.CodeOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "within 1m0s") || got != "aaaaa" {
			t.Errorf("after %q: %v, want all pieces and then unavailable", got, err)
		}
		if took := time.Since(began); took != 5*(50*time.Second+2*time.Minute)+time.Minute {
			t.Errorf("took %s", took)
		}
	})
}

func TestWithoutStreamTheWholeAnswerHasTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := llm.NewModel(slow{}).Complete(t.Context(), "", "hi", &llm.Options{Timeout: 70 * time.Second})
		if fault.CodeOf(err) != fault.Unavailable || time.Since(began) != 70*time.Second {
			t.Errorf("after %s: %v, want unavailable after 1m10s", time.Since(began), err)
		}
	})
}

func TestACallerWhoGivesUpIsNotKept(t *testing.T) {
	model := serve(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body); <-r.Context().Done() }, nil)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := model.Complete(ctx, "", "hi", nil); !errors.Is(err, context.Canceled) || !coded(err) {
		t.Errorf("Complete = %v, want the context's error with a code", err)
	}
}

// recorded is a request as the server sees it.
type recorded struct {
	Model    string
	Messages []struct{ Role, Content string }
	Format   struct {
		Type   string
		Schema struct {
			Name   string
			Strict bool
			Schema json.RawMessage
		} `json:"json_schema"`
	} `json:"response_format"`
	MaxTokens   int      `json:"max_tokens"`
	Temperature *float64 `json:"temperature"`
	Key         string   `json:"-"`
}

// script answers requests with the given contents, one after the other, and
// keeps what was asked.
func script(t *testing.T, contents ...string) (*llm.Model, func() []recorded) {
	var mu sync.Mutex
	var asked []recorded
	model := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		request := recorded{Key: r.Header.Get("Authorization")}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Error(err)
		}
		content, _ := json.Marshal(contents[min(len(asked), len(contents)-1)])
		asked = append(asked, request)
		fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`, content)
	}, nil)
	return model, func() []recorded { mu.Lock(); defer mu.Unlock(); return asked }
}

// What goes out is what the uAgents example sends.
func TestTheRequestIsThatOfTheExample(t *testing.T) {
	model, asked := script(t, `{"city": "Lisbon"}`)
	half := 0.5
	schema := json.RawMessage(`{"title":"Location","type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)

	if _, err := model.Complete(t.Context(), "Be brief.", "hi", &llm.Options{Schema: schema, MaxTokens: 77, Temperature: &half}); err != nil {
		t.Fatal(err)
	}

	r := asked()[0]
	if fmt.Sprint(r.Messages) != "[{system Be brief.} {user hi}]" || r.Model != "tiny" || r.MaxTokens != 77 || *r.Temperature != 0.5 || r.Key != "Bearer "+apiKey {
		t.Errorf("asked %+v", r)
	}
	if f := r.Format; f.Type != "json_schema" || f.Schema.Name != "Location" || f.Schema.Strict || string(f.Schema.Schema) != string(schema) {
		t.Errorf("response format %+v", f)
	}
}

func TestAnAnswerThatDoesNotFitIsAskedForAgainOnce(t *testing.T) {
	schema := json.RawMessage(`{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}`)
	t.Run("the second fits", func(t *testing.T) {
		model, asked := script(t, `{"n": "three"}`, `{"n": 3}`)
		var usage llm.Usage
		answer, err := model.Complete(t.Context(), "", "how many?", &llm.Options{Schema: schema, Usage: &usage})
		if err != nil || answer != `{"n": 3}` {
			t.Fatalf("Complete = %s (%v)", answer, err)
		}
		if len(asked()) != 2 || usage.Total != 10 {
			t.Fatalf("asked %d times for %d tokens, want 2 and 10", len(asked()), usage.Total)
		}
		messages := asked()[1].Messages
		if last := messages[len(messages)-1]; messages[1].Content != `{"n": "three"}` || !strings.Contains(last.Content, `want "integer"`) {
			t.Errorf("the second time: %v", messages)
		}
	})
	t.Run("the second does not fit either", func(t *testing.T) {
		model, asked := script(t, "I think it is three.")
		_, err := model.Complete(t.Context(), "", "how many?", &llm.Options{Schema: schema})
		if fault.CodeOf(err) != fault.Malformed || !strings.Contains(err.Error(), "does not fit the schema") || len(asked()) != 2 {
			t.Errorf("after %d times: %v, want malformed after 2", len(asked()), err)
		}
	})
}

// faults puts a proxy before a real server that does to it what the network and
// busy servers do.
func faults(t *testing.T, base string) {
	real, err := url.Parse(strings.TrimSuffix(base, "/v1"))
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(real)
	pass.FlushInterval = -1

	t.Run("busy twice, then well", func(t *testing.T) {
		for _, status := range []int{429, 500, 503} {
			var tries atomic.Int32
			model := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if tries.Add(1) < 3 {
					w.WriteHeader(status)
					return
				}
				pass.ServeHTTP(w, r)
			}, nil)
			if answer, err := model.Complete(t.Context(), "", "hi", &llm.Options{MaxTokens: 9}); err != nil || answer == "" || tries.Load() != 3 {
				t.Errorf("%d: %q after %d tries (%v)", status, answer, tries.Load(), err)
			}
		}
	})
	t.Run("Retry-After is honoured", func(t *testing.T) {
		var first atomic.Int64
		var waited time.Duration
		model := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if first.CompareAndSwap(0, time.Now().UnixNano()) {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			waited = time.Since(time.Unix(0, first.Load()))
			pass.ServeHTTP(w, r)
		}, nil)
		_, err := model.Complete(t.Context(), "", "hi", &llm.Options{MaxTokens: 9, Stream: func(string) error { return nil }})
		if waited < time.Second {
			t.Errorf("came back after %s, want a second", waited)
		}
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("a stream that is cut", func(t *testing.T) {
		model := serve(t, func(w http.ResponseWriter, r *http.Request) {
			pass.ServeHTTP(&cutter{ResponseWriter: w, left: 700}, r)
		}, nil)
		var got string
		_, err := model.Complete(t.Context(), "", "hi", &llm.Options{MaxTokens: 60, Stream: func(p string) error { got += p; return nil }})
		if fault.CodeOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "broke off") || got == "" {
			t.Errorf("after %q: %v, want unavailable, broke off", got, err)
		}
	})
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

// FuzzAnswers has a server answer with any bytes, plain and streaming: there is
// an answer or an error with a code, and no key in it.
func FuzzAnswers(f *testing.F) {
	f.Add(200, []byte(`{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"total_tokens":1}}`))
	f.Add(200, []byte("data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"))
	f.Add(200, []byte(": ping\n\ndata: {\"error\":{\"message\":[\"a\"],\"code\":{}}}\n\n"))
	f.Add(400, []byte(`{"error":{"message":"`+apiKey+`"}}`))
	f.Add(429, []byte("\x00"))
	var body atomic.Pointer[[]byte]
	var status atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(status.Load()))
		_, _ = w.Write(*body.Load())
	}))
	f.Cleanup(server.Close)
	model, err := llm.New(&llm.Config{BaseURL: server.URL, APIKey: llm.NewSecret(apiKey), Retries: -1})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, code int, bytes []byte) {
		status.Store(int32(200 + max(code, -code)%400))
		body.Store(&bytes)
		for _, stream := range []func(string) error{nil, func(string) error { return nil }} {
			_, err := model.Complete(t.Context(), "", "hi", &llm.Options{Stream: stream})
			if err != nil && (!coded(err) || strings.Contains(err.Error(), apiKey)) {
				t.Errorf("%d %q: %v", code, bytes, err)
			}
		}
	})
}
