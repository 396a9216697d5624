// Package health holds the messages of the uAgents health protocol, version
// 0.1.0: one agent asks another whether it is well.
package health

import (
	"context"
	"errors"
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
// it. It should end with its context; one that does not is not waited for.
type Check func(ctx context.Context, t *parley.Turn) error

const (
	patience = 4 * time.Second // with all checks together: by the rules the answer is due in five
	atOnce   = 16              // runs of one check, of those that hang too
)

// NewProtocol returns the protocol for an agent that answers [HealthCheck]: it
// is healthy if all checks succeed. Why it is not goes to its log, not to the
// monitor. It is included in the role [Agent]:
//
//	agent.Include(health.NewProtocol(reachable), &parley.Include{Role: health.Agent, PublishManifest: true})
func NewProtocol(checks ...Check) *parley.Protocol {
	p := parley.NewProtocol(Rules())
	var runners []*runner
	for _, check := range checks {
		runners = append(runners, &runner{check, make(chan struct{}, atOnce)})
	}
	parley.Handle(p, func(ctx context.Context, t *parley.Turn, _ HealthCheck) (AgentHealth, error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		answer := AgentHealth{AgentName: t.Agent.Name, Status: Healthy}
		for _, r := range runners {
			if err := r.run(ctx, t); err != nil {
				t.Log.Warn("unhealthy", "error", err)
				answer.Status = Unhealthy
			}
		}
		return answer, nil
	})
	return p
}

// A runner runs a check, a bounded number of times at once.
type runner struct {
	check   Check
	running chan struct{}
}

// run makes a panic or a hang the result of the check.
func (r *runner) run(ctx context.Context, t *parley.Turn) error {
	select {
	case r.running <- struct{}{}:
	case <-ctx.Done():
		return errors.New("earlier runs of the check hang")
	}
	done := make(chan error, 1)
	go func() { // ends when the check does
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("the check panicked: %v", p)
			}
			<-r.running
		}()
		done <- r.check(ctx, t)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errors.New("the check hangs")
	}
}
