package uagents_test

import (
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/wire/uagents"
)

const registrationText = `{"agent_identifier": "agent://x", "signature": "s", "timestamp": 1, "protocols": ["proto:a"], "endpoints": [{"url": "u", "weight": 1}], "metadata": null}`

func TestRegistrationsThatAreRefused(t *testing.T) {
	if _, err := uagents.DecodeRegistration([]byte(registrationText)); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ old, new, field string }{
		{registrationText, `[]`, ""},
		{`"agent_identifier": "agent://x"`, `"agent_identifier": 5`, "agent_identifier"},
		{`"agent_identifier"`, `"agent"`, "agent_identifier"},
		{`"signature": "s"`, `"signature": []`, "signature"},
		{`"timestamp": 1`, `"timestamp": "soon"`, "timestamp"},
		{`"timestamp": 1`, `"timestamp": 1e300`, "timestamp"},
		{`"timestamp": 1`, `"timestamp": NaN`, "timestamp"},
		{`"timestamp": 1`, `"timestamp": "` + strings.Repeat("9", 900_000) + `"`, "timestamp"},
		{`["proto:a"]`, `["proto:a", 5]`, "protocols"},
		{`["proto:a"]`, `"proto:a"`, "endpoints"},
		{`"weight": 1`, `"weight": null`, "endpoints"},
		{`"url": "u"`, `"url": 5`, "endpoints"},
		{`{"url": "u", "weight": 1}`, `"u"`, "endpoints"},
	} {
		text := strings.Replace(registrationText, tc.old, tc.new, 1)
		start := time.Now()
		_, err := uagents.DecodeRegistration([]byte(text))
		f, ok := err.(*fault.Error)
		if !ok || f.Code != fault.Malformed || f.Field != tc.field {
			t.Errorf("%.80s: %v, want malformed: %s", tc.new, err, tc.field)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%.80s: took %v", tc.new, took)
		}
	}
	if _, err := uagents.DecodeRegistration(make([]byte, uagents.MaxRegistration+1)); fault.CodeOf(err) != fault.TooLarge {
		t.Errorf("too large: %v", err)
	}
}

// Metadata that is no JSON cannot be signed, and nothing is signed then.
func TestRegistrationsThatCannotBeSigned(t *testing.T) {
	r := uagents.Registration{Identifier: "agent://x", Metadata: []byte("{")}
	if err := r.Sign(seedKey(t, "alice"), time.Unix(1, 0)); fault.CodeOf(err) != fault.Malformed || r.Signature != "" {
		t.Errorf("Sign = %v, signature %q", err, r.Signature)
	}
}
