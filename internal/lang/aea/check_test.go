package aea_test

import (
	"os"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/lang/aea"
	"github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/internal/lang/diag"
	"github.com/parley-agents/parley/spec"
)

// Every published specification goes into the language, is checked there, and
// comes back as the same data in the same order. One mistake is found in them: a
// message of the framework's own test protocol that can never be sent.
func TestThereAndBack(t *testing.T) {
	specifications(t, func(t *testing.T, text []byte, s *aea.Specification) {
		result := check.File(s.Name+".parley", s.Source(), check.Options{})
		for _, d := range result.Diagnostics {
			known := strings.HasPrefix(s.Name, "t_protocol") && d.Code == "PAR2101" && strings.Contains(d.Message, "'performative_empty_contents'")
			if !known && d.Severity != diag.Note {
				t.Errorf("%s\n%s", d, d.Hint)
			}
		}
		if strings.HasPrefix(s.Name, "t_protocol") && len(result.Diagnostics) == 0 {
			t.Error("the message that can never be sent is not found")
		}
		if len(result.Protocols) != 1 {
			t.Fatalf("%d protocols, want one", len(result.Protocols))
		}
		again, problems := aea.FromProtocol(result.Protocols[0].Spec)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if got, want := data(t, again.YAML()), data(t, text); got != want {
			t.Error(difference(got, want))
		}
	})
}

// Sources written by people, with classes, senders and outcomes, give the files of
// the framework as well.
func TestWrittenSources(t *testing.T) {
	for name, want := range map[string]string{
		"default": "open-aea__md__default_0__300e01.yaml", "oef_search": "open-aea__md__oef_search_0__2cdeba.yaml", "fipa": "open-aea__md__fipa_0__7db82f.yaml",
	} {
		t.Run(name, func(t *testing.T) {
			source, err := os.ReadFile("testdata/written/" + name + ".parley")
			if err != nil {
				t.Fatal(err)
			}
			s, problems := aea.FromProtocol(checked(t, string(source)))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if got, want := data(t, s.YAML()), data(t, file(t, want)); got != want {
				t.Error(difference(got, want))
			}
		})
	}
}

// checked returns the protocol of a source without mistakes.
func checked(t *testing.T, source string) *spec.Protocol {
	t.Helper()
	result := check.File("x.parley", []byte(source), check.Options{})
	if result.Diagnostics.HasErrors() || len(result.Protocols) != 1 {
		t.Fatalf("%d protocols\n%s", len(result.Protocols), result.Diagnostics)
	}
	return result.Protocols[0].Spec
}

// What the framework cannot have is named, with a code and a place.
func TestProblems(t *testing.T) {
	dialogue := "dialogue { initiates [a]; a -> []; terminates [a] }"
	for _, tc := range []struct{ name, source, want string }{
		{"a time", "protocol P version \"1.0.0\" { roles x, y message a { t: DateTime } " + dialogue + " }", "PAR5001 a.t: DateTime has no AEA form"},
		{"null", "protocol P version \"1.0.0\" { roles x, y message a { t: Int | Null } " + dialogue + " }", "PAR5001 a.t: Null has no AEA form"},
		{"a record", "type R = { n: Int } protocol P version \"1.0.0\" { roles x, y message a { r: R } " + dialogue + " }", "PAR5001 a.r: 'R' has no AEA form"},
		{"lists in lists", "protocol P version \"1.0.0\" { roles x, y message a { l: List<List<Int>> } " + dialogue + " }", "PAR5002 a.l: AEA collections hold only pt: primitives"},
		{"two types", "protocol P version \"1.0.0\" { roles x, y message a { i: Int } message b { i: String } dialogue { initiates [a]; a -> [b]; b -> []; terminates [b] } }",
			"PAR5003 b.i: AEA: content 'i' has two types, one in 'a' and one in 'b'"},
		{"a reserved name", "protocol P version \"1.0.0\" { roles x, y message a { target: Int } " + dialogue + " }", "PAR5004 a.target: AEA reserves the name 'target'"},
		{"a name with a dash", "protocol P version \"1.0.0\" { roles x, y message a { `b-c`: Int } " + dialogue + " }", "PAR5004 a.b-c: AEA does not take the name 'b-c'"},
		{"a rest", "protocol P version \"1.0.0\" { roles x, y message a {} dialogue { initiates [a]; a -> [a]?; terminates [a] } }",
			"PAR5005 a.: AEA terminal messages cannot have replies, but 'a' may rest and have some"},
		{"a short version", "protocol P version \"1.0\" { roles x, y message a {} " + dialogue + " }",
			"PAR5004 .: AEA does not take it: version: '1.0' does not have the form that is asked for"},
		{"no messages", "protocol P version \"1.0.0\" { roles x, y }", "PAR5004 .: AEA does not take it: speech_acts: there is no message"},
		{"three roles", "protocol P version \"1.0.0\" { roles a, b, c message m {} flow { a -> b: m; b -> c: m; end } }", "PAR5006 .: AEA takes 1 or 2 roles, not 3"},
		{"no roles", "protocol P version \"1.0.0\" { message a {} " + dialogue + " }", "PAR5006 .: AEA takes 1 or 2 roles, not 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, problems := aea.FromProtocol(checked(t, tc.source))
			if len(problems) != 1 || s != nil {
				t.Fatalf("problems %+v, want one", problems)
			}
			p := problems[0]
			if got := p.Code + " " + p.Message + "." + p.Field + ": " + p.Text; got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
			if _, known := diag.Lookup(p.Code); !known {
				t.Errorf("%s is not in the registry", p.Code)
			}
		})
	}
}

// What a source does not say is derived, and the framework takes it.
func TestDerived(t *testing.T) {
	p := checked(t, `
		package acme.trade version "2.1.0"
		/// Buying and selling.
		protocol FairTrade version "2.1.0" { roles x, y message a {} dialogue { initiates [a]; a -> []; terminates [a]; end_states [done] } }`)
	s, problems := aea.FromProtocol(p)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if s.Author != "acme" || s.Name != "fair_trade" || s.ID != "acme/fair_trade:2.1.0" || !strings.Contains(s.Description, "Buying and selling.") {
		t.Errorf("derived %+v", s)
	}
	if _, err := aea.Read(s.YAML()); err != nil {
		t.Error(err)
	}
}

// What is YAML for Python's reader and what is not; the verdicts are those of
// open-aea.
func TestYAMLOfPython(t *testing.T) {
	const spec = `name: odd
author: vec
version: 0.1.0
description: a text
license: MIT
aea_version: 1.0.0
protocol_specification_id: vec/odd:0.1.0
speech_acts:
  ask:
    q: ct:Query
  tell:
    n: pt:int
---
ct:Query: |
  string s = 1;
---
initiation: [ask]
reply:
  ask: [tell]
  tell: []
termination: [tell]
roles: {a, b}
end_states: [done]
keep_terminal_state_dialogues: true
`
	for _, tc := range []struct {
		name, from, to string
		valid          bool
	}{
		{"as it is", "", "", true},
		{"edition 1.2", "name: odd", "%YAML 1.2\n---\nname: odd", true},
		{"edition 2.0", "name: odd", "%YAML 2.0\n---\nname: odd", false},
		{"tab behind a value", "pt:int", "pt:int\t", false},
		{"tab in a value", "a text", "a\ttext", false},
		{"tab before a comment", "pt:int", "pt:int\t# number", false},
		{"tab in a comment", "pt:int", "pt:int # a\tnumber", true},
		{"tab in quotes", "a text", "'a\ttext'", true},
		{"tab in a body", "string s", "string\ts", true},
		{"tab behind the head of a body", "ct:Query: |", "ct:Query: |\t", false},
		{"set by a tag", "{a, b}", "!!set {a, b}", false},
		{"map by a tag", "{a, b}", "!!map {a, b}", true},
		{"list by a tag", "[ask]", "!!seq [ask]", true},
		{"list by the tag of a text", "[ask]", "!!str [ask]", false},
		{"merge", "  tell: []", "  <<: {tell: []}", true},
		{"merge of several", "  tell: []", "  <<: [{tell: []}, {tell: [ask]}]", true},
		{"merge of several, the other way", "  tell: []", "  <<: [{tell: [ask]}, {tell: []}]", false},
		{"merge that is overruled", "  tell: []", "  tell: []\n  <<: {tell: [ask]}", true},
		{"merge by an alias", "reply:\n  ask: [tell]", "x: &x {ask: [tell]}\nreply:\n  <<: *x", true},
		{"two merges", "  tell: []", "  <<: {tell: [ask]}\n  <<: {tell: []}", true},
		{"merge of a word", "  tell: []", "  tell: []\n  <<: ask", false},
		{"merge sign as a value", "license: MIT", "license: <<", false},
		{"merge sign in quotes", "license: MIT", "license: '<<'", true},
		{"equal sign as a value", "license: MIT", "license: =", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := strings.Replace(spec, tc.from, tc.to, 1)
			if _, err := aea.Read([]byte(text)); (err == nil) != tc.valid {
				t.Errorf("error %v, but valid is %t:\n%s", err, tc.valid, text)
			}
		})
	}
}
