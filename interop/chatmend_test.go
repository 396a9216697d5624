package interop

import (
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/spec"
)

// TestRandomChatMessages has the real library and Parley read the same chat
// messages and acknowledgements, as they should be and with keys left out, added,
// misnamed and misused. Both must refuse the same ones and make the same of the
// rest.
func TestRandomChatMessages(t *testing.T) {
	o := startOracle(t)
	ask[description](o, map[string]any{
		"op": "model", "names": []string{"ChatAcknowledgement", "ChatMessage"},
		"source": "from uagents_core.contrib.protocols.chat import ChatAcknowledgement, ChatMessage",
	})
	m := &maker{Rand: newRand(t)}
	for _, c := range []struct {
		name  string
		model func() (*spec.Record, error)
		mend  func([]byte) ([]byte, error)
	}{
		{"ChatMessage", spec.FromGo[chat.ChatMessage], chat.Mend},
		{"ChatAcknowledgement", spec.FromGo[chat.ChatAcknowledgement], chat.MendAcknowledgement},
	} {
		t.Run(c.name, func(t *testing.T) {
			model, err := c.model()
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for n := count(400, 20000); len(texts) < n; {
				m.depth = 0
				value := m.estrange(m.value(model))
				if m.chance(30) {
					value = m.spoil(value)
				}
				if input := text(value); !strings.Contains(input, "[true, ") { // as the keys of pairs, true and 1 are one in Python
					texts = append(texts, input)
				}
			}
			read := newReader(t, model).lax.Normalize
			once, again := parseInPython(o, c.name, texts), parseInPython(o, c.name, texts)
			refused := 0
			for i, input := range texts {
				mended, err := c.mend([]byte(input))
				if err == nil {
					mended, err = read(mended)
				}
				if (err == nil) != once[i].OK {
					t.Fatalf("%s\n   ours: %s %v\nlibrary: %s%s", input, mended, err, once[i].Result, once[i].Error)
				}
				if err != nil {
					refused++
					continue
				}
				if ours, theirs := withoutFilled(mended, once[i].Result, again[i].Result); ours != theirs {
					t.Fatalf("%s\n   ours: %s\nlibrary: %s", input, ours, theirs)
				}
			}
			t.Logf("%d payloads read alike, %d of them refused by both", len(texts), refused)
			if refused < len(texts)/10 || refused > len(texts)*9/10 {
				t.Errorf("%d of %d payloads refused: the mixture shows nothing", refused, len(texts))
			}
		})
	}
}

// withoutFilled takes out what the library made up: it is not the same again.
func withoutFilled(mended []byte, once, again string) (ours, theirs string) {
	mine, first, second := parseText(spec.JSON(mended)), parseText(spec.JSON(once)), parseText(spec.JSON(again))
	for i, member := range first.Members {
		if !pyjson.Equal(member.Value, second.Members[i].Value) {
			mine.Set(member.Key, pyjson.Value{})
			first.Set(member.Key, pyjson.Value{})
		}
	}
	return text(mine), text(first)
}

// estrange changes the keys of a message and of its contents, now and then.
func (m *maker) estrange(v pyjson.Value) pyjson.Value {
	var out pyjson.Members
	for _, member := range v.Members {
		if member.Key == "content" {
			for i := range member.Value.Items {
				member.Value.Items[i] = m.estrange(member.Value.Items[i])
			}
		}
		switch {
		case member.Key == "type" && m.chance(40), m.chance(10):
			continue
		case m.chance(4):
			member.Value = pick(m, pyjson.Value{}, pyjson.OfInt("0"), pyjson.OfFloat(0), pyjson.Of(""), pyjson.OfBool(false), pyjson.OfItems(), pyjson.OfMembers())
		case member.Key == "type" && m.chance(8):
			member.Value = pyjson.Of(pick(m, "text", "metadata", "start-session", "end-session", "start-stream", "end-stream", "end", ""))
		case m.chance(2):
			member.Key = pick(m, "type", "text", "metadata", "stream_id", "Text")
		}
		out.Set(member.Key, member.Value)
	}
	if m.chance(4) {
		out.Set(pick(m, "extra", "type", "text", "self", "__root__"), m.anything(1))
	}
	object := out.Object()
	if m.chance(2) { // Python takes pairs for an object
		pairs := pyjson.OfItems()
		for _, member := range object.Members {
			pairs.Items = append(pairs.Items, pyjson.OfItems(pyjson.Of(member.Key), member.Value))
		}
		return pairs
	}
	return object
}
