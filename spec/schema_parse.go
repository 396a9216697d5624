package spec

import (
	"slices"
	"strconv"
	"strings"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
)

// MaxSchema is the size in bytes of the largest schema or manifest that is read.
const MaxSchema = 1 << 20

// ParseSchema reads the JSON Schema of a model as Python agents publish it and
// recovers what the model was: its names, unions, literals and enums. Writing
// the result again gives the same digest; where that cannot be, the error has
// the code [fault.Unsupported] and names what would be lost.
//
// A schema does not tell everything. Of a field that may be left out it does
// not say whether null is a value, so both are taken; a number may have been a
// Decimal; fields that may be left out stand where the text has them.
func ParseSchema(text []byte) (Type, error) {
	v, err := parseLimited(text)
	if err != nil {
		return nil, err
	}
	return typeFromSchema(v)
}

func parseLimited(text []byte) (pyjson.Value, error) {
	if len(text) > MaxSchema {
		return pyjson.Value{}, fault.Errorf(fault.TooLarge, "", "%d bytes, at most %d are read", len(text), MaxSchema)
	}
	return pyjson.Parse(text, nil)
}

func typeFromSchema(v pyjson.Value) (Type, error) {
	if v.Kind != pyjson.Object {
		return nil, fault.Errorf(fault.Malformed, "", "a schema is an object, this is %s", v.Kind)
	}
	im := importer{named: make(map[string]Type)}
	if defs, ok := v.Get("definitions"); ok {
		im.definitions = defs
	}
	root := im.root(v)
	if im.err != nil {
		return nil, im.err
	}
	again, err := schemaOf(root)
	if err != nil {
		return nil, err
	}
	if path, differ := firstDifference(v, again, ""); differ {
		return nil, fault.Errorf(fault.Unsupported, path, "this part of the schema has no place in the model, so the digest would change")
	}
	return root, nil
}

type importer struct {
	definitions pyjson.Value
	named       map[string]Type
	err         error
}

func (im *importer) fail(path, format string, args ...any) {
	if im.err == nil {
		im.err = fault.Errorf(fault.Malformed, path, format, args...)
	}
}

// A bag is an object whose members are taken out as they are understood; what
// is left at the end was not.
type bag struct {
	members []pyjson.Member
	path    string
}

func newBag(v pyjson.Value, path string) *bag { return &bag{slices.Clone(v.Members), path} }

func (b *bag) take(key string) (pyjson.Value, bool) {
	for i, m := range b.members {
		if m.Key == key {
			b.members = slices.Delete(b.members, i, i+1)
			return m.Value, true
		}
	}
	return pyjson.Value{}, false
}

func (b *bag) takeText(key string) string {
	for i, m := range b.members {
		if m.Key == key && m.Value.Kind == pyjson.String {
			b.members = slices.Delete(b.members, i, i+1)
			return m.Value.Text
		}
	}
	return ""
}

func (b *bag) has(key string) bool {
	return slices.ContainsFunc(b.members, func(m pyjson.Member) bool { return m.Key == key })
}

func (b *bag) rest() Keywords {
	var rest Keywords
	for _, m := range b.members {
		rest = append(rest, Keyword{m.Key, jsonOf(m.Value)})
	}
	return rest
}

func (im *importer) root(v pyjson.Value) Type {
	if ref, ok := v.Get("$ref"); ok {
		return im.refer(ref, "")
	}
	b := newBag(v, "")
	b.take("definitions")
	title, _ := v.Get("title")
	if title.Text == "" {
		im.fail("title", "a model needs a title: it is its name")
		return nil
	}
	return im.body(b, title.Text, func(Type) {})
}

func (im *importer) refer(ref pyjson.Value, path string) Type {
	key, ok := strings.CutPrefix(ref.Text, referencePrefix)
	if !ok {
		im.fail(path+".$ref", "%q does not refer to %s…", ref.Text, referencePrefix)
		return nil
	}
	if t, known := im.named[key]; known {
		return t
	}
	v, ok := im.definitions.Get(key)
	if !ok || v.Kind != pyjson.Object {
		im.fail(path+".$ref", "there is no definition %q", key)
		return nil
	}
	// The class name is the title where the key is made from it.
	name := key
	if title, _ := v.Get("title"); definitionKey(title.Text) == key {
		name = title.Text
	}
	return im.body(newBag(v, "definitions."+key), name, func(t Type) { im.named[key] = t })
}

// body reads a named type. It announces the type before reading what is in it,
// so that a type that contains itself finds itself.
func (im *importer) body(b *bag, name string, announce func(Type)) Type {
	title := b.takeText("title")
	if title == name {
		title = ""
	}
	switch {
	case b.has("properties"):
		r := &Record{Name: name, Title: title, Description: b.takeText("description")}
		announce(r)
		im.record(r, b)
		return r
	case b.has("enum"):
		e := &Enum{Name: name, Title: title}
		announce(e)
		im.enum(e, b)
		return e
	default:
		a := &Alias{Name: name, Title: title, Description: b.takeText("description")}
		announce(a)
		a.Type = im.typ(b, true)
		a.Keywords = b.rest()
		return a
	}
}

func (im *importer) enum(e *Enum, b *bag) {
	e.Description = b.takeText("description")
	if e.Description == defaultEnumDescription {
		e.Description = ""
	}
	e.Values = im.values(b)
	name, _ := b.take("type")
	for kind, jsonType := range jsonTypes {
		if jsonType == name.Text {
			e.Base = kind
		}
	}
	e.Keywords = b.rest()
}

func (im *importer) values(b *bag) []JSON {
	list, _ := b.take("enum")
	if list.Kind != pyjson.Array {
		im.fail(b.path+".enum", "expected an array, found %s", list.Kind)
	}
	var values []JSON
	for _, v := range list.Items {
		values = append(values, jsonOf(v))
	}
	return values
}

func (im *importer) record(r *Record, b *bag) {
	properties, _ := b.take("properties")
	if properties.Kind != pyjson.Object {
		im.fail(b.path+".properties", "expected an object, found %s", properties.Kind)
		return
	}
	b.take("type")
	required := im.required(b)
	if v, ok := b.take("additionalProperties"); ok && v.Kind == pyjson.Bool && !v.Bool {
		r.Closed = true
	}
	for _, m := range inRequiredOrder(properties.Members, required) {
		r.Fields = append(r.Fields, im.property(m, slices.Contains(required, m.Key), b.path))
	}
	r.Keywords = b.rest()
}

func (im *importer) required(b *bag) []string {
	list, _ := b.take("required")
	var names []string
	for _, v := range list.Items {
		names = append(names, v.Text)
	}
	return names
}

// inRequiredOrder undoes the sorting of a canonical text as far as it can be
// undone: among their places, the required fields take the order in which
// "required" lists them.
func inRequiredOrder(properties []pyjson.Member, required []string) []pyjson.Member {
	byKey := make(map[string]pyjson.Member, len(properties))
	for _, m := range properties {
		byKey[m.Key] = m
	}
	var queue []pyjson.Member
	for _, key := range required {
		if m, ok := byKey[key]; ok {
			queue = append(queue, m)
			delete(byKey, key)
		}
	}
	ordered := slices.Clone(properties)
	for i, m := range properties {
		if _, optional := byKey[m.Key]; !optional && len(queue) > 0 {
			ordered[i], queue = queue[0], queue[1:]
		}
	}
	return ordered
}

func (im *importer) property(m pyjson.Member, required bool, path string) Field {
	f := Field{Name: m.Key}
	if path != "" {
		path += "."
	}
	path += "properties." + m.Key
	if m.Value.Kind != pyjson.Object {
		im.fail(path, "expected an object, found %s", m.Value.Kind)
		return f
	}
	b := newBag(m.Value, path)
	titled := b.has("title")
	f.Title = b.takeText("title")
	f.Description = b.takeText("description")
	if v, ok := b.take("default"); ok {
		f.Default = jsonOf(v)
	}
	f.Optional = !required && f.Default == ""
	f.Nullable = !required && f.Default != ""
	_, bare := m.Value.Get("$ref")
	f.Type = im.typ(b, false)
	f.Keywords = b.rest()
	made := !holdsEnum(f.Type)
	if made && f.Title == titleOf(m.Key) {
		f.Title = ""
	}
	f.Untitled = made && !titled && !bare
	return f
}

// typ reads a type and takes the members that it understands.
func (im *importer) typ(b *bag, nested bool) Type {
	if im.err != nil {
		return Any
	}
	if ref, ok := b.take("$ref"); ok {
		return im.refer(ref, b.path)
	}
	if wrapped, ok := b.take("allOf"); ok {
		if len(wrapped.Items) != 1 {
			im.fail(b.path+".allOf", "expected one reference, found %d", len(wrapped.Items))
			return Any
		}
		return im.nested(wrapped.Items[0], b.path+".allOf")
	}
	if choices, ok := b.take("anyOf"); ok {
		return im.choice(choices, b.path+".anyOf", nested)
	}
	if choices, ok := b.take("oneOf"); ok {
		u := &Union{Variants: im.variants(choices, b.path+".oneOf")}
		d, _ := b.take("discriminator")
		name, _ := d.Get("propertyName")
		u.Tag = name.Text
		return u
	}
	if b.has("enum") {
		b.take("type")
		return &Literal{Values: im.values(b)}
	}
	return im.byType(b)
}

// nested reads a type inside another; what it does not understand becomes
// keywords of the type.
func (im *importer) nested(v pyjson.Value, path string) Type {
	if v.Kind != pyjson.Object {
		im.fail(path, "expected an object, found %s", v.Kind)
		return Any
	}
	b := newBag(v, path)
	return withKeywords(im.typ(b, true), b.rest())
}

// withKeywords has no place for keywords on a named type; the comparison at the
// end of the import finds that they are gone.
func withKeywords(t Type, rest Keywords) Type {
	if len(rest) == 0 {
		return t
	}
	if s, ok := AsScalar(t); ok {
		s.Keywords = rest
		return &s
	}
	switch t := t.(type) {
	case *List:
		t.Keywords = rest
	case *Map:
		t.Keywords = rest
	case *Tuple:
		t.Keywords = rest
	case *Union:
		t.Keywords = rest
	case *Literal:
		t.Keywords = rest
	}
	return t
}

func (im *importer) variants(choices pyjson.Value, path string) []Type {
	var variants []Type
	for i, v := range choices.Items {
		variants = append(variants, im.nested(v, path+"["+strconv.Itoa(i)+"]"))
	}
	if len(variants) == 0 {
		im.fail(path, "a choice of nothing")
	}
	return variants
}

// choice reads a union or, directly in a field, the literal of mixed kinds that
// is written like one. Deeper down such a literal has a title and stays a union.
func (im *importer) choice(choices pyjson.Value, path string, nested bool) Type {
	variants := im.variants(choices, path)
	if nested {
		return &Union{Variants: variants}
	}
	whole := &Literal{}
	kinds := make(map[pyjson.Kind]bool)
	for _, v := range variants {
		lit, ok := v.(*Literal)
		if !ok || len(lit.Keywords) > 0 {
			return &Union{Variants: variants}
		}
		first, err := lit.Values[0].parse()
		if err != nil || kinds[first.Kind] {
			return &Union{Variants: variants}
		}
		kinds[first.Kind] = true
		whole.Values = append(whole.Values, lit.Values...)
	}
	return whole
}

func (im *importer) byType(b *bag) Type {
	name, ok := b.take("type")
	if !ok {
		return Any
	}
	switch name.Text {
	case "array":
		return im.array(b)
	case "object":
		return im.object(b)
	}
	format := b.takeText("format")
	s := Scalar{Kind: Any}
	for kind, form := range scalarForms {
		if form.typ == name.Text && form.format == format {
			s.Kind = Kind(kind)
			break
		}
	}
	if s.Kind == Any {
		kinds := map[string]Kind{"string": String, "integer": Int, "number": Float}
		if s.Kind, ok = kinds[name.Text]; !ok {
			im.fail(b.path+".type", "unknown type %s", jsonOf(name))
		}
		s.Format = format
	}
	im.limits(b, &s.Limits, s.Kind)
	if s.Kind == URI && s.Limits.MinLength != nil && *s.Limits.MinLength == 1 {
		s.Limits.MinLength = nil
	}
	if s.Kind == URI && s.Limits.MaxLength != nil && *s.Limits.MaxLength == maxURI {
		s.Limits.MaxLength = nil
	}
	if s.Limits == (Limits{}) && s.Format == "" {
		return s.Kind
	}
	return &s
}

func (im *importer) limits(b *bag, l *Limits, kind Kind) {
	if form := scalarForms[kind].typ; form == "integer" || form == "number" {
		for _, n := range l.numbers() {
			if v, ok := b.take(n.keyword); ok {
				*n.value = jsonOf(v)
			}
		}
	}
	if scalarForms[kind].typ == "string" {
		l.Pattern = b.takeText("pattern")
		takeCounts(b, l.counts()[:2])
	}
}

func takeCounts(b *bag, counts []limit[*int]) {
	for _, n := range counts {
		for _, m := range b.members {
			if m.Key != n.keyword || m.Value.Kind != pyjson.Int {
				continue
			}
			if count, err := strconv.Atoi(m.Value.Text); err == nil && count >= 0 {
				b.take(n.keyword)
				*n.value = &count
			}
			break
		}
	}
}

func (im *importer) array(b *bag) Type {
	items, ok := b.take("items")
	if !ok || items.Kind == pyjson.Array {
		b.take("minItems")
		b.take("maxItems")
		t := &Tuple{}
		for i, v := range items.Items {
			t.Items = append(t.Items, im.nested(v, b.path+".items["+strconv.Itoa(i)+"]"))
		}
		return t
	}
	t := &List{Item: im.nested(items, b.path+".items")}
	if v, ok := b.take("uniqueItems"); ok {
		t.Set = v.Bool
	}
	takeCounts(b, t.Limits.counts()[2:])
	return t
}

func (im *importer) object(b *bag) Type {
	t := &Map{}
	if v, ok := b.take("additionalProperties"); ok {
		t.Value = im.nested(v, b.path+".additionalProperties")
	}
	if v, ok := b.take("patternProperties"); ok && len(v.Members) == 1 {
		t.Key = String.With(Limits{Pattern: v.Members[0].Key})
		if t.Value == nil {
			t.Value = im.nested(v.Members[0].Value, b.path+".patternProperties")
		}
	}
	return t
}

// firstDifference finds where two schemas differ, as a path into the first.
func firstDifference(a, b pyjson.Value, path string) (string, bool) {
	if a.Kind == pyjson.Object && b.Kind == pyjson.Object {
		for _, m := range a.Members {
			at := strings.TrimPrefix(path+"."+m.Key, ".")
			other, ok := b.Get(m.Key)
			if !ok {
				return at, true
			}
			if where, differ := firstDifference(m.Value, other, at); differ {
				return where, true
			}
		}
		for _, m := range b.Members {
			if _, ok := a.Get(m.Key); !ok {
				return strings.TrimPrefix(path+"."+m.Key, "."), true
			}
		}
		return "", false
	}
	if a.Kind == pyjson.Array && b.Kind == pyjson.Array && len(a.Items) == len(b.Items) {
		for i := range a.Items {
			if where, differ := firstDifference(a.Items[i], b.Items[i], path+"["+strconv.Itoa(i)+"]"); differ {
				return where, true
			}
		}
		return "", false
	}
	return path, !pyjson.Equal(a, b)
}
