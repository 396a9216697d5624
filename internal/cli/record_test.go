package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
)

const (
	alice = identity.Address("agent1q0h873aqzjl20d90y8kt7lrqve4s82quz9lwgfj5mx825kyvaak6zlek8yh")
	bob   = identity.Address("agent1qfn76mm2uz3a9h9pzkjdhr8vpragfq3ermduudfkqeyqu2v2mepzcrncz6g")
)

var told = []parley.LogRecord{
	{Seq: 1, Time: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), Agent: alice, Event: "sent", ID: "1", Message: parley.Message{
		From: alice, To: bob, Session: "5f0f5f5e-7f58-4f6a-8c62-cf6cbb0c2f10", Schema: parley.ErrorMessageDigest, Payload: []byte(`{"error": "no <b>"}`), Proof: parley.Signed,
	}},
	{Seq: 2, Time: time.Date(2026, 3, 4, 5, 6, 8, 0, time.UTC), Agent: alice, Event: "received", ID: "2", Message: parley.Message{
		From: bob, To: alice, Session: "5f0f5f5e-7f58-4f6a-8c62-cf6cbb0c2f10", Schema: "model:10b4e1e49cd56cd11840bb8e7e459d25b7a931d5c3a262c1de6c60d8a8d5e470",
		Payload: []byte("\x1b]0;owned\x07"), Expires: time.Date(2026, 3, 5, 5, 6, 8, 0, time.UTC),
	}, Detail: "one\nline \x1b[2J"},
}

// A record is one line, in columns; what strangers say cannot write elsewhere.
func TestRecordsForPeople(t *testing.T) {
	var out strings.Builder
	p := &recordPrinter{w: &out, names: &names{agents: map[identity.Address]string{alice: "alice"}}, verbose: true}
	p.print(told)
	lines := strings.Split(out.String(), "\n")
	want := []string{
		"  alice → agent1qfn76m…cz6g  ErrorMessage     5f0f5f5e  sent",
		`    {"error":"no <b>"}`,
		"  alice ← agent1qfn76m…cz6g  model:10b4e1e4…  5f0f5f5e  received: one line [2J",
		"    10 bytes that are no JSON", "",
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines\n%s", len(lines), out.String())
	}
	for i := range want {
		if i%2 == 0 && i < 4 {
			lines[i] = lines[i][min(len(lines[i]), len("Jan 02 15:04:05")):]
		}
		if lines[i] != want[i] {
			t.Errorf("line %d is %q, want %q", i, lines[i], want[i])
		}
	}
}

// For scripts a record is an object in a line, with nothing left out.
func TestRecordsForScripts(t *testing.T) {
	var out strings.Builder
	(&recordPrinter{w: &out, names: &names{}, json: true}).print(told)
	want := `{"seq":1,"time":"2026-03-04T05:06:07Z","agent":"` + string(alice) + `","direction":"out","event":"sent","id":"1","from":"` + string(alice) + `","to":"` + string(bob) +
		`","session":"5f0f5f5e-7f58-4f6a-8c62-cf6cbb0c2f10","message":"ErrorMessage","schema":"` + parley.ErrorMessageDigest + `","proof":"signed","payload":{"error":"no <b>"}}` + "\n" +
		`{"seq":2,"time":"2026-03-04T05:06:08Z","agent":"` + string(alice) + `","direction":"in","event":"received","id":"2","from":"` + string(bob) + `","to":"` + string(alice) +
		`","session":"5f0f5f5e-7f58-4f6a-8c62-cf6cbb0c2f10","schema":"model:10b4e1e49cd56cd11840bb8e7e459d25b7a931d5c3a262c1de6c60d8a8d5e470","expires":"2026-03-05T05:06:08Z","payload_base64":"G10wO293bmVkBw==","detail":"one\nline \u001b[2J"}` + "\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	letter, err := json.Marshal(jsonLetterOf(parley.DeadLetter{Seq: 7, Time: told[0].Time, Agent: alice, Inbound: true, ID: "1", Message: told[0].Message, Code: "unavailable", Reason: "nobody there"}, &names{}))
	if err != nil || !strings.HasPrefix(string(letter), `{"number":7,"time":"2026-03-04T05:06:07Z","agent":"agent1q`) || !strings.Contains(string(letter), `"direction":"in"`) ||
		!strings.HasSuffix(string(letter), `"payload":{"error":"no \u003cb\u003e"},"code":"unavailable","reason":"nobody there"}`) {
		t.Errorf("a dead letter is %s (%v)", letter, err)
	}
}
