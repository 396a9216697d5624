package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
)

// Schema returns the JSON Schema of a record or alias as pydantic v1 writes it
// for the same model in Python, members in the order of declaration.
func Schema(t Type) ([]byte, error) {
	schema, err := schemaOf(t)
	if err != nil {
		return nil, err
	}
	return pyjson.Append(nil, schema, pyjson.Spaced), nil
}

// Digest returns the model digest of a record or alias: "model:" and the
// SHA-256 of its schema with sorted keys. It is what an envelope carries as its
// schema digest.
func Digest(t Type) (string, error) {
	schema, err := schemaOf(t)
	if err != nil {
		return "", err
	}
	return modelDigest(schema), nil
}

func modelDigest(schema pyjson.Value) string { return "model:" + hashSorted(schema) }

func hashSorted(v pyjson.Value) string {
	sum := sha256.Sum256(pyjson.Append(nil, v, pyjson.Sorted))
	return hex.EncodeToString(sum[:])
}

// schemaOf writes the schema of a named type with all definitions it needs.
func schemaOf(root Type) (pyjson.Value, error) {
	switch root.(type) {
	case *Record, *Alias:
	default:
		return pyjson.Value{}, fault.Errorf(fault.Unsupported, NameOf(root), "only a record or an alias has a schema of its own, not %T", root)
	}
	e := emitter{root: root, defined: make(map[string]Type)}
	schema := e.named(root)
	if e.err != nil {
		return pyjson.Value{}, e.err
	}
	if e.recursive {
		key := definitionKey(NameOf(root))
		e.definitions = append(e.definitions, pyjson.Member{Key: key, Value: schema})
		schema = reference(key)
	}
	if len(e.definitions) > 0 {
		schema.Set("definitions", pyjson.OfMembers(e.definitions...))
	}
	return schema, nil
}

type emitter struct {
	root        Type
	recursive   bool // root contains itself
	definitions []pyjson.Member
	defined     map[string]Type
	err         error
}

func (e *emitter) fail(field, format string, args ...any) {
	if e.err == nil {
		e.err = fault.Errorf(fault.Unsupported, field, format, args...)
	}
}

// definitionKey is pydantic's spelling of a class name in references.
func definitionKey(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, name)
}

func reference(key string) pyjson.Value {
	return pyjson.OfMembers(pyjson.Member{Key: "$ref", Value: pyjson.Of(referencePrefix + key)})
}

const referencePrefix = "#/definitions/"

// refer returns a reference to a named type and sees to its definition.
func (e *emitter) refer(t Type) pyjson.Value {
	key := definitionKey(NameOf(t))
	if key == "" {
		e.fail("", "a named type without a name")
	}
	if t == e.root {
		e.recursive = true
		return reference(key)
	}
	other, known := e.defined[key]
	if !known && key == definitionKey(NameOf(e.root)) {
		other, known = e.root, true
	}
	if !known {
		e.defined[key] = t
		definition := e.named(t)
		e.definitions = append(e.definitions, pyjson.Member{Key: key, Value: definition})
	} else if other != t && e.err == nil {
		e.err = fault.Errorf(fault.Conflict, key, "two different types of this name in one schema; rename one")
	}
	return reference(key)
}

// named writes the body of a named type.
func (e *emitter) named(t Type) pyjson.Value {
	switch t := t.(type) {
	case *Record:
		return e.record(t)
	case *Enum:
		return e.enum(t)
	case *Alias:
		s := titled(t.Title, t.Name, t.Description)
		for _, m := range e.typ(t.Type, "__root__").Members {
			if m.Key != "title" {
				s.Set(m.Key, m.Value)
			}
		}
		e.keywords(&s, t.Keywords)
		return s
	}
	e.fail(NameOf(t), "a custom type has no JSON form")
	return pyjson.Value{}
}

func titled(title, name, description string) pyjson.Value {
	s := pyjson.OfMembers()
	if title == "" {
		title = name
	}
	s.Set("title", pyjson.Of(title))
	if description != "" {
		s.Set("description", pyjson.Of(description))
	}
	return s
}

func (e *emitter) record(r *Record) pyjson.Value {
	properties := pyjson.OfMembers()
	var required []pyjson.Value
	seen := make(map[string]bool)
	for i := range r.Fields {
		f := &r.Fields[i]
		if seen[f.Key()] {
			e.fail(r.Name+"."+f.Key(), "the field is there twice")
		}
		seen[f.Key()] = true
		properties.Members = append(properties.Members, pyjson.Member{Key: f.Key(), Value: e.property(f)})
		if f.Required() {
			required = append(required, pyjson.Of(f.Key()))
		}
	}
	s := titled(r.Title, r.Name, r.Description)
	s.Set("type", pyjson.Of("object"))
	s.Set("properties", properties)
	if len(required) > 0 {
		s.Set("required", pyjson.OfItems(required...))
	}
	if r.Closed {
		s.Set("additionalProperties", pyjson.OfBool(false))
	}
	e.keywords(&s, r.Keywords)
	return s
}

const defaultEnumDescription = "An enumeration."

var jsonTypes = map[Kind]string{String: "string", Int: "integer", Float: "number", Bool: "boolean"}

func (e *emitter) enum(t *Enum) pyjson.Value {
	description := t.Description
	if description == "" {
		description = defaultEnumDescription
	}
	s := titled(t.Title, t.Name, description)
	s.Set("enum", e.values(t.Values))
	if name, ok := jsonTypes[t.Base]; ok {
		s.Set("type", pyjson.Of(name))
	}
	e.keywords(&s, t.Keywords)
	return s
}

func (e *emitter) values(texts []JSON) pyjson.Value {
	list := pyjson.Value{Kind: pyjson.Array}
	for _, text := range texts {
		list.Items = append(list.Items, e.json(text))
	}
	return list
}

func (e *emitter) json(text JSON) pyjson.Value {
	v, err := text.parse()
	if err != nil && e.err == nil {
		e.err = fault.In(string(text), err)
	}
	return v
}

func (text JSON) parse() (pyjson.Value, error) { return pyjson.Parse([]byte(text), nil) }

func jsonOf(v pyjson.Value) JSON { return JSON(pyjson.Append(nil, v, pyjson.Spaced)) }

func (e *emitter) keywords(s *pyjson.Value, keywords Keywords) {
	for _, k := range keywords {
		s.Set(k.Name, e.json(k.Value))
	}
}

// property writes a field: what the field says of itself, then its type. A
// bare reference stands alone, one with anything to say is wrapped.
func (e *emitter) property(f *Field) pyjson.Value {
	s := pyjson.OfMembers()
	switch {
	case f.Title != "":
		s.Set("title", pyjson.Of(f.Title))
	case !f.Untitled && !holdsEnum(f.Type):
		s.Set("title", pyjson.Of(titleOf(f.Key())))
	}
	if f.Description != "" {
		s.Set("description", pyjson.Of(f.Description))
	}
	if f.Default != "" {
		s.Set("default", e.json(f.Default))
	}
	e.keywords(&s, f.Keywords)
	speaks := f.Title != "" || f.Description != "" || f.Default != "" || len(f.Keywords) > 0

	typ := e.typ(f.Type, f.Key())
	if _, bare := typ.Get("$ref"); bare {
		if !speaks {
			return typ
		}
		typ = pyjson.OfMembers(pyjson.Member{Key: "allOf", Value: pyjson.OfItems(typ)})
	}
	for _, m := range typ.Members {
		if m.Key == "title" && (f.Title != "" || f.Untitled) {
			continue
		}
		s.Set(m.Key, m.Value)
	}
	return s
}

// holdsEnum reports whether pydantic leaves the title to the enum's own
// definition: for an enum, and for a list, set or map of one.
func holdsEnum(t Type) bool {
	switch c := t.(type) {
	case *List:
		t = c.Item
	case *Map:
		t = c.Value
	}
	_, ok := t.(*Enum)
	return ok
}

// typ writes a type. The name is that of pydantic's hidden sub-field; it shows
// only in the title of a nested literal of mixed kinds.
func (e *emitter) typ(t Type, name string) pyjson.Value {
	if s, ok := AsScalar(t); ok {
		return e.scalar(s)
	}
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
		e.fail("", "there is no kind %d", s.Kind)
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

func (l *Limits) counts() []limit[*int] {
	return []limit[*int]{
		{"minLength", &l.MinLength}, {"maxLength", &l.MaxLength}, {"minItems", &l.MinItems}, {"maxItems", &l.MaxItems},
	}
}

func (e *emitter) list(t *List, name string) pyjson.Value {
	s := pyjson.OfMembers(
		pyjson.Member{Key: "type", Value: pyjson.Of("array")},
		pyjson.Member{Key: "items", Value: e.typ(t.Item, "_"+name)},
	)
	if t.Set {
		s.Set("uniqueItems", pyjson.OfBool(true))
	}
	e.limits(&s, t.Limits)
	e.keywords(&s, t.Keywords)
	return s
}

func (e *emitter) mapping(t *Map, name string) pyjson.Value {
	s := pyjson.OfMembers(pyjson.Member{Key: "type", Value: pyjson.Of("object")})
	value := e.typ(t.Value, "_"+name)
	if key, ok := AsScalar(t.Key); ok && key.Limits.Pattern != "" {
		s.Set("patternProperties", pyjson.OfMembers(pyjson.Member{Key: key.Limits.Pattern, Value: value}))
	}
	if len(value.Members) > 0 {
		s.Set("additionalProperties", value)
	}
	e.keywords(&s, t.Keywords)
	return s
}

func (e *emitter) tuple(t *Tuple, name string) pyjson.Value {
	count := pyjson.OfInt(strconv.Itoa(len(t.Items)))
	s := pyjson.OfMembers(
		pyjson.Member{Key: "type", Value: pyjson.Of("array")},
		pyjson.Member{Key: "minItems", Value: count},
		pyjson.Member{Key: "maxItems", Value: count},
	)
	if len(t.Items) > 0 {
		items := pyjson.Value{Kind: pyjson.Array}
		for i, item := range t.Items {
			items.Items = append(items.Items, e.typ(item, name+"_"+strconv.Itoa(i)))
		}
		s.Set("items", items)
	}
	e.keywords(&s, t.Keywords)
	return s
}

func (e *emitter) union(t *Union, name string) pyjson.Value {
	variants := t.present(nil)
	if len(variants) == 0 {
		e.fail(name, "a union without variants")
		return pyjson.Value{}
	}
	if len(variants) == 1 {
		s := e.typ(variants[0], name)
		e.keywords(&s, t.Keywords)
		return s
	}
	choices := pyjson.Value{Kind: pyjson.Array}
	for _, v := range variants {
		choices.Items = append(choices.Items, e.typ(v, name+"_"+pythonName(v)))
	}
	s := pyjson.OfMembers()
	if t.Tag == "" {
		s.Set("anyOf", choices)
	} else {
		s.Set("discriminator", e.discriminator(t, variants))
		s.Set("oneOf", choices)
	}
	e.keywords(&s, t.Keywords)
	return s
}

// present returns the variants with nested unions laid flat and null left out:
// neither shows in a schema of pydantic v1.
func (t *Union) present(flat []Type) []Type {
	for _, v := range t.Variants {
		if inner, ok := v.(*Union); ok && inner.Tag == "" && len(inner.Keywords) == 0 {
			flat = inner.present(flat)
		} else if v != Null {
			flat = append(flat, v)
		}
	}
	return flat
}

func (e *emitter) discriminator(t *Union, variants []Type) pyjson.Value {
	mapping := pyjson.OfMembers()
	for _, v := range variants {
		r, ok := v.(*Record)
		if !ok || r.Field(t.Tag) == nil {
			e.fail(t.Tag, "a union told apart by %q needs records that have it", t.Tag)
			return pyjson.Value{}
		}
		lit, ok := r.Field(t.Tag).Type.(*Literal)
		if !ok {
			e.fail(r.Name+"."+t.Tag, "the tag of a union must be a literal")
			return pyjson.Value{}
		}
		for _, value := range e.values(lit.Values).Items {
			mapping.Set(value.Text, pyjson.Of(referencePrefix+definitionKey(r.Name)))
		}
	}
	return pyjson.OfMembers(
		pyjson.Member{Key: "propertyName", Value: pyjson.Of(t.Tag)},
		pyjson.Member{Key: "mapping", Value: mapping},
	)
}

// literal writes the values by kind, in order of first appearance: one enum
// where all are of one kind, else a choice of enums, which gets a title when it
// is nested, a slip of pydantic's that digests depend on.
func (e *emitter) literal(t *Literal, name string) pyjson.Value {
	var kinds []pyjson.Kind
	byKind := make(map[pyjson.Kind][]pyjson.Value)
	for _, v := range e.values(t.Values).Items {
		if v.Kind == pyjson.Null {
			continue
		}
		if !slices.Contains(kinds, v.Kind) {
			kinds = append(kinds, v.Kind)
		}
		byKind[v.Kind] = append(byKind[v.Kind], v)
	}
	choices := pyjson.Value{Kind: pyjson.Array}
	for _, kind := range kinds {
		typ, ok := map[pyjson.Kind]string{pyjson.String: "string", pyjson.Int: "integer", pyjson.Bool: "boolean", pyjson.Float: "number"}[kind]
		if !ok {
			e.fail(name, "a literal must be text, a number or a boolean")
		}
		choices.Items = append(choices.Items, pyjson.OfMembers(
			pyjson.Member{Key: "enum", Value: pyjson.OfItems(byKind[kind]...)},
			pyjson.Member{Key: "type", Value: pyjson.Of(typ)},
		))
	}
	if len(choices.Items) == 0 {
		e.fail(name, "a literal without values")
		return pyjson.Value{}
	}
	s := choices.Items[0]
	if len(kinds) > 1 {
		s = pyjson.OfMembers(
			pyjson.Member{Key: "title", Value: pyjson.Of(titleOf(name))},
			pyjson.Member{Key: "anyOf", Value: choices},
		)
	}
	e.keywords(&s, t.Keywords)
	return s
}

// pythonName spells a type as Python's typing module does, as far as names of
// sub-fields need it.
func pythonName(t Type) string {
	lit, ok := t.(*Literal)
	if !ok {
		return ""
	}
	var values []string
	for _, text := range lit.Values {
		v, err := text.parse()
		switch {
		case err != nil || v.Kind == pyjson.Null:
		case v.Kind == pyjson.String:
			values = append(values, pythonQuote(v.Text))
		case v.Kind == pyjson.Bool:
			values = append(values, map[bool]string{true: "True", false: "False"}[v.Bool])
		default:
			values = append(values, string(text))
		}
	}
	return "Literal[" + strings.Join(values, ", ") + "]"
}

func pythonQuote(s string) string {
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		return `"` + s + `"`
	}
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(s) + "'"
}
