package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"strings"
	"syscall"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/assistant"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/llm"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/quota"
	"github.com/parley-agents/parley/run"
)

// upOptions are those of `parley up`, in the order in which they count: flags,
// environment, file, defaults.
type upOptions struct {
	Name    string            `toml:"name"`
	Listen  string            `toml:"listen"`
	Almanac string            `toml:"almanac"`
	Context string            `toml:"context"`
	Model   upModel           `toml:"model"`
	Limit   *upLimit          `toml:"limit"`
	Resolve map[string]string `toml:"resolve"`
}

type upModel struct {
	Name      string `toml:"name"`
	BaseURL   string `toml:"base_url"`
	MaxTokens int    `toml:"max_tokens"`
}

type upLimit struct {
	Requests int `toml:"requests"`
	Minutes  int `toml:"minutes"`
}

// person is the agent that speaks for whoever sits at the terminal.
const person = "you"

func newUp() *cobra.Command {
	var config, listen, model string
	var resolve []string
	var verbose bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run a node with an AI agent",
		Long: `Up runs a node with an AI agent, on this machine only, from nothing: it makes keys
and a store in the data folder, and the next start resumes everything. Ctrl-C
stops it.

Without more the agent answers with a small model that is built in. With
OPENAI_API_KEY, or OPENAI_BASE_URL for any OpenAI-compatible server, it uses that
one; MODEL_ENGINE and MAX_TOKENS choose the model and the length of answers.
AGENT_SEED gives the agent its key and AGENT_NAME its name.

The configuration file is TOML, and each line of it may be left out:

    name = "Ada's assistant"
    listen = "127.0.0.1:8000"
    almanac = "http://127.0.0.1:9000/v1/almanac"
    context = "You are brief and kind."

    [model]
    name = "gpt-4o-mini"                   # or "offline"
    base_url = "http://127.0.0.1:8080/v1"
    max_tokens = 500

    [limit]                                # of prompts, per sender
    requests = 6
    minutes = 60

    [resolve]                              # peers that are known
    "agent1q…" = "http://127.0.0.1:8001/submit"

Flags count before the environment, and that before the file.`,
		Example: `  parley up
  parley up --listen 127.0.0.1:9000 --model offline
  OPENAI_BASE_URL=http://127.0.0.1:8080/v1 parley up`,
	}
	data := dataFlag(cmd)
	flags := cmd.Flags()
	flags.StringVar(&config, "config", "", "configuration `file`")
	flags.StringVar(&listen, "listen", "", "`host:port` to take messages on (default 127.0.0.1:8000, or another port if that is taken)")
	flags.StringVar(&model, "model", "", "`name` of the model; offline is the one that is built in")
	flags.StringArrayVar(&resolve, "resolve", nil, "`ADDRESS=URL` of a peer; may be repeated")
	flags.BoolVarP(&verbose, "verbose", "v", false, "log what happens")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		folder, err := dataFolder(*data)
		if err != nil {
			return err
		}
		o, err := readUpOptions(config)
		if err != nil {
			return err
		}
		if err := o.override(os.Getenv, listen, model, resolve); err != nil {
			return misused(cmd, err)
		}
		return up(cmd.Context(), o, folder, verbose, cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	return cmd
}

func readUpOptions(path string) (*upOptions, error) {
	o := &upOptions{}
	if path == "" {
		return o, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	decoder := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields()
	err = decoder.Decode(o)
	if unknown, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		row, column := unknown.Errors[0].Position()
		return nil, fault.Errorf(fault.Malformed, fmt.Sprintf("%s:%d:%d", path, row, column), "there is no setting %q", strings.Join(unknown.Errors[0].Key(), "."))
	}
	if bad, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, column := bad.Position()
		return nil, fault.Errorf(fault.Malformed, fmt.Sprintf("%s:%d:%d", path, row, column), "%s", settingError(bad.Error()))
	}
	return o, err
}

var wrongKind = regexp.MustCompile(`cannot decode TOML (\w+) into (?:struct field )?\S+ of type (\w+)`)

// settingError says in the words of the file what its reader says in those of Go.
func settingError(text string) string {
	text = strings.TrimPrefix(text, "toml: ")
	if found := wrongKind.FindStringSubmatch(text); found != nil {
		return fmt.Sprintf("expected a value of kind %s, not %s", found[2], found[1])
	}
	return text
}

// override lets the environment and the flags count before the file.
func (o *upOptions) override(getenv func(string) string, listen, model string, resolve []string) error {
	if name := getenv("AGENT_NAME"); name != "" {
		o.Name = name
	}
	if listen != "" {
		o.Listen = listen
	}
	if model != "" {
		o.Model.Name = model
	} else if name := getenv("MODEL_ENGINE"); name != "" {
		o.Model.Name = name
	}
	if o.Resolve == nil {
		o.Resolve = make(map[string]string)
	}
	for _, pair := range resolve {
		address, url, ok := strings.Cut(pair, "=")
		if !ok {
			return fault.Errorf(fault.Malformed, "--resolve", "expected ADDRESS=URL, not %q", pair)
		}
		o.Resolve[address] = url
	}
	return nil
}

// modelOf makes the model that the options and the environment name.
func (o *upOptions) model() (*llm.Model, error) {
	config, err := llm.FromEnv(os.Getenv)
	if err != nil {
		return nil, err
	}
	if o.Model.Name != "" {
		config.Model = o.Model.Name
	}
	if config.BaseURL == "" {
		config.BaseURL = o.Model.BaseURL
	}
	if o.Model.Name != "" && o.Model.Name != "offline" && config.BaseURL == "" && config.APIKey.Empty() {
		return nil, fault.Errorf(fault.Malformed, "model", "no server is known for %q: set OPENAI_API_KEY or OPENAI_BASE_URL, or use the model offline", o.Model.Name)
	}
	if o.Model.MaxTokens > 0 && os.Getenv("MAX_TOKENS") == "" {
		config.MaxTokens = o.Model.MaxTokens
	}
	return llm.New(config)
}

func (o *upOptions) assistant(model *llm.Model) (*parley.Agent, error) {
	a := &assistant.Options{Name: o.Name, Model: model, Context: o.Context}
	if o.Limit != nil {
		a.Limit = &quota.Limit{MaxRequests: o.Limit.Requests, WindowMinutes: o.Limit.Minutes}
	}
	if seed := os.Getenv("AGENT_SEED"); seed != "" {
		key, err := identity.FromSeed(seed, 0)
		if err != nil {
			return nil, err
		}
		a.Key = key
	}
	return assistant.New(a)
}

func up(ctx context.Context, o *upOptions, data string, verbose bool, stdout, stderr io.Writer) error {
	model, err := o.model()
	if err != nil {
		return err
	}
	known := make(map[identity.Address]string)
	for address, place := range o.Resolve {
		parsed, err := identity.ParseAddress(address)
		if err != nil {
			return fault.Errorf(fault.Malformed, "resolve", "%q is no address: %w", address, err)
		}
		if u, err := url.Parse(place); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fault.Errorf(fault.Malformed, "resolve", "expected a URL such as http://127.0.0.1:8001/submit, not %q", place)
		}
		known[parsed] = place
	}
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelInfo
	}
	options := &run.Options{
		Data: data, Listen: o.Listen, Resolve: known, Almanac: o.Almanac,
		Logger: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level})),
	}
	if node, err := runningNode(data); err == nil {
		timed, cancel := context.WithTimeout(ctx, askTimeout) // another program may have its port by now
		_, err := node.agents(timed)
		cancel()
		if err == nil {
			return fault.Errorf(fault.Conflict, "data", "a node is running in %s already, at %s: talk with it (parley chat), or name another folder with --data", data, node.url())
		}
	}
	for {
		ai, err := o.assistant(model)
		if err != nil {
			return err
		}
		you := chat.NewPerson(person)
		options.Started = func(url string) { greet(stdout, ai, you, model, url, data) }
		err = run.Run(ctx, options, ai, you)
		if o.Listen == "" && options.Listen == "" && errors.Is(err, syscall.EADDRINUSE) {
			options.Listen = "127.0.0.1:0"
			continue
		}
		if errors.Is(err, syscall.EADDRINUSE) {
			return fault.Errorf(fault.Conflict, "listen", "another program listens on %s: name another port, or none, and a free one is taken", o.Listen)
		}
		if err == nil {
			fmt.Fprintln(stdout, "stopped")
		}
		return err
	}
}

// greet says who is there and what to do next.
func greet(w io.Writer, ai, you *parley.Agent, model *llm.Model, url, data string) {
	folder := ""
	if chosen, err := dataFolder(""); err != nil || chosen != data {
		folder = " --data " + data
	}
	fmt.Fprintf(w, `%s  %s
%s  %s
listening on %s, answering with %s

Talk with it, in another terminal:

    parley chat%s

A Python agent finds it with agentverse=%q. Ctrl-C stops.
`, ai.Name(), ai.Address(), you.Name(), you.Address(), url, model, folder, url)
}
