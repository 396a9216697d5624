package document

import (
	"strings"

	"github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/spec"
)

// A span is a part of a type in words; Ref is the named type that it stands for.
type span struct {
	text string
	ref  spec.Type
}

var kinds = map[spec.Kind]string{
	spec.Any: "Json", spec.Null: "Null", spec.Bool: "Bool", spec.String: "String", spec.Int: "Int", spec.Int32: "Int32",
	spec.UInt32: "UInt32", spec.UInt64: "UInt64", spec.Float: "Float", spec.Float32: "Float32", spec.Decimal: "Decimal",
	spec.Bytes: "Bytes", spec.DateTime: "DateTime", spec.Date: "Date", spec.Time: "Time", spec.Duration: "Duration",
	spec.UUID: "Uuid", spec.UUID4: "Uuid4", spec.URI: "Uri",
}

// A glossary knows what types are called.
type glossary map[spec.Type]string

// add takes a type by its name. Scalars without limits have no identity of their
// own: an alias of String is a String.
func (g glossary) add(t spec.Type, name string) {
	if _, scalar := t.(spec.Kind); t != nil && !scalar {
		g[t] = name
	}
}

// words writes a type as a source does. The limits of the type itself are left
// out if they are told elsewhere.
func (g glossary) words(t spec.Type, limited bool) []span {
	if t == nil {
		t = spec.Any
	}
	if name, ok := g[t]; ok {
		return []span{{name, t}}
	}
	return g.parts(t, limited)
}

// parts writes a type by what it is made of, also if it has a name.
func (g glossary) parts(t spec.Type, limited bool) []span {
	var all []span
	text := func(s string) { all = append(all, span{text: s}) }
	limits := func(l *spec.Limits, format string) {
		if list := check.Constraints(l, format); limited && len(list) > 0 {
			text("(" + strings.Join(list, ", ") + ")")
		}
	}
	switch t := t.(type) {
	case spec.Kind:
		text(kinds[t])
	case *spec.Scalar:
		text(kinds[t.Kind])
		limits(&t.Limits, t.Format)
	case *spec.List:
		text(map[bool]string{false: "List<", true: "Set<"}[t.Set])
		all = append(all, g.words(t.Item, true)...)
		text(">")
		limits(&t.Limits, "")
	case *spec.Map:
		text("Map<")
		if t.Key == nil {
			text("String")
		} else {
			all = append(all, g.words(t.Key, true)...)
		}
		text(", ")
		all = append(all, g.words(t.Value, true)...)
		text(">")
	case *spec.Tuple:
		text("Tuple<")
		for i, item := range t.Items {
			if i > 0 {
				text(", ")
			}
			all = append(all, g.words(item, true)...)
		}
		text(">")
	case *spec.Union:
		for i, v := range t.Variants {
			if i > 0 {
				text(" | ")
			}
			all = append(all, g.words(v, true)...)
		}
	case *spec.Literal:
		var values []string
		for _, v := range t.Values {
			values = append(values, string(v))
		}
		text(strings.Join(values, " | "))
	default:
		all = append(all, span{spec.NameOf(t), t})
	}
	return all
}

// ownLimits are those of the type itself.
func ownLimits(t spec.Type) []string {
	switch t := t.(type) {
	case *spec.Scalar:
		return check.Constraints(&t.Limits, t.Format)
	case *spec.List:
		return check.Constraints(&t.Limits, "")
	}
	return nil
}
