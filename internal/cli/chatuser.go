package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parley-agents/parley/directory"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/talk"
	"github.com/parley-agents/parley/transport/parleyhttp"
)

// visit talks as a user: no node is needed, and none is told.
func (f *chatFlags) visit(cmd *cobra.Command, whom string) error {
	at, err := f.whereIs(cmd, whom)
	if err != nil {
		return err
	}
	transport, err := parleyhttp.New(nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(cmd.Context())) // the end is told also after an interrupt
	defer cancel()
	visitor, err := talk.NewVisitor(ctx, transport, at.endpoint(), f.timeout)
	if err != nil {
		return err
	}
	speaker := &talk.Speaker{Node: visitor, Own: visitor.Address(), Stream: f.stream, Printed: at.speaksAsPrinted(ctx)}
	err = f.talk(cmd.Context(), cmd, speaker, at.address, nil)
	cancel()
	visitor.Wait()
	return err
}

// whereIs finds an agent for a user, who has no node to find it: by its URL, among
// the agents of the running node, or in the Almanac of that node or of the flag.
func (f *chatFlags) whereIs(cmd *cobra.Command, whom string) (place, error) {
	ctx := cmd.Context()
	if at, ok, err := placeOf(whom); ok {
		if err != nil {
			return at, misused(cmd, err)
		}
		if node, err := nodeIn(f.data); err == nil && at.address == "" {
			if agents, err := node.agents(ctx); err == nil && len(agents) > 1 && at.isOf(node, agents) {
				whom = ""
			}
		}
		if whom != "" {
			return at, at.ask(ctx)
		}
	}
	almanac := f.almanac
	if node, err := nodeIn(f.data); err == nil {
		agents, err := node.agents(ctx)
		if err != nil && !isNotRunning(err) {
			return place{}, err
		}
		for _, a := range agents {
			if whom == string(a.Address) || whom == a.Name || whom == "" && a.Name != f.key {
				return place{a.Address, node.url()}, nil
			}
		}
		if almanac == "" && err == nil {
			almanac = node.url() + strings.TrimSuffix(directory.Prefix, "/")
		}
	}
	if whom == "" {
		return place{}, f.nobody()
	}
	address, err := identity.ParseAddress(whom)
	if err != nil || almanac == "" {
		return place{}, fault.Errorf(fault.NotFound, "", "nobody here knows where to find %q: name the agent by its URL, or as ADDRESS=URL", whom)
	}
	endpoints, err := directory.NewClient(almanac).Resolve(ctx, address)
	if err != nil || len(endpoints) == 0 {
		return place{}, fault.Errorf(fault.NotFound, "", "the Almanac does not know where %s is: name it as ADDRESS=URL", address)
	}
	return place{address, endpoints[0].URL}, nil
}

// speaksAsPrinted reports whether the agent says that it knows chat only as the
// uAgents example prints it.
func (p place) speaksAsPrinted(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base()+"/agent_info", nil)
	if err != nil {
		return false
	}
	request.Header.Set("x-uagents-address", string(p.address)) // where several answer
	status, text, err := fetch(request)
	var info struct{ Protocols []string }
	return err == nil && status == http.StatusOK && json.Unmarshal(text, &info) == nil && onlyPrinted(info.Protocols)
}
