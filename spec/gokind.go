package spec

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
)

func (g *goReader) composite(t reflect.Type, tag goTag, placeName string) (Type, error) {
	inner, err := tag.inner()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case reflect.Slice:
		list := &List{Set: tag.has("set")}
		if err := tag.listLimits(&list.Limits); err != nil {
			return nil, err
		}
		item, err := g.typ(t.Elem(), inner, placeName)
		list.Item = item
		return list, err
	case reflect.Array:
		item, err := g.typ(t.Elem(), inner, placeName)
		return &Tuple{Items: slices.Repeat([]Type{item}, t.Len())}, err
	case reflect.Map:
		return g.mapping(t, tag, inner, placeName)
	case reflect.Pointer:
		item, err := g.typ(t.Elem(), tag, placeName)
		return &Union{Variants: []Type{item, Null}}, err
	case reflect.Struct:
		if tag.has("tuple") {
			return g.tuple(t)
		}
		return g.record(t, placeName), nil
	case reflect.Interface:
		return g.union(t, tag.text("tag"))
	}
	return nil, unsupported("a %s cannot be part of a message", t.Kind())
}

// scalarKind returns the kind that the Go type and the words of its tag mean.
func scalarKind(t reflect.Type, tag goTag) (Kind, bool) {
	// A type defined as one of these has another meaning without the word.
	defined := func(as reflect.Type, word string) bool {
		return t.Kind() == as.Kind() && t.ConvertibleTo(as) && tag.has(word)
	}
	switch {
	case defined(timeType, "date"):
		return Date, true
	case defined(timeType, "time"):
		return Time, true
	case defined(timeType, "datetime"), t == timeType:
		return DateTime, true
	case defined(durationType, "duration"), t == durationType:
		return Duration, true
	case defined(uuidType, "uuid4"):
		return UUID4, true
	case defined(uuidType, "uuid"), t == uuidType:
		return UUID, true
	case t == rawType, t.Kind() == reflect.Interface && t.NumMethod() == 0:
		return Any, true
	case hasOwnForm(t):
		return Any, false
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return Bytes, true
	case t.Kind() == reflect.String && tag.has("decimal"):
		return Decimal, true
	case t.Kind() == reflect.String && tag.has("uri"):
		return URI, true
	}
	kind, ok := map[reflect.Kind]Kind{
		reflect.String: String, reflect.Bool: Bool,
		reflect.Int: Int, reflect.Int64: Int, reflect.Int32: Int32, reflect.Int16: Int32, reflect.Int8: Int32,
		reflect.Uint: UInt64, reflect.Uint64: UInt64, reflect.Uint32: UInt32, reflect.Uint16: UInt32, reflect.Uint8: UInt32,
		reflect.Float64: Float, reflect.Float32: Float32,
	}[t.Kind()]
	return kind, ok
}

func (g *goReader) enum(t reflect.Type) (Type, bool) {
	if t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer {
		return nil, false
	}
	listed, ok := reflect.New(t).Interface().(Enumerated)
	if !ok {
		return nil, false
	}
	if known, ok := g.known[goKey{typ: t}]; ok {
		return known, true
	}
	e := &Enum{Name: goName(t, "")}
	g.known[goKey{typ: t}] = e
	tag, err := tagOfType(t)
	g.fail(e.Name, err)
	for i, value := range listed.EnumValues() {
		base, text := enumValue(reflect.ValueOf(value))
		switch {
		case base == Any:
			g.fail(e.Name, unsupported("an enum value is a string or an integer, not %T", value))
		case i > 0 && base != e.Base:
			g.fail(e.Name, unsupported("the values of an enum are all strings or all integers"))
		}
		e.Base = base
		e.Values = append(e.Values, text)
	}
	if len(e.Values) == 0 {
		g.fail(e.Name, unsupported("an enum without values"))
	}
	if name := tag.text("name"); name != "" {
		e.Name = name
	}
	e.Title, e.Description, e.Open = tag.text("title"), tag.text("description"), tag.has("open")
	if tag.has("unmixed") {
		e.Base = Any
	}
	g.fail(e.Name, tag.unused())
	return e, true
}

// tagOfType is what a type that is no struct says of itself.
func tagOfType(t reflect.Type) (goTag, error) {
	if t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer {
		return parseTag("")
	}
	tagged, ok := reflect.Zero(t).Interface().(Tagged)
	if !ok {
		return parseTag("")
	}
	return parseTag(tagged.ParleyTag())
}

func enumValue(v reflect.Value) (base Kind, text JSON) {
	switch {
	case v.Kind() == reflect.String:
		return String, jsonOf(pyjson.Of(v.String()))
	case v.CanInt():
		return Int, JSON(strconv.FormatInt(v.Int(), 10))
	case v.CanUint():
		return Int, JSON(strconv.FormatUint(v.Uint(), 10))
	}
	return Any, ""
}

func (g *goReader) mapping(t reflect.Type, tag, inner goTag, placeName string) (Type, error) {
	keyTag, err := tag.nested("key")
	if err != nil {
		return nil, err
	}
	key, err := g.typ(t.Key(), keyTag, placeName)
	if err == nil {
		err = keyTag.unused()
	}
	if err != nil {
		return nil, err
	}
	if !isKey(key) {
		return nil, unsupported("a map key is a string, an integer, a boolean, a UUID or an enum, not a %s", t.Key())
	}
	m := &Map{Key: key}
	value, err := g.typ(t.Elem(), inner, placeName)
	if value != Any {
		m.Value = value
	}
	return m, err
}

func isKey(t Type) bool {
	switch t.(type) {
	case *Enum, *Literal:
		return true
	}
	s, ok := AsScalar(t)
	switch s.Kind {
	case String, Bool, UUID, UUID4:
		return ok
	}
	return ok && scalarForms[s.Kind].typ == "integer"
}

// tuple reads a struct whose fields are the items of a tuple. The codec finds
// them by position, so there must be nothing else in the struct.
func (g *goReader) tuple(t reflect.Type) (Type, error) {
	r := &Record{Name: t.Name()}
	g.fields(r, t, nil)
	if len(r.Fields) != t.NumField() {
		return nil, unsupported("a struct that is a tuple has only exported fields, none of them embedded or left out")
	}
	tuple := &Tuple{}
	for _, f := range r.Fields {
		if f.Optional && f.Type != Any || f.Nullable {
			f.Type = &Union{Variants: []Type{f.Type, Null}}
		}
		tuple.Items = append(tuple.Items, f.Type)
	}
	return tuple, nil
}

func (g *goReader) union(t reflect.Type, tag string) (Type, error) {
	if known, ok := g.known[goKey{t, tag}]; ok {
		return known, nil
	}
	variants, ok := Variants(t)
	if !ok {
		return nil, unsupported("the interface %s does not list its variants: give it one unexported method that takes func(A, B…)", t)
	}
	u := &Union{Tag: tag, Go: variants}
	g.known[goKey{t, tag}] = u
	for _, v := range variants {
		if v.Kind() == reflect.Interface {
			return nil, unsupported("%s is a variant of %s but an interface: list its variants instead", v, t)
		}
		if !v.Implements(t) {
			return nil, unsupported("%s is a variant of %s but does not implement it", v, t)
		}
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		own, err := tagOfType(v)
		if err != nil {
			return nil, fault.In(v.String(), err)
		}
		if _, isEnum := reflect.Zero(v).Interface().(Enumerated); isEnum {
			own = goTag{} // an enum reads it itself
		}
		variant, err := g.typ(v, own, goName(v, ""))
		if err == nil {
			err = own.unused()
		}
		if err != nil {
			return nil, fault.In(v.String(), err)
		}
		u.Variants = append(u.Variants, variant)
	}
	return u, nil
}

// Variants returns the Go types that a sealed interface lists; see [FromGo].
func Variants(t reflect.Type) ([]reflect.Type, bool) {
	if t.Kind() != reflect.Interface || t.NumMethod() != 1 || t.Method(0).PkgPath == "" {
		return nil, false
	}
	method := t.Method(0).Type
	if method.NumIn() != 1 || method.In(0).Kind() != reflect.Func || method.In(0).NumIn() == 0 {
		return nil, false
	}
	var variants []reflect.Type
	for in := range method.In(0).Ins() {
		variants = append(variants, in)
	}
	return variants, true
}
