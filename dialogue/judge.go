package dialogue

import (
	"slices"
	"unicode/utf8"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/spec"
)

// A step is what a move does to a state.
type step struct {
	Verdict
	index   int       // of the exchange that changes; -1 if none does
	next    *exchange // what it becomes; nil if it is closed
	add     *exchange // a new one
	evict   int       // the exchange whose place that takes; -1 if there is room
	note    *note     // a receipt to wait for
	confirm int       // the note that is confirmed; -1 if none
	ended   *ending
}

// A judgement is a move that is being judged.
type judgement struct {
	Move
	rules
	state   *State
	message *spec.Message // nil if the protocol does not have it, which is AlwaysAllowed
	key     string        // see ProtocolID
	at      instant
}

// judge finds out what a move means. The order of its steps is the order in which
// the package documentation tells them.
func (s *State) judge(m Move) (step, error) {
	j, err := s.look(m)
	if err != nil {
		return step{}, err
	}
	switch {
	case j.message != nil && j.message.Class == spec.Acknowledge:
		return j.receipt(), nil
	case s.find(func(e *exchange) bool { return e.has(m.ID) }) >= 0:
		return step{}, fault.Errorf(fault.Conflict, "id", "another message of an open exchange has the ID %q", m.ID)
	case s.OneExchange && j.strict():
		return j.inOnly()
	}
	var e *exchange
	if i := j.named(); i >= 0 {
		e = &s.open[i]
		switch {
		case j.follows(e):
			return j.advance(i)
		case j.closes(e):
			return j.close(i), nil
		case m.AlwaysAllowed:
			return nothing(), nil
		case j.strict() || m.Own:
			return step{}, j.refuse(e)
		}
	}
	if j.strict() && j.initiates() {
		return j.open()
	}
	if m.ReplyTo == "" {
		if i := j.oldest(); i >= 0 {
			return j.advance(i)
		}
		if i := j.oldestForError(); i >= 0 {
			return j.close(i), nil
		}
	}
	switch {
	case m.AlwaysAllowed:
		return nothing(), nil
	case !j.strict() && j.initiates():
		return j.open()
	}
	return step{}, j.refuse(e)
}

// find returns the oldest exchange of which ok is true, or -1.
func (s *State) find(ok func(*exchange) bool) int {
	for i := range s.open {
		if ok(&s.open[i]) {
			return i
		}
	}
	return -1
}

// look checks that a move is complete.
func (s *State) look(m Move) (*judgement, error) {
	j := &judgement{Move: m, rules: rules{m.Protocol}, state: s, at: instantOf(m.At)}
	switch {
	case len(m.ID) > maxIDLength:
		return nil, fault.Errorf(fault.TooLarge, "id", "the ID of the message has %d bytes, at most %d are allowed", len(m.ID), maxIDLength)
	case m.ID == "" || !utf8.ValidString(m.ID):
		return nil, fault.Errorf(fault.Malformed, "id", "the ID of the message is %q, want text", m.ID)
	case m.At.IsZero():
		return nil, fault.Errorf(fault.Malformed, "at", "the message has no time")
	case m.Protocol != nil:
		j.message, j.key = m.Protocol.Message(m.Message), ProtocolID(m.Protocol)
	}
	switch {
	case j.message == nil && m.AlwaysAllowed:
		j.rules, j.key = rules{}, ""
	case m.Protocol == nil:
		return nil, fault.Errorf(fault.Malformed, "protocol", "the protocol of %q is missing", m.Message)
	case j.message == nil:
		return nil, fault.Errorf(fault.NotFound, "message", "protocol %s has no message %q", j.Name, m.Message)
	case len(j.Roles) == 0:
		j.Role = ""
	case m.Role != "" && m.Protocol.Role(m.Role) == nil:
		return nil, fault.Errorf(fault.NotFound, "role", "protocol %s has no role %q", j.Name, m.Role)
	}
	return j, nil
}

// inOnly judges a move of a dialogue that is a single exchange.
func (j *judgement) inOnly() (step, error) {
	s := j.state
	var e *exchange
	if len(s.open) > 0 {
		e = &s.open[0]
	}
	switch {
	case e == nil && s.ended == nil && j.initiates():
		return j.open()
	case e != nil && j.follows(e):
		return j.advance(0)
	case e != nil && j.closes(e):
		return j.close(0), nil
	case j.AlwaysAllowed:
		return nothing(), nil
	}
	return step{}, j.refuse(e)
}

// closes reports whether the message is an error that ends an exchange, whatever
// the rules say.
func (j *judgement) closes(e *exchange) bool {
	if e.over(j.at) {
		return false
	}
	if j.AlwaysAllowed {
		return true
	}
	return j.message.Class == spec.ErrorReport && e.Protocol == j.key && j.fits(nil, j.senders(j.message))
}

// named returns the exchange of the message that the move names. A message of
// another protocol is not an answer, unless it is an error.
func (j *judgement) named() int {
	if j.ReplyTo == "" {
		return -1
	}
	return j.state.find(func(e *exchange) bool {
		return e.has(j.ReplyTo) && (e.Protocol == j.key || j.AlwaysAllowed)
	})
}

// oldest returns the oldest exchange in which the move is legal. Without a
// dialogue a message may have several replies: when nothing else waits, they are
// for what was answered last.
func (j *judgement) oldest() int {
	answered := -1
	for i := range j.state.open {
		if e := &j.state.open[i]; j.follows(e) {
			if !e.Answered {
				return i
			}
			answered = i
		}
	}
	return answered
}

// oldestForError returns the oldest exchange in which it is the sender's turn.
func (j *judgement) oldestForError() int {
	return j.state.find(func(e *exchange) bool { return e.LastOwn != j.Own && !e.Answered && j.closes(e) })
}

// initiates reports whether the sender may open an exchange with the message.
// Without a dialogue nobody has said: what is handled here may come in.
func (j *judgement) initiates() bool {
	if !j.strict() {
		return (j.Own || j.Rule(j.Message) != nil) && j.fits(nil, j.senders(j.message))
	}
	by, ok := j.initiators(j.Message)
	return ok && j.fits(nil, j.senders(j.message), by)
}

// follows reports whether the message is a legal next move in an exchange.
func (j *judgement) follows(e *exchange) bool {
	if e.Protocol != j.key || j.message == nil {
		return false
	}
	if e.Else == j.Message && e.ElseOwn == j.Own && !e.over(j.at) && j.fits(e) {
		return true // also before its time: clocks differ, and both sides must agree
	}
	rule := j.Rule(e.Last)
	return slices.Contains(j.rules.answers(rule), j.Message) && !e.late(j.at) && j.mayAnswer(e, rule)
}

// mayAnswer reports whether the sender may be the one who answers. That is the
// other side, unless the rule or the message itself names the role.
func (j *judgement) mayAnswer(e *exchange, rule *spec.Rule) bool {
	senders := j.senders(j.message)
	if !j.fits(e, senders, rule.By) {
		return false
	}
	if j.strict() && len(j.Roles) > 0 {
		if len(rule.By) > 0 || j.decisive(senders) && len(j.speaker(e)) == 1 {
			return true
		}
	}
	return e.LastOwn != j.Own
}

// fits reports whether the sender can have a role that is in each of the sets; an
// empty set is all roles. The exchange is nil for a message that opens one.
func (j *judgement) fits(e *exchange, sets ...[]string) bool {
	return len(j.Roles) == 0 || len(restrict(j.speaker(e), sets)) > 0
}

// speaker returns the roles that the sender can have, by what the move says and
// what is known of both sides.
func (j *judgement) speaker(e *exchange) []string {
	var known, other string
	if e != nil {
		known, other = e.role(j.Own), e.role(!j.Own)
	}
	roles := j.candidates(other)
	for _, role := range []string{j.Role, known} {
		if role != "" {
			roles = restrict(roles, [][]string{{role}})
		}
	}
	return roles
}

// restrict returns the roles that are in each of the sets; an empty set is all.
func restrict(roles []string, sets [][]string) []string {
	return slices.DeleteFunc(slices.Clone(roles), func(role string) bool {
		return slices.ContainsFunc(sets, func(set []string) bool { return len(set) > 0 && !slices.Contains(set, role) })
	})
}
