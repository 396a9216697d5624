package llm_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/llm"
)

func TestSchemasThatCannotBeUsedAreRefused(t *testing.T) {
	deep := strings.Repeat(`{"not":`, 70) + `{}` + strings.Repeat(`}`, 70)
	for _, tc := range []struct {
		name, schema string
		want         fault.Code
		says         string
	}{
		{"no JSON", `{`, fault.Malformed, "not JSON"},
		{"no object", `true`, fault.Malformed, "JSON object"},
		{"too long", `{"title": "` + strings.Repeat("x", 70_000) + `"}`, fault.TooLarge, "65536 bytes"},
		{"too deep", deep, fault.TooLarge, "64 deep"},
		{"of another type", `{"type": 7}`, fault.Unsupported, "cannot be used"},
		{"a reference elsewhere", `{"$ref": "http://localhost/secret"}`, fault.Unsupported, "$ref"},
		{"a reference to a file", `{"properties": {"a": {"$ref": "file:///etc/passwd"}}}`, fault.Unsupported, "$ref"},
		{"a reference to nowhere", `{"$ref": "#/definitions/Nobody"}`, fault.Unsupported, "Nobody"},
		{"a reference that moves", `{"$dynamicRef": "#x", "$dynamicAnchor": "x"}`, fault.Unsupported, "not supported"},
		{"a pattern that Go does not know", `{"pattern": "(?=a)b"}`, fault.Unsupported, "cannot be used"},
		{"another draft", `{"$schema": "http://json-schema.org/draft-04/schema#"}`, fault.Unsupported, "draft-04"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := llm.ParseSchema([]byte(tc.schema))
			if fault.CodeOf(err) != tc.want || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("ParseSchema = %v, want %s and %q", err, tc.want, tc.says)
			}
		})
	}
}

// A stranger's schema must neither overflow the stack nor keep a processor busy
// for ever.
func TestHostileSchemasEnd(t *testing.T) {
	twice := `{"anyOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]}`
	nested := strings.Repeat(`{"a":`, 60) + `1` + strings.Repeat(`}`, 60)
	doubling := []string{`"d0": {"type": "object"}`}
	for i := range 40 {
		doubling = append(doubling, fmt.Sprintf(`"d%d": {"anyOf": [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]}`, i+1, i, i))
	}
	for _, tc := range []struct{ name, schema, answer string }{
		{"itself", `{"$ref": "#"}`, `1`},
		{"itself, written otherwise", `{"$REF": "#"}`, `1`},
		{"round about", `{"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}}`, `1`},
		{"twice at each level of the answer", twice, nested},
		{"twice at each level of the schema", `{"$ref": "#/$defs/d40", "$defs": {` + strings.Join(doubling, ",") + `}}`, `1`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			began := time.Now()
			schema, err := llm.ParseSchema([]byte(tc.schema))
			if err == nil {
				_, err = schema.Read(tc.answer)
			}
			if err == nil {
				t.Error("accepted")
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

func TestReadTakesOffMarkdown(t *testing.T) {
	schema, err := llm.ParseSchema([]byte(`{"type": "object"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, answer := range []string{"{\"a\":1}", " {\"a\":1}\n", "```json\n{\"a\":1}\n```", "```\n{\"a\":1}\n```\n"} {
		if got, err := schema.Read(answer); err != nil || got != `{"a":1}` {
			t.Errorf("Read(%q) = %q (%v)", answer, got, err)
		}
	}
	for _, answer := range []string{"", "Here you are: {}", "[1]", `{"a":1} and more`, "```json\n```"} {
		if got, err := schema.Read(answer); fault.CodeOf(err) != fault.Malformed {
			t.Errorf("Read(%q) = %q (%v), want malformed", answer, got, err)
		}
	}
}

// The name goes to servers that accept letters, digits, - and _ only.
func TestTheNameOfASchemaIsItsTitle(t *testing.T) {
	for title, want := range map[string]string{"Location": "Location", "A b/c": "A_b_c", "": "answer", strings.Repeat("x", 99): strings.Repeat("x", 64)} {
		schema, err := llm.ParseSchema(fmt.Appendf(nil, `{"title": %q}`, title))
		if err != nil || schema.Name() != want {
			t.Errorf("name of %q = %q (%v), want %q", title, schema.Name(), err, want)
		}
	}
}

// FuzzSchema checks that no schema and no answer crashes or hangs the checker,
// and that an example, where there is one, fits.
func FuzzSchema(f *testing.F) {
	for _, s := range schemas {
		f.Add(s, `{"a": 1}`)
	}
	f.Add(`{"$REF": "#"}`, `[]`)
	f.Fuzz(func(t *testing.T, text, answer string) {
		schema, err := llm.ParseSchema([]byte(text))
		if err != nil {
			if fault.CodeOf(err) == fault.Internal {
				t.Fatal(err)
			}
			return
		}
		_, _ = schema.Read(answer)
		if len(text) > 300 {
			return // examples of long ones take long
		}
		example, err := schema.Example(clock())
		if err != nil {
			return
		}
		if _, err := schema.Read(example); err != nil {
			t.Errorf("%s\n%s\n%v", text, example, err)
		}
		if sent, err := json.Marshal(schema); err != nil || !json.Valid(sent) {
			t.Errorf("%s is sent as %s (%v)", text, sent, err)
		}
	})
}
