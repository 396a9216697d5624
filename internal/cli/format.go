package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/parley-agents/parley/internal/lang/diag"
	"github.com/parley-agents/parley/internal/lang/project"
	"github.com/parley-agents/parley/internal/lang/syntax"
)

func newFmt() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fmt [FILE|FOLDER|-]...",
		Short: "Write protocols in the one canonical layout",
		Long: `Write protocols in the one canonical layout. Files are rewritten in place, and
all comments are kept; standard input goes to standard output. Of Markdown pages
only the blocks of the language change.

--check writes nothing and lists the files that are laid out otherwise; --diff
writes nothing and shows what would change. A file with mistakes in its grammar
is left as it is.

Exit codes: 0 done, 1 grammar mistakes (or, with --check, another layout),
2 could not run.`,
		Example: `  parley fmt shop.parley
  parley fmt --check protocols/
  parley fmt --diff < shop.parley`,
	}
	asJSON, name := jsonFlag(cmd), nameFlag(cmd)
	check := cmd.Flags().Bool("check", false, "only list the files that are laid out otherwise")
	difference := cmd.Flags().Bool("diff", false, "only show what would change")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		sources, err := findSources(cmd, args, *name)
		if err != nil {
			return err
		}
		f := &formatting{cmd: cmd, check: *check, diff: *difference, json: *asJSON, stdin: stdinName(args, *name)}
		for _, s := range sources {
			if err := f.source(s); err != nil {
				return err
			}
		}
		if *asJSON {
			printJSON(cmd.OutOrStdout(), map[string]any{"changed": append([]string{}, f.changed...), "diagnostics": diagnosticsJSON(f.found)})
		}
		if f.found.HasErrors() || *check && len(f.changed) > 0 {
			return errReported
		}
		return nil
	}
	return cmd
}

// stdinName is what standard input is called among the sources, or "" if it is
// not among them.
func stdinName(args []string, name string) string {
	reads := len(args) == 0
	for _, arg := range args {
		reads = reads || arg == "-"
	}
	switch {
	case !reads:
		return ""
	case name == "":
		return project.Stdin
	}
	return filepath.ToSlash(filepath.Clean(name))
}

// formatting is one run of the command.
type formatting struct {
	cmd               *cobra.Command
	check, diff, json bool
	stdin             string
	changed           []string
	found             diag.List
}

func (f *formatting) source(s project.Source) error {
	file, found := syntax.Parse(s.Name, s.Text)
	if len(found) > 0 {
		f.found = append(f.found, found...)
		if !f.json {
			newFindings(f.cmd.ErrOrStderr()).print(found, func(_ string, n int) string { return project.Line(s.Text, n) })
		}
		return nil
	}
	formatted := syntax.Format(file)
	same := bytes.Equal(formatted, s.Text)
	if !same {
		f.changed = append(f.changed, s.Name)
	}
	out := f.cmd.OutOrStdout()
	if f.diff && !same && !f.json {
		_, err := out.Write(diff.Diff(s.Name, s.Text, s.Name+" (formatted)", formatted))
		if err != nil {
			return err
		}
	}
	switch {
	case f.diff:
		return nil
	case f.check:
		if !same && !f.json {
			fmt.Fprintln(out, s.Name)
		}
		return nil
	case s.Name == f.stdin:
		if f.json {
			return nil
		}
		_, err := out.Write(formatted)
		return err
	case same:
		return nil
	}
	return replace(filepath.FromSlash(s.Name), formatted)
}

// replace puts a new text in the place of a file at once, so that nobody ever
// reads half of it, and keeps the file's permissions.
func replace(name string, text []byte) error {
	name, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // fails once it was renamed
	_, err = temporary.Write(text)
	err = errors.Join(err, temporary.Chmod(info.Mode().Perm()), temporary.Close())
	if err != nil {
		return err
	}
	return os.Rename(temporary.Name(), name)
}
