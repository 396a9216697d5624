package gen_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// Programs that break a protocol do not compile, and the compiler says why in
// words that a person understands. Each file of testdata/compile is one program.
func TestProgramsThatBreakTheRulesDoNotCompile(t *testing.T) {
	files, err := filepath.Glob("testdata/compile/*.txt")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d programs (%v)", len(files), err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	replace := make(map[string]string)
	want := make(map[string]string)
	args := []string{"build", "-o", os.DevNull, "-overlay", filepath.Join(t.TempDir(), "overlay.json")}
	for _, name := range files {
		archive := txtar.Parse(read(t, name))
		if len(archive.Files) != 2 || archive.Files[1].Name != "want" {
			t.Fatalf("%s: want main.go and want", name)
		}
		program := strings.TrimSuffix(filepath.Base(name), ".txt")
		path := filepath.Join(t.TempDir(), "main.go")
		if err := os.WriteFile(path, archive.Files[0].Data, 0o644); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(here, "compiled", program, "main.go")] = path
		want[program] = strings.TrimSpace(string(archive.Files[1].Data))
		args = append(args, "./compiled/"+program)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(args[4], overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	out, _ := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
	for program, text := range want {
		_, said, failed := strings.Cut(string(out), "# github.com/parley-agents/parley/internal/lang/gen/compiled/"+program+"\n")
		said, _, _ = strings.Cut(said, "\n# ")
		switch {
		case text == "" && failed:
			t.Errorf("%s does not compile: %s", program, said)
		case text != "" && (!strings.Contains(said, text) || strings.Count(strings.TrimSpace(said), "\n") > 0):
			t.Errorf("%s: the compiler says\n%s\nwant only\n%s", program, said, text)
		}
	}
	if t.Failed() {
		t.Logf("all of it:\n%s", out)
	}
}
