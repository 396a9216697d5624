// Package health holds the messages of the uAgents health protocol, version
// 0.1.0: one agent asks another whether it is well.
package health

import "github.com/parley-agents/parley/spec"

// HealthCheck asks an agent whether it is well.
type HealthCheck struct{}

// AgentHealth answers a [HealthCheck].
type AgentHealth struct {
	AgentName string       `json:"agent_name"`
	Status    HealthStatus `json:"status"`
}

// HealthStatus says how an agent is.
type HealthStatus string

// The two states of an agent.
const (
	Healthy   HealthStatus = "healthy"
	Unhealthy HealthStatus = "unhealthy"
)

// EnumValues lists the states.
func (HealthStatus) EnumValues() []any { return []any{string(Healthy), string(Unhealthy)} }

// The roles: the one that is asked, and the one that asks.
const (
	Agent   = "agent"
	Monitor = "monitor"
)

// Rules returns the protocol as data.
func Rules() (*spec.Protocol, error) {
	check, err := spec.FromGo[HealthCheck]()
	if err != nil {
		return nil, err
	}
	health, err := spec.FromGo[AgentHealth]()
	if err != nil {
		return nil, err
	}
	return &spec.Protocol{
		Name: "HealthProtocol", Version: "0.1.0",
		Roles: []spec.Role{{Name: Agent}, {Name: Monitor}},
		Messages: []spec.Message{
			{Name: check.Name, Body: check, From: []string{Monitor}, To: []string{Agent}},
			{Name: health.Name, Body: health, From: []string{Agent}, To: []string{Monitor}},
		},
		Rules: []spec.Rule{{Message: check.Name, Replies: []string{health.Name}}, {Message: health.Name}},
	}, nil
}
