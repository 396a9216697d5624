package gen_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/internal/lang/gen/everything"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/protocol/health"
	"github.com/parley-agents/parley/protocol/llm"
	"github.com/parley-agents/parley/protocol/payment"
)

// Go can hold values that no message may: they are refused, by both codecs for the
// same reason, and what is odd but right is written the same.
func TestGeneratedTypesAreWrittenAsReflectiveOnes(t *testing.T) {
	id, now := uuid.New(), time.Now()
	loop := everything.Node{Name: "loop"}
	loop.Parent = &loop
	self := map[string]any{}
	self["self"] = self
	message := func(content ...chat.Content) chat.ChatMessage {
		return chat.ChatMessage{Timestamp: now, MsgID: id, Content: content}
	}
	prompt := func(v any) any { return llm.StructuredOutputPrompt{OutputSchema: map[string]any{"v": v}} }
	for _, tc := range []struct {
		name    string
		value   any
		refused bool
	}{
		{"a tag that is not set", message(chat.TextContent{Text: "hi"}), false},
		{"a tag of another kind", message(chat.TextContent{Type: "resource"}), true},
		{"a content that is nil", message(nil), true},
		{"a pointer to a content", message(&chat.TextContent{Text: "hi"}), false},
		{"no contents", message(), false},
		{"an id that is none", chat.ChatMessage{Timestamp: now}, true},
		{"a year that cannot be written", chat.ChatMessage{Timestamp: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), MsgID: id}, true},
		{"an offset with seconds", chat.ChatMessage{Timestamp: now.In(time.FixedZone("", 3601)), MsgID: id}, false},
		{"text that is not UTF-8", message(chat.TextContent{Text: "a\xff"}), true},
		{"text of all kinds", message(chat.TextContent{Text: "\x00\x1f\"\\/é€😀\u007f\n\u2028"}), false},
		{"keys that are not UTF-8", message(chat.MetadataContent{Metadata: map[string]string{"\xff": ""}}), true},
		{"no value of the enum", health.AgentHealth{Status: "ill"}, true},
		{"over a limit", everything.Point{X: 91}, true},
		{"NaN within limits", everything.Point{X: math.NaN()}, true},
		{"NaN", everything.Point{Y: math.NaN()}, false},
		{"too long", everything.Node{Name: "longer than eight"}, true},
		{"a record that contains itself", loop, true},
		{"a map that contains itself", prompt(self), true},
		{"values of other types", prompt([]any{uint8(1), []string{"a"}, struct{ A int }{1}, json.Number("1.50"), float32(0.1)}), false},
		{"no map", llm.StructuredOutputPrompt{}, false},
		{"an optional map that is empty", chat.ChatAcknowledgement{Timestamp: now, AcknowledgedMsgID: id, Metadata: map[string]string{}}, false},
		{"a union of the wrong shape", everything.Unions{Shape: everything.Circle{Radius: -1}}, true},
		{"a default that was cleared", payment.Funds{}, false},
		{"a nil pointer", (*payment.Funds)(nil), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := pairFor(t, tc.value)
			got, err := p.generated.Marshal(tc.value)
			want, wantErr := p.slow.Marshal(tc.value)
			if string(got) != string(want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("generated %s (%v)\nreflective %s (%v)", got, err, want, wantErr)
			}
			if (err != nil) != tc.refused {
				t.Errorf("%s (%v), want refused: %t", got, err, tc.refused)
			}
		})
	}
}

func pairFor(t *testing.T, v any) pair {
	t.Helper()
	switch v.(type) {
	case chat.ChatMessage:
		return pairOf[chat.ChatMessage](t)
	case chat.ChatAcknowledgement:
		return pairOf[chat.ChatAcknowledgement](t)
	case health.AgentHealth:
		return pairOf[health.AgentHealth](t)
	case everything.Point:
		return pairOf[everything.Point](t)
	case everything.Node:
		return pairOf[everything.Node](t)
	case everything.Unions:
		return pairOf[everything.Unions](t)
	case llm.StructuredOutputPrompt:
		return pairOf[llm.StructuredOutputPrompt](t)
	}
	return pairOf[payment.Funds](t)
}

// Payloads nest as deep as the codec reads, and no deeper.
func TestGeneratedReadersBoundTheDepth(t *testing.T) {
	p := pairOf[everything.Node](t)
	for depth, taken := range map[int]bool{31: true, 32: true, 33: false, 500: false} {
		inner := strings.Repeat(`{"name": "n", "children": [`, depth) + strings.Repeat(`]}`, depth)
		if got := p.agree(t, []byte(inner)); got != taken {
			t.Errorf("%d records deep: taken is %t, want %t", depth, got, taken)
		}
	}
}
