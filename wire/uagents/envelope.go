package uagents

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/pyjson"
)

// MaxEnvelope is the default size in bytes of the largest envelope that is
// read: a payload of one mebibyte in base64, and the rest.
const MaxEnvelope = defaultMaxSize/3*4 + 4096

// An Envelope is a message with its addresses and the proof of who sent it.
// Fields that a sender may leave out are pointers.
type Envelope struct {
	Version        int64
	Sender         identity.Address
	Target         identity.Address
	Session        uuid.UUID // of version 4
	SchemaDigest   string    // "model:" and 64 hexadecimal digits
	ProtocolDigest *string   // not signed
	Payload        *string   // the message's JSON text in base64
	Expires        *uint64   // Unix seconds
	Nonce          *uint64
	Signature      *string
}

// Decode reads an envelope as a Python agent would: numbers may come as text,
// unknown members are ignored, of two equal keys the last counts. It proves
// nothing; see [Open].
func Decode(data []byte) (*Envelope, error) {
	if len(data) > MaxEnvelope {
		return nil, fault.Errorf(fault.TooLarge, "", "an envelope of %d bytes, at most %d are read", len(data), MaxEnvelope)
	}
	v, err := pyjson.Parse(data, nil)
	if err != nil {
		return nil, err
	}
	if v.Kind != pyjson.Object {
		return nil, fault.Errorf(fault.Malformed, "", "expected an envelope, which is an object, found %s", v.Kind)
	}
	r := fieldReader{object: v}
	e := &Envelope{
		Version:        r.version(),
		Sender:         identity.Address(r.required("sender")),
		Target:         identity.Address(r.required("target")),
		Session:        r.session(),
		SchemaDigest:   r.required("schema_digest"),
		ProtocolDigest: r.optional("protocol_digest"),
		Payload:        r.optional("payload"),
		Expires:        r.number("expires"),
		Nonce:          r.number("nonce"),
		Signature:      r.optional("signature"),
	}
	if r.err != nil {
		return nil, r.err
	}
	return e, nil
}

// A fieldReader reads the members of an envelope and keeps the first error.
type fieldReader struct {
	object pyjson.Value
	err    error
}

func (r *fieldReader) fail(field, format string, args ...any) {
	if r.err == nil {
		r.err = fault.Errorf(fault.Malformed, field, format, args...)
	}
}

func (r *fieldReader) optional(field string) *string {
	v, _ := r.object.Get(field)
	switch v.Kind {
	case pyjson.Null:
		return nil
	case pyjson.String:
		return &v.Text
	}
	r.fail(field, "expected a string, found %s", v.Kind)
	return nil
}

func (r *fieldReader) required(field string) string {
	text := r.optional(field)
	if text == nil {
		r.fail(field, "the field is required")
		return ""
	}
	return *text
}

func (r *fieldReader) session() uuid.UUID {
	text := r.required("session")
	if r.err != nil {
		return uuid.Nil
	}
	id, err := uuid.Parse(text)
	braced, named := len(text) == 38, len(text) == 36+len("urn:uuid:")
	if err != nil || braced && (text[0] != '{' || text[37] != '}') || named && !strings.HasPrefix(text, "urn:uuid:") || id.Version() != 4 || id.Variant() != uuid.RFC4122 {
		r.fail("session", "expected a UUID of version 4, found %.64q", text)
	}
	return id
}

func (r *fieldReader) version() int64 {
	v, present := r.object.Get("version")
	if !present {
		r.fail("version", "the field is required")
		return 0
	}
	n := integerOf(v)
	if n == nil || !n.IsInt64() {
		r.fail("version", "expected an integer")
		return 0
	}
	return n.Int64()
}

func (r *fieldReader) number(field string) *uint64 {
	v, _ := r.object.Get(field)
	if v.Kind == pyjson.Null {
		return nil
	}
	n := integerOf(v)
	if n == nil || !n.IsUint64() {
		r.fail(field, "expected an integer from 0 to 2^64-1")
		return nil
	}
	return new(n.Uint64())
}

// integerOf reads what pydantic v2 takes for an integer: also text, a float
// without a fraction, and a boolean.
func integerOf(v pyjson.Value) *big.Int {
	text := v.Text
	switch v.Kind {
	case pyjson.Bool:
		text = map[bool]string{true: "1", false: "0"}[v.Bool]
	case pyjson.Float:
		if v.Num != math.Trunc(v.Num) || math.IsInf(v.Num, 0) {
			return nil
		}
		n, _ := big.NewFloat(v.Num).Int(nil)
		return n
	case pyjson.String:
		text = strings.TrimSpace(text)
		whole, zeros, hasPoint := strings.Cut(text, ".")
		if hasPoint && zeros != "" && strings.Trim(zeros, "0") == "" {
			text = whole
		}
		if digits := strings.TrimLeft(text, "+-"); !strings.Contains("_"+digits+"_", "__") {
			text = strings.ReplaceAll(text, "_", "")
		}
	case pyjson.Int:
	default:
		return nil
	}
	if len(text) > 64 {
		return nil
	}
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return nil
	}
	return n
}

// Encode writes the envelope as Python agents do: compact, all fields, in order.
func (e *Envelope) Encode() []byte {
	b := make([]byte, 0, 512+len(deref(e.Payload)))
	b = append(b, `{"version":`...)
	b = strconv.AppendInt(b, e.Version, 10)
	b = appendText(append(b, `,"sender":`...), string(e.Sender))
	b = appendText(append(b, `,"target":`...), string(e.Target))
	b = appendText(append(b, `,"session":`...), e.Session.String())
	b = appendText(append(b, `,"schema_digest":`...), e.SchemaDigest)
	b = appendOptional(append(b, `,"protocol_digest":`...), e.ProtocolDigest)
	b = appendOptional(append(b, `,"payload":`...), e.Payload)
	b = appendNumber(append(b, `,"expires":`...), e.Expires)
	b = appendNumber(append(b, `,"nonce":`...), e.Nonce)
	b = appendOptional(append(b, `,"signature":`...), e.Signature)
	return append(b, '}')
}

func appendText(b []byte, text string) []byte { return pyjson.AppendString(b, text, pyjson.Compact) }

func appendOptional(b []byte, text *string) []byte {
	if text == nil {
		return append(b, "null"...)
	}
	return appendText(b, *text)
}

func appendNumber(b []byte, n *uint64) []byte {
	if n == nil {
		return append(b, "null"...)
	}
	return strconv.AppendUint(b, *n, 10)
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// Digest is what the signature covers. Version and protocol digest are not part
// of it, and its parts are not separated; [Envelope.Validate] keeps different
// envelopes from having one digest.
func (e *Envelope) Digest() [32]byte {
	b := make([]byte, 0, 256+len(deref(e.Payload)))
	b = append(b, e.Sender...)
	b = append(b, e.Target...)
	b = append(b, e.Session.String()...)
	b = append(b, e.SchemaDigest...)
	b = append(b, deref(e.Payload)...)
	if e.Expires != nil {
		b = binary.BigEndian.AppendUint64(b, *e.Expires)
	}
	if e.Nonce != nil {
		b = binary.BigEndian.AppendUint64(b, *e.Nonce)
	}
	return sha256.Sum256(b)
}

// Sign signs the envelope. The sender must be the key's address.
func (e *Envelope) Sign(key *identity.Key) {
	e.Signature = new(key.SignDigest(e.Digest()))
}

// Verify checks the signature and nothing else.
func (e *Envelope) Verify(v *identity.Verifier) error {
	if e.Signature == nil {
		return &fault.Error{Code: fault.Unverified, Field: "signature", Text: "Envelope signature is missing"}
	}
	digest := e.Digest()
	return v.Verify(e.Sender, digest[:], *e.Signature)
}

// maxExpires keeps the first of the eight bytes of an expiry zero, so that it
// cannot be read as more of the payload.
const maxExpires = 1 << 56

// Validate checks the form of every signed field, strictly enough that no two
// different envelopes that pass share a digest: fixed lengths, base64 in its
// one spelling, an expiry below 2^56, a nonce only beside an expiry.
//
// Checksums and keys inside addresses are not its business: the signature
// proves the sender, and a target is compared with what is served.
func (e *Envelope) Validate() error {
	if !isAddress(e.Sender) {
		return fault.Errorf(fault.Malformed, "sender", "expected an address: agent1 and 59 more characters, or user1 and 58")
	}
	if !isAddress(e.Target) {
		return fault.Errorf(fault.Malformed, "target", "expected an address: agent1 and 59 more characters, or user1 and 58")
	}
	if !isModelDigest(e.SchemaDigest) {
		return fault.Errorf(fault.Malformed, "schema_digest", "expected model: and 64 hexadecimal digits in lower case")
	}
	if e.Payload != nil {
		if *e.Payload == "" {
			return fault.Errorf(fault.Malformed, "payload", "the payload is empty; a message without content is {}")
		}
		if _, err := e.DecodePayload(); err != nil {
			return err
		}
	}
	if e.Expires != nil && *e.Expires >= maxExpires {
		return fault.Errorf(fault.Malformed, "expires", "expected Unix seconds below 2^56")
	}
	if e.Nonce != nil && e.Expires == nil {
		return fault.Errorf(fault.Malformed, "nonce", "a nonce needs an expiry: alone it could be taken for one")
	}
	return nil
}

const bech32Letters = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

func isAddress(a identity.Address) bool {
	data, isAgent := strings.CutPrefix(string(a), "agent1")
	if isAgent {
		return len(data) == 59 && strings.Trim(data, bech32Letters) == ""
	}
	data, isUser := strings.CutPrefix(string(a), "user1")
	return isUser && len(data) == 58 && strings.Trim(data, bech32Letters) == ""
}

func isModelDigest(s string) bool {
	hex, ok := strings.CutPrefix(s, "model:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

var strictBase64 = base64.StdEncoding.Strict()

// DecodePayload returns the message's JSON text; nil if there is no payload.
func (e *Envelope) DecodePayload() ([]byte, error) {
	if e.Payload == nil {
		return nil, nil
	}
	if strings.ContainsAny(*e.Payload, "\r\n") { // the decoder would skip them
		return nil, fault.Errorf(fault.Malformed, "payload", "expected base64 without line breaks")
	}
	text, err := strictBase64.DecodeString(*e.Payload)
	if err != nil {
		return nil, fault.Errorf(fault.Malformed, "payload", "expected base64 with padding: %w", err)
	}
	return text, nil
}

// SetPayload puts the message's JSON text into the envelope.
func (e *Envelope) SetPayload(text []byte) {
	e.Payload = new(base64.StdEncoding.EncodeToString(text))
}

// Open reads an envelope from a stranger: it decodes, validates and verifies.
// Unsigned envelopes of user addresses pass; the caller decides whether to
// listen to them, by [identity.Address.IsUser].
func Open(data []byte, v *identity.Verifier) (*Envelope, error) {
	e, err := Decode(data)
	if err != nil {
		return nil, err
	}
	if err := e.Validate(); err != nil {
		return nil, err
	}
	if e.Sender.IsUser() && e.Signature == nil {
		return e, nil
	}
	return e, e.Verify(v)
}

// ID identifies a signed envelope for de-duplication: sender, digest and the r
// of the signature. The s is left out, since everyone can flip it; the digest
// alone would not do, since a Python agent that says the same thing twice in a
// second gives both the same digest. Unsigned envelopes have no identity.
func (e *Envelope) ID() (id [32]byte, ok bool) {
	if e.Signature == nil {
		return id, false
	}
	r, err := identity.SignatureR(*e.Signature)
	if err != nil {
		return id, false
	}
	digest := e.Digest()
	return sha256.Sum256(bytes.Join([][]byte{[]byte(e.Sender), digest[:], r[:]}, nil)), true
}

// IsJSON reports whether a Python agent would read the bytes as JSON. What is
// JSON but no envelope gets another answer from it than what is neither.
func IsJSON(data []byte) bool {
	_, err := pyjson.Parse(data, nil)
	return err == nil
}
