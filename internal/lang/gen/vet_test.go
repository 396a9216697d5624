package gen_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/internal/lang/gen"
)

// The Go of the examples, and of sources whose names clash, compiles and is
// vetted.
func TestGeneratedGoIsVetted(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	write := func(name string, text []byte) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", []byte("module generated\n\ngo 1.26.0\n\nrequire github.com/parley-agents/parley v0.0.0\n\nreplace github.com/parley-agents/parley => "+root+"\n"))
	write("go.sum", read(t, filepath.Join(root, "go.sum")))
	for _, pattern := range []string{"testdata/examples/*.parley", "testdata/names/*.parley"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range files {
			p := plan(t, filepath.ToSlash(name), read(t, name))
			made, problems := gen.Emit("go", p)
			if len(problems) > 0 {
				t.Errorf("%s:\n%s", name, problems)
			}
			for _, f := range made {
				write(filepath.Join(p.Package, f.Path), f.Text)
			}
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "vet", "./...")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// FuzzEmit checks that no source that is right makes a generator panic, and that
// what it writes is the same each time. Go that does not parse panics.
func FuzzEmit(f *testing.F) {
	for _, pattern := range []string{"testdata/*/*.parley", "everything/*.parley", "../../../protocol/*/*.parley"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range files {
			f.Add(read(f, name))
		}
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		result := check.File("source.parley", source, check.Options{})
		if result.Diagnostics.HasErrors() {
			return
		}
		p := gen.NewPlan(result, 0, source)
		for _, target := range gen.Targets() {
			emitted(t, target, p)
		}
	})
}
