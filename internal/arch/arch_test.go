// Package arch holds the architecture as tests: who may import whom, what stays
// pure, how long a file may be, and that docs/architecture.md says the same.
//
// The tests read source files instead of asking the go command, so that files
// for other systems count too, and so that a cached result is dropped when any
// of them changes.
package arch

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module   = "github.com/parley-agents/parley"
	root     = "../.."
	maxLines = 800
)

// A rule says what a package may do.
type rule struct {
	imports string // the packages of this module it may import; "*" for all
	pure    bool   // no I/O, no clock, no goroutine
}

// rules is the architecture. Adding a package or an import to it is a design
// decision; do not make one to get a build to pass. Imports of tests are free.
// "." is package parley.
var rules = map[string]rule{
	".":                            {imports: "dialogue fault identity spec wire/uagents"},
	"assistant":                    {imports: ". fault identity llm protocol/chat protocol/health protocol/llm quota"},
	"bench":                        {imports: "*"},
	"cmd/parley":                   {imports: "internal/cli"},
	"dialogue":                     {imports: "fault spec", pure: true},
	"directory":                    {imports: ". fault identity spec wire/uagents"},
	"examples/assistant":           {imports: "assistant identity llm run"},
	"examples/client":              {imports: ". identity protocol/chat protocol/llm run"},
	"examples/chatpair":            {imports: ". protocol/chat run"},
	"examples/hello":               {imports: ". run"},
	"examples/pingpong":            {imports: ". run"},
	"examples/pythonpartner":       {imports: ". run"},
	"fault":                        {pure: true},
	"identity":                     {imports: "fault", pure: true},
	"internal/arch":                {},
	"internal/cli":                 {imports: "*"},
	"internal/lang/gen":            {imports: "internal/lang/aea internal/lang/check internal/lang/diag internal/lang/document internal/lang/syntax internal/pyjson spec", pure: true},
	"internal/lang/gen/everything": {imports: ". identity spec wire/uagents"},
	"internal/llamatest":           {},
	"internal/lang/aea":            {imports: "fault internal/lang/syntax spec", pure: true},
	"internal/lang/check":          {imports: "internal/lang/diag internal/lang/syntax internal/lang/verify internal/pyjson spec", pure: true},
	"internal/lang/diag":           {pure: true},
	"internal/lang/diagram":        {imports: "spec", pure: true},
	"internal/lang/document":       {imports: "internal/lang/check internal/lang/diagram internal/lang/syntax spec", pure: true},
	"internal/lang/project":        {imports: "internal/lang/check internal/lang/diag internal/lang/syntax"},
	"internal/lang/syntax":         {imports: "internal/lang/diag", pure: true},
	"internal/lang/uagents":        {imports: "internal/lang/check internal/lang/diag internal/lang/syntax internal/lang/verify spec", pure: true},
	"internal/lang/verify":         {imports: "spec", pure: true},
	"internal/pyjson":              {imports: "fault", pure: true},
	"internal/talk":                {imports: ". fault identity protocol/chat run spec wire/uagents"},
	"internal/talk/screen":         {imports: ". identity internal/talk run"},
	"internal/vectors":             {},
	"interop":                      {imports: "*"},
	"keystore":                     {imports: "fault identity"},
	"llm":                          {imports: "fault"},
	"protocol/aeadefault":          {imports: "spec wire/uagents"},
	"protocol/chat":                {imports: ". fault identity internal/pyjson spec wire/uagents"},
	"protocol/fipa":                {imports: "spec wire/uagents"},
	"protocol/health":              {imports: ". identity spec wire/uagents"},
	"protocol/http":                {imports: ". identity spec wire/uagents"},
	"protocol/llm":                 {imports: ". fault identity spec wire/uagents"},
	"protocol/messaging":           {imports: ". identity spec wire/uagents"},
	"protocol/oefsearch":           {imports: "spec"},
	"protocol/payment":             {imports: ". identity spec wire/uagents"},
	"protocol/signing":             {imports: "spec"},
	"protocol/state_update":        {imports: ". identity spec wire/uagents"},
	"protocol/subscriptions":       {imports: ". identity spec wire/uagents"},
	"protocol/tac":                 {imports: "spec wire/uagents"},
	"quota":                        {imports: ". fault identity spec"},
	"run":                          {imports: ". directory fault identity keystore quota store/sqlite transport/parleyhttp"},
	"spec":                         {imports: "fault internal/pyjson", pure: true},
	"store/memory":                 {imports: ". fault identity"},
	"store/sqlite":                 {imports: ". fault identity"},
	"store/storetest":              {imports: ". fault identity"},
	"transport/parleyhttp":         {imports: ". fault identity internal/pyjson"},
	"transport/parleyhttp/replay":  {imports: "internal/vectors"},
	"transport/parleymem":          {imports: ". fault"},
	"transport/transporttest":      {imports: ". fault"},
	"wire/uagents":                 {imports: "fault identity internal/pyjson spec", pure: true},
}

// impure are the packages of the standard library by which a package would
// reach out of its arguments and results.
var impure = []string{"database/sql", "log", "net", "net/http", "os", "os/exec", "os/signal", "syscall"}

// clock are the names of package time that read the clock or wait for it.
var clock = []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"}

func TestEveryPackageHasARule(t *testing.T) {
	found := map[string]bool{}
	for _, f := range sources(t) {
		found[f.pkg] = true
	}

	for pkg := range found {
		if _, listed := rules[pkg]; !listed {
			t.Errorf("%s is new: say in rules what it may import", pkg)
		}
	}
	for pkg := range rules {
		if !found[pkg] {
			t.Errorf("%s is gone: remove it from rules", pkg)
		}
	}
}

func TestImports(t *testing.T) {
	for _, f := range sources(t) {
		allowed := strings.Fields(rules[f.pkg].imports)
		if f.test || slices.Contains(allowed, "*") {
			continue
		}
		for _, imported := range f.imports() {
			if pkg, ours := local(imported); ours && !slices.Contains(allowed, pkg) {
				t.Errorf("%s: %s must not import %s", f.name, f.pkg, pkg)
			}
		}
	}
}

func TestPurePackagesStayPure(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || !rules[f.pkg].pure {
			continue
		}
		for _, imported := range f.imports() {
			if slices.Contains(impure, imported) {
				t.Errorf("%s: %s is pure and must not import %s", f.name, f.pkg, imported)
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: %s is pure and must not start goroutines", f.place(n), f.pkg)
			case *ast.SelectorExpr:
				if of, ok := n.X.(*ast.Ident); ok && of.Name == "time" && slices.Contains(clock, n.Sel.Name) {
					t.Errorf("%s: %s is pure and must not use time.%s", f.place(n), f.pkg, n.Sel.Name)
				}
			}
			return true
		})
	}
}

// A pure package is no purer than what it imports.
func TestPurePackagesImportPureOnes(t *testing.T) {
	for pkg, r := range rules {
		for imported := range strings.FieldsSeq(r.imports) {
			if r.pure && !rules[imported].pure {
				t.Errorf("%s is pure and must not be allowed to import %s, which is not", pkg, imported)
			}
		}
	}
}

func TestFilesStayReadable(t *testing.T) {
	for _, f := range sources(t) {
		if f.lines > maxLines && !strings.HasSuffix(f.name, ".gen.go") { // nobody edits what is generated
			t.Errorf("%s has %d lines, want at most %d: split it by subject", f.name, f.lines, maxLines)
		}
	}
}

// The page has one table whose first three columns are "package", "pure" and
// "may import"; its rows are the rules.
func TestPageSaysTheSame(t *testing.T) {
	const page = "docs/architecture.md"
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}

	documented := readTable(string(text))

	for pkg, want := range rules {
		got, listed := documented[pkg]
		if !listed {
			t.Errorf("%s lacks %s", page, pkg)
			continue
		}
		if !slices.Equal(strings.Fields(got.imports), strings.Fields(want.imports)) {
			t.Errorf("%s: %s may import %q, the rule says %q", page, pkg, got.imports, want.imports)
		}
		if got.pure != want.pure {
			t.Errorf("%s: %s pure = %v, the rule says %v", page, pkg, got.pure, want.pure)
		}
	}
	for pkg := range documented {
		if _, listed := rules[pkg]; !listed {
			t.Errorf("%s lists %s, which has no rule", page, pkg)
		}
	}
}

// readTable reads rows such as "| `spec` | pure | `fault` `internal/pyjson` | … |".
// Where a package may import all, the cell says "all".
func readTable(text string) map[string]rule {
	table := map[string]rule{}
	inside := false
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		switch {
		case len(cells) < 5:
			inside = false
		case strings.TrimSpace(cells[1]) == "package" && strings.TrimSpace(cells[3]) == "may import":
			inside = true
		case inside && !strings.HasPrefix(cells[1], "-"):
			imports := strings.Fields(strings.ReplaceAll(cells[3], "`", " "))
			if slices.Equal(imports, []string{"all"}) {
				imports = []string{"*"}
			}
			slices.Sort(imports)
			table[strings.Trim(cells[1], " `")] = rule{
				imports: strings.Join(imports, " "),
				pure:    strings.TrimSpace(cells[2]) == "pure",
			}
		}
	}
	return table
}

// local returns the folder of an imported package of this module. The root is ".".
func local(imported string) (pkg string, ours bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

// A source is one Go file of this module.
type source struct {
	name   string // relative to the root of the module
	pkg    string // folder of name
	test   bool
	lines  int
	syntax *ast.File
	files  *token.FileSet
}

func (s source) imports() []string {
	var paths []string
	for _, spec := range s.syntax.Imports {
		paths = append(paths, strings.Trim(spec.Path.Value, `"`))
	}
	return paths
}

func (s source) place(n ast.Node) token.Position {
	return s.files.Position(n.Pos())
}

// sources parses all Go files of the module: not those in testdata, in hidden
// folders or in modules of their own.
func sources(t *testing.T) []source {
	t.Helper()
	var found []source
	files := token.NewFileSet()
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			base := entry.Name()
			if base == "testdata" || name != "." && strings.HasPrefix(base, ".") || name != "." && exists(name, "go.mod") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		found = append(found, source{
			name:   name,
			pkg:    path.Dir(name),
			test:   strings.HasSuffix(name, "_test.go"),
			lines:  bytes.Count(text, []byte("\n")),
			syntax: syntax,
			files:  files,
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatal("no Go files found: are the tests run in their folder?")
	}
	return found
}

func exists(elem ...string) bool {
	_, err := os.Stat(filepath.Join(append([]string{root}, elem...)...))
	return err == nil
}
