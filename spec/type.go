package spec

import (
	"reflect"
	"strconv"
)

// A Type is what a field, a list item or a message body may hold. It is one of
// [Kind], [*Scalar], [*List], [*Map], [*Tuple], [*Union], [*Literal], [*Enum],
// [*Record], [*Alias] and [*Custom].
//
// Named types (enums, records, aliases, custom types) are shared by pointer; a
// record may contain itself that way.
type Type interface{ isType() }

// A Kind is a scalar type without limits.
type Kind uint8

// The scalar kinds. Any holds every value. What a kind looks like on the wire
// is the business of the dialect.
const (
	Any Kind = iota
	Null
	Bool
	String
	Int // 64 bits
	Int32
	UInt32
	UInt64
	Float // 64 bits
	Float32
	Decimal
	Bytes
	DateTime
	Date
	Time
	Duration
	UUID
	UUID4
	URI
)

var kindNames = [...]string{
	"Any", "Null", "Bool", "String", "Int", "Int32", "UInt32", "UInt64", "Float", "Float32",
	"Decimal", "Bytes", "DateTime", "Date", "Time", "Duration", "UUID", "UUID4", "URI",
}

// String returns the name of the kind as it is written in Go.
func (k Kind) String() string { return nameIn(kindNames[:], int(k)) }

func nameIn(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "unknown (" + strconv.Itoa(i) + ")"
}

// With returns the kind narrowed by limits.
func (k Kind) With(limits Limits) *Scalar { return &Scalar{Kind: k, Limits: limits} }

// A Scalar is a kind with limits or with keywords of its own.
type Scalar struct {
	Kind     Kind
	Limits   Limits
	Format   string // a JSON Schema format that no kind stands for, such as "email"
	Keywords Keywords
}

// Limits narrow a type. Numbers are JSON text, because 1 and 1.0 give different
// digests. A nil or empty limit is none.
type Limits struct {
	Min, Max             JSON // inclusive
	Above, Below         JSON // exclusive
	MultipleOf           JSON
	MinLength, MaxLength *int // of a string, in code points
	Pattern              string
	MinItems, MaxItems   *int
}

// JSON is a JSON value as text, in the spelling of Python's json module. Empty
// means that there is none.
type JSON string

// A List holds items of one type. A Set is a list whose items differ.
type List struct {
	Item     Type
	Set      bool
	Limits   Limits
	Keywords Keywords
}

// A Map has string keys on the wire; Key says what they spell and is [String]
// when nil. A nil Value is [Any].
type Map struct {
	Key      Type
	Value    Type
	Keywords Keywords
}

// A Tuple holds a fixed number of items, each of its own type.
type Tuple struct {
	Items    []Type
	Keywords Keywords
}

// A Union holds a value of one of its variants. A reader tries them in order.
type Union struct {
	Variants []Type

	// Tag is the field whose literal value tells record variants apart, for
	// unions that say so; the schema then has "oneOf" and a discriminator. A
	// variant may be such a union too.
	Tag      string
	Keywords Keywords

	// Go lists the Go types of the variants, for unions made by [FromGo].
	Go []reflect.Type
}

// A Literal holds one of the listed values: text, numbers, booleans, null.
type Literal struct {
	Values   []JSON
	Keywords Keywords
}

// An Enum is a named list of values. Base is [String], [Int] or [Float] where
// all values are of that kind, and [Any] for Python enums without a mix-in.
type Enum struct {
	Name        string
	Base        Kind
	Values      []JSON
	Names       []string // what code calls the values, in their order; nil if nothing is known of that
	Description string   // part of the digest; empty is Python's "An enumeration."
	Title       string   // if it is not the name
	Key         string   // in references, if it is not made from the name
	Open        bool     // a reader keeps values it does not know
	Doc         string   // for people; never part of a digest
	Keywords    Keywords
}

// A Record is a named set of fields. Their order is part of its digest.
type Record struct {
	Name        string
	Fields      []Field
	Description string // part of the digest
	Title       string // if it is not the name
	Key         string // in references, if it is not made from the name
	Closed      bool   // a reader refuses fields it does not know
	Open        bool   // a reader keeps fields it does not know
	Doc         string // for people; never part of a digest
	Keywords    Keywords
	Annotations []Annotation
}

// Field returns the record's field with the given name, or nil.
func (r *Record) Field(name string) *Field {
	for i := range r.Fields {
		if r.Fields[i].Name == name {
			return &r.Fields[i]
		}
	}
	return nil
}

// An Alias is a name for a type that stands in schemas under that name, as
// Python's models with a __root__ do.
type Alias struct {
	Name        string
	Type        Type
	Description string // part of the digest
	Title       string // if it is not the name
	Key         string // in references, if it is not made from the name
	Doc         string // for people; never part of a digest
	Keywords    Keywords
}

// A Custom type is known by the body of its proto3 message, kept byte for byte.
type Custom struct {
	Name string
	Body string
	Doc  string
}

// A Field is one member of a record.
type Field struct {
	Name        string
	Type        Type
	Optional    bool   // may be left out; a reader takes null as left out
	Nullable    bool   // null is a value of its own
	Default     JSON   // what a field that was left out means
	Alias       string // name in the schema and on input, if it is not Name
	Local       string // what code calls the field, if it is not Name
	Title       string // if it is not made from the name
	Untitled    bool   // the schema has no title where one would be made
	Description string // part of the digest
	Doc         string // for people; never part of a digest
	Keywords    Keywords
	Annotations []Annotation

	// Index is where a Go struct keeps the field, for records made by [FromGo];
	// see reflect.Value.FieldByIndex.
	Index []int
}

// Key returns the field's name in schemas and on input.
func (f *Field) Key() string {
	if f.Alias != "" {
		return f.Alias
	}
	return f.Name
}

// Required reports whether a sender must write the field.
func (f *Field) Required() bool { return !f.Optional && f.Default == "" }

// Keywords are JSON Schema keywords that the model has no place for. They are
// kept and written again, since they are part of the digest.
type Keywords []Keyword

// A Keyword is one of them.
type Keyword struct {
	Name  string
	Value JSON
}

// An Annotation is a trait that a source gives to a declaration, such as
// @name("LLM-Context-Response").
type Annotation struct {
	Name string
	Args []Arg
}

// An Arg is an argument of an annotation. Name is empty if it was given without
// one. A name as value, such as ok in @race(ok), is a JSON string.
type Arg struct {
	Name  string
	Value JSON
}

func (Kind) isType()     {}
func (*Scalar) isType()  {}
func (*List) isType()    {}
func (*Map) isType()     {}
func (*Tuple) isType()   {}
func (*Union) isType()   {}
func (*Literal) isType() {}
func (*Enum) isType()    {}
func (*Record) isType()  {}
func (*Alias) isType()   {}
func (*Custom) isType()  {}

// AsScalar returns a scalar type with its limits; ok is false for other types.
// No type at all is [Any].
func AsScalar(t Type) (s Scalar, ok bool) {
	switch t := t.(type) {
	case nil:
		return Scalar{}, true
	case Kind:
		return Scalar{Kind: t}, true
	case *Scalar:
		return *t, true
	}
	return Scalar{}, false
}

// NameOf returns the name of a named type, and "" for others.
func NameOf(t Type) string {
	switch t := t.(type) {
	case *Enum:
		return t.Name
	case *Record:
		return t.Name
	case *Alias:
		return t.Name
	case *Custom:
		return t.Name
	}
	return ""
}
