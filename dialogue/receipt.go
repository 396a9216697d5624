package dialogue

import "slices"

// A note is a message that has no receipt yet.
type note struct {
	ID       string  `json:"id"`
	Exchange string  `json:"x,omitzero"` // if it is not the one that the message opened
	Protocol string  `json:"p"`
	Message  string  `json:"last"`
	Own      bool    `json:"own,omitzero"` // this side sent it
	Due      instant `json:"due,omitzero"` // when a receipt is missed; 0 if never, or if it was
	Outcome  string  `json:"to,omitzero"`  // the end state that a missing receipt means
}

func (n *note) root() string {
	if n.Exchange != "" {
		return n.Exchange
	}
	return n.ID
}

// receipt makes the step of a message that confirms another. Its sender is the
// one who received that.
func (j *judgement) receipt() step {
	next := nothing()
	next.Receipt = true
	next.confirm = slices.IndexFunc(j.state.pending, func(n note) bool {
		return n.ID == j.ReplyTo && n.Own != j.Own && n.Protocol == j.key
	})
	if next.confirm >= 0 {
		next.Matched, next.Answers = true, j.ReplyTo
		next.Exchange = j.state.pending[next.confirm].root()
	}
	return next
}

// await notes that the message may be confirmed. If receipts are all that may
// follow it, its time limit is for them.
func (j *judgement) await(next *step) {
	if j.message == nil || !j.hasReceipts() {
		return
	}
	next.note = &note{ID: j.ID, Protocol: j.key, Message: j.Message, Own: j.Own}
	if next.Exchange != j.ID {
		next.note.Exchange = next.Exchange
	}
	rule := j.Rule(j.Message)
	if rule == nil || rule.Within <= 0 || len(rule.Replies) == 0 || len(j.rules.answers(rule)) > 0 {
		return
	}
	next.note.Due = j.at + durationOf(rule.Within)
	next.note.Outcome = j.timeout(j.Message, "")
	next.Deadline = next.note.Due.time()
}

// addNote remembers a message that has no receipt. A message with the same ID is
// no longer known: its receipt could not be told from that of the new one.
func (s *State) addNote(n note) {
	s.pending = slices.DeleteFunc(s.pending, func(old note) bool { return old.Own == n.Own && old.ID == n.ID })
	s.pending = append(s.pending, n)
	s.trimNotes(n.Own)
}

// trimNotes keeps the latest notes of one side's messages.
func (s *State) trimNotes(own bool) {
	over := map[bool]int{true: -s.limit(), false: -maxUnawaited} // by whether a receipt is awaited
	for i := range s.pending {
		if s.pending[i].Own == own {
			over[s.pending[i].Due != 0]++
		}
	}
	if over[true] <= 0 && over[false] <= 0 {
		return
	}
	s.pending = slices.DeleteFunc(s.pending, func(n note) bool {
		if n.Own != own || over[n.Due != 0] <= 0 {
			return false
		}
		over[n.Due != 0]--
		return true
	})
}
