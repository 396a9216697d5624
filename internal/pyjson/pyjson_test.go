package pyjson_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
)

func TestTextIsKept(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `[]`, `{}`, `[1, 2.0, "x", [null], {"b": 1, "a": 2}]`,
		`9007199254740993`, `-123456789012345678901234567890`,
		`1.0`, `-0.0`, `1e+16`, `1e-05`, `0.0001`, `1000000000000000.0`, `5e-324`, `1.7976931348623157e+308`,
		`NaN`, `Infinity`, `-Infinity`,
		`"\u00e9 \ud83e\udd16 \" \\ / \b\f\n\r\t\u0000\u007f"`,
		`"\ud800"`, `"\udc00\ud800"`, `"\ud800A"`,
	} {
		v, err := pyjson.Parse([]byte(text), nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := string(pyjson.Append(nil, v, pyjson.Spaced)); got != text {
			t.Errorf("%s comes back as %s", text, got)
		}
	}
}

func TestSpellingsBecomeOne(t *testing.T) {
	for text, want := range map[string]string{
		"-0":                                "0",
		"1E5":                               "100000.0",
		"1e400":                             "Infinity",
		" [ 1 ,\t2\r\n] ":                   "[1, 2]",
		`{"a":1,"b":2,"a":3}`:               `{"a": 3, "b": 2}`,
		`"é\/"`:                             `"\u00e9/"`,
		`"\u00E9"`:                          `"\u00e9"`,
		strings.Repeat(`{"a":`, 3) + "1}}}": `{"a": {"a": {"a": 1}}}`,
	} {
		v, err := pyjson.Parse([]byte(text), nil)
		if got := string(pyjson.Append(nil, v, pyjson.Spaced)); err != nil || got != want {
			t.Errorf("%q is written %s (%v), want %s", text, got, err, want)
		}
	}
}

func TestStyles(t *testing.T) {
	v, err := pyjson.Parse([]byte(`{"b": ["é\u007f\n<"], "a": {"z": 1, "y": 1.0}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		style pyjson.Style
		want  string
	}{
		{"Spaced", pyjson.Spaced, `{"b": ["\u00e9\u007f\n<"], "a": {"z": 1, "y": 1.0}}`},
		{"Sorted", pyjson.Sorted, `{"a": {"y": 1.0, "z": 1}, "b": ["\u00e9\u007f\n<"]}`},
		{"Compact", pyjson.Compact, "{\"b\":[\"é\x7f\\n<\"],\"a\":{\"z\":1,\"y\":1.0}}"},
		{"CompactSorted", pyjson.CompactSorted, `{"a":{"y":1.0,"z":1},"b":["\u00e9\u007f\n<"]}`},
	} {
		if got := string(pyjson.Append(nil, v, tc.style)); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestWhatIsNoJSONIsRefused(t *testing.T) {
	for _, text := range []string{
		"", " ", "{", "[", "]", "[1,]", "{,}", `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1,}`, "[1 2]", "nul", "truex", "01", "-", "1.", ".5", "1e", "+1",
		`"`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"\x01\"", "\"\n\"", "\ufeff{}", "'a'", "{}{}", "\xff", "\"\xed\xa0\x80\"", "1_000", "nan", "-NaN",
	} {
		if v, err := pyjson.Parse([]byte(text), nil); err == nil {
			t.Errorf("%q was read as %s", text, pyjson.Append(nil, v, pyjson.Spaced))
		} else if code := fault.CodeOf(err); code != fault.Malformed {
			t.Errorf("%q: code %s (%v)", text, code, err)
		}
	}
}

func TestErrorsSayWhere(t *testing.T) {
	_, err := pyjson.Parse([]byte(`{"a": [1, x]}`), nil)
	if want := "malformed: expected a value at byte 10 of the JSON text, found 'x'"; err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

func TestLimits(t *testing.T) {
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	for _, tc := range []struct {
		name, text string
		opts       *pyjson.Options
		code       fault.Code
	}{
		{"64 levels", deep[1 : len(deep)-1], nil, ""},
		{"65 levels", deep, nil, fault.TooLarge},
		{"65 levels, allowed", deep, &pyjson.Options{MaxDepth: 65}, ""},
		{"a million levels", strings.Repeat("[", 1e6), nil, fault.TooLarge},
		{"4300 digits", strings.Repeat("1", 4300), nil, ""},
		{"4301 digits", strings.Repeat("1", 4301), nil, fault.TooLarge},
		{"a key twice", `{"a":1,"a":2}`, &pyjson.Options{UniqueKeys: true}, fault.Malformed},
		{"half a pair", `"\ud800"`, &pyjson.Options{NoSurrogateHalfs: true}, fault.Malformed},
		{"a whole pair", `"\ud83e\udd16"`, &pyjson.Options{NoSurrogateHalfs: true}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := pyjson.Parse([]byte(tc.text), tc.opts); fault.CodeOf(err) != tc.code {
				t.Errorf("code %q (%v), want %q", fault.CodeOf(err), err, tc.code)
			}
		})
	}
}

// A hostile object of many keys must not cost the square of its size: a minute
// would be an explosion, the work takes a fraction of a second.
func TestManyKeysAreReadInTime(t *testing.T) {
	var b strings.Builder
	b.WriteByte('{')
	for i := range 200_000 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"k` + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + itoa(i) + `":1`)
	}
	b.WriteByte('}')
	start := time.Now()

	_, err := pyjson.Parse([]byte(b.String()), &pyjson.Options{UniqueKeys: true})

	if err != nil || time.Since(start) > time.Minute {
		t.Errorf("took %v (%v)", time.Since(start), err)
	}
}

func itoa(i int) string {
	if i < 10 {
		return string(rune('0' + i))
	}
	return itoa(i/10) + itoa(i%10)
}

// Members behave alike below and above the size from which they are indexed.
func TestMembersAreSetOnceInOrder(t *testing.T) {
	for _, n := range []int{1, 15, 16, 17, 1000} {
		m := pyjson.MembersOf(pyjson.OfMembers(pyjson.Member{Key: "k0", Value: pyjson.Of("old")}))
		for i := range n {
			m.Set("k"+itoa(i), pyjson.Of("v"+itoa(i)))
		}
		m.Set("k"+itoa(n/2), pyjson.Of("new"))

		object := m.Object()
		if len(object.Members) != n || object.Members[n-1].Key != "k"+itoa(n-1) {
			t.Fatalf("%d members: %d, the last %q", n, len(object.Members), object.Members[n-1].Key)
		}
		if v, ok := m.Get("k" + itoa(n/2)); !ok || v.Text != "new" || object.Members[n/2].Value.Text != "new" {
			t.Errorf("%d members: set again = %v (%t)", n, v.Text, ok)
		}
		if v, ok := m.Get("absent"); ok {
			t.Errorf("%d members: an absent key has the value %v", n, v)
		}
	}
}

func TestBrief(t *testing.T) {
	for text, want := range map[string]string{
		"short":                        "short",
		strings.Repeat("x", 64):        strings.Repeat("x", 64),
		strings.Repeat("x", 65):        strings.Repeat("x", 64) + "…",
		strings.Repeat("é", 1e6):       strings.Repeat("é", 32) + "…",
		"x" + strings.Repeat("é", 1e6): "x" + strings.Repeat("é", 31) + "…",
		strings.Repeat("\x80", 100):    "…",
	} {
		if got := pyjson.Brief(text); got != want {
			t.Errorf("Brief(%.80q) = %q, want %q", text, got, want)
		}
	}
}

func TestFloatsReadBack(t *testing.T) {
	for _, f := range []float64{0, math.Copysign(0, -1), 1, 0.1, 1e15, 1e16, 123456789012345680, 1e22, 1e-4, 1e-5, math.MaxFloat64, math.SmallestNonzeroFloat64, 1.0 / 3} {
		v, err := pyjson.Parse(pyjson.AppendFloat(nil, f), nil)
		if err != nil || v.Kind != pyjson.Float || v.Num != f || math.Signbit(v.Num) != math.Signbit(f) {
			t.Errorf("%g is written %s and read as %v (%v)", f, pyjson.AppendFloat(nil, f), v.Num, err)
		}
	}
}

// FuzzParse checks that no input crashes the parser and that what it accepts is
// written in a form that it reads as the same value, in every style.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a": [1, 2.5e-7, NaN, "\ud800\u00e9", null, true]}`, `{"a":1,"a":{}}`, "[[[]]]", "-Infinity", "1e999", "\"\xed\xa0\x80\""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := pyjson.Parse(data, nil)
		if err != nil {
			return
		}
		for _, style := range []pyjson.Style{pyjson.Spaced, pyjson.Sorted, pyjson.CompactSorted} {
			text := pyjson.Append(nil, v, style)
			again, err := pyjson.Parse(text, nil)
			if err != nil {
				t.Fatalf("%q is written %q, which is refused: %v", data, text, err)
			}
			if second := pyjson.Append(nil, again, style); string(second) != string(text) {
				t.Fatalf("%q is written %q, then %q", data, text, second)
			}
		}
	})
}
