package uagents

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
)

// fill sets a Go value from a JSON value that conforms to its type.
func (c *Codec) fill(dst reflect.Value, v pyjson.Value, t spec.Type) error {
	if v.Kind == pyjson.Null && t != spec.Any {
		dst.SetZero()
		return nil
	}
	if dst.Kind() == reflect.Pointer {
		fresh := reflect.New(dst.Type().Elem())
		if err := c.fill(fresh.Elem(), v, t); err != nil {
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
		return c.fillList(dst, v, t)
	case *spec.Map:
		return c.fillMap(dst, v, t)
	case *spec.Tuple:
		return c.fillTuple(dst, v, t)
	case *spec.Union:
		return c.fillUnion(dst, v, t)
	case *spec.Record:
		return c.fillRecord(dst, v, t)
	case *spec.Alias:
		return c.fill(dst, v, t.Type)
	}
	return fillScalar(dst, v, spec.Any) // literals and enums
}

func mismatch(dst reflect.Value, v pyjson.Value) error {
	return fault.Errorf(fault.Internal, "", "%s does not fit the Go type %s", v.Kind, dst.Type())
}

func (c *Codec) fillRecord(dst reflect.Value, v pyjson.Value, r *spec.Record) error {
	if dst.Kind() != reflect.Struct {
		return mismatch(dst, v)
	}
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.Index == nil {
			return fault.Errorf(fault.Internal, f.Name, "the model of %s was not made from a Go type", r.Name)
		}
		value, _ := v.Get(f.Name)
		if err := c.fill(dst.FieldByIndex(f.Index), value, f.Type); err != nil {
			return fault.In(f.Name, err)
		}
	}
	return nil
}

func (c *Codec) fillList(dst reflect.Value, v pyjson.Value, t *spec.List) error {
	if dst.Kind() != reflect.Slice {
		return mismatch(dst, v)
	}
	items := reflect.MakeSlice(dst.Type(), len(v.Items), len(v.Items))
	for i, item := range v.Items {
		if err := c.fill(items.Index(i), item, t.Item); err != nil {
			return fault.In("["+strconv.Itoa(i)+"]", err)
		}
	}
	dst.Set(items)
	return nil
}

func (c *Codec) fillMap(dst reflect.Value, v pyjson.Value, t *spec.Map) error {
	if dst.Kind() != reflect.Map {
		return mismatch(dst, v)
	}
	m := reflect.MakeMapWithSize(dst.Type(), len(v.Members))
	for _, member := range v.Members {
		key := reflect.New(dst.Type().Key()).Elem()
		if err := c.fillKey(key, member.Key, t.Key); err != nil {
			return fault.In(member.Key, err)
		}
		value := reflect.New(dst.Type().Elem()).Elem()
		if err := c.fill(value, member.Value, t.Value); err != nil {
			return fault.In(member.Key, err)
		}
		m.SetMapIndex(key, value)
	}
	dst.Set(m)
	return nil
}

func (c *Codec) fillKey(dst reflect.Value, text string, t spec.Type) error {
	v := pyjson.Of(text)
	if s, ok := spec.AsScalar(t); ok && isInteger(s.Kind) {
		v = pyjson.OfInt(text)
	} else if ok && s.Kind == spec.Bool {
		v = pyjson.OfBool(text == "true")
	}
	return c.fill(dst, v, t)
}

func (c *Codec) fillTuple(dst reflect.Value, v pyjson.Value, t *spec.Tuple) error {
	for i, item := range t.Items {
		part := dst
		switch {
		case dst.Kind() == reflect.Struct:
			part = dst.Field(i)
		case dst.Kind() == reflect.Array:
			part = dst.Index(i)
		default:
			return mismatch(dst, v)
		}
		if err := c.fill(part, v.Items[i], item); err != nil {
			return fault.In("["+strconv.Itoa(i)+"]", err)
		}
	}
	return nil
}

// fillUnion finds the variant that the value conforms to. Canonical values are
// of exact kinds, so the strict reading tells.
func (c *Codec) fillUnion(dst reflect.Value, v pyjson.Value, t *spec.Union) error {
	if t.Go == nil { // a pointer inside a list or map
		i := slices.IndexFunc(t.Variants, func(variant spec.Type) bool { return variant != spec.Null })
		return c.fill(dst, v, t.Variants[i])
	}
	for i, variant := range t.Variants {
		d := decoder{codec: c}
		canonical, err := d.conform(v, variant)
		if err != nil || !pyjson.Equal(canonical, v) {
			continue
		}
		value := reflect.New(t.Go[i]).Elem()
		if err := c.fill(value, v, variant); err != nil {
			return err
		}
		dst.Set(value)
		return nil
	}
	return mismatch(dst, v)
}

func fillScalar(dst reflect.Value, v pyjson.Value, kind spec.Kind) error {
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
		if value := anyOf(v); value != nil {
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
	case dst.CanFloat() && v.Kind == pyjson.Int: // a default that was written without a point
		v, _ = float(v)
		dst.SetFloat(v.Num)
		return nil
	case dst.CanFloat() && v.Kind == pyjson.Float:
		dst.SetFloat(v.Num)
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
