package llm_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-agents/parley/internal/llamatest"
	"github.com/parley-agents/parley/llm"
)

// The tests of this file ask a real llama.cpp server.
func TestWithARealServer(t *testing.T) {
	url := llamatest.Start(t)
	model := newModel(t, &llm.Config{BaseURL: url, Model: "tiny", Timeout: 5 * time.Minute}) // also where others are busy
	t.Run("it is reachable", func(t *testing.T) {
		if err := model.Check(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("plain", func(t *testing.T) { plain(t, model) })
	t.Run("streaming", func(t *testing.T) { streaming(t, model) })
	t.Run("a schema that the server does not like", func(t *testing.T) { odd(t, model) })
	t.Run("60 structured prompts at once", func(t *testing.T) { structured(t, model) })
	t.Run("an answer that is cut off", func(t *testing.T) { cutOff(t, model) })
	t.Run("faults", func(t *testing.T) { faults(t, url) })
}

func newModel(t *testing.T, c *llm.Config) *llm.Model {
	t.Helper()
	model, err := llm.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return model
}

func plain(t *testing.T, model *llm.Model) {
	var usage llm.Usage
	zero := 0.0
	opts := &llm.Options{
		History: []llm.Message{{Role: llm.User, Text: "a"}, {Role: llm.Assistant, Text: "b"}}, MaxTokens: 12, Temperature: &zero, Usage: &usage,
	}
	first, err := model.Complete(t.Context(), "Be brief.", "hi", opts)
	if err != nil || first == "" {
		t.Fatalf("Complete = %q (%v)", first, err)
	}
	if usage.Completion < 1 || usage.Completion > 12 || usage.Prompt < 10 || usage.Total != usage.Prompt+usage.Completion {
		t.Errorf("usage %+v", usage)
	}
	if second, err := model.Complete(t.Context(), "Be brief.", "hi", opts); err != nil || second != first {
		t.Errorf("at temperature zero the answers are %q and %q (%v)", first, second, err)
	}
	short := usage.Prompt
	opts.History = nil
	if _, err := model.Complete(t.Context(), "Be brief.", "hi", opts); err != nil || usage.Prompt >= short {
		t.Errorf("without history the prompt has %d tokens (%v), with it %d", usage.Prompt, err, short)
	}
}

func streaming(t *testing.T, model *llm.Model) {
	var usage llm.Usage
	var pieces []string
	zero := 0.0
	opts := &llm.Options{MaxTokens: 40, Temperature: &zero, Usage: &usage, Stream: func(piece string) error {
		pieces = append(pieces, piece)
		return nil
	}}
	text, err := model.Complete(t.Context(), "", "hi", opts)
	if err != nil {
		t.Fatal(err)
	}
	if len(pieces) < 2 || strings.Join(pieces, "") != text {
		t.Errorf("%q came as %q", text, pieces)
	}
	if usage.Completion == 0 || usage.Total == 0 {
		t.Errorf("usage %+v", usage)
	}
	opts.Stream = nil
	if whole, err := model.Complete(t.Context(), "", "hi", opts); err != nil || whole != text {
		t.Errorf("streamed %q, not streamed %q (%v)", text, whole, err)
	}
}

const person = `{"title": "Person", "type": "object", "properties": {
	"name": {"type": "string", "maxLength": 8}, "items": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 4}, "mood": {"enum": ["ok", "bad"]}
}, "required": ["name", "items", "mood"], "additionalProperties": false}`

func structured(t *testing.T, model *llm.Model) {
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			answer, err := model.Complete(t.Context(), "", fmt.Sprint("person ", i), &llm.Options{Schema: json.RawMessage(person), MaxTokens: 400})
			var v struct {
				Name  string
				Items []int
				Mood  string
			}
			if err == nil {
				err = json.Unmarshal([]byte(answer), &v)
			}
			if err != nil || len(v.Items) == 0 || v.Mood != "ok" && v.Mood != "bad" {
				t.Errorf("prompt %d: %s (%v)", i, answer, err)
			}
		})
	}
	all.Wait()
}

// odd has a schema that this server cannot follow: it answers freely or refuses.
func odd(t *testing.T, model *llm.Model) {
	_, err := model.Complete(t.Context(), "", "x", &llm.Options{MaxTokens: 30, Schema: json.RawMessage(`{"type": "object", "minProperties": 2, "additionalProperties": {"const": {"deep": [1]}}}`)})
	if err != nil && !coded(err) {
		t.Error(err)
	}
}

func cutOff(t *testing.T, model *llm.Model) {
	_, err := model.Complete(t.Context(), "", "x", &llm.Options{Schema: json.RawMessage(person), MaxTokens: 5})
	if err == nil || !strings.Contains(err.Error(), "too_large") || !strings.Contains(err.Error(), "5 tokens") {
		t.Errorf("Complete = %v, want too_large and the limit", err)
	}
}
