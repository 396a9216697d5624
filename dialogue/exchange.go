package dialogue

import (
	"slices"
	"time"
)

// An exchange is one that is open. In a protocol without a dialogue it is a
// single message that may be answered: such a protocol says what answers what,
// and nothing about what comes when.
//
// Recent is never changed in place: clones share it. The fields have short names
// in the encoding, which are a promise to stores; see [State.Encode].
type exchange struct {
	ID       string    `json:"id"`              // of the message that opened it
	Root     string    `json:"x,omitempty"`     // the exchange to which it belongs, if it is not the one it opened
	Protocol string    `json:"p"`               // see ProtocolID
	Own      bool      `json:"own,omitzero"`    // this side opened it
	Roles    [2]string `json:"roles,omitzero"`  // of this side and of the other; "" if not known
	Last     string    `json:"last"`            // name of the latest message
	LastOwn  bool      `json:"by,omitzero"`     // this side sent that
	Recent   []string  `json:"ids,omitempty"`   // IDs of the latest messages, if there are more than the first
	Rest     bool      `json:"rest,omitzero"`   // it may stay as it is for good
	Answered bool      `json:"done,omitzero"`   // without a dialogue: remembered for further replies only
	Due      instant   `json:"due,omitzero"`    // when the answer to the latest message is due
	Within   instant   `json:"within,omitzero"` // how long that took, in case another message becomes due
	End      instant   `json:"end,omitzero"`    // when the exchange is over in any case
	Else     string    `json:"else,omitzero"`   // the message that is sent at Due if no answer came
	ElseOwn  bool      `json:"mine,omitzero"`   // this side sends that
	Owed     bool      `json:"owed,omitzero"`   // time is up and Else has not been sent; Due is for that
	Outcome  string    `json:"to,omitzero"`     // the end state that is reached at Due
	EndState string    `json:"endto,omitzero"`  // the end state that is reached at End
}

func (e *exchange) root() string {
	if e.Root != "" {
		return e.Root
	}
	return e.ID
}

// lastID is the identity of the latest message.
func (e *exchange) lastID() string {
	if n := len(e.Recent); n > 0 {
		return e.Recent[n-1]
	}
	return e.ID
}

func (e *exchange) has(id string) bool { return e.ID == id || slices.Contains(e.Recent, id) }

// remember appends a message to those that an answer can name.
func (e *exchange) remember(id string) {
	recent := append(slices.Clone(e.Recent), id)
	if len(recent) > maxRecent {
		recent = recent[len(recent)-maxRecent:]
	}
	e.Recent = recent
}

// role returns the role of one side, "" if it is not known.
func (e *exchange) role(own bool) string { return e.Roles[side(own)] }

func side(own bool) int {
	if own {
		return 0
	}
	return 1
}

// deadline is when the next thing happens by itself.
func (e *exchange) deadline() instant {
	if e.Due == 0 || e.End != 0 && e.End <= e.Due {
		return e.End
	}
	return e.Due
}

// late reports whether the time of the answer is up.
func (e *exchange) late(at instant) bool { return e.Owed || e.deadline().passed(at) }

// over reports whether the exchange has ended by the clock, though [State.Expire]
// has not been called since.
func (e *exchange) over(at instant) bool {
	if e.Else != "" && !e.Owed {
		return e.End.passed(at)
	}
	return e.deadline().passed(at)
}

// expendable reports whether the exchange may be given up for a new one.
func (e *exchange) expendable(at instant) bool { return e.Rest || e.Answered || e.late(at) }

// An instant is a time in microseconds since 1970: what a State remembers is the
// same before and after it was encoded. 0 is no time.
type instant int64

func instantOf(t time.Time) instant {
	if i := instant(t.UnixMicro()); i != 0 {
		return i
	}
	return 1
}

// durationOf rounds up: a protocol that says "within" means that there is a limit.
func durationOf(d time.Duration) instant { return max(1, instant(d.Microseconds())) }

func (i instant) time() time.Time {
	if i == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(i)).UTC()
}

// passed reports whether i is a time and not after now.
func (i instant) passed(now instant) bool { return i != 0 && i <= now }
