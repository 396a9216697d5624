package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/talk"
	"github.com/parley-agents/parley/store/sqlite"
)

func newLog() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Show what was said",
		Long: `Show the message log of a node: of the one that runs in the data folder, or of
the folder itself if none runs. With --follow, go on as messages come, also after
the node was started again.

Each line tells when, which agent told (→) whom or was told (←) by whom, which
message, the first letters of its session, and what became of it. With --verbose
the message follows in a line of its own; with --json each record is an object
in a line, with nothing left out.`,
		Example: `  parley log --data data
  parley log --verbose --session 7d3f5a10
  parley log --follow --json --data data`,
	}
	data, asJSON := dataFlag(cmd), jsonFlag(cmd)
	follow := cmd.Flags().Bool("follow", false, "go on as messages come")
	agent := cmd.Flags().String("agent", "", "only messages of the agent with this name or address")
	session := cmd.Flags().String("session", "", "only messages of the session with this `ID`, or with one that begins so")
	verbose := cmd.Flags().BoolP("verbose", "v", false, "show what was said, too")
	limit := cmd.Flags().Int("limit", 50, "how many of the latest to show")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *limit < 1 {
			return misused(cmd, errors.New("--limit: expected a number above zero"))
		}
		names := namesIn(cmd.Context(), *data)
		address, err := names.find(*agent)
		if err != nil {
			return misused(cmd, err)
		}
		q := parley.LogQuery{Agent: address, Session: *session, Limit: *limit, Last: true}
		if q.Session, err = wholeSession(cmd.Context(), *data, q); err != nil {
			if !*follow || fault.CodeOf(err) != fault.NotFound || isNotRunning(err) {
				return err
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "parley:", err)
			q.Session = *session
		}
		p := &recordPrinter{w: cmd.OutOrStdout(), names: names, json: *asJSON, verbose: *verbose}
		return readLog(cmd.Context(), *data, q, *follow, p.print, func(news string) { fmt.Fprintln(cmd.ErrOrStderr(), "parley:", news) })
	}
	return cmd
}

func readLog(ctx context.Context, data string, q parley.LogQuery, follow bool, show func([]parley.LogRecord), tell func(string)) error {
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
	if !follow {
		return nil
	}
	gone := false
	for wait := minRetry; ctx.Err() == nil; {
		if len(records) > 0 {
			q.After = records[len(records)-1].Seq
		}
		records = nil
		err := through(ctx, data, "GET", "log?"+logParameters(q, 20*time.Second), nil, &records)
		switch {
		case ctx.Err() != nil:
			return nil // Ctrl-C
		case talk.IsGone(err):
			if !gone {
				tell("the node is gone, trying again; Ctrl-C ends")
			}
			gone = true
			sleep(ctx, wait)
			wait = min(2*wait, maxRetry)
			continue
		case err != nil:
			return err
		case gone:
			tell("the node is back")
		}
		gone, wait = false, minRetry
		show(records)
	}
	return nil
}

// wholeSession completes the first letters of a session's ID, which are what the
// log shows of it.
func wholeSession(ctx context.Context, data string, q parley.LogQuery) (string, error) {
	if q.Session == "" {
		return "", nil
	}
	var found []string
	err := withLog(ctx, data, func(read func(parley.LogQuery) ([]parley.LogRecord, error)) error {
		exact, err := read(parley.LogQuery{Agent: q.Agent, Session: q.Session, Limit: 1, Last: true})
		if err != nil {
			return err
		}
		if len(exact) > 0 {
			found = []string{q.Session}
			return nil
		}
		for page := (parley.LogQuery{Agent: q.Agent, Limit: 1000}); ; {
			records, err := read(page)
			if err != nil || len(records) == 0 {
				return err
			}
			for _, r := range records {
				if s := r.Message.Session; strings.HasPrefix(s, q.Session) && !slices.Contains(found, s) && len(found) <= maxNamed {
					found = append(found, s)
				}
			}
			page.After = records[len(records)-1].Seq
		}
	})
	switch {
	case err != nil:
		return "", err
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return "", fault.Errorf(fault.NotFound, "session", "nothing was said in a session %q", q.Session)
	}
	return "", fault.Errorf(fault.Conflict, "session", "several begin with %q: %s", q.Session, talk.CleanLine(strings.Join(found, ", ")))
}

// withLog reads the log through the running node, or in the folder if none runs.
func withLog(ctx context.Context, data string, use func(read func(parley.LogQuery) ([]parley.LogRecord, error)) error) error {
	err := use(func(q parley.LogQuery) (records []parley.LogRecord, err error) {
		err = through(ctx, data, "GET", "log?"+logParameters(q, 0), nil, &records)
		return records, err
	})
	if !isNotRunning(err) {
		return err
	}
	return withStore(data, func(store parley.Store) error {
		return use(func(q parley.LogQuery) ([]parley.LogRecord, error) { return store.Log(ctx, q) })
	})
}

const (
	minRetry = 100 * time.Millisecond
	maxRetry = 3 * time.Second
)

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
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
