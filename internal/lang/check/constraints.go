package check

import (
	"strconv"

	"github.com/parley-agents/parley/internal/lang/syntax"
	"github.com/parley-agents/parley/spec"
)

// Constraints writes what narrows a type as a source does.
func Constraints(l *spec.Limits, format string) []string {
	var all []string
	add := func(name, value string) {
		if value != "" {
			all = append(all, name+": "+value)
		}
	}
	number := func(n *int) string {
		if n == nil {
			return ""
		}
		return strconv.Itoa(*n)
	}
	text := func(s string) string {
		if s == "" {
			return ""
		}
		return syntax.Quote(s)
	}
	add("minLength", number(l.MinLength))
	add("maxLength", number(l.MaxLength))
	add("pattern", text(l.Pattern))
	add("format", text(format))
	add("min", string(l.Min))
	add("max", string(l.Max))
	add("above", string(l.Above))
	add("below", string(l.Below))
	add("multipleOf", string(l.MultipleOf))
	add("minItems", number(l.MinItems))
	add("maxItems", number(l.MaxItems))
	return all
}
