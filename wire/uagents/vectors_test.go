package uagents_test

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/vectors"
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
