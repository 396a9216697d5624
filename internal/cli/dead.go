package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/talk"
)

func newDead() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dead",
		Short: "Look after messages that were given up",
		Long: `Look after dead letters: messages that could not be delivered, and messages whose
handler never succeeded.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDeadList(), newDeadShow(), newDeadResend(), newDeadDrop())
	return cmd
}

// deadLetters reads dead letters from the running node, or from the folder.
func deadLetters(ctx context.Context, data string) ([]parley.DeadLetter, error) {
	var letters []parley.DeadLetter
	err := through(ctx, data, "GET", "dead", nil, &letters)
	if isNotRunning(err) {
		err = withStore(data, func(store parley.Store) error {
			var err error
			letters, err = store.Dead(ctx, 0, 1000)
			return err
		})
	}
	return letters, err
}

func newDeadList() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the dead letters",
		Example: "  parley dead list --data data",
	}
	data, asJSON := dataFlag(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		letters, err := deadLetters(cmd.Context(), *data)
		if err != nil {
			return err
		}
		if *asJSON {
			all, names := []jsonLetter{}, namesIn(cmd.Context(), *data)
			for _, l := range letters {
				all = append(all, jsonLetterOf(l, names))
			}
			printJSON(cmd.OutOrStdout(), all)
			return nil
		}
		var rows [][]string
		names := namesIn(cmd.Context(), *data)
		for _, l := range letters {
			rows = append(rows, []string{
				strconv.FormatInt(l.Seq, 10), l.Time.Local().Format(time.DateTime), names.agent(l.Message.From) + " → " + names.agent(l.Message.To),
				names.messageOrDigest(l.Message), why(l),
			})
		}
		if len(rows) == 0 {
			fmt.Fprintln(cmd.ErrOrStderr(), "no dead letters")
		}
		table(cmd.OutOrStdout(), rows)
		return nil
	}
	return cmd
}

// why is the reason with its code, which some reasons begin with.
func why(l parley.DeadLetter) string {
	reason := talk.CleanLine(l.Reason)
	if code := string(l.Code) + ": "; !strings.HasPrefix(reason, code) {
		return code + reason
	}
	return reason
}

func newDeadShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show NUMBER",
		Short:   "Show a dead letter with its message",
		Example: "  parley dead show 7 --data data",
	}
	data, asJSON := dataFlag(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := isNumber(cmd, args[0]); err != nil {
			return err
		}
		letters, err := deadLetters(cmd.Context(), *data)
		if err != nil {
			return err
		}
		for _, l := range letters {
			if strconv.FormatInt(l.Seq, 10) != args[0] {
				continue
			}
			names := namesIn(cmd.Context(), *data)
			if *asJSON {
				printJSON(cmd.OutOrStdout(), jsonLetterOf(l, names))
				return nil
			}
			table(cmd.OutOrStdout(), [][]string{
				{"number", args[0]}, {"time", l.Time.Local().Format(time.DateTime)}, {"code", string(l.Code)}, {"reason", talk.CleanLine(l.Reason)},
				{"from", string(l.Message.From)}, {"to", string(l.Message.To)}, {"session", talk.CleanLine(l.Message.Session)},
				{"message", names.messageOrDigest(l.Message)}, {"schema", talk.CleanLine(l.Message.Schema)}, {"payload", talk.CleanLine(string(l.Message.Payload))},
			})
			return nil
		}
		return fault.Errorf(fault.NotFound, "number", "there is no dead letter %s", args[0])
	}
	return cmd
}

func newDeadResend() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "resend NUMBER",
		Short:   "Give a dead letter another life, in a running node",
		Example: "  parley dead resend 7 --data data",
	}
	return onLetter(cmd, "POST", "/resend", "resent")
}

func newDeadDrop() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "drop NUMBER",
		Short:   "Forget a dead letter, in a running node",
		Example: "  parley dead drop 7 --data data",
	}
	return onLetter(cmd, "DELETE", "", "dropped")
}

func isNumber(cmd *cobra.Command, text string) error {
	if _, err := strconv.ParseUint(text, 10, 63); err != nil {
		return misused(cmd, fmt.Errorf("expected the number of a dead letter, not %q: parley dead list shows them", text))
	}
	return nil
}

func onLetter(cmd *cobra.Command, method, suffix, done string) *cobra.Command {
	data, asJSON := dataFlag(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := isNumber(cmd, args[0]); err != nil {
			return err
		}
		var letter parley.DeadLetter
		if err := through(cmd.Context(), *data, method, "dead/"+args[0]+suffix, nil, &letter); err != nil {
			return err
		}
		if *asJSON {
			printJSON(cmd.OutOrStdout(), jsonLetterOf(letter, namesIn(cmd.Context(), *data)))
			return nil
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), done, letter.Seq)
		return err
	}
	return cmd
}
