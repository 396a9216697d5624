package bench

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/protocol/chat"
	prompts "github.com/parley-agents/parley/protocol/llm"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/wire/uagents"
)

// The messages as encoding/json can have them: it knows no unions, so that a
// content has the fields of all kinds.
type (
	plainChat struct {
		Timestamp time.Time      `json:"timestamp"`
		MsgID     uuid.UUID      `json:"msg_id"`
		Content   []plainContent `json:"content"`
	}
	plainContent struct {
		Type     string            `json:"type"`
		Text     string            `json:"text,omitempty"`
		StreamID uuid.UUID         `json:"stream_id,omitzero"`
		Metadata map[string]string `json:"metadata,omitempty"`
	}
	plainPrompt struct {
		Context string `json:"context"`
		Text    string `json:"text"`
	}
	plainStructured struct {
		Prompt       string         `json:"prompt"`
		OutputSchema map[string]any `json:"output_schema"`
	}
)

const codecRounds = 5

// BenchmarkGeneratedCodecs reads and writes messages of chat and LLM with generated
// code, with the codec that works by reflection, and with encoding/json, which
// checks less.
func BenchmarkGeneratedCodecs(b *testing.B) {
	fmt.Printf("\nGenerated codecs against encoding/json; medians of %d, aim for reading 2x\n%-38s %10s %10s %10s %8s\n", codecRounds, "", "generated", "reflective", "json", "ratio")
	text := strings.Repeat("Tell me something about the weather in Lisbon. ", 8)
	message := chat.ChatMessage{Timestamp: time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC), MsgID: uuid.New(), Content: []chat.Content{
		chat.StartSessionContent{}, chat.TextContent{Text: text}, chat.MetadataContent{Metadata: map[string]string{"stream": "true", "lang": "en"}}, chat.EndStreamContent{StreamID: uuid.New()},
	}}
	compareCodecs[chat.ChatMessage, plainChat](b, "chat message", message)
	compareCodecs[chat.ChatMessage, plainChat](b, "short chat message", chat.Text("Hello!"))
	compareCodecs[prompts.ContextPrompt, plainPrompt](b, "prompt", prompts.ContextPrompt{Context: "Be brief.", Text: text})
	schema := map[string]any{"title": "Location", "type": "object", "properties": map[string]any{
		"city": map[string]any{"title": "City", "type": "string"}, "temperature": map[string]any{"title": "Temperature", "type": "number", "minimum": -50},
	}, "required": []any{"city", "temperature"}}
	compareCodecs[prompts.StructuredOutputPrompt, plainStructured](b, "structured prompt", prompts.StructuredOutputPrompt{Prompt: text, OutputSchema: schema})
	for range b.N { // the framework wants a loop
	}
}

func compareCodecs[T, Plain any](b *testing.B, name string, v T) {
	b.Helper()
	model := spec.MustFromGo[T]()
	generated, err := uagents.NewCodec(model, &uagents.CodecOptions{Generated: true})
	check(err)
	reflective, err := uagents.NewCodec(model, nil)
	check(err)
	payload, err := generated.Marshal(v)
	check(err)
	var plain Plain
	check(json.Unmarshal(payload, &plain))
	row := func(what string, ways ...func()) {
		var took [3][]time.Duration
		for range codecRounds {
			for i, way := range ways {
				took[i] = append(took[i], timed(func() {
					for range 5000 {
						way()
					}
				}))
			}
		}
		g, r, j := middle(took[0])/5000, middle(took[1])/5000, middle(took[2])/5000
		fmt.Printf("%-38s %10s %10s %10s %7.1fx\n", name+", "+what, g, r, j, float64(j)/float64(g))
	}
	row("read", func() { check(generated.Unmarshal(payload, new(T))) }, func() { check(reflective.Unmarshal(payload, new(T))) },
		func() { check(json.Unmarshal(payload, new(Plain))) })
	row("write", func() { _, err := generated.Marshal(v); check(err) }, func() { _, err := reflective.Marshal(v); check(err) },
		func() { _, err := json.Marshal(plain); check(err) })
}
