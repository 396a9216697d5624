package uagents

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
)

// An encoder turns Go values into JSON values. What it writes fits the model, or
// is refused: a Python agent could not have made it either.
type encoder struct {
	decoder
	levels int // that arrays and objects may still nest
}

// encode turns a Go value into the JSON value of a type that was made from it.
func (e *encoder) encode(v reflect.Value, t spec.Type) (pyjson.Value, error) {
	t = behind(t)
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && !v.IsNil() {
		if u, ok := t.(*spec.Union); ok && v.Kind() == reflect.Interface && u.Go != nil {
			break
		}
		v = v.Elem()
	}
	if !v.IsValid() || isNil(v) {
		return encodeNil(t)
	}
	if s, ok := spec.AsScalar(t); ok {
		return e.scalarOf(v, s)
	}
	switch t := t.(type) {
	case *spec.Union:
		return e.unionOf(v, t)
	case *spec.Literal:
		if len(t.Values) == 1 && v.IsZero() { // authors need not set the tags of their variants
			return e.plan.choices[t].values[0], nil
		}
		return e.choiceOf(v, t, "literal", false)
	case *spec.Enum:
		return e.choiceOf(v, t, t.Name, t.Open)
	}
	return e.nested(func() (pyjson.Value, error) {
		switch t := t.(type) {
		case *spec.List:
			return e.listOf(v, t)
		case *spec.Map:
			return e.mapOf(v, t)
		case *spec.Tuple:
			return e.tupleOf(v, t)
		case *spec.Record:
			return e.recordOf(v, t)
		}
		return pyjson.Value{}, fault.Errorf(fault.Unsupported, spec.NameOf(t), "the type has no JSON form")
	})
}

// nested writes an array or object, unless it is too deep: a receiver would
// refuse it, and a value that contains itself has no end.
func (e *encoder) nested(write func() (pyjson.Value, error)) (pyjson.Value, error) {
	if e.levels == 0 {
		return pyjson.Value{}, fault.Errorf(fault.TooLarge, "", "the value nests too deep, or contains itself")
	}
	e.levels--
	v, err := write()
	e.levels++
	return v, err
}

// isNil reports whether there is no value; an empty list or map is one.
func isNil(v reflect.Value) bool {
	return (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil()
}

func encodeNil(t spec.Type) (pyjson.Value, error) {
	if u, ok := t.(*spec.Union); ok && slices.Contains(u.Variants, spec.Type(spec.Null)) {
		return pyjson.Value{}, nil
	}
	if t == nil || t == spec.Any || t == spec.Null {
		return pyjson.Value{}, nil
	}
	return pyjson.Value{}, refuse("nil where a value is needed")
}

func (e *encoder) recordOf(v reflect.Value, r *spec.Record) (pyjson.Value, error) {
	p := e.plan.records[r]
	out := pyjson.Value{Kind: pyjson.Object, Members: make([]pyjson.Member, 0, len(p.fields))}
	for i := range p.fields {
		f := &p.fields[i]
		part, err := fieldOf(v, r, f.Field)
		if err != nil {
			return out, err
		}
		value, err := e.memberOf(part, f)
		if err != nil {
			return out, fault.In(f.Name, err)
		}
		out.Members = append(out.Members, pyjson.Member{Key: f.Name, Value: value})
	}
	return out, nil
}

// fieldOf finds the place of a field in a struct of the type that the record
// was made from.
func fieldOf(v reflect.Value, r *spec.Record, f *spec.Field) (reflect.Value, error) {
	if f.Index == nil {
		return v, fault.Errorf(fault.Internal, f.Name, "the model of %s was not made from a Go type", r.Name)
	}
	part := v
	for _, i := range f.Index {
		if part.Kind() != reflect.Struct || i >= part.NumField() {
			return v, fault.Errorf(fault.Internal, f.Name, "%s is not the Go type that the model of %s was made from", v.Type(), r.Name)
		}
		part = part.Field(i)
	}
	if !part.CanInterface() {
		return v, fault.Errorf(fault.Internal, f.Name, "%s is not the Go type that the model of %s was made from", v.Type(), r.Name)
	}
	return part, nil
}

func (e *encoder) memberOf(v reflect.Value, f *fieldPlan) (pyjson.Value, error) {
	absent := isNil(v) || f.Optional && v.IsZero()
	switch {
	case absent && f.fallback != nil && !f.Nullable:
		return *f.fallback, nil
	case absent && (f.Optional || f.Nullable):
		return pyjson.Value{}, nil
	}
	return e.encode(v, f.Type)
}

func (e *encoder) listOf(v reflect.Value, t *spec.List) (pyjson.Value, error) {
	if v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
		return pyjson.Value{}, refuse("expected a slice, found %s", v.Type())
	}
	out := pyjson.Value{Kind: pyjson.Array}
	for i := range v.Len() {
		item, err := e.encode(v.Index(i), t.Item)
		if err != nil {
			return out, inItem(i, err)
		}
		out.Items = append(out.Items, item)
	}
	if t.Set {
		out.Items, _ = distinct(out.Items)
	}
	return out, checkCount(len(out.Items), t.Limits)
}

// mapOf writes keys in order: Go maps have none, and the same value must give
// the same bytes each time.
func (e *encoder) mapOf(v reflect.Value, t *spec.Map) (pyjson.Value, error) {
	if v.Kind() != reflect.Map {
		return pyjson.Value{}, refuse("expected a map, found %s", v.Type())
	}
	out := pyjson.Value{Kind: pyjson.Object}
	for _, key := range v.MapKeys() {
		name, err := encodeKey(key)
		if err == nil {
			name, err = e.key(pyjson.Of(name), t.Key)
		}
		if err != nil {
			return out, inKey(name, err)
		}
		value, err := e.encode(v.MapIndex(key), t.Value)
		if err != nil {
			return out, inKey(name, err)
		}
		out.Members = append(out.Members, pyjson.Member{Key: name, Value: value})
	}
	slices.SortFunc(out.Members, func(a, b pyjson.Member) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

func encodeKey(key reflect.Value) (string, error) {
	if key.Kind() == reflect.String {
		return key.String(), checkText(key.String())
	}
	if id, ok := key.Interface().(uuid.UUID); ok {
		return id.String(), nil
	}
	switch {
	case key.CanInt(), key.CanUint(), key.Kind() == reflect.Bool:
		return fmt.Sprint(key.Interface()), nil
	}
	return "", refuse("a %s cannot be the key of a map", key.Type())
}

func (e *encoder) tupleOf(v reflect.Value, t *spec.Tuple) (pyjson.Value, error) {
	parts, ok := tupleParts(v)
	if !ok || len(parts) != len(t.Items) {
		return pyjson.Value{}, refuse("expected a tuple of %d items, found %s", len(t.Items), v.Type())
	}
	out := pyjson.Value{Kind: pyjson.Array}
	for i, item := range t.Items {
		value, err := e.encode(parts[i], item)
		if err != nil {
			return out, inItem(i, err)
		}
		out.Items = append(out.Items, value)
	}
	return out, nil
}

// tupleParts returns the fields of a struct or the items of an array.
func tupleParts(v reflect.Value) (parts []reflect.Value, ok bool) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if parts = append(parts, v.Field(i)); !parts[i].CanInterface() {
				return nil, false
			}
		}
		return parts, true
	case reflect.Array:
		for i := range v.Len() {
			parts = append(parts, v.Index(i))
		}
		return parts, true
	}
	return nil, false
}

func (e *encoder) unionOf(v reflect.Value, t *spec.Union) (pyjson.Value, error) {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	for i, variant := range t.Go {
		if v.Type() == variant {
			return e.encode(v, t.Variants[i])
		}
		if v.Kind() == reflect.Pointer && v.Type().Elem() == variant && !v.IsNil() {
			return e.encode(v.Elem(), t.Variants[i])
		}
	}
	if t.Go == nil && len(t.Variants) == 2 && t.Variants[1] == spec.Null { // a pointer inside a list or map
		return e.encode(v, t.Variants[0])
	}
	return pyjson.Value{}, refuse("%s is no variant of the union", v.Type())
}

func (e *encoder) choiceOf(v reflect.Value, t spec.Type, name string, open bool) (pyjson.Value, error) {
	value, err := e.anyOf(v)
	if err != nil || open {
		return value, err
	}
	choices := e.plan.choices[t]
	if _, ok := choices.byText[sortedText(value)]; !ok {
		return value, refuse("%s is no value of %s; expected one of %s", brief(value), name, choices.listed)
	}
	return value, nil
}

// scalarOf writes a scalar and checks what its Go type does not.
func (e *encoder) scalarOf(v reflect.Value, s spec.Scalar) (pyjson.Value, error) {
	value, err := e.kindOf(v, s.Kind)
	if err != nil || s.Limits == (spec.Limits{}) {
		return value, err
	}
	return e.scalar(value, s)
}

func (e *encoder) kindOf(v reflect.Value, kind spec.Kind) (pyjson.Value, error) {
	switch kind {
	case spec.Any:
		return e.anyOf(v)
	case spec.DateTime, spec.Date, spec.Time:
		return encodeTime(v, kind)
	case spec.Duration:
		if d, ok := as[time.Duration](v); ok {
			return pyjson.OfFloat(float64(d.Microseconds()) / 1e6), nil
		}
	case spec.UUID, spec.UUID4:
		if id, ok := as[uuid.UUID](v); ok {
			text, err := canonicalUUID(id.String(), kind == spec.UUID4)
			return pyjson.Of(text), err
		}
	case spec.Bytes:
		if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
			return pyjson.Of(string(v.Bytes())), checkText(string(v.Bytes()))
		}
	case spec.Decimal:
		if v.Kind() == reflect.String {
			return decimal(pyjson.Of(v.String()))
		}
	case spec.Float32:
		if v.CanFloat() {
			// The shortest text that reads back as the same 32 bits.
			f, err := strconv.ParseFloat(strconv.FormatFloat(v.Float(), 'g', -1, 32), 64)
			return pyjson.OfFloat(f), err
		}
	default:
		value, err := e.anyOf(v)
		if err != nil {
			return value, err
		}
		return e.kind(value, spec.Scalar{Kind: kind})
	}
	return pyjson.Value{}, refuse("expected a Go value for %s, found %s", kind, v.Type())
}

// as returns a value of a type, or of one that is defined as it.
func as[T any](v reflect.Value) (T, bool) {
	if t := reflect.TypeFor[T](); v.Type() != t && v.Kind() == t.Kind() && v.CanConvert(t) {
		v = v.Convert(t)
	}
	x, ok := v.Interface().(T)
	return x, ok
}

func encodeTime(v reflect.Value, kind spec.Kind) (pyjson.Value, error) {
	t, ok := as[time.Time](v)
	if !ok {
		return pyjson.Value{}, refuse("expected a time.Time, found %s", v.Type())
	}
	if kind != spec.Time && (t.Year() < 1 || t.Year() > 9999) {
		return pyjson.Value{}, refuse("the year %d cannot be written", t.Year())
	}
	switch kind {
	case spec.Date:
		return pyjson.Of(t.Format(time.DateOnly)), nil
	case spec.Time:
		return pyjson.Of(formatTime(t, false)[len("2006-01-02T"):]), nil
	}
	return pyjson.Of(formatTime(t, true)), nil
}

func checkText(s string) error {
	if !utf8.ValidString(s) {
		return refuse("text must be valid UTF-8")
	}
	return nil
}

// anyOf writes a value of which no type is known.
func (e *encoder) anyOf(v reflect.Value) (pyjson.Value, error) {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return pyjson.Value{}, nil
		}
		v = v.Elem()
	}
	switch {
	case v.Kind() == reflect.String && v.Type() != reflect.TypeFor[json.Number]():
		return pyjson.Of(v.String()), checkText(v.String())
	case v.Kind() == reflect.Bool:
		return pyjson.OfBool(v.Bool()), nil
	case v.CanInt() && v.Type() != reflect.TypeFor[time.Duration]():
		return pyjson.OfInt(strconv.FormatInt(v.Int(), 10)), nil
	case v.CanUint():
		return pyjson.OfInt(strconv.FormatUint(v.Uint(), 10)), nil
	case v.CanFloat():
		return pyjson.OfFloat(v.Float()), nil
	}
	if raw, ok := v.Interface().(json.RawMessage); ok {
		if len(raw) == 0 {
			return pyjson.Value{}, nil
		}
		return e.parse(raw)
	}
	switch v.Kind() {
	case reflect.Map:
		return e.nested(func() (pyjson.Value, error) { return e.mapOf(v, &spec.Map{}) })
	case reflect.Slice, reflect.Array:
		return e.nested(func() (pyjson.Value, error) { return e.listOf(v, &spec.List{}) })
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		return pyjson.Value{}, fault.Errorf(fault.Unsupported, "", "%w", err)
	}
	return e.parse(text)
}

// parse reads JSON text that becomes part of the value.
func (e *encoder) parse(text []byte) (pyjson.Value, error) {
	return pyjson.Parse(text, &pyjson.Options{MaxDepth: max(1, e.levels)})
}
