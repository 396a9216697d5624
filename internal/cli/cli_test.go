package cli_test

import (
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/cli"
)

const unbounded = `protocol P { roles a, b
message ask: request {} message yes: response {}
dialogue { initiates ask by a; ask -> yes; yes -> []; terminates yes } }`

// Scripts branch on the exit code: 0 done, 1 refused, 2 could not run.
func TestExitCodes(t *testing.T) {
	t.Setenv("PARLEY_DATA", t.TempDir())
	for _, tc := range []struct {
		name  string
		args  []string
		stdin string
		want  int
	}{
		{"done", []string{"version"}, "", 0},
		{"help is an answer", []string{"digest", "--help"}, "", 0},
		{"a malformed manifest is refused", []string{"digest"}, "{}", 1},
		{"so is a forged envelope", []string{"envelope", "open"}, "{}", 1},
		{"so is a key that is not there", []string{"keys", "show", "nobody"}, "", 1},
		{"a source without mistakes is clean", []string{"check"}, "type A = Int", 0},
		{"a warning is no error", []string{"check", "-W"}, unbounded, 0},
		{"a source with mistakes is refused", []string{"check"}, "type A = Itn", 1},
		{"also as JSON", []string{"check", "--json"}, "type A = Itn", 1},
		{"so is another layout", []string{"fmt", "--check"}, "type  A = Int", 1},
		{"a difference is an answer", []string{"fmt", "--diff"}, "type  A = Int", 0},
		{"mistakes in the grammar are refused", []string{"fmt"}, "type A Int", 1},
		{"so is what is no specification", []string{"import", "aea"}, "", 1},
		{"so is a code that is not there", []string{"explain", "PAR9999"}, "", 1},
		{"so are digests of a source with mistakes", []string{"digest", "-"}, "type A = Itn", 1},
		{"a source that is not there cannot be checked", []string{"check", "/does/not/exist.parley"}, "", 2},
		{"nor formatted", []string{"fmt", "/does/not/exist.parley"}, "", 2},
		{"nor imported", []string{"import", "uagents", "/does/not/exist.json"}, "", 2},
		{"an unknown command cannot run", []string{"sing"}, "", 2},
		{"nor can an unknown flag", []string{"version", "--loud"}, "", 2},
		{"nor a missing argument", []string{"keys", "new"}, "", 2},
		{"nor a file that cannot be read", []string{"digest", "/does/not/exist.json"}, "", 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			got := cli.Main(t.Context(), tc.args, strings.NewReader(tc.stdin), &stdout, &stderr)
			if got != tc.want {
				t.Errorf("exit code %d, want %d\n%s%s", got, tc.want, stdout.String(), stderr.String())
			}
			if got == 2 && !strings.HasPrefix(stderr.String(), "parley: ") {
				t.Errorf("no word of why: %q", stderr.String())
			}
		})
	}
}
