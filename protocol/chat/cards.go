package chat

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/wire/uagents"
)

// Limits of cards.
const (
	MaxCardSize  = 128 << 10 // bytes of what a card shows, as JSON, and of a selection
	MaxCardDepth = 8         // of the tree of a [CustomCard]; its root is 1 deep
)

// A Card is something that a person can press, fill in or choose from. It travels
// as a [MetadataContent], so that a client without cards just ignores it.
type Card struct {
	ID          uuid.UUID   // comes back in the answer; uuid.Nil for none
	Payload     CardPayload // what is shown
	Terminal    bool        // the conversation ends with this card
	DrawerWidth int         // the width it would like to have, in pixels; 0 for no wish
}

// CardPayload is what a [Card] shows: a [CarouselCard], [DetailCard], [FormCard],
// [ReviewCard] or [CustomCard].
type CardPayload interface{ cardKind() string }

// A CardResponse is the answer to a [Card].
type CardResponse struct {
	CardID    uuid.UUID      // of the card; uuid.Nil if that has none
	Text      string         // typed instead of pressed; "" for none
	Selection map[string]any // what the person chose: text, numbers and booleans; nil for none
	Cancelled bool           // the person closed the card
}

// The keys of metadata that make it a card or an answer to one.
const (
	cardVersionKey = "card_protocol_version"
	interactionKey = "requires_card_interaction"
	cardKindKey    = "card_kind"
	cardPayloadKey = "card_payload"
	cardIDKey      = "card_id"
	terminalKey    = "is_terminal"
	drawerWidthKey = "preferred_drawer_width_px"
	cardTextKey    = "text"
	selectionKey   = "selection"
	cancelledKey   = "cancelled"
)

// What these keys say.
const (
	cardVersion = "1"
	yes         = "true"
)

// Content returns the card as content of a message. A card that the readers of
// other libraries would refuse is an error.
func (c Card) Content() (MetadataContent, error) {
	if c.Payload == nil {
		return MetadataContent{}, fault.Errorf(fault.Malformed, "payload", "a card needs something to show, such as a CarouselCard")
	}
	kind := c.Payload.cardKind()
	payload, err := cardForms[kind].write(c.Payload)
	if err == nil { // what is written is read: there is one place for what a card may be
		_, err = cardForms[kind].read(payload)
	}
	if err != nil {
		return MetadataContent{}, fault.In("payload", err)
	}
	metadata := map[string]string{
		cardVersionKey: cardVersion, interactionKey: yes,
		cardKindKey: kind, cardPayloadKey: payload,
	}
	if err := writeCardID(metadata, c.ID); err != nil {
		return MetadataContent{}, err
	}
	if c.Terminal {
		metadata[terminalKey] = yes
	}
	if c.DrawerWidth != 0 {
		metadata[drawerWidthKey] = strconv.Itoa(c.DrawerWidth)
	}
	return MetadataContent{Metadata: metadata}, nil
}

// CardOf returns the card that a content is, if it is one. One that is not as it
// should be is an error.
func CardOf(content Content) (card Card, ok bool, err error) {
	metadata, ok := cardMetadata(content)
	kind, isCard := metadata[cardKindKey]
	if !ok || !isCard {
		return Card{}, false, nil
	}
	form, known := cardForms[kind]
	payload, shown := metadata[cardPayloadKey]
	switch {
	case !known:
		err = fault.Errorf(fault.Unsupported, cardKindKey, "no card is called %q; expected one of %s",
			pyjson.Brief(kind), strings.Join(slices.Sorted(maps.Keys(cardForms)), ", "))
	case !shown:
		err = fault.Errorf(fault.Malformed, cardPayloadKey, "the card shows nothing")
	default:
		card.Payload, err = form.read(payload)
		err = fault.In(cardPayloadKey, err)
	}
	if err == nil {
		card.ID, err = readCardID(metadata)
	}
	if width, wished := metadata[drawerWidthKey]; wished && err == nil {
		if card.DrawerWidth, err = strconv.Atoi(strings.TrimSpace(width)); err != nil {
			err = fault.Errorf(fault.Malformed, drawerWidthKey, "expected an integer, found %q", pyjson.Brief(width))
		}
	}
	if err != nil {
		return Card{}, false, err
	}
	card.Terminal = metadata[terminalKey] == yes
	return card, true, nil
}

// Content returns the answer as content of a message.
func (r CardResponse) Content() (MetadataContent, error) {
	metadata := map[string]string{cardVersionKey: cardVersion}
	if err := writeCardID(metadata, r.CardID); err != nil {
		return MetadataContent{}, err
	}
	if r.Text != "" {
		metadata[cardTextKey] = r.Text
	}
	if r.Selection != nil {
		text, err := writeCompact(selectionCodec, r.Selection)
		if err == nil {
			_, err = readSelection(text)
		}
		if err != nil {
			return MetadataContent{}, fault.In(selectionKey, err)
		}
		metadata[selectionKey] = text
	}
	if r.Cancelled {
		metadata[cancelledKey] = yes
	}
	return MetadataContent{Metadata: metadata}, nil
}

// CardResponseOf returns the answer that a content is, if it is one. Integers in
// its selection are int64, or json.Number beyond that, other numbers float64.
func CardResponseOf(content Content) (response CardResponse, ok bool, err error) {
	metadata, ok := cardMetadata(content)
	if _, isCard := metadata[cardKindKey]; !ok || isCard {
		return CardResponse{}, false, nil
	}
	response = CardResponse{Text: metadata[cardTextKey], Cancelled: metadata[cancelledKey] == yes}
	if text, chosen := metadata[selectionKey]; chosen {
		response.Selection, err = readSelection(text)
		err = fault.In(selectionKey, err)
	}
	if err == nil {
		response.CardID, err = readCardID(metadata)
	}
	if err != nil {
		return CardResponse{}, false, err
	}
	return response, true, nil
}

// cardMetadata returns the metadata of a card or of an answer to one.
func cardMetadata(content Content) (metadata map[string]string, ok bool) {
	c, _ := content.(MetadataContent)
	return c.Metadata, c.Metadata[cardVersionKey] == cardVersion
}

func writeCardID(metadata map[string]string, id uuid.UUID) error {
	if id == uuid.Nil {
		return nil
	}
	metadata[cardIDKey] = id.String()
	_, err := readCardID(metadata)
	return err
}

func readCardID(metadata map[string]string) (uuid.UUID, error) {
	text, given := metadata[cardIDKey]
	if !given {
		return uuid.Nil, nil
	}
	id, err := uuid.Parse(text)
	if err != nil || id.Version() != 4 || id.Variant() != uuid.RFC4122 {
		return uuid.Nil, fault.Errorf(fault.Malformed, cardIDKey, "expected a UUID of version 4, found %q", pyjson.Brief(text))
	}
	return id, nil
}

// A cardForm reads and writes one kind of card as JSON.
type cardForm struct {
	write func(CardPayload) (string, error)
	read  func(string) (CardPayload, error)
}

var cardForms = map[string]cardForm{
	"carousel": formOf[CarouselCard](),
	"detail":   formOf[DetailCard](),
	"form":     formOf[FormCard](),
	"review":   formOf[ReviewCard](),
	"custom":   formOf[CustomCard](),
}

func formOf[P CardPayload]() cardForm {
	writer, reader := cardCodec[P](true), cardCodec[P](false)
	return cardForm{
		write: func(payload CardPayload) (string, error) { return writeCompact(writer, payload) },
		read: func(text string) (CardPayload, error) {
			var payload P
			codec, err := reader()
			if err == nil {
				err = codec.Unmarshal([]byte(text), &payload)
			}
			if err == nil {
				err = checkCard(payload)
			}
			return payload, err
		},
	}
}

func cardCodec[P CardPayload](writes bool) func() (*uagents.Codec, error) {
	return sync.OnceValues(func() (*uagents.Codec, error) {
		model, err := spec.FromGo[P]()
		if err != nil {
			return nil, err
		}
		tighten(model, writes, make(map[spec.Type]bool))
		return uagents.NewCodec(model, &uagents.CodecOptions{MaxSize: MaxCardSize})
	})
}

// tighten makes all records of a model refuse keys that they do not know. A field
// with a default is never null; where a zero in Go stands for the default, that is
// written.
func tighten(t spec.Type, writes bool, seen map[spec.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	switch t := t.(type) {
	case *spec.Record:
		t.Closed = true
		for i := range t.Fields {
			f := &t.Fields[i]
			if f.Default != "" && f.Nullable {
				f.Optional, f.Nullable = writes, false
			}
			tighten(f.Type, writes, seen)
		}
	case *spec.List:
		tighten(t.Item, writes, seen)
	case *spec.Union:
		for _, variant := range t.Variants {
			tighten(variant, writes, seen)
		}
	}
}

var selectionCodec = sync.OnceValues(func() (*uagents.Codec, error) {
	return uagents.NewCodec(&spec.Alias{Name: "Selection", Type: &spec.Map{Key: spec.String, Value: spec.Any}}, &uagents.CodecOptions{MaxSize: MaxCardSize})
})

func readSelection(text string) (selection map[string]any, err error) {
	codec, err := selectionCodec()
	if err == nil {
		err = codec.Unmarshal([]byte(text), &selection)
	}
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(selection)) {
		switch selection[key].(type) {
		case nil, []any, map[string]any:
			return nil, fault.Errorf(fault.Malformed, pyjson.Brief(key), "a selection holds text, numbers and booleans only")
		}
	}
	return selection, nil
}

// writeCompact writes JSON as the libraries write cards: without blanks, and
// without fields that are not set.
func writeCompact(codec func() (*uagents.Codec, error), v any) (string, error) {
	c, err := codec()
	if err != nil {
		return "", err
	}
	text, err := c.Marshal(v)
	if err != nil {
		return "", err
	}
	value, err := pyjson.Parse(text, nil)
	if err == nil {
		err = spellFloats(&value)
	}
	if err != nil {
		return "", err
	}
	if _, isSelection := v.(map[string]any); !isSelection {
		value = withoutNulls(value)
	}
	return string(pyjson.Append(nil, value, pyjson.Compact)), nil
}

// withoutNulls leaves selections as they are: a null there was meant.
func withoutNulls(v pyjson.Value) pyjson.Value {
	for i := range v.Items {
		v.Items[i] = withoutNulls(v.Items[i])
	}
	members := v.Members[:0]
	for _, m := range v.Members {
		if m.Key != selectionKey {
			m.Value = withoutNulls(m.Value)
		}
		if m.Value.Kind != pyjson.Null {
			members = append(members, m)
		}
	}
	v.Members = members
	return v
}

// spellFloats spells floats as the libraries do in cards, where small ones look
// other than in messages: 0.00001 and 1e-7 are 1e-05 and 1e-07 there. It refuses
// those that JSON has no words for.
func spellFloats(v *pyjson.Value) error {
	if v.Kind == pyjson.Float {
		size := math.Abs(v.Num)
		switch {
		case math.IsNaN(size) || math.IsInf(size, 0):
			return fault.Errorf(fault.Unsupported, "", "JSON has no number %v", v.Num)
		case size >= 1e-5 && size < 1e-4:
			*v = pyjson.OfInt(strconv.FormatFloat(v.Num, 'f', -1, 64))
		case size > 0 && size < 1e-5:
			*v = pyjson.OfInt(strings.Replace(strconv.FormatFloat(v.Num, 'e', -1, 64), "e-0", "e-", 1))
		}
	}
	for i := range v.Items {
		if err := spellFloats(&v.Items[i]); err != nil {
			return fault.In("["+strconv.Itoa(i)+"]", err)
		}
	}
	for i := range v.Members {
		if err := spellFloats(&v.Members[i].Value); err != nil {
			return fault.In(pyjson.Brief(v.Members[i].Key), err)
		}
	}
	return nil
}

// checkCard checks what the model of a card does not say.
func checkCard(payload CardPayload) error {
	switch p := payload.(type) {
	case FormCard:
		for i, f := range p.Fields {
			if err := f.check(); err != nil {
				return fault.In("fields["+strconv.Itoa(i)+"]", err)
			}
		}
	case CustomCard:
		return fault.In("root", checkNode(p.Root, 1))
	}
	return nil
}

func (f FormField) check() error {
	if f.Kind == "select" && len(f.Options) == 0 {
		return fault.Errorf(fault.Malformed, "options", "a field of the kind select needs options")
	}
	return nil
}

func checkNode(n Node, depth int) error {
	if depth > MaxCardDepth {
		return fault.Errorf(fault.TooLarge, "", "the tree is more than %d deep", MaxCardDepth)
	}
	switch n := n.(type) {
	case InputNode:
		return n.check()
	case SectionNode:
		return checkChildren(n.Children, depth)
	case GroupNode:
		return checkChildren(n.Children, depth)
	case ListNode:
		for i, item := range n.Items {
			if err := checkChildren(item.Children, depth); err != nil {
				return fault.In("items["+strconv.Itoa(i)+"]", err)
			}
		}
	}
	return nil
}

func checkChildren(children []Node, depth int) error {
	for i, child := range children {
		if err := checkNode(child, depth+1); err != nil {
			return fault.In("children["+strconv.Itoa(i)+"]", err)
		}
	}
	return nil
}
