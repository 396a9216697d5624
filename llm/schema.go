package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/parley-agents/parley/fault"
)

// A Schema is a JSON schema that answers must fit. Schemas come from strangers:
// size, nesting and the work of checking an answer are bounded, and nothing is
// ever loaded from elsewhere.
type Schema struct {
	text  json.RawMessage
	root  any  // what the library understood of it
	old   bool // it has what only draft-07 reads as it was meant
	rules *jsonschema.Resolved
}

const (
	maxSchema = 64 << 10
	maxDepth  = 64
	maxWork   = 100 << 20 // steps of checking an answer, each weighed with the size of the schema

	draft07   = "http://json-schema.org/draft-07/schema#"
	draft2020 = "https://json-schema.org/draft/2020-12/schema"
)

// ParseSchema reads a JSON schema, draft-07 or 2020-12. Without $schema it is
// what the Python library writes: draft-07 where it has definitions or tuples.
// References are to places in the schema itself.
func ParseSchema(text []byte) (*Schema, error) {
	if len(text) > maxSchema {
		return nil, fault.Errorf(fault.TooLarge, "schema", "a schema has at most %d bytes, not %d", maxSchema, len(text))
	}
	s := &Schema{text: bytes.Clone(text)}
	var raw any
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fault.Errorf(fault.Malformed, "schema", "the schema is not JSON: %w", err)
	}
	if _, ok := raw.(map[string]any); !ok {
		return nil, fault.Errorf(fault.Malformed, "schema", "a schema is a JSON object")
	}
	if err := s.inspect(raw, 0); err != nil {
		return nil, err
	}
	// What the library understood is what is inspected and used from here on: it
	// also reads keywords in other cases.
	var read, schema jsonschema.Schema
	err := guard(func() error {
		if err := json.Unmarshal(text, &read); err != nil {
			return err
		}
		if read.Schema == "" && s.old {
			read.Schema = draft07
		}
		understood, err := json.Marshal(&read)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(understood, &s.root); err != nil {
			return err
		}
		return json.Unmarshal(understood, &schema)
	})
	if err == nil {
		if err := s.inspect(s.root, 0); err != nil {
			return nil, err
		}
		err = guard(func() error {
			var err error
			s.rules, err = schema.Resolve(nil)
			return err
		})
	}
	if err == nil && schema.Schema != "" && schema.Schema != draft07 && schema.Schema != draft2020 {
		err = fmt.Errorf("only draft-07 and 2020-12 are known, not %q", schema.Schema)
	}
	if err != nil {
		return nil, fault.Errorf(fault.Unsupported, "schema", "the schema cannot be used: %s", shorten(err.Error()))
	}
	return s, nil
}

// inspect refuses what is nested too deep or refers to elsewhere.
func (s *Schema) inspect(v any, depth int) error {
	if depth > maxDepth {
		return fault.Errorf(fault.TooLarge, "schema", "a schema is nested at most %d deep", maxDepth)
	}
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok && (!isLocal(ref) || s.root != nil && resolve(s.root, ref) == nil) {
			return fault.Errorf(fault.Unsupported, "schema", "a $ref must point into the schema itself, such as #/definitions/Name, not %q", shorten(ref))
		}
		for _, key := range []string{"$dynamicRef", "$recursiveRef", "$anchor", "$dynamicAnchor"} {
			if _, ok := v[key].(string); ok {
				return fault.Errorf(fault.Unsupported, "schema", "%s is not supported", key)
			}
		}
		if _, ok := v["$id"].(string); ok && depth > 0 {
			return fault.Errorf(fault.Unsupported, "schema", "$id is supported at the top only")
		}
		if _, ok := v["items"].([]any); ok {
			s.old = true
		}
		if _, ok := v["definitions"].(map[string]any); ok {
			s.old = true
		}
		for _, inner := range v {
			if err := s.inspect(inner, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, inner := range v {
			if err := s.inspect(inner, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// Name is the schema's title, as a name that servers accept.
func (s *Schema) Name() string {
	title := ""
	if root, ok := s.root.(map[string]any); ok {
		title, _ = root["title"].(string)
	}
	title = notName.ReplaceAllString(title, "_")
	if title == "" {
		return "answer"
	}
	return title[:min(len(title), 64)]
}

var notName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// MarshalJSON returns the schema as it was given.
func (s *Schema) MarshalJSON() ([]byte, error) { return s.text, nil }

// Read checks an answer and returns its JSON. Some models put it into a block of
// Markdown, which is taken off.
func (s *Schema) Read(answer string) (string, error) {
	text := strings.TrimSpace(answer)
	if inner, fenced := strings.CutPrefix(text, "```"); fenced {
		inner = strings.TrimSuffix(strings.TrimSpace(inner), "```")
		text = strings.TrimSpace(strings.TrimPrefix(inner, "json"))
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		if _, tooLarge := errors.AsType[*json.UnmarshalTypeError](err); tooLarge {
			return "", fault.Errorf(fault.Malformed, "output", "it has a number that is too large")
		}
		return "", fault.Errorf(fault.Malformed, "output", "it is not JSON: %w", err)
	}
	return text, s.Check(value)
}

// Check reports whether a value, decoded from JSON, fits.
func (s *Schema) Check(value any) error {
	work := maxWork
	return s.check(value, &work)
}

// check is Check with what is left of the work that may be done.
func (s *Schema) check(value any, work *int) error {
	w := worker{root: s.root, left: work, price: max(500, len(s.text))}
	if !w.visit(s.root, value, 0) {
		return fault.Errorf(fault.Unsupported, "schema", "it cannot be checked: the schema refers to itself without end, or too often")
	}
	if err := guard(func() error { return s.rules.Validate(value) }); err != nil {
		return fault.Errorf(fault.Malformed, "output", "%w", err)
	}
	return nil
}

// guard makes a panic of the schema library an error of this schema.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return f()
}

// A worker goes the way of a validator, all branches of it, without judging, to
// learn whether that way ends. The library itself would overflow its stack on a
// schema such as {"$ref":"#"}, and never end on one that doubles the work with
// each level of the answer.
type worker struct {
	root  any
	left  *int
	price int // of a step: the library prints the schema when a branch fails
}

func (w *worker) visit(schema, value any, depth int) bool {
	s, ok := schema.(map[string]any)
	if !ok {
		return true
	}
	if *w.left -= w.price; *w.left < 0 || depth > 100*maxDepth {
		return false
	}
	here := func(inner any) bool { return w.visit(inner, value, depth+1) }
	below := func(inner, value any) bool { return w.visit(inner, value, depth+1) }
	if ref, ok := s["$ref"].(string); ok && !here(resolve(w.root, ref)) {
		return false
	}
	for _, key := range []string{"not", "if", "then", "else"} {
		if !here(s[key]) {
			return false
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		for _, inner := range list(s[key]) {
			if !here(inner) {
				return false
			}
		}
	}
	for _, key := range []string{"dependentSchemas", "dependencies"} {
		for _, inner := range object(s[key]) {
			if !here(inner) {
				return false
			}
		}
	}
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			applied := []any{object(s["properties"])[name], s["additionalProperties"], s["unevaluatedProperties"]}
			for _, inner := range object(s["patternProperties"]) {
				applied = append(applied, inner)
			}
			for _, inner := range applied {
				if !below(inner, v) {
					return false
				}
			}
			if !below(s["propertyNames"], name) {
				return false
			}
		}
	case []any:
		for i, v := range value {
			applied := []any{s["items"], s["additionalItems"], s["contains"], s["unevaluatedItems"]}
			for _, key := range []string{"items", "prefixItems"} {
				if tuple := list(s[key]); i < len(tuple) {
					applied = append(applied, tuple[i])
				}
			}
			for _, inner := range applied {
				if !below(inner, v) {
					return false
				}
			}
		}
	}
	return true
}

// isLocal reports whether a reference is a plain path into the same schema.
func isLocal(ref string) bool {
	return ref == "#" || strings.HasPrefix(ref, "#/") && !strings.Contains(ref, "%") && !strings.Contains(ref, "//") && !strings.HasSuffix(ref, "/")
}

// resolve follows a reference such as "#/definitions/Name"; nil is nowhere.
func resolve(root any, ref string) any {
	if ref == "#" {
		return root
	}
	v := root
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch at := v.(type) {
		case map[string]any:
			v = at[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

func object(v any) map[string]any { m, _ := v.(map[string]any); return m }
func list(v any) []any            { l, _ := v.([]any); return l }
