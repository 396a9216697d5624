package dialogue

import (
	"slices"
	"time"
)

// A Timeout is something that did not happen in time.
type Timeout struct {
	Kind     Kind
	Exchange string    // ID of the message that opened it
	Protocol string    // see [ProtocolID]
	Message  string    // name of the message that was left without answer or receipt
	ID       string    // its ID
	Own      bool      // this side sent that message
	At       time.Time // when time was up

	Outcome string // of TimedOut and ReceiptMissing: the end state
	Send    string // of ElseDue: the message that this side sends now
	Await   string // of ElseDue: the message that the other side sends now
}

// A Kind says what a [Timeout] means.
type Kind uint8

const (
	// TimedOut says that no answer came and that the exchange has ended.
	TimedOut Kind = iota + 1

	// ElseDue says that no answer came and that the protocol names a message to
	// be sent instead. Nothing else may follow now. If that message does not
	// come within the same time again, the exchange times out.
	ElseDue

	// ReceiptMissing says that no receipt came. Nothing has changed, and one
	// that comes late is still matched.
	ReceiptMissing
)

func (k Kind) String() string {
	switch k {
	case TimedOut:
		return "timed out"
	case ElseDue:
		return "else due"
	case ReceiptMissing:
		return "receipt missing"
	}
	return "none"
}

// Expire advances the state to a time and returns what should have happened by
// then and has not, in the order of time. Each is returned once.
//
// A message that comes after its time is refused, whether Expire was called in
// between or not.
func (s *State) Expire(now time.Time) []Timeout {
	at := instantOf(now)
	var all []Timeout
	s.open = slices.DeleteFunc(s.open, func(e exchange) bool {
		if !e.over(at) {
			return false
		}
		t := e.timedOut()
		all = append(all, t)
		if s.OneExchange {
			s.ended = &ending{Protocol: e.Protocol, Last: e.Last, Outcome: t.Outcome}
		}
		return true
	})
	for i := range s.open {
		if e := &s.open[i]; e.deadline().passed(at) {
			all = append(all, e.owe(at))
		}
	}
	all = append(all, s.missing(at)...)
	slices.SortStableFunc(all, func(a, b Timeout) int { return a.At.Compare(b.At) })
	return all
}

// Next returns when [State.Expire] has something to return; zero if never.
func (s *State) Next() time.Time {
	var next instant
	earlier := func(i instant) {
		if i != 0 && (next == 0 || i < next) {
			next = i
		}
	}
	for i := range s.open {
		earlier(s.open[i].deadline())
	}
	for i := range s.pending {
		earlier(s.pending[i].Due)
	}
	return next.time()
}

func (e *exchange) timeout(kind Kind, at instant) Timeout {
	return Timeout{
		Kind: kind, Exchange: e.root(), Protocol: e.Protocol, Message: e.Last, ID: e.lastID(), Own: e.LastOwn, At: at.time(),
	}
}

// timedOut tells how an exchange ended that is over.
func (e *exchange) timedOut() Timeout {
	t := e.timeout(TimedOut, e.deadline())
	t.Outcome = e.Outcome
	if e.Due == 0 || e.End != 0 && e.End <= e.Due || e.Else != "" && !e.Owed {
		t.At, t.Outcome = e.End.time(), e.EndState
	}
	return t
}

// owe makes an exchange wait for the message that comes instead of an answer. It
// has as long as the answer had, from when this side knows that it is due.
func (e *exchange) owe(at instant) Timeout {
	t := e.timeout(ElseDue, e.Due)
	e.Owed, e.Due = true, at+e.Within
	if e.ElseOwn {
		t.Send = e.Else
	} else {
		t.Await = e.Else
	}
	return t
}

// missing returns the receipts that did not come.
func (s *State) missing(at instant) []Timeout {
	var all []Timeout
	for i := range s.pending {
		n := &s.pending[i]
		if !n.Due.passed(at) {
			continue
		}
		all = append(all, Timeout{
			Kind: ReceiptMissing, Exchange: n.root(), Protocol: n.Protocol, Message: n.Message, ID: n.ID, Own: n.Own,
			At: n.Due.time(), Outcome: n.Outcome,
		})
		n.Due = 0
	}
	if len(all) > 0 {
		s.trimNotes(true)
		s.trimNotes(false)
	}
	return all
}
