package interop

import (
	"fmt"
	"math"
	"math/rand/v2"
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
	var body strings.Builder
	for _, i := range m.Perm(len(fieldNames))[:m.IntN(6)] {
		f, line := m.field(fieldNames[i], depth)
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
	switch m.IntN(8) {
	case 0:
		item, python := m.typ(depth - 1)
		return &spec.List{Item: item}, "List[" + python + "]"
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

var scalars = []struct {
	kind   spec.Kind
	python string
}{
	{spec.Any, "Any"}, {spec.Bool, "bool"}, {spec.String, "str"}, {spec.Int, "int"}, {spec.Float, "float"}, {spec.Decimal, "Decimal"},
	{spec.Bytes, "bytes"}, {spec.DateTime, "datetime"}, {spec.Date, "date"}, {spec.Time, "time"}, {spec.Duration, "timedelta"},
	{spec.UUID, "UUID"}, {spec.UUID4, "UUID4"}, {spec.URI, "AnyUrl"},
}

func (m *maker) scalar() (spec.Type, string) {
	switch m.IntN(12) {
	case 0:
		low := m.IntN(5)
		return spec.Int.With(spec.Limits{Min: spec.JSON(strconv.Itoa(low)), Below: "900"}), fmt.Sprintf("conint(ge=%d, lt=900)", low)
	case 1:
		return spec.Float.With(spec.Limits{Above: "-0.5", Max: "1e+20"}), "confloat(gt=-0.5, le=1e20)"
	case 2:
		return spec.String.With(spec.Limits{MaxLength: new(40), Pattern: "^[a-z]*"}), "constr(max_length=40, regex='^[a-z]*')"
	case 3:
		return spec.Int.With(spec.Limits{MultipleOf: "5"}), "conint(multiple_of=5)"
	}
	s := pick(m, scalars...)
	return s.kind, s.python
}

func (m *maker) hashable() (spec.Type, string) {
	s := pick(m, scalars[2:4]...)
	return s.kind, s.python
}

func (m *maker) mapping(depth int) (spec.Type, string) {
	value, python := m.typ(depth - 1)
	t := &spec.Map{Key: spec.String, Value: value}
	key := "str"
	if m.chance(20) {
		t.Key, key = spec.Int, "int"
	}
	if value == spec.Any {
		t.Value = nil
	}
	return t, "Dict[" + key + ", " + python + "]"
}

func (m *maker) tuple(depth int) (spec.Type, string) {
	t := &spec.Tuple{}
	var parts []string
	for range 1 + m.IntN(3) {
		item, python := m.typ(depth - 1)
		t.Items = append(t.Items, item)
		parts = append(parts, python)
	}
	return t, "Tuple[" + strings.Join(parts, ", ") + "]"
}

// union avoids what Python's typing would merge: equal members, unions in unions.
func (m *maker) union(depth int) (spec.Type, string) {
	t := &spec.Union{}
	var parts []string
	seen := make(map[string]bool)
	for len(parts) < 2 {
		v, python := m.typ(depth - 1)
		_, isUnion := v.(*spec.Union)
		if isUnion || v == spec.Any || seen[python] || strings.Contains(python, "Literal") || strings.Contains(python, "con") {
			continue
		}
		seen[python] = true
		t.Variants = append(t.Variants, v)
		parts = append(parts, python)
	}
	return t, "Union[" + strings.Join(parts, ", ") + "]"
}

func (m *maker) literal() (spec.Type, string) {
	choice := pick(m,
		[]spec.JSON{`"text"`}, []spec.JSON{`"a"`, `"b"`}, []spec.JSON{"1", "2"}, []spec.JSON{"true"}, []spec.JSON{`"é"`, `"x y"`})
	var parts []string
	for _, text := range choice {
		parts = append(parts, strings.Replace(string(text), "true", "True", 1))
	}
	return &spec.Literal{Values: choice}, "Literal[" + strings.Join(parts, ", ") + "]"
}

func (m *maker) enum() (spec.Type, string) {
	e := &spec.Enum{Name: m.name("Enum")}
	base := "Enum"
	switch m.IntN(4) {
	case 0:
		e.Values = []spec.JSON{`"red"`, `"green"`}
	case 1:
		e.Base, e.Values, base = spec.String, []spec.JSON{`"one"`, `"zwölf"`}, "str, Enum"
	case 2:
		e.Base, e.Values, base = spec.Int, []spec.JSON{"1", "7"}, "IntEnum"
	case 3:
		e.Values = []spec.JSON{"1", `"two"`}
	}
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
	return e, e.Name
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

// value makes a value of a type as a sender would write it.
func (m *maker) value(t spec.Type) pyjson.Value {
	if s, ok := spec.AsScalar(t); ok {
		return m.scalarValue(s)
	}
	switch t := t.(type) {
	case *spec.List:
		v := pyjson.Value{Kind: pyjson.Array}
		for range m.IntN(3) {
			v.Items = append(v.Items, m.value(t.Item))
		}
		if t.Set && len(v.Items) > 1 {
			v.Items = v.Items[:1]
		}
		return v
	case *spec.Map:
		v := pyjson.Value{Kind: pyjson.Object}
		for i := range m.IntN(3) {
			key := strconv.Itoa(i * 7)
			if t.Key == spec.String {
				key = pick(m, "k", "é", "") + key
			}
			v.Set(key, m.value(t.Value))
		}
		return v
	case *spec.Tuple:
		v := pyjson.Value{Kind: pyjson.Array}
		for _, item := range t.Items {
			v.Items = append(v.Items, m.value(item))
		}
		return v
	case *spec.Union:
		return m.value(pick(m, t.Variants...))
	case *spec.Literal:
		return parseText(pick(m, t.Values...))
	case *spec.Enum:
		return parseText(pick(m, t.Values...))
	case *spec.Record:
		return m.recordValue(t)
	}
	panic(fmt.Sprintf("no value of %T", t))
}

func parseText(text spec.JSON) pyjson.Value {
	v, err := pyjson.Parse([]byte(text), nil)
	if err != nil {
		panic(err)
	}
	return v
}

func (m *maker) recordValue(r *spec.Record) pyjson.Value {
	v := pyjson.Value{Kind: pyjson.Object}
	for i := range r.Fields {
		f := &r.Fields[i]
		switch {
		case !f.Required() && m.chance(20): // left out
		case f.Optional && m.chance(20):
			v.Set(f.Key(), pyjson.Value{})
		default:
			v.Set(f.Key(), m.value(f.Type))
		}
	}
	if !r.Closed && m.chance(5) {
		v.Set("unknown member", pyjson.OfBool(true))
	}
	return v
}

func (m *maker) scalarValue(s spec.Scalar) pyjson.Value {
	switch s.Kind {
	case spec.Bool:
		return pyjson.OfBool(m.chance(50))
	case spec.String:
		if s.Limits.Pattern != "" {
			return pyjson.Of(pick(m, "abc", "", "zz9"))
		}
		return pyjson.Of(pick(m, words...))
	case spec.Bytes:
		return pyjson.Of(pick(m, words...))
	case spec.Int:
		if s.Limits.MultipleOf != "" || s.Limits.Min != "" {
			return pyjson.OfInt(strconv.Itoa(5 + 5*m.IntN(100)))
		}
		return pyjson.OfInt(pick(m, "0", "-1", "42", "9007199254740993", "-9223372036854775808", strconv.Itoa(m.IntN(1<<40))))
	case spec.Float, spec.Decimal:
		f := pick(m, 0, 1, 1.5, 0.1, 1e16, 123456789.125, 1e-5, 5e-324, m.Float64(), math.Ldexp(m.Float64(), m.IntN(60)))
		return pyjson.OfFloat(f)
	case spec.Duration:
		return pyjson.OfFloat(float64(m.IntN(1<<40)) / 1e6)
	case spec.DateTime:
		return pyjson.Of(pick(m, "2026-01-02T03:04:05+00:00", "2026-01-02T03:04:05.678901+05:30", "1999-12-31T23:59:59", "0001-01-01T00:00:00.000001+00:00"))
	case spec.Date:
		return pyjson.Of(pick(m, "2026-01-02", "2024-02-29", "9999-12-31"))
	case spec.Time:
		return pyjson.Of(pick(m, "03:04:05", "23:59:59.000600"))
	case spec.UUID:
		return pyjson.Of("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
	case spec.UUID4:
		return pyjson.Of("0b9bd2c6-6d3e-4a39-9a25-0d7f1b0b3c11")
	case spec.URI:
		return pyjson.Of(pick(m, "http://example.org/a?b=c", "agent-storage://host/x"))
	}
	return m.anything(2)
}

// anything makes any JSON value; oddities among them test what a reader refuses.
func (m *maker) anything(depth int) pyjson.Value {
	switch n := m.IntN(14); {
	case n == 0:
		return pyjson.Value{}
	case n == 1:
		return pyjson.OfBool(m.chance(50))
	case n <= 4:
		return pyjson.OfInt(pick(m, "0", "1", "2", "-7", "1700000000", "1700000000123", "40000000000000000000"))
	case n <= 6:
		return pyjson.OfFloat(pick(m, 0, 1, 1.9, -2.5, 1e20, 1700000000.25))
	case n <= 11 || depth == 0:
		return pyjson.Of(pick(m, oddTexts...))
	case n == 12:
		v := pyjson.Value{Kind: pyjson.Array}
		for range m.IntN(3) {
			v.Items = append(v.Items, m.anything(depth-1))
		}
		return v
	}
	v := pyjson.Value{Kind: pyjson.Object}
	for i := range m.IntN(3) {
		v.Set("k"+strconv.Itoa(i), m.anything(depth-1))
	}
	return v
}

var oddTexts = []string{
	"", " ", "x", "abc", "1", " 7 ", "-3", "+5", "1.0", "1.5", "1e3", "1_000", "_1", "0x10", "nan", "-inf", "Infinity", "١٢",
	"true", "True", "YES", "off", "n", "t", "null", "None", "a", "text", "red", "two", "7",
	"2026-01-02", "2026-1-2", "2026-02-30", "2026-01-02T03:04:05Z", "2026-01-02 3:04", "2026-01-02T03:04:05.1234567+0530", "2026-01-02T25:00:00",
	"03:04", "3:04:05.5", "23:59:60", "P1DT2H", "-P1D", "1:02:03", "2 days, 1:02:03.5", "-1:30", "1 00:00",
	"6ba7b810-9dad-11d1-80b4-00c04fd430c8", "{6BA7B810-9DAD-11D1-80B4-00C04FD430C8}", "urn:uuid:0b9bd2c6-6d3e-4a39-9a25-0d7f1b0b3c11", "0b9bd2c66d3e4a399a250d7f1b0b3c11",
	"1.10", "1E+3", "é", "http://example.org/",
}

// spoil puts something else into one place of a value.
func (m *maker) spoil(v pyjson.Value) pyjson.Value {
	switch {
	case v.Kind == pyjson.Object && len(v.Members) > 0 && m.chance(85):
		i := m.IntN(len(v.Members))
		if m.chance(10) {
			v.Members = append(v.Members[:i:i], v.Members[i+1:]...)
			return v
		}
		members := append([]pyjson.Member(nil), v.Members...)
		members[i].Value = m.spoil(members[i].Value)
		v.Members = members
		return v
	case v.Kind == pyjson.Array && len(v.Items) > 0 && m.chance(70):
		items := append([]pyjson.Value(nil), v.Items...)
		i := m.IntN(len(items))
		items[i] = m.spoil(items[i])
		v.Items = items
		return v
	}
	return m.anything(2)
}
