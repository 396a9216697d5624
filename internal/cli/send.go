package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/run"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/wire/uagents"
)

// messageFlags say which message goes where.
type messageFlags struct {
	from, schema, manifest, model string
	timeout                       time.Duration
}

func (f *messageFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "name or address of the agent that speaks (default \"you\", or the first that is not asked)")
	flags.StringVar(&f.schema, "schema", "", "digest of the message's model")
	flags.StringVar(&f.manifest, "manifest", "", "manifest that has the message's model")
	flags.StringVar(&f.model, "model", "", "title of the model in the manifest")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "how long to wait")
	cmd.MarkFlagsMutuallyExclusive("schema", "manifest")
	cmd.MarkFlagsOneRequired("schema", "manifest")
	cmd.MarkFlagsRequiredTogether("manifest", "model")
}

func (f *messageFlags) request(cmd *cobra.Command, node *nodeClient, args []string) (*run.Request, error) {
	if args[0] == "" { // such as a variable that is not set; anybody would do for a chat only
		return nil, misused(cmd, fault.Errorf(fault.Malformed, "", "expected an address, a name or a URL, found nothing"))
	}
	agents, err := node.agents(cmd.Context())
	if err != nil {
		return nil, err
	}
	to, err := findPeer(cmd, node, agents, "", args[0])
	if err != nil {
		return nil, err
	}
	payload, err := readInput(cmd, pathOrStdin(args[1:]))
	if err != nil {
		return nil, err
	}
	schema := f.schema
	if f.manifest != "" {
		if schema, payload, err = conformTo(f.manifest, f.model, payload); err != nil {
			return nil, err
		}
	}
	if !json.Valid(payload) {
		return nil, fault.Errorf(fault.Malformed, "payload", "the message is not JSON")
	}
	from := f.from
	if from == "" {
		from = speakerTo(agents, to)
	}
	for _, a := range agents {
		if a.Name == from {
			from = string(a.Address)
		}
	}
	return &run.Request{From: from, To: to, Schema: schema, Payload: payload, Timeout: f.timeout}, nil
}

// speakerTo is who speaks if nobody is named: the person's own agent, else the
// first that is not the one spoken to, else nobody but that one is there.
func speakerTo(agents []parley.AgentInfo, to identity.Address) string {
	first := ""
	for _, a := range agents {
		if a.Address == to {
			continue
		}
		if a.Name == person {
			return string(a.Address)
		}
		if first == "" {
			first = string(a.Address)
		}
	}
	return first
}

// toItself explains what a protocol with roles says of an agent that was made to
// talk with itself.
func toItself(err error, r *run.Request) error {
	if fault.CodeOf(err) != fault.OutOfTurn || r.From != "" && r.From != string(r.To) {
		return err
	}
	return fmt.Errorf("%w; the agent speaks with itself here: name another one of the node with --from, or speak from the data folder of another node, to its URL", err)
}

// conformTo checks a message against its model in a manifest and writes it as
// the model's own agents would.
func conformTo(manifestPath, title string, payload []byte) (schema string, text []byte, err error) {
	manifest, err := os.ReadFile(manifestPath)
	if err != nil {
		return "", nil, err
	}
	model, err := modelOf(manifest, title)
	if err != nil {
		return "", nil, err
	}
	codec, err := uagents.NewCodec(model, nil)
	if err != nil {
		return "", nil, err
	}
	if text, err = codec.Normalize(payload); err != nil {
		return "", nil, fault.In("payload", err)
	}
	schema, err = spec.Digest(model)
	return schema, text, err
}

// through makes a call to the running node of the data folder.
func through(ctx context.Context, data, method, path string, in, out any) error {
	node, err := nodeIn(data)
	if err != nil {
		return err
	}
	return node.call(ctx, method, path, in, out)
}

// nodeIn is the running node of the data folder that a flag names.
func nodeIn(data string) (*nodeClient, error) {
	folder, err := dataFolder(data)
	if err != nil {
		return nil, err
	}
	node, err := runningNode(folder)
	if isNotRunning(err) {
		err = fault.Errorf(fault.NotFound, "data", "no node is running in %s: start one there (parley up), or name the folder of one that runs with --data", folder)
	}
	return node, err
}

// target is the part of the manual about whom a message is for.
const target = `The message is for the agent with that address, for an agent of the node by its
name, or for the one that answers at a URL (ADDRESS=URL, if several do). The node
remembers the URL until it stops.`

func newSend() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "send ADDRESS|NAME|URL [FILE]",
		Short: "Send a message through a running node",
		Long: `Send a message, JSON from a file or standard input, as an agent of a running
node. The command returns when the peer has taken the message over, or when the
time is up: then the message is stored and the node keeps trying.

` + target,
		Example: `  echo '{"message": "hello"}' | parley send agent1q… --schema model:29f7… --data data
  parley send agent1q… note.json --manifest notes.json --model Note`,
	}
	speak(cmd, "send", func(w io.Writer, reply *run.Reply) { fmt.Fprintf(w, "%s %s\n", reply.State, reply.ID) })
	return cmd
}

// speak lets a command hand a message to a running node and print what comes of it.
func speak(cmd *cobra.Command, call string, print func(io.Writer, *run.Reply)) {
	var f messageFlags
	f.add(cmd)
	data, asJSON := dataFlag(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		node, err := nodeIn(*data)
		if err != nil {
			return err
		}
		request, err := f.request(cmd, node, args)
		if err != nil {
			return err
		}
		var reply run.Reply
		if err := node.call(cmd.Context(), "POST", call, request, &reply); err != nil {
			return toItself(err, request)
		}
		if *asJSON {
			printJSON(cmd.OutOrStdout(), reply)
		} else {
			print(cmd.OutOrStdout(), &reply)
		}
		if reply.Schema == parley.ErrorMessageDigest {
			return errReported
		}
		return nil
	}
}

func newAsk() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ask ADDRESS|NAME|URL [FILE]",
		Short: "Send a message through a running node and print the reply",
		Long: `Send a message, JSON from a file or standard input, as an agent of a running
node, wait for the reply and print its JSON.

` + target,
		Example: `  echo '{"name": "Ada"}' | parley ask agent1q… --schema model:29f7… --data data
  echo '{"name": "Ada"}' | parley ask http://127.0.0.1:8001 --schema model:29f7…`,
	}
	speak(cmd, "ask", func(w io.Writer, reply *run.Reply) { fmt.Fprintf(w, "%s\n", reply.Payload) })
	return cmd
}

// isNotRunning tells "no node runs" from other failures.
func isNotRunning(err error) bool {
	coded, ok := errors.AsType[*fault.Error](err)
	return ok && coded.Code == fault.NotFound && coded.Field == "data"
}
