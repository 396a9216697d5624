package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A new project builds, is formatted and vetted, its test passes, and what is
// generated in it is not stale.
func TestANewProjectPassesItsTest(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	run := func(args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		if code := Main(t.Context(), args, strings.NewReader(""), &out, &errs); code != exitOK {
			t.Fatalf("parley %v: exit %d\n%s%s", args, code, out.String(), errs.String())
		}
	}

	run("init", "example.org/agents/hello-2")

	t.Chdir("hello-2")
	run("gen", "--check", "greeting")
	run("check", "greeting")
	run("fmt", "--check", "greeting")
	command := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("go.sum", sums, 0o644); err != nil {
		t.Fatal(err)
	}
	if out := command("test", "-count=1", "-v", "./..."); !strings.Contains(out, "--- PASS: TestTheAgentGreets") {
		t.Errorf("the test of the project did not run:\n%s", out)
	}
	command("vet", "./...")
	if out, err := exec.CommandContext(t.Context(), "gofmt", "-l", ".").CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("not formatted: %s (%v)", out, err)
	}
}

func TestInitOverwritesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("hello", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"hello": "it is there already", "example.org/hello/v2": "it is there already",
		"../x": "is no path of a Go module", "a b": "is no path of a Go module", "": "is no path of a Go module", "/a/b": "is no path of a Go module",
		"go": "Go has another use", "github.com/parley-agents/parley": "Go has another use", "example.org/nul": "no name of a file on Windows", "x.": "no name of a file on Windows",
	} {
		var out, errs bytes.Buffer
		if code := Main(t.Context(), []string{"init", name}, strings.NewReader(""), &out, &errs); code != exitRefused || !strings.Contains(errs.String(), want) {
			t.Errorf("init %q: exit %d, %q, want %q", name, code, errs.String(), want)
		}
	}
}
