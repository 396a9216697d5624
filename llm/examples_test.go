package llm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/llm"
)

// hard are schemas that need more than the plainest guess.
var hard = []string{
	// numbers
	`{"type": "integer", "exclusiveMinimum": 9, "exclusiveMaximum": 11}`,
	`{"type": "number", "exclusiveMinimum": 0.1, "exclusiveMaximum": 0.2}`,
	`{"type": "number", "minimum": 0.5, "maximum": 0.5}`,
	`{"type": "integer", "multipleOf": 7, "minimum": 100, "maximum": 106}`,
	`{"type": "number", "multipleOf": 0.01, "minimum": 1.005, "maximum": 1.015}`,
	`{"type": "integer", "multipleOf": 2.5}`,
	`{"type": "integer", "maximum": -1000000}`,
	`{"type": "number", "maximum": -1e20}`,
	`{"type": "number", "minimum": 1e20}`,
	`{"type": "integer", "not": {"minimum": 0}}`,
	`{"allOf": [{"minimum": 10}, {"maximum": 20}, {"multipleOf": 6}], "type": "integer"}`,
	`{"allOf": [{"maximum": 20}, {"minimum": 10}, {"minimum": 5}], "type": "integer"}`,
	`{"type": "integer", "not": {"enum": [0, 1, 2, 3]}}`,
	// text
	`{"type": "string", "format": "email"}`,
	`{"type": "string", "format": "uri"}`,
	`{"type": "string", "format": "date"}`,
	`{"type": "string", "format": "time"}`,
	`{"type": "string", "format": "ipv4"}`,
	`{"type": "string", "format": "ipv6"}`,
	`{"type": "string", "format": "hostname"}`,
	`{"type": "string", "format": "uuid", "maxLength": 36}`,
	`{"type": "string", "pattern": "^[a-z]+$", "minLength": 300}`,
	`{"type": "string", "pattern": "^[a-z]*$", "minLength": 3, "maxLength": 3}`,
	`{"type": "string", "pattern": "^\\d{4}-(0[1-9]|1[0-2])$"}`,
	`{"type": "string", "pattern": "^(?i:yes|no)$"}`,
	`{"type": "string", "pattern": "^[^aeiou ]{5}$"}`,
	`{"type": "string", "pattern": "^\\p{Greek}{2}$"}`,
	`{"type": "string", "pattern": "^.{2,4}$", "minLength": 4}`,
	`{"type": "string", "pattern": "^agent1[02-9ac-hj-np-z]{59}$"}`,
	`{"type": "string", "pattern": "b", "minLength": 10}`,
	`{"type": "string", "pattern": "^(a|b)*?c$"}`,
	`{"type": "string", "minLength": 2000}`,
	`{"type": "string", "maxLength": 3}`,
	`{"type": "string", "not": {"const": "text"}}`,
	`{"allOf": [{"type": "string", "minLength": 8}, {"maxLength": 9}]}`,
	// arrays
	`{"type": "array", "items": {"type": "integer"}, "minItems": 20, "uniqueItems": true}`,
	`{"type": "array", "items": {"type": "boolean"}, "minItems": 2, "uniqueItems": true}`,
	`{"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 3, "uniqueItems": true}`,
	`{"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": {"type": "boolean"}, "minItems": 4}`,
	`{"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false, "minItems": 2, "maxItems": 2}`,
	`{"type": "array", "maxItems": 0}`,
	`{"type": "array", "contains": {"type": "integer", "minimum": 5}, "minContains": 2, "minItems": 3}`,
	`{"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}, "minItems": 1}, "minItems": 1}, "minItems": 1}`,
	`{"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer", "minimum": 1, "maximum": 3}}, "required": ["id"]}, "uniqueItems": true, "minItems": 3}`,
	// objects
	`{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}}, "maxProperties": 1}`,
	`{"type": "object", "minProperties": 2, "additionalProperties": {"type": "integer"}}`,
	`{"type": "object", "minProperties": 2, "patternProperties": {"^x[0-9]$": {"type": "integer"}}, "additionalProperties": false}`,
	`{"type": "object", "patternProperties": {"_id$": {"type": "integer"}, "^user": {"minimum": 5}}, "required": ["user_id"]}`,
	`{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false}`,
	`{"type": "object", "propertyNames": {"enum": ["left", "right"]}, "minProperties": 2}`,
	`{"type": "object", "dependentRequired": {"a": ["b"], "b": ["a", "c"]}, "required": ["a"]}`,
	`{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}`,
	`{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}`,
	`{"type": "object", "properties": {"a": {"minimum": 5}}, "allOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]}]}`,
	`{"type": "object", "properties": {"a": {"type": "integer"}}, "not": {"required": ["a"]}}`,
	// alternatives and references
	`{"anyOf": [false, {"type": "integer"}]}`,
	`{"oneOf": [{"type": "integer", "multipleOf": 3}, {"type": "integer", "multipleOf": 5}]}`,
	`{"oneOf": [{"properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}}, "required": ["kind", "lives"]}, {"properties": {"kind": {"const": "dog"}}, "required": ["kind"]}], "type": "object"}`,
	`{"type": ["array", "null"], "minItems": 1, "items": {"type": ["string", "integer"]}}`,
	`{"type": "object", "properties": {"kind": {"enum": ["a", "b"]}}, "required": ["kind"], "if": {"properties": {"kind": {"const": "b"}}}, "then": {"required": ["size"], "properties": {"size": {"type": "integer"}}}, "else": {"required": ["name"], "properties": {"name": {"type": "string"}}}}`,
	`{"type": "object", "if": {"required": ["a"]}, "then": false, "properties": {"a": {"type": "integer"}}}`,
	`{"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/C"}, "C": {"type": "string", "pattern": "^c$"}}, "$ref": "#/$defs/A"}`,
	`{"$defs": {"Tree": {"type": "object", "properties": {"value": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}, "maxItems": 2}}, "required": ["value", "children"]}}, "$ref": "#/$defs/Tree"}`,
	`{"$defs": {"E": {"oneOf": [{"type": "number"}, {"type": "object", "properties": {"op": {"enum": ["+", "-"]}, "l": {"$ref": "#/$defs/E"}, "r": {"$ref": "#/$defs/E"}}, "required": ["op", "l", "r"], "additionalProperties": false}]}}, "$ref": "#/$defs/E"}`,
	`{"definitions": {"A": {"type": "object", "properties": {"b": {"$ref": "#/definitions/B"}}, "required": ["b"]}, "B": {"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#/definitions/A"}, {"type": "null"}]}}, "required": ["a"]}}, "$ref": "#/definitions/A"}`,
	`{"properties": {"a/b": {"type": "integer"}, "c": {"$ref": "#/properties/a~1b"}}, "required": ["c", "a/b"], "type": "object"}`,
}

// Another library judges the examples, with formats, which ours does not look at.
func TestExamplesFitInTheEyesOfAnother(t *testing.T) {
	for i, text := range append(append(schemas, hard...), recordedSchemas(t)...) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			answer, err := offlineModel().Complete(t.Context(), "", "an example", &llm.Options{Schema: json.RawMessage(text)})
			if err != nil {
				t.Fatalf("%s\n%v", text, err)
			}
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(answer))
			if err != nil {
				t.Fatal(err)
			}
			if err := judge(t, text).Validate(value); err != nil {
				t.Errorf("%s\n%s\n%v", text, answer, err)
			}
		})
	}
}

func judge(t *testing.T, text string) *jsonschema.Schema {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if strings.Contains(text, `"definitions"`) || strings.Contains(text, `"items": [`) {
		compiler.DefaultDraft(jsonschema.Draft7)
	}
	if err := compiler.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// What cannot be had is said with the part that stands in the way, soon enough.
func TestWhatNoExampleFits(t *testing.T) {
	for _, tc := range []struct{ schema, says string }{
		{`{"not": {}}`, "not"},
		{`{"type": "object", "properties": {"n": {"type": "integer", "minimum": 5, "maximum": 4}}, "required": ["n"]}`, "/properties/n"},
		{`{"type": "object", "required": ["a"], "additionalProperties": false}`, "additional properties"},
		{`{"type": "string", "pattern": "^a$", "minLength": 2}`, "pattern"},
		{`{"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": true, "minItems": 3}`, "minItems"},
		{`{"$ref": "#/$defs/N", "$defs": {"N": {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}}, "required": ["next"]}}}`, "without end"},
		{`{"type": "array", "minItems": 5000, "items": {"type": "string", "minLength": 100000}}`, "too large"},
		{`{"type": "array", "minItems": 5000, "items": {"type": "string", "pattern": "a", "minLength": 100000}}`, "too large"},
		{`{"type": "string", "pattern": "^(a{0,1000}b{0,1000})*c$", "minLength": 50000}`, "too large"},
		{`{"type": "object", "patternProperties": {"^(a{0,900}b{0,90})*c$": {}, "^(a{0,900}b{0,90})*d$": {}}, "minProperties": 300}`, "too large"},
		{`{"type": "string", "pattern": "^(a|b)*$", "minLength": 20000, "maxLength": 10}`, "maxLength"},
	} {
		began := time.Now()
		_, err := offlineModel().Complete(t.Context(), "", "x", &llm.Options{Schema: json.RawMessage(tc.schema)})
		if fault.CodeOf(err) != fault.Unsupported || !strings.Contains(err.Error(), "example") || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s\n%v, want unsupported and %q", tc.schema, err, tc.says)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s took %s", tc.schema, took)
		}
	}
}
