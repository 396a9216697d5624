package uagents

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
)

// A filler sets Go values from JSON values that conform to their types. Its
// decoder tells which variant of a union a value is.
type filler struct{ decoder }

// fill sets a Go value from a JSON value.
func (x *filler) fill(dst reflect.Value, v pyjson.Value, t spec.Type) error {
	t = behind(t)
	if v.Kind == pyjson.Null && t != spec.Any {
		dst.SetZero()
		return nil
	}
	if dst.Kind() == reflect.Pointer {
		fresh := reflect.New(dst.Type().Elem())
		if err := x.fill(fresh.Elem(), v, t); err != nil {
			return err
		}
		dst.Set(fresh)
		return nil
	}
	if s, ok := spec.AsScalar(t); ok {
		return fillScalar(dst, v, s.Kind)
	}
	switch t := t.(type) {
	case *spec.List:
		return x.fillList(dst, v, t)
	case *spec.Map:
		return x.fillMap(dst, v, t)
	case *spec.Tuple:
		return x.fillTuple(dst, v, t)
	case *spec.Union:
		return x.fillUnion(dst, v, t)
	case *spec.Record:
		return x.fillRecord(dst, v, t)
	}
	return fillScalar(dst, v, spec.Any) // literals and enums
}

func mismatch(dst reflect.Value, v pyjson.Value) error {
	return fault.Errorf(fault.Internal, "", "%s does not fit the Go type %s", v.Kind, dst.Type())
}

func (x *filler) fillRecord(dst reflect.Value, v pyjson.Value, r *spec.Record) error {
	members := pyjson.MembersOf(v)
	for i := range r.Fields {
		f := &r.Fields[i]
		part, err := fieldOf(dst, r, f)
		if err != nil {
			return err
		}
		value, _ := members.Get(f.Name)
		if err := x.fill(part, value, f.Type); err != nil {
			return fault.In(f.Name, err)
		}
	}
	return nil
}

func (x *filler) fillList(dst reflect.Value, v pyjson.Value, t *spec.List) error {
	if dst.Kind() != reflect.Slice {
		return mismatch(dst, v)
	}
	items := reflect.MakeSlice(dst.Type(), len(v.Items), len(v.Items))
	for i, item := range v.Items {
		if err := x.fill(items.Index(i), item, t.Item); err != nil {
			return inItem(i, err)
		}
	}
	dst.Set(items)
	return nil
}

func (x *filler) fillMap(dst reflect.Value, v pyjson.Value, t *spec.Map) error {
	if dst.Kind() != reflect.Map {
		return mismatch(dst, v)
	}
	m := reflect.MakeMapWithSize(dst.Type(), len(v.Members))
	for _, member := range v.Members {
		key := reflect.New(dst.Type().Key()).Elem()
		if err := x.fillKey(key, member.Key, t.Key); err != nil {
			return inKey(member.Key, err)
		}
		value := reflect.New(dst.Type().Elem()).Elem()
		if err := x.fill(value, member.Value, t.Value); err != nil {
			return inKey(member.Key, err)
		}
		m.SetMapIndex(key, value)
	}
	dst.Set(m)
	return nil
}

func (x *filler) fillKey(dst reflect.Value, text string, t spec.Type) error {
	v := pyjson.Of(text)
	if s, ok := spec.AsScalar(t); ok && isInteger(s.Kind) {
		v = pyjson.OfInt(text)
	} else if ok && s.Kind == spec.Bool {
		v = pyjson.OfBool(text == "true")
	}
	return x.fill(dst, v, t)
}

func (x *filler) fillTuple(dst reflect.Value, v pyjson.Value, t *spec.Tuple) error {
	parts, ok := tupleParts(dst)
	if !ok || len(parts) != len(t.Items) || len(v.Items) != len(t.Items) {
		return mismatch(dst, v)
	}
	for i, item := range t.Items {
		if err := x.fill(parts[i], v.Items[i], item); err != nil {
			return inItem(i, err)
		}
	}
	return nil
}

// fillUnion finds the variant that the value conforms to. Canonical values are
// of exact kinds, so the strict reading tells.
func (x *filler) fillUnion(dst reflect.Value, v pyjson.Value, t *spec.Union) error {
	if t.Go == nil { // a pointer inside a list or map
		i := slices.IndexFunc(t.Variants, func(variant spec.Type) bool { return variant != spec.Null })
		return x.fill(dst, v, t.Variants[i])
	}
	for i, variant := range t.Variants {
		canonical, err := x.conform(v, variant)
		if fault.CodeOf(err) == fault.TooLarge {
			return err
		}
		if err != nil || !pyjson.Equal(canonical, v) || !t.Go[i].AssignableTo(dst.Type()) {
			continue
		}
		value := reflect.New(t.Go[i]).Elem()
		if err := x.fill(value, v, variant); err != nil {
			return err
		}
		dst.Set(value)
		return nil
	}
	return mismatch(dst, v)
}

// goTypes are those of the kinds that have a type of their own in Go.
var goTypes = map[spec.Kind]reflect.Type{
	spec.DateTime: reflect.TypeFor[time.Time](), spec.Date: reflect.TypeFor[time.Time](), spec.Time: reflect.TypeFor[time.Time](),
	spec.Duration: reflect.TypeFor[time.Duration](), spec.UUID: reflect.TypeFor[uuid.UUID](), spec.UUID4: reflect.TypeFor[uuid.UUID](),
}

func fillScalar(dst reflect.Value, v pyjson.Value, kind spec.Kind) error {
	if own, ok := goTypes[kind]; ok && own != dst.Type() && own.Kind() == dst.Kind() && own.ConvertibleTo(dst.Type()) {
		value := reflect.New(own).Elem() // a type that is defined as it
		err := fillScalar(value, v, kind)
		dst.Set(value.Convert(dst.Type()))
		return err
	}
	switch dst.Type() {
	case reflect.TypeFor[time.Time]():
		t, _, err := parseTime(v.Text, kind)
		dst.Set(reflect.ValueOf(t))
		return err
	case reflect.TypeFor[time.Duration]():
		d, ok := durationOf(v.Num)
		dst.SetInt(int64(d))
		if !ok {
			return refuse("the duration is out of range")
		}
		return nil
	case reflect.TypeFor[uuid.UUID]():
		id, err := uuid.Parse(v.Text)
		dst.Set(reflect.ValueOf(id))
		return err
	case reflect.TypeFor[json.RawMessage]():
		dst.SetBytes(pyjson.Append(nil, v, pyjson.Spaced))
		return nil
	}
	if kind == spec.Decimal {
		v = pyjson.Of(decimalText(v))
	}
	switch {
	case dst.Kind() == reflect.Interface && dst.NumMethod() == 0:
		if value := goValue(v); value != nil {
			dst.Set(reflect.ValueOf(value))
		}
		return nil
	case v.Kind == pyjson.String && dst.Kind() == reflect.String:
		dst.SetString(v.Text)
		return nil
	case v.Kind == pyjson.String && dst.Kind() == reflect.Slice:
		dst.SetBytes([]byte(v.Text))
		return nil
	case v.Kind == pyjson.Bool && dst.Kind() == reflect.Bool:
		dst.SetBool(v.Bool)
		return nil
	}
	return fillNumber(dst, v)
}

// decimalText is the decimal as it was written, or as Python would print it.
func decimalText(v pyjson.Value) string {
	if v.Text != "" {
		return v.Text
	}
	return pythonFloat(v.Num)
}

func fillNumber(dst reflect.Value, v pyjson.Value) error {
	switch {
	case dst.CanFloat() && (v.Kind == pyjson.Float || v.Kind == pyjson.Int): // a default may be written without a point
		number, err := float(v)
		if err != nil || dst.OverflowFloat(number.Num) && !math.IsInf(number.Num, 0) {
			return refuse("%.40s is out of the range of %s", brief(v), dst.Type())
		}
		dst.SetFloat(number.Num)
		return nil
	case dst.CanInt() && v.Kind == pyjson.Int:
		n, err := strconv.ParseInt(v.Text, 10, dst.Type().Bits())
		dst.SetInt(n)
		return outOfRange(err, v, dst)
	case dst.CanUint() && v.Kind == pyjson.Int:
		n, err := strconv.ParseUint(v.Text, 10, dst.Type().Bits())
		dst.SetUint(n)
		return outOfRange(err, v, dst)
	}
	return mismatch(dst, v)
}

func outOfRange(err error, v pyjson.Value, dst reflect.Value) error {
	if err != nil {
		return refuse("%.40s is out of the range of %s", v.Text, dst.Type())
	}
	return nil
}

// goValue is the Go value of a JSON value of which no type is known. Integers
// stay integers, so that writing it again gives the same text.
func goValue(v pyjson.Value) any {
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
			items[i] = goValue(item)
		}
		return items
	case pyjson.Object:
		members := make(map[string]any, len(v.Members))
		for _, m := range v.Members {
			members[m.Key] = goValue(m.Value)
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
