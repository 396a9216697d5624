package syntax_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/lang/syntax"
)

// seeds are the examples and small sources of every construct.
func seeds(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob("testdata/examples/*")
	if err != nil || len(files) == 0 {
		tb.Fatalf("examples: %v, %d files", err, len(files))
	}
	list := slices.Clone(oddSources)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, string(text))
	}
	return list
}

// oddSources are legal, and as hard on the printer as it gets.
var oddSources = []string{
	"",
	"// only a comment",
	"/* a */ parley /* b */ \"1\" /* c */ ; // d\n// e\n",
	"package a.`b-c`.d version \"1.0\" import \"x.parley\" as y",
	"type A = /* 1 */ { /* 2 */ } // 3",
	"type A = { a: Int /* 1 */, /* 2 */ b: Int /* 3 */ /* 4 */ // 5\n // 6\n}",
	"type A = { a: Int // 1\n // 2\n , // 3\n b: Int }",
	"type A =\n// 0\n | A // 1\n // 2\n | /* 3 */ B // 4\n// 5",
	"type A = B | C // of the type",
	"type /* 0 */ A = // 1\n | /* 2 */ B\n | /* 3 */ C",
	"type A = // 1\n | B",
	"type A = (B | C)? | ({ a: Int, b: (Int | Null) } | List<(A | B)>)",
	"type A = { @x a: Int @y(1) @z.q(b: [1, {c: d, \"e\\n\": `f`}], 5s)\n @w // 1\n /* 2 */ @v\n b: Int = null\n @tail // 3\n}",
	"type A = { ...B; reserved a, 1, 2..3; reserved: Int, reserved x }",
	"type A = \"\"\"\nx\"\"\" | 3 | -1.5e3 | true | \"\\u00e9\\\"\"",
	"open enum E { A, B = 1 /* 1 */; reserved C, D; reserved, @x F // 2\n // 3\n}",
	"message a {} message b: inform from x, y { } message c from [] = List<{ a: Int }>(minItems: 1)",
	"annotation x.y(a: Int = 3, b: String | Null) on type, field",
	"@a @b(c) // 1\n// 2\nprotocol P version \"1\" extends q.P { roles a[2], b[1..*], c[1..3] flow {} dialogue {} }",
	"protocol P { dialogue { initiates a by b, c; timeout -> x, y? by a within 3s else z timeout 5s keep_terminal true; outcome x: [timeout] outcome y: timeout x, y outcome z: a after b; x -> []; terminates [] } }",
	"protocol P { flow { a -> b, c: d within 3s; end -> a: x; choice at a { end x } or { end a -> b: c } par { do P(a, b) } and { loop L { continue L } // 1\n } end } }",
	"type VeryLongNameOfATypeThatGoesOn = AlternativeNumberOne | AlternativeNumberTwo | AlternativeNumberThree | Four // 1",
	"type A = { a: Int } custom B \"x\" // 1\ncustom C \"\"\"\n  y\n\"\"\" // 2",
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add([]byte(s))
	}
	for _, c := range mistakes {
		f.Add([]byte(c.src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 1<<16 {
			t.Skip()
		}
		for _, name := range []string{"x.parley", "x.md"} {
			file, found := syntax.Parse(name, src)
			if file == nil || file.Broken != (len(found) > 0) {
				t.Fatalf("Broken = %t with %d mistakes", file.Broken, len(found))
			}
			lines := strings.Count(string(src), "\n") + 1
			for _, d := range found {
				if s := d.Span; s.Start.Offset > s.End.Offset || s.End.Offset > len(src) || s.Start.Line < 1 || s.Start.Line > lines || s.Start.Column < 1 {
					t.Fatalf("%v is not a place in the source", d)
				}
			}
		}
	})
}

func FuzzFormat(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 1<<14 {
			t.Skip()
		}
		checkFormat(t, src)
	})
}

// checkFormat formats a source without mistakes and proves that nothing is lost.
func checkFormat(t *testing.T, src []byte) {
	t.Helper()
	file, found := syntax.Parse("x.parley", src)
	if len(found) > 0 {
		if got := syntax.Format(file); string(got) != string(src) {
			t.Fatalf("a broken source was changed to %q", got)
		}
		return
	}
	once := syntax.Format(file)
	again, found := syntax.Parse("x.parley", once)
	if len(found) > 0 {
		t.Fatalf("formatted source has mistakes:\n%s%s", once, found)
	}
	if before, after := shape(file), shape(again); before != after {
		t.Fatalf("tree differs\n--- source\n%s\n--- formatted\n%s\n--- first difference\n%s", src, once, difference(before, after))
	}
	if before, after := commentsOf(file), commentsOf(again); !slices.Equal(before, after) {
		t.Fatalf("comments %q became %q in\n%s", before, after, once)
	}
	if twice := syntax.Format(again); string(twice) != string(once) {
		t.Fatalf("formatted once:\n%s\ntwice:\n%s", once, twice)
	}
}

func difference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			from := max(0, i-6)
			return strings.Join(x[from:i], "\n") + "\n- " + x[i] + "\n+ " + y[i]
		}
	}
	return "one is longer"
}
