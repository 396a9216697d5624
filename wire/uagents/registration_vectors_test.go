package uagents_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/vectors"
	"github.com/parley-agents/parley/wire/uagents"
)

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
