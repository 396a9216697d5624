package spec

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
)

// Enumerated is implemented by Go types that stand for an enum. EnumValues
// lists the values, all strings or all integers, and must not depend on the
// receiver.
type Enumerated interface{ EnumValues() []any }

// FromGo reads the struct T as a record.
//
// Fields are named by their json tags and keep their order; an embedded struct
// stands for its fields. A pointer, or omitempty or omitzero in the json tag,
// makes a field optional. The parley tag says what Go types cannot: uuid4,
// date, time, decimal, uri, set, tuple, nullable, literal=a|b, default=, title=,
// description=, alias=, and the limits min, max, above, below, multiple, minlen,
// maxlen, pattern, minitems, maxitems. On a field named _ it speaks of the
// record: name=, title=, description=, closed, open.
//
// A union is an interface with one unexported method. The method's parameter is
// a function type, and the parameters of that are the variants, in order:
//
//	type Content interface{ content(func(Text, Image)) }
//
//	func (Text) content(func(Text, Image))  {}
//	func (Image) content(func(Text, Image)) {}
//
// Mistakes and kinds that no message can carry (channels, functions, complex
// numbers) are errors that name the field.
func FromGo[T any]() (*Record, error) { return FromGoType(reflect.TypeFor[T]()) }

// FromGoType is [FromGo] for a type known only at run time.
func FromGoType(t reflect.Type) (*Record, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == timeType {
		return nil, fault.Errorf(fault.Unsupported, t.String(), "a message is a struct, this is a %s", t.Kind())
	}
	g := goReader{known: make(map[reflect.Type]Type)}
	r := g.record(t, "Message")
	if g.err != nil {
		return nil, fault.In(t.String(), g.err)
	}
	return r, nil
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	uuidType     = reflect.TypeFor[uuid.UUID]()
	rawType      = reflect.TypeFor[json.RawMessage]()
)

type goReader struct {
	known map[reflect.Type]Type
	err   error
}

func (g *goReader) fail(field string, err error) {
	if g.err == nil && err != nil {
		g.err = fault.In(field, err)
	}
}

func unsupported(format string, args ...any) error {
	return fault.Errorf(fault.Unsupported, "", format, args...)
}

// record reads a struct; an unnamed one gets the name given by its place.
func (g *goReader) record(t reflect.Type, placeName string) *Record {
	if r, ok := g.known[t].(*Record); ok {
		return r
	}
	r := &Record{Name: goName(t, placeName)}
	g.known[t] = r
	g.fields(r, t, nil)
	return r
}

var packagePath = regexp.MustCompile(`[\w.\-~/]*[./]([A-Za-z_]\w*)`)

// goName is the type's name without packages, also those of type arguments.
func goName(t reflect.Type, placeName string) string {
	name := t.Name()
	if name == "" {
		return placeName
	}
	base, args, generic := strings.Cut(name, "[")
	base, _, _ = strings.Cut(base, "·")
	if !generic {
		return base
	}
	return base + "[" + packagePath.ReplaceAllString(strings.TrimSuffix(args, "]"), "$1") + "]"
}

func (g *goReader) fields(r *Record, t reflect.Type, prefix []int) {
	for i := range t.NumField() {
		sf := t.Field(i)
		index := append(append([]int(nil), prefix...), i)
		tag, err := parseTag(sf.Tag.Get("parley"))
		g.fail(sf.Name, err)
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		switch {
		case sf.Name == "_":
			g.describe(r, tag)
		case name == "-" && options == "":
		case sf.Anonymous && name == "" && sf.Type.Kind() == reflect.Struct && sf.Type != timeType:
			g.fields(r, sf.Type, index)
		case sf.Anonymous && name == "" && sf.Type.Kind() == reflect.Pointer:
			g.fail(sf.Name, unsupported("embed the struct itself, not a pointer to it"))
		case !sf.IsExported():
		default:
			if name == "" {
				name = sf.Name
			}
			f := g.field(sf, name, options, tag, r.Name)
			f.Index = index
			if r.Field(f.Name) != nil {
				g.fail(sf.Name, unsupported("two fields are named %q", f.Name))
			}
			r.Fields = append(r.Fields, f)
		}
	}
}

func (g *goReader) describe(r *Record, tag goTag) {
	if name := tag.values["name"]; name != "" {
		r.Name = name
	}
	r.Title, r.Description = tag.values["title"], tag.values["description"]
	r.Closed, r.Open = tag.words["closed"], tag.words["open"]
}

func (g *goReader) field(sf reflect.StructField, name, options string, tag goTag, record string) Field {
	f := Field{
		Name: name, Alias: tag.values["alias"],
		Title: tag.values["title"], Description: tag.values["description"],
		Untitled: tag.words["untitled"], Nullable: tag.words["nullable"],
	}
	t := sf.Type
	omits := strings.Contains(","+options+",", ",omitempty,") || strings.Contains(","+options+",", ",omitzero,")
	f.Optional = omits || tag.words["optional"]
	if t.Kind() == reflect.Pointer {
		f.Optional = !f.Nullable
		t = t.Elem()
	}
	var err error
	f.Default, err = tag.json("default", isTextual(t))
	g.fail(sf.Name, err)
	if f.Default != "" {
		f.Nullable = f.Nullable || f.Optional
		f.Optional = false
	}
	typ, err := g.typ(t, tag, record+strings.ToUpper(sf.Name[:1])+sf.Name[1:])
	g.fail(sf.Name, err)
	f.Type = typ
	if t.Kind() == reflect.Interface && t.NumMethod() == 0 && sf.Type.Kind() != reflect.Pointer {
		f.Optional = f.Default == "" && (f.Optional || !tag.words["nullable"]) // as in Python, an Any may always be left out
	}
	return f
}

// typ reads a type with the tag of the field that it stands in.
func (g *goReader) typ(t reflect.Type, tag goTag, placeName string) (Type, error) {
	limits, err := tag.limits()
	if err != nil {
		return nil, err
	}
	values, err := tag.literal(isTextual(t))
	if err != nil {
		return nil, err
	}
	if values != nil {
		return &Literal{Values: values}, nil
	}
	if e, ok := g.enum(t); ok {
		return e, g.err
	}
	if kind, ok := scalarKind(t, tag); ok {
		if format := tag.values["format"]; limits != (Limits{}) || format != "" {
			return &Scalar{Kind: kind, Limits: limits, Format: format}, nil
		}
		return kind, nil
	}
	return g.composite(t, tag, limits, placeName)
}

func (g *goReader) composite(t reflect.Type, tag goTag, limits Limits, placeName string) (Type, error) {
	inner := goTag{words: tag.words}
	switch t.Kind() {
	case reflect.Slice:
		item, err := g.typ(t.Elem(), without(inner, "set"), placeName)
		return &List{Item: item, Set: tag.words["set"], Limits: limits}, err
	case reflect.Array:
		item, err := g.typ(t.Elem(), inner, placeName)
		tuple := &Tuple{}
		for range t.Len() {
			tuple.Items = append(tuple.Items, item)
		}
		return tuple, err
	case reflect.Map:
		return g.mapping(t, inner, placeName)
	case reflect.Pointer:
		item, err := g.typ(t.Elem(), inner, placeName)
		return &Union{Variants: []Type{item, Null}}, err
	case reflect.Struct:
		if tag.words["tuple"] {
			return g.tuple(t)
		}
		return g.record(t, placeName), nil
	case reflect.Interface:
		return g.union(t, tag)
	}
	return nil, unsupported("a %s cannot be part of a message", t.Kind())
}

func without(t goTag, word string) goTag {
	words := make(map[string]bool, len(t.words))
	for w := range t.words {
		words[w] = w != word
	}
	return goTag{words: words}
}

// scalarKind returns the kind that the Go type and the words of its tag mean.
func scalarKind(t reflect.Type, tag goTag) (Kind, bool) {
	switch {
	case t == timeType && tag.words["date"]:
		return Date, true
	case t == timeType && tag.words["time"]:
		return Time, true
	case t == timeType:
		return DateTime, true
	case t == durationType:
		return Duration, true
	case t == uuidType && tag.words["uuid4"]:
		return UUID4, true
	case t == uuidType:
		return UUID, true
	case t == rawType, t.Kind() == reflect.Interface && t.NumMethod() == 0:
		return Any, true
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return Bytes, true
	case t.Kind() == reflect.String && tag.words["decimal"]:
		return Decimal, true
	case t.Kind() == reflect.String && tag.words["uri"]:
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
	listed, ok := reflect.Zero(t).Interface().(Enumerated)
	if !ok || t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer {
		return nil, false
	}
	if known, ok := g.known[t]; ok {
		return known, true
	}
	e := &Enum{Name: goName(t, ""), Base: String}
	g.known[t] = e
	for _, value := range listed.EnumValues() {
		v := reflect.ValueOf(value)
		switch {
		case v.Kind() == reflect.String:
			e.Values = append(e.Values, jsonOf(pyjson.Of(v.String())))
		case v.CanInt():
			e.Base = Int
			e.Values = append(e.Values, JSON(strconv.FormatInt(v.Int(), 10)))
		default:
			g.fail(e.Name, unsupported("an enum value is a string or an integer, not %T", value))
		}
	}
	if len(e.Values) == 0 {
		g.fail(e.Name, unsupported("an enum without values"))
	}
	return e, true
}

func (g *goReader) mapping(t reflect.Type, inner goTag, placeName string) (Type, error) {
	key, ok := scalarKind(t.Key(), goTag{})
	if !ok || !(key == String || key == Bool || key == UUID || scalarForms[key].typ == "integer") {
		return nil, unsupported("a map key is a string, an integer, a boolean or a UUID, not a %s", t.Key())
	}
	m := &Map{Key: key}
	value, err := g.typ(t.Elem(), inner, placeName)
	if value != Any {
		m.Value = value
	}
	return m, err
}

func (g *goReader) tuple(t reflect.Type) (Type, error) {
	r := &Record{}
	g.fields(r, t, nil)
	tuple := &Tuple{}
	for _, f := range r.Fields {
		tuple.Items = append(tuple.Items, f.Type)
	}
	return tuple, nil
}

func (g *goReader) union(t reflect.Type, tag goTag) (Type, error) {
	if known, ok := g.known[t]; ok {
		return known, nil
	}
	listing, ok := variantList(t)
	if !ok {
		return nil, unsupported("the interface %s does not list its variants: give it one unexported method that takes func(A, B…)", t)
	}
	u := &Union{Tag: tag.values["tag"]}
	g.known[t] = u
	for i := range listing.NumIn() {
		v := listing.In(i)
		if !v.Implements(t) {
			return nil, unsupported("%s is a variant of %s but does not implement it", v, t)
		}
		variant, err := g.typ(v, goTag{}, goName(v, ""))
		if err != nil {
			return nil, fault.In(v.String(), err)
		}
		u.Variants = append(u.Variants, variant)
		u.Go = append(u.Go, v)
	}
	return u, nil
}

// Variants returns the Go types that a sealed interface lists; see [FromGo].
func Variants(t reflect.Type) ([]reflect.Type, bool) {
	if t.Kind() != reflect.Interface {
		return nil, false
	}
	listing, ok := variantList(t)
	if !ok {
		return nil, false
	}
	var variants []reflect.Type
	for i := range listing.NumIn() {
		variants = append(variants, listing.In(i))
	}
	return variants, true
}

func variantList(t reflect.Type) (reflect.Type, bool) {
	if t.NumMethod() != 1 || t.Method(0).PkgPath == "" {
		return nil, false
	}
	method := t.Method(0).Type
	if method.NumIn() != 1 || method.In(0).Kind() != reflect.Func || method.In(0).NumIn() == 0 {
		return nil, false
	}
	return method.In(0), true
}
