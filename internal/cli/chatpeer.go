package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/directory"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/keystore"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/run"
)

// A place is an agent that was named by where it is.
type place struct {
	address identity.Address // "" if the agent must be asked
	url     string           // as it was given
}

// placeOf reads URL and ADDRESS=URL; ok is false for everything else.
func placeOf(whom string) (p place, ok bool, err error) {
	given, isURL := whom, strings.Contains(whom, "://")
	if !isURL {
		return place{}, false, nil
	}
	if address, rest, both := strings.Cut(whom, "="); both && !strings.Contains(address, ":") {
		if p.address, err = identity.ParseAddress(address); err != nil {
			return p, true, fault.In("address", err)
		}
		given = rest
	}
	u, err := url.Parse(given)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return p, true, fault.Errorf(fault.Malformed, "url", "expected the URL of an agent, such as http://127.0.0.1:8001")
	}
	p.url = given
	return p, true, nil
}

// base is the URL without the path of the endpoint.
func (p place) base() string { return strings.TrimSuffix(strings.TrimSuffix(p.url, "/"), "/submit") }

func (p place) endpoint() string { return p.base() + "/submit" }

const (
	askTimeout = 10 * time.Second
	maxInfo    = 1 << 20
)

// ask lets the agent say who it is.
func (p *place) ask(ctx context.Context) error {
	if p.address != "" {
		return nil
	}
	status, text, err := get(ctx, p.base()+"/agent_info")
	if err != nil {
		return fault.Errorf(fault.Unavailable, p.url, "nobody answers: %w", err)
	}
	var info struct {
		Address string `json:"address"`
	}
	if status == http.StatusOK {
		err = json.Unmarshal(text, &info)
	}
	if err == nil {
		p.address, err = identity.ParseAddress(info.Address)
	}
	if err == nil && status == http.StatusOK {
		return nil
	}
	if speakers := p.speakers(ctx); len(speakers) > 0 {
		return p.several(speakers)
	}
	return fault.Errorf(fault.NotFound, p.url, "no single agent says there who it is (status %d): name it as ADDRESS=URL", status)
}

// maxNamed bounds how many agents an error names.
const maxNamed = 5

// several is the error where more than one agent is at the place; each may have
// its name before its address.
func (p place) several(agents []string) error {
	if len(agents) == 0 {
		return fault.Errorf(fault.NotFound, p.url, "no agent is there but those of persons: name one as ADDRESS=URL")
	}
	list := strings.Join(agents[:min(len(agents), maxNamed)], ", ")
	if len(agents) > maxNamed {
		list += fmt.Sprintf(" and %d more", len(agents)-maxNamed)
	}
	first := agents[0][strings.LastIndexByte(agents[0], ' ')+1:]
	return fault.Errorf(fault.NotFound, p.url, "several agents are there: %s; name one as ADDRESS=URL, such as %s=%s", list, first, p.base())
}

// speakers asks the Almanac of a Parley node which of its agents speak chat.
func (p place) speakers(ctx context.Context) (addresses []string) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for _, protocol := range []string{chat.AgentManifestDigest, chat.MendedManifestDigest, chat.PrintedManifestDigest} {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base()+directory.Prefix+"search", strings.NewReader(`{"text":"`+protocol+`"}`))
		if err != nil {
			return nil
		}
		request.Header.Set("content-type", "application/json")
		status, text, err := fetch(request)
		var found []struct {
			Address   string
			Endpoints []struct{ URL string }
		}
		if err != nil || status != http.StatusOK || json.Unmarshal(text, &found) != nil {
			return addresses
		}
		for _, a := range found {
			_, err := identity.ParseAddress(a.Address)
			here := slices.ContainsFunc(a.Endpoints, func(e struct{ URL string }) bool { return sameHost(e.URL, p.url) })
			if err == nil && here && !slices.Contains(addresses, a.Address) {
				addresses = append(addresses, a.Address)
			}
		}
	}
	return addresses
}

// isOf reports whether the place is that of the node whose agents these are.
func (p place) isOf(node *nodeClient, agents []parley.AgentInfo) bool {
	return sameHost(p.url, node.url()) || slices.ContainsFunc(agents, func(a parley.AgentInfo) bool {
		return slices.ContainsFunc(a.Endpoints, func(e parley.Endpoint) bool { return sameHost(p.url, e.URL) })
	})
}

// sameHost compares host and port of two URLs.
func sameHost(a, b string) bool {
	one, err := url.Parse(a)
	two, wrong := url.Parse(b)
	host := func(u *url.URL) string {
		if u.Hostname() == "localhost" {
			return "127.0.0.1"
		}
		return u.Hostname()
	}
	return err == nil && wrong == nil && one.Port() == two.Port() && one.Scheme == two.Scheme && host(one) == host(two)
}

func get(ctx context.Context, url string) (status int, text []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	return fetch(request)
}

func fetch(request *http.Request) (status int, text []byte, err error) {
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(io.LimitReader(response.Body, maxInfo))
	return response.StatusCode, text, err
}

// findPeer finds whom to talk with and sees to it that the node can.
func findPeer(cmd *cobra.Command, node *nodeClient, agents []parley.AgentInfo, own identity.Address, whom string) (identity.Address, error) {
	ctx := cmd.Context()
	if at, ok, err := placeOf(whom); ok {
		if err != nil {
			return "", misused(cmd, err)
		}
		if at.address == "" && at.isOf(node, agents) {
			if own != "" {
				return findPeer(cmd, node, agents, own, "")
			}
			return at.among(agents)
		}
		if err := at.ask(ctx); err != nil {
			return "", err
		}
		known := run.Place{Address: at.address, URL: at.endpoint(), Almanac: at.almanac(ctx)}
		return at.address, node.call(ctx, "POST", "resolve", known, &run.Place{})
	}
	for _, a := range agents {
		if a.Address != own && (whom == "" || whom == a.Name) {
			return a.Address, nil
		}
		if a.Address == own && (whom == a.Name || whom == string(own)) {
			return "", fault.Errorf(fault.Malformed, "", "%s is the one who speaks: name another agent to talk with, or another speaker with --key", a.Name)
		}
	}
	if whom == "" {
		return "", fault.Errorf(fault.NotFound, "", "the node has no other agent: say whom to talk with")
	}
	address, err := identity.ParseAddress(whom)
	if err != nil && !strings.HasPrefix(whom, "agent1") {
		return "", fault.Errorf(fault.NotFound, "", "%q is neither an agent of the node nor an address or a URL", whom)
	}
	return address, misused(cmd, fault.In("address", err))
}

// among chooses from the agents of the running node the only one that is not the
// person's own.
func (p place) among(agents []parley.AgentInfo) (identity.Address, error) {
	var named []string
	var only identity.Address
	for _, a := range agents {
		if a.Name != person || len(agents) == 1 {
			only, named = a.Address, append(named, a.Name+" "+string(a.Address))
		}
	}
	if len(named) == 1 {
		return only, nil
	}
	return "", p.several(named)
}

// ownNode runs a node in this process, for the time of the conversation.
func (f *chatFlags) ownNode(ctx context.Context, folder, whom string) (_ *nodeClient, stop func() error, err error) {
	if f.key != person {
		keys, err := keystore.Open(folder)
		if err != nil {
			return nil, nil, err
		}
		if _, err := findKey(keys, f.data, f.key); err != nil {
			return nil, nil, err
		}
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, nil, err
	}
	opts := &run.Options{Data: folder, Listen: "127.0.0.1:0", Almanac: f.almanac}
	if at, ok, err := placeOf(whom); ok && err == nil && f.almanac == "" {
		opts.Almanac = at.almanac(ctx)
	}
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	started, done := make(chan string, 1), make(chan error, 1)
	opts.Started = func(url string) { started <- url }
	speaker := chat.NewPerson(f.key)
	go func() { done <- run.Run(working, opts, speaker) }()
	stop = func() error { cancel(); return <-done }
	select {
	case <-started:
	case err := <-done:
		cancel()
		return nil, nil, fmt.Errorf("a node for this conversation: %w", err)
	}
	node, err := runningNode(folder)
	if err != nil {
		_ = stop()
		return nil, nil, err
	}
	node.private = true
	if opts.Almanac != "" {
		awaitListed(ctx, opts.Almanac, speaker.Address())
	}
	return node, stop, nil
}

// almanac returns where agents at this place look each other up, if they do so
// at the place itself, as the agents of a Parley node do: there they must find
// the one who speaks, to answer.
func (p place) almanac(ctx context.Context) string {
	if p.ask(ctx) != nil {
		return ""
	}
	almanac := p.base() + strings.TrimSuffix(directory.Prefix, "/")
	if !isListed(ctx, almanac, p.address) {
		return ""
	}
	return almanac
}

// knowsAsPrinted reports whether an agent that has registered with the node speaks
// chat only as the uAgents example prints it.
func (c *nodeClient) knowsAsPrinted(ctx context.Context, agent identity.Address) bool {
	status, text, err := get(ctx, c.url()+directory.Prefix+"agents/"+string(agent))
	var entry struct{ Protocols []string }
	if err != nil || status != http.StatusOK || json.Unmarshal(text, &entry) != nil {
		return false
	}
	return onlyPrinted(entry.Protocols)
}

// onlyPrinted reports whether chat is among the protocols only as the uAgents
// example prints it.
func onlyPrinted(protocols []string) bool {
	speaks := func(digest string) bool { return slices.Contains(protocols, digest) }
	return speaks(chat.PrintedManifestDigest) && !speaks(chat.AgentManifestDigest) && !speaks(chat.MendedManifestDigest)
}

func isListed(ctx context.Context, almanac string, agent identity.Address) bool {
	status, _, err := get(ctx, strings.TrimSuffix(almanac, "/")+"/agents/"+string(agent))
	return err == nil && status == http.StatusOK
}

// announceWait is how long the first message may wait for the Almanac to know
// who speaks.
const announceWait = 3 * time.Second

// awaitListed waits a while until peers can find the agent.
func awaitListed(ctx context.Context, almanac string, agent identity.Address) {
	for deadline := time.Now().Add(announceWait); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if isListed(ctx, almanac, agent) {
			return
		}
	}
}
