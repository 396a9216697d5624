package cli

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// commands lists all commands that do something, with what is written to run
// them.
func commands(cmd *cobra.Command) (all []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		all = append(all, commands(sub)...)
	}
	if !cmd.HasSubCommands() {
		all = append(all, cmd)
	}
	return all
}

func words(cmd *cobra.Command, more ...string) []string {
	return append(strings.Fields(cmd.CommandPath())[1:], more...)
}

type outcome struct {
	code           int
	stdout, stderr string
}

func runCommand(t *testing.T, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // for those that would go on
	defer cancel()
	var stdout, stderr strings.Builder
	code := Main(ctx, args, strings.NewReader(""), &stdout, &stderr)
	return outcome{code, stdout.String(), stderr.String()}
}

// isHelpful reports whether the outcome says what is wrong, how the command is
// written and where more is to be read.
func (o outcome) isHelpful(cmd *cobra.Command, wrong string) bool {
	lines := strings.Split(o.stderr, "\n")
	return o.code == exitFailed && o.stdout == "" && len(lines) == 4 && strings.HasPrefix(lines[0], "parley: ") && strings.Contains(lines[0], wrong) &&
		strings.HasPrefix(lines[1], "usage: "+cmd.CommandPath()) && lines[2] == cmd.CommandPath()+" --help tells more"
}

// Every command says what was wrong with its arguments and flags, in a line, and
// how it is written.
func TestEveryCommandTellsItsUsage(t *testing.T) {
	t.Setenv("PARLEY_DATA", t.TempDir())
	t.Chdir(t.TempDir())
	all := commands(newRoot())
	if len(all) < 20 {
		t.Fatalf("only %d commands", len(all))
	}
	for _, cmd := range all {
		t.Run(strings.Join(words(cmd), " "), func(t *testing.T) {
			if o := runCommand(t, words(cmd, "--nonsense")...); !o.isHelpful(cmd, "unknown flag: --nonsense") {
				t.Errorf("an unknown flag: exit %d\n%s%s", o.code, o.stdout, o.stderr)
			}
			if o := runCommand(t, words(cmd, "--data")...); cmd.Flags().Lookup("data") != nil && !o.isHelpful(cmd, "flag needs an argument: --data") {
				t.Errorf("a flag without its value: exit %d\n%s%s", o.code, o.stdout, o.stderr)
			}
			takes := strings.Fields(cmd.Use)[1:]
			if len(takes) == 0 || !strings.HasSuffix(takes[len(takes)-1], "...") {
				surplus := append(slices.Repeat([]string{"x"}, len(takes)), "surplus")
				if o := runCommand(t, words(cmd, surplus...)...); !o.isHelpful(cmd, `"surplus" is too much`) {
					t.Errorf("a surplus argument: exit %d\n%s%s", o.code, o.stdout, o.stderr)
				}
			}
			o := runCommand(t, words(cmd)...)
			needs := len(takes) > 0 && !strings.HasPrefix(takes[0], "[")
			flags := cmd.Name() == "seal"
			switch {
			case needs && !o.isHelpful(cmd, strings.TrimSuffix(takes[0], "...")+" is missing"):
				t.Errorf("without its argument: exit %d\n%s%s", o.code, o.stdout, o.stderr)
			case flags && !o.isHelpful(cmd, "missing: --"):
				t.Errorf("without its flags: exit %d\n%s%s", o.code, o.stdout, o.stderr)
			case !needs && !flags && strings.Contains(o.stderr, "usage:"):
				t.Errorf("it needs nothing, and says: exit %d\n%s%s", o.code, o.stdout, o.stderr)
			}
		})
	}
}

func TestWrongArguments(t *testing.T) {
	t.Setenv("PARLEY_DATA", t.TempDir())
	const schema = "--schema=model:10b4e1e49cd56cd11840bb8e7e459d25b7a931d5c3a262c1de6c60d8a8d5e470"
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"sing"}, `unknown command "sing" for "parley"`},
		{[]string{"chta"}, `did you mean chat?`},
		{[]string{"dead", "shwo"}, `unknown command "shwo" for "parley dead": did you mean show?`},
		{[]string{"dead", "show", "first"}, `expected the number of a dead letter, not "first"`},
		{[]string{"dead", "drop", "-1"}, "unknown shorthand flag"},
		{[]string{"log", "--limit", "many"}, `--limit: expected a whole number, not "many"`},
		{[]string{"log", "--limit", "0"}, "--limit: expected a number above zero"},
		{[]string{"log", "--agent", "nobody"}, `--agent: "nobody" is neither the name of an agent here nor an address`},
		{[]string{"log", "--follow=perhaps"}, `--follow: expected true or false, not "perhaps"`},
		{[]string{"ask", "agent1q", "--timeout", "soon", schema}, `--timeout: expected a time such as 500ms, 30s or 2m, not "soon"`},
		{[]string{"ask", "agent1q"}, "one of --schema and --manifest is needed"},
		{[]string{"ask", "agent1q", schema, "--manifest", "m.json", "--model", "M"}, "only one of --schema and --manifest can be given"},
		{[]string{"send", "agent1q", "--manifest", "m.json"}, "--model is missing: --manifest and --model belong together"},
		{[]string{"quota", "somebody"}, "sender"},
		{[]string{"chat", "--session", "today", "--once", "hello"}, `session: expected the ID of a session, a UUID, not "today"`},
		{[]string{"chat", "--once", ""}, "once: expected something to say"},
		{[]string{"up", "--resolve", "nobody"}, `--resolve: expected ADDRESS=URL, not "nobody"`},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			o := runCommand(t, tc.args...)
			if o.code != exitFailed || !strings.Contains(o.stderr, tc.want) || !strings.Contains(o.stderr, "\nusage: parley ") {
				t.Errorf("exit %d, want %d and %q\n%s%s", o.code, exitFailed, tc.want, o.stdout, o.stderr)
			}
		})
	}
	o := runCommand(t, "quota", "somebody", "--json")
	if o.code != exitFailed || !strings.Contains(o.stderr, `"usage": "parley quota [SENDER] [flags]"`) {
		t.Errorf("exit %d\n%s", o.code, o.stderr)
	}
}
