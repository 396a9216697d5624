package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/lang/diag"
)

func newExplain() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Explain a code of parley check, with a wrong and a right example",
		Long: `Explain what a code of parley check means, with a source that gives it and the
same source mended. Without a code, list them all.`,
		Example: `  parley explain PAR2102
  parley explain`,
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			listCodes(cmd.OutOrStdout(), *asJSON)
			return nil
		}
		info, err := findCode(args[0])
		if err != nil {
			return err
		}
		if *asJSON {
			printJSON(cmd.OutOrStdout(), infoJSON(info))
			return nil
		}
		printInfo(cmd.OutOrStdout(), info)
		return nil
	}
	return cmd
}

// findCode finds a code as people write it: PAR2102, par2102, 2102.
func findCode(written string) (diag.Info, error) {
	code := strings.ToUpper(written)
	if !strings.HasPrefix(code, "PAR") {
		code = "PAR" + code
	}
	info, known := diag.Lookup(code)
	if known {
		return info, nil
	}
	var codes []string
	for _, info := range diag.Codes() {
		codes = append(codes, info.Code)
	}
	advice := diag.DidYouMean(code, codes)
	if advice == "" {
		advice = "parley explain lists them"
	}
	return diag.Info{}, fault.Errorf(fault.NotFound, "code", "there is no code %q; %s", written, advice)
}

func listCodes(w io.Writer, asJSON bool) {
	if asJSON {
		var all []map[string]string
		for _, info := range diag.Codes() {
			all = append(all, infoJSON(info))
		}
		printJSON(w, all)
		return
	}
	var rows [][]string
	for _, info := range diag.Codes() {
		rows = append(rows, []string{info.Code, info.Severity.String(), info.Title})
	}
	table(w, rows)
}

func infoJSON(info diag.Info) map[string]string {
	return map[string]string{
		"code": info.Code, "severity": info.Severity.String(), "title": info.Title,
		"explanation": info.Explanation, "wrong": info.Wrong, "right": info.Right,
	}
}

func printInfo(w io.Writer, info diag.Info) {
	fmt.Fprintf(w, "%s %s: %s\n\n%s\n", info.Code, info.Severity, info.Title, wrap(info.Explanation, 80))
	for _, example := range []struct{ title, source string }{{"Wrong:", info.Wrong}, {"Right:", info.Right}} {
		if example.source == "" {
			continue
		}
		fmt.Fprintf(w, "\n%s\n\n", example.title)
		for line := range strings.Lines(example.source) {
			fmt.Fprintln(w, "  "+printable(strings.TrimSuffix(line, "\n")))
		}
	}
}

// wrap breaks a text into lines of at most width characters.
func wrap(text string, width int) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		n := len([]rune(word))
		switch {
		case column > 0 && column+1+n > width:
			b.WriteByte('\n')
			column = 0
		case column > 0:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
