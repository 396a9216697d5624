package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/parley-agents/parley/internal/lang/project"
)

func newCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [FILE|FOLDER|-]...",
		Short: "Check protocols: types, rules, and whether every dialogue can end",
		Long: `Check protocols before anything runs: names, types and imports, and whether each
dialogue is sound: every message can be sent, an end can always be reached,
answers fit what they answer. Folders are searched for .parley files and for
Markdown pages with blocks of the language; without an argument, standard input
is read.

Each finding is "file:line:col: CODE severity: text"; "parley explain CODE" says
more. The nearest parley.toml in or above the folder of a file says where
imports are and how bad each finding is:

  roots = ["protocols"]     # relative to parley.toml

  [severities]
  PAR2140 = "warning"       # off, note, warning or error

Exit codes: 0 clean or warnings only, 1 errors, 2 could not run.`,
		Example: `  parley check shop.parley
  parley check -W protocols/ README.md
  parley check --json < shop.parley`,
	}
	asJSON, name := jsonFlag(cmd), nameFlag(cmd)
	all := cmd.Flags().BoolP("warn-all", "W", false, "also ask for time limits (PAR2140 and its like)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		sources, err := findSources(cmd, args, *name)
		if err != nil {
			return err
		}
		result, err := project.Check(sources, project.Options{All: *all})
		if err != nil {
			return err
		}
		out := cmd.OutOrStdout()
		if *asJSON {
			printJSON(out, diagnosticsJSON(result.Diagnostics))
		} else {
			newFindings(out).print(result.Diagnostics, result.Line)
			if toTerminal(out) {
				fmt.Fprintln(out, summary(result.Diagnostics, len(sources), len(result.Protocols)))
			}
		}
		if result.Diagnostics.HasErrors() {
			return errReported
		}
		return nil
	}
	return cmd
}

// nameFlag gives a command its --name flag.
func nameFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("name", "", "what standard input is called, such as docs/page.md")
}

// findSources reads what a command is given, standard input without arguments.
func findSources(cmd *cobra.Command, args []string, name string) ([]project.Source, error) {
	if len(args) == 0 {
		args = []string{"-"}
	}
	return project.Find(args, &project.Input{Reader: input(cmd), Name: name})
}
