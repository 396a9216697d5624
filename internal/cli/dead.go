package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
)

func newDead() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dead",
		Short: "Look after messages that were given up",
		Long: `Look after dead letters: messages that could not be delivered, and messages whose
handler never succeeded.`,
		Args: cobra.NoArgs,
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
		Args:    cobra.NoArgs,
	}
	data, asJSON := dataFlag(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		letters, err := deadLetters(cmd.Context(), *data)
		if err != nil {
			return err
		}
		if *asJSON {
			if letters == nil {
				letters = []parley.DeadLetter{}
			}
			printJSON(cmd.OutOrStdout(), letters)
			return nil
		}
		var rows [][]string
		for _, l := range letters {
			rows = append(rows, []string{
				strconv.FormatInt(l.Seq, 10), l.Time.Local().Format(time.DateTime), string(l.Code), short(l.Message.From) + " → " + short(l.Message.To), l.Reason,
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

func newDeadShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show NUMBER",
		Short:   "Show a dead letter with its message",
		Example: "  parley dead show 7 --data data",
		Args:    cobra.ExactArgs(1),
	}
	data, asJSON := dataFlag(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		letters, err := deadLetters(cmd.Context(), *data)
		if err != nil {
			return err
		}
		for _, l := range letters {
			if strconv.FormatInt(l.Seq, 10) != args[0] {
				continue
			}
			if *asJSON {
				printJSON(cmd.OutOrStdout(), l)
				return nil
			}
			table(cmd.OutOrStdout(), [][]string{
				{"number", args[0]}, {"time", l.Time.Local().Format(time.DateTime)}, {"code", string(l.Code)}, {"reason", l.Reason},
				{"from", string(l.Message.From)}, {"to", string(l.Message.To)}, {"session", l.Message.Session}, {"schema", l.Message.Schema},
				{"payload", string(l.Message.Payload)},
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
		Args:    cobra.ExactArgs(1),
	}
	return onLetter(cmd, "POST", "/resend", "resent")
}

func newDeadDrop() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "drop NUMBER",
		Short:   "Forget a dead letter, in a running node",
		Example: "  parley dead drop 7 --data data",
		Args:    cobra.ExactArgs(1),
	}
	return onLetter(cmd, "DELETE", "", "dropped")
}

func onLetter(cmd *cobra.Command, method, suffix, done string) *cobra.Command {
	data, asJSON := dataFlag(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var letter parley.DeadLetter
		if err := through(cmd.Context(), *data, method, "dead/"+args[0]+suffix, nil, &letter); err != nil {
			return err
		}
		if *asJSON {
			printJSON(cmd.OutOrStdout(), letter)
			return nil
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), done, letter.Seq)
		return err
	}
	return cmd
}
