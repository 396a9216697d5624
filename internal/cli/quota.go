package cli

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/keystore"
	"github.com/parley-agents/parley/quota"
)

func newQuota() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "quota [SENDER]",
		Short: "Show what senders have used of their limits",
		Long: `Show how many messages of each limited kind the senders have sent in the window
that is open now, in a running node or in a data folder.`,
		Example: `  parley quota --data data
  parley quota agent1q… --json`,
	}
	data, asJSON := dataFlag(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var sender identity.Address
		if len(args) > 0 {
			var err error
			if sender, err = identity.ParseAddress(args[0]); err != nil {
				return misused(cmd, fault.In("sender", err))
			}
		}
		entries, err := quotaEntries(cmd.Context(), *data, sender)
		if err != nil {
			return err
		}
		if *asJSON {
			all := []quota.Entry{}
			for _, e := range entries {
				e.Since, e.Until = utc(e.Since), utc(e.Until)
				all = append(all, e)
			}
			printJSON(cmd.OutOrStdout(), all)
			return nil
		}
		if len(entries) == 0 {
			fmt.Fprintln(cmd.ErrOrStderr(), "no limited messages in an open window")
			return nil
		}
		rows := [][]string{{"sender", "message", "used", "of", "until"}}
		for _, e := range entries {
			rows = append(rows, []string{
				string(e.Sender), e.Message, strconv.Itoa(e.Requests), strconv.Itoa(e.MaxRequests), e.Until.Local().Format(time.DateTime),
			})
		}
		table(cmd.OutOrStdout(), rows)
		return nil
	}
	return cmd
}

// quotaEntries reads from the running node, or from the folder.
func quotaEntries(ctx context.Context, data string, sender identity.Address) ([]quota.Entry, error) {
	var entries []quota.Entry
	err := through(ctx, data, "GET", "quota?sender="+url.QueryEscape(string(sender)), nil, &entries)
	if !isNotRunning(err) {
		return entries, err
	}
	err = withStore(data, func(store parley.Store) error {
		agents, err := agentsOf(ctx, data, store)
		if err != nil {
			return err
		}
		for _, a := range agents {
			of, err := quota.Read(ctx, store, a, sender, time.Now())
			if err != nil {
				return err
			}
			entries = append(entries, of...)
		}
		return nil
	})
	return entries, err
}

// agentsOf returns the agents of a data folder: those whose keys are in it, and
// those of the latest log, whose keys may be elsewhere.
func agentsOf(ctx context.Context, data string, store parley.Store) ([]identity.Address, error) {
	folder, err := dataFolder(data)
	if err != nil {
		return nil, err
	}
	keys, err := keystore.Open(folder)
	if err != nil {
		return nil, err
	}
	entries, err := keys.List()
	if err != nil {
		return nil, err
	}
	var agents []identity.Address
	for _, e := range entries {
		agents = append(agents, e.Address)
	}
	records, err := store.Log(ctx, parley.LogQuery{Last: true, Limit: 1000})
	for _, r := range records {
		agents = append(agents, r.Agent)
	}
	slices.Sort(agents)
	return slices.Compact(agents), err
}
