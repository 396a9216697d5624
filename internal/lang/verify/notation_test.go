package verify_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley/internal/lang/verify"
	"github.com/parley-agents/parley/spec"
)

// protocol reads a protocol of two roles, a and b, from short lines:
//
//	ask request from a             a message, its class and its senders
//	start ask by a                 it initiates
//	ask -> yes no ? by b within 3s else gone
//	timeout 30s / ends done / terminates yes no / outcome done: yes after ask / outcome late: timeout ask
//	roles agent[2] / roles         other roles, none
//	race ask                       @race(ok)
func protocol(t *testing.T, lines string) *spec.Protocol {
	t.Helper()
	p := &spec.Protocol{Name: "P", Roles: []spec.Role{{Name: "a"}, {Name: "b"}}, Dialogue: &spec.Dialogue{}}
	classes := map[string]spec.Class{}
	for c := spec.Unclassified; c <= spec.ErrorReport; c++ {
		classes[c.String()] = c
	}
	for line := range strings.SplitSeq(lines, "\n") {
		words := strings.Fields(strings.ReplaceAll(line, ":", " : "))
		if len(words) == 0 {
			continue
		}
		word, rest := words[0], words[1:]
		switch {
		case len(rest) > 0 && rest[0] == "->":
			p.Rules = append(p.Rules, rule(t, word, rest[1:]))
		case word == "start":
			names, by := cut(rest, "by")
			p.Dialogue.Initiates = append(p.Dialogue.Initiates, spec.Initiation{Messages: names, By: by})
		case word == "terminates":
			p.Dialogue.Terminates = rest
		case word == "ends":
			p.Dialogue.EndStates = rest
		case word == "timeout":
			p.Dialogue.Timeout = duration(t, rest[0])
		case word == "outcome":
			names, after := cut(rest[2:], "after")
			o := spec.Outcome{State: rest[0], Messages: names, After: after}
			if len(names) > 0 && names[0] == "timeout" {
				o.OnTimeout, o.Messages = true, names[1:]
			}
			p.Dialogue.Outcomes = append(p.Dialogue.Outcomes, o)
		case word == "roles":
			p.Roles = nil
			for _, name := range rest {
				role := spec.Role{Name: name}
				if short, two := strings.CutSuffix(name, "[2]"); two {
					role = spec.Role{Name: short, Min: 2, Max: 2}
				}
				p.Roles = append(p.Roles, role)
			}
		case word == "race":
			m := p.Message(rest[0])
			m.Annotations = append(m.Annotations, spec.Annotation{Name: "race", Args: []spec.Arg{{Value: `"ok"`}}})
		default:
			class, from := cut(rest, "from")
			m := spec.Message{Name: word, From: from}
			if len(class) > 0 {
				c, ok := classes[class[0]]
				if !ok {
					t.Fatalf("unknown line %q", line)
				}
				m.Class = c
			}
			p.Messages = append(p.Messages, m)
		}
	}
	return p
}

func rule(t *testing.T, message string, words []string) spec.Rule {
	t.Helper()
	words, orElse := cut(words, "else")
	words, within := cut(words, "within")
	words, by := cut(words, "by")
	r := spec.Rule{Message: message, By: by}
	if len(orElse) > 0 {
		r.Else = orElse[0]
	}
	if len(within) > 0 {
		r.Within = duration(t, within[0])
	}
	for _, w := range words {
		if w == "?" {
			r.MayRest = true
		} else {
			r.Replies = append(r.Replies, w)
		}
	}
	return r
}

func cut(words []string, at string) (before, after []string) {
	for i, w := range words {
		if w == at {
			return words[:i], words[i+1:]
		}
	}
	return words, nil
}

func duration(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// told writes findings as a person would see them, one per line.
func told(found []verify.Finding) string {
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "%s %s\n", f.Code, f.Message)
	}
	return b.String()
}

// way writes a trace.
func way(trace []verify.Move) string {
	var all []string
	for _, m := range trace {
		who := m.Role
		if who == "" {
			who = map[bool]string{true: "opener", false: "other"}[m.Opener]
		}
		all = append(all, who+":"+m.Message)
	}
	return strings.Join(all, " ")
}
