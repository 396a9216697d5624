package dialogue

import (
	"slices"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/spec"
)

// An ending is how the only exchange of a dialogue ended.
type ending struct {
	Protocol string `json:"p"`
	Last     string `json:"last"`
	Outcome  string `json:"to,omitzero"`
}

func nothing() step { return step{index: -1, evict: -1, confirm: -1} }

// open makes the step by which the message opens an exchange.
func (j *judgement) open() (step, error) {
	next := nothing()
	next.Exchange, next.Opens = j.ID, true
	e := &exchange{ID: j.ID, Protocol: j.key, Own: j.Own}
	if j.strict() && j.Dialogue.Timeout > 0 {
		e.End = j.at + durationOf(j.Dialogue.Timeout)
	}
	var by []string
	if j.strict() {
		by, _ = j.initiators(j.Message)
	}
	j.enter(&next, e, by)
	if next.Ends {
		return next, nil
	}
	next.add = e
	err := j.room(&next)
	return next, err
}

// advance makes the step by which the message continues an exchange.
func (j *judgement) advance(i int) (step, error) {
	current := &j.state.open[i]
	next := nothing()
	next.Exchange, next.Matched, next.Answers = current.root(), true, j.answered(current)
	var by []string
	if rule := j.Rule(current.Last); rule != nil && j.Message != current.Else {
		by = rule.By
	}
	e := *current
	next.index = i
	if j.strict() {
		e.remember(j.ID)
		j.enter(&next, &e, by)
		if !next.Ends {
			next.next = &e
		}
		return next, nil
	}
	// Without a dialogue, what was answered may be answered again, and the
	// answer may be a question of its own.
	answer := &exchange{ID: j.ID, Root: current.root(), Protocol: j.key, Own: j.Own, Roles: e.Roles}
	j.enter(&next, answer, by)
	e.Answered, e.Due, e.Within, e.Outcome = true, 0, 0, ""
	next.next = &e
	if next.Ends {
		return next, nil
	}
	next.add = answer
	err := j.room(&next)
	return next, err
}

// close makes the step by which an error ends an exchange.
func (j *judgement) close(i int) step {
	e := &j.state.open[i]
	next := nothing()
	next.index = i
	next.Verdict = Verdict{Exchange: e.root(), Ends: true, Matched: true, Answers: j.answered(e)}
	if e.Protocol == j.key {
		next.Outcome = j.outcome(j.Message, e.Last)
	}
	j.await(&next)
	j.end(&next, e.Protocol)
	return next
}

// answered returns the message that the move answers in an exchange.
func (j *judgement) answered(e *exchange) string {
	if e.has(j.ReplyTo) {
		return j.ReplyTo
	}
	return e.lastID()
}

// enter makes the message the latest of an exchange; by are the roles that may
// send it there.
func (j *judgement) enter(next *step, e *exchange, by []string) {
	before := e.Last
	j.learn(e, by)
	e.Last, e.LastOwn = j.Message, j.Own
	e.Due, e.Within, e.Else, e.ElseOwn, e.Owed, e.Outcome, e.EndState = 0, 0, "", false, false, "", ""
	j.await(next)
	rule := j.Rule(j.Message)
	if len(j.rules.answers(rule)) == 0 {
		next.Ends, next.Outcome = true, j.outcome(j.Message, before)
		j.end(next, e.Protocol)
		return
	}
	e.Rest = !j.strict() || j.rests(rule)
	if e.End != 0 {
		e.EndState = j.timeout(j.Message, before)
	}
	if rule.Within > 0 {
		j.setDeadline(e, rule, before)
	}
	next.Deadline = e.deadline().time()
}

// setDeadline notes when the answer to the message is due, and what happens then.
func (j *judgement) setDeadline(e *exchange, rule *spec.Rule, before string) {
	e.Within = durationOf(rule.Within)
	e.Due = j.at + e.Within
	e.Outcome = j.timeout(j.Message, before)
	switch m := j.elseMessage(rule); {
	case m != nil && j.strict():
		e.Else, e.ElseOwn = m.Name, j.sendsElse(e, rule, m)
	case m == nil && rule.Else != "":
		e.Outcome = rule.Else
	}
}

// sendsElse reports whether this side sends the message that comes when time is
// up: the side whose role the message has, else the one that has not answered if
// it is an answer, else the one that has waited in vain.
func (j *judgement) sendsElse(e *exchange, rule *spec.Rule, m *spec.Message) bool {
	isAnswer := slices.Contains(rule.Replies, m.Name)
	sets := [][]string{j.senders(m)}
	if isAnswer {
		sets = append(sets, rule.By)
	}
	can := func(own bool) bool {
		role := e.role(own)
		return role == "" || len(restrict([]string{role}, sets)) > 0
	}
	if mine, theirs := can(true), can(false); mine != theirs {
		return mine
	}
	return isAnswer != e.LastOwn
}

// learn notes the roles of both sides, as far as the message gives them away.
func (j *judgement) learn(e *exchange, by []string) {
	roles := restrict(j.speaker(e), [][]string{j.senders(j.message), by})
	if len(roles) != 1 {
		return
	}
	e.Roles[side(j.Own)] = roles[0]
	if e.role(!j.Own) == "" {
		e.Roles[side(!j.Own)] = j.counterpart(roles[0])
	}
}

// end remembers the end of the only exchange.
func (j *judgement) end(next *step, protocol string) {
	if j.state.OneExchange && (j.strict() || j.AlwaysAllowed) {
		next.ended = &ending{Protocol: protocol, Last: j.Message, Outcome: next.Outcome}
	}
}

// room finds the place for a new exchange.
func (j *judgement) room(next *step) error {
	s, count, evict := j.state, 0, -1
	for i := range s.open {
		e := &s.open[i]
		if e.Own != j.Own || i == next.index {
			continue
		}
		count++
		if evict < 0 && e.expendable(j.at) {
			evict = i
		}
	}
	if count < s.limit() {
		return nil
	}
	if evict < 0 {
		return fault.Errorf(fault.TooLarge, "dialogue", "%d exchanges that this sender opened are waiting for an answer; that is the limit", count)
	}
	next.evict, next.Forgotten = evict, s.open[evict].root()
	return nil
}

// take carries out a step.
func (s *State) take(next step) {
	if next.confirm >= 0 {
		s.pending = slices.Delete(s.pending, next.confirm, next.confirm+1)
	}
	if next.note != nil {
		s.addNote(*next.note)
	}
	switch {
	case next.index < 0:
	case next.next == nil:
		s.open = slices.Delete(s.open, next.index, next.index+1)
	default:
		s.open[next.index] = *next.next
	}
	if next.evict >= 0 { // only if nothing was closed, which makes room
		s.open = slices.Delete(s.open, next.evict, next.evict+1)
	}
	if next.add != nil {
		s.open = append(s.open, *next.add)
	}
	if next.ended != nil {
		s.ended = next.ended
	}
	s.forgetAnswered()
}

// forgetAnswered keeps only the latest of the messages that were answered.
func (s *State) forgetAnswered() {
	over := -maxAnswered
	for i := range s.open {
		if s.open[i].Answered {
			over++
		}
	}
	if over > 0 {
		s.open = slices.DeleteFunc(s.open, func(e exchange) bool {
			if e.Answered && over > 0 {
				over--
				return true
			}
			return false
		})
	}
}
