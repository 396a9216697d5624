package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/parley-agents/parley/spec"
)

// Limits of an example: what needs more is not shown.
const (
	maxExampleValues = 2000
	maxExampleText   = 400
	maxExampleItems  = 20
	maxExampleDepth  = 10 // of named types in one another
)

// Example returns a value of a type as JSON text, indented: all fields are there,
// lists have an item, and every limit is kept. Nil if a value would be too large
// to show, or if none was found.
//
// Custom types have no JSON of their own; they are shown as the JSON form of
// their protobuf message.
func Example(t spec.Type) []byte {
	x := &exampler{left: maxExampleValues, open: make(map[spec.Type]bool)}
	text, ok := x.value(t, "text", 0)
	if !ok || x.left < 0 {
		return nil
	}
	var out bytes.Buffer
	if json.Indent(&out, []byte(text), "", "  ") != nil {
		return nil
	}
	return out.Bytes()
}

type exampler struct {
	left int
	open map[spec.Type]bool // named types that the value is part of
}

// value returns the nth example of a type. The name is that of the field, and what
// a text says. It is not ok if there is none, or only one that goes on forever.
func (x *exampler) value(t spec.Type, name string, nth int) (string, bool) {
	if x.left--; x.left < 0 {
		return "", false
	}
	if s, ok := spec.AsScalar(t); ok {
		return scalarExample(&s, name, nth)
	}
	switch t := t.(type) {
	case *spec.List:
		return x.list(t, name)
	case *spec.Map:
		return x.mapping(t, name), true
	case *spec.Tuple:
		var items []string
		for i, item := range t.Items {
			v, ok := x.value(item, name, i)
			if !ok {
				return "", false
			}
			items = append(items, v)
		}
		return "[" + strings.Join(items, ",") + "]", true
	case *spec.Union:
		for i := range t.Variants {
			if v, ok := x.value(t.Variants[(i+nth)%len(t.Variants)], name, nth/len(t.Variants)); ok {
				return v, true
			}
		}
	case *spec.Literal:
		if nth < len(t.Values) {
			return string(t.Values[nth]), true
		}
	case *spec.Enum:
		if nth < len(t.Values) {
			return string(t.Values[nth]), true
		}
	case *spec.Custom:
		return customExample(t.Body), true
	case *spec.Record, *spec.Alias:
		if x.open[t] || len(x.open) >= maxExampleDepth {
			return "", false
		}
		x.open[t] = true
		defer delete(x.open, t)
		if a, ok := t.(*spec.Alias); ok {
			return x.value(a.Type, name, nth)
		}
		return x.record(t.(*spec.Record), nth)
	}
	return "", false
}

func (x *exampler) record(r *spec.Record, nth int) (string, bool) {
	var members []string
	for i := range r.Fields {
		f := &r.Fields[i]
		v, ok := string(f.Default), f.Default != ""
		if !ok {
			v, ok = x.value(f.Type, f.Name, nth)
		}
		switch {
		case ok:
			members = append(members, quote(f.Key())+":"+v)
		case f.Nullable && !f.Optional:
			members = append(members, quote(f.Key())+":null")
		case !f.Optional:
			return "", false
		}
	}
	return "{" + strings.Join(members, ",") + "}", true
}

func (x *exampler) list(t *spec.List, name string) (string, bool) {
	least, most := 0, maxExampleItems
	if t.Limits.MinItems != nil {
		least = *t.Limits.MinItems
	}
	if t.Limits.MaxItems != nil {
		most = min(most, *t.Limits.MaxItems)
	}
	if least > most {
		return "", false
	}
	var items []string
	for nth := 0; len(items) < min(most, max(1, least)); nth++ {
		v, ok := x.value(t.Item, name, nth)
		if !ok || nth > 4*maxExampleItems {
			break
		}
		if !t.Set || !slices.Contains(items, v) {
			items = append(items, v)
		}
	}
	for !t.Set && len(items) > 0 && len(items) < least { // of few values, the same again
		items = append(items, items[0])
	}
	return "[" + strings.Join(items, ",") + "]", len(items) >= least
}

func (x *exampler) mapping(t *spec.Map, name string) string {
	key := `"key"`
	if t.Key != nil {
		k, ok := x.value(t.Key, "key", 0)
		if !ok {
			return "{}"
		}
		if key = k; !strings.HasPrefix(k, `"`) {
			key = quote(k)
		}
	}
	v, ok := x.value(t.Value, name, 0)
	if !ok {
		return "{}"
	}
	return "{" + key + ":" + v + "}"
}

func scalarExample(s *spec.Scalar, name string, nth int) (string, bool) {
	switch s.Kind {
	case spec.Any:
		return `{"any":"value"}`, true
	case spec.Null:
		return "null", nth == 0
	case spec.Bool:
		return []string{"true", "false"}[nth%2], nth < 2
	case spec.String:
		return textExample(s, name, nth)
	case spec.Int, spec.Int32, spec.UInt32, spec.UInt64:
		return numberExample(&s.Limits, true, big.NewRat(1, 1), nth)
	case spec.Float, spec.Float32:
		return numberExample(&s.Limits, false, big.NewRat(3, 2), nth)
	case spec.Duration:
		return numberExample(&s.Limits, false, big.NewRat(30, 1), nth)
	case spec.Decimal:
		v, ok := numberExample(&s.Limits, false, big.NewRat(25, 2), nth)
		return `"` + v + `"`, ok
	case spec.Bytes:
		return quote([]string{"aGVsbG8=", "d29ybGQ=", "YnllcyE="}[nth%3]), nth < 3
	case spec.DateTime:
		return fmt.Sprintf(`"2026-01-31T09:%02d:00Z"`, 30+nth%30), nth < 30
	case spec.Date:
		return fmt.Sprintf(`"2026-01-%02d"`, 1+nth%31), nth < 31
	case spec.Time:
		return fmt.Sprintf(`"09:%02d:00"`, 30+nth%30), nth < 30
	case spec.UUID, spec.UUID4:
		return fmt.Sprintf(`"3f2b8c1e-7a4d-4c6b-9e2f-5d1c0b8a%04x"`, 0x7e10+nth), true
	case spec.URI:
		return fmt.Sprintf(`"https://example.com/%d"`, nth+1), true
	}
	return "", false
}

// formats are examples of formats that no kind stands for.
var formats = map[string]string{
	"email": "someone@example.com", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "uri-reference": "/path",
	"date": "2026-01-31", "time": "09:30:00Z", "date-time": "2026-01-31T09:30:00Z", "uuid": "3f2b8c1e-7a4d-4c6b-9e2f-5d1c0b8a7e10",
}

func textExample(s *spec.Scalar, name string, nth int) (string, bool) {
	if text, ok := formats[s.Format]; ok {
		return quote(text), nth == 0
	}
	least, most := 0, maxExampleText
	if s.Limits.MinLength != nil {
		least = *s.Limits.MinLength
	}
	if s.Limits.MaxLength != nil {
		most = min(most, *s.Limits.MaxLength)
	}
	if least > most {
		return "", false
	}
	if s.Limits.Pattern != "" {
		return patternExample(s.Limits.Pattern, least, most, nth)
	}
	text := strings.ReplaceAll(name, "_", " ")
	if nth > 0 {
		text = fmt.Sprint(text, " ", nth+1)
	}
	for utf8.RuneCountInString(text) < least {
		text += "x"
	}
	if runes := []rune(text); len(runes) > most {
		text = string(runes[len(runes)-most:])
	}
	return quote(text), true
}

// patternExample writes what a regular expression describes, with as many
// repetitions as the length asks for.
func patternExample(pattern string, least, most, nth int) (string, bool) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	match, err := regexp.Compile(`\A(?:` + pattern + `)`)
	if err != nil {
		return "", false
	}
	for repeat := range maxExampleText {
		var b strings.Builder
		write(&b, tree, repeat, nth)
		text := b.String()
		for utf8.RuneCountInString(text) < least && !strings.HasSuffix(pattern, "$") {
			text += "x"
		}
		if n := utf8.RuneCountInString(text); n >= least && n <= most && match.MatchString(text) {
			return quote(text), true
		}
		if repeat > most+nth {
			break
		}
	}
	return "", false
}

// write writes a text that a regular expression matches. Whatever may be repeated
// is repeated as often as said, where it may be.
func write(b *strings.Builder, re *syntax.Regexp, repeat, nth int) {
	if b.Len() > 4*maxExampleText {
		return
	}
	times := func(least, most int) {
		n := max(least, repeat)
		if most >= 0 {
			n = min(n, most)
		}
		for range min(n, maxExampleText) {
			write(b, re.Sub[0], repeat, nth)
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(pick(re.Rune, nth))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpStar:
		times(0, -1)
	case syntax.OpPlus:
		times(1, -1)
	case syntax.OpQuest:
		times(0, 1)
	case syntax.OpRepeat:
		times(re.Min, re.Max)
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			write(b, sub, repeat, nth)
		}
	case syntax.OpAlternate:
		write(b, re.Sub[nth%len(re.Sub)], repeat, nth)
	}
}

// pick returns a character of a class, a letter or digit if there is one.
func pick(ranges []rune, nth int) rune {
	var found []rune
	for _, r := range "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_. " {
		for i := 0; i+1 < len(ranges); i += 2 {
			if r >= ranges[i] && r <= ranges[i+1] {
				found = append(found, r)
			}
		}
	}
	if len(found) > 0 {
		return found[nth%len(found)]
	}
	if len(ranges) > 0 {
		return ranges[0]
	}
	return 'x'
}

// numberExample returns the nth number, from the given one on, that keeps the
// limits.
func numberExample(l *spec.Limits, whole bool, from *big.Rat, nth int) (string, bool) {
	step := big.NewRat(1, 1)
	if m := rat(l.MultipleOf); m != nil && m.Sign() > 0 {
		step = m
	}
	low, high := first(rat(l.Min), rat(l.Above)), first(rat(l.Max), rat(l.Below))
	if low != nil && low.Cmp(from) > 0 {
		from = low
	} else if high != nil && high.Cmp(from) < 0 {
		from = high
	}
	var seen []string
	fits := func(n *big.Rat) bool {
		text, exact := decimal(n)
		if !exact || whole && !n.IsInt() || !allows(l, n) || slices.Contains(seen, text) {
			return false
		}
		seen = append(seen, text)
		return len(seen) > nth
	}
	if fits(from) {
		return seen[nth], true
	}
	if l.MultipleOf == "" && low != nil && high != nil && fits(new(big.Rat).Quo(new(big.Rat).Add(low, high), big.NewRat(2, 1))) {
		return seen[nth], true
	}
	start := new(big.Rat).SetInt(new(big.Int).Div(new(big.Rat).Quo(from, step).Num(), new(big.Rat).Quo(from, step).Denom()))
	for k := int64(-1); k < 200; k++ {
		for _, sign := range []int64{1, -1} {
			n := new(big.Rat).Add(start, big.NewRat(sign*k, 1))
			if fits(n.Mul(n, step)) {
				return seen[nth], true
			}
		}
	}
	return "", false
}

func allows(l *spec.Limits, n *big.Rat) bool {
	holds := func(limit spec.JSON, ok func(int) bool) bool {
		r := rat(limit)
		return r == nil || ok(n.Cmp(r))
	}
	if m := rat(l.MultipleOf); m != nil && m.Sign() != 0 && !new(big.Rat).Quo(n, m).IsInt() {
		return false
	}
	return holds(l.Min, func(c int) bool { return c >= 0 }) && holds(l.Max, func(c int) bool { return c <= 0 }) &&
		holds(l.Above, func(c int) bool { return c > 0 }) && holds(l.Below, func(c int) bool { return c < 0 })
}

func first(numbers ...*big.Rat) *big.Rat {
	for _, n := range numbers {
		if n != nil {
			return n
		}
	}
	return nil
}

var plainNumber = regexp.MustCompile(`^-?[0-9]{1,60}(\.[0-9]{1,60})?([eE][+-]?[0-9]{1,2})?$`)

// rat reads a number; nil if there is none that is worth reading.
func rat(text spec.JSON) *big.Rat {
	if !plainNumber.MatchString(string(text)) {
		return nil
	}
	n, ok := new(big.Rat).SetString(string(text))
	if !ok {
		return nil
	}
	return n
}

// decimal writes a number in digits; false if that cannot be done exactly.
func decimal(n *big.Rat) (string, bool) {
	if n.IsInt() {
		return n.Num().String(), true
	}
	digits, exact := n.FloatPrec()
	return n.FloatString(digits), exact && digits < 60
}

func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

var (
	protoComment = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/`)
	protoEnum    = regexp.MustCompile(`enum\s+(\w+)\s*\{\s*(?:option[^;]*;\s*)*(\w*)[^}]*\}`)
	protoNested  = regexp.MustCompile(`message\s+\w+\s*\{[^{}]*\}`)
	protoOneof   = regexp.MustCompile(`oneof\s+\w+\s*\{\s*([^;}]*;)[^}]*\}`)
	protoField   = regexp.MustCompile(`(optional\s+|repeated\s+)?(map\s*<\s*\w+\s*,\s*[\w.]+\s*>|[\w.]+)\s+(\w+)\s*=\s*\d+`)
)

// customExample returns the JSON form of a protobuf message, by its body.
func customExample(body string) string {
	body = protoComment.ReplaceAllString(body, "")
	enums := make(map[string]string)
	for _, m := range protoEnum.FindAllStringSubmatch(body, -1) {
		enums[m[1]] = m[2]
	}
	body = protoEnum.ReplaceAllString(body, "")
	for range 8 { // from the inside out
		body = protoNested.ReplaceAllString(body, "")
	}
	body = protoOneof.ReplaceAllString(body, "$1")
	var members []string
	for _, m := range protoField.FindAllStringSubmatch(body, maxExampleItems) {
		v := protoValue(m[2], enums)
		if strings.HasPrefix(m[1], "repeated") {
			v = "[" + v + "]"
		}
		members = append(members, quote(m[3])+":"+v)
	}
	return "{" + strings.Join(members, ",") + "}"
}

func protoValue(kind string, enums map[string]string) string {
	switch kind {
	case "string":
		return `"text"`
	case "bool":
		return "true"
	case "bytes":
		return `"aGVsbG8="`
	case "double", "float":
		return "1.5"
	case "int32", "uint32", "sint32", "fixed32", "sfixed32":
		return "1"
	case "int64", "uint64", "sint64", "fixed64", "sfixed64":
		return `"1"` // as the JSON form of protobuf has it
	}
	if value, ok := enums[kind]; ok {
		return quote(value)
	}
	return "{}"
}
