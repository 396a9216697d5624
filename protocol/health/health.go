// Package health holds the messages of the uAgents health protocol, version
// 0.1.0: one agent asks another whether it is well.
package health

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-agents/parley"
)

// The two states of an agent.
const (
	Healthy   = HealthStatusHealthy
	Unhealthy = HealthStatusUnhealthy
)

// The roles: the one that is asked, and the one that asks.
const (
	Agent   = RoleAgent
	Monitor = RoleMonitor
)

// A Check looks after one thing that an agent needs and says what is wrong with
// it. It should end with its context.
type Check func(ctx context.Context, t *parley.Turn) error

// patience is what all checks together get, as in the Python library.
const patience = 5 * time.Second

// NewProtocol returns the protocol for an agent that answers [HealthCheck]: it
// is healthy if all checks succeed. Why it is not goes to its log, not to the
// monitor. It is included in the role [Agent]:
//
//	agent.Include(health.NewProtocol(reachable), &parley.Include{Role: health.Agent, PublishManifest: true})
func NewProtocol(checks ...Check) *parley.Protocol {
	p := parley.NewProtocol(Rules())
	parley.Handle(p, func(ctx context.Context, t *parley.Turn, _ HealthCheck) (AgentHealth, error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		answer := AgentHealth{AgentName: t.Agent.Name, Status: Healthy}
		for _, check := range checks {
			if err := run(ctx, t, check); err != nil {
				t.Log.Warn("unhealthy", "error", err)
				answer.Status = Unhealthy
			}
		}
		return answer, nil
	})
	return p
}

// run makes a panic the result of the check.
func run(ctx context.Context, t *parley.Turn, check Check) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the check panicked: %v", p)
		}
	}()
	return check(ctx, t)
}
