package interop

import "github.com/parley-agents/parley/spec"

// Shorthand for the hand-written types below.
type (
	records []spec.Field
	types   = []spec.Type
)

func record(name string, fields ...spec.Field) *spec.Record {
	return &spec.Record{Name: name, Fields: fields}
}

func field(name string, t spec.Type, change ...func(*spec.Field)) spec.Field {
	f := spec.Field{Name: name, Type: t}
	for _, c := range change {
		c(&f)
	}
	return f
}

func optional(f *spec.Field) { f.Optional = true }

func alias(name string) func(*spec.Field) { return func(f *spec.Field) { f.Alias = name } }

func title(text string) func(*spec.Field) { return func(f *spec.Field) { f.Title = text } }

func described(text string) func(*spec.Field) { return func(f *spec.Field) { f.Description = text } }

func byDefault(text spec.JSON) func(*spec.Field) { return func(f *spec.Field) { f.Default = text } }

func also(name string, value spec.JSON) func(*spec.Field) {
	return func(f *spec.Field) { f.Keywords = append(f.Keywords, spec.Keyword{Name: name, Value: value}) }
}

func listOf(item spec.Type) *spec.List       { return &spec.List{Item: item} }
func setOf(item spec.Type) *spec.List        { return &spec.List{Item: item, Set: true} }
func mapOf(value spec.Type) *spec.Map        { return &spec.Map{Value: value} }
func tupleOf(items ...spec.Type) *spec.Tuple { return &spec.Tuple{Items: items} }
func union(variants ...spec.Type) *spec.Union {
	return &spec.Union{Variants: variants}
}
func maybe(t spec.Type) *spec.Union             { return union(t, spec.Null) }
func literal(values ...spec.JSON) *spec.Literal { return &spec.Literal{Values: values} }

func tagged(tag string, variants ...spec.Type) *spec.Union {
	return &spec.Union{Tag: tag, Variants: variants}
}

var (
	shade  = &spec.Enum{Name: "Shade", Values: []spec.JSON{`"light"`, `"dark"`}}
	size   = &spec.Enum{Name: "Size", Base: spec.String, Values: []spec.JSON{`"s"`, `"l"`}, Description: "How large.\n\nIn words."}
	rank   = &spec.Enum{Name: "Rank", Base: spec.Int, Values: []spec.JSON{"1", "2"}}
	small  = &spec.Record{Name: "Small", Description: "A small one.", Fields: records{field("a", spec.Int, byDefault("1"))}}
	inner  = record("Inner", field("small", small), field("smalls", listOf(small)))
	a1     = literal(`"a"`, "1")
	cat    = record("Cat", field("kind", literal(`"cat"`, `"kitten"`)), field("lives", spec.Int, byDefault("9")))
	dog    = record("Dog", field("kind", literal(`"dog"`)), field("color", literal(`"black"`, `"brown"`)))
	black  = record("BlackDog", field("kind", literal(`"dog"`)), field("color", literal(`"black"`)))
	brown  = record("BrownDog", field("kind", literal(`"dog"`)), field("color", literal(`"brown"`)))
	bird   = record("Bird", field("kind", literal(`"light"`), alias("Kind")))
	fish   = record("Fish", field("kind", literal(`"dark"`, `"fish"`), alias("Kind")))
	one    = record("One", field("n", literal("1")))
	two    = record("Two", field("n", literal("2", "3")))
	root   = &spec.Alias{Name: "Root", Type: listOf(spec.Int), Description: "A list with a name."}
	number = &spec.Alias{Name: "RootScalar", Type: spec.Int.With(spec.Limits{Min: "1"}), Keywords: spec.Keywords{{Name: "default", Value: "5"}, {Name: "description", Value: `"of the field"`}}}
)

// handWritten are odd models as a Go author would write them down; the digests
// must be those of the Python classes of the same names.
func handWritten() []spec.Type {
	return []spec.Type{
		enumPlaces(), enumWords(), literalPlaces(), literalNone(), limits(), limitedTypes(), keys(), constants(), nestedWords(),
		small, inner, cat, dog, bird, fish, one, two, root, number,
		&spec.Alias{Name: "RootModel", Type: small},
		&spec.Alias{Name: "RootDescribed", Type: &spec.Union{Variants: types{small}, Keywords: spec.Keywords{{Name: "description", Value: `"of the field"`}}}},
		&spec.Alias{Name: "RootEnum", Type: shade},
		&spec.Alias{Name: "RootLiteral", Type: literal(`"a"`, `"b"`)},
		&spec.Alias{Name: "RootMixed", Type: a1},
		&spec.Alias{Name: "RootMap", Type: mapOf(root)},
		&spec.Alias{Name: "RootUnion", Type: union(small, root, spec.Int)},
		&spec.Alias{Name: "RootAny", Type: spec.Any},
		&spec.Alias{Name: "RootOptional", Type: maybe(spec.Int)},
		rootTree(), tree(), odd(), discriminated(), twins(), generics(), numberKeys(),
	}
}

func enumPlaces() spec.Type {
	return record("EnumPlaces",
		field("one", shade),
		field("lists", listOf(listOf(shade))),
		field("maybe_inside", listOf(maybe(shade))),
		field("maybe_outside", maybe(listOf(shade)), optional),
		field("in_map", mapOf(shade)),
		field("map_of_maybe", mapOf(maybe(rank))),
		field("map_of_lists", mapOf(listOf(rank))),
		field("keys", &spec.Map{Key: rank, Value: spec.Int}),
		field("tuple_of", tupleOf(shade, rank)),
		field("tuple_any", listOf(shade)),
		field("set_of", setOf(shade)),
		field("frozen", setOf(rank)),
		field("union", union(shade, spec.Int)),
		field("maybe_union", union(shade, rank, spec.Null), optional),
		field("deque", listOf(shade)),
	)
}

func enumWords() spec.Type {
	return record("EnumWords",
		field("described", shade, described("a shade")),
		field("defaulted", shade, byDefault(`"light"`)),
		field("titled", size, title("The Size")),
		field("all_of_it", rank, byDefault("1"), title("T"), described("d"), also("example", "1")),
		field("list_described", listOf(shade), described("shades")),
		field("list_titled", listOf(shade), byDefault(`["dark"]`), title("Shades")),
		field("map_defaulted", mapOf(rank), byDefault(`{"a": 2}`)),
		field("tuple_described", tupleOf(shade, rank), byDefault(`["dark", 1]`), described("both")),
		field("union_described", union(shade, spec.Int), byDefault(`"dark"`), described("either")),
		field("optional_described", maybe(rank), optional, described("maybe")),
		field("nested_described", listOf(listOf(shade)), described("deep")),
		field("extra", shade, also("example", `"light"`)),
		field("extra_list", listOf(shade), also("example", `["light"]`)),
	)
}

func literalPlaces() spec.Type {
	odd := literal(`"back\\slash\n\t\r\u0000\u007f\u00a0é😀\u200b"`, "3")
	return record("LiteralPlaces",
		field("field", a1),
		field("maybe", literal(`"a"`, "1", "true"), optional),
		field("in_list", listOf(a1)),
		field("in_set", setOf(literal("1", `"a"`))),
		field("in_map", mapOf(a1)),
		field("in_tuple", tupleOf(a1, literal(`"b"`, "2"))),
		field("in_union", union(a1, spec.Float)),
		field("in_two_unions", union(a1, literal("2.5", `"b"`), spec.Null), optional),
		field("deep", listOf(mapOf(listOf(a1)))),
		field("deep_tuple", tupleOf(listOf(a1), mapOf(tupleOf(a1)))),
		field("deep_union", listOf(union(a1, listOf(spec.Int)))),
		field("union_of_lists", union(listOf(a1), mapOf(setOf(literal(`"z"`, "1"))), tupleOf(spec.DateTime, maybe(a1)))),
		field("list_of_maybe", listOf(maybe(a1))),
		field("of_one_kind", union(literal(`"a"`), literal(`"b"`), spec.Int)),
		field("with_default", a1, byDefault("1")),
		field("with_words", listOf(a1), byDefault(`["a"]`), described("words"), title("T")),
		field("userName", listOf(a1)),
		field("quotes", union(literal(`"it's"`, "1"), literal(`"\"both\" it's"`, "2"), odd)),
		field("aliased", listOf(a1), alias("other-name")),
		field("aliased_union", union(a1, spec.Int), alias("otherUnion")),
	)
}

func literalNone() spec.Type {
	a := literal(`"a"`, "null")
	return record("LiteralNone",
		field("only", literal("null")),
		field("field", a),
		field("mixed", literal(`"a"`, "1", "null")),
		field("in_list", listOf(a)),
		field("mixed_in_list", listOf(literal(`"a"`, "1", "null"))),
		field("in_union", union(a, spec.Int)),
		field("in_tuple", tupleOf(a, literal("null"))),
		field("in_map", mapOf(literal("1", "null"))),
	)
}

func limits() spec.Type {
	text := spec.Limits{MinLength: new(1), MaxLength: new(9), Pattern: "^a"}
	items := func(item spec.Type, l spec.Limits) *spec.List { return &spec.List{Item: item, Limits: l} }
	atLeast := func(n spec.JSON) *spec.Scalar { return spec.Int.With(spec.Limits{Min: n}) }
	return record("Limits",
		field("list_ge", listOf(atLeast("0")), also("minimum", "0")),
		field("map_lt", mapOf(spec.Float.With(spec.Limits{Below: "2.5"})), also("exclusiveMaximum", "2.5")),
		field("list_len", items(spec.String.With(text), text)),
		field("tuple_ge", tupleOf(atLeast("1"), atLeast("1"))),
		field("union_ge", union(atLeast("1"), spec.Float.With(spec.Limits{Min: "1"}))),
		field("optional_ge", spec.Int.With(spec.Limits{Min: "1", Max: "1180591620717411303424"}), optional),
		field("nested_ge", listOf(listOf(atLeast("3")))),
		field("items", &spec.List{Item: spec.Int, Set: true, Limits: spec.Limits{MinItems: new(1), MaxItems: new(3)}}),
		field("not_unique", listOf(spec.Int), also("uniqueItems", "false")),
		field("set_items", &spec.List{Item: spec.Int, Set: true, Limits: spec.Limits{MinItems: new(1)}}),
		field("items_and_ge", items(atLeast("0"), spec.Limits{MinItems: new(1)}), also("minimum", "0")),
		field("multiple", spec.Float.With(spec.Limits{MultipleOf: "0.5"})),
		field("bytes_len", spec.Bytes.With(spec.Limits{MinLength: new(1)})),
		field("bool_free", spec.Bool, byDefault("true")),
	)
}

func limitedTypes() spec.Type {
	items := func(item spec.Type, l spec.Limits) *spec.List { return &spec.List{Item: item, Limits: l} }
	some := spec.Limits{MinItems: new(1)}
	return record("LimitedTypes",
		field("decimals", spec.Decimal.With(spec.Limits{Above: "1.5", Max: "10"})),
		field("decimal_field", spec.Decimal.With(spec.Limits{Min: "1000", MultipleOf: "0.1"}), byDefault("2.0")),
		field("large", spec.Int.With(spec.Limits{Below: "1000000000000000000000000000000"})),
		field("small", spec.Float.With(spec.Limits{Above: "1e-07", Below: "1e+300", MultipleOf: "0.1"})),
		field("infinite", spec.Float),
		field("items", items(spec.Int, spec.Limits{MinItems: new(1), MaxItems: new(2)})),
		field("distinct", setOf(spec.Int.With(spec.Limits{Above: "1"}))),
		field("set_", &spec.List{Item: spec.String, Set: true, Limits: spec.Limits{MinItems: new(2)}}),
		field("frozen", &spec.List{Item: spec.String, Set: true, Limits: spec.Limits{MaxItems: new(2)}}),
		field("text", spec.String.With(spec.Limits{MinLength: new(1), MaxLength: new(2), Pattern: `^\w+$`})),
		field("raw", spec.Bytes.With(spec.Limits{MinLength: new(3)})),
		field("days", &spec.Scalar{Kind: spec.Date, Limits: spec.Limits{Above: `"2026-01-01"`}}),
		field("past", spec.Date),
		field("future", spec.Date),
		field("positive", spec.Int.With(spec.Limits{Above: "0"})),
		field("natural", spec.Int.With(spec.Limits{Min: "0"})),
		field("negative", spec.Float.With(spec.Limits{Below: "0"})),
		field("strict", spec.Int32),
		field("strict_text", spec.String),
		field("strict_bool", spec.Bool),
		field("strict_limited", spec.String.With(spec.Limits{MaxLength: new(4)})),
		field("nested", listOf(items(items(spec.Int, spec.Limits{MaxItems: new(1)}), some))),
		field("by_key", mapOf(items(spec.Int, some))),
		field("either", union(spec.Int.With(spec.Limits{Min: "1"}), spec.String.With(spec.Limits{MaxLength: new(3)}), items(spec.Int, some))),
	)
}

func keys() spec.Type {
	like := func(pattern string, value spec.Type) *spec.Map {
		return &spec.Map{Key: spec.String.With(spec.Limits{Pattern: pattern}), Value: value}
	}
	return record("Keys",
		field("pattern", like("^[a-z]+$", spec.Int)),
		field("pattern_any", like("x", nil)),
		field("length", &spec.Map{Key: spec.String.With(spec.Limits{MaxLength: new(3)}), Value: spec.Int}),
		field("pattern_model", like("^m", small)),
		field("pattern_enum", like("^e", shade)),
		field("pattern_literal", like("^l", a1)),
		field("numbers", &spec.Map{Key: spec.Int, Value: spec.String}),
		field("dates", &spec.Map{Key: spec.Date, Value: spec.String}),
		field("tuples", mapOf(spec.String)),
		field("any_key", &spec.Map{Key: spec.Any, Value: spec.Int}),
		field("mapping", mapOf(spec.Int)),
		field("defaults", mapOf(listOf(spec.Int))),
		field("counter", mapOf(spec.Int)),
		field("bare", mapOf(nil)),
		field("bare_typing", mapOf(spec.Any)),
	)
}

func constants() spec.Type {
	constant := func(value spec.JSON) func(*spec.Field) {
		return func(f *spec.Field) { byDefault(value)(f); also("const", value)(f) }
	}
	return record("Constants",
		field("text", spec.String, constant(`"x"`)),
		field("number", spec.Int, constant("3"), described("always")),
		field("items", listOf(spec.Int), constant("[1, 2]")),
		field("union", union(spec.Int, spec.String), constant(`"y"`)),
		field("maybe", spec.Int, optional, also("const", "null")),
		field("enum", shade, byDefault(`"dark"`)),
		field("free", spec.Any, constant(`{"a": 1}`)),
	)
}

func nestedWords() spec.Type {
	return record("NestedWords",
		field("bare", small),
		field("described", small, described("d")),
		field("titled", small, title("T")),
		field("titled_alike", small, title("Titled Alike")),
		field("defaulted", small, byDefault(`{"a": 2}`)),
		field("maybe", maybe(small), optional, described("d")),
		field("extra", small, also("example", `{"a": 1}`)),
		field("union", union(small, inner), byDefault(`{"a": 1}`), described("d")),
		field("maybe_union", union(small, inner, spec.Null), optional),
		field("list_described", listOf(small), byDefault(`[{"a": 1}]`), described("d")),
		field("map_described", mapOf(small), byDefault(`{"x": {"a": 1}}`), title("T")),
		field("tuple_of", tupleOf(small, listOf(inner))),
	)
}

func rootTree() spec.Type {
	t := &spec.Alias{Name: "RootTree"}
	t.Type = mapOf(union(spec.Int, t))
	return t
}

func tree() spec.Type {
	t := record("Tree", field("value", spec.Int))
	t.Fields = append(t.Fields,
		field("left", maybe(t), optional),
		field("children", listOf(t), byDefault("[]")),
		field("by_name", mapOf(t), byDefault("{}")),
	)
	return t
}

func odd() spec.Type {
	even, odd := record("Even"), record("Odd")
	even.Fields = records{field("odd", odd, optional)}
	odd.Fields = records{field("even", even, optional), field("both", union(even, odd, spec.Null), optional)}
	return odd
}

func discriminated() spec.Type {
	pets := tagged("kind", cat, dog)
	return record("Discriminated",
		field("pet", pets),
		field("maybe", pets, optional, described("d")),
		field("many", listOf(pets)),
		field("by_name", mapOf(pets)),
		field("nested", tagged("kind", cat, tagged("color", black, brown))),
		field("inside", union(pets, spec.Int)),
		field("aliased", tagged("kind", bird, fish)),
		field("numbers", tagged("n", one, two)),
		field("flags", tagged("ok", record("Yes", field("ok", literal("true"))), record("No", field("ok", literal("false"))))),
		field("large_numbers", tagged("n", record("Ten", field("n", literal("10", "100"))), record("Nine", field("n", literal("9"))))),
	)
}

func twins() spec.Type {
	twin := func(key string, f spec.Field) *spec.Record {
		return &spec.Record{Name: key, Title: "Twin", Fields: records{f}}
	}
	größe := &spec.Enum{Name: "Größe", Key: "models__Größe", Base: spec.String, Values: []spec.JSON{`"groß"`, `"klein"`}}
	return record("Twins",
		field("one", twin("shop__models__Twin", field("a", spec.Int))),
		field("other", twin("bank__models__Twin", field("b", spec.String))),
		field("others", listOf(twin("third__Twin", field("c", spec.String)))),
		field("größe_one", &spec.Record{Name: "Größe", Key: "shop__Größe", Fields: records{field("d", spec.Int)}}),
		field("größe_other", größe),
	)
}

func numberKeys() spec.Type {
	keyed := func(key, value spec.Type) *spec.Map { return &spec.Map{Key: key, Value: value} }
	r := record("NumberKeys",
		field("whole", keyed(spec.Int, spec.String), byDefault(`{"10": "b", "9": "a"}`)),
		field("real", listOf(keyed(spec.Float, tupleOf(keyed(rank, spec.Int), spec.String))), byDefault(`[{"1e+16": [{}, "y"], "2.5": [{"1": 1}, "x"]}]`)),
		field("text", mapOf(spec.Int), byDefault(`{"a": 1, "b": 2}`)),
	)
	r.Description = "Numbers as keys are sorted as numbers."
	return r
}

func generics() spec.Type {
	page := func(of string, t spec.Type) *spec.Record {
		return &spec.Record{Name: "Page" + of, Description: "A page.", Fields: records{field("items", listOf(t)), field("first", t, optional)}}
	}
	return record("Generics",
		field("numbers", page("[int]", spec.Int)),
		field("smalls", page("[Small]", small)),
		field("pages", page("[Page[str]]", page("[str]", spec.String))),
		field("either", record("Either[int, Union[Small, NoneType]]", field("value", union(spec.Int, small, spec.Null), optional))),
		field("open", page("", spec.Any)),
	)
}
