package gen_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/lang/gen"
	"github.com/parley-agents/parley/internal/lang/gen/everything"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/protocol/fipa"
	"github.com/parley-agents/parley/protocol/health"
	"github.com/parley-agents/parley/protocol/llm"
	"github.com/parley-agents/parley/protocol/messaging"
	"github.com/parley-agents/parley/protocol/payment"
	"github.com/parley-agents/parley/protocol/subscriptions"
	"github.com/parley-agents/parley/spec"
)

// The rules in the generated code say what the source says: peers see the same
// digests.
func TestGeneratedRulesHaveTheDigestsOfTheirSources(t *testing.T) {
	all := sources(t)
	for _, tc := range []struct {
		source string
		rules  []*spec.Protocol
	}{
		{"everything.parley", []*spec.Protocol{everything.Rules()}},
		{"chat.parley", []*spec.Protocol{chat.Rules()}},
		{"health.parley", []*spec.Protocol{health.Rules()}},
		{"llm.parley", []*spec.Protocol{llm.LLMContextResponseRules(), llm.LLMStructuredResponseRules()}},
		{"messaging.parley", []*spec.Protocol{messaging.Rules()}},
		{"payment.parley", []*spec.Protocol{payment.Rules()}},
		{"subscriptions.parley", []*spec.Protocol{subscriptions.Rules()}},
	} {
		for i, p := range all[tc.source].Protocols {
			roles := []string{""}
			for _, r := range p.Spec.Roles {
				roles = append(roles, r.Name)
			}
			for _, role := range roles {
				want, err := p.Spec.Digest(role)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := tc.rules[i].Digest(role); err != nil || got != want {
					t.Errorf("%s, role %q: digest %s (%v), want %s", tc.source, role, got, err, want)
				}
			}
			for _, m := range p.Messages {
				got, _ := spec.Schema(tc.rules[i].Message(m.Message.Name).Body)
				want, err := spec.Schema(m.Body)
				if err != nil || string(got) != string(want) {
					t.Errorf("%s: schema %s\nwant %s (%v)", m.Message.Name, got, want, err)
				}
			}
		}
	}
	if everything.AskerManifestDigest == everything.AnswererManifestDigest || !strings.Contains(everything.AnswererManifest, everything.AnswererManifestDigest) {
		t.Error("the manifests of the two roles are not those of their digests")
	}
}

// Replies are typed also in protocols that JSON cannot carry.
func TestRepliesOfTheFrameworkAreTyped(t *testing.T) {
	for _, m := range fipa.Rules().Messages {
		typ := map[string]any{"cfp": fipa.Cfp{}, "propose": fipa.Propose{}, "accept": fipa.Accept{}, "accept_w_inform": fipa.AcceptWInform{}, "decline": fipa.Decline{}}[m.Name]
		_, answers := typ.(fipa.ProposeReply)
		if want := slices.Contains(fipa.Rules().Rule("propose").Replies, m.Name); answers != want {
			t.Errorf("%s answers propose: %v, want %v", m.Name, answers, want)
		}
	}
}

// What each kind of type refuses, and the field that the error names.
func TestGeneratedTypesRefuse(t *testing.T) {
	const scalars = `{"any": 1, "flag": true, "text": "", "short": "abc", "int": 1, "int32": 1, "uint32": 1, "uint64": 1, "float": 1.5, ` +
		`"float32": 1.5, "decimal": "1.5", "bytes": "b", "at": "2026-01-02T03:04:05Z", "date": "2026-01-02", "time": "03:04:05", "span": 1, ` +
		`"id": "0b9bd2c6-6d3e-4a39-9a25-0d7f1b0b3c11", "id4": "0b9bd2c6-6d3e-4a39-9a25-0d7f1b0b3c11", "uri": "https://example.org/", "ranged": 1}`
	const unions = `{"shape": {"kind": "circle", "radius": 1.0}, "shapes": [], "mixed": "ab", "alike": {"a": 1}, "inline": "x", "by_key": {}}`
	bases := map[string]string{"Scalars": scalars, "Unions": unions}
	byName := make(map[string]pair)
	for _, p := range pairs(t) {
		byName[p.name] = p
	}
	for name, base := range bases {
		if !byName[name].agree(t, []byte(base)) {
			t.Fatalf("%s is refused, so that the cases prove nothing", name)
		}
	}
	for _, tc := range []struct{ name, model, old, new, want string }{
		{"wrong kind", "Scalars", `"flag": true`, `"flag": "true"`, "flag"},
		{"text for a number", "Scalars", `"int": 1`, `"int": "1"`, "int"},
		{"a float for an integer", "Scalars", `"int": 1`, `"int": 1.0`, "int"},
		{"out of range", "Scalars", `"int32": 1`, `"int32": 2147483648`, "int32"},
		{"negative", "Scalars", `"uint32": 1`, `"uint32": -1`, "uint32"},
		{"beyond 64 bits", "Scalars", `"uint64": 1`, `"uint64": 18446744073709551616`, "uint64"},
		{"over a limit", "Scalars", `"ranged": 1`, `"ranged": 11`, "ranged"},
		{"too long", "Scalars", `"abc"`, `"abcd"`, "short"},
		{"not like the pattern", "Scalars", `"abc"`, `"A"`, "short"},
		{"missing", "Scalars", `"flag": true, `, ``, "flag"},
		{"null", "Scalars", `"flag": true`, `"flag": null`, "flag"},
		{"bad uuid", "Scalars", `"id": "0b9bd2c6`, `"id": "0b9bd2c`, "id"},
		{"uuid of another version", "Scalars", `"id4": "0b9bd2c6-6d3e-4`, `"id4": "0b9bd2c6-6d3e-1`, "id4"},
		{"bad time", "Scalars", `T03:04:05Z`, `T25:04:05Z`, "at"},
		{"bad date", "Scalars", `"date": "2026-01-02`, `"date": "2026-13-02`, "date"},
		{"bad time of day", "Scalars", `"time": "03:04:05`, `"time": "03:04:61`, "time"},
		{"bad decimal", "Scalars", `"1.5"`, `"one"`, "decimal"},
		{"bad URI", "Scalars", `"https://example.org/"`, `"//"`, "uri"},
		{"duplicate key", "Scalars", `"any": 1`, `"any": 1, "any": 2`, "any"},
		{"duplicate key inside", "Scalars", `"any": 1`, `"any": {"a": 1, "a": 2}`, "a"},
		{"half a surrogate pair", "Scalars", `"text": ""`, `"text": "\ud800"`, "surrogate"},
		{"unknown tag", "Unions", `"circle"`, `"star"`, "shape"},
		{"no tag", "Unions", `"kind": "circle", `, ``, "shape"},
		{"field of another variant", "Unions", `"radius"`, `"side"`, "shape"},
		{"no variant", "Unions", `"mixed": "ab"`, `"mixed": null`, "mixed"},
		{"limit in a variant", "Unions", `"mixed": "ab"`, `"mixed": "a"`, "mixed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := byName[tc.model]
			payload := strings.Replace(bases[tc.model], tc.old, tc.new, 1)
			if payload == bases[tc.model] {
				t.Fatal("the case changes nothing")
			}
			if p.agree(t, []byte(payload)) {
				t.Fatalf("taken: %s", payload)
			}
			if err := p.generated.Unmarshal([]byte(payload), p.fresh()); !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v does not name %s", err, tc.want)
			}
		})
	}
}

// What a target cannot express is refused at its place.
func TestTargetsRefuse(t *testing.T) {
	const rest = "\nprotocol P version \"1.0.0\" { roles a, b\nmessage m: inform %s\ndialogue { initiates [m] by a\nm -> []\nterminates [m]\nend_states [done] } }"
	const aea = "@aea(author: \"x\")\npackage x.y version \"1.0.0\""
	for _, tc := range []struct{ name, before, body, target, want string }{
		{"go: no record", "", `= String`, "go", "3:9: PAR5030 error: message 'm' is no record"},
		{"go: null among variants", "", `{ f: List<String | Int | Null> }`, "go", "PAR5030 error: Go has no form for null"},
		{"go: mixed enum", "@uagents(enum: \"float\")\nenum E { A = 1.5 }", `{ f: E }`, "go", "2:6: PAR5030 error: the values of 'E'"},
		{"go: alias of itself", "type T = List<T>", `{ f: T }`, "go", "PAR5030 error: 'T' contains itself"},
		{"jsonschema: custom", "custom C \"bytes b = 1;\"", `{ f: C }`, "jsonschema", "3:21: PAR5031 error: custom type 'C'"},
		{"manifest: alike", aea, `{ f: String | Bytes }`, "manifest", "PAR5007 error: variants String and Bytes look alike in JSON"},
		{"proto: list of lists", "", `{ f: List<List<Int>> }`, "proto", "PAR5032 error: protobuf has no list of lists"},
		{"proto: letters", "", `{ ` + "`größe`" + `: Int }`, "proto", "3:21: PAR5032 error: the name 'größe' has letters"},
		{"aea: time", "", `{ f: DateTime }`, "aea", "PAR5001 error: DateTime has no AEA form"},
		{"aea: nested", "", `{ f: List<List<Int>> }`, "aea", "PAR5002"},
		{"aea: reserved", "", `{ target: Int }`, "aea", "PAR5004"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := tc.before + strings.Replace(rest, "%s", tc.body, 1)
			files, problems := gen.Emit(tc.target, plan(t, "p.parley", []byte(text)))
			if len(files) > 0 || !strings.Contains(problems.String(), tc.want) {
				t.Errorf("%d files, problems:\n%s\nwant %s", len(files), problems, tc.want)
			}
		})
	}
}
