package check_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parley-agents/parley/internal/lang/check"
)

// A case is a source and all that is said of it: "line:column CODE text", one per
// line, nothing for a clean one. Notes count too.
type sourceCase struct{ name, src, want string }

func (tc sourceCase) run(t *testing.T) {
	t.Run(tc.name, func(t *testing.T) {
		t.Parallel()
		var got []string
		for _, d := range check.File("x", []byte(tc.src), check.Options{}).Diagnostics {
			place, text, _ := strings.Cut(strings.TrimPrefix(d.String(), "x:"), ": ")
			text = strings.NewReplacer(" error: ", " ", " warning: ", " ", " note: ", " ").Replace(text)
			got = append(got, place+" "+text)
		}
		want := strings.Split(tc.want, "\n")
		for i := range want {
			want[i] = strings.TrimSpace(want[i])
		}
		if tc.want == "" {
			want = nil
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("source\n%s\nfound\n%s\nwant\n%s", tc.src, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func TestNames(t *testing.T) {
	for _, tc := range []sourceCase{
		{"unknown", "type A = Strng", "1:10 PAR1001 unknown type 'Strng'"},
		{"in a list, a map and a union", "type A = { a: List<X>, b: Map<String, Y>, c: Int | Z }",
			"1:20 PAR1001 unknown type 'X'\n1:39 PAR1001 unknown type 'Y'\n1:52 PAR1001 unknown type 'Z'"},
		{"each use", "type A = { a: X, b: X }", "1:15 PAR1001 unknown type 'X'\n1:21 PAR1001 unknown type 'X'"},
		{"small letters", "type A = string", "1:10 PAR1001 unknown type 'string'"},
		{"before its declaration", "type A = B\ntype B = Int", ""},
		{"of another protocol", "protocol P { type T = Int } protocol Q { message m { t: T } }", "1:57 PAR1001 unknown type 'T'"},
		{"hidden by the protocol's own", "type T = Int protocol P { type T = String message m { t: T = \"x\" } }", ""},
		{"a message as a type", "message m { a: Int } type A = { m: m }", ""},
		{"message and type of one name", "type E = { a: Int } protocol P { message E: error = E }", ""},
		{"types twice", "type A = Int\n\n  type A = String", "3:8 PAR1002 'A' is declared twice; first at 1:6"},
		{"type and enum", "type A = Int\nenum A { X }", "2:6 PAR1002 'A' is declared twice; first at 1:6"},
		{"three times", "type A = Int type A = Int type A = Int", "1:19 PAR1002 'A' is declared twice; first at 1:6\n1:32 PAR1002 'A' is declared twice; first at 1:6"},
		{"messages", "protocol P { message m {} message m {} }", "1:35 PAR1002 'm' is declared twice; first at 1:22"},
		{"protocols", "protocol P {} protocol P {}", "1:24 PAR1002 'P' is declared twice; first at 1:10"},
		{"built-in", "type String = Int", "1:6 PAR1002 'String' is a built-in type"},
		{"custom", `custom A "x" custom A "y"`, "1:21 PAR1002 'A' is declared twice; first at 1:8"},
		{"fields", "type A = { a: Int, a: String }", "1:20 PAR1003 duplicate field 'a'"},
		{"fields of a nested record", "type A = { b: { a: Int, a: Int } }", "1:25 PAR1003 duplicate field 'a'"},
		{"fields by a copy", "type B = { a: Int } type A = { ...B, a: Int }", "1:38 PAR1003 duplicate field 'a'"},
		{"fields by two copies", "type B = { a: Int } type A = { ...B, ...B }", "1:41 PAR1003 duplicate field 'a'"},
		{"fields of a message", "message m { a: Int, a: Int }", "1:21 PAR1003 duplicate field 'a'"},
		{"fields on the wire", "type A = { a: Int, @wire(\"a\") b: Int }", "1:31 PAR1003 duplicate field 'a'"},
		{"enum values", "enum E { A, B, A }", "1:16 PAR1003 duplicate value 'A'"},
		{"words as names", "type A = { type: Int, message: Int, reserved: Int, `a b`: Int }", ""},
		{"what was not understood is not missed", "struct Point { x: Int }\ntype Line = { from: Point, to: Pont }", "1:1 PAR0003 unknown declaration 'struct'\n2:32 PAR1001 unknown type 'Pont'"},
		{"annotations that were not understood", "@name(\"a\" \"b\")\ntype A = Int", "1:11 PAR0002 expected ',' or ')', found the string \"b\""},
		{"a declaration without a name may be any", "type = Int\ntype A = { a: B }", "1:6 PAR0002 expected the type's name, found '='"},
		{"a brace that was forgotten", "type A = a: Int, b: Int }\ntype B = A", "1:10 PAR0002 expected '{', found 'a'"},
		{"a brace before annotations", "type A = {\n a: Int\n@name(\"x\")\nenum E { X }\ntype B = E", "3:1 PAR0002 expected '}', found '@': '{' was opened at 1:10"},
		{"fields of one name in the source", "type A = { @wire(\"x\") a: Int, @wire(\"y\") a: Int }", "1:42 PAR1003 duplicate field 'a'"},
		{"annotations twice", "annotation a() on type\nannotation a(x: Int, x: Int) on type", "2:12 PAR1002 annotation 'a' is declared twice; first at 1:12\n2:22 PAR1003 duplicate parameter 'x'"},
		{"in an annotation of a protocol", "protocol P { annotation a(x: Foo) on type }", "1:30 PAR1001 unknown type 'Foo'"},
		{"a name with a dash is one mistake", "type A = { message-id: String, b: Foo }", "1:19 PAR0001 unexpected character '-'\n1:35 PAR1001 unknown type 'Foo'"},
		{"a name with other letters is one mistake", "type Größe = Int\ntype A = { g: Größe }", "1:8 PAR0001 unexpected character 'ö'\n2:17 PAR0001 unexpected character 'ö'"},
		{"a type that was forgotten", "type A =\ntype B = Int\ntype C = B", "2:1 PAR0002 expected a type, found 'type'"},
		{"lists of other languages", "type A = { a: Int[], b: List[Int], c: Foo }", "1:18 PAR0002 unexpected '[' behind a type\n1:29 PAR0002 unexpected '[' behind a type\n1:39 PAR1001 unknown type 'Foo'"},
		{"edition without quotes", "parley 1\ntype A = Int", "1:8 PAR0002 expected the edition in quotes, found '1'"},
		{"a comma first", "type A = { , a: Int }", "1:12 PAR0002 expected what stands between the braces, found ','"},
		{"a message of itself", "protocol P { message m = m }", "1:26 PAR1001 unknown type 'm'"},
		{"broken types are not spoken of again", "type A = { a Int }\ntype B = { a: A, b: Int = \"x\" }", "1:14 PAR0002 expected ':', found 'Int'\n2:27 PAR1005 default \"x\" is not an Int"},
	} {
		tc.run(t)
	}
}

func TestEndlessRecords(t *testing.T) {
	for _, tc := range []sourceCase{
		{"itself", "type A = { a: A }", "1:6 PAR1004 record 'A' contains itself without a way to end"},
		{"each other, told once", "type A = { b: B } type B = { a: A }", "1:6 PAR1004 record 'A' contains itself without a way to end"},
		{"from outside, told once", "type X = { a: A } type A = { a: A }", "1:24 PAR1004 record 'A' contains itself without a way to end"},
		{"a message", "message m { inner: m }", "1:9 PAR1004 record 'm' contains itself without a way to end"},
		{"by all variants", "type A = { a: { k: \"x\", a: A } | { k: \"y\", a: A } }", "1:6 PAR1004 record 'A' contains itself without a way to end"},
		{"by a list that is never empty", "type A = { a: List<A>(minItems: 1) }", "1:6 PAR1004 record 'A' contains itself without a way to end"},
		{"alias", "type A = A", "1:6 PAR1004 type 'A' contains itself without a way to end"},
		{"aliases", "type A = B | B type B = A", "1:6 PAR1004 type 'A' contains itself without a way to end"},
		{"copies itself", "type A = { ...A }", "1:15 PAR1004 record 'A' copies itself"},
		{"copy each other", "type A = { ...B } type B = { ...A }", "1:33 PAR1004 record 'A' copies itself"},
		{"aliases that lead to one another", "type A = B | Int\ntype B = List<C> | A\ntype C = B\ntype D = { a: A = \"x\", b: Map<A, Int> }",
			"1:14 PAR1010 variants 1 and 2 cannot be told apart\n2:20 PAR1010 variants 1 and 2 cannot be told apart\n4:19 PAR1005 default \"x\" fits no variant of the union\n4:31 PAR1008 map key must be String, an integer, Bool, Uuid or an enum"},
		{"a key of itself", "type K = K\ntype M = { m: Map<K, Int>, k: K = 1, u: K | Int }", "1:6 PAR1004 type 'K' contains itself without a way to end"},
		{"optional", "type A = { a: A? }", ""},
		{"list, map, set", "type A = { a: List<A>, b: Map<String, A>, c: Set<A> }", ""},
		{"null", "type A = { a: A | Null }", ""},
		{"one variant ends", "type A = { a: A | String }", ""},
		{"default", "type A = { a: A = {} } type B = { n: Int = 1 }", ""},
		{"alias through a list", "type Tree = String | List<Tree>", ""},
		{"each other with an end", "type A = { b: B } type B = { a: A? }", ""},
		{"twice the same", "type A = { x: B, y: B } type B = { x: C, y: C } type C = { n: Int }", ""},
	} {
		tc.run(t)
	}
}

func TestDefaults(t *testing.T) {
	field := func(rest string) string {
		return "type E = Int\nenum S { A, B = \"b\" }\ntype R = { n: Int, s: String? }\ntype T = { f: " + rest + " }"
	}
	for _, tc := range []struct{ rest, want string }{
		{`Int = "x"`, `default "x" is not an Int`},
		{`Int = 1.5`, `default 1.5 is not an Int`},
		{`Int = true`, `default true is not an Int`},
		{`Int = null`, `default null is not an Int`},
		{`Int = 5s`, `default 5s is not an Int`},
		{`Int = 9223372036854775808`, `default 9223372036854775808 is not an Int`},
		{`Int32 = 2147483648`, `default 2147483648 is not an Int32`},
		{`UInt32 = -1`, `default -1 is not a UInt32`},
		{`Float = "1"`, `default "1" is not a Float`},
		{`String = 1`, `default 1 is not a String`},
		{`String = hello`, `default hello is not a String`},
		{`Bool = 1`, `default 1 is not a Bool`},
		{`Bool = "true"`, `default "true" is not a Bool`},
		{`Bytes = "no base64!"`, `default "no base64!" is not a Bytes`},
		{`DateTime = "yesterday"`, `default "yesterday" is not a DateTime`},
		{`DateTime = "2024-01-01T00:00:00"`, `default "2024-01-01T00:00:00" is not a DateTime`},
		{`Date = "2024-13-01"`, `default "2024-13-01" is not a Date`},
		{`Time = "25:00:00"`, `default "25:00:00" is not a Time`},
		{`Uuid4 = "00000000-0000-1000-8000-000000000000"`, `default "00000000-0000-1000-8000-000000000000" is not a Uuid4`},
		{`Decimal = "one"`, `default "one" is not a Decimal`},
		{`S = C`, `default C is no value of the enum 'S'`},
		{`S = "B"`, `default "B" is no value of the enum 'S'`},
		{`List<Int> = 1`, `default 1 is not a List<Int>`},
		{`List<Int> = [1, "x"]`, `default [1, "x"] does not fit: "x" is not an Int`},
		{`Set<Int> = [1, 1]`, `default [1, 1] has 1 twice`},
		{`Map<String, Int> = {a: "x"}`, `default {a: "x"} does not fit: "x" is not an Int`},
		{`R = {}`, `default {} does not fit: R needs a field 'n'`},
		{`R = {n: 1, x: 2}`, `default {n: 1, x: 2} does not fit: R has no field 'x'`},
		{`Json = {a: [x]}`, `default {a: [x]} is no JSON: x is not in quotes`},
		{`Map<Int, Int> = {a: 1}`, `default {a: 1} does not fit: key 'a' is not an Int`},
		{`Map<Bool, Int> = {"yes": 1}`, `default {"yes": 1} does not fit: key 'yes' is not a Bool`},
		{`Map<S, Int> = {A: 1, C: 2}`, `default {A: 1, C: 2} does not fit: key 'C' is no value of the enum 'S'`},
		{`Map<String(minLength: 2), Int> = {a: 1}`, `default {a: 1} does not fit: key 'a' does not satisfy minLength 2`},
		{`Map<S, Int> = {B: 1, "b": 2}`, `default {B: 1, "b": 2} has the key 'b' twice`},
		{`"a" | "b" = "c"`, `default "c" is none of the literals`},
		{`"a" = "c"`, `default "c" is not "a"`},
		{`Int | Bool = "x"`, `default "x" fits no variant of the union`},
		{`Int(max: 5) = 6`, `default 6 does not satisfy max 5`},
		{`Int(multipleOf: 5) = 6`, `default 6 does not satisfy multipleOf 5`},
		{`Float(above: 0) = 0`, `default 0 does not satisfy above 0`},
		{`String(minLength: 2) = "é"`, `default "é" does not satisfy minLength 2`},
		{`String(pattern: "^a") = "b"`, `default "b" does not satisfy pattern "^a"`},
		{`List<Int>(minItems: 1) = []`, `default [] does not satisfy minItems 1`},
		{`E = "x"`, `default "x" is not an Int`},

		{`Map<Int, Int> = {"1": 1, "-2": 3}`, ""}, {`Map<Bool, Int> = {true: 1, "false": 2}`, ""}, {`Map<S, Int> = {A: 1, "b": 2}`, ""},
		{`Int = -5`, ""}, {`Int? = null`, ""}, {`Int | Null = null`, ""}, {`Float = 1`, ""}, {`Float = 1e300`, ""}, {`String = """x"""`, ""},
		{`Bytes = "aGk="`, ""}, {`DateTime = "2024-01-01T00:00:00+02:00"`, ""}, {`Date = "2024-02-29"`, ""}, {`Time = "12:30:00"`, ""},
		{`Duration = 90s`, ""}, {`Duration = 1.5`, ""}, {`Decimal = 1.10`, ""}, {`Decimal = "1.10"`, ""}, {`S = A`, ""}, {`S = B`, ""}, {`S = "b"`, ""},
		{`List<S> = [A, B]`, ""}, {`Map<String, List<Int>> = {a: [1], "b c": []}`, ""}, {`R = {n: 1}`, ""}, {`R = {n: 1, s: null}`, ""},
		{`"a" | "b" = "b"`, ""}, {`Int | Bool = true`, ""}, {`Json = {a: [1, null]}`, ""}, {`Any = null`, ""}, {`E = 3`, ""},
		{`Uuid = "00000000-0000-1000-8000-000000000000"`, ""}, {`Bool = false`, ""}, {`UInt64 = 18446744073709551615`, ""},
	} {
		want := ""
		if tc.want != "" {
			column := strings.LastIndex("type T = { f: "+tc.rest, " = ") + 4
			want = "4:" + itoa(runes(("type T = { f: " + tc.rest)[:column-1])+1) + " PAR1005 " + tc.want
		}
		sourceCase{tc.rest, field(tc.rest), want}.run(t)
	}
}

func TestConstraints(t *testing.T) {
	for _, tc := range []sourceCase{
		{"contradiction", "type A = Int(min: 5, max: 2)", "1:10 PAR1006 no value satisfies min 5, max 2"},
		{"open ends", "type A = Float(above: 1, below: 1)", "1:10 PAR1006 no value satisfies above 1, below 1"},
		{"half open", "type A = Float(min: 1, below: 1)", "1:10 PAR1006 no value satisfies min 1, below 1"},
		{"between integers", "type A = Int(above: 1, below: 2)", "1:10 PAR1006 no value satisfies above 1, below 2"},
		{"no multiple", "type A = Int(min: 1, max: 4, multipleOf: 5)", "1:10 PAR1006 no value satisfies min 1, max 4, multipleOf 5"},
		{"beyond the type", "type A = UInt32(max: -1)", "1:10 PAR1006 no value satisfies UInt32, max -1"},
		{"above the type", "type A = Int32(min: 3000000000)", "1:10 PAR1006 no value satisfies min 3000000000, Int32"},
		{"length", "type A = String(minLength: 3, maxLength: 2)", "1:10 PAR1006 no value satisfies minLength 3, maxLength 2"},
		{"items", "type A = List<Int>(minItems: 3, maxItems: 2)", "1:10 PAR1006 no value satisfies minItems 3, maxItems 2"},
		{"by way of an alias", "type A = Int(min: 5)\ntype B = A(max: 2)", "2:10 PAR1006 no value satisfies min 5, max 2"},
		{"pattern of a number", "type A = Int(pattern: \"a\")", "1:14 PAR1007 constraint 'pattern' does not apply to Int"},
		{"min of a string", "type A = String(min: 1)", "1:17 PAR1007 constraint 'min' does not apply to String"},
		{"items of a map", "type A = Map<String, Int>(minItems: 1)", "1:27 PAR1007 constraint 'minItems' does not apply to Map<String, Int>"},
		{"length of a list", "type A = List<Int>(maxLength: 1)", "1:20 PAR1007 constraint 'maxLength' does not apply to List<Int>"},
		{"of a record", "type R = { a: Int }\ntype A = R(min: 1)", "2:12 PAR1007 constraint 'min' does not apply to R"},
		{"of an enum", "enum E { X }\ntype A = E(maxLength: 1)", "2:12 PAR1007 constraint 'maxLength' does not apply to E"},
		{"of a bool", "type A = Bool(min: 1)", "1:15 PAR1007 constraint 'min' does not apply to Bool"},
		{"unknown", "type A = Int(minimum: 1)", "1:14 PAR1011 unknown constraint 'minimum'"},
		{"twice", "type A = Int(min: 1, min: 2)", "1:22 PAR1003 duplicate constraint 'min'"},
		{"without a name", "type A = Int(5)", "1:14 PAR1013 a constraint needs a name"},
		{"negative length", "type A = String(minLength: -1)", "1:28 PAR1013 'minLength' must be a whole number from 0 to 2147483647"},
		{"length as text", `type A = String(maxLength: "5")`, "1:28 PAR1013 'maxLength' must be a whole number from 0 to 2147483647"},
		{"huge length", "type A = String(maxLength: 99999999999999999999)", "1:28 PAR1013 'maxLength' must be a whole number from 0 to 2147483647"},
		{"fraction for an integer", "type A = Int(min: 1.5)", "1:19 PAR1013 'min' must be a whole number, as the type is Int"},
		{"text for a number", `type A = Int(min: "x")`, "1:19 PAR1013 'min' must be a number"},
		{"multiple of nothing", "type A = Float(multipleOf: 0)", "1:28 PAR1013 'multipleOf' must be greater than 0"},
		{"malformed pattern", `type A = String(pattern: "[")`, "1:26 PAR1013 pattern \"[\" is malformed: error parsing regexp: missing closing ]: `[`"},
		{"pattern as a number", "type A = String(pattern: 5)", "1:26 PAR1013 'pattern' must be a string"},
		{"inner types have their own", "type A = List<String(minLength: 1)>(maxItems: 3)", ""},
		{"all of them", `type A = { a: String(minLength: 0, maxLength: 0, pattern: "^$"), b: Float(above: 0, below: 1e3, multipleOf: 0.5), c: Set<Int>(minItems: 1, maxItems: 1), d: Duration(max: 5m), e: Decimal(min: 0) }`, ""},
		{"just one value", "type A = Int(min: 5, max: 5)", ""},
	} {
		tc.run(t)
	}
}

func TestTypes(t *testing.T) {
	for _, tc := range []sourceCase{
		{"key and value", "type A = Map<Float, Foo>", "1:14 PAR1008 map key must be String, an integer, Bool, Uuid or an enum\n1:21 PAR1001 unknown type 'Foo'"},
		{"float key", "type A = Map<Float, Int>", "1:14 PAR1008 map key must be String, an integer, Bool, Uuid or an enum"},
		{"record key", "type R = { a: Int } type A = Map<R, Int>", "1:34 PAR1008 map key must be String, an integer, Bool, Uuid or an enum"},
		{"list key", "type A = Map<List<Int>, Int>", "1:14 PAR1008 map key must be String, an integer, Bool, Uuid or an enum"},
		{"date key", "type A = Map<DateTime, Int>", "1:14 PAR1008 map key must be String, an integer, Bool, Uuid or an enum"},
		{"union key", "type A = Map<String | Int, Int>", "1:14 PAR1008 map key must be String, an integer, Bool, Uuid or an enum"},
		{"good keys", "enum E { X } type K = String type A = { a: Map<Int32, Int>, b: Map<Bool, Int>, c: Map<Uuid4, Int>, d: Map<E, Int>, e: Map<K, Int>, f: Map<String(minLength: 1), Int> }", ""},
		{"optional item", "type A = List<Int?>", "1:18 PAR1009 '?' only applies to a field"},
		{"optional value", "type A = Map<String, Int?>", "1:25 PAR1009 '?' only applies to a field"},
		{"optional alias", "type A = Int?", "1:13 PAR1009 '?' only applies to a field"},
		{"optional variant", "type A = { a: Int? | String }", "1:18 PAR1009 '?' only applies to a field, not to a variant"},
		{"optional message", "message m = Int?", "1:16 PAR1009 '?' only applies to a field"},
		{"optional union", "type A = { a: (Int | String)? }", ""},
		{"no types", "type A = List", "1:10 PAR1012 List takes one type, found 0"},
		{"too many", "type A = Map<Int, Int, Int>", "1:10 PAR1012 Map takes two types, found 3"},
		{"types of a scalar", "type A = String<Int>", "1:10 PAR1012 String takes no types, found 1"},
		{"types of an alias", "type B = Int type A = B<Int>", "1:23 PAR1012 'B' takes no types"},
		{"copy of a scalar", "type A = { ...String }", "1:15 PAR1001 unknown type 'String'"},
		{"copy of an enum", "enum E { X } type A = { ...E }", "1:28 PAR1014 'E' is no record, so it has no members to copy"},
		{"copy of nothing", "type A = { ...B }", "1:15 PAR1001 unknown type 'B'"},
		{"copy of a copy", "type A = { ...B, a: Int } type B = { ...C, b: Int } type C = { c: Int }", ""},
		{"same wire value", `enum E { A = "x", B = "x" }`, "1:19 PAR1015 'A' and 'B' have the same value \"x\""},
		{"wire value is another's name", `enum E { A = "B", B }`, "1:19 PAR1015 'A' and 'B' have the same value \"B\""},
		{"list as value", "enum E { A = [1] }", "1:14 PAR1015 an enum value is a string, a number, true or false"},
		{"empty enum", "enum E {}", "1:6 PAR1015 enum 'E' has no values"},
		{"mix-in", `@uagents(enum: "str") enum E { A = 1 }`, "1:32 PAR1015 value 1 of 'A' does not fit @uagents(enum: \"str\")"},
		{"numbers", `@uagents(enum: "int") enum E { A = 1, B = 2 }`, ""},
		{"open alias", "open type A = Int", "1:11 PAR0009 only a record or an enum can be open"},
		{"open", "open type A = {} open enum E { X }", ""},
		{"reserved", "type A = { reserved old, 3..5; a: Int } enum E { X; reserved Y }", "1:12 PAR2009 reserved names are read but not yet checked\n1:53 PAR2009 reserved names are read but not yet checked"},
		{"edition", "parley \"2\"", "1:8 PAR0009 edition \"2\" is not known; this is a tool for edition \"1\""},
		{"all built-in types", "type A = { a: String, b: Bool, c: Int, d: Int32, e: Int64, f: UInt32, g: UInt64, h: Float, i: Float32, j: Float64, k: Decimal, l: Bytes, m: DateTime, n: Date, o: Time, p: Duration, q: Uuid, r: Uuid4, s: Uri, t: Json, u: Any, v: Null, w: Tuple<Int, String> }", ""},
	} {
		tc.run(t)
	}
}

func TestUnions(t *testing.T) {
	const records = "type Cat = { kind: \"cat\", name: String }\ntype Dog = { kind: \"dog\", name: String }\ntype Bird = { name: String, wings: Int }\ntype Fish = { name: String }\nenum E { X, Y }\n"
	for _, tc := range []struct{ union, want string }{
		{"{a: Int} | {a: Int, b: Int?}", "variants 1 and 2 cannot be told apart"},
		{"Int | Float", "variants 1 and 2 cannot be told apart"},
		{"String | Bytes", "variants 1 and 2 cannot be told apart"},
		{"String | DateTime", "variants 1 and 2 cannot be told apart"},
		{"Int | String | Uuid", "variants 2 and 3 cannot be told apart"},
		{"List<Int> | List<String>", "variants 1 and 2 cannot be told apart"},
		{"List<Int> | Set<Int>", "variants 1 and 2 cannot be told apart"},
		{"Map<String, Int> | Fish", "variants 1 and 2 cannot be told apart"},
		{"Map<String, Int> | Map<String, String>", "variants 1 and 2 cannot be told apart"},
		{"Json | Int", "variants 1 and 2 cannot be told apart"},
		{"\"a\" | String", "variants 1 and 2 cannot be told apart"},
		{"E | String", "variants 1 and 2 cannot be told apart"},
		{"E | \"X\"", "variants 1 and 2 cannot be told apart"},
		{"Int | Duration", "variants 1 and 2 cannot be told apart"},
		{"Fish | { name: String, tag: String? }", "variants 1 and 2 cannot be told apart"},
		{"Fish | { name: String, tag: String = \"x\" }", "variants 1 and 2 cannot be told apart"},
		{"Cat | Fish | { name: String, x: Int? }", "variants 2 and 3 cannot be told apart"},
		{"{ kind: \"a\" } | { kind: \"a\" }", "variants 1 and 2 cannot be told apart"},
		{"{} | {}", "variants 1 and 2 cannot be told apart"},

		{"Cat | Dog", ""}, {"Cat | Dog | String | List<Cat>", ""}, {"Bird | Fish", ""}, {"Fish | Bird", ""},
		{"Int | String | Bool | Null | List<Int> | Fish", ""}, {"\"a\" | \"b\" | 3 | true", ""}, {"\"a\" | \"a\"", ""}, {"Int | Int", ""},
		{"E | \"Z\"", ""}, {"E | Int", ""}, {"Fish | List<Fish>", ""}, {"{ a: Int } | { b: Int }", ""}, {"Decimal | Int", ""}, {"(Int | String) | Int", ""},
	} {
		src := records + "type U = { u: " + tc.union + " }"
		want := ""
		if tc.want != "" {
			want = "PAR1010 " + tc.want
		}
		t.Run(tc.union, func(t *testing.T) {
			found := check.File("x", []byte(src), check.Options{}).Diagnostics
			var got strings.Builder
			for _, d := range found {
				got.WriteString(d.Code + " " + d.Message)
			}
			if got.String() != want {
				t.Errorf("found\n%s\nwant %s", found, want)
			}
		})
	}
}

// On protobuf each variant has a field of its own, so they need not differ.
func TestUnionsOfAEAProtocolsMayLookAlike(t *testing.T) {
	const union = "message m { u: String | Bytes | Int | Float }"
	for src, want := range map[string]string{
		"@aea(name: \"p\") protocol P { " + union + " }":                   "",
		"@aea(author: \"a\") package p\nprotocol P { " + union + " }":      "",
		"@aea(author: \"a\") package p\ntype U = String | Bytes":           "",
		"protocol P { " + union + " }":                                     "PAR1010 error",
		"@aea(name: \"p\") protocol P {} protocol Q { " + union + " }":     "PAR1010 error",
		"type U = String | Bytes @aea(name: \"p\") protocol P {}":          "",
		"type U = String | Bytes protocol Q {} @aea() protocol P {}":       "PAR1010 error",
		"@aea(name: \"p\") protocol P { type U = Set<Int> | List<Bytes> }": "",
	} {
		if got := codesOf(check.File("x", []byte(src), check.Options{}).Diagnostics); got != want {
			t.Errorf("%s\nfound %q, want %q", src, got, want)
		}
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func runes(s string) int { return utf8.RuneCountInString(s) }
