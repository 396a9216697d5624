package verify_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/parley-agents/parley/spec"
)

// protocols is how many random protocols are tried.
func protocols() int {
	if os.Getenv("PARLEY_LONG") != "" {
		return 200_000
	}
	return 4000
}

// random makes a protocol of one or two roles with up to six messages. Most are
// complete, so that a good part of them is right; all kinds of mistakes occur.
func random(r *rand.Rand) *spec.Protocol {
	g := &generator{Rand: r, p: &spec.Protocol{Name: "P", Dialogue: &spec.Dialogue{EndStates: []string{"good", "bad"}}}}
	switch g.IntN(5) {
	case 0:
	case 1:
		g.p.Roles = []spec.Role{{Name: "peer", Min: 2, Max: 2}}
		if g.often(2) {
			g.p.Roles[0] = spec.Role{Name: "peer"}
		}
	default:
		g.p.Roles = []spec.Role{{Name: "a"}, {Name: "b"}}
	}
	g.messages()
	for i := range g.p.Messages {
		g.rule(&g.p.Messages[i])
	}
	g.dialogue()
	return g.p
}

type generator struct {
	*rand.Rand
	p *spec.Protocol
}

// often is true in n of 20 cases.
func (g *generator) often(n int) bool { return g.IntN(20) < n }

func (g *generator) messages() {
	classed := g.often(8)
	for i := range 1 + g.IntN(6) {
		m := spec.Message{Name: fmt.Sprintf("m%d", i)}
		switch {
		case i > 0 && g.often(2):
			m.Class = spec.Acknowledge
		case classed:
			m.Class = spec.Class(g.IntN(7))
			if m.Class == spec.Acknowledge {
				m.Class = spec.Inform
			}
		}
		if g.often(3) {
			m.From = g.roles()
		}
		g.p.Messages = append(g.p.Messages, m)
	}
}

// roles picks one or two roles, nil if there are none.
func (g *generator) roles() []string {
	var all []string
	for _, role := range g.p.Roles {
		all = append(all, role.Name)
	}
	if len(all) == 2 && !g.often(5) {
		i := g.IntN(2)
		return all[i : i+1]
	}
	return all
}

func (g *generator) rule(m *spec.Message) {
	rule := spec.Rule{Message: m.Name}
	if m.Class != spec.Acknowledge {
		for range g.IntN(4) {
			reply := g.p.Messages[g.IntN(len(g.p.Messages))].Name
			if !slices.Contains(rule.Replies, reply) {
				rule.Replies = append(rule.Replies, reply)
			}
		}
		rule.MayRest = g.often(2)
		if g.often(3) {
			rule.By = g.roles()
		}
		if g.often(3) {
			rule.Within = time.Duration(1+g.IntN(5)) * time.Second
			switch g.IntN(3) {
			case 0:
				rule.Else = "bad"
			case 1:
				rule.Else = g.p.Messages[g.IntN(len(g.p.Messages))].Name
			}
		}
	}
	if g.often(19) {
		g.p.Rules = append(g.p.Rules, rule)
	}
}

func (g *generator) dialogue() {
	d := g.p.Dialogue
	for i := range 1 + g.IntN(2) {
		if i < len(g.p.Messages) {
			init := spec.Initiation{Messages: []string{g.p.Messages[i].Name}}
			if g.often(12) {
				init.By = g.roles()
			}
			d.Initiates = append(d.Initiates, init)
		}
	}
	for i := range g.p.Rules {
		rule := &g.p.Rules[i]
		ends := rule.MayRest || len(rule.Replies) == 0
		if g.often(1) {
			ends = !ends
		}
		if ends {
			d.Terminates = append(d.Terminates, rule.Message)
		}
		if len(rule.Replies) == 0 && g.often(8) {
			o := spec.Outcome{State: d.EndStates[g.IntN(2)], Messages: []string{rule.Message}}
			if g.often(5) {
				o.After = []string{g.p.Messages[g.IntN(len(g.p.Messages))].Name}
			}
			d.Outcomes = append(d.Outcomes, o)
		}
	}
	if g.often(2) {
		d.Timeout = 10 * time.Second
	}
}
