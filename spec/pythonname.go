package spec

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/parley-agents/parley/internal/pyjson"
)

// pythonName spells a type as Python's typing module does. It shows where a
// union has a variant with a literal of mixed kinds somewhere inside.
func pythonName(t Type) string {
	if s, ok := AsScalar(t); ok && int(s.Kind) < len(pythonKinds) {
		name := pythonKinds[s.Kind]
		return name[strings.LastIndexByte(name, '.')+1:] // outermost, a class has its bare name
	}
	if name := NameOf(t); name != "" {
		return name
	}
	return pythonForm(t, 0)
}

var pythonKinds = [...]string{
	Any: "Any", Null: "NoneType", Bool: "bool", String: "str", Int: "int", Int32: "int", UInt32: "int", UInt64: "int",
	Float: "float", Float32: "float", Decimal: "decimal.Decimal", Bytes: "bytes", DateTime: "datetime.datetime",
	Date: "datetime.date", Time: "datetime.time", Duration: "datetime.timedelta", UUID: "uuid.UUID",
	UUID4: "pydantic.v1.types.UUID4", URI: "pydantic.v1.networks.AnyUrl",
}

// pythonForm is the spelling inside another type. The module of a class is not
// known here; its bare name stands for it.
func pythonForm(t Type, depth int) string {
	if s, ok := AsScalar(t); ok && int(s.Kind) < len(pythonKinds) {
		return pythonKinds[s.Kind]
	}
	if depth > maxNesting {
		return "" // the type contains itself; its writer says so
	}
	form := func(t Type) string { return pythonForm(t, depth+1) }
	switch t := t.(type) {
	case *List:
		if t.Set {
			return "Set[" + form(t.Item) + "]"
		}
		return "List[" + form(t.Item) + "]"
	case *Map:
		key := "str"
		if t.Key != nil {
			key = form(t.Key)
		}
		return "Dict[" + key + ", " + form(t.Value) + "]"
	case *Tuple:
		if len(t.Items) == 0 {
			return "Tuple[()]"
		}
		return "Tuple[" + joined(t.Items, form) + "]"
	case *Union:
		variants := t.present(nil)
		if len(variants) == 1 {
			return "Optional[" + form(variants[0]) + "]"
		}
		return "Union[" + joined(variants, form) + "]"
	case *Literal:
		return "Literal[" + pythonLiterals(t.Values) + "]"
	}
	return NameOf(t)
}

func joined(types []Type, form func(Type) string) string {
	var forms []string
	for _, t := range types {
		forms = append(forms, form(t))
	}
	return strings.Join(forms, ", ")
}

func pythonLiterals(values []JSON) string {
	var texts []string
	for _, text := range values {
		v, err := text.parse()
		if err != nil {
			continue // the writer of the literal says so
		}
		switch v.Kind {
		case pyjson.String:
			texts = append(texts, pythonQuote(v.Text))
		case pyjson.Bool:
			texts = append(texts, map[bool]string{true: "True", false: "False"}[v.Bool])
		case pyjson.Null:
			texts = append(texts, "None")
		default:
			texts = append(texts, string(jsonOf(v)))
		}
	}
	return strings.Join(texts, ", ")
}

// pythonQuote is Python's repr of a string.
func pythonQuote(s string) string {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range s {
		switch {
		case r == quote || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteRune(quote)
	return b.String()
}
