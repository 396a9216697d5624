package chat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/vectors"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/wire/uagents"
)

func TestTheDigestIsThatOfTheLibrary(t *testing.T) {
	rules := chat.Rules()
	want := vectors.Decode[string](t, vectors.Load(t, "chat.json")["chat_protocol_digest"])
	if got, err := rules.Digest(""); err != nil || got != want {
		t.Errorf("digest = %s (%v), want %s", got, err, want)
	}
}

// Every recorded message is read into Go and written again, byte for byte.
func TestMessageVectors(t *testing.T) {
	message, ack := codecOf[chat.ChatMessage](t), codecOf[chat.ChatAcknowledgement](t)
	var cases []struct{ ID, Model, JSON string }
	if err := json.Unmarshal(vectors.Load(t, "chat.json")["messages"], &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			var text []byte
			var err error
			switch c.Model {
			case "ChatMessage":
				var m chat.ChatMessage
				if err = message.Unmarshal([]byte(c.JSON), &m); err == nil {
					text, err = message.Marshal(m)
				}
			case "ChatAcknowledgement":
				var a chat.ChatAcknowledgement
				if err = ack.Unmarshal([]byte(c.JSON), &a); err == nil {
					text, err = ack.Marshal(a)
				}
			default:
				return
			}
			want := c.JSON
			if c.ID == "ts_naive" { // a time without offset is read as UTC
				want = want[:len(`{"timestamp": "2026-03-04T05:06:07`)] + "+00:00" + want[len(`{"timestamp": "2026-03-04T05:06:07`):]
			}
			if c.ID == "metadata" { // a Go map has no order: keys are written sorted
				want = strings.Replace(want, `{"attachments": "true", "a": "b"}`, `{"a": "b", "attachments": "true"}`, 1)
			}
			if err != nil || string(text) != want {
				t.Errorf("read and written: %s (%v), want %s", text, err, want)
			}
		})
	}
}

func codecOf[T any](t *testing.T) *uagents.Codec {
	t.Helper()
	model, err := spec.FromGo[T]()
	if err != nil {
		t.Fatal(err)
	}
	codec, err := uagents.NewCodec(model, nil)
	if err != nil {
		t.Fatal(err)
	}
	return codec
}

func TestTextJoinsAllText(t *testing.T) {
	m := chat.Text("a")
	m.Content = append(m.Content, chat.StartSessionContent{}, chat.TextContent{Text: "b"})
	if got := m.Text(); got != "ab" {
		t.Errorf("Text() = %q", got)
	}
}
