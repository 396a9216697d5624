package uagents_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/internal/vectors"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/wire/uagents"
)

func TestPayloadVectors(t *testing.T) {
	vectors.Load(t, "payloads.json").Run(t, map[string]vectors.Check{"payloads": checkPayloads})
}

// checkPayloads reads each payload by the recorded schema of its model and
// writes it again.
func checkPayloads(t *testing.T, text json.RawMessage) {
	models := recordedModels(t)
	vectors.Cases(t, text, func(c payloadCase) string { return c.ID }, func(t *testing.T, c payloadCase) {
		value, err := pyjson.Parse([]byte(c.JSON), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(pyjson.Append(nil, value, pyjson.Spaced)); got != c.JSON {
			t.Errorf("the text itself, written again:\n got %s\nwant %s", got, c.JSON)
		}
		model, ok := models[c.Digest]
		if !ok {
			t.Logf("no schema for %s here: only the text was checked", c.Model)
			return
		}
		var written []string
		for _, reading := range numberReadings(model) {
			out, err := normalize(t, reading, c.JSON, true)
			if err != nil {
				continue
			}
			written = append(written, out)
			if strict, err := normalize(t, reading, c.JSON, false); out == c.JSON && (err != nil || strict != c.JSON) {
				t.Errorf("strict reading of what a real agent wrote: %s (%v)", strict, err)
			}
		}
		if c.Reparsed.OK && !slices.Contains(written, c.Reparsed.Result) || !c.Reparsed.OK && len(written) > 0 {
			t.Errorf("read and written:\n got %s\nwant ok=%v %s%s", strings.Join(written, "\n  or "), c.Reparsed.OK, c.Reparsed.Result, c.Reparsed.Message)
		}
	})
}

func normalize(t *testing.T, model spec.Type, text string, lax bool) (string, error) {
	t.Helper()
	codec, err := uagents.NewCodec(model, &uagents.CodecOptions{Lax: lax})
	if err != nil {
		t.Fatal(err)
	}
	out, err := codec.Normalize([]byte(text))
	return string(out), err
}

// numberReadings returns the models that a schema may stand for: a schema does
// not tell a float from a Decimal, of which 10 is written 10 and not 10.0.
func numberReadings(model spec.Type) []spec.Type {
	r, ok := model.(*spec.Record)
	if !ok {
		return []spec.Type{model}
	}
	readings := []spec.Type{r}
	for i, f := range r.Fields {
		if f.Type != spec.Float {
			continue
		}
		for _, reading := range slices.Clone(readings) {
			other := *reading.(*spec.Record)
			other.Fields = slices.Clone(other.Fields)
			other.Fields[i].Type = spec.Decimal
			readings = append(readings, &other)
		}
	}
	return readings
}

// Models of the payload vectors that no schema vector has.
type (
	PFloat struct {
		F float64 `json:"f"`
	}
	PStr struct {
		S string `json:"s"`
	}
	PAny struct {
		A any `json:"a"`
	}
)

// recordedModels collects every schema in the vectors by its digest.
func recordedModels(t *testing.T) map[string]spec.Type {
	t.Helper()
	models := make(map[string]spec.Type)
	add := func(digest string, schema []byte) {
		model, err := spec.ParseSchema(schema)
		if err != nil {
			t.Errorf("%s: %v", digest, err)
		}
		models[digest] = model
	}
	for _, model := range []func() (*spec.Record, error){spec.FromGo[PFloat], spec.FromGo[PStr], spec.FromGo[PAny]} {
		r, err := model()
		if err != nil {
			t.Fatal(err)
		}
		digest, err := spec.Digest(r)
		if err != nil {
			t.Fatal(err)
		}
		models[digest] = r
	}
	type recorded struct {
		Digest string          `json:"digest"`
		Order  string          `json:"schema_json_field_order"`
		Schema json.RawMessage `json:"schema"`
	}
	for _, name := range []string{"schemas.json", "mcp.json", "protocols.json"} {
		text, err := vectors.Read(name)
		if err != nil {
			continue
		}
		var file struct {
			Schemas   []recorded
			Protocols []struct{ Manifest struct{ Models []recorded } }
		}
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatal(err)
		}
		for _, s := range file.Schemas {
			add(s.Digest, []byte(s.Order))
		}
		for _, p := range file.Protocols {
			for _, m := range p.Manifest.Models {
				if models[m.Digest] == nil {
					add(m.Digest, m.Schema)
				}
			}
		}
	}
	return models
}

type color string

func (color) EnumValues() []any { return []any{"red", "green"} }

// laxModel is the model of payload_parse_lax.json, described in its notes.
type laxModel struct {
	S   string         `json:"s" parley:"default=d"`
	I   int            `json:"i" parley:"default=0"`
	F   float64        `json:"f" parley:"default=0.0"`
	B   bool           `json:"b" parley:"default=false"`
	DT  *time.Time     `json:"dt"`
	U   *uuid.UUID     `json:"u"`
	U4  *uuid.UUID     `json:"u4" parley:"uuid4"`
	L   []int          `json:"l" parley:"default=[]"`
	ST  *[]int         `json:"st" parley:"set"`
	TD  *time.Duration `json:"td"`
	D   *time.Time     `json:"d" parley:"date"`
	Lit any            `json:"lit,omitempty" parley:"literal='\"a\"|1'"`
	C   *color         `json:"c"`
	Dec *string        `json:"dec" parley:"decimal"`
}

func TestLaxPayloadVectors(t *testing.T) {
	vectors.Load(t, "payload_parse_lax.json").Run(t, map[string]vectors.Check{"cases": checkLaxPayloads})
}

func checkLaxPayloads(t *testing.T, text json.RawMessage) {
	model, err := spec.FromGo[laxModel]()
	if err != nil {
		t.Fatal(err)
	}
	codec, err := uagents.NewCodec(model, &uagents.CodecOptions{Lax: true})
	if err != nil {
		t.Fatal(err)
	}
	type laxCase struct {
		Input     string `json:"input"`
		OK        bool   `json:"ok"`
		Result    string `json:"result"`
		Exception string `json:"exception"`
		Message   string `json:"message"`
	}
	vectors.Cases(t, text, func(c laxCase) string { return c.Input }, func(t *testing.T, c laxCase) {
		got, err := codec.Normalize([]byte(c.Input))
		if (err == nil) != c.OK {
			t.Fatalf("read: %s %v, the library said ok=%v %s", got, err, c.OK, c.Message)
		}
		if err == nil && string(got) != c.Result {
			t.Errorf("read and written:\n got %s\nwant %s", got, c.Result)
		}
		var value laxModel
		if err := codec.Unmarshal([]byte(c.Input), &value); (err == nil) != c.OK {
			t.Errorf("into Go: %v, the library said ok=%v", err, c.OK)
		}
	})
}

func TestChatVectors(t *testing.T) {
	file := vectors.Load(t, "chat.json")
	file.Run(t, map[string]vectors.Check{
		"messages":               checkPayloads,
		"payment_payloads":       checkPayloads,
		"parse":                  checkChatParsing,
		"cards_metadata_content": checkCards,
		"chat_protocol_digest": func(t *testing.T, text json.RawMessage) {
			models := recordedModels(t)
			message, ok := models[chatMessageDigest]
			ack, also := models[chatAckDigest]
			if !ok || !also {
				t.Skip("the schemas lack chat 0.3.0")
			}
			p := spec.Protocol{
				Messages: []spec.Message{{Name: "ChatMessage", Body: message}, {Name: "ChatAcknowledgement", Body: ack}},
				Rules:    []spec.Rule{{Message: "ChatMessage", Replies: []string{"ChatAcknowledgement"}}, {Message: "ChatAcknowledgement"}},
			}
			if got, err := p.Digest(""); err != nil || got != vectors.Decode[string](t, text) {
				t.Errorf("digest = %s (%v), want %s", got, err, text)
			}
		},
	})
}

const (
	chatMessageDigest = "model:2601825997203ee07dbb9ff6e7c71ae7bdaf6a7c8b817361f2f88f4b29c68d0c"
	chatAckDigest     = "model:741eb75692abbeb43c131e364ad939af23f14e8288ba0ec3df130843ef79bd7f"
)

// chatModel is the recorded ChatMessage with what its Python classes do in
// their constructors.
func chatModel(t *testing.T) *spec.Record {
	t.Helper()
	message, ok := recordedModels(t)[chatMessageDigest].(*spec.Record)
	if !ok {
		t.Skip("the schemas lack chat 0.3.0")
	}
	constructed := []spec.Annotation{{Name: uagents.Constructed}}
	message.Annotations = constructed
	for _, name := range []string{"timestamp", "msg_id"} {
		message.Field(name).Annotations = []spec.Annotation{{Name: uagents.Filled}}
	}
	for _, variant := range message.Field("content").Type.(*spec.List).Item.(*spec.Union).Variants {
		variant.(*spec.Record).Annotations = constructed
	}
	return message
}

func checkChatParsing(t *testing.T, text json.RawMessage) {
	type parseCase struct {
		Input  string `json:"input"`
		OK     bool   `json:"ok"`
		Result struct {
			JSON  string   `json:"json"`
			Types []string `json:"types"`
			Text  string   `json:"text()"` // checked by the chat protocol
		} `json:"result"`
		Exception string `json:"exception"`
		Message   string `json:"message"`
	}
	model := chatModel(t)
	vectors.Cases(t, text, func(c parseCase) string { return c.Input }, func(t *testing.T, c parseCase) {
		got, err := normalize(t, model, c.Input, true)
		if (err == nil) != c.OK {
			t.Fatalf("read: %s %v, the library said ok=%v %s", got, err, c.OK, c.Message)
		}
		if err != nil {
			return
		}
		if want := withoutFilled(c.Input, c.Result.JSON); got != want {
			t.Errorf("read and written:\n got %s\nwant %s", got, want)
		}
	})
}

// withoutFilled takes out of the library's text what its constructor made up.
func withoutFilled(input, result string) string {
	in, _ := pyjson.Parse([]byte(input), nil)
	out, _ := pyjson.Parse([]byte(result), nil)
	for _, field := range []string{"timestamp", "msg_id"} {
		if v, _ := in.Get(field); v.Kind == pyjson.Null {
			out.Set(field, pyjson.Value{})
		}
	}
	return string(pyjson.Append(nil, out, pyjson.Spaced))
}

func checkCards(t *testing.T, text json.RawMessage) {
	type card struct {
		ID       string            `json:"id"`
		JSON     string            `json:"json"`
		Metadata map[string]string `json:"metadata"`
	}
	var metadata spec.Type
	for _, variant := range chatModel(t).Field("content").Type.(*spec.List).Item.(*spec.Union).Variants {
		if spec.NameOf(variant) == "MetadataContent" {
			metadata = variant
		}
	}
	vectors.Cases(t, text, func(c card) string { return c.ID }, func(t *testing.T, c card) {
		if got, err := normalize(t, metadata, c.JSON, false); err != nil || got != c.JSON {
			t.Errorf("read and written: %s (%v), want %s", got, err, c.JSON)
		}
		var content struct{ Metadata map[string]string }
		if err := json.Unmarshal([]byte(c.JSON), &content); err != nil || len(content.Metadata) != len(c.Metadata) {
			t.Errorf("metadata = %v (%v), want %v", content.Metadata, err, c.Metadata)
		}
	})
}
