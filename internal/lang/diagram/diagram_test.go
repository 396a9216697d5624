package diagram

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley/spec"
)

func TestGolden(t *testing.T) {
	all := protocols(t)
	for file, name := range map[string]string{"fipa": "fipa Fipa", "chat": "chat AgentChatProtocol", "llm": "llm LLMContextResponse", "trade": "examples Trade"} {
		p := all[name]
		if p == nil {
			t.Fatalf("there is no %s", name)
		}
		golden(t, file+".states.svg", States(p).SVG(Options{}))
		golden(t, file+".mermaid", []byte(States(p).Mermaid()+"\n"+Ways(p).Mermaid()))
		golden(t, file+".ways.svg", Ways(p).SVG(Options{}))
	}
}

// golden compares with a file that somebody looked at.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := "testdata/" + name
	if os.Getenv("PARLEY_UPDATE") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s has changed; look at it, and write it with PARLEY_UPDATE=1", path)
	}
}

// The states of a payment: who sends what, what may follow, how it ends.
func TestStates(t *testing.T) {
	g := States(protocols(t)["payment AgentPaymentProtocol"])
	want := "It starts with RequestPayment. After RequestPayment: CommitPayment, RejectPayment. After RejectPayment: rejected. " +
		"After CommitPayment: CancelPayment, CompletePayment. After CancelPayment: cancelled. After CompletePayment: paid."
	if got := g.Words(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, n := range g.Nodes {
		if n.Name == "CommitPayment" && (!slices.Equal(n.Senders, []string{"buyer"}) || n.Class != "response") {
			t.Errorf("CommitPayment is %+v", n)
		}
	}
}

func TestEdges(t *testing.T) {
	message := func(name string, class spec.Class) spec.Message { return spec.Message{Name: name, Class: class} }
	protocol := func(rules []spec.Rule, d spec.Dialogue) *spec.Protocol {
		d.Initiates = []spec.Initiation{{Messages: []string{"ask"}}}
		return &spec.Protocol{
			Messages: []spec.Message{message("ask", spec.Request), message("yes", spec.Response), message("got", spec.Acknowledge)},
			Rules:    rules, Dialogue: &d,
		}
	}
	for _, c := range []struct {
		name  string
		p     *spec.Protocol
		words string
	}{
		{"time is up", protocol([]spec.Rule{{Message: "ask", Replies: []string{"yes"}, Within: 90 * time.Second}}, spec.Dialogue{}),
			"After ask: yes, timeout (after 90s)."},
		{"time leads to an end state", protocol([]spec.Rule{{Message: "ask", Replies: []string{"yes"}, Within: time.Hour, Else: "late"}}, spec.Dialogue{EndStates: []string{"late"}}),
			"After ask: yes, late (after 1h)."},
		{"time leads to a message", protocol([]spec.Rule{{Message: "ask", Replies: []string{"yes"}, Within: 1500 * time.Millisecond, Else: "yes"}}, spec.Dialogue{}),
			"After ask: yes, yes (after 1500ms)."},
		{"outcome of time", protocol([]spec.Rule{{Message: "ask", Replies: []string{"yes"}, Within: time.Minute}}, spec.Dialogue{Outcomes: []spec.Outcome{{State: "lost", OnTimeout: true}}}),
			"After ask: yes, lost (after 1m)."},
		{"receipt", protocol([]spec.Rule{{Message: "ask", Replies: []string{"got"}, Within: 48 * time.Hour}}, spec.Dialogue{}),
			"After ask: got (receipt), the end, timeout (no receipt in 2d)."},
		{"rest", protocol([]spec.Rule{{Message: "ask", Replies: []string{"yes"}, MayRest: true}}, spec.Dialogue{}),
			"After ask: yes, the end (may rest)."},
		{"outcomes", protocol([]spec.Rule{{Message: "ask", Replies: []string{"yes"}}, {Message: "yes"}}, spec.Dialogue{Outcomes: []spec.Outcome{{State: "good", Messages: []string{"yes"}}}}),
			"After ask: yes. After yes: good."},
		{"outcomes by what was before", protocol([]spec.Rule{{Message: "ask", Replies: []string{"yes", "ask"}}, {Message: "yes", Replies: []string{"ask"}}},
			spec.Dialogue{Terminates: []string{"ask"}, Outcomes: []spec.Outcome{{State: "again", Messages: []string{"ask"}, After: []string{"yes", "ask"}}, {State: "once", Messages: []string{"ask"}}}}),
			"After ask: yes, ask, again (may rest, after yes, ask), once (may rest, else). After yes: ask."},
	} {
		want := "It starts with ask. " + c.words
		if got := States(c.p).Words(); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, want)
		}
	}
}

// Each end is told by its shortest way, and no message is left out.
func TestWays(t *testing.T) {
	p := protocols(t)["fipa Fipa"]
	got := make(map[string]string)
	told := make(map[string]bool)
	for _, panel := range Ways(p).Panels() {
		var names []string
		for _, s := range panel.Steps {
			if s.Message != "" {
				names = append(names, s.Message)
				told[s.Message] = true
			}
		}
		got[panel.Title] = strings.Join(names, " ")
	}
	for title, want := range map[string]string{
		"declined_cfp":     "cfp decline",
		"declined_propose": "cfp propose decline",
		"declined_accept":  "cfp propose accept decline",
		"successful":       "cfp propose accept match_accept end",
	} {
		if got[title] != want {
			t.Errorf("%s: %s", title, got[title])
		}
	}
	for _, m := range p.Messages {
		if !told[m.Name] {
			t.Errorf("%s is on no way", m.Name)
		}
	}
}

// Where roles are known, each message is sent by a role that sends it.
func TestWhoSends(t *testing.T) {
	checked := 0
	for name, p := range protocols(t) {
		ways, g := Ways(p), States(p)
		if ways.Sides {
			continue
		}
		for _, panel := range ways.Panels() {
			for _, s := range panel.Steps {
				i := slices.IndexFunc(g.Nodes, func(n Node) bool { return n.Kind == Message && n.Name == s.Message })
				if i < 0 {
					continue
				}
				if checked++; !slices.Contains(g.Nodes[i].Senders, panel.Parties[s.From]) {
					t.Errorf("%s: %s is sent by %s", name, s.Message, panel.Parties[s.From])
				}
			}
		}
	}
	if checked < 30 {
		t.Errorf("only %d messages have senders", checked)
	}
}

// The ways of any protocol keep to its rules.
func TestWaysAreAllowed(t *testing.T) {
	for seed := range uint64(400) {
		p := random(seed, 8)
		for _, panel := range Ways(p).Panels() {
			before := ""
			for i, s := range panel.Steps {
				switch {
				case s.Message == "" || s.Receipt:
					continue
				case before == "" && !slices.Contains(openers(p), s.Message):
					t.Fatalf("seed %d: %s opens", seed, s.Message)
				case before != "" && panel.Steps[i-1].Note != "":
					if p.Rule(before).Else != s.Message {
						t.Fatalf("seed %d: %s is sent when the time of %s is up", seed, s.Message, before)
					}
				case before != "" && !slices.Contains(p.Rule(before).Replies, s.Message):
					t.Fatalf("seed %d: %s follows %s", seed, s.Message, before)
				}
				before = s.Message
			}
		}
	}
}

func TestTheSameProtocolGivesTheSameBytes(t *testing.T) {
	for seed := range uint64(60) {
		draw := func() string {
			p := random(seed, 12)
			return string(States(p).SVG(Options{})) + States(p).Mermaid() + string(Ways(p).SVG(Options{})) + Ways(p).Mermaid()
		}
		if first, second := draw(), draw(); first != second {
			t.Fatalf("seed %d is drawn in two ways", seed)
		}
	}
}

// Whatever a protocol's names are, they are text: the drawing is well formed XML
// of the elements and attributes that this package writes, and the Mermaid text
// has no line that it did not write.
func FuzzNamesAreText(f *testing.F) {
	for _, s := range []string{"a", `"><script>alert(1)</script>`, "end", "a\nb --> c", "]]>", "a:b;c#d", "<!--", "\x00\xff", "日本語のメッセージ", strings.Repeat("x", 300), "</style>", "%%{init}%%", "\u202eabc"} {
		f.Add(s, "b")
		f.Add("b", s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		p := &spec.Protocol{
			Name: a, Roles: []spec.Role{{Name: a}, {Name: b}},
			Messages: []spec.Message{{Name: a, From: []string{b}}, {Name: b, From: []string{a}}},
			Rules:    []spec.Rule{{Message: a, Replies: []string{b, a}, Within: time.Second, Else: b}, {Message: b}},
			Dialogue: &spec.Dialogue{
				Initiates: []spec.Initiation{{Messages: []string{a}}}, EndStates: []string{b},
				Outcomes: []spec.Outcome{{State: a, Messages: []string{b}, After: []string{a}}},
			},
		}
		link := func(m string) string { return "#" + m }
		for _, svg := range [][]byte{States(p).SVG(Options{Link: link}), Ways(p).SVG(Options{Link: link})} {
			wellFormed(t, svg)
		}
		for line := range strings.Lines(States(p).Mermaid()) {
			line = strings.TrimSpace(line)
			if line != "stateDiagram-v2" && !strings.HasPrefix(line, `state "`) && !strings.HasPrefix(line, "[*] --> m") && !strings.HasPrefix(line, "m1 --> ") &&
				!strings.HasPrefix(line, "m2 --> ") && !strings.HasPrefix(line, "e") {
				t.Errorf("a line of its own: %q", line)
			}
			if strings.Count(line, `"`) > 2 || strings.ContainsAny(line, "<\x00") {
				t.Errorf("text that is no text: %q", line)
			}
		}
	})
}

func wellFormed(t *testing.T, svg []byte) {
	t.Helper()
	known := strings.Fields("svg title desc style g a rect circle line path text")
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		if e, ok := token.(xml.StartElement); ok {
			if !slices.Contains(known, e.Name.Local) {
				t.Errorf("an element %s", e.Name.Local)
			}
			for _, a := range e.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#") {
					t.Errorf("an attribute %s=%q", a.Name.Local, a.Value)
				}
			}
		}
	}
}
