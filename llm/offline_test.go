package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/vectors"
	"github.com/parley-agents/parley/llm"
)

func clock() time.Time { return time.Date(2024, 2, 28, 15, 4, 5, 0, time.UTC) }

func offlineModel() *llm.Model { return llm.NewModel(llm.NewOffline(clock)) }

func TestTheOfflineModelAnswers(t *testing.T) {
	for _, tc := range []struct{ prompt, want string }{
		{"who are you?", "built-in offline model"},
		{"Hello there", "not an AI"},
		{"help", "OPENAI_BASE_URL"},
		{"What can you do?", "echo TEXT"},
		{"echo What time is it?", "What time is it?"},
		{"Say 1 + 1", "1 + 1"},
		{"What is 12 * (3 + 4)?", "12 * (3 + 4) = 84"},
		{"7/2", "7/2 = 3.5"},
		{"-3 - -4", "-3 - -4 = 1"},
		{"0.1 + 0.2", "0.1 + 0.2 = 0.3"},
		{"99999999999999999999 * 99999999999999999999", "= 9999999999999999999800000000000000000001"},
		{"1 / 0", "more than I can answer"},
		{"10//2", "more than I can answer"},
		{"2 +", "more than I can answer"},
		{"what time is it", "Time: Wednesday, 2024-02-28, 15:04:05 UTC."},
		{"And tomorrow?", "Tomorrow: Thursday, 2024-02-29."},
		{"what day is 2024-02-29?", "2024-02-29 is a Thursday."},
		{"what day is 2023-02-29?", "more than I can answer"},
		{"Which river flows through Lisbon?", "You said: Which river flows through Lisbon?"},
	} {
		t.Run(tc.prompt, func(t *testing.T) {
			got, err := offlineModel().Complete(t.Context(), "Be brief.", tc.prompt, nil)
			if err != nil || !strings.Contains(got, tc.want) {
				t.Errorf("Complete(%q) = %q (%v), want %q in it", tc.prompt, got, err, tc.want)
			}
			if again, _ := offlineModel().Complete(t.Context(), "", tc.prompt, nil); again != got {
				t.Errorf("the second answer is %q, the first %q", again, got)
			}
		})
	}
}

func TestTheOfflineModelRemembersTheConversation(t *testing.T) {
	history := []llm.Message{{Role: llm.User, Text: "I like rivers"}, {Role: llm.Assistant, Text: "Which?"}}
	got, err := offlineModel().Complete(t.Context(), "", "What did I say?", &llm.Options{History: history})
	if want := "You said: I like rivers"; err != nil || got != want {
		t.Errorf("answer %q (%v), want %q", got, err, want)
	}
}

// ExampleModel_Complete streams an answer, with a limit and its cost.
func ExampleModel_Complete() {
	model := llm.NewModel(llm.NewOffline(time.Now))
	var usage llm.Usage
	answer, err := model.Complete(context.Background(), "Be brief.", "echo one two three", &llm.Options{
		Stream:    func(piece string) error { fmt.Printf("[%s]", piece); return nil },
		MaxTokens: 2,
		Usage:     &usage,
	})
	fmt.Println()
	fmt.Printf("%q %v cut=%v tokens=%d\n", answer, err, usage.Cut, usage.Completion)
	// Output:
	// [one ][two ]
	// "one two " <nil> cut=true tokens=2
}

// An answer can be asked for as JSON that fits a schema.
func ExampleModel_Complete_schema() {
	model := llm.NewModel(llm.NewOffline(time.Now))
	schema := json.RawMessage(`{
		"title": "Location", "type": "object", "required": ["city", "temperature"],
		"properties": {"city": {"type": "string"}, "temperature": {"type": "number", "minimum": -60, "maximum": 60}}
	}`)
	answer, err := model.Complete(context.Background(), "", "What is the weather like in Lisbon?", &llm.Options{Schema: schema})
	fmt.Println(answer, err)
	// Output: {"city":"text","temperature":1} <nil>
}

func TestAFailingReaderEndsTheAnswer(t *testing.T) {
	full := errors.New("the reader is gone")
	_, err := offlineModel().Complete(t.Context(), "", "echo a b", &llm.Options{Stream: func(string) error { return full }})
	if err != full {
		t.Errorf("Complete = %v, want the reader's own error", err)
	}
}

var schemas = []string{
	`{}`,
	`{"type": "object"}`,
	`{"const": {"a": [1, null]}}`,
	`{"enum": [null, "a", 3]}`,
	`{"type": "object", "properties": {"a": {"type": ["null", "integer"]}, "b": {"type": "boolean"}}, "required": ["a", "b", "c"]}`,
	`{"type": "object", "required": ["x"], "additionalProperties": {"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": true}}`,
	`{"type": "object", "minProperties": 3, "propertyNames": {"pattern": "^k[0-9]{2}$"}, "additionalProperties": {"enum": [1, 2]}}`,
	`{"type": "object", "patternProperties": {"^n": {"type": "number"}}, "required": ["name"], "additionalProperties": false}`,
	`{"type": "object", "properties": {"a": {"type": "string"}}, "dependentRequired": {"a": ["b"]}, "required": ["a"]}`,
	`{"type": "array", "items": {"type": "string", "minLength": 5, "maxLength": 5}, "minItems": 2, "maxItems": 2}`,
	`{"type": "array", "prefixItems": [{"type": "integer"}, {"const": "x"}], "items": false, "minItems": 2}`,
	`{"type": "array", "contains": {"const": 7}, "minContains": 2, "items": {"type": "integer"}}`,
	`{"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": true, "minItems": 3}`,
	`{"type": "integer", "minimum": 5, "maximum": 9, "multipleOf": 4}`,
	`{"type": "integer", "exclusiveMinimum": 5, "exclusiveMaximum": 7}`,
	`{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}`,
	`{"type": "number", "maximum": -1e9}`,
	`{"type": "integer", "minimum": 1e12}`,
	`{"type": "integer", "multipleOf": 0.5, "minimum": 2.5}`,
	`{"type": "number", "multipleOf": 0.25, "minimum": 1.1, "maximum": 1.3}`,
	`{"type": "string", "pattern": "^[A-Z]{2}-\\d{3,5}(x|yy)?$", "minLength": 8}`,
	`{"type": "string", "pattern": "^(foo|ba[rz])+$", "maxLength": 6, "minLength": 6}`,
	`{"type": "string", "pattern": "[^a-z]\\w*\\.(png|jpg)"}`,
	`{"type": "string", "format": "date-time"}`,
	`{"type": "string", "format": "uuid"}`,
	`{"type": "string", "minLength": 300}`,
	`{"type": "string", "maxLength": 0}`,
	`{"anyOf": [{"type": "string", "maxLength": 2}, {"type": "null"}]}`,
	`{"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 5}]}`,
	`{"oneOf": [{"type": "number", "multipleOf": 1}, {"type": "number", "minimum": 1}]}`,
	`{"allOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"properties": {"b": {"type": "string"}}, "required": ["b"]}]}`,
	`{"allOf": [{"type": "integer", "minimum": 3}, {"minimum": 7, "maximum": 8}]}`,
	`{"not": {"type": "object"}}`,
	`{"type": "integer", "not": {"const": 1}}`,
	`{"if": {"properties": {"k": {"const": 1}}, "required": ["k"]}, "then": {"required": ["a"]}, "else": {"required": ["b"]}, "type": "object"}`,
	`{"$ref": "#/$defs/N", "$defs": {"N": {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]}, "v": {"type": "integer"}}, "required": ["next", "v"]}}}`,
	`{"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}, "required": ["children"]}`,
	`{"definitions": {"T": {"type": "object", "properties": {"l": {"anyOf": [{"$ref": "#/definitions/T"}, {"$ref": "#/definitions/L"}]}, "r": {"anyOf": [{"$ref": "#/definitions/T"}, {"$ref": "#/definitions/L"}]}}, "required": ["l", "r"]}, "L": {"type": "object", "additionalProperties": false}}, "$ref": "#/definitions/T"}`,
	`{"title": "Pair", "type": "object", "properties": {"p": {"title": "P", "type": "array", "minItems": 2, "maxItems": 2, "items": [{"type": "integer"}, {"type": "string"}]}}, "required": ["p"]}`,
	`{"definitions": {"Mood": {"title": "Mood", "enum": ["ok", "bad"], "type": "string"}}, "type": "object", "properties": {"m": {"allOf": [{"$ref": "#/definitions/Mood"}], "default": "ok"}}}`,
}

// recordedSchemas are those of the models that the Python library was asked
// about when the vectors were made.
func recordedSchemas(t testing.TB) (all []string) {
	var cases []struct {
		Schema string `json:"schema_json_hashed"`
	}
	if err := json.Unmarshal(vectors.Load(t, "schemas.json")["schemas"], &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		all = append(all, c.Schema)
	}
	return all
}

func TestTheOfflineModelFitsEverySchema(t *testing.T) {
	recorded := recordedSchemas(t)
	if len(recorded) < 50 {
		t.Fatalf("only %d recorded schemas", len(recorded))
	}
	for _, text := range append(schemas, recorded...) {
		t.Run("", func(t *testing.T) {
			answer, err := offlineModel().Complete(t.Context(), "", "an example", &llm.Options{Schema: json.RawMessage(text)})
			if err != nil {
				t.Fatalf("%s\n%v", text, err)
			}
			schema, err := llm.ParseSchema([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := schema.Read(answer); err != nil {
				t.Errorf("%s\n%s\n%v", text, answer, err)
			}
			if again, _ := offlineModel().Complete(t.Context(), "", "an example", &llm.Options{Schema: json.RawMessage(text)}); again != answer {
				t.Errorf("the second answer is %s, the first %s", again, answer)
			}
		})
	}
}

func TestASchemaThatNothingFitsIsSaid(t *testing.T) {
	_, err := offlineModel().Complete(t.Context(), "", "x", &llm.Options{Schema: json.RawMessage(`{"not": {}}`)})
	if fault.CodeOf(err) != fault.Unsupported {
		t.Errorf("Complete = %v, want unsupported", err)
	}
}
