package parleyhttp

import (
	"context"
	"encoding/json"
	"net"
	"strconv"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
)

type endpointJSON struct {
	URL    string `json:"url"`
	Weight int    `json:"weight"`
}

// agentInfo tells about an agent, with the members that the library tells.
func (s *server) agentInfo(info parley.AgentInfo) func(context.Context, []byte) ([]byte, error) {
	return func(context.Context, []byte) ([]byte, error) {
		_, port, _ := net.SplitHostPort(s.t.listener.Addr().String())
		number, _ := strconv.Atoi(port)
		about := struct {
			Address   identity.Address `json:"address"`
			Endpoints []endpointJSON   `json:"endpoints"`
			Protocols []string         `json:"protocols"`
			AgentType string           `json:"agent_type"`
			Metadata  struct{}         `json:"metadata"`
			Prefix    string           `json:"prefix"`
			Port      int              `json:"port"`
		}{Address: info.Address, Endpoints: []endpointJSON{}, Protocols: info.Protocols, AgentType: "custom", Prefix: "agent", Port: number}
		for _, e := range info.Endpoints {
			about.Endpoints = append(about.Endpoints, endpointJSON(e))
		}
		return marshal(about)
	}
}

const maxMessages = 1000

// messages shows the latest messages of an agent, sent and received.
func messages(host parley.Host, agent identity.Address) func(context.Context, []byte) ([]byte, error) {
	type message struct {
		Timestamp int64            `json:"timestamp"`
		Version   int              `json:"version"`
		Sender    identity.Address `json:"sender"`
		Target    identity.Address `json:"target"`
		Session   string           `json:"session"`
		Schema    string           `json:"schema_digest"`
		Protocol  *string          `json:"protocol_digest"`
		Payload   string           `json:"payload"`
	}
	return func(ctx context.Context, _ []byte) ([]byte, error) {
		records, err := host.Messages(ctx, agent, maxMessages)
		if err != nil {
			return nil, err
		}
		list := []message{}
		for _, r := range records {
			if r.Event != "received" && r.Event != "sent" {
				continue
			}
			m := message{r.Time.Unix(), 1, r.Message.From, r.Message.To, r.Message.Session, r.Message.Schema, nil, string(r.Message.Payload)}
			if r.Message.Protocol != "" {
				m.Protocol = &r.Message.Protocol
			}
			list = append(list, m)
		}
		return marshal(map[string]any{"envelopes": list})
	}
}

func marshal(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return pythonic(text)
}
