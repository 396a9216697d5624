package spec

import (
	"slices"
	"strconv"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
)

// A subName is the name of one of pydantic's hidden sub-fields, made when it is
// asked for. It shows only in the title of a nested literal of mixed kinds.
type subName func() string

func named(name string) subName { return func() string { return name } }

func (n subName) inside() subName { return func() string { return "_" + n() } }

func (n subName) at(i int) subName { return func() string { return n() + "_" + strconv.Itoa(i) } }

func (n subName) as(variant Type) subName {
	return func() string { return n() + "_" + pythonName(variant) }
}

// maxNesting is how deep lists, maps, tuples and unions nest before a named type
// comes. More is a type that contains itself without a name.
const maxNesting = 64

// typ writes a type.
func (e *emitter) typ(t Type, name subName) pyjson.Value {
	if e.err != nil {
		return pyjson.Value{}
	}
	if s, ok := AsScalar(t); ok {
		return e.scalar(s)
	}
	if e.nesting++; e.nesting > maxNesting {
		e.fail(fault.Unsupported, "", "the type contains itself, which only a record or an alias can")
		return pyjson.Value{}
	}
	defer func() { e.nesting-- }()
	switch t := t.(type) {
	case *List:
		return e.list(t, name)
	case *Map:
		return e.mapping(t, name)
	case *Tuple:
		return e.tuple(t, name)
	case *Union:
		return e.union(t, name)
	case *Literal:
		return e.literal(t, name)
	}
	return e.refer(t)
}

var scalarForms = [...]struct{ typ, format string }{
	Any: {"", ""}, Null: {"null", ""}, Bool: {"boolean", ""}, String: {"string", ""},
	Int: {"integer", ""}, Int32: {"integer", ""}, UInt32: {"integer", ""}, UInt64: {"integer", ""},
	Float: {"number", ""}, Float32: {"number", ""}, Decimal: {"number", ""},
	Bytes: {"string", "binary"}, DateTime: {"string", "date-time"}, Date: {"string", "date"}, Time: {"string", "time"},
	Duration: {"number", "time-delta"}, UUID: {"string", "uuid"}, UUID4: {"string", "uuid4"}, URI: {"string", "uri"},
}

// maxURI is the longest URL that pydantic's AnyUrl takes.
const maxURI = 65536

func (e *emitter) scalar(s Scalar) pyjson.Value {
	out := pyjson.OfMembers()
	if int(s.Kind) >= len(scalarForms) {
		e.fail(fault.Unsupported, "", "there is no kind %d", s.Kind)
		return out
	}
	form := scalarForms[s.Kind]
	if form.typ != "" {
		out.Set("type", pyjson.Of(form.typ))
	}
	if s.Format != "" {
		form.format = s.Format
	}
	if form.format != "" {
		out.Set("format", pyjson.Of(form.format))
	}
	limits := s.Limits
	if s.Kind == URI {
		if limits.MinLength == nil {
			limits.MinLength = new(1)
		}
		if limits.MaxLength == nil {
			limits.MaxLength = new(maxURI)
		}
	}
	e.limits(&out, limits)
	e.keywords(&out, s.Keywords)
	return out
}

func (e *emitter) limits(s *pyjson.Value, l Limits) {
	for _, n := range l.numbers() {
		if *n.value != "" {
			s.Set(n.keyword, e.json(*n.value))
		}
	}
	for _, n := range l.counts() {
		if *n.value != nil {
			s.Set(n.keyword, pyjson.OfInt(strconv.Itoa(**n.value)))
		}
	}
	if l.Pattern != "" {
		s.Set("pattern", pyjson.Of(l.Pattern))
	}
}

type limit[V any] struct {
	keyword string
	value   *V
}

func (l *Limits) numbers() []limit[JSON] {
	return []limit[JSON]{
		{"exclusiveMinimum", &l.Above}, {"minimum", &l.Min}, {"exclusiveMaximum", &l.Below}, {"maximum", &l.Max},
		{"multipleOf", &l.MultipleOf},
	}
}

func (l *Limits) counts() []limit[*int] { return append(l.lengths(), l.items()...) }

func (l *Limits) lengths() []limit[*int] {
	return []limit[*int]{{"minLength", &l.MinLength}, {"maxLength", &l.MaxLength}}
}

func (l *Limits) items() []limit[*int] {
	return []limit[*int]{{"minItems", &l.MinItems}, {"maxItems", &l.MaxItems}}
}

func (e *emitter) list(t *List, name subName) pyjson.Value {
	s := pyjson.OfMembers(
		pyjson.Member{Key: "type", Value: pyjson.Of("array")},
		pyjson.Member{Key: "items", Value: e.typ(t.Item, name.inside())},
	)
	if t.Set {
		s.Set("uniqueItems", pyjson.OfBool(true))
	}
	e.limits(&s, t.Limits)
	e.keywords(&s, t.Keywords)
	return s
}

func (e *emitter) mapping(t *Map, name subName) pyjson.Value {
	s := pyjson.OfMembers(pyjson.Member{Key: "type", Value: pyjson.Of("object")})
	value := e.typ(t.Value, name.inside())
	if key, ok := AsScalar(t.Key); ok && key.Limits.Pattern != "" {
		s.Set("patternProperties", pyjson.OfMembers(pyjson.Member{Key: key.Limits.Pattern, Value: value}))
	}
	if len(value.Members) > 0 {
		s.Set("additionalProperties", value)
	}
	e.keywords(&s, t.Keywords)
	return s
}

func (e *emitter) tuple(t *Tuple, name subName) pyjson.Value {
	count := pyjson.OfInt(strconv.Itoa(len(t.Items)))
	s := pyjson.OfMembers(
		pyjson.Member{Key: "type", Value: pyjson.Of("array")},
		pyjson.Member{Key: "minItems", Value: count},
		pyjson.Member{Key: "maxItems", Value: count},
	)
	if len(t.Items) > 0 {
		items := pyjson.Value{Kind: pyjson.Array}
		for i, item := range t.Items {
			items.Items = append(items.Items, e.typ(item, name.at(i)))
		}
		s.Set("items", items)
	}
	e.keywords(&s, t.Keywords)
	return s
}

func (e *emitter) union(t *Union, name subName) pyjson.Value {
	variants := t.present(nil)
	switch len(variants) {
	case 0:
		e.fail(fault.Unsupported, "", "a union without variants")
		return pyjson.Value{}
	case 1:
		s := e.typ(variants[0], name)
		if isReference(s) && len(t.Keywords) > 0 {
			s = wrapped(s)
		}
		e.keywords(&s, t.Keywords)
		return s
	}
	choices := pyjson.Value{Kind: pyjson.Array}
	for _, v := range variants {
		choice := e.typ(v, name.as(v))
		if u, ok := v.(*Union); ok && u.Tag != "" && len(u.Keywords) == 0 { // its discriminator does not show
			inner, _ := choice.Get("oneOf")
			choice = pyjson.OfMembers(pyjson.Member{Key: "oneOf", Value: inner})
		}
		choices.Items = append(choices.Items, choice)
	}
	s := pyjson.OfMembers()
	if t.Tag == "" {
		s.Set("anyOf", choices)
	} else {
		s.Set("discriminator", e.discriminator(t.Tag, variants))
		s.Set("oneOf", choices)
	}
	e.keywords(&s, t.Keywords)
	return s
}

// present returns the variants with nested unions laid flat and null left out:
// neither shows in a schema of pydantic v1.
func (t *Union) present(flat []Type, around ...*Union) []Type {
	around = append(around, t)
	for _, v := range t.Variants {
		inner, ok := v.(*Union)
		switch {
		case ok && slices.Contains(around, inner): // says nothing new
		case ok && inner.Tag == "" && len(inner.Keywords) == 0:
			flat = inner.present(flat, around...)
		case v != Null:
			flat = append(flat, v)
		}
	}
	return flat
}

// soleVariant looks through a union that has only one variant besides null.
func soleVariant(t Type) Type {
	if u, ok := t.(*Union); ok && len(u.Keywords) == 0 {
		if variants := u.present(nil); len(variants) == 1 {
			return variants[0]
		}
	}
	return t
}

func (e *emitter) discriminator(tag string, variants []Type) pyjson.Value {
	var mapping pyjson.Members
	numbers := true
	property := tag
	for _, v := range variants {
		records, nested := []Type{v}, false
		if u, ok := v.(*Union); ok && u.Tag != "" {
			records, nested = u.present(nil), true
		}
		target := pyjson.OfMembers()
		var values []pyjson.Value
		for _, record := range records {
			field := e.tagField(record, tag)
			if field == nil {
				return pyjson.Value{}
			}
			property = field.Key()
			values = append(values, e.values(field.Type.(*Literal).Values).Items...)
			target.Members = append(target.Members, pyjson.Member{Key: keyOf(record), Value: reference(keyOf(record))})
		}
		if !nested {
			target = pyjson.Of(referencePrefix + keyOf(v))
		}
		for _, value := range values {
			mapping.Set(keyText(value), target)
			numbers = numbers && (value.Kind == pyjson.Int || value.Kind == pyjson.Float)
		}
	}
	object := mapping.Object()
	object.NumberKeys = numbers
	return pyjson.OfMembers(
		pyjson.Member{Key: "propertyName", Value: pyjson.Of(property)},
		pyjson.Member{Key: "mapping", Value: object},
	)
}

// tagField returns the field by which a variant is told apart, or fails.
func (e *emitter) tagField(variant Type, tag string) *Field {
	r, ok := variant.(*Record)
	if !ok || r.Field(tag) == nil {
		e.fail(fault.Unsupported, "", "a union told apart by %q needs records that have it", tag)
		return nil
	}
	if _, ok := r.Field(tag).Type.(*Literal); !ok {
		e.fail(fault.Unsupported, r.Name+"."+tag, "the tag of a union must be a literal")
		return nil
	}
	return r.Field(tag)
}

// keyText is a value as Python's json module writes it where it is a key.
func keyText(v pyjson.Value) string {
	if v.Kind == pyjson.String {
		return v.Text
	}
	return string(jsonOf(v))
}

var literalTypes = map[pyjson.Kind]string{
	pyjson.String: "string", pyjson.Int: "integer", pyjson.Bool: "boolean", pyjson.Float: "number",
}

// literal writes the values by kind, in order of first appearance: one enum
// where all are of one kind, else a choice of enums. Null is a kind, but does not
// show. What has more than one kind gets a title when it is nested, a slip of
// pydantic's that digests depend on.
func (e *emitter) literal(t *Literal, name subName) pyjson.Value {
	var kinds []pyjson.Kind
	byKind := make(map[pyjson.Kind][]pyjson.Value)
	for _, v := range e.values(t.Values).Items {
		if !slices.Contains(kinds, v.Kind) {
			kinds = append(kinds, v.Kind)
		}
		byKind[v.Kind] = append(byKind[v.Kind], v)
	}
	s := pyjson.OfMembers()
	if len(kinds) > 1 {
		s.Set("title", pyjson.Of(titleOf(name())))
	}
	choices := pyjson.Value{Kind: pyjson.Array}
	for _, kind := range kinds {
		if kind == pyjson.Null {
			continue
		}
		typ, ok := literalTypes[kind]
		if !ok {
			e.fail(fault.Unsupported, "", "a literal must be text, a number, a boolean or null")
		}
		choices.Items = append(choices.Items, pyjson.OfMembers(
			pyjson.Member{Key: "enum", Value: pyjson.OfItems(byKind[kind]...)},
			pyjson.Member{Key: "type", Value: pyjson.Of(typ)},
		))
	}
	switch {
	case len(kinds) == 0:
		e.fail(fault.Unsupported, "", "a literal without values")
	case len(choices.Items) == 0:
		s.Set("type", pyjson.Of("null"))
	case len(choices.Items) == 1:
		s.Members = append(s.Members, choices.Items[0].Members...)
	default:
		s.Set("anyOf", choices)
	}
	e.keywords(&s, t.Keywords)
	return s
}
