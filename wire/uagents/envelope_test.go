package uagents_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/wire/uagents"
)

var testSession = uuid.MustParse("0b9bd2c6-6d3e-4a39-9a25-0d7f1b0b3c11")

func draft(t testing.TB) *uagents.Draft {
	t.Helper()
	return &uagents.Draft{
		Target: seedKey(t, "bob recovery phrase").Address(), Session: testSession, SchemaDigest: "model:" + strings.Repeat("ab", 32),
		Payload: []byte(`{"message": "hello"}`), Expires: 1893456000, Nonce: 42,
	}
}

func sealed(t testing.TB) *uagents.Envelope {
	t.Helper()
	e, err := uagents.Seal(seedKey(t, "alice recovery phrase"), draft(t))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

var strict = identity.NewVerifier(nil)

func TestSealedEnvelopesOpen(t *testing.T) {
	e := sealed(t)

	opened, err := uagents.Open(e.Encode(), strict)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := opened.DecodePayload()
	if err != nil || string(payload) != `{"message": "hello"}` {
		t.Errorf("payload = %s (%v)", payload, err)
	}
}

// Every signed field is covered: change one and the envelope is refused.
func TestChangedEnvelopesAreRefused(t *testing.T) {
	bob := seedKey(t, "bob recovery phrase").Address()
	other := seedKey(t, "another").Address()
	for name, change := range map[string]func(*uagents.Envelope){
		"sender":     func(e *uagents.Envelope) { e.Sender = bob },
		"target":     func(e *uagents.Envelope) { e.Target = other },
		"session":    func(e *uagents.Envelope) { e.Session = uuid.New() },
		"schema":     func(e *uagents.Envelope) { e.SchemaDigest = "model:" + strings.Repeat("cd", 32) },
		"payload":    func(e *uagents.Envelope) { e.SetPayload([]byte(`{"message": "hullo"}`)) },
		"no payload": func(e *uagents.Envelope) { e.Payload = nil },
		"expires":    func(e *uagents.Envelope) { e.Expires = new(uint64(1893456001)) },
		"nonce":      func(e *uagents.Envelope) { e.Nonce = new(uint64(43)) },
		"no nonce":   func(e *uagents.Envelope) { e.Nonce = nil },
		"unsigned":   func(e *uagents.Envelope) { e.Signature = nil },
	} {
		e := sealed(t)
		change(e)
		if _, err := uagents.Open(e.Encode(), strict); fault.CodeOf(err) != fault.Unverified {
			t.Errorf("%s: %v, want unverified", name, err)
		}
	}
}

// U8: the signed digest has no separators. The forms that pass are strict
// enough that no two different envelopes share a digest: each pair here has one
// digest, and one of the two is refused.
func TestU8NoTwoEnvelopesShareADigest(t *testing.T) {
	base := func() *uagents.Envelope {
		e := sealed(t)
		e.Expires, e.Nonce = nil, nil
		return e
	}
	asText := uint64(0x4141414141414141) // "AAAAAAAA", which is base64 too
	for name, pair := range map[string][2]func(*uagents.Envelope){
		"an expiry that reads as payload": {
			func(e *uagents.Envelope) { e.Payload = new("e30KAAAAAAAA") },
			func(e *uagents.Envelope) { e.Payload, e.Expires = new("e30K"), &asText },
		},
		"a nonce that reads as an expiry": {
			func(e *uagents.Envelope) { e.Expires = new(uint64(5)) },
			func(e *uagents.Envelope) { e.Nonce = new(uint64(5)) },
		},
		"no payload and an empty one": {
			func(e *uagents.Envelope) { e.Payload = nil },
			func(e *uagents.Envelope) { e.Payload = new("") },
		},
		"letters that move from schema to payload": {
			func(e *uagents.Envelope) { e.Payload = new("e30=") },
			func(e *uagents.Envelope) { e.SchemaDigest += "e3"; e.Payload = new("0=") },
		},
		"letters that move from target to schema": {
			func(*uagents.Envelope) {},
			func(e *uagents.Envelope) {
				digest := e.SchemaDigest
				text := string(e.Target) + e.Session.String() + digest
				e.Target = identity.Address(text[:64])
				e.SchemaDigest = text[64+36:]
			},
		},
	} {
		first, second := base(), base()
		pair[0](first)
		pair[1](second)
		if name != "letters that move from target to schema" && first.Digest() != second.Digest() {
			t.Errorf("%s: the two do not share a digest: the case shows nothing", name)
		}
		if first.Validate() == nil && second.Validate() == nil {
			t.Errorf("%s: both pass", name)
		}
	}
}

func TestValidateNamesTheField(t *testing.T) {
	for field, change := range map[string]func(*uagents.Envelope){
		"sender":        func(e *uagents.Envelope) { e.Sender = "agent1short" },
		"target":        func(e *uagents.Envelope) { e.Target = identity.Address(strings.ToUpper(string(e.Target))) },
		"schema_digest": func(e *uagents.Envelope) { e.SchemaDigest = "model:xyz" },
		"payload":       func(e *uagents.Envelope) { e.Payload = new("not base64!") },
		"expires":       func(e *uagents.Envelope) { e.Expires = new(uint64(1 << 56)) },
		"nonce":         func(e *uagents.Envelope) { e.Expires = nil },
	} {
		e := sealed(t)
		change(e)
		err := e.Validate()
		if fault.CodeOf(err) != fault.Malformed || !strings.HasPrefix(err.Error(), "malformed: "+field+": ") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// Base64 has one spelling: no line breaks, no stray bits, padding.
func TestPayloadsHaveOneSpelling(t *testing.T) {
	for _, payload := range []string{"e30", "e31=", "e3\n0=", "e30=\n", " e30=", "e30==", "e-_="} {
		e := sealed(t)
		e.Payload = &payload
		if err := e.Validate(); fault.CodeOf(err) != fault.Malformed {
			t.Errorf("%q: %v, want malformed", payload, err)
		}
	}
}

// The same message twice is two envelopes; the same envelope with the other s
// of its signature is one.
func TestIDTellsEnvelopesApart(t *testing.T) {
	first, ok := sealed(t).ID()
	again, _ := sealed(t).ID()
	d := draft(t)
	d.Nonce++
	second, err := uagents.Seal(seedKey(t, "alice recovery phrase"), d)
	if err != nil {
		t.Fatal(err)
	}
	other, _ := second.ID()
	flipped := sealed(t)
	flipped.Signature = new(flipS(t, *flipped.Signature))
	same, _ := flipped.ID()
	unsigned := sealed(t)
	unsigned.Signature = nil

	if !ok || first != again {
		t.Error("an envelope sealed twice from one draft must keep its identity")
	}
	if first == other {
		t.Error("another nonce must give another identity")
	}
	if err := flipped.Verify(strict); err != nil || first != same {
		t.Errorf("a flipped s must still verify (%v) and keep the identity", err)
	}
	if _, ok := unsigned.ID(); ok {
		t.Error("an unsigned envelope has no identity")
	}
}

// flipS replaces s by n-s, which verifies as well.
func flipS(t *testing.T, signature string) string {
	t.Helper()
	_, raw, err := identity.DecodeBech32(signature)
	if err != nil {
		t.Fatal(err)
	}
	order := []byte{
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe,
		0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48, 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41,
	}
	borrow := 0
	for i := 31; i >= 0; i-- {
		d := int(order[i]) - int(raw[32+i]) - borrow
		borrow = 0
		if d < 0 {
			d, borrow = d+256, 1
		}
		raw[32+i] = byte(d)
	}
	return identity.EncodeBech32("sig", raw)
}

func TestEnvelopesOfUsersNeedNoSignature(t *testing.T) {
	e := sealed(t)
	e.Sender = "user1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnzs23v9ccrydpk8qarc0sxs5jpk"
	e.Signature = nil
	if _, err := uagents.Open(e.Encode(), strict); err != nil {
		t.Error(err)
	}
}

func TestTooLargeIsRefusedBeforeItIsRead(t *testing.T) {
	_, err := uagents.Decode(make([]byte, uagents.MaxEnvelope+1))
	if fault.CodeOf(err) != fault.TooLarge {
		t.Errorf("Decode = %v, want too_large", err)
	}
}

func TestSealRefusesWhatWouldNotOpen(t *testing.T) {
	for field, change := range map[string]func(*uagents.Draft){
		"target":        func(d *uagents.Draft) { d.Target = "agent1nobody" },
		"session":       func(d *uagents.Draft) { d.Session = uuid.Nil },
		"schema_digest": func(d *uagents.Draft) { d.SchemaDigest = "" },
		"payload":       func(d *uagents.Draft) { d.Payload = nil },
		"expires":       func(d *uagents.Draft) { d.Expires = 1 << 60 },
	} {
		d := draft(t)
		change(d)
		_, err := uagents.Seal(seedKey(t, "alice recovery phrase"), d)
		if fault.CodeOf(err) != fault.Malformed || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}
