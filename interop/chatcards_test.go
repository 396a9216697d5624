package interop

import (
	"encoding/json"
	"testing"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/spec"
)

// pythonCards reads metadata as a card or an answer and writes it again, all with
// the helpers of the library.
const pythonCards = `
import logging
logging.disable(logging.CRITICAL)
from uagents_core.contrib.protocols.chat import MetadataContent
from uagents_core.contrib.protocols.chat import cards

class Block(Model):
    metadata: Dict[str, str]

    def json(self):
        content = MetadataContent(self.metadata)
        card, answer = cards.extract_card(content), cards.extract_card_response(content)
        if card:
            fields = dict(card_id=card.card_id, is_terminal=card.is_terminal, preferred_drawer_width_px=card.preferred_drawer_width_px)
            return cards.create_card_content(card.payload, **fields).json()
        if answer:
            return cards.create_card_response_content(**dict(answer)).json()
        raise ValueError("neither a card nor an answer")
`

// TestRandomCards has the real library and Parley read the same cards and answers
// and write them again. What Parley takes, the library takes, as the same; what is
// as it should be, both take. Beyond that the library is more generous: it takes
// "yes" for true.
func TestRandomCards(t *testing.T) {
	o := startOracle(t)
	ask[description](o, map[string]any{"op": "model", "names": []string{"Block"}, "source": pythonCards})
	m := &maker{Rand: newRand(t)}
	models := map[string]*spec.Record{
		"carousel": cardModel[chat.CarouselCard](t),
		"detail":   cardModel[chat.DetailCard](t),
		"form":     cardModel[chat.FormCard](t),
		"review":   cardModel[chat.ReviewCard](t),
		"custom":   cardModel[chat.CustomCard](t),
	}
	var blocks []map[string]string
	var texts []string
	spoilt := make(map[int]bool)
	for len(blocks) < count(400, 10000) {
		m.depth = 0
		block := map[string]string{"card_protocol_version": "1"}
		kind := pick(m, "carousel", "detail", "form", "review", "custom", "custom", "")
		if kind == "" {
			block["selection"] = text(pyjson.OfMembers(pyjson.Member{Key: "a", Value: m.anything(1)}, pyjson.Member{Key: "b", Value: m.anything(0)}))
		} else {
			payload := m.value(models[kind])
			if m.chance(50) {
				payload = m.estrange(m.spoil(payload))
				spoilt[len(blocks)] = true
			}
			block["card_kind"], block["card_payload"] = kind, text(payload)
		}
		if m.chance(20) {
			block["card_id"] = "0b9bd2c6-6d3e-4a39-9a25-0d7f1b0b3c11"
			block["is_terminal"] = pick(m, "true", "false", "True")
			block["text"] = "said"
		}
		line, err := json.Marshal(map[string]any{"metadata": block})
		if err != nil {
			t.Fatal(err)
		}
		blocks, texts = append(blocks, block), append(texts, string(line))
	}

	taken, refused := 0, 0
	for i, python := range parseInPython(o, "Block", texts) {
		ours, err := rewriteCard(blocks[i])
		switch {
		case fault.CodeOf(err) == fault.Unsupported: // NaN, of which the library makes null
		case err == nil && !python.OK:
			t.Fatalf("%s\nis read here, and by the library: %s", texts[i], python.Error)
		case err == nil:
			taken++
			if theirs := metadataOf(t, python.Result); !sameMetadata(ours, theirs) {
				t.Fatalf("%s\n   ours: %v\nlibrary: %v", texts[i], ours, theirs)
			}
		case python.OK && blocks[i]["card_kind"] != "" && !spoilt[i]:
			t.Fatalf("%s\nis as it should be: %v\nlibrary: %s", texts[i], err, python.Result)
		case !python.OK:
			refused++
		}
	}
	t.Logf("%d of %d read and written alike, %d refused by both", taken, len(blocks), refused)
	if taken < len(blocks)/4 || refused < len(blocks)/20 {
		t.Errorf("the mixture shows nothing")
	}
}

func rewriteCard(block map[string]string) (map[string]string, error) {
	content := chat.MetadataContent{Metadata: block}
	card, isCard, err := chat.CardOf(content)
	if err != nil {
		return nil, err
	}
	if isCard {
		content, err = card.Content()
		return content.Metadata, err
	}
	answer, _, err := chat.CardResponseOf(content)
	if err != nil {
		return nil, err
	}
	content, err = answer.Content()
	return content.Metadata, err
}

// cardModel is a model for making values: lists that must not be empty have two
// items at most.
func cardModel[T any](t *testing.T) *spec.Record {
	t.Helper()
	model, err := spec.FromGo[T]()
	if err != nil {
		t.Fatal(err)
	}
	contains(model, func(part spec.Type) bool {
		if list, ok := part.(*spec.List); ok && list.Limits.MinItems != nil {
			list.Limits.MaxItems = new(2)
		}
		return false
	})
	return model
}

func metadataOf(t *testing.T, text string) map[string]string {
	t.Helper()
	var content struct{ Metadata map[string]string }
	if err := json.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	return content.Metadata
}

// sameMetadata compares what was written. Go has no order of the keys of a
// selection, and an optional text that is empty is left out.
func sameMetadata(ours, theirs map[string]string) bool {
	if len(ours) != len(theirs) {
		return false
	}
	for key, value := range ours {
		if key == "card_payload" || key == "selection" {
			mine, other := parseText(spec.JSON(value)), parseText(spec.JSON(theirs[key]))
			if text(comparableCard(key, mine)) != text(comparableCard(key, other)) {
				return false
			}
		} else if value != theirs[key] {
			return false
		}
	}
	return true
}

func comparableCard(key string, v pyjson.Value) pyjson.Value {
	if key == "selection" {
		return sorted(v)
	}
	for i := range v.Items {
		v.Items[i] = comparableCard("", v.Items[i])
	}
	var members []pyjson.Member
	for _, m := range v.Members {
		if m.Value = comparableCard(m.Key, m.Value); m.Value.Kind != pyjson.String || m.Value.Text != "" {
			members = append(members, m)
		}
	}
	v.Members = members
	return v
}
