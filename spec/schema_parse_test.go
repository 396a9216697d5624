package spec_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/spec"
)

// show writes a type in a short form that tests can compare.
func show(t spec.Type) string {
	if s, ok := spec.AsScalar(t); ok {
		return strings.TrimSuffix(fmt.Sprintf("%s%s", s.Kind, words(s.Keywords)), "()")
	}
	each := func(types []spec.Type) string {
		var texts []string
		for _, t := range types {
			texts = append(texts, show(t))
		}
		return strings.Join(texts, ", ")
	}
	switch t := t.(type) {
	case *spec.List:
		return map[bool]string{false: "list", true: "set"}[t.Set] + "(" + show(t.Item) + ")" + words(t.Keywords)
	case *spec.Map:
		if s, ok := spec.AsScalar(t.Key); ok && s.Limits.Pattern != "" {
			return "map(" + s.Limits.Pattern + ": " + show(t.Value) + ")"
		}
		return "map(" + show(t.Value) + ")" + words(t.Keywords)
	case *spec.Tuple:
		return "tuple(" + each(t.Items) + ")" + words(t.Keywords)
	case *spec.Union:
		return "union" + t.Tag + "(" + each(t.Variants) + ")" + words(t.Keywords)
	case *spec.Literal:
		return fmt.Sprintf("literal%s%s", t.Values, words(t.Keywords))
	}
	return strings.TrimPrefix(fmt.Sprintf("%T ", t), "*spec.") + spec.NameOf(t)
}

func words(k spec.Keywords) string {
	if len(k) == 0 {
		return ""
	}
	return fmt.Sprint(k)
}

const things = `, "definitions": {
	"A": {"title": "A", "type": "object", "properties": {"kind": {"title": "Kind", "enum": ["a"], "type": "string"}}, "required": ["kind"]},
	"B": {"title": "B", "type": "object", "properties": {"kind": {"title": "Kind", "enum": ["b"], "type": "string"}}, "required": ["kind"]},
	"C": {"title": "C", "description": "An enumeration.", "enum": [1, 2], "type": "integer"},
	"D": {"title": "D", "enum": ["x"], "type": "string"},
	"E_int_": {"title": "E[int]", "description": "An enumeration.", "enum": [[]], "type": "array"},
	"shop__Größe": {"title": "Größe", "type": "array", "items": {}}}`

// What a type was comes out of its schema, not only something with its digest.
func TestParseSchemaRecoversTypes(t *testing.T) {
	for property, want := range map[string]string{
		`"type": "string"`:                                                     "String",
		`"type": "string", "format": "uuid4"`:                                  "UUID4",
		`"type": "number", "format": "time-delta"`:                             "Duration",
		`"type": "string", "format": "email"`:                                  "String",
		`"type": "boolean", "format": "yesno"`:                                 "Bool",
		`"type": "string", "format": "uri", "minLength": 1, "maxLength": 2083`: "URI",
		`"type": "string", "format": "uri"`:                                    "String",
		`"type": "string", "format": "uri", "maxLength": 5`:                    "String",
		`"type": "array", "items": [], "minItems": 0, "maxItems": 0`:           "Any",
		`"type": "object", "patternProperties": {"^a": {"type": "string"}}, "additionalProperties": {"type": "integer"}`: "map(Int)",
		`"type": "null"`: "Null",
		`"x": 1`:         "Any",
		`"type": "array", "items": {"type": "integer", "x": [1]}`:                                                       "list(Int[{x [1]}])",
		`"type": "array", "items": {}, "uniqueItems": true`:                                                             "set(Any)",
		`"type": "array", "items": {}, "uniqueItems": false`:                                                            "list(Any)",
		`"type": "array", "minItems": 0, "maxItems": 0`:                                                                 "tuple()",
		`"type": "array", "minItems": 2, "maxItems": 2, "items": [{"type": "integer"}, {"title": "T", "type": "null"}]`: `tuple(Int, Null[{title "T"}])`,
		`"type": "object"`: "map(Any)",
		`"type": "object", "additionalProperties": {"type": "string"}`:                                                                 "map(String)",
		`"type": "object", "additionalProperties": false`:                                                                              "map(Any)",
		`"type": "object", "patternProperties": {"^a": {"type": "string"}}, "additionalProperties": {"type": "string"}`:                "map(^a: String)",
		`"type": "object", "patternProperties": {"^a": {}}`:                                                                            "map(^a: Any)",
		`"type": "object", "patternProperties": {"^a": {"type": "string"}}`:                                                            "map(Any)",
		`"enum": ["a", "b"], "type": "string"`:                                                                                         `literal["a" "b"]`,
		`"enum": ["a", "b"], "type": "integer"`:                                                                                        "Int",
		`"enum": ["a", 1], "type": "string"`:                                                                                           "String",
		`"enum": [], "type": "string"`:                                                                                                 "String",
		`"anyOf": [{"enum": ["a"], "type": "string"}, {"enum": [1], "type": "integer"}]`:                                               `literal["a" 1]`,
		`"anyOf": [{"enum": ["a"], "type": "string"}, {"enum": ["b"], "type": "string"}]`:                                              `union(literal["a"], literal["b"])`,
		`"anyOf": [{"enum": ["a"], "type": "string"}, {"type": "integer"}]`:                                                            `union(literal["a"], Int)`,
		`"type": "array", "items": {"title": " P", "anyOf": [{"enum": ["a"], "type": "string"}, {"enum": [1], "type": "integer"}]}`:    `list(literal["a" 1][{title " P"}])`,
		`"type": "array", "items": {"anyOf": [{"enum": ["a"], "type": "string"}, {"enum": [1], "type": "integer"}]}`:                   `list(union(literal["a"], literal[1]))`,
		`"anyOf": [{"type": "string"}]`:                                                                                                "Any",
		`"anyOf": [{"type": "string"}, {"type": "null"}]`:                                                                              "Any",
		`"anyOf": [{"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "null"}]`:                                            "Any",
		`"allOf": [{"$ref": "#/definitions/A"}]`:                                                                                       "Record A",
		`"anyOf": [{"$ref": "#/definitions/A"}, {"type": "array", "items": {"$ref": "#/definitions/C"}}, {"$ref": "#/definitions/D"}]`: "union(Record A, list(Enum C), Alias D)",
		`"type": "array", "items": {"default": 1, "allOf": [{"$ref": "#/definitions/C"}]}`:                                             "list(union(Enum C)[{default 1}])",
		`"anyOf": [{"$ref": "#/definitions/E_int_"}, {"$ref": "#/definitions/shop__Größe"}]`:                                           "union(Enum E[int], Alias shop__Größe)",
		`"discriminator": {"propertyName": "kind", "mapping": {"a": "#/definitions/A", "b": "#/definitions/B"}}, "oneOf": [{"$ref": "#/definitions/A"}, {"$ref": "#/definitions/B"}]`: "unionkind(Record A, Record B)",
		`"anyOf": [{"oneOf": [{"$ref": "#/definitions/A"}, {"$ref": "#/definitions/B"}]}, {"type": "integer"}]`:                                                                       "union(unionkind(Record A, Record B), Int)",
		`"oneOf": [{"type": "string"}, {"type": "integer"}]`: "Any",
	} {
		text := `{"title": "M", "type": "object", "properties": {"p": {"title": "P", ` + property + `}}` + usedIn(property, things) + `}`
		model, err := spec.ParseSchema([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", property, err)
			continue
		}
		f := model.(*spec.Record).Fields[0]
		if got := show(f.Type); got != want {
			t.Errorf("%s\n is %s, want %s", property, got, want)
		}
	}
}

// usedIn leaves the definitions that the text refers to.
func usedIn(text, definitions string) string {
	head, rest, _ := strings.Cut(definitions, "{\n")
	var used []string
	for line := range strings.SplitSeq(strings.TrimSuffix(rest, "}"), ",\n") {
		key := strings.Split(line, `"`)[1]
		if strings.Contains(text, "#/definitions/"+key+`"`) {
			used = append(used, line)
		}
	}
	if used == nil {
		return ""
	}
	return head + "{" + strings.Join(used, ",") + "}"
}

func TestParseSchemaRecoversFields(t *testing.T) {
	model, err := spec.ParseSchema([]byte(`{"title": "M", "description": "words", "type": "object", "additionalProperties": false, "x": 1, "properties": {
		"a": {"title": "A", "type": "string"},
		"bB": {"title": "Own", "description": "d", "default": null, "type": "string"},
		"c": {"type": "string"},
		"d": {"title": "", "default": 1},
		"e": {"title": "E", "type": "integer", "minimum": 1, "const": 3}}, "required": ["e", "a"]}`))
	if err != nil {
		t.Fatal(err)
	}
	r := model.(*spec.Record)
	if r.Name != "M" || r.Description != "words" || !r.Closed || words(r.Keywords) != "[{x 1}]" {
		t.Errorf("record = %+v", r)
	}
	var got []string
	for _, f := range r.Fields {
		got = append(got, fmt.Sprintf("%s %t %t %q %q %s %t%s", f.Name, f.Optional, f.Nullable, f.Title, f.Description, f.Default, f.Untitled, words(f.Keywords)))
	}
	want := []string{
		`e false false "" ""  false[{const 3}]`,
		`bB false true "Own" "d" null false`,
		`c true false "" ""  true`,
		`d false true "" "" 1 true[{title ""}]`,
		`a false false "" ""  false`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("fields:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A schema without properties is a model with a __root__; one that only refers
// to its definition contains itself.
func TestParseSchemaRecoversAliases(t *testing.T) {
	for text, want := range map[string]string{
		`{"title": "M", "type": "array", "items": {"type": "string"}, "x": 1`:                           "M list(String)[{x 1}]",
		`{"title": "M", "description": "d", "$ref": "#/definitions/A"`:                                  "M Record A",
		`{"title": "M", "description": "d", "default": {}, "allOf": [{"$ref": "#/definitions/A"}]`:      `M union(Record A)[{description "d"} {default {}}]`,
		`{"title": "M", "enum": ["x"], "type": "string"`:                                                `M literal["x"]`,
		`{"title": "M", "anyOf": [{"enum": ["x"], "type": "string"}, {"enum": [1], "type": "integer"}]`: `M literal["x" 1]`,
		`{"title": "M"`: "M Any",
		`{"$ref": "#/definitions/M", "definitions": {"M": {"title": "M", "type": "array", "items": {"$ref": "#/definitions/M"}}}`: "M list(Alias M)",
	} {
		model, err := spec.ParseSchema([]byte(text + usedIn(text, things) + "}"))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		a := model.(*spec.Alias)
		if got := a.Name + " " + show(a.Type) + words(a.Keywords); got != want {
			t.Errorf("%s\n is %s, want %s", text, got, want)
		}
	}
}

// What an author made of "required" by hand is kept, though fields disagree.
func TestParseSchemaKeepsOddRequirements(t *testing.T) {
	for _, required := range []string{`[]`, `["a", "b"]`, `["b", "a"]`, `["a", "a"]`, `["x", "a"]`, `[5, null]`, `"a"`, `null`} {
		text := `{"title": "M", "type": "object", "properties": {"a": {"title": "A"}, "b": {"title": "B", "default": 1}}, "required": ` + required + `}`
		model, err := spec.ParseSchema([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", required, err)
			continue
		}
		if again, err := spec.Schema(model); err != nil || !strings.Contains(string(again), `"required": `+required) {
			t.Errorf("%s becomes %s (%v)", required, again, err)
		}
	}
}

// inProperty is a schema whose property p is the text.
func inProperty(text string) string {
	return `{"title": "M", "type": "object", "properties": {"a": {}, "p": ` + text + `}}`
}

type refusedSchema struct {
	text  string
	code  fault.Code
	field string
}

var refusedSchemas = map[string]refusedSchema{
	"nothing":              {"", fault.Malformed, ""},
	"no object":            {`[]`, fault.Malformed, ""},
	"null":                 {`null`, fault.Malformed, ""},
	"too large":            {`"` + strings.Repeat("x", spec.MaxSchema) + `"`, fault.TooLarge, ""},
	"too deep":             {inProperty(strings.Repeat(`{"type": "array", "items": `, 70) + strings.Repeat("}", 70)), fault.TooLarge, ""},
	"no title":             {`{"type": "object", "properties": {}}`, fault.Malformed, "title"},
	"a title of no text":   {`{"title": 5, "type": "object", "properties": {}}`, fault.Malformed, "title"},
	"properties as a list": {`{"title": "M", "type": "object", "properties": []}`, fault.Malformed, "properties"},
	"properties as text":   {`{"title": "M", "type": "object", "properties": "a"}`, fault.Malformed, "properties"},
	"a property as text":   {inProperty(`"string"`), fault.Malformed, "properties.p"},
	"a record of no type":  {`{"title": "M", "properties": {}}`, fault.Unsupported, "type"},
	"a record as an array": {`{"title": "M", "type": "array", "properties": {}}`, fault.Unsupported, "type"},

	"unknown type":            {inProperty(`{"type": "strange"}`), fault.Unsupported, "properties.p.type"},
	"several types":           {inProperty(`{"type": ["string", "null"]}`), fault.Unsupported, "properties.p.type"},
	"a type that is a number": {inProperty(`{"type": 5}`), fault.Unsupported, "properties.p.type"},
	"a type, deep inside":     {inProperty(`{"type": "array", "items": {"type": "object", "additionalProperties": {"type": "x"}}}`), fault.Unsupported, "properties.p.items.additionalProperties.type"},
	"items that are no types": {inProperty(`{"type": "array", "items": true}`), fault.Malformed, "properties.p.items"},
	"an item that is no type": {inProperty(`{"type": "array", "items": [1], "minItems": 1, "maxItems": 1}`), fault.Malformed, "properties.p.items[0]"},

	"reference to nowhere":      {inProperty(`{"$ref": "#/definitions/X"}`), fault.Malformed, "properties.p.$ref"},
	"reference elsewhere":       {inProperty(`{"$ref": "#/properties/a"}`), fault.Unsupported, "properties.p.$ref"},
	"reference to a page":       {inProperty(`{"$ref": "https://example.org/x.json"}`), fault.Unsupported, "properties.p.$ref"},
	"reference of no text":      {inProperty(`{"$ref": 5}`), fault.Unsupported, "properties.p.$ref"},
	"reference with words":      {`{"title": "M", "type": "object", "properties": {"p": {"title": "P", "type": "array", "items": {"$ref": "#/definitions/X", "x": 1}}}, "definitions": {"X": {"title": "X", "type": "object", "properties": {}}}}`, fault.Unsupported, "properties.p.items.x"},
	"definition that is text":   {`{"title": "M", "type": "object", "properties": {"p": {"$ref": "#/definitions/X"}}, "definitions": {"X": "x"}}`, fault.Malformed, "properties.p.$ref"},
	"definitions that are text": {`{"title": "M", "type": "object", "properties": {"p": {"$ref": "#/definitions/X"}}, "definitions": "X"}`, fault.Malformed, "properties.p.$ref"},
	"definition nobody uses":    {`{"title": "M", "type": "object", "properties": {}, "definitions": {"X": {"title": "X", "type": "object", "properties": {}}}}`, fault.Unsupported, "definitions"},
	"one definition unused": {`{"title": "M", "type": "object", "properties": {"p": {"$ref": "#/definitions/X"}},
		"definitions": {"X": {"title": "X", "type": "object", "properties": {}}, "Y": {}}}`, fault.Unsupported, "definitions.Y"},
	"definition with a mistake": {`{"title": "M", "type": "object", "properties": {"p": {"$ref": "#/definitions/X"}},
		"definitions": {"X": {"title": "X", "type": "object", "properties": {"y": {"type": "x"}}}}}`, fault.Unsupported, "definitions.X.properties.y.type"},
	"definition without a title": {`{"title": "M", "type": "object", "properties": {"p": {"$ref": "#/definitions/X"}},
		"definitions": {"X": {"type": "object", "properties": {}}}}`, fault.Unsupported, "definitions.X.title"},
	"a root that is an enum": {`{"$ref": "#/definitions/X", "definitions": {"X": {"title": "X", "description": "d", "enum": []}}}`, fault.Unsupported, "X"},
	"an enum of no list":     {`{"title": "M", "type": "object", "properties": {"p": {"$ref": "#/definitions/X"}}, "definitions": {"X": {"title": "X", "description": "d", "enum": 5}}}`, fault.Malformed, "definitions.X.enum"},
	"a root defined in vain": {`{"$ref": "#/definitions/X", "definitions": {"X": {"title": "X", "type": "object", "properties": {}}}}`, fault.Unsupported, "$ref"},

	"keys that may be numbers":       {inProperty(`{"type": "object", "default": {"9": 1, "10": 2}}`), fault.Unsupported, "properties.p.default"},
	"keys that may be numbers, deep": {inProperty(`{"type": "object", "example": [{"x": {"1e+16": 1, "2.0": 2}}]}`), fault.Unsupported, "properties.p.example[0].x"},

	"all of two":       {inProperty(`{"allOf": [{"$ref": "#/definitions/X"}, {"$ref": "#/definitions/Y"}]}`), fault.Unsupported, "properties.p.allOf"},
	"all of none":      {inProperty(`{"allOf": []}`), fault.Unsupported, "properties.p.allOf"},
	"all of a type":    {inProperty(`{"allOf": [{"type": "string"}]}`), fault.Unsupported, "properties.p.allOf"},
	"all of a number":  {inProperty(`{"allOf": [5]}`), fault.Unsupported, "properties.p.allOf"},
	"any of none":      {inProperty(`{"anyOf": []}`), fault.Malformed, "properties.p.anyOf"},
	"any of an object": {inProperty(`{"anyOf": {}}`), fault.Malformed, "properties.p.anyOf"},
	"any of text":      {inProperty(`{"anyOf": ["string", "null"]}`), fault.Malformed, "properties.p.anyOf[0]"},
	"one of none":      {inProperty(`{"oneOf": []}`), fault.Malformed, "properties.p.oneOf"},
	"a tag nobody has": {inProperty(`{"title": "P", "oneOf": [{"type": "string"}, {"type": "integer"}], "discriminator": {"propertyName": "k"}}`), fault.Unsupported, "M.p"},
	"a mapping that is another": {`{"title": "M", "type": "object", "properties": {"p": {"title": "P", "discriminator": {"propertyName": "kind", "mapping": {}},
		"oneOf": [{"$ref": "#/definitions/A"}, {"$ref": "#/definitions/B"}]}}` + usedIn(`#/definitions/A" #/definitions/B"`, things) + `}`, fault.Unsupported, "properties.p.discriminator.mapping.a"},
}

func TestSchemasThatAreRefused(t *testing.T) {
	for name, tc := range refusedSchemas {
		t.Run(name, func(t *testing.T) {
			_, err := spec.ParseSchema([]byte(tc.text))
			wantError(t, err, tc.code, tc.field)
		})
	}
}

// A hostile schema as large as schemas may be must not cost the square of its
// size, nor the stack: a minute would be an explosion.
func TestLargeSchemasAreReadInTime(t *testing.T) {
	size, bound := spec.MaxSchema/4, 10*time.Second
	if os.Getenv("PARLEY_LONG") != "" {
		size, bound = spec.MaxSchema, 20*time.Second
	}
	// fill repeats a piece; @ stands for its number, % for the number before.
	fill := func(head, piece, tail string) string {
		numbered := func(text string, i int) string {
			return strings.ReplaceAll(strings.ReplaceAll(text, "@", strconv.Itoa(i)), "%", strconv.Itoa(max(0, i-1)))
		}
		var b strings.Builder
		b.WriteString(head + numbered(piece, 0))
		last := 0
		for ; b.Len() < size-200; last++ {
			b.WriteString("," + numbered(piece, last+1))
		}
		return b.String() + numbered(tail, last)
	}
	names := fill("", `"k@"`, "")
	names = names[:len(names)/3]
	names = names[:strings.LastIndexByte(names, ',')]
	record := `{"title":"M","type":"object","properties":{`
	for name, text := range map[string]string{
		"properties":         fill(record, `"k@":{}`, `}}`),
		"required":           record + strings.ReplaceAll(names, `",`, `":{},`) + `:{}},"required":[` + names + `]}`,
		"keywords":           fill(record+`"p":{`, `"k@":1`, `}}}`),
		"keywords, nested":   fill(record+`"p":{"title":"P","type":"array","items":{`, `"k@":1`, `}}}}`),
		"keywords of it all": fill(`{"title":"M","type":"object","properties":{},`, `"k@":1`, `}`),
		"definitions": fill(`{"definitions":{`, `"d@":{"title":"d@","type":"object","properties":{"p":{"$ref":"#/definitions/d%"}}}`,
			`},"title":"M","type":"object","properties":{"p":{"$ref":"#/definitions/d@"}}}`),
		"aliases of aliases": fill(`{"definitions":{`, `"d@":{"title":"d@","$ref":"#/definitions/d%"}`, `},"title":"M","$ref":"#/definitions/d@"}`),
		"choices":            fill(record+`"p":{"title":"P","anyOf":[`, `{"enum":[@],"type":"integer"}`, `]}}}`),
		"literals":           fill(record+`"p":{"title":"P","type":"string","enum":[`, `"@"`, `]}}}`),
		"tagged":             fill(record+`"p":{"title":"P","discriminator":{"propertyName":"k","mapping":{"x":1}},"oneOf":[`, `{"$ref":"#/definitions/A"}`, `]}},"definitions":{"A":{"title":"A","type":"object","properties":{"k":{"enum":["a"],"type":"string"}}}}}`),
	} {
		t.Run(name, func(t *testing.T) {
			if len(text) > size {
				t.Fatalf("%d bytes", len(text))
			}
			start := time.Now()

			_, err := spec.ParseSchema([]byte(text))

			if took := time.Since(start); took > bound {
				t.Errorf("took %v", took)
			}
			if code := fault.CodeOf(err); err != nil && code != fault.Unsupported && code != fault.Malformed {
				t.Errorf("refused with %v", err)
			}
			if err != nil && len(err.Error()) > 2000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			t.Logf("%v: %.100v", time.Since(start), err)
		})
	}
}
