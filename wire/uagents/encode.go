package uagents

import (
	"encoding/json"
	"fmt"
	"math"
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

// encode turns a Go value into the JSON value of a type that was made from it.
func encode(v reflect.Value, t spec.Type) (pyjson.Value, error) {
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && !isNil(v) {
		if u, ok := t.(*spec.Union); ok && v.Kind() == reflect.Interface && u.Go != nil {
			break
		}
		v = v.Elem()
	}
	if !v.IsValid() || isNil(v) && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		return encodeNil(t)
	}
	if s, ok := spec.AsScalar(t); ok {
		return encodeScalar(v, s.Kind)
	}
	switch t := t.(type) {
	case *spec.List:
		return encodeList(v, t)
	case *spec.Map:
		return encodeMap(v, t)
	case *spec.Tuple:
		return encodeTuple(v, t)
	case *spec.Union:
		return encodeUnion(v, t)
	case *spec.Literal:
		return encodeLiteral(v, t)
	case *spec.Enum:
		return encodeChoice(v, t.Values, t.Name, t.Open)
	case *spec.Record:
		return encodeRecord(v, t)
	case *spec.Alias:
		return encode(v, t.Type)
	}
	return pyjson.Value{}, fault.Errorf(fault.Unsupported, spec.NameOf(t), "the type has no JSON form")
}

func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice:
		return v.IsNil()
	}
	return false
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

func encodeRecord(v reflect.Value, r *spec.Record) (pyjson.Value, error) {
	if v.Kind() != reflect.Struct {
		return pyjson.Value{}, refuse("expected a struct for %s, found %s", r.Name, v.Type())
	}
	out := pyjson.Value{Kind: pyjson.Object, Members: make([]pyjson.Member, 0, len(r.Fields))}
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.Index == nil {
			return out, fault.Errorf(fault.Internal, f.Name, "the model of %s was not made from a Go type", r.Name)
		}
		value, err := encodeField(v.FieldByIndex(f.Index), f)
		if err != nil {
			return out, fault.In(f.Name, err)
		}
		out.Members = append(out.Members, pyjson.Member{Key: f.Name, Value: value})
	}
	return out, nil
}

func encodeField(v reflect.Value, f *spec.Field) (pyjson.Value, error) {
	absent := v.Kind() == reflect.Pointer && v.IsNil() || f.Optional && v.IsZero()
	switch {
	case absent && f.Default != "" && !f.Nullable:
		return pyjson.Parse([]byte(f.Default), nil)
	case absent && (f.Optional || f.Nullable):
		return pyjson.Value{}, nil
	}
	return encode(v, f.Type)
}

func encodeList(v reflect.Value, t *spec.List) (pyjson.Value, error) {
	if v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
		return pyjson.Value{}, refuse("expected a slice, found %s", v.Type())
	}
	out := pyjson.Value{Kind: pyjson.Array}
	for i := range v.Len() {
		item, err := encode(v.Index(i), t.Item)
		if err != nil {
			return out, fault.In("["+strconv.Itoa(i)+"]", err)
		}
		out.Items = append(out.Items, item)
	}
	if t.Set {
		sortItems(out.Items)
		out.Items = slices.CompactFunc(out.Items, pyjson.Equal)
	}
	return out, nil
}

// encodeMap writes keys in order: Go maps have none, and the same value must
// give the same bytes each time.
func encodeMap(v reflect.Value, t *spec.Map) (pyjson.Value, error) {
	if v.Kind() != reflect.Map {
		return pyjson.Value{}, refuse("expected a map, found %s", v.Type())
	}
	out := pyjson.Value{Kind: pyjson.Object}
	for _, key := range v.MapKeys() {
		name, err := encodeKey(key)
		if err != nil {
			return out, err
		}
		value, err := encode(v.MapIndex(key), t.Value)
		if err != nil {
			return out, fault.In(name, err)
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

func encodeTuple(v reflect.Value, t *spec.Tuple) (pyjson.Value, error) {
	out := pyjson.Value{Kind: pyjson.Array}
	for i, item := range t.Items {
		var part reflect.Value
		switch {
		case v.Kind() == reflect.Struct:
			part = v.Field(i)
		case i < v.Len():
			part = v.Index(i)
		}
		value, err := encode(part, item)
		if err != nil {
			return out, fault.In("["+strconv.Itoa(i)+"]", err)
		}
		out.Items = append(out.Items, value)
	}
	return out, nil
}

func encodeUnion(v reflect.Value, t *spec.Union) (pyjson.Value, error) {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	for i, variant := range t.Go {
		if v.Type() == variant {
			return encode(v, t.Variants[i])
		}
		if v.Kind() == reflect.Pointer && v.Type().Elem() == variant && !v.IsNil() {
			return encode(v.Elem(), t.Variants[i])
		}
	}
	if t.Go == nil && len(t.Variants) == 2 && t.Variants[1] == spec.Null { // a pointer inside a list or map
		return encode(v, t.Variants[0])
	}
	return pyjson.Value{}, refuse("%s is no variant of the union", v.Type())
}

// encodeLiteral fills in a literal of one value, so that authors need not set
// the tags of their variants.
func encodeLiteral(v reflect.Value, t *spec.Literal) (pyjson.Value, error) {
	if len(t.Values) == 1 && v.IsZero() {
		return pyjson.Parse([]byte(t.Values[0]), nil)
	}
	return encodeChoice(v, t.Values, "literal", false)
}

func encodeChoice(v reflect.Value, choices []spec.JSON, name string, open bool) (pyjson.Value, error) {
	value, err := encodeAny(v)
	if err != nil || open {
		return value, err
	}
	text := spec.JSON(pyjson.Append(nil, value, pyjson.Spaced))
	if !slices.Contains(choices, text) {
		return value, refuse("%s is no value of %s; expected one of %s", text, name, join(choices))
	}
	return value, nil
}

func encodeScalar(v reflect.Value, kind spec.Kind) (pyjson.Value, error) {
	switch kind {
	case spec.Any:
		return encodeAny(v)
	case spec.DateTime, spec.Date, spec.Time:
		return encodeTime(v, kind)
	case spec.Duration:
		if d, ok := v.Interface().(time.Duration); ok {
			return pyjson.OfFloat(float64(d.Microseconds()) / 1e6), nil
		}
	case spec.UUID, spec.UUID4:
		if id, ok := v.Interface().(uuid.UUID); ok {
			text, err := canonicalUUID(id.String(), kind == spec.UUID4)
			return pyjson.Of(text), err
		}
	case spec.Bytes:
		if v.Kind() == reflect.Slice {
			return pyjson.Of(string(v.Bytes())), checkText(string(v.Bytes()))
		}
	case spec.Decimal:
		return decimal(pyjson.Of(v.String()))
	case spec.Float32:
		// The shortest text that reads back as the same 32 bits.
		f, err := strconv.ParseFloat(strconv.FormatFloat(v.Float(), 'g', -1, 32), 64)
		return pyjson.OfFloat(f), err
	default:
		return encodeAny(v)
	}
	return pyjson.Value{}, refuse("expected a Go value for %s, found %s", kind, v.Type())
}

func encodeTime(v reflect.Value, kind spec.Kind) (pyjson.Value, error) {
	t, ok := v.Interface().(time.Time)
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

// encodeAny writes a value of which no type is known.
func encodeAny(v reflect.Value) (pyjson.Value, error) {
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
		return pyjson.Parse(raw, nil)
	}
	switch v.Kind() {
	case reflect.Map:
		return encodeMap(v, &spec.Map{})
	case reflect.Slice, reflect.Array:
		return encodeList(v, &spec.List{})
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		return pyjson.Value{}, fault.Errorf(fault.Unsupported, "", "%w", err)
	}
	return pyjson.Parse(text, nil)
}

// anyOf is the Go value of a JSON value of which no type is known. Integers
// stay integers, so that writing it again gives the same text.
func anyOf(v pyjson.Value) any {
	switch v.Kind {
	case pyjson.Bool:
		return v.Bool
	case pyjson.Int:
		if n, err := strconv.ParseInt(v.Text, 10, 64); err == nil {
			return n
		}
		return json.Number(v.Text)
	case pyjson.Float:
		return v.Num
	case pyjson.String:
		return v.Text
	case pyjson.Array:
		items := make([]any, len(v.Items))
		for i, item := range v.Items {
			items[i] = anyOf(item)
		}
		return items
	case pyjson.Object:
		members := make(map[string]any, len(v.Members))
		for _, m := range v.Members {
			members[m.Key] = anyOf(m.Value)
		}
		return members
	}
	return nil
}

// durationOf turns seconds into a Go duration, or reports that it has no room.
func durationOf(seconds float64) (time.Duration, bool) {
	ns := math.Round(seconds * 1e6)
	if math.IsNaN(ns) || math.Abs(ns) > math.MaxInt64/1000 {
		return 0, false
	}
	return time.Duration(ns) * time.Microsecond, true
}
