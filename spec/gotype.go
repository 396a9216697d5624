package spec

import (
	"encoding"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/fault"
)

// Enumerated is implemented by Go types that stand for an enum. EnumValues
// lists the values, all strings or all integers, and must not depend on the
// receiver.
type Enumerated interface{ EnumValues() []any }

// Tagged is implemented by Go types that are no struct and say themselves what a
// parley tag would: the variants of a union, which stand in no field, and enums.
// ParleyTag must not depend on the receiver.
type Tagged interface{ ParleyTag() string }

// FromGo reads the struct T as a record.
//
// Fields are named by their json tags and keep their order; an embedded struct
// stands for its fields. A pointer, or omitempty or omitzero in the json tag,
// makes a field optional. The parley tag says what Go types cannot; a value with
// commas stands in single quotes:
//
//	uuid4, date, time, decimal, uri   what a uuid.UUID, time.Time or string holds
//	uuid, datetime, duration          the same of a type that is defined as one of them, in its ParleyTag
//	format=email                      of a string: a format without a kind of its own
//	set                               of a slice: each item once
//	tuple                             of a struct: its fields as the items of an array
//	literal=a|b                       only these values
//	default=, optional, nullable      what a field left out means; that it may be; that null is a value
//	tag=kind                          of a union: the field that tells its variants apart
//	title=, untitled, description=    words of the schema
//	alias=                            the name in the schema and on input
//	min, max, above, below, multiple  limits of a number
//	minlen, maxlen, pattern           limits of a string
//	minitems, maxitems                limits of a slice
//	item='…'                          a tag for a slice's items or a map's values
//	key='…'                           a tag for a map's keys
//
// Words speak of a slice's items and a map's values too. On a field named _ the
// tag speaks of the record: name=, title=, description=, closed, open.
//
// A union is an interface with one unexported method. The method's parameter is
// a function type, and the parameters of that are the variants, in order:
//
//	type Content interface{ content(func(Text, Image)) }
//
//	func (Text) content(func(Text, Image))  {}
//	func (Image) content(func(Text, Image)) {}
//
// A variant that is no struct, such as a named slice, may be [Tagged].
//
// An enum is a type with the method of [Enumerated]. If it is [Tagged] as well, its
// tag may hold name=, title=, description=, open (a reader keeps values that it
// does not know) and unmixed (the Python class has no base beside Enum).
//
// Mistakes, and kinds that no message can carry (channels, functions, complex
// numbers), are errors that name the field.
func FromGo[T any]() (*Record, error) { return FromGoType(reflect.TypeFor[T]()) }

// MustFromGo is [FromGo] for types that are known to be right, such as generated
// ones. It panics if they are not.
func MustFromGo[T any]() *Record {
	r, err := FromGo[T]()
	if err != nil {
		panic(err)
	}
	return r
}

// FromGoType is [FromGo] for a type known only at run time.
func FromGoType(t reflect.Type) (*Record, error) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return nil, unsupported("a message is a struct, and this is nil")
	}
	if t.Kind() != reflect.Struct || t == timeType {
		return nil, fault.Errorf(fault.Unsupported, t.String(), "a message is a struct, this is a %s", t.Kind())
	}
	g := goReader{known: make(map[goKey]Type)}
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
	known map[goKey]Type
	err   error
}

// A goKey is a Go type as it was read. The same interface may be told apart by
// a tag in one field and by trying in another.
type goKey struct {
	typ reflect.Type
	tag string
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
	if r, ok := g.known[goKey{typ: t}].(*Record); ok {
		return r
	}
	r := &Record{Name: goName(t, placeName)}
	g.known[goKey{typ: t}] = r
	g.fields(r, t, nil)
	if len(r.Fields) == 0 && hasHiddenField(t) {
		g.fail("", unsupported("%s has only unexported fields, which no message shows", t))
	}
	return r
}

func hasHiddenField(t reflect.Type) bool {
	for f := range t.Fields() {
		if !f.IsExported() && !f.Anonymous && f.Name != "_" {
			return true
		}
	}
	return false
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
		tag, err := tagOf(sf)
		g.fail(sf.Name, err)
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		switch {
		case sf.Name == "_" && prefix != nil: // speaks of the embedded struct, not of this one
		case sf.Name == "_":
			g.describe(r, tag)
		case sf.Tag.Get("json") == "-": // "-," would be the name "-"
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
	if name := tag.text("name"); name != "" {
		r.Name = name
	}
	r.Title, r.Description = tag.text("title"), tag.text("description")
	r.Closed, r.Open = tag.has("closed"), tag.has("open")
	g.fail("_", tag.unused())
}

func (g *goReader) field(sf reflect.StructField, name, options string, tag goTag, record string) Field {
	f := Field{
		Name: name, Alias: tag.text("alias"),
		Title: tag.text("title"), Description: tag.text("description"),
		Untitled: tag.has("untitled"), Nullable: tag.has("nullable"),
	}
	t := sf.Type
	omits := strings.Contains(","+options+",", ",omitempty,") || strings.Contains(","+options+",", ",omitzero,")
	f.Optional = tag.has("optional") || omits
	if t.Kind() == reflect.Pointer {
		f.Optional = !f.Nullable
		t = t.Elem()
	}
	var err error
	f.Default, err = tag.json("default", isTextual(t, tag))
	g.fail(sf.Name, err)
	if f.Default != "" {
		f.Nullable = f.Nullable || f.Optional
		f.Optional = false
	}
	f.Type, err = g.typ(t, tag, record+sf.Name)
	g.fail(sf.Name, err)
	if f.Type == Any && f.Default == "" && sf.Type.Kind() != reflect.Pointer {
		f.Optional = f.Optional || !f.Nullable // as in Python, an Any may always be left out
	}
	g.fail(sf.Name, tag.unused())
	return f
}

// isTextual reports whether defaults and literals of the Go type are text.
func isTextual(t reflect.Type, tag goTag) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == timeType, t == uuidType:
		return true
	case t.Kind() == reflect.String:
		return !tag.has("decimal")
	}
	return t != rawType && t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// typ reads a type with the tag of the field that it stands in.
func (g *goReader) typ(t reflect.Type, tag goTag, placeName string) (Type, error) {
	values, err := tag.literal(isTextual(t, tag))
	if err != nil {
		return nil, err
	}
	if values != nil {
		return &Literal{Values: values}, nil
	}
	if e, ok := g.enum(t); ok {
		return e, g.err
	}
	kind, ok := scalarKind(t, tag)
	switch {
	case ok:
		return g.scalar(kind, tag)
	case hasOwnForm(t):
		return nil, unsupported("%s writes itself as JSON in a way of its own, which no schema describes", t)
	}
	return g.composite(t, tag, placeName)
}

// scalar narrows a kind by the limits that it can have.
func (g *goReader) scalar(kind Kind, tag goTag) (Type, error) {
	s := Scalar{Kind: kind}
	var err error
	switch scalarForms[kind].typ {
	case "integer", "number":
		err = tag.numberLimits(&s.Limits)
	case "string":
		err = tag.textLimits(&s.Limits)
	}
	if kind == String {
		s.Format = tag.text("format")
	}
	if s.Limits == (Limits{}) && s.Format == "" {
		return kind, err
	}
	return &s, err
}

// hasOwnForm reports whether a type that is no struct has methods by which it
// writes itself, as net.IP does: what it looks like then is not known.
func hasOwnForm(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface, reflect.Pointer, reflect.Struct:
		return false
	}
	pointer := reflect.PointerTo(t)
	return pointer.Implements(reflect.TypeFor[json.Marshaler]()) || pointer.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}
