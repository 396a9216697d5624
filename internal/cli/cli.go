// Package cli is the command line of Parley: one file per command, and the
// place where everything is wired together.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/parley-agents/parley/fault"
)

// The exit codes. A command that ran and says no (a forged envelope, a name
// that is taken) ends with refused; one that could not run ends with failed.
const (
	exitOK      = 0
	exitRefused = 1
	exitFailed  = 2
)

// Main runs one command and returns the exit code of the process.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	asJSON := false
	if cmd, _, findErr := root.Find(args); findErr == nil && cmd.Flags().Lookup("json") != nil {
		asJSON, _ = cmd.Flags().GetBool("json")
	}
	return report(err, asJSON, stderr)
}

// errReported ends a command whose output has said already what is wrong.
var errReported = errors.New("reported")

// report prints an error for people or scripts and chooses the exit code: an
// error with a code is an answer, any other means that the command did not run.
func report(err error, asJSON bool, stderr io.Writer) int {
	if errors.Is(err, errReported) {
		return exitRefused
	}
	coded, isAnswer := errors.AsType[*fault.Error](err)
	misuse, isMisuse := errors.AsType[*usageError](err)
	switch {
	case asJSON && isMisuse:
		printJSON(stderr, map[string]any{"error": map[string]string{"code": "usage", "text": err.Error(), "usage": misuse.line()}})
	case asJSON && isAnswer:
		printJSON(stderr, map[string]any{"error": jsonError(coded)})
	case asJSON:
		printJSON(stderr, map[string]any{"error": map[string]string{"code": "failed", "text": err.Error()}})
	default:
		fmt.Fprintln(stderr, "parley:", err)
		if isMisuse {
			fmt.Fprintln(stderr, misuse.how())
		}
	}
	if isMisuse {
		return exitFailed
	}
	if isAnswer && coded.Code != fault.Internal {
		return exitRefused
	}
	return exitFailed
}

func jsonError(err *fault.Error) map[string]string {
	return map[string]string{"code": string(err.Code), "field": err.Field, "text": err.Text}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "parley",
		Short: "Agents that can be trusted to have said what they said",
		Long: `Parley lets software agents talk to each other and be trusted to have said what
they said. It speaks the wire of Python's uAgents.

Exit codes: 0 done, 1 refused (the input or the state says no), 2 could not run.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newUp(), newChat(), newSend(), newAsk(), newLog(), newDead(), newQuota(), newKeys(), newEnvelope(), newCheck(), newFmt(), newGen(), newInit(), newImport(), newDigest(), newExplain(), newVersion())
	arrange(root)
	return root
}

// jsonFlag gives a command its --json flag.
func jsonFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print JSON for scripts")
}

func printJSON(w io.Writer, v any) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		fmt.Fprintln(w, err)
	}
}

// maxInput bounds what is read from a file or standard input.
const maxInput = 8 << 20

// readInput reads a file, or standard input for "-".
func readInput(cmd *cobra.Command, path string) ([]byte, error) {
	var in io.Reader
	if path == "-" {
		in = input(cmd)
	} else {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err == nil && len(data) > maxInput {
		err = fault.Errorf(fault.TooLarge, path, "over %d bytes", maxInput)
	}
	return data, err
}

// input is standard input that an interrupt ends. A read of a terminal or a pipe
// cannot be ended, so it is left behind.
func input(cmd *cobra.Command) io.Reader { return &interruptible{cmd: cmd} }

type interruptible struct {
	cmd     *cobra.Command
	started bool
}

func (r *interruptible) Read(p []byte) (int, error) {
	in := r.cmd.InOrStdin()
	if !r.started && isTerminal(in) {
		fmt.Fprintln(r.cmd.ErrOrStderr(), "reading from the terminal; Ctrl-D ends")
	}
	r.started = true
	type result struct {
		n   int
		err error
	}
	buffer, read := make([]byte, len(p)), make(chan result, 1)
	go func() {
		n, err := in.Read(buffer)
		read <- result{n, err}
	}()
	select {
	case done := <-read:
		return copy(p, buffer[:done.n]), done.err
	case <-r.cmd.Context().Done():
		return 0, errors.New("interrupted")
	}
}

func isTerminal(in io.Reader) bool {
	file, ok := in.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// pathOrStdin is the command's one argument, or standard input without it.
func pathOrStdin(args []string) string {
	if len(args) == 0 {
		return "-"
	}
	return args[0]
}

// dataFlag gives a command its --data flag.
func dataFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("data", "", "data folder (default $PARLEY_DATA, or .parley in the home folder)")
}

func dataFolder(flag string) (string, error) {
	folder := flag
	if folder == "" {
		folder = os.Getenv("PARLEY_DATA")
	}
	if folder == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no home folder for the data: name one with --data: %w", err)
		}
		folder = filepath.Join(home, ".parley")
	}
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		return "", fault.Errorf(fault.Malformed, "data", "%s is a file, not a data folder", folder)
	}
	return folder, nil
}

// table prints rows in columns of equal width.
func table(w io.Writer, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell + strings.Repeat(" ", widths[i]-len([]rune(cell))+2))
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}
