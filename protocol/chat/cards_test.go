package chat_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/vectors"
	"github.com/parley-agents/parley/protocol/chat"
)

// An agent shows two snacks, each with a button, beside its text.
func ExampleCard_Content() {
	order := func(item string) chat.CtaAction {
		return chat.CtaAction{Label: "Order", Selection: map[string]any{"item_id": item}}
	}
	card := chat.Card{
		ID: uuid.MustParse("3f2c1a4e-8b5d-4f6a-9c7b-1d2e3f4a5b6c"),
		Payload: chat.CarouselCard{Title: "Snacks", Items: []chat.CarouselItem{
			{ID: "apple", Title: "Apple", PrimaryCta: order("apple")},
			{ID: "banana", Title: "Banana", PrimaryCta: order("banana")},
		}},
	}

	content, err := card.Content()
	if err != nil {
		fmt.Println(err)
		return
	}
	m := chat.Text("Pick one:")
	m.Content = append(m.Content, content)

	for _, key := range slices.Sorted(maps.Keys(content.Metadata)) {
		fmt.Println(key, content.Metadata[key])
	}
	// Output:
	// card_id 3f2c1a4e-8b5d-4f6a-9c7b-1d2e3f4a5b6c
	// card_kind carousel
	// card_payload {"title":"Snacks","items":[{"id":"apple","title":"Apple","primary_cta":{"label":"Order","selection":{"item_id":"apple"},"primary":false}},{"id":"banana","title":"Banana","primary_cta":{"label":"Order","selection":{"item_id":"banana"},"primary":false}}]}
	// card_protocol_version 1
	// requires_card_interaction true
}

// A client reads the card and answers with what its button says.
func ExampleCardOf() {
	received := chat.MetadataContent{Metadata: map[string]string{
		"card_protocol_version": "1", "requires_card_interaction": "true", "card_kind": "review",
		"card_id":      "3f2c1a4e-8b5d-4f6a-9c7b-1d2e3f4a5b6c",
		"card_payload": `{"title":"Two apples","summary_rows":[{"label":"price","value":"2 FET"}],"approve_cta":{"label":"Pay","selection":{"approved":true}}}`,
	}}

	card, ok, err := chat.CardOf(received)
	if err != nil || !ok {
		fmt.Println("no card:", err)
		return
	}
	review := card.Payload.(chat.ReviewCard)
	fmt.Println(review.Title, review.SummaryRows[0].Value, review.ApproveCta.Label)

	answer, err := chat.CardResponse{CardID: card.ID, Selection: review.ApproveCta.Selection}.Content()
	fmt.Println(answer.Metadata["selection"], err)
	// Output:
	// Two apples 2 FET Pay
	// {"approved":true} <nil>
}

// The agent learns what the person chose.
func ExampleCardResponseOf() {
	m := chat.ChatMessage{Content: []chat.Content{
		chat.TextContent{Text: "this one"},
		chat.MetadataContent{Metadata: map[string]string{"card_protocol_version": "1", "selection": `{"item_id":"apple","count":2}`}},
	}}

	for _, content := range m.Content {
		response, ok, err := chat.CardResponseOf(content)
		if ok && !response.Cancelled {
			fmt.Println(response.Selection["item_id"], response.Selection["count"], err)
		}
	}
	// Output: apple 2 <nil>
}

func ExampleCustomCard() {
	content, err := chat.Card{Terminal: true, Payload: chat.CustomCard{Root: chat.SectionNode{
		Title: "Weather",
		Children: []chat.Node{
			chat.HeadingNode{Value: "Sunny"},
			chat.GroupNode{Direction: "row", Gap: new(8), Children: []chat.Node{
				chat.BadgeNode{Label: "21 °C", Variant: "info"},
				chat.ButtonNode{Label: "Tomorrow?", Action: chat.ButtonAction{Selection: map[string]any{"day": 1}}},
			}},
		},
	}}}.Content()

	fmt.Println(content.Metadata["card_payload"], err)
	// Output:
	// {"root":{"type":"section","title":"Weather","children":[{"type":"heading","value":"Sunny","level":2},{"type":"group","direction":"row","gap":8,"children":[{"type":"badge","label":"21 °C","variant":"info"},{"type":"button","label":"Tomorrow?","primary":false,"action":{"selection":{"day":1}}}]}]}} <nil>
}

type contentOf interface {
	Content() (chat.MetadataContent, error)
}

// The vectors as Go authors write them. Each gives the metadata that the library
// made, and reading that gives it back.
func TestCardVectors(t *testing.T) {
	id := uuid.MustParse("3f2c1a4e-8b5d-4f6a-9c7b-1d2e3f4a5b6c")
	cta := chat.CtaAction{Label: "Go", Selection: map[string]any{"id": int64(1)}}
	written := map[string]contentOf{
		"carousel": chat.Card{ID: id, Payload: chat.CarouselCard{Title: "T", Items: []chat.CarouselItem{{ID: "1", Title: "one", PrimaryCta: cta}}}},
		"detail":   chat.Card{Terminal: true, Payload: chat.DetailCard{Title: "D", Ctas: []chat.CtaAction{cta}}},
		"form": chat.Card{DrawerWidth: 400, Payload: chat.FormCard{
			Fields: []chat.FormField{{Name: "n", Kind: "text", Label: "L"}}, SubmitCta: cta,
		}},
		"review": chat.Card{Payload: chat.ReviewCard{Title: "R", SummaryRows: []chat.SummaryRow{{Label: "a", Value: "b"}}, ApproveCta: cta}},
		"custom": chat.Card{Payload: chat.CustomCard{Root: chat.SectionNode{Type: "section", Children: []chat.Node{
			chat.TextNode{Type: "text", Value: "v"}, chat.HeadingNode{Type: "heading", Value: "h", Level: 2},
		}}}},
		"response_text":      chat.CardResponse{CardID: id, Text: "hi"},
		"response_selection": chat.CardResponse{Selection: map[string]any{"a": int64(1), "b": true, "c": 1.5, "d": "é"}},
		"response_cancelled": chat.CardResponse{Cancelled: true},
	}
	type vector struct {
		ID       string            `json:"id"`
		JSON     string            `json:"json"` // the same metadata in a content
		Metadata map[string]string `json:"metadata"`
	}
	vectors.Cases(t, vectors.Load(t, "chat.json")["cards_metadata_content"], func(c vector) string { return c.ID }, func(t *testing.T, c vector) {
		want, known := written[c.ID]
		if !known {
			t.Fatal("no card here is like it")
		}
		content, err := want.Content()
		if err != nil || !maps.Equal(content.Metadata, c.Metadata) {
			t.Errorf("written %v (%v)\nwant %v", content.Metadata, err, c.Metadata)
		}

		card, isCard, err := chat.CardOf(chat.MetadataContent{Metadata: c.Metadata})
		response, isResponse, responseErr := chat.CardResponseOf(chat.MetadataContent{Metadata: c.Metadata})
		if err != nil || responseErr != nil || isCard == isResponse {
			t.Fatalf("a card: %v (%v), a response: %v (%v)", isCard, err, isResponse, responseErr)
		}
		got := contentOf(card)
		if isResponse {
			got = response
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("read %+v\nwant %+v", got, want)
		}
	})
}

func TestOtherContentIsNoCard(t *testing.T) {
	for _, content := range []chat.Content{
		nil,
		chat.TextContent{Text: "card"},
		chat.MetadataContent{},
		chat.MetadataContent{Metadata: map[string]string{"card_kind": "detail"}},
		chat.MetadataContent{Metadata: map[string]string{"card_protocol_version": "2", "card_kind": "detail"}},
	} {
		if _, ok, err := chat.CardOf(content); ok || err != nil {
			t.Errorf("CardOf(%+v) = %v, %v", content, ok, err)
		}
		if _, ok, err := chat.CardResponseOf(content); ok || err != nil {
			t.Errorf("CardResponseOf(%+v) = %v, %v", content, ok, err)
		}
	}
}

func nested(depth int) chat.Node {
	if depth == 1 {
		return chat.DividerNode{}
	}
	if depth%3 == 0 {
		return chat.ListNode{Items: []chat.ListItem{{Children: []chat.Node{nested(depth - 1)}}}}
	}
	return chat.SectionNode{Children: []chat.Node{nested(depth - 1)}}
}

func TestCardsAreEightDeepAtMost(t *testing.T) {
	content, err := chat.Card{Payload: chat.CustomCard{Root: nested(8)}}.Content()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := chat.CardOf(content); !ok || err != nil {
		t.Errorf("eight deep: %v, %v", ok, err)
	}
	if _, err := (chat.Card{Payload: &chat.CustomCard{Root: nested(9)}}).Content(); fault.CodeOf(err) != fault.TooLarge {
		t.Errorf("nine deep: %v", err)
	}
}

func TestCardsHaveALimitOfSize(t *testing.T) {
	long := strings.Repeat("x", chat.MaxCardSize)
	if _, err := (chat.Card{Payload: chat.CustomCard{Root: chat.TextNode{Value: long}}}).Content(); fault.CodeOf(err) != fault.TooLarge {
		t.Errorf("a long card is written: %v", err)
	}
	for key, value := range map[string]string{"card_payload": `{"root":{"type":"text","value":"` + long + `"}}`, "selection": `{"a":"` + long + `"}`} {
		block := chat.MetadataContent{Metadata: map[string]string{"card_protocol_version": "1", key: value}}
		_, _, err := chat.CardResponseOf(block)
		if key == "card_payload" {
			block.Metadata["card_kind"] = "custom"
			_, _, err = chat.CardOf(block)
		}
		if fault.CodeOf(err) != fault.TooLarge {
			t.Errorf("a long %s is read: %v", key, err)
		}
	}
}

// A refusal names the place in the card.
func TestCardsThatAreRefused(t *testing.T) {
	for _, tc := range []struct{ name, kind, payload, want string }{
		{"no such kind", "poster", `{}`, `unsupported: card_kind: no card is called "poster"; expected one of carousel, custom, detail, form, review`},
		{"no JSON", "detail", `title`, "malformed: card_payload: expected a value at byte 0 of the JSON text, found 't'"},
		{"unknown key", "detail", `{"title":"D","ctas":[{"label":"Go","selection":{}}],"colour":"red"}`, "malformed: card_payload.colour: DetailCard has no such field"},
		{"unknown key inside", "detail", `{"title":"D","ctas":[{"label":"Go","selection":{},"x":1}]}`, "malformed: card_payload.ctas[0].x: CtaAction has no such field"},
		{"unknown key in a node", "custom", `{"root":{"type":"divider","x":1}}`, "malformed: card_payload.root.x: DividerNode has no such field"},
		{"missing", "detail", `{"ctas":[]}`, "malformed: card_payload.title: the field is required"},
		{"empty list", "carousel", `{"items":[]}`, "malformed: card_payload.items: expected at least 1 items, found 0"},
		{"number for text", "detail", `{"title":5,"ctas":[]}`, "malformed: card_payload.title: expected a string, found an integer"},
		{"word of no list", "custom", `{"root":{"type":"badge","label":"b","variant":"loud"}}`, `malformed: card_payload.root.variant: "loud" is no literal; expected one of "info", "success", "warning"`},
		{"null for a default", "custom", `{"root":{"type":"heading","value":"h","level":null}}`, `malformed: card_payload.root.level: null is no literal; expected one of 1, 2, 3`},
		{"select without options", "form", `{"fields":[{"name":"n","kind":"select","label":"l"}],"submit_cta":{"label":"Go","selection":{}}}`, "malformed: card_payload.fields[0].options: a field of the kind select needs options"},
		{"select without options in a tree", "custom", `{"root":{"type":"section","children":[{"type":"input","name":"n","kind":"select","label":"l","options":[]}]}}`, "malformed: card_payload.root.children[0].options: a field of the kind select needs options"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, ok, err := chat.CardOf(chat.MetadataContent{Metadata: map[string]string{
				"card_protocol_version": "1", "card_kind": tc.kind, "card_payload": tc.payload,
			}})
			if ok || err == nil || err.Error() != tc.want {
				t.Errorf("CardOf = %v, %v\nwant %s", ok, err, tc.want)
			}
		})
	}
	ok := `{"title":"D","ctas":[{"label":"Go","selection":{}}]}`
	for key, value := range map[string]string{"card_id": "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "preferred_drawer_width_px": "wide"} {
		metadata := map[string]string{"card_protocol_version": "1", "card_kind": "detail", "card_payload": ok, key: value}
		if _, _, err := chat.CardOf(chat.MetadataContent{Metadata: metadata}); err == nil || !strings.HasPrefix(err.Error(), "malformed: "+key+": ") {
			t.Errorf("%s %q: %v", key, value, err)
		}
	}
}

// Floats look in cards as the library writes them there.
func TestFloatsInCards(t *testing.T) {
	for want, f := range map[string]float64{
		"2.0": 2, "-0.0": math.Copysign(0, -1), "1e+16": 1e16, "9999999999999998.0": 9999999999999998, "1.2345678901234568e+17": 123456789012345678,
		"0.0001": 1e-4, "0.000015": 1.5e-5, "0.00001": 1e-5, "-1.25e-6": -1.25e-6, "1e-7": 1e-7, "1.5e-10": 1.5e-10, "5e-324": 5e-324,
	} {
		content, err := chat.CardResponse{Selection: map[string]any{"f": f}}.Content()
		if got := content.Metadata["selection"]; got != `{"f":`+want+`}` || err != nil {
			t.Errorf("%v is written %s (%v), want %s", f, got, err, want)
		}
		response, _, err := chat.CardResponseOf(content)
		if got := response.Selection["f"]; got != f || err != nil {
			t.Errorf("%v is read as %v (%v)", f, got, err)
		}
	}
}

// Authors learn of mistakes when they make the card, not when nobody sees it.
func TestCardsThatCannotBeWritten(t *testing.T) {
	cta := func(v any) []chat.CtaAction {
		return []chat.CtaAction{{Label: "Go", Selection: map[string]any{"v": v}}}
	}
	for name, tc := range map[string]struct {
		card contentOf
		want string
	}{
		"nothing":        {chat.Card{}, "malformed: payload: a card needs something to show, such as a CarouselCard"},
		"no buttons":     {chat.Card{Payload: chat.DetailCard{Title: "D"}}, "malformed: payload.ctas: expected at least 1 items, found 0"},
		"no root":        {chat.Card{Payload: chat.CustomCard{}}, "malformed: payload.root: nil where a value is needed"},
		"level 4":        {chat.Card{Payload: chat.CustomCard{Root: chat.HeadingNode{Level: 4}}}, "malformed: payload.root.level: 4 is no value of literal; expected one of 1, 2, 3"},
		"NaN":            {chat.Card{Payload: chat.DetailCard{Ctas: cta(math.NaN())}}, "unsupported: payload.ctas[0].selection.v: JSON has no number NaN"},
		"an id of v1":    {chat.CardResponse{CardID: uuid.MustParse("6ba7b810-9dad-11d1-80b4-00c04fd430c8")}, `malformed: card_id: expected a UUID of version 4, found "6ba7b810-9dad-11d1-80b4-00c04fd430c8"`},
		"a chosen list":  {chat.CardResponse{Selection: map[string]any{"a": []int{1}}}, "malformed: selection.a: a selection holds text, numbers and booleans only"},
		"a chosen null":  {chat.CardResponse{Selection: map[string]any{"a": nil}}, "malformed: selection.a: a selection holds text, numbers and booleans only"},
		"a chosen +Inf":  {chat.CardResponse{Selection: map[string]any{"a": math.Inf(1)}}, "unsupported: selection.a: JSON has no number +Inf"},
		"half a letter":  {chat.CardResponse{Selection: map[string]any{"a": "\xff"}}, "malformed: selection.a: text must be valid UTF-8"},
		"a null is kept": {chat.Card{Payload: chat.DetailCard{Ctas: cta(nil)}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			content, err := tc.card.Content()
			if got := fmt.Sprint(err); got != tc.want && tc.want != "" {
				t.Errorf("error %s\nwant %s", got, tc.want)
			}
			if tc.want == "" && (err != nil || !strings.Contains(content.Metadata["card_payload"], `"selection":{"v":null}`)) {
				t.Errorf("written %s (%v)", content.Metadata, err)
			}
		})
	}
}

// FuzzCard checks that no metadata crashes, and that a card or answer that was
// read is written in a form that reads as the same.
func FuzzCard(f *testing.F) {
	var cases []struct{ Metadata map[string]string }
	if err := json.Unmarshal(vectors.Load(f, "chat.json")["cards_metadata_content"], &cases); err != nil {
		f.Fatal(err)
	}
	for _, c := range cases {
		f.Add(c.Metadata["card_kind"], c.Metadata["card_payload"], c.Metadata["selection"], c.Metadata["card_id"])
	}
	f.Add("custom", `{"root":{"type":"list","items":[{"children":[{"type":"image","src":""}],"action":{"selection":{"a":[null,1e30]}}}]}}`, `{}`, "")
	f.Fuzz(func(t *testing.T, kind, payload, selection, id string) {
		metadata := map[string]string{"card_protocol_version": "1", "card_kind": kind, "card_payload": payload, "selection": selection, "card_id": id}
		if id == "" {
			delete(metadata, "card_id")
		}
		card, _, err := chat.CardOf(chat.MetadataContent{Metadata: metadata})
		checkAgain(t, card, err, func(c chat.Content) (contentOf, bool, error) { return fromAny(chat.CardOf(c)) })

		delete(metadata, "card_kind")
		response, _, err := chat.CardResponseOf(chat.MetadataContent{Metadata: metadata})
		checkAgain(t, response, err, func(c chat.Content) (contentOf, bool, error) { return fromAny(chat.CardResponseOf(c)) })
	})
}

func fromAny[C contentOf](c C, ok bool, err error) (contentOf, bool, error) { return c, ok, err }

func checkAgain(t *testing.T, first contentOf, err error, read func(chat.Content) (contentOf, bool, error)) {
	t.Helper()
	if err != nil {
		return
	}
	content, err := first.Content()
	if code := fault.CodeOf(err); code == fault.Unsupported || code == fault.TooLarge { // NaN; escapes make text longer
		return
	}
	if err != nil {
		t.Fatalf("%+v was read and cannot be written: %v", first, err)
	}
	second, ok, err := read(content)
	if err != nil || !ok {
		t.Fatalf("%+v\nis written %v\nand read %v, %v", first, content, ok, err)
	}
	if again, err := second.Content(); err != nil || !maps.Equal(again.Metadata, content.Metadata) {
		t.Fatalf("%+v\nis written %v\nand then %v (%v)", first, content, again, err)
	}
}
