package uagents

import (
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
)

// A decoder makes a JSON value conform to a type: it refuses what does not fit
// and returns the rest in canonical form, which is what gets written again.
type decoder struct {
	codec *Codec
	lax   bool
}

func refuse(format string, args ...any) error {
	return fault.Errorf(fault.Malformed, "", format, args...)
}

func expected(what string, v pyjson.Value) error {
	return refuse("expected %s, found %s", what, v.Kind)
}

func (d *decoder) conform(v pyjson.Value, t spec.Type) (pyjson.Value, error) {
	if s, ok := spec.AsScalar(t); ok {
		return d.scalar(v, s)
	}
	switch t := t.(type) {
	case *spec.List:
		return d.list(v, t)
	case *spec.Map:
		return d.mapping(v, t)
	case *spec.Tuple:
		return d.tuple(v, t)
	case *spec.Union:
		return d.union(v, t)
	case *spec.Literal:
		return d.choose(v, t.Values, "literal")
	case *spec.Enum:
		if t.Open && v.Kind != pyjson.Null {
			return v, nil
		}
		if d.lax && t.Base == spec.Int {
			var err error
			if v, err = coerceInt(v); err != nil {
				return v, err
			}
		}
		return d.choose(v, t.Values, "value of "+t.Name)
	case *spec.Record:
		return d.record(v, t)
	case *spec.Alias:
		return d.conform(v, t.Type)
	}
	return v, fault.Errorf(fault.Unsupported, spec.NameOf(t), "the type has no JSON form")
}

func (d *decoder) record(v pyjson.Value, r *spec.Record) (pyjson.Value, error) {
	if d.lax {
		v = asObject(v)
	}
	if v.Kind != pyjson.Object {
		return v, expected("an object ("+r.Name+")", v)
	}
	out := pyjson.Value{Kind: pyjson.Object, Members: make([]pyjson.Member, 0, len(r.Fields))}
	for i := range r.Fields {
		f := &r.Fields[i]
		value, err := d.field(v, f)
		if _, present := v.Get(f.Key()); err != nil && !present && hasAnnotation(r.Annotations, Constructed) {
			value, err = constructed(f)
		}
		if err != nil {
			return v, fault.In(f.Key(), err)
		}
		out.Members = append(out.Members, pyjson.Member{Key: f.Name, Value: value})
	}
	closed := r.Closed || hasAnnotation(r.Annotations, Constructed)
	if !closed && !r.Open {
		return out, nil
	}
	for _, m := range v.Members {
		known := slices.ContainsFunc(r.Fields, func(f spec.Field) bool { return f.Key() == m.Key })
		switch {
		case !known && closed:
			return v, fault.In(m.Key, refuse("%s has no such field", r.Name))
		case !known:
			out.Members = append(out.Members, m)
		}
	}
	return out, nil
}

// Annotations of models whose Python class has a constructor of its own. None
// of them shows in the schema.
const (
	// Constructed marks a record whose constructor knows its arguments: a field
	// it does not know is refused, a literal of one value may be left out.
	Constructed = "uagents.constructed"

	// Filled marks a field that the constructor fills in when it is left out or
	// null. It is then read as null, a zero value in Go: the caller fills it in.
	Filled = "uagents.filled"
)

func hasAnnotation(list []spec.Annotation, name string) bool {
	return slices.ContainsFunc(list, func(a spec.Annotation) bool { return a.Name == name })
}

func constructed(f *spec.Field) (pyjson.Value, error) {
	lit, ok := f.Type.(*spec.Literal)
	if !ok || len(lit.Values) != 1 {
		return pyjson.Value{}, refuse("the field is required")
	}
	return pyjson.Parse([]byte(lit.Values[0]), nil)
}

func (d *decoder) field(v pyjson.Value, f *spec.Field) (pyjson.Value, error) {
	value, present := v.Get(f.Key())
	switch {
	case value.Kind == pyjson.Null && hasAnnotation(f.Annotations, Filled):
		return value, nil
	case !present && f.Default != "":
		return pyjson.Parse([]byte(f.Default), nil)
	case !present && f.Optional:
		return pyjson.Value{}, nil
	case !present:
		return value, refuse("the field is required")
	case value.Kind == pyjson.Null && (f.Optional || f.Nullable || f.Type == spec.Any):
		return value, nil
	}
	value, err := d.conform(value, f.Type)
	if err != nil {
		return value, err
	}
	for _, k := range f.Keywords {
		if k.Name != "const" {
			continue
		}
		if want, err := pyjson.Parse([]byte(k.Value), nil); err == nil && !pyjson.Equal(value, want) {
			return value, refuse("expected %s", k.Value)
		}
	}
	return value, nil
}

func (d *decoder) list(v pyjson.Value, t *spec.List) (pyjson.Value, error) {
	if v.Kind != pyjson.Array {
		return v, expected("an array", v)
	}
	out := pyjson.Value{Kind: pyjson.Array, Items: make([]pyjson.Value, 0, len(v.Items))}
	seen := make(map[string]bool)
	for i, item := range v.Items {
		item, err := d.conform(item, t.Item)
		if err != nil {
			return v, fault.In("["+strconv.Itoa(i)+"]", err)
		}
		if t.Set {
			key := string(pyjson.Append(nil, item, pyjson.Sorted))
			if seen[key] && !d.lax {
				return v, fault.In("["+strconv.Itoa(i)+"]", refuse("a set holds each item once"))
			} else if seen[key] {
				continue
			}
			seen[key] = true
		}
		out.Items = append(out.Items, item)
	}
	if t.Set {
		sortItems(out.Items)
	}
	return out, checkCount(len(out.Items), t.Limits)
}

// sortItems gives a set its one spelling: numbers by value, the rest by text.
func sortItems(items []pyjson.Value) {
	slices.SortStableFunc(items, func(a, b pyjson.Value) int {
		x, numeric := bigOf(a)
		y, also := bigOf(b)
		if numeric && also {
			return x.Cmp(y)
		}
		return strings.Compare(string(pyjson.Append(nil, a, pyjson.Sorted)), string(pyjson.Append(nil, b, pyjson.Sorted)))
	})
}

func checkCount(n int, l spec.Limits) error {
	if l.MinItems != nil && n < *l.MinItems {
		return refuse("expected at least %d items, found %d", *l.MinItems, n)
	}
	if l.MaxItems != nil && n > *l.MaxItems {
		return refuse("expected at most %d items, found %d", *l.MaxItems, n)
	}
	return nil
}

func (d *decoder) mapping(v pyjson.Value, t *spec.Map) (pyjson.Value, error) {
	if d.lax {
		v = asObject(v)
	}
	if v.Kind != pyjson.Object {
		return v, expected("an object", v)
	}
	out := pyjson.Value{Kind: pyjson.Object, Members: make([]pyjson.Member, 0, len(v.Members))}
	for _, m := range v.Members {
		key, err := d.key(m.Key, t.Key)
		if err != nil {
			return v, fault.In(m.Key, err)
		}
		value, err := d.conform(m.Value, t.Value)
		if err != nil {
			return v, fault.In(m.Key, err)
		}
		if key == m.Key {
			out.Members = append(out.Members, pyjson.Member{Key: key, Value: value})
		} else {
			out.Set(key, value)
		}
	}
	return out, nil
}

// key reads the key of a map, which is a string on the wire whatever it spells.
func (d *decoder) key(text string, t spec.Type) (string, error) {
	s, ok := spec.AsScalar(t)
	if !ok || s.Kind == spec.Any {
		return text, nil
	}
	v := pyjson.Of(text)
	if !d.lax && isInteger(s.Kind) {
		v = pyjson.OfInt(text)
		if _, ok := new(big.Int).SetString(text, 10); !ok {
			return text, refuse("expected a key that is an integer")
		}
	}
	if s.Kind == spec.Bool && !d.lax {
		v = pyjson.OfBool(text == "true")
		if text != "true" && text != "false" {
			return text, refuse("expected a key that is true or false")
		}
	}
	v, err := d.scalar(v, s)
	if err != nil || v.Kind == pyjson.String {
		return v.Text, err
	}
	return string(pyjson.Append(nil, v, pyjson.Spaced)), nil
}

func (d *decoder) tuple(v pyjson.Value, t *spec.Tuple) (pyjson.Value, error) {
	if v.Kind != pyjson.Array {
		return v, expected("an array", v)
	}
	if len(v.Items) != len(t.Items) {
		return v, refuse("expected %d items, found %d", len(t.Items), len(v.Items))
	}
	out := pyjson.Value{Kind: pyjson.Array}
	for i, item := range v.Items {
		item, err := d.conform(item, t.Items[i])
		if err != nil {
			return v, fault.In("["+strconv.Itoa(i)+"]", err)
		}
		out.Items = append(out.Items, item)
	}
	return out, nil
}

// union takes the first variant that fits, as Python agents do. Where all are
// refused, the error is that of the variant whose tag matches, else a list.
func (d *decoder) union(v pyjson.Value, t *spec.Union) (pyjson.Value, error) {
	if v.Kind == pyjson.Null && slices.Contains(t.Variants, spec.Type(spec.Null)) {
		return v, nil
	}
	var reasons []string
	for _, variant := range t.Variants {
		out, err := d.conform(v, variant)
		if err == nil {
			return out, nil
		}
		if r, ok := variant.(*spec.Record); ok && tagged(v, r) {
			return v, err
		}
		reasons = append(reasons, strings.TrimPrefix(err.Error(), "malformed: "))
	}
	return v, refuse("no variant fits (%s)", strings.Join(reasons, "; "))
}

// tagged reports whether a field of one literal value says that v is meant to
// be the record.
func tagged(v pyjson.Value, r *spec.Record) bool {
	for i := range r.Fields {
		lit, ok := r.Fields[i].Type.(*spec.Literal)
		if !ok || len(lit.Values) != 1 {
			continue
		}
		value, present := v.Get(r.Fields[i].Key())
		return present && string(pyjson.Append(nil, value, pyjson.Spaced)) == string(lit.Values[0])
	}
	return false
}

func (d *decoder) choose(v pyjson.Value, choices []spec.JSON, what string) (pyjson.Value, error) {
	for _, text := range choices {
		choice, err := pyjson.Parse([]byte(text), nil)
		if err != nil {
			return v, err
		}
		if choice.Kind == v.Kind && pyjson.Equal(choice, v) || d.lax && pythonEqual(choice, v) {
			return choice, nil
		}
	}
	return v, refuse("%s is no %s; expected one of %s", pyjson.Append(nil, v, pyjson.Spaced), what, join(choices))
}

func join(choices []spec.JSON) string {
	var texts []string
	for _, c := range choices {
		texts = append(texts, string(c))
	}
	return strings.Join(texts, ", ")
}

func isInteger(k spec.Kind) bool {
	return k == spec.Int || k == spec.Int32 || k == spec.UInt32 || k == spec.UInt64
}

// scalar reads a value of a scalar type and checks its limits.
func (d *decoder) scalar(v pyjson.Value, s spec.Scalar) (pyjson.Value, error) {
	if d.lax && s.Kind != spec.Any && v.Kind != pyjson.Null {
		var err error
		if v, err = coerce(v, s.Kind); err != nil {
			return v, err
		}
	}
	out, err := d.kind(v, s)
	if err != nil {
		return out, err
	}
	return out, d.limits(out, s)
}

func (d *decoder) kind(v pyjson.Value, s spec.Scalar) (pyjson.Value, error) {
	switch s.Kind {
	case spec.Any:
		return v, nil
	case spec.Null:
		return v, want(v, pyjson.Null)
	case spec.Bool:
		return v, want(v, pyjson.Bool)
	case spec.String, spec.Bytes:
		return v, want(v, pyjson.String)
	case spec.Int, spec.Int32, spec.UInt32, spec.UInt64:
		return v, d.integer(v, s.Kind)
	case spec.Float, spec.Float32, spec.Duration:
		return float(v)
	case spec.Decimal:
		return decimal(v)
	}
	if err := want(v, pyjson.String); err != nil {
		return v, err
	}
	switch s.Kind {
	case spec.DateTime, spec.Date, spec.Time:
		text, err := canonicalTime(v.Text, s.Kind)
		return pyjson.Of(text), err
	case spec.UUID, spec.UUID4:
		text, err := canonicalUUID(v.Text, s.Kind == spec.UUID4)
		return pyjson.Of(text), err
	default: // spec.URI
		if !urlForm.MatchString(v.Text) {
			return v, refuse("expected a URL such as https://host/path")
		}
		return v, nil
	}
}

// urlForm is what the peers take for a URL: a scheme and a host, no blanks.
var urlForm = regexp.MustCompile(`^(?i:[a-z][a-z0-9+\-.]+)://(?:[^\s:/]*(?::[^\s/]*)?@)?[^\s/:?#]+(?::\d{1,5})?(?:/[^\s?#]*)?(?:\?[^\s#]*)?(?:#[^\s]*)?$`)

func want(v pyjson.Value, kind pyjson.Kind) error {
	if v.Kind != kind {
		return expected(kind.String(), v)
	}
	return nil
}

var integerRanges = map[spec.Kind][2]string{
	spec.Int:    {"-9223372036854775808", "9223372036854775807"},
	spec.Int32:  {"-2147483648", "2147483647"},
	spec.UInt32: {"0", "4294967295"},
	spec.UInt64: {"0", "18446744073709551615"},
}

// integer refuses numbers beyond the type. Python's integers have no end, so a
// lax reader takes them all; filling a Go value still checks.
func (d *decoder) integer(v pyjson.Value, kind spec.Kind) error {
	if err := want(v, pyjson.Int); err != nil || d.lax {
		return err
	}
	n, ok := bigOf(v)
	low, _ := new(big.Float).SetString(integerRanges[kind][0])
	high, _ := new(big.Float).SetString(integerRanges[kind][1])
	if !ok || n.Cmp(low) < 0 || n.Cmp(high) > 0 {
		return refuse("%s is out of the range of %s", v.Text, kind)
	}
	return nil
}

func float(v pyjson.Value) (pyjson.Value, error) {
	switch v.Kind {
	case pyjson.Float:
		return pyjson.OfFloat(v.Num), nil
	case pyjson.Int:
		f, err := strconv.ParseFloat(v.Text, 64)
		if err != nil {
			return v, refuse("%s is out of the range of a float", v.Text)
		}
		return pyjson.OfFloat(f), nil
	}
	return v, expected("a number", v)
}

// decimal keeps the digits in Text and the value that Python would write in
// the rest: an integer where the exponent allows it, else a float.
func decimal(v pyjson.Value) (pyjson.Value, error) {
	text := v.Text
	switch v.Kind {
	case pyjson.Int, pyjson.String:
	case pyjson.Float:
		text = pythonFloat(v.Num)
	default:
		return v, expected("a decimal number", v)
	}
	digits, exponent, ok := splitDecimal(text)
	if !ok || exponent > 6144 || exponent < -6176 {
		return v, refuse("expected a decimal number")
	}
	if exponent >= 0 {
		n, ok := new(big.Int).SetString(digits+strings.Repeat("0", exponent), 10)
		if !ok {
			return v, refuse("expected a decimal number")
		}
		return pyjson.OfInt(n.String()), nil
	}
	f, err := strconv.ParseFloat(digits+"e"+strconv.Itoa(exponent), 64)
	if err != nil {
		return v, refuse("%s is out of the range of a float", text)
	}
	return pyjson.Value{Kind: pyjson.Float, Num: f, Text: text}, nil
}

// splitDecimal reads "1.10" as the digits 110 and the exponent -2.
func splitDecimal(text string) (digits string, exponent int, ok bool) {
	mantissa, exp, hasExp := strings.Cut(strings.ToLower(text), "e")
	if hasExp {
		n, err := strconv.Atoi(exp)
		if err != nil {
			return "", 0, false
		}
		exponent = n
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimPrefix(whole, "+") + fraction
	unsigned := strings.TrimPrefix(digits, "-")
	if unsigned == "" || strings.Trim(unsigned, "0123456789") != "" || len(unsigned) > 6144 {
		return "", 0, false
	}
	return digits, exponent - len(fraction), true
}

func (d *decoder) limits(v pyjson.Value, s spec.Scalar) error {
	l := s.Limits
	if l == (spec.Limits{}) {
		return nil
	}
	if v.Kind == pyjson.String {
		return d.stringLimits(v.Text, l)
	}
	n, ok := bigOf(v)
	if !ok && v.Kind == pyjson.Float {
		return refuse("NaN is within no limits")
	} else if !ok {
		return nil
	}
	for _, bound := range []struct {
		limit spec.JSON
		words string
		fits  func(cmp int) bool
	}{
		{l.Min, "at least", func(c int) bool { return c >= 0 }},
		{l.Max, "at most", func(c int) bool { return c <= 0 }},
		{l.Above, "more than", func(c int) bool { return c > 0 }},
		{l.Below, "less than", func(c int) bool { return c < 0 }},
	} {
		limit, ok := new(big.Float).SetString(string(bound.limit))
		if ok && !bound.fits(n.Cmp(limit)) {
			return refuse("expected %s %s, found %s", bound.words, bound.limit, pyjson.Append(nil, v, pyjson.Spaced))
		}
	}
	return checkMultiple(n, l.MultipleOf)
}

// checkMultiple allows for the rounding of floats as Python agents do.
func checkMultiple(n *big.Float, of spec.JSON) error {
	if of == "" {
		return nil
	}
	step, err := strconv.ParseFloat(string(of), 64)
	value, _ := n.Float64()
	if err != nil || step == 0 {
		return nil
	}
	_, rest := math.Modf(math.Abs(value / step))
	if rest > 1e-8 && rest < 1-1e-8 {
		return refuse("expected a multiple of %s", of)
	}
	return nil
}

func (d *decoder) stringLimits(text string, l spec.Limits) error {
	n := utf8.RuneCountInString(text)
	switch {
	case l.MinLength != nil && n < *l.MinLength:
		return refuse("expected at least %d characters, found %d", *l.MinLength, n)
	case l.MaxLength != nil && n > *l.MaxLength:
		return refuse("expected at most %d characters, found %d", *l.MaxLength, n)
	case l.Pattern != "" && !d.codec.patterns[l.Pattern].MatchString(text):
		return refuse("expected text like %s", l.Pattern)
	}
	return nil
}

// bigOf returns a number exactly; ok is false for other values and for NaN.
func bigOf(v pyjson.Value) (n *big.Float, ok bool) {
	switch {
	case v.Kind == pyjson.Int:
		// Enough bits for every digit, or large numbers would compare equal.
		return new(big.Float).SetPrec(uint(64 + 4*len(v.Text))).SetString(v.Text)
	case v.Kind == pyjson.Float && !math.IsNaN(v.Num):
		return new(big.Float).SetFloat64(v.Num), true
	}
	return nil, false
}
