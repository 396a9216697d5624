package cli

import (
	"fmt"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/parley-agents/parley/internal/lang/aea"
	lang "github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/internal/lang/diag"
	"github.com/parley-agents/parley/internal/lang/project"
	"github.com/parley-agents/parley/internal/lang/uagents"
)

func newImport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Turn protocols of other frameworks into sources of the language",
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newImportFrom("aea", "FILE.yaml", "Turn an AEA protocol specification into a source", `Turn a protocol specification of the AEA framework (open-aea or aea) into a
source of the language, on standard output. What the framework refuses is
refused. What the language needs not say but the framework does stands in
annotations, so that the specification can be written back as it was.`,
			func(_ string, text []byte) ([]byte, diag.List, error) {
				s, err := aea.Read(text)
				if err != nil {
					return nil, nil, err
				}
				source := s.Source()
				return source, lang.File(imported, source, lang.Options{}).Diagnostics, nil
			}),
		newImportFrom("uagents", "FILE.json", "Turn a manifest of a Python agent into a source", `Turn a manifest, as Python agents publish it, into a source of the language, on
standard output. The source has the digest of the manifest; if that cannot be,
PAR5020 says so, and peers would refuse it.`,
			func(name string, text []byte) ([]byte, diag.List, error) { return uagents.Import(name, text) }),
	)
	return cmd
}

// imported is what the source is called in what is said of it.
const imported = "imported.parley"

type importer func(name string, text []byte) ([]byte, diag.List, error)

func newImportFrom(framework, file, short, long string, convert importer) *cobra.Command {
	cmd := &cobra.Command{
		Use:   framework + " [" + file + "]",
		Short: short,
		Long: long + `

What parley check would say of the source goes to standard error.

Exit codes: 0 done, 1 refused (or PAR5020), 2 could not run.`,
		Example: fmt.Sprintf("  parley import %s %s > shop.parley\n  parley import %s --json < %s", framework, file, framework, file),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := pathOrStdin(args)
		text, err := readInput(cmd, name)
		if err != nil {
			return err
		}
		source, found, err := convert(path.Base(filepath.ToSlash(name)), text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for i := range found {
			found[i].Span.File = imported
		}
		if *asJSON {
			printJSON(cmd.OutOrStdout(), map[string]any{"source": string(source), "diagnostics": diagnosticsJSON(found)})
		} else {
			if _, err := cmd.OutOrStdout().Write(source); err != nil {
				return err
			}
			newFindings(cmd.ErrOrStderr()).print(found, func(_ string, n int) string { return project.Line(source, n) })
		}
		for _, d := range found {
			if d.Code == "PAR5020" {
				return errReported
			}
		}
		return nil
	}
	return cmd
}
