package aea

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// A Flavour is one of the two frameworks that read specifications. They agree on
// everything but the width of numbers.
type Flavour struct{ integer, float string }

// The flavours: open-aea, and the older aea.
var (
	Open    = Flavour{"int32", "double"}
	Classic = Flavour{"int64", "float"}
)

// Proto returns the protobuf schema of the messages, as the generator of the
// framework writes it. Performatives are numbered from 5 in the order of their
// names: a new one moves those behind it.
func (s *Specification) Proto(f Flavour) string {
	w := &protoWriter{flavour: f}
	author, name, version := s.wireID()
	if normal, ok := normalVersion(version); ok && f == Open {
		version = normal
	}
	w.line(0, `syntax = "proto3";`)
	w.line(0, "")
	w.line(0, "package aea.%s.%s.v%s;", author, name, strings.ReplaceAll(version, ".", "_"))
	w.line(0, "")
	w.line(0, "message %sMessage{", CamelCase(s.Name))
	w.line(0, "")
	if len(s.CustomTypes) > 0 {
		w.customTypes(s.CustomTypes)
		w.line(0, "")
	}
	w.line(1, "// Performatives and contents")
	for _, act := range s.SpeechActs {
		w.performative(act)
		w.line(0, "")
	}
	w.line(0, "")
	w.line(1, "oneof performative{")
	var all []string
	for _, act := range s.SpeechActs {
		all = append(all, act.Name)
	}
	slices.Sort(all)
	for i, act := range all {
		w.line(2, "%s_Performative %s = %d;", title(act), act, i+5)
	}
	w.line(1, "}")
	w.line(0, "}")
	return w.String()
}

type protoWriter struct {
	strings.Builder
	flavour Flavour
	field   int // number of the latest field
}

func (w *protoWriter) line(indent int, format string, args ...any) {
	w.WriteString(strings.Repeat("    ", indent))
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

func (w *protoWriter) customTypes(types []CustomType) {
	w.line(1, "// Custom Types")
	types = slices.SortedFunc(slices.Values(types), func(a, b CustomType) int { return strings.Compare(a.Name, b.Name) })
	for _, c := range types {
		w.line(1, "message %s{", c.Name)
		for line := range strings.Lines(c.Body) {
			w.WriteString("        " + line) // a body of one folded line stays open
		}
		w.line(1, "}")
		w.line(0, "")
	}
}

func (w *protoWriter) performative(act SpeechAct) {
	if len(act.Contents) == 0 {
		w.line(1, "message %s_Performative{}", title(act.Name))
		return
	}
	w.line(1, "message %s_Performative{", title(act.Name))
	w.field = 0
	for _, c := range act.Contents {
		if t, ok := parseType(c.Type); ok {
			w.content(c.Name, t)
		}
	}
	w.line(1, "}")
}

func (w *protoWriter) content(name string, t typ) {
	switch t.shape {
	case optional:
		w.content(name, t.of[0])
		w.declare("bool", name+"_is_set")
	case unionOf:
		for _, variant := range t.of {
			field := name + "_type_" + variant.suffix()
			w.content(field, variant)
			w.declare("bool", field+"_is_set")
		}
	case setOf, listOf:
		w.declare("repeated "+w.scalar(t.of[0]), name)
	case dictOf:
		w.declare("map<"+w.scalar(t.of[0])+", "+w.scalar(t.of[1])+">", name)
	default:
		w.declare(w.scalar(t), name)
	}
}

func (w *protoWriter) declare(t, name string) {
	w.field++
	w.line(2, "%s %s = %d;", t, name, w.field)
}

func (w *protoWriter) scalar(t typ) string {
	if t.shape == custom {
		return t.name
	}
	switch t.name {
	case "int":
		return w.flavour.integer
	case "float":
		return w.flavour.float
	case "str":
		return "string"
	}
	return t.name
}

// suffix names a variant of a union in its fields.
func (t typ) suffix() string {
	if t.shape == primitive || t.shape == custom {
		return t.name
	}
	parts := []string{t.shape.String(), "of"}
	for _, inner := range t.of {
		parts = append(parts, inner.name)
	}
	return strings.Join(parts, "_")
}

// CamelCase writes the name of a protocol as its classes are called: "oef_search"
// becomes "OefSearch".
func CamelCase(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		b.WriteString(title(part))
	}
	return b.String()
}

// title writes a letter after anything else than a letter upper case, and all
// other letters lower case, as Python does.
func title(s string) string {
	inWord := false
	return strings.Map(func(r rune) rune {
		wasInWord := inWord
		inWord = unicode.IsLetter(r)
		if wasInWord {
			return unicode.ToLower(r)
		}
		return unicode.ToTitle(r)
	}, s)
}
