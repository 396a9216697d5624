package check_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/internal/lang/diag"
)

// A token that is missing or there twice is one mistake, and mostly one message:
// never a flood. Where a brace is missing, two can be said at most in good faith.
func TestOneSlipIsMostlyOneMessage(t *testing.T) {
	tokens := regexp.MustCompile(`[A-Za-z_0-9]+|"[^"\n]+"|->|[{}()\[\]<>:,;=|?@.]`)
	slips := map[string]func(before, token, after string) string{
		"missing": func(before, _, after string) string { return before + after },
		"doubled": func(before, token, after string) string { return before + token + " " + token + after },
	}
	for kind, slip := range slips {
		total, several, most, worst := 0, 0, 0, ""
		for _, name := range files(t, "examples") {
			src := string(read(t, name))
			for _, at := range tokens.FindAllStringIndex(src, -1) {
				if line := src[strings.LastIndexByte(src[:at[0]], '\n')+1 : at[0]]; strings.Contains(line, "//") {
					continue
				}
				damaged := slip(src[:at[0]], src[at[0]:at[1]], src[at[1]:])
				errors := 0
				found := check.File(name, []byte(damaged), check.Options{}).Diagnostics
				for _, d := range found {
					if d.Severity == diag.Error {
						errors++
					}
				}
				total++
				if errors > 1 {
					several++
				}
				if errors > most {
					most, worst = errors, "without "+src[at[0]:at[1]]+"\n"+found.String()
				}
			}
		}
		t.Logf("%s: %d of %d slips have several messages, at most %d", kind, several, total, most)
		if several*100 > 2*total || most > 2 {
			t.Errorf("%s: %d of %d slips have several messages; the most, %d, are\n%s", kind, several, total, most, worst)
		}
	}
}

// What a newcomer writes first, and how the message says to mend it.
func TestHintsSayHowToMend(t *testing.T) {
	in := func(item string) string {
		return "protocol P { roles a, b message ask: request {} message yes: response {} dialogue { " + item + " } }"
	}
	for src, want := range map[string]string{
		"type A = { name string }":                      "PAR0002 write `name: string`",
		"type A = { n: string }":                        "PAR1001 did you mean 'String'?",
		"type A { a: Int }":                             "PAR0002 write `type A = { … }`",
		"type A = { a: Int[] }":                         "PAR0002 write `List<Int>`",
		"type A = { a: Map[String, Int] }":              "PAR0002 write `Map<String, Int>`",
		"type A = { a: [Int] }":                         "PAR0002 lists are written `List<Int>`",
		"type A = { a?: Int }":                          "PAR0002 the '?' stands behind the type: `a: Type?`",
		"type A = { a: Optional<Int> }":                 "PAR1001 a field that may be left out is `name: Type?`",
		"type A = { a: Int | null }":                    "PAR1001 did you mean 'Null'?",
		"type A = { a: Int(min=1) }":                    "PAR0002 write `min: 1`",
		"type A = { a: String = hello }":                "PAR1005 write `\"hello\"`",
		"type A = { a-b: Int }":                         "PAR0001 a name with a dash stands in backticks: `a-b`",
		"type A = 'x'":                                  "PAR0001 strings stand in double quotes",
		"type A = Int # x":                              "PAR0001 comments start with //",
		"<!-- x -->\ntype A = Int":                      "PAR0001 comments start with //",
		"-- x\ntype A = Int":                            "PAR0001 comments start with //",
		"struct A { a: Int }":                           "PAR0003 records are `type A = { … }`",
		"enum E = A | B":                                "PAR0002 write `enum E { A, B }`",
		"enum E { A | B }":                              "PAR0002 values stand one after the other: `A, B`",
		"enum E { \"a\" }":                              "PAR0002 write `NAME = \"a\"`",
		"@description \"x\" type A = Int":               "PAR0002 write `@description(\"x\")`",
		"@Name(\"x\") type A = {}":                      "PAR1030 did you mean 'name'? vendor ones start with x_",
		"package acme.shop 1.0.0":                       "PAR0008 versions stand in quotes",
		"parley 1":                                      "PAR0002 write parley \"1\"",
		"dialogue {}":                                   "PAR0003 it stands within `protocol A { … }`",
		"protocol P { roles [a, b] }":                   "PAR0002 write `roles a, b` without brackets",
		"protocol P { message ask: request }":           "PAR0002 a message without content is `message ask: request {}`",
		"protocol P { message ask request {} }":         "PAR0002 write `message ask: request`",
		"protocol P { roles a, b message m from c {} }": "PAR2004 the roles are a, b",
		in("ask --> [yes]"):                             "PAR0001 write `->`",
		in("ask → [yes]"):                               "PAR0001 write `->`",
		in("ask -> {yes}"):                              "PAR0002 lists stand in brackets: `[yes]`",
		in("ask -> yes or no"):                          "PAR0003 replies are a list: `[a, b]`",
		in("ask -> [yes] within 30"):                    "PAR0002 durations are whole numbers with ms, s, m, h or d, such as 30s",
		in("ask -> [yes] else gone"):                    "PAR0002 write `within 30s else …`",
		in("starts [ask]"):                              "PAR0003 did you mean 'initiates'?",
		in("initiates ask from a"):                      "PAR0003 who sends is said by `by`",
		in("initiates ask by a; ask -> yes; yes -> end; terminates yes"): "PAR2002 if nothing answers, write `[]`",
	} {
		found := check.File("x", []byte(src), check.Options{}).Diagnostics
		if len(found) != 1 || found[0].Code+" "+found[0].Hint != want {
			t.Errorf("%s\n%s\nwant %s", src, found, want)
		}
	}
}
