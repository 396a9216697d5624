package aea

import (
	"regexp"
	"slices"
	"strings"
)

// A shape is the form of a content type.
type shape uint8

const (
	primitive shape = iota
	custom
	setOf
	listOf
	dictOf
	unionOf
	optional
)

// A typ is a content type. Name is "str" of pt:str and "Query" of ct:Query.
type typ struct {
	shape shape
	name  string
	of    []typ
}

// maxType bounds the text of a type; the longest real one has 200 bytes.
const maxType = 10_000

var (
	primitives  = []string{"bytes", "int", "float", "bool", "str"}
	customNames = regexp.MustCompile(`^[A-Z][a-zA-Z0-9]*$`)
	shapes      = map[string]shape{"set": setOf, "list": listOf, "dict": dictOf, "union": unionOf, "optional": optional}
)

// parseType reads a content type; ok is false if it is not one. Collections hold
// primitive types only, a union no union, and an optional type no optional one.
func parseType(text string) (t typ, ok bool) {
	if len(text) > maxType {
		return t, false
	}
	text = strings.TrimSpace(text)
	if name, found := strings.CutPrefix(text, "ct:"); found {
		return typ{shape: custom, name: name}, customNames.MatchString(name)
	}
	text, found := strings.CutPrefix(text, "pt:")
	if !found {
		return t, false
	}
	if slices.Contains(primitives, text) {
		return typ{name: text}, true
	}
	kind, inner, found := strings.Cut(text, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	t.shape = shapes[kind]
	if !found || !closed || t.shape == primitive {
		return t, false
	}
	var spelled []string
	for _, part := range splitTypes(inner) {
		item, ok := parseType(part)
		if !ok || !t.shape.holds(item.shape) || slices.Contains(spelled, part) {
			return t, false
		}
		t.of = append(t.of, item)
		if t.shape == unionOf {
			spelled = append(spelled, part)
		}
	}
	switch t.shape {
	case dictOf:
		return t, len(t.of) == 2
	case unionOf:
		return t, len(t.of) >= 2
	}
	return t, len(t.of) == 1
}

// holds reports whether a type of one shape may contain one of another.
func (s shape) holds(inner shape) bool {
	switch s {
	case unionOf:
		return inner != unionOf && inner != optional
	case optional:
		return inner != optional
	}
	return inner == primitive
}

// splitTypes splits at the commas that are not within brackets. One at the end is
// allowed.
func splitTypes(text string) []string {
	var parts []string
	depth, from := 0, 0
	for i, r := range text {
		switch r {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, strings.TrimSpace(text[from:i]))
				from = i + 1
			}
		}
	}
	if last := strings.TrimSpace(text[from:]); last != "" || len(parts) == 0 {
		parts = append(parts, last)
	}
	return parts
}

// String writes the type as the framework's own files do.
func (t typ) String() string {
	switch t.shape {
	case primitive:
		return "pt:" + t.name
	case custom:
		return "ct:" + t.name
	}
	var parts []string
	for _, inner := range t.of {
		parts = append(parts, inner.String())
	}
	return "pt:" + t.shape.String() + "[" + strings.Join(parts, ", ") + "]"
}

func (s shape) String() string {
	for name, shape := range shapes {
		if s == shape {
			return name
		}
	}
	return ""
}

// customTypes returns the custom types that a content type needs, as the framework
// looks for them: one level deep, and not behind a blank.
func customTypes(content string) []string {
	t, _ := parseType(content)
	look := []typ{t}
	if !strings.HasPrefix(content, " ") {
		look = append(look, t.of...)
	}
	var all []string
	for _, inner := range look {
		if inner.shape == custom {
			all = append(all, inner.name)
		}
	}
	return all
}
