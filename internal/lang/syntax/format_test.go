package syntax_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/lang/syntax"
)

var update = flag.Bool("update", false, "write the golden files of the formatter")

// Each case of testdata/format is a source; what it becomes is in the file with
// ".formatted" behind its name.
func TestCanonicalLayout(t *testing.T) {
	cases, err := filepath.Glob("testdata/format/*.parley")
	if err != nil || len(cases) == 0 {
		t.Fatalf("cases: %v, %d files", err, len(cases))
	}
	for _, name := range cases {
		t.Run(filepath.Base(name), func(t *testing.T) {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			checkFormat(t, src)
			file, _ := syntax.Parse(name, src)

			got := syntax.Format(file)

			if *update {
				if err := os.WriteFile(name+".formatted", got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name + ".formatted")
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("got\n%s\nwant (accept with -update)\n%s", got, want)
			}
		})
	}
}

func TestCommentsStayWithWhatTheyAreAbout(t *testing.T) {
	for _, tc := range []struct{ name, src, want string }{
		{"behind members", "enum E { A, // one\nBB // two\n}", "enum E {\n  A, // one\n  BB // two\n}\n"},
		{"behind a single member", "type A = { a: Int /* why */ }", "type A = {\n  a: Int /* why */\n}\n"},
		{"before the next", "type A = { a: Int, /* of b */ b: Int }", "type A = {\n  a: Int\n  /* of b */\n  b: Int\n}\n"},
		{"variants", "type A = B // b\n | C // c", "type A =\n  | B // b\n  | C // c\n"},
		{"of the whole", "type A = B\n | C // all", "type A = B | C // all\n"},
		{"at the end of a block", "type A = {\n a: Int\n\n // more later\n}", "type A = {\n  a: Int\n\n  // more later\n}\n"},
		{"nowhere else to go", "type /* why */ A = Int", "/* why */\ntype A = Int\n"},
		{"license apart from the first item", "// license\n\n\n\n/// doc\ntype A = Int", "// license\n\n/// doc\ntype A = Int\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file, found := syntax.Parse("x", []byte(tc.src))
			if len(found) > 0 {
				t.Fatal(found)
			}
			if got := string(syntax.Format(file)); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

func TestDocs(t *testing.T) {
	file, found := syntax.Parse("x", []byte("// not a doc\n/// What it is.\n///\n/// And why.\ntype A = Int // ignored\ntype B = Int // Short."))
	if len(found) > 0 {
		t.Fatal(found)
	}
	var got []string
	for _, item := range file.Items {
		got = append(got, item.Base().Doc())
	}
	if want := "What it is.\n\nAnd why.|Short."; strings.Join(got, "|") != want {
		t.Errorf("docs %q, want %q", strings.Join(got, "|"), want)
	}
}

func TestQuote(t *testing.T) {
	for _, s := range []string{"", "plain", `"\`, "a\nb\tc\r\x01", "é\U0001F600"} {
		file, found := syntax.Parse("x", []byte("type A = "+syntax.Quote(s)))
		if len(found) > 0 {
			t.Fatal(found)
		}
		if got := file.Items[0].(*syntax.TypeDecl).Type.(*syntax.LiteralType).Value.Value; got != s {
			t.Errorf("Quote(%q) means %q", s, got)
		}
	}
}
