package dialogue

import (
	"slices"

	"github.com/parley-agents/parley/spec"
)

// stateTimeout is the end state of an exchange whose time is up, where the
// protocol names no other.
const stateTimeout = "timeout"

// rules are the questions that are put to a protocol.
type rules struct{ *spec.Protocol }

// strict reports whether the protocol says what comes when. Without that, only
// its reply sets count.
func (r rules) strict() bool { return r.Protocol != nil && r.Dialogue != nil }

func (r rules) isReceipt(name string) bool {
	m := r.Message(name)
	return m != nil && m.Class == spec.Acknowledge
}

// hasReceipts reports whether messages of the protocol can be acknowledged.
func (r rules) hasReceipts() bool {
	return slices.ContainsFunc(r.Messages, func(m spec.Message) bool { return m.Class == spec.Acknowledge })
}

// answers returns the messages that may answer by the rule, without receipts.
func (r rules) answers(rule *spec.Rule) []string {
	if rule == nil {
		return nil
	}
	if !slices.ContainsFunc(rule.Replies, r.isReceipt) {
		return rule.Replies
	}
	return slices.DeleteFunc(slices.Clone(rule.Replies), r.isReceipt)
}

// initiators returns the roles that may open an exchange with the message, nil
// for all; ok is false if no one may.
func (r rules) initiators(message string) (by []string, ok bool) {
	for _, i := range r.Dialogue.Initiates {
		if !slices.Contains(i.Messages, message) {
			continue
		}
		if len(i.By) == 0 {
			return nil, true
		}
		by, ok = append(by, i.By...), true
	}
	return by, ok
}

// openers returns the messages that open an exchange.
func (r rules) openers() []string {
	var all []string
	if r.strict() {
		for _, i := range r.Dialogue.Initiates {
			all = append(all, i.Messages...)
		}
		return all
	}
	for i := range r.Rules {
		all = append(all, r.Rules[i].Message)
	}
	return all
}

// senders returns the roles that send a message, nil for all. Of two parties,
// the one that handles it does not send it.
func (r rules) senders(m *spec.Message) []string {
	if len(m.From) > 0 || len(m.To) != 1 {
		return m.From
	}
	if other := r.counterpart(m.To[0]); other != "" {
		return []string{other}
	}
	return nil
}

// decisive reports whether a set of roles leaves any out.
func (r rules) decisive(roles []string) bool { return len(roles) > 0 && len(roles) < len(r.Roles) }

// counterpart returns the role of the other side, if there are just two that one
// agent each plays.
func (r rules) counterpart(role string) string {
	if len(r.Roles) != 2 || !single(&r.Roles[0]) || !single(&r.Roles[1]) {
		return ""
	}
	if r.Roles[0].Name == role {
		return r.Roles[1].Name
	}
	return r.Roles[0].Name
}

// single reports whether only one of two sides can have the role.
func single(r *spec.Role) bool { return r != nil && (r.Max == 0 || r.Max == 1) }

// candidates returns the roles that a side may have, if the other one has the
// given role or, if that is "", one that is not known.
func (r rules) candidates(other string) []string {
	var all []string
	for i := range r.Roles {
		if role := &r.Roles[i]; role.Name != other || !single(role) {
			all = append(all, role.Name)
		}
	}
	return all
}

// rests reports whether an exchange may stay at the message for good.
func (r rules) rests(rule *spec.Rule) bool {
	return rule.MayRest || slices.Contains(r.Dialogue.Terminates, rule.Message)
}

// outcome returns the end state of an exchange whose last message is given, with
// the one before it; "" if the protocol names none. A state that is bound to both
// is preferred.
func (r rules) outcome(last, before string) string {
	if !r.strict() {
		return ""
	}
	general := ""
	for _, o := range r.Dialogue.Outcomes {
		switch {
		case o.OnTimeout || !slices.Contains(o.Messages, last):
		case slices.Contains(o.After, before):
			return o.State
		case len(o.After) == 0 && general == "":
			general = o.State
		}
	}
	return general
}

// timeout returns the end state of an exchange that waits at a message when its
// time is up. One that may rest there has ended as it would without a clock.
func (r rules) timeout(message, before string) string {
	if r.strict() {
		for _, o := range r.Dialogue.Outcomes {
			if o.OnTimeout && (len(o.Messages) == 0 || slices.Contains(o.Messages, message)) {
				return o.State
			}
		}
		if rule := r.Rule(message); rule != nil && r.rests(rule) {
			if state := r.outcome(message, before); state != "" {
				return state
			}
		}
	}
	return stateTimeout
}

// elseMessage returns the message that is sent when the time of a rule is up.
func (r rules) elseMessage(rule *spec.Rule) *spec.Message {
	if rule.Else == "" || r.strict() && slices.Contains(r.Dialogue.EndStates, rule.Else) {
		return nil
	}
	return r.Message(rule.Else)
}
