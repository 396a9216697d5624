package uagents

import (
	"fmt"
	"slices"
	"strings"

	"github.com/parley-agents/parley/internal/lang/verify"
	"github.com/parley-agents/parley/spec"
)

// A shape is what a manifest tells of who speaks and what follows what.
//
// The agent that publishes it handles the messages that have a rule. If these are
// all, it talks to its like; else there is another role that gets the rest.
type shape struct {
	p     *spec.Protocol    // as it will be read from the source
	names map[string]string // of messages in the source
	two   bool
}

// The roles: who publishes the manifest, and who talks to it.
const (
	agentRole = "agent"
	peerRole  = "peer"
)

func shapeOf(manifest *spec.Protocol) *shape {
	s := &shape{p: &spec.Protocol{Name: manifest.Name, Dialogue: &spec.Dialogue{}}, names: make(map[string]string)}
	taken := make(map[string]bool)
	for _, m := range manifest.Messages {
		name := typeName(m.Name)
		for base, n := name, 2; taken[name]; n++ {
			name = fmt.Sprint(base, n)
		}
		taken[name], s.names[m.Name] = true, name
		s.p.Messages = append(s.p.Messages, spec.Message{Name: m.Name})
		rule := spec.Rule{Message: m.Name}
		if handled := manifest.Rule(m.Name); handled != nil {
			rule.Replies = handled.Replies
		} else {
			s.two = true
		}
		s.p.Rules = append(s.p.Rules, rule)
	}
	s.p.Roles = []spec.Role{{Name: agentRole, Min: 2, Max: 2}}
	if s.two {
		s.p.Roles = []spec.Role{{Name: peerRole}, {Name: agentRole}}
	}
	s.open(manifest)
	s.settle(manifest)
	return s
}

// handler is the role that publishes the manifest.
func (s *shape) handler() string { return agentRole }

// open finds what opens an exchange: messages that answer nothing and, of those
// that only answer each other, the first.
func (s *shape) open(manifest *spec.Protocol) {
	answers := make(map[string]bool)
	for _, r := range manifest.Rules {
		for _, reply := range r.Replies {
			answers[reply] = answers[reply] || reply != r.Message
		}
	}
	var first []string
	reached := make(map[string]bool)
	add := func(name string) {
		first = append(first, name)
		for todo := []string{name}; len(todo) > 0; {
			m := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if rule := s.p.Rule(m); !reached[m] && rule != nil {
				reached[m] = true
				todo = append(todo, rule.Replies...)
			}
		}
	}
	for _, onlyFirst := range []bool{true, false} {
		for _, m := range manifest.Messages {
			if manifest.Rule(m.Name) != nil && !reached[m.Name] && !(onlyFirst && answers[m.Name]) {
				add(m.Name)
			}
		}
	}
	init := spec.Initiation{Messages: first}
	if s.two {
		init.By = []string{peerRole}
	}
	s.p.Dialogue.Initiates = []spec.Initiation{init}
}

// settle says what the manifest leaves open, so that the dialogue is sound. What
// the agent handles must come from its peer, if not in answer then to open an
// exchange; what it does not handle comes from itself. An exchange that would
// never end may rest.
func (s *shape) settle(manifest *spec.Protocol) {
	if s.two {
		init := &s.p.Dialogue.Initiates[0]
		senders := verify.Protocol(s.p, verify.Options{}).Senders
		for _, m := range s.p.Messages {
			if manifest.Rule(m.Name) != nil && !slices.Contains(senders[m.Name], peerRole) {
				init.Messages = append(init.Messages, m.Name)
			}
		}
		senders = verify.Protocol(s.p, verify.Options{}).Senders
		for i := range s.p.Messages {
			m := &s.p.Messages[i]
			if manifest.Rule(m.Name) == nil && !slices.Equal(senders[m.Name], []string{agentRole}) {
				m.From = []string{agentRole}
			}
		}
	}
	for range s.p.Rules {
		stuck := 0
		for _, f := range verify.Protocol(s.p, verify.Options{}).Findings {
			if f.Code == "PAR2102" {
				s.p.Rule(f.At.Message).MayRest = true
				stuck++
			}
		}
		if stuck == 0 {
			break
		}
	}
	for _, r := range s.p.Rules {
		if r.MayRest || len(r.Replies) == 0 {
			s.p.Dialogue.Terminates = append(s.p.Dialogue.Terminates, r.Message)
		}
	}
}

func (s *shape) roles() string {
	if s.two {
		return "roles " + peerRole + ", " + agentRole + "\n"
	}
	return "roles " + agentRole + "[2]\n"
}

func (s *shape) from(message string) string {
	if m := s.p.Message(message); len(m.From) > 0 {
		return " from " + strings.Join(m.From, ", ")
	}
	return ""
}

func (s *shape) dialogue() string {
	if len(s.p.Dialogue.Initiates[0].Messages) == 0 {
		return "" // nothing is handled: what there is are messages
	}
	var b strings.Builder
	b.WriteString("dialogue {\n")
	for _, i := range s.p.Dialogue.Initiates {
		fmt.Fprintf(&b, "initiates %s", s.list(i.Messages))
		if len(i.By) > 0 {
			fmt.Fprintf(&b, " by %s", strings.Join(i.By, ", "))
		}
		b.WriteString("\n")
	}
	for _, r := range s.p.Rules {
		rest := ""
		if r.MayRest {
			rest = "?"
		}
		fmt.Fprintf(&b, "%s -> %s%s\n", quoted(s.names[r.Message]), s.list(r.Replies), rest)
	}
	fmt.Fprintf(&b, "terminates %s\n}\n", s.list(s.p.Dialogue.Terminates))
	return b.String()
}

func (s *shape) list(names []string) string {
	var all []string
	for _, name := range names {
		all = append(all, quoted(s.names[name]))
	}
	return "[" + strings.Join(all, ", ") + "]"
}
