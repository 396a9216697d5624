package parley

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

// A Resolver finds where an agent can be reached.
type Resolver interface {
	// Resolve returns the endpoints of an agent. The error is NotFound if the
	// agent is not known.
	Resolve(ctx context.Context, agent identity.Address) ([]Endpoint, error)
}

// ResolverFunc makes a function a [Resolver].
type ResolverFunc func(ctx context.Context, agent identity.Address) ([]Endpoint, error)

// Resolve calls f.
func (f ResolverFunc) Resolve(ctx context.Context, agent identity.Address) ([]Endpoint, error) {
	return f(ctx, agent)
}

// Static resolves from a table of addresses and URLs.
func Static(table map[identity.Address]string) Resolver {
	return ResolverFunc(func(_ context.Context, agent identity.Address) ([]Endpoint, error) {
		if url, ok := table[agent]; ok {
			return []Endpoint{{URL: url, Weight: 1}}, nil
		}
		return nil, notResolved(agent)
	})
}

// Resolvers asks one resolver after the other until one knows the agent.
func Resolvers(all ...Resolver) Resolver {
	return ResolverFunc(func(ctx context.Context, agent identity.Address) ([]Endpoint, error) {
		var last error = notResolved(agent)
		for _, r := range all {
			endpoints, err := r.Resolve(ctx, agent)
			if err == nil && len(endpoints) > 0 {
				return endpoints, nil
			}
			if err != nil && fault.CodeOf(err) != fault.NotFound {
				last = err
			}
		}
		return nil, last
	})
}

func notResolved(agent identity.Address) error {
	return fault.Errorf(fault.NotFound, "", "no endpoint of %s is known", agent)
}

// maxEndpoints is how many endpoints of an agent a message is tried at, and
// maxWeight what the heaviest counts: weights come from whoever registers.
const (
	maxEndpoints = 10
	maxWeight    = 1 << 20
)

func (e Endpoint) weight() int { return min(max(1, e.Weight), maxWeight) }

// inWeightedOrder puts endpoints in a random order in which heavier ones come
// first more often.
func inWeightedOrder(endpoints []Endpoint) []Endpoint {
	rest := slices.Clone(endpoints)
	var ordered []Endpoint
	for len(rest) > 0 && len(ordered) < maxEndpoints {
		total := 0
		for _, e := range rest {
			total += e.weight()
		}
		at := rand.IntN(total)
		for i, e := range rest {
			if at -= e.weight(); at < 0 {
				ordered = append(ordered, e)
				rest = slices.Delete(rest, i, i+1)
				break
			}
		}
	}
	return ordered
}
