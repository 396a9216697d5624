package uagents_test

import (
	"strings"
	"testing"

	"github.com/parley-agents/parley/wire/uagents"
)

// The spellings of numbers and sessions that the peer reads, and those it does not.
func TestSpellingsThatThePeerReads(t *testing.T) {
	const session = "5a1c9d3e-2b4f-4c6d-8e7f-9a0b1c2d3e4f"
	envelope := func(version, session string) []byte {
		return []byte(`{"version":` + version + `,"sender":"s","target":"t","session":"` + session + `","schema_digest":"d"}`)
	}
	for text, want := range map[string]int64{
		`"1_0"`: 10, `"-1_0"`: -10, `" 1_0 "`: 10, `"1_0.0"`: 10, `"0_1"`: 1, `"+1"`: 1, `"01"`: 1, `1e0`: 1, `true`: 1,
	} {
		if e, err := uagents.Decode(envelope(text, session)); err != nil || e.Version != want {
			t.Errorf("version %s: %v, %v, want %d", text, e, err, want)
		}
	}
	for _, text := range []string{`"1__0"`, `"_1"`, `"+_1"`, `"1_"`, `"1.0_0"`, `"1."`, `".0"`, `"1e2"`, `"0x1"`, `""`, `1.5`} {
		if _, err := uagents.Decode(envelope(text, session)); err == nil {
			t.Errorf("version %s is read", text)
		}
	}
	for _, text := range []string{strings.ToUpper(session), "{" + session + "}", "urn:uuid:" + session, strings.ReplaceAll(session, "-", "")} {
		if e, err := uagents.Decode(envelope("1", text)); err != nil || e.Session.String() != session {
			t.Errorf("session %s: %v", text, err)
		}
	}
	for _, text := range []string{"URN:UUID:" + session, "(" + session + ")", "urn:uuid:{" + session + "}", " " + session, "{" + session} {
		if _, err := uagents.Decode(envelope("1", text)); err == nil {
			t.Errorf("session %s is read", text)
		}
	}
}
