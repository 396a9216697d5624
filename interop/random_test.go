package interop

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
)

// A maker makes random models: as data for Parley, as source text for Python.
type maker struct {
	*rand.Rand
	serial  int
	source  strings.Builder
	classes []string
	named   []spec.Type // enums and records made so far, for use again
	depth   int         // of the value being made, roughly
	plain   bool        // no limits that are Decimals: the library cannot write a manifest with them
}

// model makes a record with its Python class, and the classes it needs before it.
func (m *maker) model() *spec.Record {
	m.source.Reset()
	m.classes = nil
	m.named = nil
	return m.record(3)
}

func (m *maker) name(kind string) string {
	m.serial++
	return kind + strconv.Itoa(m.serial)
}

func (m *maker) chance(percent int) bool { return m.IntN(100) < percent }

func pick[T any](m *maker, choices ...T) T { return choices[m.IntN(len(choices))] }

var fieldNames = []string{
	"text", "user_name", "userName", "HTTPCode", "x1y2", "a_b_c", "msg_id", "nom_été", "count", "Value", "stream_id",
	"größe", "名前", "is_ok", "kind_2x", "i", "l33t", "straße", "timestamp", "output_schema", "amountEUR",
}

var words = []string{"", "plain words", "naïve — “quoted”", `with "quotes" and \ back`, "<b>&amp;</b>", "🤖 robot", "tab\there", "日本語"}

func (m *maker) record(depth int) *spec.Record {
	r := &spec.Record{Name: m.name("Model")}
	if m.chance(30) {
		r.Description = pick(m, words[1:6]...) // Python re-indents docstrings with tabs
	}
	r.Closed = m.chance(10)
	r.Open = !r.Closed && m.chance(8)
	var body strings.Builder
	for _, i := range m.Perm(len(fieldNames))[:m.IntN(6)] {
		f, line := m.field(fieldNames[i], depth)
		if m.chance(6) {
			f, line = m.itself(fieldNames[i], r)
		}
		r.Fields = append(r.Fields, f)
		body.WriteString("    " + line + "\n")
	}
	fmt.Fprintf(&m.source, "class %s(Model):\n", r.Name)
	if r.Description != "" {
		fmt.Fprintf(&m.source, "    %s\n", pythonText(r.Description))
	}
	if r.Closed {
		m.source.WriteString("    class Config:\n        extra = 'forbid'\n")
	}
	if r.Open {
		m.source.WriteString("    class Config:\n        extra = 'allow'\n")
	}
	m.source.WriteString(body.String() + "    pass\n")
	m.classes = append(m.classes, r.Name)
	m.named = append(m.named, r)
	return r
}

// field makes a field and its line in Python.
func (m *maker) field(name string, depth int) (spec.Field, string) {
	f := spec.Field{Name: name}
	var python string
	f.Type, python = m.typ(depth)
	var args []string
	switch {
	case f.Type == spec.Any: // in Python an Any may always be left out
		f.Optional = true
		args = append(args, "None")
	case m.chance(25):
		f.Optional = true
		python = "Optional[" + python + "]"
		args = append(args, "None")
	case m.chance(8):
		f.Nullable = true
		python = "Optional[" + python + "]"
		args = append(args, "...")
	case m.chance(25) && hasStableText(f.Type):
		f.Default = jsonText(m.value(f.Type))
		args = append(args, fmt.Sprintf("parse_raw_as(%s, %s)", python, pythonText(string(f.Default))))
	default:
		args = append(args, "...")
	}
	if m.chance(15) {
		f.Title = pick(m, "A Title", "été", "x_y")
		args = append(args, "title="+pythonText(f.Title))
	}
	if m.chance(15) {
		f.Description = pick(m, words[1:]...)
		args = append(args, "description="+pythonText(f.Description))
	}
	if m.chance(8) {
		f.Alias = "alias_" + name
		args = append(args, "alias="+pythonText(f.Alias))
	}
	if m.chance(8) {
		f.Keywords = spec.Keywords{{Name: "example", Value: `{"k": [1, 2.5, null]}`}}
		args = append(args, `example={"k": [1, 2.5, None]}`)
	}
	return f, fmt.Sprintf("%s: %s = Field(%s)", name, python, strings.Join(args, ", "))
}

// itself makes a field that holds the record it stands in.
func (m *maker) itself(name string, r *spec.Record) (spec.Field, string) {
	f := spec.Field{Name: name}
	switch m.IntN(3) {
	case 0:
		f.Type, f.Optional = r, true
		return f, fmt.Sprintf("%s: Optional[%q] = None", name, r.Name)
	case 1:
		f.Type, f.Default = &spec.List{Item: r}, "[]"
		return f, fmt.Sprintf("%s: List[%q] = []", name, r.Name)
	}
	f.Type = &spec.Map{Key: spec.String, Value: &spec.Union{Variants: types{r, spec.Int}}}
	return f, fmt.Sprintf("%s: Dict[str, Union[%q, int]]", name, r.Name)
}

// hasStableText leaves out what Python writes in an order of its own.
func hasStableText(t spec.Type) bool {
	switch t := t.(type) {
	case *spec.List:
		return !t.Set && hasStableText(t.Item)
	case *spec.Map:
		return hasStableText(t.Value)
	case *spec.Tuple:
		for _, item := range t.Items {
			if !hasStableText(item) {
				return false
			}
		}
	case *spec.Literal:
		return !slices.Equal(t.Values, []spec.JSON{"1", "true"}) // equal in Python
	case *spec.Union:
		return false // parsing may turn the default into another kind
	case *spec.Record:
		return false // Python turns a default instance's own fields into text in its own way
	}
	return t != spec.Decimal && t != spec.Any
}

func (m *maker) typ(depth int) (spec.Type, string) {
	if depth == 0 || m.chance(45) {
		return m.scalar()
	}
	switch m.IntN(9) {
	case 0:
		item, python := m.perhaps(depth - 1)
		return &spec.List{Item: item}, "List[" + python + "]"
	case 8:
		item, python := m.perhaps(depth - 1)
		list := &spec.List{Item: item, Limits: spec.Limits{MinItems: new(m.IntN(2)), MaxItems: new(2 + m.IntN(2))}}
		return list, fmt.Sprintf("conlist(%s, min_items=%d, max_items=%d)", python, *list.Limits.MinItems, *list.Limits.MaxItems)
	case 1:
		item, python := m.hashable()
		return &spec.List{Item: item, Set: true}, "Set[" + python + "]"
	case 2:
		return m.mapping(depth)
	case 3:
		return m.tuple(depth)
	case 4:
		return m.union(depth)
	case 5:
		return m.literal()
	case 6:
		return m.enum()
	}
	if len(m.named) > 0 && m.chance(30) {
		t := pick(m, m.named...)
		return t, spec.NameOf(t)
	}
	r := m.record(depth - 1)
	return r, r.Name
}

// perhaps makes the type of an item, which may be null too.
func (m *maker) perhaps(depth int) (spec.Type, string) {
	t, python := m.typ(depth)
	if t == spec.Any || m.chance(75) {
		return t, python
	}
	python = "Optional[" + python + "]"
	if u, ok := t.(*spec.Union); ok {
		return &spec.Union{Variants: append(slices.Clone(u.Variants), spec.Null)}, python
	}
	return &spec.Union{Variants: types{t, spec.Null}}, python
}

var scalars = []struct {
	kind   spec.Kind
	python string
}{
	{spec.Any, "Any"}, {spec.Bool, "bool"}, {spec.String, "str"}, {spec.Int, "int"}, {spec.Float, "float"}, {spec.Decimal, "Decimal"},
	{spec.Bytes, "bytes"}, {spec.DateTime, "datetime"}, {spec.Date, "date"}, {spec.Time, "time"}, {spec.Duration, "timedelta"},
	{spec.UUID, "UUID"}, {spec.UUID4, "UUID4"}, {spec.URI, "AnyUrl"},
}

var httpURL = spec.URI.With(spec.Limits{MaxLength: new(2083)})

func (m *maker) scalar() (spec.Type, string) {
	switch m.IntN(13) {
	case 0:
		low := m.IntN(5)
		return spec.Int.With(spec.Limits{Min: spec.JSON(strconv.Itoa(low)), Below: "900"}), fmt.Sprintf("conint(ge=%d, lt=900)", low)
	case 1:
		return spec.Float.With(spec.Limits{Above: "-0.5", Max: "1e+20"}), "confloat(gt=-0.5, le=1e20)"
	case 2:
		return spec.String.With(spec.Limits{MaxLength: new(40), Pattern: "^[a-z]*"}), "constr(max_length=40, regex='^[a-z]*')"
	case 3:
		return spec.Int.With(spec.Limits{MultipleOf: "5"}), "conint(multiple_of=5)"
	case 4:
		if m.plain || m.chance(40) {
			return httpURL, "HttpUrl"
		}
		return spec.Decimal.With(spec.Limits{Above: "-1.5", Max: "1000"}), "condecimal(gt=Decimal('-1.5'), le=1000)"
	}
	s := pick(m, scalars...)
	return s.kind, s.python
}

func (m *maker) hashable() (spec.Type, string) {
	s := pick(m, scalars[2:4]...)
	return s.kind, s.python
}

func (m *maker) mapping(depth int) (spec.Type, string) {
	value, python := m.perhaps(depth - 1)
	t := &spec.Map{Key: spec.String, Value: value}
	key := "str"
	if m.chance(40) {
		t.Key, key = m.key()
	}
	if value == spec.Any {
		t.Value = nil
	}
	return t, "Dict[" + key + ", " + python + "]"
}

// key makes the type of a map's keys, of those that Python can write as JSON.
func (m *maker) key() (spec.Type, string) {
	switch m.IntN(6) {
	case 0:
		return spec.Float, "float"
	case 1:
		return spec.Bool, "bool"
	case 2:
		e := m.enumOf("str, Enum", spec.String, `"one"`, `"zwölf"`)
		return e, e.Name
	case 3:
		e := m.enumOf("IntEnum", spec.Int, "1", "7")
		return e, e.Name
	}
	return spec.Int, "int"
}

func (m *maker) tuple(depth int) (spec.Type, string) {
	t := &spec.Tuple{}
	var parts []string
	for range 1 + m.IntN(3) {
		item, python := m.perhaps(depth - 1)
		t.Items = append(t.Items, item)
		parts = append(parts, python)
	}
	return t, "Tuple[" + strings.Join(parts, ", ") + "]"
}

// union avoids what Python's typing would merge: equal members, unions in unions.
// A literal of mixed kinds stands in a union only by itself: deeper down the name
// of every class around it would show in the schema, with its Python module.
func (m *maker) union(depth int) (spec.Type, string) {
	t := &spec.Union{}
	var parts []string
	seen := make(map[string]bool)
	for len(parts) < 2 {
		v, python := m.typ(depth - 1)
		_, isUnion := v.(*spec.Union)
		_, isLiteral := v.(*spec.Literal)
		if isUnion || v == spec.Any || seen[python] || !isLiteral && contains(v, isMixed) {
			continue
		}
		seen[python] = true
		t.Variants = append(t.Variants, v)
		parts = append(parts, python)
	}
	return t, "Union[" + strings.Join(parts, ", ") + "]"
}

func isMixed(t spec.Type) bool {
	lit, ok := t.(*spec.Literal)
	kinds := make(map[pyjson.Kind]bool)
	for i := 0; ok && i < len(lit.Values); i++ {
		kinds[parseText(lit.Values[i]).Kind] = true
	}
	return len(kinds) > 1
}

func (m *maker) literal() (spec.Type, string) {
	choice := pick(m,
		[]spec.JSON{`"text"`}, []spec.JSON{`"a"`, `"b"`}, []spec.JSON{"1", "2"}, []spec.JSON{"true"}, []spec.JSON{`"é"`, `"x y"`},
		[]spec.JSON{`"a"`, "1"}, []spec.JSON{"2", `"it's"`, "7"}, []spec.JSON{"true", "0", `"t"`}, []spec.JSON{"1", "true"}, []spec.JSON{`"a"`, "null"}, []spec.JSON{"2.5", `"b"`, "null"})
	python := map[spec.JSON]string{"true": "True", "null": "None"}
	var parts []string
	for _, text := range choice {
		part, ok := python[text]
		if !ok {
			part = string(text)
		}
		parts = append(parts, part)
	}
	return &spec.Literal{Values: choice}, "Literal[" + strings.Join(parts, ", ") + "]"
}

func (m *maker) enum() (spec.Type, string) {
	var e *spec.Enum
	switch m.IntN(5) {
	case 0:
		e = m.enumOf("Enum", spec.Any, `"red"`, `"green"`)
	case 1:
		e = m.enumOf("str, Enum", spec.String, `"one"`, `"zwölf"`)
	case 2:
		e = m.enumOf("IntEnum", spec.Int, "1", "7")
	case 3:
		e = m.enumOf("float, Enum", spec.Float, "0.5", "1.0")
	default:
		e = m.enumOf("Enum", spec.Any, "1", `"two"`)
	}
	return e, e.Name
}

func (m *maker) enumOf(base string, kind spec.Kind, values ...spec.JSON) *spec.Enum {
	e := &spec.Enum{Name: m.name("Enum"), Base: kind, Values: values}
	doc := "pass"
	if m.chance(30) {
		e.Description = "An enum with words."
		doc = pythonText(e.Description)
	}
	fmt.Fprintf(&m.source, "class %s(%s):\n    %s\n", e.Name, base, doc)
	for i, v := range e.Values {
		fmt.Fprintf(&m.source, "    V%d = %s\n", i, v)
	}
	m.classes = append(m.classes, e.Name)
	m.named = append(m.named, e)
	return e
}

// pythonText is a Python string literal; JSON's escapes are Python's, but for
// surrogate pairs, which this never writes.
func pythonText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if r < 0x20 || r > 0x7e || r == '"' || r == '\\' {
			fmt.Fprintf(&b, `\U%08x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

func jsonText(v pyjson.Value) spec.JSON { return spec.JSON(pyjson.Append(nil, v, pyjson.Spaced)) }
