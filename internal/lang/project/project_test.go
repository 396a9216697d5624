package project_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/lang/diag"
	"github.com/parley-agents/parley/internal/lang/project"
)

// in makes files in a folder of its own and goes there. A file is a name, a
// colon and its text.
func in(t *testing.T, files ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, file := range files {
		name, text, _ := strings.Cut(file, ":")
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func checkAll(t *testing.T, args ...string) *project.Result {
	t.Helper()
	sources, err := project.Find(args, &project.Input{Reader: strings.NewReader("type A = Strng"), Name: ""})
	if err != nil {
		t.Fatal(err)
	}
	result, err := project.Check(sources, project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func names(sources []project.Source) string {
	var all []string
	for _, s := range sources {
		all = append(all, s.Name)
	}
	return strings.Join(all, " ")
}

func TestFoldersAreSearched(t *testing.T) {
	in(t, "b/two.parley:", "a.parley:", "b/.git/hidden.parley:", "node_modules/x.parley:", "b/notes.txt:type A = Int",
		"plain.md:# no code\n", "page.md:```parley\nbroken\n```\n", "go.md:```\ntype A struct {\n```\n", "unmarked.md:```\ntype A = Int\n```\n", "with.markdown:~~~ dsl\ntype A = Int\n~~~\n")
	for args, want := range map[string]string{
		".":                                    "a.parley b/two.parley page.md unmarked.md with.markdown",
		"b":                                    "b/two.parley",
		"b a.parley b/":                        "b/two.parley a.parley",
		"go.md b/.git":                         "go.md b/.git/hidden.parley",
		"./a.parley - -":                       "a.parley <stdin>",
		"a.parley ../" + base(t) + "/a.parley": "a.parley ../" + base(t) + "/a.parley",
	} {
		sources, err := project.Find(strings.Fields(args), &project.Input{Reader: strings.NewReader("")})
		if err != nil || names(sources) != want {
			t.Errorf("%s: found %s (%v), want %s", args, names(sources), err, want)
		}
	}
}

func base(t *testing.T) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Base(folder)
}

func TestLinksAreFollowedToFilesOnly(t *testing.T) {
	in(t, "real/a.parley:", "other/b.parley:")
	for link, target := range map[string]string{"real/c.parley": "../other/b.parley", "real/up.parley": "..", "real/loop": "../real", "link": "real"} {
		if err := os.Symlink(target, link); err != nil {
			t.Skip(err)
		}
	}
	for args, want := range map[string]string{"real": "real/a.parley real/c.parley", "link": "link/a.parley link/c.parley", "link/c.parley": "link/c.parley"} {
		sources, err := project.Find([]string{args}, nil)
		if err != nil || names(sources) != want {
			t.Errorf("%s: found %s (%v), want %s", args, names(sources), err, want)
		}
	}
	if err := os.Symlink("nowhere", "real/lost.parley"); err != nil {
		t.Fatal(err)
	}
	if _, err := project.Find([]string{"real"}, nil); err == nil || !strings.Contains(err.Error(), "real/lost.parley") {
		t.Errorf("a link to nowhere: %v", err)
	}
}

func TestWhatIsNotThereIsNamed(t *testing.T) {
	in(t, "empty/notes.txt:")
	for _, arg := range []string{"none.parley", "empty"} {
		if _, err := project.Find([]string{arg}, nil); err == nil || !strings.Contains(err.Error(), arg) {
			t.Errorf("%s: %v", arg, err)
		}
	}
}

func TestImportsAreBesideTheFileOrInRoots(t *testing.T) {
	in(t, "parley.toml:roots = [\"lib\"]", "lib/common.parley:type Price = Int", "lib/bad.parley:type X = Itn",
		"app/near.parley:type Near = Int",
		"app/shop.parley:import \"common.parley\"\nimport \"near.parley\"\ntype Item = { price: Price, near: Near }",
		"app/uses.parley:import \"bad.parley\"\ntype Y = X",
		"app/own/parley.toml:roots = [\"../near.parley\"]", "app/own/lost.parley:import \"common.parley\"")
	for args, want := range map[string]string{
		"app/shop.parley":                   "",
		"app/shop.parley lib/common.parley": "",
		"app/uses.parley":                   "lib/bad.parley:1:10: PAR1001",
		"app/own/lost.parley":               "app/own/lost.parley:1:8: PAR1020",
		"app lib":                           "app/own/lost.parley:1:8: PAR1020 lib/bad.parley:1:10: PAR1001",
	} {
		if got := places(checkAll(t, strings.Fields(args)...)); got != want {
			t.Errorf("%s: found %s, want %s", args, got, want)
		}
	}
	t.Chdir("app/own")
	if got := places(checkAll(t, "../shop.parley")); got != "" {
		t.Errorf("from below: found %s", got)
	}
}

func places(r *project.Result) string {
	var all []string
	for _, d := range r.Diagnostics {
		place, _, _ := strings.Cut(d.String(), " "+d.Severity.String())
		all = append(all, place)
	}
	return strings.Join(all, " ")
}

const unbounded = `protocol P { roles a, b
message ask: request {} message yes: response {}
dialogue { initiates ask by a; ask -> yes; yes -> []; terminates yes } }`

func TestSeveritiesAreThoseOfTheProject(t *testing.T) {
	for toml, want := range map[string]string{
		"":                                    "",
		"[severities]\nPAR2140 = \"warning\"": "x.parley:3:32: PAR2140 warning",
		"[severities]\nPAR2140 = \"error\"":   "x.parley:3:32: PAR2140 error",
		"[severities]\nPAR2140 = \"off\"":     "",
		"[severities]\nPAR2142 = \"note\"":    "",
	} {
		in(t, "x.parley:"+unbounded, "parley.toml:"+toml)
		var got string
		for _, d := range checkAll(t, "x.parley").Diagnostics {
			got, _, _ = strings.Cut(d.String(), ": request")
		}
		if got != want {
			t.Errorf("%s\nfound %q, want %q", toml, got, want)
		}
	}
}

func TestAskingForAllStillLeavesOutWhatIsOff(t *testing.T) {
	in(t, "x.parley:"+unbounded, "off/x.parley:"+unbounded, "off/parley.toml:[severities]\nPAR2140 = \"off\"")
	sources, err := project.Find([]string{"."}, nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := project.Check(sources, project.Options{All: true})
	if err != nil || places(result) != "x.parley:3:32: PAR2140" {
		t.Errorf("found %v (%v)", result.Diagnostics, err)
	}
}

func TestMistakesInTheConfigurationAreNamed(t *testing.T) {
	for toml, want := range map[string]string{
		"rots = [\"x\"]":                     `parley.toml:1:1: unknown key "rots" (did you mean "roots"?); the keys are "roots" and the tables "severities" and "gen" (lang, out)`,
		"roots = \"x\"":                      "parley.toml:1:9: ",
		"roots = [":                          "parley.toml:1:",
		"[severities]\nPAR9999 = \"off\"":    `parley.toml: severities: there is no code "PAR9999"`,
		"[severities]\nPAR2140 = \"loud\"":   `parley.toml: severities: PAR2140 is "loud"; want "off", "note", "warning" or "error"`,
		"\n[severities]\nPAR2140 = 3":        "parley.toml:3:11: ",
		"[severities.deep]\nPAR2140 = \"x\"": "parley.toml:1:",
	} {
		in(t, "x.parley:"+unbounded, "parley.toml:"+toml)
		sources, _ := project.Find([]string{"x.parley"}, nil)
		if _, err := project.Check(sources, project.Options{}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", toml, err, want)
		}
	}
}

func TestASourceThatIsTooLargeIsAFinding(t *testing.T) {
	in(t, "large.parley:"+strings.Repeat("// \n", 3<<20))
	if got := places(checkAll(t, "large.parley")); got != "large.parley: PAR0010" {
		t.Errorf("found %s", got)
	}
}

func TestLinesOfAllThatWasRead(t *testing.T) {
	in(t, "a.parley:import \"b.parley\"\r\ntype A = B", "b.parley:type B = {\n  x: Itn\n}")
	result := checkAll(t, "a.parley", "-")
	for _, d := range result.Diagnostics {
		want := map[string]string{"b.parley": "  x: Itn", project.Stdin: "type A = Strng"}[d.Span.File]
		if got := result.Line(d.Span.File, d.Span.Start.Line); got != want {
			t.Errorf("%s: line %q, want %q", d, got, want)
		}
	}
	if len(result.Diagnostics) != 2 || result.Line("a.parley", 1) != `import "b.parley"` || result.Line("a.parley", 9) != "" {
		t.Errorf("found %v", result.Diagnostics)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add("roots = [\"a\"]\n[severities]\nPAR2140 = \"off\"")
	f.Add("[[severities]]")
	f.Add("roots = {")
	f.Fuzz(func(t *testing.T, toml string) {
		in(t, "x.parley:type A = Int", "parley.toml:"+toml)
		sources, err := project.Find([]string{"x.parley"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		result, err := project.Check(sources, project.Options{})
		if err != nil && !strings.HasPrefix(err.Error(), "parley.toml:") {
			t.Errorf("the error does not name the file: %v", err)
		}
		if err == nil && result.Diagnostics.HasErrors() {
			t.Errorf("found %v", diag.List(result.Diagnostics))
		}
	})
}
