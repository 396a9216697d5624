package dialogue

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/spec"
)

const (
	maxListed = 12 // names in a list of allowed messages
	maxStates = 3  // exchanges whose allowed messages are told
)

// refuse says that a message is out of turn: in the given exchange or, if that is
// nil, in the dialogue. The text is for the author of either side, so it speaks
// of roles, or of who sent what, and never of "this side".
func (j *judgement) refuse(e *exchange) error {
	var why, allowed string
	switch ended := j.state.ended; {
	case e == nil && ended != nil && j.strict():
		why, allowed = "may not follow "+ended.Last+", which ended the dialogue"+as(ended.Outcome), "nothing"
	case e == nil:
		why, allowed = "answers nothing that is open", j.allowed()
		if j.ReplyTo != "" {
			why = fmt.Sprintf("answers %.80q, which is no message of an open exchange", j.ReplyTo)
		}
	case e.Protocol != j.key:
		why, allowed = "is not of "+e.Protocol+", to which the dialogue belongs", "nothing of "+j.Name
	case e.late(j.at):
		why, allowed = "is too late after "+j.sent(e), j.next(e)
		if !e.Owed {
			why += ", whose time was up at " + e.deadline().time().Format(time.RFC3339)
		}
	default:
		why, allowed = "may not follow "+j.sent(e), j.next(e)
	}
	from := ""
	if j.Role != "" {
		from = " from " + j.Role
	}
	return fault.Errorf(fault.OutOfTurn, "", "%s: %s%s %s; allowed: %s", j.Name, j.Message, from, why, allowed)
}

func as(outcome string) string {
	if outcome == "" {
		return ""
	}
	return " as " + outcome
}

// sent names the latest message of an exchange and who sent it.
func (j *judgement) sent(e *exchange) string {
	if role := e.role(e.LastOwn); role != "" {
		return e.Last + " from " + role
	}
	return e.Last
}

// allowed lists what is allowed in a dialogue: to open an exchange, and in the
// exchanges that are open.
func (j *judgement) allowed() string {
	var all []string
	if openers := j.openers(); len(openers) > 0 {
		all = append(all, j.grouped(openers, func(m *spec.Message) string {
			var by []string
			if j.strict() {
				by, _ = j.initiators(m.Name)
			}
			return or(restrict(j.candidates(""), [][]string{j.senders(m), by}))
		})+" to open an exchange")
	}
	for i := range j.state.open {
		e := &j.state.open[i]
		if e.Protocol != j.key || e.Answered || e.over(j.at) {
			continue
		}
		state := j.next(e) + " after " + j.sent(e)
		if slices.Contains(all, state) {
			continue
		}
		if len(all) > maxStates {
			all = append(all, "…")
			break
		}
		all = append(all, state)
	}
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, "; ")
}

// next lists what is allowed in an exchange.
func (j *judgement) next(e *exchange) string {
	if e.over(j.at) {
		return "nothing"
	}
	if e.late(j.at) {
		return e.Else + j.fromSide(e, e.ElseOwn)
	}
	rule := j.Rule(e.Last)
	answers := j.rules.answers(rule)
	if len(answers) == 0 {
		return "nothing"
	}
	return j.grouped(answers, func(m *spec.Message) string {
		senders := j.senders(m)
		if j.strict() && (len(rule.By) > 0 || j.decisive(senders)) {
			return or(restrict(j.candidates(""), [][]string{senders, rule.By}))
		}
		return strings.TrimPrefix(j.fromSide(e, !e.LastOwn), " from ")
	})
}

// fromSide names one side of an exchange as a sender.
func (j *judgement) fromSide(e *exchange, own bool) string {
	if role := e.role(own); role != "" && j.decisive([]string{role}) {
		return " from " + role
	}
	if own == e.LastOwn {
		return " from the sender of " + e.Last
	}
	return " from the receiver of " + e.Last
}

// grouped lists messages, with those that have the same sender together.
func (j *judgement) grouped(names []string, sender func(*spec.Message) string) string {
	var senders []string
	by := make(map[string][]string)
	for i, name := range names {
		m := j.rules.Message(name)
		if m == nil || slices.Contains(names[:i], name) || m.Class == spec.Acknowledge {
			continue
		}
		s := sender(m)
		if by[s] == nil {
			senders = append(senders, s)
		}
		by[s] = append(by[s], name)
	}
	var all []string
	for _, s := range senders {
		text := or(by[s])
		if s != "" {
			text += " from " + s
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// or joins names as in a sentence.
func or(names []string) string {
	if len(names) > maxListed {
		names = append(slices.Clone(names[:maxListed]), fmt.Sprintf("%d more", len(names)-maxListed))
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
