package uagents

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
)

// A decoder makes a JSON value conform to a type: it refuses what does not fit
// and returns the rest in canonical form, which is what gets written again.
type decoder struct {
	plan  *plan
	lax   bool
	steps int // left; see Codec.steps

	nesting int // of calls of conform
	unions  int // of those, how many are for a variant
	tried   map[trial]verdict
}

// maxNesting bounds the stack. Values nest as deep as CodecOptions.MaxDepth says;
// what comes on top are unions in unions.
const maxNesting = 10_000

// A trial is a value, known by where it is kept, held against a union.
type trial struct {
	items   *pyjson.Value
	members *pyjson.Member
	union   *spec.Union
}

type verdict struct {
	value pyjson.Value
	err   error
}

func refuse(format string, args ...any) error {
	return fault.Errorf(fault.Malformed, "", format, args...)
}

func expected(what string, v pyjson.Value) error {
	return refuse("expected %s, found %s", what, v.Kind)
}

func inKey(key string, err error) error { return fault.In(pyjson.Brief(key), err) }

func inItem(i int, err error) error { return fault.In("["+strconv.Itoa(i)+"]", err) }

func sortedText(v pyjson.Value) string { return string(pyjson.Append(nil, v, pyjson.Sorted)) }

func brief(v pyjson.Value) string { return pyjson.Brief(string(pyjson.Append(nil, v, pyjson.Spaced))) }

func (d *decoder) conform(v pyjson.Value, t spec.Type) (pyjson.Value, error) {
	if d.steps--; d.steps < 0 || d.nesting >= maxNesting {
		return v, fault.Errorf(fault.TooLarge, "", "it takes too many steps to hold the payload against its model")
	}
	d.nesting++
	defer func() { d.nesting-- }()
	t = behind(t)
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
		return d.choose(v, t, "literal")
	case *spec.Enum:
		return d.enum(v, t)
	case *spec.Record:
		return d.record(v, t)
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
	p := d.plan.records[r]
	given := make([]*pyjson.Value, len(p.fields))
	var unknown []pyjson.Member
	for i := range v.Members {
		m := &v.Members[i]
		if at, known := p.byKey[m.Key]; known {
			given[at] = &m.Value
		} else if p.closed || r.Open {
			unknown = append(unknown, *m)
		}
	}
	out := pyjson.Value{Kind: pyjson.Object, Members: make([]pyjson.Member, 0, len(p.fields))}
	for i := range p.fields {
		f := &p.fields[i]
		value, err := d.field(given[i], f)
		if err != nil && given[i] == nil && p.constructed {
			value, err = d.constructed(f)
		}
		if err != nil {
			return v, inKey(f.Key(), err)
		}
		out.Members = append(out.Members, pyjson.Member{Key: f.Name, Value: value})
	}
	if p.closed && len(unknown) > 0 {
		return v, inKey(unknown[0].Key, refuse("%s has no such field", r.Name))
	}
	out.Members = append(out.Members, unknown...)
	return out, nil
}

// constructed is the value of a literal field that was left out.
func (d *decoder) constructed(f *fieldPlan) (pyjson.Value, error) {
	lit, ok := f.Type.(*spec.Literal)
	if !ok || len(lit.Values) != 1 {
		return pyjson.Value{}, refuse("the field is required")
	}
	return d.plan.choices[lit].values[0], nil
}

// field reads a field; a nil value is one that was left out.
func (d *decoder) field(given *pyjson.Value, f *fieldPlan) (pyjson.Value, error) {
	isNull := given == nil || given.Kind == pyjson.Null
	switch {
	case isNull && f.filled:
		return pyjson.Value{}, nil
	case given == nil && f.fallback != nil:
		return *f.fallback, nil
	case given == nil && f.Optional:
		return pyjson.Value{}, nil
	case given == nil:
		return pyjson.Value{}, refuse("the field is required")
	case isNull && (f.Optional || f.Nullable || f.Type == spec.Any):
		return pyjson.Value{}, nil
	}
	value, err := d.conform(*given, f.Type)
	if err == nil && f.constant != nil && !pyjson.Equal(value, *f.constant) {
		err = refuse("expected %s", brief(*f.constant))
	}
	return value, err
}

func (d *decoder) list(v pyjson.Value, t *spec.List) (pyjson.Value, error) {
	if v.Kind != pyjson.Array {
		return v, expected("an array", v)
	}
	out := pyjson.Value{Kind: pyjson.Array, Items: make([]pyjson.Value, 0, len(v.Items))}
	for i, item := range v.Items {
		item, err := d.conform(item, t.Item)
		if err != nil {
			return v, inItem(i, err)
		}
		out.Items = append(out.Items, item)
	}
	if t.Set {
		items, repeated := distinct(out.Items)
		if repeated >= 0 && !d.lax {
			return v, inItem(repeated, refuse("a set holds each item once"))
		}
		out.Items = items
	}
	return out, checkCount(len(out.Items), t.Limits)
}

// distinct gives a set its one spelling: each item once, numbers by value, the
// rest by text. It also says where the first item is that was there before.
func distinct(items []pyjson.Value) (sorted []pyjson.Value, repeated int) {
	type keyed struct {
		value  pyjson.Value
		text   string
		number *big.Float
	}
	repeated = -1
	seen := make(map[string]bool, len(items))
	var kept []keyed
	for i, item := range items {
		text := sortedText(item)
		if seen[text] {
			if repeated < 0 {
				repeated = i
			}
			continue
		}
		seen[text] = true
		number, _ := bigOf(item)
		kept = append(kept, keyed{item, text, number})
	}
	slices.SortStableFunc(kept, func(a, b keyed) int {
		if a.number != nil && b.number != nil {
			return a.number.Cmp(b.number)
		}
		return strings.Compare(a.text, b.text)
	})
	sorted = make([]pyjson.Value, 0, len(kept))
	for _, k := range kept {
		sorted = append(sorted, k.value)
	}
	return sorted, repeated
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
	pairs, ok := pairsOf(v)
	if !ok || !d.lax && v.Kind != pyjson.Object {
		return v, expected("an object", v)
	}
	var out pyjson.Members
	for _, p := range pairs {
		key, err := d.key(p.key, t.Key)
		if err != nil {
			return v, inKey(keyText(p.key), err)
		}
		if _, twice := out.Get(key); twice && !d.lax {
			return v, inKey(key, refuse("the key is there twice, in other words"))
		}
		value, err := d.conform(p.value, t.Value)
		if err != nil {
			return v, inKey(key, err)
		}
		out.Set(key, value)
	}
	return out.Object(), nil
}

// key reads the key of a map, which is a string on the wire whatever it spells.
func (d *decoder) key(key pyjson.Value, t spec.Type) (string, error) {
	if t == nil {
		t = spec.String
	}
	if !d.lax {
		key = spelled(key, kindOfKey(t))
	}
	v, err := d.conform(key, t)
	return keyText(v), err
}

func kindOfKey(t spec.Type) spec.Kind {
	if e, ok := t.(*spec.Enum); ok {
		return e.Base
	}
	s, _ := spec.AsScalar(t)
	return s.Kind
}

// spelled is the value that a key spells, if it is in the one spelling that
// there is for it.
func spelled(key pyjson.Value, kind spec.Kind) pyjson.Value {
	switch {
	case isInteger(kind) && len(key.Text) <= maxPythonDigits:
		if n, ok := new(big.Int).SetString(key.Text, 10); ok && n.String() == key.Text {
			return pyjson.OfInt(key.Text)
		}
	case kind == spec.Float || kind == spec.Float32:
		if f, ok := parsePythonFloat(key.Text); ok && string(pyjson.AppendFloat(nil, f)) == key.Text {
			return pyjson.OfFloat(f)
		}
	case kind == spec.Bool && (key.Text == "true" || key.Text == "false"):
		return pyjson.OfBool(key.Text == "true")
	}
	return key
}

// keyText is how a value is written where it is a key.
func keyText(v pyjson.Value) string {
	if v.Kind == pyjson.String {
		return v.Text
	}
	return string(pyjson.Append(nil, v, pyjson.Spaced))
}

func (d *decoder) tuple(v pyjson.Value, t *spec.Tuple) (pyjson.Value, error) {
	if v.Kind != pyjson.Array {
		return v, expected("an array", v)
	}
	if len(v.Items) != len(t.Items) {
		return v, refuse("expected %d items, found %d", len(t.Items), len(v.Items))
	}
	out := pyjson.Value{Kind: pyjson.Array, Items: make([]pyjson.Value, 0, len(t.Items))}
	for i, item := range v.Items {
		item, err := d.conform(item, t.Items[i])
		if err != nil {
			return v, inItem(i, err)
		}
		out.Items = append(out.Items, item)
	}
	return out, nil
}

// union takes the first variant that fits, as Python agents do. A union inside
// a variant of another is tried once for a value and not once for every way that
// leads there: those would be as many as two to the power of the depth.
func (d *decoder) union(v pyjson.Value, t *spec.Union) (pyjson.Value, error) {
	key := trial{union: t}
	switch {
	case len(v.Items) > 0:
		key.items = &v.Items[0]
	case len(v.Members) > 0:
		key.members = &v.Members[0]
	}
	remember := d.unions > 0 && (key.items != nil || key.members != nil)
	if known, ok := d.tried[key]; ok && remember {
		return known.value, known.err
	}
	d.unions++
	out, err := d.firstFitting(v, t)
	d.unions--
	if remember {
		if d.tried == nil {
			d.tried = make(map[trial]verdict)
		}
		d.tried[key] = verdict{out, err}
	}
	return out, err
}

const maxReasons = 5

// firstFitting tries the variants in order. Where all are refused, the error is
// that of the variant whose tag matches, else a list.
func (d *decoder) firstFitting(v pyjson.Value, t *spec.Union) (pyjson.Value, error) {
	if v.Kind == pyjson.Null && slices.Contains(t.Variants, spec.Type(spec.Null)) {
		return v, nil
	}
	var reasons []string
	for i, variant := range t.Variants {
		out, err := d.conform(v, variant)
		if err == nil {
			return out, nil
		}
		if fault.CodeOf(err) == fault.TooLarge {
			return v, err
		}
		if r, ok := variant.(*spec.Record); ok && d.isTagged(v, r) {
			return v, err
		}
		switch {
		case i < maxReasons:
			reasons = append(reasons, pyjson.Brief(strings.TrimPrefix(err.Error(), "malformed: ")))
		case i == maxReasons:
			reasons = append(reasons, "…")
		}
	}
	return v, refuse("no variant fits (%s)", strings.Join(reasons, "; "))
}

// isTagged reports whether a field of one literal value says that v is meant to
// be the record.
func (d *decoder) isTagged(v pyjson.Value, r *spec.Record) bool {
	for i := range r.Fields {
		lit, ok := r.Fields[i].Type.(*spec.Literal)
		if !ok || len(lit.Values) != 1 {
			continue
		}
		value, present := v.Get(r.Fields[i].Key())
		return present && pyjson.Equal(value, d.plan.choices[lit].values[0])
	}
	return false
}

func (d *decoder) enum(v pyjson.Value, t *spec.Enum) (pyjson.Value, error) {
	if t.Open && v.Kind != pyjson.Null {
		return v, nil
	}
	if d.lax && t.Base == spec.Int {
		var err error
		if v, err = coerceInt(v); err != nil {
			return v, err
		}
	}
	return d.choose(v, t, "value of "+t.Name)
}

func (d *decoder) choose(v pyjson.Value, t spec.Type, what string) (pyjson.Value, error) {
	choices := d.plan.choices[t]
	i, ok := choices.byText[sortedText(v)]
	if d.lax {
		i, ok = choices.byEqual[equalText(v)]
	}
	if !ok {
		return v, refuse("%s is no %s; expected one of %s", brief(v), what, choices.listed)
	}
	return choices.values[i], nil
}
