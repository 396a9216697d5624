package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/lang/aea"
	"github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/internal/lang/gen"
)

// A specification is what `parley gen` makes of a protocol for the AEA framework.
type specification struct {
	source string // where it is from
	yaml   string
	proto  string
	meant  *aea.Specification
}

// specifications generates from each source that the target takes.
func specifications(t *testing.T, name string, text []byte) []specification {
	t.Helper()
	result := check.File(name, text, check.Options{})
	if result.Diagnostics.HasErrors() && filepath.Ext(name) == ".yaml" {
		return nil // the framework takes dialogues in which a message can never be sent
	}
	if result.Diagnostics.HasErrors() {
		t.Fatalf("%s:\n%s\n%s", name, result.Diagnostics, text)
	}
	plan := gen.NewPlan(result, 0, text)
	yaml, found := gen.Emit("aea", plan)
	if found.HasErrors() {
		return nil
	}
	proto, _ := gen.Emit("proto", plan)
	var all []specification
	for i, p := range plan.Protocols {
		meant, _ := aea.FromProtocol(p.Spec)
		s := specification{source: name, yaml: string(yaml[i].Text), meant: meant}
		if len(proto) == len(yaml) { // protocols without the annotation get protobuf of their own
			_, s.proto, _ = strings.Cut(string(proto[i].Text), "\n")
		}
		all = append(all, s)
	}
	return all
}

// readByTheFramework lets open-aea load, validate and generate from them.
func readByTheFramework(t *testing.T, all []specification) []json.RawMessage {
	t.Helper()
	var in, out bytes.Buffer
	encoder := json.NewEncoder(&in)
	for _, s := range all {
		if err := encoder.Encode(s.yaml); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), python(t), "python/specification.py")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	var answers []json.RawMessage
	for line := range bytes.Lines(out.Bytes()) {
		answers = append(answers, line)
	}
	if len(answers) != len(all) {
		t.Fatalf("%d answers to %d specifications", len(answers), len(all))
	}
	return answers
}

// compare holds what the framework read against what was meant.
func compare(t *testing.T, s specification, answer json.RawMessage) {
	t.Helper()
	want, err := json.Marshal(map[string]any{"read": framework(s)})
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Fatal(err)
	}
	if read, ok := got.(map[string]any)["read"].(map[string]any); ok && s.proto == "" {
		read["proto"] = ""
	}
	sorted, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(sorted, want) {
		t.Errorf("%s: open-aea reads\n%s\nwant\n%s\nin\n%s", s.source, sorted, want, s.yaml)
	}
}

// framework is the answer of specification.py.
func framework(s specification) map[string]any {
	pair := func(name string, value any) []any { return []any{name, value} }
	acts, types, dialogue := []any{}, []any{}, map[string]any{}
	for _, act := range s.meant.SpeechActs {
		contents := []any{}
		for _, c := range act.Contents {
			contents = append(contents, pair(c.Name, c.Type))
		}
		acts = append(acts, pair(act.Name, contents))
	}
	for _, c := range s.meant.CustomTypes {
		types = append(types, pair("ct:"+c.Name, c.Body))
	}
	names := func(list []string) []string { return append([]string{}, list...) }
	if d := s.meant.Dialogue; d != nil {
		reply := []any{}
		for _, r := range d.Reply {
			reply = append(reply, pair(r.Message, names(r.Replies)))
		}
		dialogue = map[string]any{
			"initiation": names(d.Initiation), "reply": reply, "termination": names(d.Termination),
			"roles": names(d.Roles), "end_states": names(d.EndStates), "keep_terminal_state_dialogues": d.KeepTerminal,
		}
	}
	return map[string]any{
		"name": s.meant.Name, "author": s.meant.Author, "version": s.meant.Version, "description": s.meant.Description,
		"license": s.meant.License, "aea_version": s.meant.AEAVersion, "id": s.meant.ID,
		"acts": acts, "types": types, "dialogue": dialogue, "proto": s.proto,
	}
}

// Every specification that is generated from the protocols of this project, the
// examples of the language and the published specifications is taken by the real
// framework, which reads in it what was meant, and writes the same protobuf.
func TestTheFrameworkTakesGeneratedSpecifications(t *testing.T) {
	var all []specification
	for _, pattern := range []string{"../protocol/*/*.parley", "../internal/lang/gen/testdata/*/*.parley", "../internal/lang/gen/everything/*.parley", "../internal/lang/aea/testdata/specs/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files (%v)", pattern, len(files), err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Ext(name) == ".yaml" {
				s, err := aea.Read(text)
				if err != nil {
					continue // refused, as the framework does; package aea has the verdicts
				}
				text = s.Source()
			}
			all = append(all, specifications(t, filepath.Base(name), text)...)
		}
	}
	for i, answer := range readByTheFramework(t, all) {
		compare(t, all[i], answer)
	}
	if len(all) < 45 {
		t.Errorf("%d specifications: too few to prove anything", len(all))
	}
	t.Logf("%d specifications", len(all))
}

// So are those of random protocols, whose names are other things in YAML than
// text, and whose descriptions are everything that needs quotes.
func TestTheFrameworkTakesRandomSpecifications(t *testing.T) {
	random := newRand(t)
	var all []specification
	refused := 0
	for i := range count(150, 3000) {
		text := randomAEA(random)
		made := specifications(t, fmt.Sprintf("random %d", i), []byte(text))
		if made == nil {
			refused++
		}
		all = append(all, made...)
	}
	for i, answer := range readByTheFramework(t, all) {
		compare(t, all[i], answer)
	}
	if refused > len(all)/10 {
		t.Errorf("%d of %d refused: too many to prove anything", refused, len(all)+refused)
	}
}

// randomAEA writes a protocol that the framework can have.
func randomAEA(r *rand.Rand) string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	words := []string{"yes", "no", "on", "off", "y", "n", "null", "true", "false", "Null", "NO", "nan", "e5", "x1e5", "o17", "ask", "say_so", "a_1_b", "aB", "inf", "tilde", "key", "value", "doc"}
	r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	primitive := func() string { return pick("Bytes", "Int", "Float", "Bool", "String") }
	key := func() string { return pick("Int", "Bool", "String") }
	simple := func() string {
		return pick(primitive(), primitive(), "List<"+primitive()+">", "Set<"+key()+">", "Map<"+key()+", "+primitive()+">", "Thing", "Other")
	}
	var b strings.Builder
	quoted := func(s string) string {
		text, _ := json.Marshal(s)
		return string(text)
	}
	description := pick("plain", "with: colon", "# no comment", "- dash", "'single' \"double\" quotes", "trailing ", " leading", "{a}", "[b]", "*star", "&and", "!bang", "%per", "@at", "`tick",
		"ünï → 🙂", "two\nlines", "a\n\nb\n", "tab\there", "yes", "1.0", "2001-01-01", "~", "", "---", "...", "key: value # c", "back\\slash", "? q", "| p", "> g", "a: |\n  b", strings.Repeat("long ", 60))
	version := pick("1.0.0", "0.1.0", "10.20.30", "1.0.0-rc.1")
	fmt.Fprintf(&b, "parley \"1\"\n@aea(author: %q, license: %s, aea_version: %s, id: %q)\npackage acme.random version %q\n\n",
		pick("acme", "no", "null", "e5", "_x"), quoted(pick("Apache-2.0", "no", "1.0", "MIT: yes")), quoted(pick(">=2.0.0, <3.0.0", ">=1.0.0", "1.0")), pick("acme", "off")+"/"+pick("random", "true")+":1.0.0", version)
	fmt.Fprintf(&b, "@description(%s)\n@aea(name: %q)\nprotocol Random version %q {\n", quoted(description), pick("random", "yes", "null", "a_b"), version)
	fmt.Fprintf(&b, "  roles %s\n", pick("`no`, `yes`", "buyer, seller", "`off`, `null`", "agent[2]", "`true`[2]"))
	acts := words[:1+r.IntN(6)]
	contents := make(map[string]string)
	var messages strings.Builder
	for _, act := range acts {
		fmt.Fprintf(&messages, "  message `%s` {\n", act)
		for _, name := range words[len(words)-r.IntN(5):] {
			if contents[name] == "" {
				contents[name] = simple() + pick("", "", "?")
				if r.IntN(4) == 0 {
					contents[name] = pick("String | Int", "Bytes | List<Int>", "Map<String, Int> | Bool", "Thing | Float")
				}
			}
			fmt.Fprintf(&messages, "    `%s`: %s\n", name, contents[name])
		}
		messages.WriteString("  }\n")
	}
	bodies := []string{"int32 thing = 1;\n", pick("bytes b = 1;", "  enum E {\n    A = 0;\n  }\n  E e = 1;\n", "string s = 1; // c: d # e\n\n")}
	for i, name := range []string{"Thing", "Other"} {
		if strings.Contains(messages.String(), name) {
			fmt.Fprintf(&b, "  custom %s \"\"\"\n%s\"\"\"\n", name, bodies[i])
		}
	}
	b.WriteString(messages.String())
	// A chain, in which each message may also be followed by the last, which ends it.
	last := acts[len(acts)-1]
	fmt.Fprintf(&b, "  dialogue {\n    initiates [`%s`]\n", acts[0])
	for i, act := range acts {
		replies := ""
		if i < len(acts)-1 {
			replies = "`" + acts[i+1] + "`"
			if acts[i+1] != last {
				replies += ", `" + last + "`"
			}
		}
		fmt.Fprintf(&b, "    `%s` -> [%s]\n", act, replies)
	}
	fmt.Fprintf(&b, "    terminates [`%s`]\n    end_states [`%s`]\n    keep_terminal %s\n  }\n}\n", last, pick("no", "done", "true", "off"), pick("true", "false"))
	return b.String()
}
