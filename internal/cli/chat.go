package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/talk"
	"github.com/parley-agents/parley/internal/talk/screen"
	"github.com/parley-agents/parley/run"
)

type chatFlags struct {
	data, session, key, once, almanac string
	asJSON, stream, keep, user        bool
	timeout                           time.Duration
}

func newChat() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "chat [ADDRESS|NAME|URL]",
		Short: "Talk with an agent",
		Long: `Talk with an agent that speaks the chat protocol: one with an address, one of the
running node by its name, or one that answers at a URL (ADDRESS=URL, if several
do). Without any, it is the first agent of the node that runs in the data folder.

In a terminal it is a screen with keys (F1 shows them). Elsewhere each line of
input is a message, and answers are printed. If no node runs in the data folder,
the command runs one of its own while it lasts.

With --user nobody signs: the message comes from a random user address, and what
the agent replies on the same connection is all that can come back. Agents take
such messages only where their author allows it.`,
		Example: `  parley chat
  parley chat --once "What is 6 * 7?"
  parley chat http://127.0.0.1:8001
  echo hello | parley chat assistant --json`,
	}
	var f chatFlags
	data, asJSON := dataFlag(cmd), jsonFlag(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.once, "once", "", "say this, print the answer and end")
	flags.StringVar(&f.session, "session", "", "go on in the session with this `ID`")
	flags.StringVar(&f.key, "key", person, "`name` of the agent, or of the key in the data folder, that speaks")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "how long to wait for an answer")
	flags.BoolVar(&f.stream, "stream", false, "ask for answers in pieces (always, in a terminal)")
	flags.BoolVar(&f.keep, "keep", false, "do not end the session when leaving")
	flags.BoolVar(&f.user, "user", false, "speak as a user, from a random address and without a signature")
	flags.StringVar(&f.almanac, "almanac", "", "`URL` of the Almanac that a node of one's own uses, such as http://127.0.0.1:8000/v1/almanac")
	cmd.MarkFlagsMutuallyExclusive("user", "key")
	cmd.MarkFlagsMutuallyExclusive("user", "session")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.data, f.asJSON = *data, *asJSON
		peer := ""
		if len(args) > 0 {
			peer = args[0]
		}
		if cmd.Flags().Changed("once") && f.once == "" {
			return misused(cmd, fault.Errorf(fault.Malformed, "once", "expected something to say"))
		}
		return f.run(cmd, peer)
	}
	return cmd
}

func (f *chatFlags) run(cmd *cobra.Command, whom string) error {
	ctx := cmd.Context()
	if f.session != "" {
		if _, err := uuid.Parse(f.session); err != nil {
			return misused(cmd, fault.Errorf(fault.Malformed, "session", "expected the ID of a session, a UUID, not %q", f.session))
		}
	}
	if f.user {
		return f.visit(cmd, whom)
	}
	node, stop, err := f.node(ctx, whom)
	if err != nil {
		return err
	}
	speaker, peer, err := f.meet(cmd, node, whom)
	if err == nil {
		err = f.talk(ctx, cmd, speaker, peer, node)
	}
	if stopped := stop(); err == nil {
		err = stopped
	}
	return err
}

// meet finds out who speaks and with whom.
func (f *chatFlags) meet(cmd *cobra.Command, node *nodeClient, whom string) (*talk.Speaker, identity.Address, error) {
	ctx := cmd.Context()
	agents, err := node.agents(ctx)
	if err != nil {
		return nil, "", err
	}
	var own identity.Address
	for _, a := range agents {
		if a.Name == f.key || string(a.Address) == f.key {
			own = a.Address
		}
	}
	if own == "" {
		return nil, "", fault.Errorf(fault.NotFound, "key", "the running node has no agent %q: name one of its agents with --key, or a data folder without a node", f.key)
	}
	speaker := &talk.Speaker{Node: node, Own: own, Stream: f.stream}
	if whom == "" && f.session != "" {
		records, err := node.Log(ctx, parley.LogQuery{Agent: own, Session: f.session, Limit: 1, Last: true}, 0)
		if err != nil {
			return nil, "", err
		}
		if len(records) == 0 {
			return nil, "", fault.Errorf(fault.NotFound, "session", "nothing was said in it by %s: name the agent to talk with", f.key)
		}
		peer := records[0].Message.From
		if peer == own {
			peer = records[0].Message.To
		}
		speaker.Printed = node.knowsAsPrinted(ctx, peer)
		return speaker, peer, nil
	}
	peer, err := findPeer(cmd, node, agents, own, whom)
	speaker.Printed = err == nil && node.knowsAsPrinted(ctx, peer)
	return speaker, peer, err
}

// farewell bounds how long the end of a session may take to reach the peer.
const farewell = 2 * time.Second

// talk holds the conversation and ends it.
func (f *chatFlags) talk(ctx context.Context, cmd *cobra.Command, speaker *talk.Speaker, peer identity.Address, node *nodeClient) error {
	begun, err := []*talk.Conversation(nil), error(nil)
	if f.once == "" && !f.asJSON && talksToPerson(cmd) {
		begun, err = f.screen(ctx, cmd, speaker, peer, f.namesOf(ctx, node))
	} else {
		begun, err = f.lines(ctx, cmd, speaker, peer)
	}
	wait := farewell
	if err != nil { // there is no reason to believe that the peer listens
		wait = 0
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*farewell) // the end is told also after an interrupt
	defer cancel()
	for _, c := range begun {
		if !f.keep {
			_ = speaker.End(ctx, c, wait) // the node tries on
		}
		if node != nil && node.private && err == nil {
			speaker.Drain(ctx, c.Session)
		}
	}
	return err
}

func (f *chatFlags) lines(ctx context.Context, cmd *cobra.Command, speaker *talk.Speaker, peer identity.Address) (begun []*talk.Conversation, err error) {
	l := &talk.Lines{
		Speaker: speaker, Book: talk.NewBook(speaker.Own), Out: cmd.OutOrStdout(), JSON: f.asJSON, Timeout: f.timeout, First: true,
		Dim: showsColour(cmd.OutOrStdout()),
	}
	session := f.session
	if session == "" {
		session = uuid.NewString()
	} else if l.After, err = speaker.Recall(ctx, l.Book, session); err != nil {
		return nil, err
	}
	l.First = l.Book.Find(session) == nil
	l.Conversation = l.Book.Open(session, peer)
	if f.once != "" {
		err = l.Once(ctx, f.once)
	} else {
		if isTerminal(cmd.InOrStdin()) {
			fmt.Fprintln(cmd.ErrOrStderr(), "each line is said when it ends; Ctrl-D leaves")
		}
		err = l.Talk(ctx, cmd.InOrStdin())
	}
	if f.session == "" && !l.First {
		begun = append(begun, l.Conversation)
	}
	return begun, err
}

// namesOf is what the agents of a node are called; without a node nobody has a name.
func (f *chatFlags) namesOf(ctx context.Context, node *nodeClient) map[identity.Address]string {
	names := make(map[identity.Address]string)
	if node == nil {
		return names
	}
	agents, _ := node.agents(ctx) // without names there are addresses
	for _, a := range agents {
		names[a.Address] = a.Name
	}
	return names
}

func (f *chatFlags) screen(ctx context.Context, cmd *cobra.Command, speaker *talk.Speaker, peer identity.Address, names map[identity.Address]string) ([]*talk.Conversation, error) {
	speaker.Stream = true
	o := screen.Options{
		Speaker: speaker, Book: talk.NewBook(speaker.Own), Session: f.session, Peer: peer,
		Names: names, In: cmd.InOrStdin(), Out: cmd.OutOrStdout(),
	}
	if o.Session == "" {
		o.Session = uuid.NewString()
	}
	var err error
	if o.After, err = speaker.Recall(ctx, o.Book, ""); err != nil {
		return nil, err
	}
	if f.session != "" && o.Book.Find(f.session) == nil { // it is older than what was said last
		if _, err := speaker.Recall(ctx, o.Book, f.session); err != nil {
			return nil, err
		}
	}
	begun, unsaid, err := screen.Run(ctx, o)
	for _, text := range unsaid {
		fmt.Fprintf(cmd.ErrOrStderr(), "parley: not said, for the node is gone: %s\n", talk.CleanLine(text))
	}
	return begun, err
}

// node finds the running node of the data folder, or runs one.
func (f *chatFlags) node(ctx context.Context, whom string) (_ *nodeClient, stop func() error, err error) {
	folder, err := dataFolder(f.data)
	if err != nil {
		return nil, nil, err
	}
	node, err := runningNode(folder)
	if err == nil {
		_, err = node.agents(ctx)
	}
	if !isNotRunning(err) {
		return node, func() error { return nil }, err
	}
	if whom == "" && f.session == "" {
		return nil, nil, f.nobody()
	}
	return f.ownNode(ctx, folder, whom)
}

// nobody is the error where nobody was named and no node says who there is.
func (f *chatFlags) nobody() error {
	folder, err := dataFolder(f.data)
	if err != nil {
		return err
	}
	return fault.Errorf(fault.NotFound, "", "no node is running in %s: start parley up first, or say whom to talk with", folder)
}

// talksToPerson reports whether a person sits at both ends, in front of a terminal
// that can show more than lines.
func talksToPerson(cmd *cobra.Command) bool {
	if os.Getenv("TERM") == "dumb" {
		return false
	}
	in, inOK := cmd.InOrStdin().(*os.File)
	out, outOK := cmd.OutOrStdout().(*os.File)
	return inOK && outOK && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
}

// showsColour reports whether somebody sees what is written, and in which way.
func showsColour(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Send is that of [talk.Node].
func (c *nodeClient) Send(ctx context.Context, r run.Request) (reply run.Reply, err error) {
	err = c.call(ctx, "POST", "send", r, &reply)
	return reply, err
}

// Log is that of [talk.Node].
func (c *nodeClient) Log(ctx context.Context, q parley.LogQuery, wait time.Duration) (records []parley.LogRecord, err error) {
	err = c.call(ctx, "GET", "log?"+logParameters(q, wait), nil, &records)
	return records, err
}

func (c *nodeClient) agents(ctx context.Context) (agents []parley.AgentInfo, err error) {
	err = c.call(ctx, "GET", "agents", nil, &agents)
	return agents, err
}
