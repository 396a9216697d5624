package uagents_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/internal/vectors"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/wire/uagents"
)

// lenient verifies what the real library verifies.
var lenient = identity.NewVerifier(&identity.VerifierOptions{Lenient: true})

// An outcome is what the library did: it returned or it raised.
type outcome struct {
	OK        bool            `json:"ok"`
	Result    json.RawMessage `json:"result"`
	Exception string          `json:"exception"`
	Message   string          `json:"message"`
}

func TestEnvelopeVectors(t *testing.T) {
	vectors.Load(t, "envelopes.json").Run(t, map[string]vectors.Check{
		"envelopes":   checkEnvelopes,
		"parse_cases": checkEnvelopeParsing,
	})
}

type envelopeFields struct {
	Version        int64   `json:"version"`
	Sender         string  `json:"sender"`
	Target         string  `json:"target"`
	Session        string  `json:"session"`
	SchemaDigest   string  `json:"schema_digest"`
	ProtocolDigest *string `json:"protocol_digest"`
	Payload        *string `json:"payload"`
	Expires        *uint64 `json:"expires"`
	Nonce          *uint64 `json:"nonce"`
}

type envelopeCase struct {
	Name        string         `json:"name"`
	Seed        string         `json:"seed"`
	Fields      envelopeFields `json:"fields"`
	PayloadText *string        `json:"payload_text"`
	Payload     *string        `json:"payload_b64"`
	Preimage    string         `json:"digest_preimage_hex"`
	Digest      string         `json:"digest_hex"`
	Signature   *string        `json:"signature"`
	JSON        string         `json:"json"`
	Keys        []string       `json:"json_pretty_keys_in_order"`
	Verify      outcome        `json:"verify"`
}

func checkEnvelopes(t *testing.T, text json.RawMessage) {
	vectors.Cases(t, text, func(c envelopeCase) string { return c.Name }, func(t *testing.T, c envelopeCase) {
		e := &uagents.Envelope{
			Version: c.Fields.Version, Sender: identity.Address(c.Fields.Sender), Target: identity.Address(c.Fields.Target),
			Session: uuid.MustParse(c.Fields.Session), SchemaDigest: c.Fields.SchemaDigest, ProtocolDigest: c.Fields.ProtocolDigest,
			Payload: c.Fields.Payload, Expires: c.Fields.Expires, Nonce: c.Fields.Nonce,
		}
		if c.PayloadText != nil {
			e.SetPayload([]byte(*c.PayloadText))
		}
		e.Signature = c.Signature

		if got := e.Digest(); hex.EncodeToString(got[:]) != c.Digest {
			t.Errorf("digest = %x, want %s", got, c.Digest)
		}
		if got := string(e.Encode()); got != c.JSON {
			t.Errorf("encoded:\n got %s\nwant %s", got, c.JSON)
		}
		checkVerdict(t, e, c.Verify)
		decoded, err := uagents.Decode([]byte(c.JSON))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(decoded.Encode()); got != c.JSON {
			t.Errorf("decoded and encoded:\n got %s\nwant %s", got, c.JSON)
		}
		if key := seedKey(t, c.Seed); key.Address() == e.Sender {
			e.Sign(key)
			if err := e.Verify(lenient); err != nil {
				t.Errorf("signed anew: %v", err)
			}
		}
	})
}

func seedKey(t testing.TB, seed string) *identity.Key {
	t.Helper()
	key, err := identity.FromSeed(seed, 0)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func checkVerdict(t *testing.T, e *uagents.Envelope, want outcome) {
	t.Helper()
	err := e.Verify(lenient)
	if (err == nil) != want.OK {
		t.Errorf("verify: %v, the library said ok=%v %s", err, want.OK, want.Message)
	}
	if err != nil && !strings.HasSuffix(err.Error(), want.Message) {
		t.Errorf("verify: %q does not end with the library's %q", err, want.Message)
	}
}

type envelopeParseCase struct {
	Name   string `json:"name"`
	Input  string `json:"input"`
	OK     bool   `json:"ok"`
	Result struct {
		JSON   string  `json:"json"`
		Digest string  `json:"digest_hex"`
		Verify outcome `json:"verify"`
	} `json:"result"`
	Exception string `json:"exception"`
}

func checkEnvelopeParsing(t *testing.T, text json.RawMessage) {
	vectors.Cases(t, text, func(c envelopeParseCase) string { return c.Name }, func(t *testing.T, c envelopeParseCase) {
		e, err := uagents.Decode([]byte(c.Input))
		if (err == nil) != c.OK {
			t.Fatalf("decode: %v, the library said ok=%v %s", err, c.OK, c.Exception)
		}
		if err != nil {
			return
		}
		if got := string(e.Encode()); got != c.Result.JSON {
			t.Errorf("encoded:\n got %s\nwant %s", got, c.Result.JSON)
		}
		if got := e.Digest(); hex.EncodeToString(got[:]) != c.Result.Digest {
			t.Errorf("digest = %x, want %s", got, c.Result.Digest)
		}
		checkVerdict(t, e, c.Result.Verify)
	})
}

type payloadCase struct {
	ID          string `json:"id"`
	Model       string `json:"model"`
	Description string `json:"description"`
	JSON        string `json:"json"`
	Digest      string `json:"schema_digest"`
	Reparsed    struct {
		OK        bool   `json:"ok"`
		Result    string `json:"result"`
		Exception string `json:"exception"`
		Message   string `json:"message"`
	} `json:"reparsed_json"`
}

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

func TestRegistrationVectors(t *testing.T) {
	vectors.Load(t, "registration.json").Run(t, map[string]vectors.Check{
		"mailbox_attestations":          checkTokens,
		"almanac_registrations":         checkRegistrations,
		"status_update":                 checkStatusUpdate,
		"ledger_registration_signature": checkLedgerRegistration,
		"sign_arbitrary":                checkSignArbitrary,
		"identity_proof_body":           checkIdentityProof,
		"registration_request_body":     checkRegistrationRequest,
	})
}

func checkTokens(t *testing.T, text json.RawMessage) {
	type tokenCase struct {
		Seed     string `json:"seed"`
		Start    int64  `json:"validity_start_unix"`
		Seconds  int64  `json:"validity_secs"`
		Nonce    string `json:"nonce_hex"`
		Payload  string `json:"payload_hex"`
		Base64   string `json:"payload_b64"`
		Token    string `json:"token"`
		Verified bool   `json:"verify_sig_over_sha256_payload"`
	}
	vectors.Cases(t, text, func(c tokenCase) string { return c.Nonce }, func(t *testing.T, c tokenCase) {
		nonce, err := hex.DecodeString(c.Nonce)
		if err != nil {
			t.Fatal(err)
		}
		key := seedKey(t, c.Seed)
		from, until := time.Unix(c.Start, 0), time.Unix(c.Start+c.Seconds, 0)
		ours := uagents.SignToken(key, from, until, [32]byte(nonce))
		if parts := strings.Split(ours, ":"); parts[1] != c.Base64 {
			t.Errorf("payload = %s, want %s", parts[1], c.Base64)
		}
		for name, token := range map[string]string{"the library's": c.Token, "ours": ours} {
			got, err := uagents.OpenToken(token, lenient)
			if (err == nil) != c.Verified {
				t.Fatalf("%s: %v", name, err)
			}
			if got.Address() != key.Address() || !got.From.Equal(from) || !got.Until.Equal(until) || got.Nonce != [32]byte(nonce) {
				t.Errorf("%s: opened as %+v", name, got)
			}
		}
	})
}

func checkRegistrations(t *testing.T, text json.RawMessage) {
	type registrationCase struct {
		Name      string `json:"name"`
		Preimage  string `json:"digest_preimage_json"`
		Digest    string `json:"digest_hex"`
		Signature string `json:"signature"`
		Body      string `json:"post_body"`
		Verify    bool   `json:"verify"`
	}
	vectors.Cases(t, text, func(c registrationCase) string { return c.Name }, func(t *testing.T, c registrationCase) {
		r, err := uagents.DecodeRegistration([]byte(c.Body))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Encode(); err != nil || string(got) != c.Body {
			t.Errorf("encoded:\n got %s (%v)\nwant %s", got, err, c.Body)
		}
		if err := r.Verify(lenient); (err == nil) != c.Verify {
			t.Errorf("verify: %v, want ok=%v", err, c.Verify)
		}
		if err := r.Sign(seedKey(t, "alice recovery phrase"), time.Unix(r.Timestamp, 0)); err != nil {
			t.Fatal(err)
		}
		if err := r.Verify(lenient); err != nil {
			t.Errorf("signed anew: %v", err)
		}
		r.Protocols = append(r.Protocols, "proto:other")
		if err := r.Verify(lenient); err == nil {
			t.Error("a changed registration still verifies")
		}
	})
}

func checkStatusUpdate(t *testing.T, text json.RawMessage) {
	c := vectors.Decode[struct {
		Preimage string `json:"digest_preimage_json"`
		Digest   string `json:"digest_hex"`
		Body     string `json:"post_body"`
		Verify   bool   `json:"verify"`
	}](t, text)
	s, err := uagents.DecodeStatusUpdate([]byte(c.Body))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Encode(); err != nil || string(got) != c.Body {
		t.Errorf("encoded:\n got %s (%v)\nwant %s", got, err, c.Body)
	}
	if err := s.Verify(lenient); (err == nil) != c.Verify {
		t.Errorf("verify: %v, want ok=%v", err, c.Verify)
	}
	s.Active = !s.Active
	if err := s.Verify(lenient); err == nil {
		t.Error("a changed update still verifies")
	}
}

func checkLedgerRegistration(t *testing.T, text json.RawMessage) {
	c := vectors.Decode[struct {
		Contract  string `json:"contract"`
		Timestamp uint64 `json:"timestamp"`
		Wallet    string `json:"wallet"`
		Signature string `json:"signature"`
		Digest    string `json:"digest_hex"`
	}](t, text)
	alice := seedKey(t, "alice recovery phrase").Address()
	digest := uagents.LedgerRegistrationDigest(c.Contract, alice, c.Timestamp, c.Wallet)
	if got := hex.EncodeToString(digest[:]); got != c.Digest {
		t.Errorf("digest = %s, want %s", got, c.Digest)
	}
	if err := lenient.Verify(alice, digest[:], c.Signature); err != nil {
		t.Error(err)
	}
}

func checkSignArbitrary(t *testing.T, text json.RawMessage) {
	c := vectors.Decode[struct {
		Data      string `json:"data"`
		Document  string `json:"sign_doc_b64"`
		Text      string `json:"sign_doc"`
		Signature string `json:"signature_b64"`
	}](t, text)
	document, signature := uagents.SignArbitrary(seedKey(t, "alice recovery phrase"), []byte(c.Data))
	if document != c.Document {
		t.Errorf("document = %s, want %s", document, c.Document)
	}
	if raw, err := base64.StdEncoding.DecodeString(signature); err != nil || len(raw) != 64 {
		t.Errorf("signature %s: %v", signature, err)
	}
}

func checkIdentityProof(t *testing.T, text json.RawMessage) {
	type proof struct {
		Address   identity.Address `json:"address"`
		Challenge string           `json:"challenge"`
		Response  string           `json:"challenge_response"`
	}
	body := vectors.Decode[string](t, text)
	want := vectors.Decode[proof](t, json.RawMessage(body))
	ours := uagents.IdentityProof(seedKey(t, "alice recovery phrase"), want.Challenge)
	got := vectors.Decode[proof](t, ours)
	if got.Address != want.Address || got.Challenge != want.Challenge {
		t.Errorf("proof = %s, want %s", ours, body)
	}
	if strings.Replace(string(ours), got.Response, want.Response, 1) != body {
		t.Errorf("but for the signature %s, want %s", ours, body)
	}
}

func checkRegistrationRequest(t *testing.T, text json.RawMessage) {
	body := vectors.Decode[string](t, text)
	request := uagents.AgentverseRequest{
		Address: seedKey(t, "alice recovery phrase").Address(), Name: "alice",
		Endpoints: []uagents.Endpoint{{URL: "u", Weight: 1}}, Protocols: []string{"p"},
	}
	if got, err := request.Encode(); err != nil || string(got) != body {
		t.Errorf("request:\n got %s (%v)\nwant %s", got, err, body)
	}
}
