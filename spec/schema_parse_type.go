package spec

import (
	"slices"
	"strconv"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
)

// typ reads a type and takes the members that it understands. What the library
// would not write for any type stays in the bag: the type is then Any, and what
// it says is kept in keywords. At the top of a field or an alias the title is not
// the type's own.
func (im *importer) typ(b *bag, nested bool) Type {
	if im.err != nil {
		return Any
	}
	if ref, ok := b.get("$ref"); ok {
		b.drop("$ref")
		return im.refer(ref, b.at("$ref"))
	}
	if whole, ok := b.get("allOf"); ok {
		b.drop("allOf")
		if len(whole.Items) != 1 || !isReference(whole.Items[0]) {
			im.fail(fault.Unsupported, b.at("allOf"), "expected one reference, found %.64s", jsonOf(whole))
			return Any
		}
		return im.refer(whole.Items[0].Members[0].Value, b.at("allOf[0].$ref"))
	}
	if choices, ok := b.get("anyOf"); ok {
		return im.choice(b, choices, !nested || b.has("title"))
	}
	if choices, ok := b.get("oneOf"); ok {
		return im.tagged(b, choices)
	}
	if t := literalOf(b); t != nil {
		return t
	}
	return im.byType(b)
}

// nested reads a type inside another; what it does not understand becomes
// keywords of the type.
func (im *importer) nested(v pyjson.Value, path string) Type {
	if v.Kind != pyjson.Object {
		im.fail(fault.Malformed, path, "expected an object, found %s", v.Kind)
		return Any
	}
	b := newBag(v, path)
	wrapped := b.has("allOf")
	t := im.typ(b, true)
	if wrapped {
		return &Union{Variants: []Type{t}, Keywords: im.rest(b)}
	}
	return withKeywords(t, im.rest(b))
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

// literalOf reads an enum as the library writes it for a literal: values of one
// kind, and the type that belongs to them.
func literalOf(b *bag) Type {
	list, _ := b.get("enum")
	name, _ := b.get("type")
	if len(list.Items) == 0 || name.Kind != pyjson.String || literalTypes[list.Items[0].Kind] != name.Text {
		return nil
	}
	if slices.ContainsFunc(list.Items, func(v pyjson.Value) bool { return v.Kind != list.Items[0].Kind }) {
		return nil
	}
	b.drop("enum", "type")
	return &Literal{Values: textsOf(list)}
}

func (im *importer) variants(choices pyjson.Value, path string) []Type {
	if choices.Kind != pyjson.Array || len(choices.Items) == 0 {
		im.fail(fault.Malformed, path, "expected a list of choices, found %.64s", jsonOf(choices))
	}
	var variants []Type
	for i, v := range choices.Items {
		variants = append(variants, im.nested(v, path+"["+strconv.Itoa(i)+"]"))
	}
	return variants
}

// choice reads a union or the literal of mixed kinds that is written like one:
// both in a field, where the two cannot be told apart, and below it if there is
// a title, which a union never has. The library writes no choice of one, no null
// among choices and no choice directly in a choice.
func (im *importer) choice(b *bag, choices pyjson.Value, maybeLiteral bool) Type {
	variants := im.variants(choices, b.at("anyOf"))
	plain := func(t Type) bool {
		u, ok := t.(*Union)
		return t == Null || ok && u.Tag == "" && len(u.Keywords) == 0
	}
	if im.err != nil || len(variants) == 1 || slices.ContainsFunc(variants, plain) {
		return Any
	}
	b.drop("anyOf")
	if whole := mixedLiteral(variants); maybeLiteral && whole != nil {
		return whole
	}
	return &Union{Variants: variants}
}

// mixedLiteral puts literals, each of another kind, together.
func mixedLiteral(variants []Type) Type {
	whole := &Literal{}
	kinds := make(map[pyjson.Kind]bool)
	for _, v := range variants {
		lit, ok := v.(*Literal)
		if !ok || len(lit.Keywords) > 0 {
			return nil
		}
		first, err := lit.Values[0].parse()
		if err != nil || kinds[first.Kind] {
			return nil
		}
		kinds[first.Kind] = true
		whole.Values = append(whole.Values, lit.Values...)
	}
	return whole
}

// tagged reads a union that is told apart by a tag. One inside another union
// does not say by which; the outer tag or one that all variants have stands for
// it.
func (im *importer) tagged(b *bag, choices pyjson.Value) Type {
	u := &Union{Variants: im.variants(choices, b.at("oneOf"))}
	if im.err != nil {
		return Any
	}
	d, said := b.get("discriminator")
	name, _ := d.Get("propertyName")
	if u.Tag = name.Text; !said {
		u.Tag = commonTag(u.Variants)
	}
	if u.Tag == "" || len(u.Variants) < 2 {
		return Any
	}
	b.drop("oneOf", "discriminator")
	return u
}

func commonTag(variants []Type) string {
	first, ok := variants[0].(*Record)
	if !ok {
		return ""
	}
	for i := range first.Fields {
		tag := first.Fields[i].Name
		if !slices.ContainsFunc(variants, func(v Type) bool { return !tells(v, tag) }) {
			return tag
		}
	}
	return ""
}

func tells(variant Type, tag string) bool {
	r, ok := variant.(*Record)
	if !ok || r.Field(tag) == nil {
		return false
	}
	_, ok = r.Field(tag).Type.(*Literal)
	return ok
}

func (im *importer) byType(b *bag) Type {
	name, ok := b.get("type")
	if !ok {
		return Any
	}
	switch name.Text {
	case "array":
		return im.array(b)
	case "object":
		return im.object(b)
	}
	kinds := map[string]Kind{"string": String, "integer": Int, "number": Float, "boolean": Bool, "null": Null}
	kind, ok := kinds[name.Text]
	if name.Kind != pyjson.String || !ok {
		im.fail(fault.Unsupported, b.at("type"), "unknown type %.64s", jsonOf(name))
		return Any
	}
	b.drop("type")
	return scalarOf(b, kind)
}

// scalarOf reads the format and the limits of a scalar.
func scalarOf(b *bag, kind Kind) Type {
	s := Scalar{Kind: kind}
	typ := scalarForms[kind].typ
	s.Format = b.takeText("format")
	for kind, form := range scalarForms {
		if s.Format != "" && form.typ == typ && form.format == s.Format {
			s.Kind, s.Format = Kind(kind), ""
		}
	}
	switch typ {
	case "integer", "number":
		takeNumbers(b, s.Limits.numbers())
	case "string":
		s.Limits.Pattern = b.takeText("pattern")
		takeCounts(b, s.Limits.lengths())
	}
	if s.Kind == URI {
		if s.Limits.MinLength == nil || s.Limits.MaxLength == nil { // a string that only says it is one
			s.Kind, s.Format = String, scalarForms[URI].format
		} else if *s.Limits.MinLength == 1 {
			s.Limits.MinLength = nil
		}
	}
	if s.Kind == URI && *s.Limits.MaxLength == maxURI {
		s.Limits.MaxLength = nil
	}
	if s.Limits == (Limits{}) && s.Format == "" {
		return s.Kind
	}
	return &s
}

func takeNumbers(b *bag, numbers []limit[JSON]) {
	for _, n := range numbers {
		if v, ok := b.get(n.keyword); ok && (v.Kind == pyjson.Int || v.Kind == pyjson.Float) {
			*n.value = jsonOf(v)
			b.drop(n.keyword)
		}
	}
}

func takeCounts(b *bag, counts []limit[*int]) {
	for _, n := range counts {
		v, ok := b.get(n.keyword)
		if !ok || v.Kind != pyjson.Int {
			continue
		}
		if count, err := strconv.Atoi(v.Text); err == nil && count >= 0 {
			*n.value = &count
			b.drop(n.keyword)
		}
	}
}

func (im *importer) array(b *bag) Type {
	items, ok := b.get("items")
	if !ok || items.Kind == pyjson.Array {
		return im.tuple(b, items.Items, ok)
	}
	b.drop("type", "items")
	t := &List{Item: im.nested(items, b.at("items"))}
	if v, _ := b.get("uniqueItems"); v.Bool {
		t.Set = true
		b.drop("uniqueItems")
	}
	takeCounts(b, t.Limits.items())
	return t
}

func (im *importer) tuple(b *bag, items []pyjson.Value, listed bool) Type {
	count := strconv.Itoa(len(items))
	low, _ := b.get("minItems")
	high, _ := b.get("maxItems")
	if low.Kind != pyjson.Int || high.Kind != pyjson.Int || low.Text != count || high.Text != count || listed != (len(items) > 0) {
		return Any
	}
	b.drop("type", "items", "minItems", "maxItems")
	t := &Tuple{}
	for i, v := range items {
		t.Items = append(t.Items, im.nested(v, b.at("items["+strconv.Itoa(i)+"]")))
	}
	return t
}

func (im *importer) object(b *bag) Type {
	t := &Map{}
	b.drop("type")
	value, ok := b.get("additionalProperties")
	if ok && value.Kind == pyjson.Object && len(value.Members) > 0 {
		t.Value = im.nested(value, b.at("additionalProperties"))
		b.drop("additionalProperties")
	}
	patterns, _ := b.get("patternProperties")
	if len(patterns.Members) == 1 && patterns.Members[0].Key != "" {
		m := patterns.Members[0]
		if pyjson.Equal(m.Value, value) && t.Value != nil || !ok && len(m.Value.Members) == 0 && m.Value.Kind == pyjson.Object {
			t.Key = String.With(Limits{Pattern: m.Key})
			b.drop("patternProperties")
		}
	}
	return t
}
