// Package run is what an agent's author wants by default: flags, a data folder,
// keys, a SQLite store, HTTP, signals.
//
//	func main() {
//		hello := parley.NewAgent("hello", nil)
//		parley.Handle(hello, greet)
//		run.Main(hello)
//	}
package run

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/directory"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/keystore"
	"github.com/parley-agents/parley/store/sqlite"
	"github.com/parley-agents/parley/transport/parleyhttp"
)

// Options say how a node is run. Nil means the defaults, which are those of the
// flags of [Main].
type Options struct {
	Data     string                      // data folder; default "data" in the working folder
	Listen   string                      // host:port; default 127.0.0.1:8000
	Endpoint string                      // URL under which peers reach the node; default made from Listen
	Resolve  map[identity.Address]string // addresses whose URLs are known
	Almanac  string                      // base URL of an Almanac that knows other agents, and is told about these
	CertFile string                      // PEM files that make the node speak HTTPS, both or none
	KeyFile  string
	Logger   *slog.Logger
	Output   io.Writer // where the addresses are printed; default none

	// Started is called when the node listens, with its URL; what comes before the
	// agents are ready waits.
	Started func(url string)
}

const (
	defaultData   = "data"
	defaultListen = "127.0.0.1:8000"
	passphraseEnv = "PARLEY_PASSPHRASE"
)

// patience is how long Main waits for agents to stop: longer than all that has a
// grace time needs. Only functions that do not heed their context are left then.
var patience = time.Minute

// Main runs agents as a program: it reads the flags of the command line, serves
// until it is interrupted, and ends the process.
func Main(agents ...*parley.Agent) {
	opts, err := parseFlags(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil { // the flag package has said why
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ended := make(chan struct{})
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends the process at once
		select {
		case <-ended:
		case <-time.After(patience):
			fmt.Fprintln(os.Stderr, "some handlers do not end although their context has: what they were given is stored, and is handled again at the next start")
			os.Exit(1)
		}
	})
	err = Run(ctx, opts, agents...)
	close(ended)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func parseFlags(args []string) (*Options, error) {
	o := &Options{Output: os.Stdout, Resolve: make(map[identity.Address]string)}
	flags := flag.NewFlagSet(filepath.Base(os.Args[0]), flag.ContinueOnError)
	flags.StringVar(&o.Data, "data", defaultData, "`folder` for keys and messages")
	flags.StringVar(&o.Listen, "listen", defaultListen, "`host:port` to take messages on")
	flags.StringVar(&o.Endpoint, "endpoint", "", "`URL` under which peers reach this node (default made from -listen)")
	flags.StringVar(&o.Almanac, "almanac", "", "base `URL` of an Almanac that knows other agents, and is told about these")
	flags.StringVar(&o.CertFile, "tls-cert", "", "PEM `file` with the certificate to speak HTTPS with")
	flags.StringVar(&o.KeyFile, "tls-key", "", "PEM `file` with the key of the certificate")
	flags.Func("resolve", "`ADDRESS=URL` of a peer; may be repeated", func(text string) error {
		address, url, ok := strings.Cut(text, "=")
		if !ok {
			return errors.New("expected ADDRESS=URL")
		}
		parsed, err := identity.ParseAddress(address)
		o.Resolve[parsed] = url
		return err
	})
	verbose := flags.Bool("v", false, "log what happens")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		err := fmt.Errorf("unexpected argument %q: there are flags only", flags.Arg(0))
		fmt.Fprintln(flags.Output(), err)
		return nil, err
	}
	level := slog.LevelWarn
	if *verbose {
		level = slog.LevelInfo
	}
	o.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	return o, nil
}

// Run hosts agents until ctx ends. Agents without a key get the one that the
// data folder keeps under their name, made on the first run.
func Run(ctx context.Context, opts *Options, agents ...*parley.Agent) error {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.defaults()
	if err := o.check(); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return fault.Errorf(fault.Unavailable, "", "the data folder cannot be made: %w", err)
	}
	if err := giveKeys(o.Data, agents); err != nil {
		return err
	}
	store, err := sqlite.Open(filepath.Join(o.Data, "parley.db"), &sqlite.Options{Log: o.Logger})
	if err != nil {
		return err
	}
	defer store.Close()
	late := &lateHandler{}
	known := newPlaces(o.Resolve)
	node, transport, private, err := assemble(&o, store, known, late)
	if err != nil {
		return err
	}
	if err := node.Add(agents...); err != nil {
		return err
	}
	manifests, err := node.Manifests()
	if err != nil {
		return err
	}
	for _, m := range manifests {
		if err := late.Publish(ctx, m); err != nil {
			return err
		}
	}
	controls := &Control{URL: private.URL(), Token: newToken(), PID: os.Getpid()}
	late.control = (&control{node, store, agents, known, controls.Token, ctx}).handler()
	remove, err := controls.publish(o.Data)
	if err != nil {
		return err
	}
	defer remove()
	for _, a := range agents {
		fmt.Fprintf(o.Output, "%s  %s\n", a.Name(), a.Address())
	}
	fmt.Fprintf(o.Output, "listening on %s\n", transport.URL())
	if o.Started != nil {
		o.Started(transport.URL())
	}
	var announcing sync.WaitGroup
	defer announcing.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.Almanac != "" {
		announcing.Go(func() { directory.NewClient(o.Almanac).Announce(ctx, announcements(node, agents), manifests, o.Logger) })
	}
	return node.Run(ctx)
}

func announcements(node *parley.Node, agents []*parley.Agent) []directory.Announcement {
	var all []directory.Announcement
	for _, a := range agents {
		if info, ok := node.Agent(a.Address()); ok {
			all = append(all, directory.Announcement{Agent: info, Key: a.Key()})
		}
	}
	return all
}

func (o *Options) defaults() {
	if o.Data == "" {
		o.Data = defaultData
	}
	if o.Listen == "" {
		o.Listen = defaultListen
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Output == nil {
		o.Output = io.Discard
	}
}

// check refuses URLs that nobody could use, at the start and not when they are
// needed.
func (o *Options) check() error {
	for name, text := range map[string]string{"endpoint": o.Endpoint, "almanac": o.Almanac} {
		if text == "" {
			continue
		}
		if err := checkURL(name, text); err != nil {
			return err
		}
	}
	for address, text := range o.Resolve {
		if err := checkURL("resolve", text); err != nil {
			return fmt.Errorf("%s: %w", address, err)
		}
	}
	return nil
}

// assemble wires a node to its store, its transports and what it resolves with.
// The commands of this machine use the private transport.
func assemble(o *Options, store parley.Store, known *places, almanac *lateHandler) (node *parley.Node, public, private *parleyhttp.Transport, err error) {
	public, err = listen(&parleyhttp.Options{
		Listen: o.Listen, CertFile: o.CertFile, KeyFile: o.KeyFile, Logger: o.Logger, Handlers: almanac.mounts(),
	})
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fault.Errorf(fault.Conflict, "listen", "another program, perhaps another node, listens on %s: choose another port with -listen, such as 127.0.0.1:0 for any that is free (%w)", o.Listen, err)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	private, transports := public, []parley.Transport{public}
	if o.CertFile != "" || !reachesLoopback(public.URL()) {
		if private, err = listen(&parleyhttp.Options{Listen: "127.0.0.1:0", Logger: o.Logger, Handlers: almanac.mounts()}); err != nil {
			return nil, nil, nil, err
		}
		transports = append(transports, private)
	}
	endpoint := o.Endpoint
	if endpoint == "" {
		endpoint = public.URL() + "/submit"
	}
	resolvers := []parley.Resolver{known, almanac}
	if o.Almanac != "" {
		resolvers = append(resolvers, directory.NewClient(o.Almanac))
	}
	node, err = parley.NewNode(&parley.NodeOptions{
		Store: store, Transports: transports, Logger: o.Logger,
		Resolver: parley.Resolvers(resolvers...), Finder: almanac, Endpoints: []parley.Endpoint{{URL: endpoint, Weight: 1}},
	})
	if err != nil {
		return nil, nil, nil, err
	}
	almanac.Almanac = directory.NewAlmanac(store, node, o.Logger)
	return node, public, private, nil
}

func listen(o *parleyhttp.Options) (*parleyhttp.Transport, error) {
	t, err := parleyhttp.New(o)
	if err != nil {
		return nil, err
	}
	return t, t.Listen()
}

// reachesLoopback tells whether requests to a URL come from a loopback address.
func reachesLoopback(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.IsLoopback()
}

// giveKeys loads or makes the keys of agents that have none.
func giveKeys(data string, agents []*parley.Agent) error {
	var store *keystore.Store
	for _, a := range agents {
		if a.Address() != "" {
			continue
		}
		if store == nil {
			var err error
			if store, err = keystore.Open(data); err != nil {
				return err
			}
		}
		key, err := store.Get(a.Name(), os.Getenv(passphraseEnv))
		if fault.CodeOf(err) == fault.NotFound {
			_, err = store.New(a.Name(), &keystore.Options{Passphrase: os.Getenv(passphraseEnv)})
			if err == nil {
				key, err = store.Get(a.Name(), os.Getenv(passphraseEnv))
			}
		}
		if err != nil {
			return fmt.Errorf("the key of %s: %w", a.Name(), err)
		}
		a.SetKey(key)
	}
	return nil
}
