package gen

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
)

const draft = "https://json-schema.org/draft/2020-12/schema"

// emitJSONSchema writes one JSON Schema: all declared types as definitions, and
// the messages of all protocols as what it describes.
func emitJSONSchema(plan *Plan, found *problems) []File {
	for _, p := range plan.Protocols {
		jsonMessages(plan, p, found)
	}
	for _, d := range plan.Decls {
		if c, ok := d.Type.(*spec.Custom); ok && len(plan.Protocols) == 0 {
			found.add("PAR5031", d.at, "use a record", "custom type '%s' has no JSON form", c.Name)
		}
	}
	if len(found.list) > 0 {
		return nil
	}
	s := &schemaEmitter{plan: plan, loops: make(map[*spec.Alias]bool)}
	root := pyjson.OfMembers()
	root.Set("$comment", pyjson.Of(plan.header()))
	root.Set("$schema", pyjson.Of(draft))
	var messages []pyjson.Value
	seen := make(map[string]bool)
	for _, p := range plan.Protocols {
		for _, m := range p.Messages {
			if m.Decl == nil {
				name := m.Name
				for n := 2; plan.taken[name] || seen[name]; n++ {
					name = m.Name + strconv.Itoa(n)
				}
				seen[name] = true
				s.extra = append(s.extra, pyjson.Member{Key: name, Value: s.typ(m.Body)})
				messages = append(messages, refTo(name))
			} else if !seen[m.Decl.Name] {
				seen[m.Decl.Name] = true
				messages = append(messages, refTo(m.Decl.Name))
			}
		}
	}
	if len(messages) > 0 {
		root.Set("anyOf", pyjson.OfItems(messages...))
	}
	defs := pyjson.OfMembers()
	for _, d := range plan.Decls {
		defs.Set(d.Name, s.decl(d))
	}
	for _, m := range s.extra {
		defs.Set(m.Key, m.Value)
	}
	root.Set("$defs", defs)
	var text bytes.Buffer
	if err := json.Indent(&text, pyjson.Append(nil, root, pyjson.Compact), "", "  "); err != nil {
		panic("gen: the schema is not JSON: " + err.Error())
	}
	text.WriteByte('\n')
	made := bytes.Replace(text.Bytes(), []byte("{\n "), []byte("{"), 1) // so that the first line says it
	name, _, _ := strings.Cut(plan.Source, ".")
	return []File{{Path: name + ".schema.json", Text: made}}
}

type schemaEmitter struct {
	plan  *Plan
	extra []pyjson.Member // definitions of what has no declaration
	loops map[*spec.Alias]bool
}

func refTo(name string) pyjson.Value { return object("$ref", pyjson.Of("#/$defs/"+name)) }

// object makes an object of keys and values.
func object(pairs ...any) pyjson.Value {
	v := pyjson.OfMembers()
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i].(string), pairs[i+1].(pyjson.Value))
	}
	return v
}

func (s *schemaEmitter) decl(d *Decl) pyjson.Value {
	v := pyjson.OfMembers()
	if doc := strings.TrimSpace(d.Doc); doc != "" {
		v.Set("description", pyjson.Of(doc))
	}
	var body pyjson.Value
	switch t := d.Type.(type) {
	case *spec.Record:
		body = s.record(t)
	case *spec.Enum:
		body = enumSchema(t)
	case *spec.Union:
		body = s.union(t)
	case *spec.Tuple:
		items := pyjson.OfItems()
		for _, item := range t.Items {
			items.Items = append(items.Items, s.typ(item))
		}
		n := count(len(t.Items))
		body = object("type", pyjson.Of("array"), "prefixItems", items, "items", pyjson.OfBool(false), "minItems", n, "maxItems", n)
	}
	for _, m := range body.Members {
		v.Set(m.Key, m.Value)
	}
	return v
}

func (s *schemaEmitter) record(r *spec.Record) pyjson.Value {
	properties, required := pyjson.OfMembers(), pyjson.OfItems()
	for i := range r.Fields {
		f := &r.Fields[i]
		p := s.typ(f.Type)
		if f.Optional || f.Nullable {
			p = object("anyOf", pyjson.OfItems(p, object("type", pyjson.Of("null"))))
		}
		doc := strings.TrimSpace(f.Doc)
		if doc == "" {
			doc = f.Description
		}
		if doc != "" {
			p.Set("description", pyjson.Of(doc))
		}
		if f.Default != "" {
			p.Set("default", valueOf(f.Default))
		}
		properties.Set(f.Key(), p)
		if f.Required() {
			required.Items = append(required.Items, pyjson.Of(f.Key()))
		}
	}
	v := object("type", pyjson.Of("object"), "properties", properties)
	if len(required.Items) > 0 {
		v.Set("required", required)
	}
	if r.Closed {
		v.Set("additionalProperties", pyjson.OfBool(false))
	}
	return v
}

func enumSchema(e *spec.Enum) pyjson.Value {
	values := pyjson.OfItems()
	for _, value := range e.Values {
		values.Items = append(values.Items, valueOf(value))
	}
	if e.Open {
		return object("examples", values)
	}
	return object("enum", values)
}

func (s *schemaEmitter) union(u *spec.Union) pyjson.Value {
	list := pyjson.OfItems()
	for _, v := range u.Variants {
		list.Items = append(list.Items, s.typ(v))
	}
	if key, _ := tagged(u); key != "" {
		return object("oneOf", list)
	}
	return object("anyOf", list)
}

// typ writes a type where it is used: a reference if it has a name.
func (s *schemaEmitter) typ(t spec.Type) pyjson.Value {
	if name := s.plan.Name(t); name != "" {
		return refTo(name)
	}
	if scalar, ok := spec.AsScalar(t); ok {
		return scalarSchema(scalar)
	}
	switch t := t.(type) {
	case *spec.List:
		v := object("type", pyjson.Of("array"), "items", s.typ(t.Item))
		if t.Set {
			v.Set("uniqueItems", pyjson.OfBool(true))
		}
		limitKeywords(&v, t.Limits)
		return v
	case *spec.Map:
		v := object("type", pyjson.Of("object"), "additionalProperties", s.typ(t.Value))
		if names, ok := s.keys(t.Key); ok {
			v.Set("propertyNames", names)
		}
		return v
	case *spec.Literal:
		values := pyjson.OfItems()
		for _, value := range t.Values {
			values.Items = append(values.Items, valueOf(value))
		}
		if len(values.Items) == 1 {
			return object("const", values.Items[0])
		}
		return object("enum", values)
	case *spec.Union:
		return s.union(t)
	case *spec.Alias:
		if !s.loops[t] {
			s.loops[t] = true
			s.extra = append(s.extra, pyjson.Member{Key: t.Name, Value: s.typ(t.Type)})
		}
		return refTo(t.Name)
	}
	return pyjson.OfBool(true)
}

// keys describes the keys of a map, which are text whatever they spell.
func (s *schemaEmitter) keys(t spec.Type) (pyjson.Value, bool) {
	if textKey(t) {
		return pyjson.Value{}, false
	}
	scalar, ok := spec.AsScalar(t)
	switch {
	case !ok:
		return s.typ(t), true
	case scalar.Kind == spec.Bool:
		return object("enum", pyjson.OfItems(pyjson.Of("true"), pyjson.Of("false"))), true
	case scalar.Kind == spec.String, scalar.Kind == spec.UUID, scalar.Kind == spec.UUID4:
		return scalarSchema(scalar), true
	}
	return object("pattern", pyjson.Of("^(0|-?[1-9][0-9]*)$")), true
}

const uuidPattern = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-%[0-9a-fA-F]{3}-%[0-9a-fA-F]{3}-[0-9a-fA-F]{12}$"

func uuidSchema(version, variant string) pyjson.Value {
	pattern := strings.Replace(strings.Replace(uuidPattern, "%", version, 1), "%", variant, 1)
	return object("type", pyjson.Of("string"), "format", pyjson.Of("uuid"), "pattern", pyjson.Of(pattern))
}

// scalarSchemas are what the uAgents wire takes for the kinds.
var scalarSchemas = map[spec.Kind]func() pyjson.Value{
	spec.Any:      func() pyjson.Value { return pyjson.OfMembers() },
	spec.Null:     ofType("null", ""),
	spec.Bool:     ofType("boolean", ""),
	spec.String:   ofType("string", ""),
	spec.Int:      ofRange("-9223372036854775808", "9223372036854775807"),
	spec.Int32:    ofRange("-2147483648", "2147483647"),
	spec.UInt32:   ofRange("0", "4294967295"),
	spec.UInt64:   ofRange("0", "18446744073709551615"),
	spec.Float:    ofType("number", ""),
	spec.Float32:  ofType("number", ""),
	spec.Duration: ofType("number", ""),
	spec.Decimal: func() pyjson.Value {
		return object("type", pyjson.OfItems(pyjson.Of("number"), pyjson.Of("string")), "pattern", pyjson.Of(`^[+-]?[0-9]*\.?[0-9]*([eE][+-]?[0-9]+)?$`))
	},
	spec.Bytes:    ofType("string", ""),
	spec.DateTime: ofType("string", "date-time"),
	spec.Date:     ofType("string", "date"),
	spec.Time:     ofType("string", "time"),
	spec.UUID:     func() pyjson.Value { return uuidSchema("[0-9a-fA-F]", "[0-9a-fA-F]") },
	spec.UUID4:    func() pyjson.Value { return uuidSchema("4", "[89abAB]") },
	spec.URI:      ofType("string", "uri"),
}

func ofType(name, format string) func() pyjson.Value {
	return func() pyjson.Value {
		v := object("type", pyjson.Of(name))
		if format != "" {
			v.Set("format", pyjson.Of(format))
		}
		return v
	}
}

func ofRange(low, high string) func() pyjson.Value {
	return func() pyjson.Value {
		return object("type", pyjson.Of("integer"), "minimum", pyjson.OfInt(low), "maximum", pyjson.OfInt(high))
	}
}

func scalarSchema(s spec.Scalar) pyjson.Value {
	v := scalarSchemas[s.Kind]()
	if s.Format != "" {
		v.Set("format", pyjson.Of(s.Format))
	}
	limitKeywords(&v, s.Limits)
	return v
}

func limitKeywords(v *pyjson.Value, l spec.Limits) {
	for _, n := range []struct {
		name  string
		limit spec.JSON
	}{{"minimum", l.Min}, {"maximum", l.Max}, {"exclusiveMinimum", l.Above}, {"exclusiveMaximum", l.Below}, {"multipleOf", l.MultipleOf}} {
		if n.limit != "" {
			v.Set(n.name, valueOf(n.limit))
		}
	}
	for _, n := range []struct {
		name  string
		limit *int
	}{{"minLength", l.MinLength}, {"maxLength", l.MaxLength}, {"minItems", l.MinItems}, {"maxItems", l.MaxItems}} {
		if n.limit != nil {
			v.Set(n.name, count(*n.limit))
		}
	}
	if l.Pattern != "" {
		v.Set("pattern", pyjson.Of("^(?:"+l.Pattern+")")) // peers match from the start
	}
}

func count(n int) pyjson.Value { return pyjson.OfInt(strconv.Itoa(n)) }

func valueOf(text spec.JSON) pyjson.Value {
	v, err := pyjson.Parse([]byte(text), nil)
	if err != nil {
		return pyjson.Of(string(text))
	}
	return v
}
