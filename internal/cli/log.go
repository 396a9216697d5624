package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/store/sqlite"
)

func newLog() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Show what was said",
		Long: `Show the message log of a node: of the one that runs in the data folder, or of
the folder itself if none runs. With --follow, go on as messages come.`,
		Example: `  parley log --data data
  parley log --follow --json --data data`,
		Args: cobra.NoArgs,
	}
	data, asJSON := dataFlag(cmd), jsonFlag(cmd)
	follow := cmd.Flags().Bool("follow", false, "go on as messages come")
	agent := cmd.Flags().String("agent", "", "only messages of the agent with this address")
	session := cmd.Flags().String("session", "", "only messages of this session")
	limit := cmd.Flags().Int("limit", 50, "how many of the latest to show")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		q := parley.LogQuery{Agent: identity.Address(*agent), Session: *session, Limit: *limit, Last: true}
		show := func(records []parley.LogRecord) { printRecords(cmd.OutOrStdout(), records, *asJSON) }
		return readLog(cmd.Context(), *data, q, *follow, show)
	}
	return cmd
}

func readLog(ctx context.Context, data string, q parley.LogQuery, follow bool, show func([]parley.LogRecord)) error {
	var records []parley.LogRecord
	err := through(ctx, data, "GET", "log?"+logParameters(q, 0), nil, &records)
	if isNotRunning(err) && !follow {
		return withStore(data, func(store parley.Store) error {
			records, err := store.Log(ctx, q)
			show(records)
			return err
		})
	}
	if err != nil {
		return err
	}
	show(records)
	q.Last, q.Limit = false, 0
	for follow && ctx.Err() == nil {
		if len(records) > 0 {
			q.After = records[len(records)-1].Seq
		}
		records = nil
		if err := through(ctx, data, "GET", "log?"+logParameters(q, 20*time.Second), nil, &records); err != nil {
			if ctx.Err() != nil {
				return nil // Ctrl-C
			}
			return err
		}
		show(records)
	}
	return nil
}

func logParameters(q parley.LogQuery, wait time.Duration) string {
	return url.Values{
		"agent": {string(q.Agent)}, "session": {q.Session}, "after": {strconv.FormatInt(q.After, 10)},
		"limit": {strconv.Itoa(q.Limit)}, "last": {strconv.FormatBool(q.Last)}, "wait": {wait.String()},
	}.Encode()
}

// withStore opens the store of a data folder that no node uses.
func withStore(data string, use func(parley.Store) error) error {
	folder, err := dataFolder(data)
	if err != nil {
		return err
	}
	file := filepath.Join(folder, "parley.db")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return fault.Errorf(fault.NotFound, "data", "nothing is stored in %s: is it the right folder?", folder)
	}
	store, err := sqlite.Open(file, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	return use(store)
}

func printRecords(w io.Writer, records []parley.LogRecord, asJSON bool) {
	for _, r := range records {
		if asJSON {
			text, err := json.Marshal(r)
			if err == nil {
				fmt.Fprintf(w, "%s\n", text) // one line each, so that a stream can be read
			}
			continue
		}
		line := fmt.Sprintf("%s  %-9s  %s → %s  %s", r.Time.Local().Format("15:04:05.000"), r.Event, short(r.Message.From), short(r.Message.To), r.Message.Payload)
		if r.Detail != "" {
			line += "  (" + r.Detail + ")"
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

// short is enough of an address for people to tell agents apart.
func short(a identity.Address) string {
	if len(a) < 20 {
		return string(a)
	}
	return string(a[:12]) + "…" + string(a[len(a)-4:])
}
