package interop

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
)

// TestOddScalars holds every odd value against every scalar type: what the
// library takes, what it makes of it, what it refuses.
func TestOddScalars(t *testing.T) {
	o := startOracle(t)
	values := oddValues()
	for i, s := range scalars {
		t.Run(s.python, func(t *testing.T) {
			o.t = t
			r := record(fmt.Sprintf("Scalar%d", i), field("x", s.kind))
			source := "class " + r.Name + "(Model):\n    x: " + s.python + " = Field(...)\n"
			ask[description](o, map[string]any{"op": "model", "source": source, "names": []string{r.Name}})
			var payloads []string
			for j, v := range values {
				if j >= len(oddTexts) && j%count(17, 1) != 0 {
					continue
				}
				payloads = append(payloads, text(pyjson.OfMembers(pyjson.Member{Key: "x", Value: v})))
			}
			taken, reader := 0, newReader(t, r)
			for j, verdict := range parseInPython(o, r.Name, payloads) {
				reader.compare(t, payloads[j], verdict, source)
				if verdict.OK {
					taken++
				}
			}
			t.Logf("%d values read alike, %d of them taken", len(payloads), taken)
		})
	}
	o.t = t
}

// oddValues are values at the edges of what the library takes for numbers, times
// and the rest.
func oddValues() []pyjson.Value {
	var values []pyjson.Value
	texts := append([]string(nil), oddTexts...)
	for _, day := range []string{"", "2026-01-02", "2026-1-2", "2026-13-01", "2023-02-29", "2024-02-29", "0000-01-01", "0001-01-01", "9999-12-31", "26-01-02", "12026-01-02", "2026/01/02", "٢٠٢٦-01-02"} {
		for _, between := range []string{"T", " ", "t", "", "  "} {
			for _, clock := range []string{"", "03:04", "3:4", "03:04:05", "3:4:5", "23:59:59.999999", "03:04:05.1", "03:04:05.1234567", "03:04:05.1234567890123", "24:00", "23:60", "23:59:60", "03:04:05,5", "0304"} {
				for _, offset := range []string{"", "Z", "z", "+00:00", "+0530", "-07", "+05:3", "+23:59", "+24:00", "-23:60", "+5:30", " +00:00", "\n"} {
					texts = append(texts, day+between+clock+offset)
				}
			}
		}
	}
	for _, sign := range []string{"", "-", "+", " ", "--"} {
		for _, number := range []string{
			"0", "1", "00", "007", "1.", ".1", "1.0", "1e3", "1E-3", "1e", "e1", "1_0", "1_", "1__0", "0x1", "1,0", "1 0", "inf", "nan", "INFINITY", "snan", "1e999", "1e-999", "９", "1٣", "1e6145", "1e6144",
			"P1D", "P1DT2H3M4S", "PT0.5S", "P1.5D", "P", "PT", "P1W", "1:02", "1:02:03", "1:02:03.5", "1 1:02:03", "1 day, 1:02:03", "2 days 1:02:03", "1 days", "25:61:61", "1:02:03.1234567", "999999999 00:00:00", "1000000000 00:00:00",
			"86399", "86400", "20000000000", "20000000001", "253402300799", "253402300800", "1e20", "3e20", "4e20", "62135596800", "62135596801",
		} {
			texts = append(texts, sign+number, sign+number+" ")
		}
	}
	for _, text := range texts {
		values = append(values, pyjson.Of(text))
	}
	for _, digits := range []string{"0", "1", "-1", "2", "86400", "20000000000", "20000000001", "-20000000001", "253402300799", "253402300800", "9223372036854775808", "300000000000000000000", "400000000000000000000"} {
		values = append(values, pyjson.OfInt(digits))
	}
	for _, text := range []string{"0.0", "-0.0", "1.0", "0.5", "-0.5", "1e-07", "86399.9999996", "1.0000005", "2.5000005", "1e16", "1e300", "NaN", "Infinity", "-Infinity", "1700000000.123456", "1700000000123.4567", "-1.5"} {
		values = append(values, parseText(spec.JSON(text)))
	}
	for _, text := range []string{"null", "true", "false", "[]", "{}", "[1]", `["a"]`, `{"a": 1}`} {
		values = append(values, parseText(spec.JSON(text)))
	}
	return values
}

// oddContainers are values that Python takes for lists and objects, or does not.
var oddContainers = []spec.JSON{
	"[]", "{}", `""`, `" "`, `"ab"`, `"abc"`, "null", "5", "true", "1.0", "1.5", `"1"`, `"a"`, `"x"`, `"light"`, `"1.0"`, "2", "0", "false",
	`["ab"]`, `["abc"]`, `["a", "b"]`, `["é1"]`, `["1a", "1b"]`, `[["a", 1]]`, `[["1", 1]]`, `[["1", 1], [" 1", 2]]`, `[[1, "x"]]`, `[[1, 2]]`, `[[null, 1]]`, `[[true, 1]]`, `[[1.5, 1]]`,
	`[{"a": 1, "b": 2}]`, `[{"a": 1}]`, `[[["a"], 1]]`, `[[{}, 1]]`, `[[1, 2, 3]]`, `[[]]`, `[{}]`, `[""]`, `[5]`, `[1, 2]`, `[1, "2"]`, `["1", 2]`, `[1, 1.0, true]`, `[true, 1]`, `["1", "1"]`, `[null]`,
	`[null, null]`, `["x", null]`, `[1, null]`, `[1.9, 2.1]`, `["a", 1, 2.5]`, `[NaN, NaN]`, `[[1], [1]]`, `[[1, "a"], [2, "b"]]`,
	`{"1": 1, "01": 2}`, `{"1": 1, " 1": 2, "1.0": 3}`, `{"a": 1}`, `{"a": "1", "b": 2.7}`, `{"a": null}`, `{"a": 1, "unknown": 2}`, `{"a": "x"}`, `{"A": 1}`, `{"true": 1, "yes": 2}`, `{"": 1}`, `{"a": {"a": 1}}`, `{"a": [["a", 1]]}`,
	`[["a", [["a", 1]]]]`, `{"one": 1, "1": 2}`, `{"light": 1}`, `{"1": "x", "7": "y"}`, `{"1": "x", "1.0": "y"}`,
}

const containerClasses = `
class Shade(Enum):
    light = "light"
    dark = "dark"
class Rank(IntEnum):
    low = 1
    high = 2
class Word(str, Enum):
    one = "one"
class Small(Model):
    a: int = 1
class Same(Enum):
    one = 1
    yes = "x"
`

// containerTypes are types of the classes above, in Python and in Go.
func containerTypes() []containerType {
	same := &spec.Enum{Name: "Same", Values: []spec.JSON{"1", `"x"`}}
	word := &spec.Enum{Name: "Word", Base: spec.String, Values: []spec.JSON{`"one"`}}
	plain := record("Small", field("a", spec.Int, byDefault("1")))
	return []containerType{
		{"List[int]", listOf(spec.Int)}, {"List[str]", listOf(spec.String)}, {"List[Any]", listOf(spec.Any)}, {"List[List[int]]", listOf(listOf(spec.Int))},
		{"List[Optional[int]]", listOf(maybe(spec.Int))}, {"Tuple[int, str]", tupleOf(spec.Int, spec.String)}, {"Tuple[()]", tupleOf()},
		{"Set[int]", setOf(spec.Int)}, {"Set[str]", setOf(spec.String)}, {"Set[float]", setOf(spec.Float)}, {"Set[bool]", setOf(spec.Bool)},
		{"Dict[str, int]", mapOf(spec.Int)}, {"Dict[int, str]", &spec.Map{Key: spec.Int, Value: spec.String}}, {"Dict[float, int]", &spec.Map{Key: spec.Float, Value: spec.Int}},
		{"Dict[bool, int]", &spec.Map{Key: spec.Bool, Value: spec.Int}}, {"Dict[Word, Any]", &spec.Map{Key: word, Value: spec.Any}}, {"Dict[Rank, Any]", &spec.Map{Key: rank, Value: spec.Any}},
		{"dict", &spec.Map{Key: spec.Any}}, {"Dict[str, Small]", mapOf(plain)}, {"Small", plain}, {"List[Small]", listOf(plain)}, {"Union[Small, int]", union(plain, spec.Int)},
		{"Shade", shade}, {"Rank", rank}, {"Same", same}, {"List[Same]", listOf(same)}, {"Optional[Rank]", maybe(rank)},
		{`Literal["a", 1]`, a1}, {`Literal[1, True]`, literal("1", "true")}, {`Literal[True, 1]`, literal("true", "1")}, {`Literal["a", None]`, literal(`"a"`, "null")}, {"Literal[None]", literal("null")},
		{`Literal[1, 2.0, "2"]`, literal("1", "2.0", `"2"`)}, {"None", spec.Null}, {"List[None]", listOf(spec.Null)},
		{"Union[int, str]", union(spec.Int, spec.String)}, {"Union[str, int]", union(spec.String, spec.Int)}, {"Union[bool, float, str]", union(spec.Bool, spec.Float, spec.String)},
		{"Union[List[int], Dict[str, int], str]", union(listOf(spec.Int), mapOf(spec.Int), spec.String)}, {"Union[Decimal, UUID, bytes]", union(spec.Decimal, spec.UUID, spec.Bytes)},
		{"Optional[Union[Rank, Shade]]", union(rank, shade, spec.Null)}, {"conlist(int, min_items=1, max_items=2)", &spec.List{Item: spec.Int, Limits: spec.Limits{MinItems: new(1), MaxItems: new(2)}}},
	}
}

type containerType struct {
	python string
	typ    spec.Type
}

// TestOddContainers does the same for what is made of other types.
func TestOddContainers(t *testing.T) {
	o := startOracle(t)
	for i, tc := range containerTypes() {
		t.Run(tc.python, func(t *testing.T) {
			o.t = t
			f := field("x", tc.typ)
			f.Nullable = slices.ContainsFunc([]string{"Optional", "None"}, func(prefix string) bool { return strings.HasPrefix(tc.python, prefix) })
			r := record(fmt.Sprintf("Container%d", i), f)
			source := containerClasses + "class " + r.Name + "(Model):\n    x: " + tc.python + " = Field(...)\n"
			if python := ask[description](o, map[string]any{"op": "model", "source": source, "names": []string{r.Name}}); digest(t, r) != python.Digest {
				t.Errorf("digest = %s, want %s\n%s", digest(t, r), python.Digest, python.Schema)
			}
			var payloads []string
			for _, v := range oddContainers {
				payloads = append(payloads, `{"x": `+string(v)+`}`)
			}
			reader := newReader(t, r)
			for j, verdict := range parseInPython(o, r.Name, payloads) {
				reader.compare(t, payloads[j], verdict, source)
			}
		})
	}
	o.t = t
}
