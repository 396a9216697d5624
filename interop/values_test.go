package interop

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
)

// value makes a value of a type as a sender would write it.
func (m *maker) value(t spec.Type) pyjson.Value {
	if s, ok := spec.AsScalar(t); ok {
		return m.scalarValue(s)
	}
	switch t := t.(type) {
	case *spec.List:
		v := pyjson.Value{Kind: pyjson.Array}
		for range m.size(t.Limits) {
			v.Items = append(v.Items, m.value(t.Item))
		}
		if t.Set && len(v.Items) > 1 {
			v.Items = v.Items[:1]
		}
		return v
	case *spec.Map:
		v := pyjson.Value{Kind: pyjson.Object}
		for i := range m.size(spec.Limits{}) {
			v.Set(m.keyText(t.Key, i), m.value(t.Value))
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
		return parseText(pick(m, slices.DeleteFunc(slices.Clone(t.Values), func(v spec.JSON) bool { return v == "null" })...))
	case *spec.Enum:
		return parseText(pick(m, t.Values...))
	case *spec.Record:
		return m.recordValue(t)
	}
	panic(fmt.Sprintf("no value of %T", t))
}

// size is how many items a list or map gets: none, once the value is deep.
func (m *maker) size(l spec.Limits) int {
	low, high := 0, 2
	if l.MinItems != nil {
		low, high = *l.MinItems, *l.MaxItems
	}
	if m.depth++; m.depth > 60 {
		return low
	}
	return low + m.IntN(high-low+1)
}

func (m *maker) keyText(t spec.Type, i int) string {
	switch t {
	case spec.String:
		return pick(m, "k", "é", "") + strconv.Itoa(i)
	case spec.Float:
		return pick(m, "1.5", "2.0", "1e+16")
	case spec.Bool:
		return pick(m, "true", "false")
	case spec.Int:
		return strconv.Itoa(i*7 + m.IntN(2)*3)
	}
	v := parseText(pick(m, t.(*spec.Enum).Values...))
	return v.Text
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
	m.depth++
	for i := range r.Fields {
		f := &r.Fields[i]
		switch {
		case !f.Required() && (m.depth > 60 || m.chance(20)): // left out
		case (f.Optional || f.Nullable) && m.chance(20):
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
	case spec.Null:
		return pyjson.Value{}
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
		if s.Kind == spec.Decimal && s.Limits.Max != "" {
			return pyjson.OfFloat(pick(m, -1, 0.25, 1000, m.Float64()))
		}
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
		if s.Limits.MaxLength != nil {
			return pyjson.Of(pick(m, "http://example.org/a?b=c", "https://user:pass@a.b.example.com:8443/p/?q=1&r=é#top", "HTTP://127.0.0.1:80", "https://[::1]/x"))
		}
		return pyjson.Of(pick(m, "http://example.org/a?b=c", "agent-storage://host/x", "http://localhost:8000/submit?a=b", "redis://:pw@10.0.0.1:6379/0#", "ftp://u@h.example:21/;type=a"))
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
		return pyjson.OfFloat(pick(m, 0, 1, 1.9, -2.5, 1e20, 1700000000.25, 0.5, math.NaN(), math.Inf(-1), 1e300, -0.0000005))
	case n <= 11 || depth == 0:
		return pyjson.Of(pick(m, oddTexts...))
	case n == 12 && m.chance(30): // pairs, which Python takes for an object
		v := pyjson.Value{Kind: pyjson.Array}
		for range m.IntN(3) {
			v.Items = append(v.Items, pyjson.OfItems(pick(m, pyjson.Of("text"), pyjson.Of("7"), pyjson.OfInt("1"), pyjson.OfFloat(1.5), pyjson.OfBool(true), pyjson.Value{}), m.anything(0)))
		}
		return v
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
	"1.10", "1E+3", "é", "http://example.org/", "http://localhost?", " https://example.org:99999 ", "http://a b/",
	"it's", "b", "one", "ab", "\x1c7\x1f", "1e400", "-0", ".5", "5.", "1__0", "0_1", "1e1_0", "sNaN", "Infinity", "+.5e-3", "True ", "２",
	"2026-01-02T03:04:05,5", "2026-01-02T03:04:05.5-00:30", "2026-01-02T03:04+24:00", "2026-01-02T24:00:00", "20260102", "1e9", "-62135596801", "253402300800",
	"86399.9999999", "86400", "PT1.5S", "P1Y", "-1 00:00:01", "1 day 2:3:4", "00:00:61", "+P1DT-2H", "999999999 23:59:59", "1000000000 00:00:00",
	"{0b9bd2c6-6d3e-4a39-9a25-0d7f1b0b3c11", "0b9bd2c6-6d3e-4a39-9a25-0d7f1b0b3c1g", "0B9BD2C6-6D3E-4A39-9A25-0D7F1B0B3C11",
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
