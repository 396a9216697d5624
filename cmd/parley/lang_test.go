package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/cli"
	"github.com/parley-agents/parley/internal/lang/aea"
	"github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/internal/lang/diag"
)

// parleyIn runs a command in this process.
func parleyIn(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errors strings.Builder
	code = cli.Main(t.Context(), args, strings.NewReader(stdin), &out, &errors)
	return out.String(), errors.String(), code
}

// The protocols that this project speaks are right and laid out as all are.
func TestTheProtocolsOfThisProject(t *testing.T) {
	for _, args := range [][]string{{"check", "../../protocol/"}, {"fmt", "--check", "../../protocol/"}} {
		if stdout, stderr, code := parleyIn(t, "", args...); code != 0 || stdout+stderr != "" {
			t.Errorf("parley %s: exit code %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
		}
	}
}

// Every source of the language's description is judged by the binary as it was
// written down: examples pass, rejected ones fail, warned ones pass with a word.
func TestTheSourcesOfTheDescription(t *testing.T) {
	for folder, want := range map[string]struct {
		code       int
		severities string
	}{
		"examples": {0, ""}, "later": {0, ""}, "rejected": {1, "error"}, "warned": {0, "warning"},
	} {
		files, err := filepath.Glob("../../internal/lang/check/testdata/" + folder + "/*.parley")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %d files", folder, err, len(files))
		}
		for _, name := range files {
			stdout, stderr, code := parleyIn(t, "", "check", "--json", name)
			var found []struct{ File, Severity, Code string }
			if err := json.Unmarshal([]byte(stdout), &found); err != nil {
				t.Fatalf("%s: %v\n%s%s", name, err, stdout, stderr)
			}
			var severities []string
			for _, d := range found {
				if d.Severity != "note" {
					severities = append(severities, d.Severity)
				}
			}
			if code != want.code || strings.Join(severities, " ") != want.severities {
				t.Errorf("%s: exit code %d\n%s", name, code, stdout)
			}
		}
	}
}

// Every specification of the framework can be imported and checked, but the two
// copies that lack an identifier; t_protocol has a message that nobody can send.
func TestTheSpecificationsOfAEA(t *testing.T) {
	files, err := filepath.Glob("../../internal/lang/aea/testdata/specs/*.yaml")
	if err != nil || len(files) < 45 {
		t.Fatalf("%v, %d files", err, len(files))
	}
	for _, name := range files {
		source, stderr, code := parleyIn(t, "", "import", "aea", name)
		if strings.Contains(name, "agents-aea__md__") && strings.Contains(name, "protocol-generator_") {
			if code != 1 || !strings.Contains(stderr, "protocol_specification_id") {
				t.Errorf("%s: exit code %d\n%s", name, code, stderr)
			}
			continue
		}
		if code != 0 {
			t.Errorf("%s: exit code %d\n%s", name, code, stderr)
			continue
		}
		found, _, code := parleyIn(t, source, "check")
		unsent := strings.Contains(name, "__t_protocol_") || strings.Contains(name, "__sample_specification_")
		if unsent != strings.Contains(found, "PAR2101 error: message 'performative_empty_contents'") || unsent != (code == 1) || strings.Count(found, "error:") > 1 {
			t.Errorf("%s: exit code %d\n%s", name, code, found)
		}
		if layout, _, code := parleyIn(t, source, "fmt", "--check"); code != 0 {
			t.Errorf("%s: %s is not in the canonical layout\n%s", name, layout, source)
		}
	}
}

// Every code that has an example has one that gives it, and one that does not.
func TestExplanationsShowWhatTheySay(t *testing.T) {
	t.Chdir(t.TempDir())
	listed, _, _ := parleyIn(t, "", "explain", "--json")
	var codes []struct{ Code, Wrong, Right string }
	if err := json.Unmarshal([]byte(listed), &codes); err != nil || len(codes) < 40 {
		t.Fatalf("%v, %d codes", err, len(codes))
	}
	for _, c := range codes {
		if text, _, code := parleyIn(t, "", "explain", c.Code); c.Wrong != "" && (code != 0 || !strings.Contains(text, "Wrong:") || !strings.Contains(text, "Right:")) {
			t.Errorf("explain %s: exit code %d\n%s", c.Code, code, text)
		}
		switch {
		case (c.Wrong == "") != (c.Right == ""), c.Wrong == "" && c.Code < "PAR5" && c.Code != "PAR0010": // which nobody would read
			t.Errorf("%s lacks an example", c.Code)
			continue
		case c.Code >= "PAR5" || c.Wrong == "" || strings.Contains(c.Wrong, "import "): // below; imports need files
			continue
		}
		if found, _, _ := parleyIn(t, c.Wrong, "check", "-W"); !strings.Contains(found, c.Code) {
			t.Errorf("%s is not found in\n%s\nbut\n%s", c.Code, c.Wrong, found)
		}
		if found, _, code := parleyIn(t, c.Right, "check", "-W"); strings.Contains(found, c.Code) || code != 0 {
			t.Errorf("%s\nis found in\n%s", found, c.Right)
		}
	}
}

// The examples of what AEA cannot carry are such, and those mended are not.
func TestExplanationsOfTargets(t *testing.T) {
	problems := func(source string) (codes string) {
		result := check.File("x.parley", []byte(source), check.Options{})
		if result.Diagnostics.HasErrors() || len(result.Protocols) != 1 {
			t.Fatalf("%s\nin\n%s", result.Diagnostics, source)
		}
		_, found := aea.FromProtocol(result.Protocols[0].Spec)
		for _, p := range found {
			codes += p.Code
		}
		return codes
	}
	for _, code := range []string{"PAR5001", "PAR5002", "PAR5003", "PAR5004", "PAR5005", "PAR5006"} {
		info, _ := diag.Lookup(code)
		if got := problems(info.Wrong); got != code {
			t.Errorf("%s: AEA finds %q in\n%s", code, got, info.Wrong)
		}
		if got := problems(info.Right); got != "" {
			t.Errorf("%s: AEA finds %q in\n%s", code, got, info.Right)
		}
	}
	info, _ := diag.Lookup("PAR5020")
	if _, stderr, code := parleyIn(t, info.Wrong, "import", "uagents"); code != 1 || !strings.Contains(stderr, "PAR5020") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	if _, stderr, code := parleyIn(t, info.Right, "import", "uagents"); code != 0 || stderr != "" {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}
