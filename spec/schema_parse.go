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
// Decimal; fields that may be left out stand where the text has them. What a
// Python author added to a schema by hand is kept as [Keywords], and a type that
// is described in no way of the library's own holds anything.
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
	definitions, _ := v.Get("definitions")
	im := importer{definitions: pyjson.MembersOf(definitions), named: make(map[string]Type)}
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
	definitions *pyjson.Members
	named       map[string]Type // by the key of the definition
	err         error
}

func (im *importer) fail(code fault.Code, path, format string, args ...any) {
	if im.err == nil {
		im.err = fault.Errorf(code, path, format, args...)
	}
}

// A bag is an object whose members are taken out as they are understood; what
// is left at the end was not.
type bag struct {
	members []pyjson.Member
	path    string
}

func newBag(v pyjson.Value, path string) *bag { return &bag{slices.Clone(v.Members), path} }

func (b *bag) at(name string) string { return strings.TrimPrefix(b.path+"."+name, ".") }

func (b *bag) find(key string) int {
	return slices.IndexFunc(b.members, func(m pyjson.Member) bool { return m.Key == key })
}

func (b *bag) has(key string) bool { return b.find(key) >= 0 }

// get returns a member and leaves it in the bag.
func (b *bag) get(key string) (pyjson.Value, bool) {
	if i := b.find(key); i >= 0 {
		return b.members[i].Value, true
	}
	return pyjson.Value{}, false
}

func (b *bag) drop(keys ...string) {
	b.members = slices.DeleteFunc(b.members, func(m pyjson.Member) bool { return slices.Contains(keys, m.Key) })
}

// takeText takes a member that is a string with something in it; another one
// stays in the bag.
func (b *bag) takeText(key string) string {
	v, _ := b.get(key)
	if v.Kind != pyjson.String || v.Text == "" {
		return ""
	}
	b.drop(key)
	return v.Text
}

// rest returns what is left as keywords.
func (im *importer) rest(b *bag) Keywords {
	var rest Keywords
	for _, m := range b.members {
		im.checkOrder(m.Value, b.at(m.Key))
		rest = append(rest, Keyword{m.Key, jsonOf(m.Value)})
	}
	return rest
}

// root reads a whole schema. A model that contains itself is a reference to its
// own definition.
func (im *importer) root(v pyjson.Value) Type {
	b := newBag(v, "")
	b.drop("definitions")
	if ref, ok := b.get("$ref"); ok && len(b.members) == 1 {
		return im.refer(ref, "$ref")
	}
	name := b.takeText("title")
	if name == "" {
		im.fail(fault.Malformed, "title", "a model needs a title: it is its name")
		return nil
	}
	if b.has("properties") {
		r := &Record{Name: name}
		im.record(r, b)
		return r
	}
	a := &Alias{Name: name}
	im.alias(a, b)
	return a
}

// refer finds or reads a definition. It announces the type before reading what
// is in it, so that a type that contains itself finds itself.
func (im *importer) refer(ref pyjson.Value, path string) Type {
	key, ok := strings.CutPrefix(ref.Text, referencePrefix)
	if ref.Kind != pyjson.String || !ok {
		im.fail(fault.Unsupported, path, "%.64s does not refer to %s…", jsonOf(ref), referencePrefix)
		return nil
	}
	if t, known := im.named[key]; known {
		return t
	}
	v, ok := im.definitions.Get(key)
	if !ok || v.Kind != pyjson.Object {
		im.fail(fault.Malformed, path, "there is no definition %.64q", key)
		return nil
	}
	b := newBag(v, "definitions."+key)
	title := b.takeText("title")
	name, kept := nameOf(key, title)
	switch {
	case b.has("properties"):
		r := &Record{Name: name, Title: unless(title, name), Key: kept}
		im.named[key] = r
		im.record(r, b)
		return r
	case b.has("enum") && b.has("description"): // which an enum always has
		e := &Enum{Name: name, Title: unless(title, name), Key: kept}
		im.named[key] = e
		im.enum(e, b)
		return e
	}
	a := &Alias{Name: name, Title: unless(title, name), Key: kept}
	im.named[key] = a
	im.alias(a, b)
	return a
}

// nameOf tells a class name from the key of its definition and its title. The
// key is made from the name, which then is the title, unless the class has a
// title of its own or shares its name with another: then the key is the name and,
// where it could not be made from that again, kept as it is.
func nameOf(key, title string) (name, kept string) {
	switch {
	case title != "" && definitionKey(title) == key:
		return title, ""
	case definitionKey(key) == key:
		return key, ""
	}
	return key, key
}

func unless(text, same string) string {
	if text == same {
		return ""
	}
	return text
}

func (im *importer) enum(e *Enum, b *bag) {
	e.Description = unless(b.takeText("description"), defaultEnumDescription)
	list, _ := b.get("enum")
	if list.Kind != pyjson.Array {
		im.fail(fault.Malformed, b.at("enum"), "expected an array, found %s", list.Kind)
	}
	e.Values = textsOf(list)
	b.drop("enum")
	name, _ := b.get("type")
	for kind, jsonType := range jsonTypes {
		if jsonType == name.Text {
			e.Base = kind
			b.drop("type")
		}
	}
	e.Keywords = im.rest(b)
}

func textsOf(list pyjson.Value) []JSON {
	var texts []JSON
	for _, v := range list.Items {
		texts = append(texts, jsonOf(v))
	}
	return texts
}

// alias reads a model with a __root__. Where the root refers to another model
// and says something of it, the words belong to the reference.
func (im *importer) alias(a *Alias, b *bag) {
	if b.has("allOf") {
		a.Type = im.nested(pyjson.OfMembers(b.members...), b.path)
		return
	}
	a.Description = b.takeText("description")
	a.Type = im.typ(b, false)
	a.Keywords = im.rest(b)
}

func (im *importer) record(r *Record, b *bag) {
	properties, _ := b.get("properties")
	if properties.Kind != pyjson.Object {
		im.fail(fault.Malformed, b.at("properties"), "expected an object, found %s", properties.Kind)
		return
	}
	r.Description = b.takeText("description")
	required, _ := b.get("required")
	if v, ok := b.get("additionalProperties"); ok && v.Kind == pyjson.Bool && !v.Bool {
		r.Closed = true
		b.drop("additionalProperties")
	}
	isRequired := make(map[string]bool)
	for _, v := range required.Items {
		isRequired[v.Text] = v.Kind == pyjson.String
	}
	var written []pyjson.Value
	for _, m := range inRequiredOrder(properties.Members, required.Items) {
		f := im.property(m, isRequired[m.Key], b.at("properties."+m.Key))
		if f.Required() {
			written = append(written, pyjson.Of(m.Key))
		}
		r.Fields = append(r.Fields, f)
	}
	if len(written) > 0 && pyjson.Equal(required, pyjson.OfItems(written...)) {
		b.drop("required")
	}
	b.drop("properties", "type")
	r.Keywords = im.rest(b)
}

// inRequiredOrder undoes the sorting of a canonical text as far as it can be
// undone: among their places, the required fields take the order in which
// "required" lists them.
func inRequiredOrder(properties []pyjson.Member, required []pyjson.Value) []pyjson.Member {
	byKey := make(map[string]pyjson.Member, len(properties))
	for _, m := range properties {
		byKey[m.Key] = m
	}
	var queue []pyjson.Member
	for _, key := range required {
		if m, ok := byKey[key.Text]; ok {
			queue = append(queue, m)
			delete(byKey, key.Text)
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
	if m.Value.Kind != pyjson.Object {
		im.fail(fault.Malformed, path, "expected an object, found %s", m.Value.Kind)
		return f
	}
	b := newBag(m.Value, path)
	f.Title = b.takeText("title")
	f.Description = b.takeText("description")
	if v, ok := b.get("default"); ok {
		im.checkOrder(v, b.at("default"))
		f.Default = jsonOf(v)
		b.drop("default")
	}
	f.Optional = !required && f.Default == ""
	f.Nullable = !required && f.Default != ""
	bare, wrapped := isReference(m.Value), b.has("allOf")
	f.Type = im.typ(b, false)
	f.Keywords = im.rest(b)
	if !holdsEnum(f.Type) {
		f.Untitled = f.Title == "" && !bare
		if !wrapped || f.Description != "" || f.Default != "" || len(f.Keywords) > 0 { // else it is wrapped for its title
			f.Title = unless(f.Title, titleOf(m.Key))
		}
	}
	return f
}

// firstDifference finds where two schemas differ, as a path into the first.
func firstDifference(a, b pyjson.Value, path string) (string, bool) {
	if a.Kind == pyjson.Object && b.Kind == pyjson.Object {
		theirs, ours := pyjson.MembersOf(a), pyjson.MembersOf(b)
		for _, m := range a.Members {
			at := strings.TrimPrefix(path+"."+m.Key, ".")
			other, ok := ours.Get(m.Key)
			if !ok {
				return at, true
			}
			if where, differ := firstDifference(m.Value, other, at); differ {
				return where, true
			}
		}
		for _, m := range b.Members {
			if _, ok := theirs.Get(m.Key); !ok {
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
