package uagents_test

import (
	"encoding/json"
	"testing"

	"github.com/parley-agents/parley/internal/vectors"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/wire/uagents"
)

// FuzzDecode checks that no bytes crash the reader of envelopes, and that what
// it accepts is written in one form that it reads again as the same.
func FuzzDecode(f *testing.F) {
	file := vectors.Load(f, "envelopes.json")
	for _, c := range vectors.Decode[[]envelopeParseCase](f, file["parse_cases"]) {
		f.Add([]byte(c.Input))
	}
	for _, c := range vectors.Decode[[]envelopeCase](f, file["envelopes"]) {
		f.Add([]byte(c.JSON))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := uagents.Decode(data)
		if err != nil {
			return
		}
		_ = e.Validate()
		_, _ = e.DecodePayload()
		_, _ = e.ID()
		text := e.Encode()
		again, err := uagents.Decode(text)
		if err != nil {
			t.Fatalf("%q is written %q, which is refused: %v", data, text, err)
		}
		if again.Digest() != e.Digest() || string(again.Encode()) != string(text) {
			t.Fatalf("%q is written %q, then %q", data, text, again.Encode())
		}
	})
}

// FuzzPayload reads arbitrary bytes by a model that has every kind of type. No
// input may crash; what is accepted must be canonical: reading it again changes
// nothing, and the strict reader agrees with the lax one on what it accepts.
func FuzzPayload(f *testing.F) {
	model, err := spec.FromGo[laxModel]()
	if err != nil {
		f.Fatal(err)
	}
	lax, err := uagents.NewCodec(model, &uagents.CodecOptions{Lax: true})
	if err != nil {
		f.Fatal(err)
	}
	strict, err := uagents.NewCodec(model, nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range vectors.Decode[[]struct {
		Input     string `json:"input"`
		OK        bool   `json:"ok"`
		Result    string `json:"result"`
		Exception string `json:"exception"`
		Message   string `json:"message"`
	}](f, vectors.Load(f, "payload_parse_lax.json")["cases"]) {
		f.Add([]byte(c.Input))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var value laxModel
		_ = lax.Unmarshal(data, &value)
		loose, looseErr := lax.Normalize(data)
		if text, err := strict.Normalize(data); err == nil && (looseErr != nil || string(loose) != string(text)) {
			t.Fatalf("%q: strict %s, lax %s (%v)", data, text, loose, looseErr)
		}
		if looseErr != nil {
			return
		}
		again, err := lax.Normalize(loose)
		if err != nil || string(again) != string(loose) {
			t.Fatalf("%q becomes %s, then %s (%v)", data, loose, again, err)
		}
	})
}

// FuzzModel reads arbitrary payloads by arbitrary models, as a gateway does that
// learns the models of its peers. Nothing may crash or take no end, and what the
// strict reader takes the lax one takes too.
func FuzzModel(f *testing.F) {
	type recorded struct {
		FieldOrder string `json:"schema_json_field_order"`
	}
	for _, c := range vectors.Decode[[]json.RawMessage](f, vectors.Load(f, "schemas.json")["schemas"]) {
		var schema recorded
		if err := json.Unmarshal(c, &schema); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(schema.FieldOrder), []byte(`{"a": 1, "b": "x", "s": [null, {"k": 2.5}]}`))
	}
	f.Fuzz(func(t *testing.T, schema, payload []byte) {
		model, err := spec.ParseSchema(schema)
		if err != nil {
			return
		}
		strict, err := uagents.NewCodec(model, nil)
		if err != nil {
			return
		}
		lax, err := uagents.NewCodec(model, &uagents.CodecOptions{Lax: true})
		if err != nil {
			t.Fatalf("a codec only if it is strict: %v\n%s", err, schema)
		}
		text, err := strict.Normalize(payload)
		if loose, looseErr := lax.Normalize(payload); err == nil && looseErr != nil {
			t.Fatalf("%q by %s: strict %s, lax %s (%v)", payload, schema, text, loose, looseErr)
		}
	})
}

// FuzzRegistration covers what an Almanac reads from strangers.
func FuzzRegistration(f *testing.F) {
	file := vectors.Load(f, "registration.json")
	for _, text := range file {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := uagents.DecodeRegistration(data); err == nil {
			text, err := r.Encode()
			if err != nil {
				t.Fatalf("%q was read but cannot be written: %v", data, err)
			}
			if _, err := uagents.DecodeRegistration(text); err != nil {
				t.Fatalf("%q is written %q, which is refused: %v", data, text, err)
			}
		}
		_, _ = uagents.DecodeStatusUpdate(data)
		_, _ = uagents.OpenToken(string(data), lenient)
	})
}
