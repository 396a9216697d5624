package parleyhttp_test

import (
	"context"
	"iter"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
)

// emptyHost serves no agent.
type emptyHost struct{}

func (emptyHost) Agent(identity.Address) (parley.AgentInfo, bool) { return parley.AgentInfo{}, false }
func (emptyHost) Agents() iter.Seq[parley.AgentInfo]              { return func(func(parley.AgentInfo) bool) {} }
func (emptyHost) Routes(string, string) []parley.Route            { return nil }
func (emptyHost) Ready() bool                                     { return true }
func (emptyHost) Messages(context.Context, identity.Address, int) ([]parley.LogRecord, error) {
	return nil, nil
}
