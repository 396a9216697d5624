package spec

import (
	"crypto/sha256"
	"encoding/hex"
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
	schema := e.body(root)
	if e.err != nil {
		return pyjson.Value{}, e.err
	}
	if e.recursive {
		key := keyOf(root)
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
	nesting     int // of types without a name
	err         error
	located     bool // err names the record and field it is in
}

func (e *emitter) fail(code fault.Code, field, format string, args ...any) {
	if e.err == nil {
		e.err = fault.Errorf(code, field, format, args...)
	}
}

// keyOf is the key of a named type among the definitions.
func keyOf(t Type) string {
	key := ""
	switch t := t.(type) {
	case *Enum:
		key = t.Key
	case *Record:
		key = t.Key
	case *Alias:
		key = t.Key
	}
	if key == "" {
		key = definitionKey(NameOf(t))
	}
	return key
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
	key := keyOf(t)
	if key == "" {
		e.fail(fault.Unsupported, "", "a named type without a name")
	}
	if t == e.root {
		e.recursive = true
		return reference(key)
	}
	other, known := e.defined[key]
	if !known && key == keyOf(e.root) {
		other, known = e.root, true
	}
	if !known {
		e.defined[key] = t
		nesting := e.nesting
		e.nesting = 0
		definition := e.body(t)
		e.nesting = nesting
		e.definitions = append(e.definitions, pyjson.Member{Key: key, Value: definition})
	} else if other != t {
		e.fail(fault.Conflict, key, "two different types of this name in one schema; rename one")
	}
	return reference(key)
}

// body writes what stands behind a name.
func (e *emitter) body(t Type) pyjson.Value {
	switch t := t.(type) {
	case *Record:
		return e.record(t)
	case *Enum:
		return e.enum(t)
	case *Alias:
		return e.alias(t)
	}
	e.fail(fault.Unsupported, NameOf(t), "a custom type has no JSON form")
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

func (e *emitter) alias(t *Alias) pyjson.Value {
	s := titled(t.Title, t.Name, t.Description)
	for _, m := range e.typ(t.Type, named("__root__")).Members {
		if m.Key != "title" {
			s.Set(m.Key, m.Value)
		}
	}
	e.keywords(&s, t.Keywords)
	return s
}

func (e *emitter) record(r *Record) pyjson.Value {
	properties := pyjson.OfMembers()
	var required []pyjson.Value
	seen := make(map[string]bool)
	for i := range r.Fields {
		f := &r.Fields[i]
		if seen[f.Key()] {
			e.fail(fault.Unsupported, "", "the field is there twice")
		}
		seen[f.Key()] = true
		properties.Members = append(properties.Members, pyjson.Member{Key: f.Key(), Value: e.property(f)})
		if f.Required() {
			required = append(required, pyjson.Of(f.Key()))
		}
		if e.err != nil && !e.located {
			e.located = true
			e.err = fault.In(r.Name+"."+f.Key(), e.err)
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
	if err != nil {
		e.fail(fault.CodeOf(err), "", "%.64q is no JSON text: %w", text, err)
	}
	return v
}

func (text JSON) parse() (pyjson.Value, error) { return pyjson.Parse([]byte(text), nil) }

func jsonOf(v pyjson.Value) JSON { return JSON(pyjson.Append(nil, v, pyjson.Spaced)) }

// keywords writes what the model has no place for. It comes last, so that it
// can also say what the rest of the schema says otherwise.
func (e *emitter) keywords(s *pyjson.Value, keywords Keywords) {
	if len(keywords) == 0 {
		return
	}
	members := pyjson.MembersOf(*s)
	for _, k := range keywords {
		members.Set(k.Name, e.json(k.Value))
	}
	*s = members.Object()
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
		s.Set("default", withNumberKeys(e.json(f.Default), f.Type))
	}
	e.keywords(&s, f.Keywords)
	speaks := f.Title != "" || f.Description != "" || f.Default != "" || len(f.Keywords) > 0

	typ := e.typ(f.Type, named(f.Name))
	if isReference(typ) {
		if !speaks {
			return typ
		}
		typ = wrapped(typ)
	}
	for _, m := range typ.Members {
		if m.Key != "title" { // that of a mixed literal; the field has its own
			s.Set(m.Key, m.Value)
		}
	}
	return s
}

func isReference(v pyjson.Value) bool { return len(v.Members) == 1 && v.Members[0].Key == "$ref" }

func wrapped(reference pyjson.Value) pyjson.Value {
	return pyjson.OfMembers(pyjson.Member{Key: "allOf", Value: pyjson.OfItems(reference)})
}

// holdsEnum reports whether pydantic leaves the title to the enum's own
// definition: for an enum, and for a list, set or map of one.
func holdsEnum(t Type) bool {
	switch c := soleVariant(t).(type) {
	case *Enum:
		return true
	case *List:
		_, ok := c.Item.(*Enum)
		return ok
	case *Map:
		_, ok := c.Value.(*Enum)
		return ok
	}
	return false
}
