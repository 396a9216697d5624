package cli_test

import (
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/cli"
)

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
