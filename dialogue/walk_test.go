package dialogue_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/parley-agents/parley/dialogue"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/spec"
)

// walks is how many random protocols are tried.
func walks() int {
	if os.Getenv("PARLEY_LONG") != "" {
		return 50_000
	}
	return 1000
}

// Random walks through random protocols, with moves that are legal and moves that
// are not: both sides must say what a plain reading of the rules says, and the
// text of a refusal must be the same for both.
func TestBothSidesAgreeWithThePlainReading(t *testing.T) {
	var opened, advanced, ended, refused int
	for seed := range walks() {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		w := newWalk(r)
		for i := range 30 {
			m, by := w.randomMove(i)
			want := w.reading.say(m, by)
			for side, state := range w.sides {
				before := string(state.Encode())
				m.Own = side == by
				v, err := state.Apply(m)
				if got := told(v, err); got != want {
					t.Fatalf("seed %d, move %d: side %d says %s, want %s\n%+v\nstate %s\nprotocol %+v", seed, i, side, got, want, m, before, w.reading)
				}
				if err != nil && string(state.Encode()) != before {
					t.Fatalf("seed %d, move %d was refused and changed the state", seed, i)
				}
				opened, advanced, ended, refused = opened+count(v.Opens), advanced+count(v.Matched), ended+count(v.Ends), refused+count(err != nil)
				w.sides[side] = restored(t, state)
			}
		}
	}
	t.Logf("%d opened, %d advanced, %d ended, %d refused", opened, advanced, ended, refused)
	for _, n := range []int{opened, advanced, ended, refused} {
		if n < 5*walks() {
			t.Error("the walks are too tame to prove anything")
		}
	}
}

// The same with time limits, and also without roles in the moves: whatever a
// sender's own side lets out, the other side takes, and both agree on what it
// means and on what happens when time is up.
func TestWhatOneSideLetsOutTheOtherTakes(t *testing.T) {
	var taken, timeouts int
	for seed := range walks() {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		w := newWalk(r)
		w.addTime()
		silent := r.IntN(2) == 0 // nobody says their role
		now := start
		for i := range 30 {
			now = now.Add(time.Duration(r.IntN(2000)) * time.Millisecond)
			mine, theirs := w.sides[0].Expire(now), w.sides[1].Expire(now)
			timeouts += len(mine)
			if len(mine) != len(theirs) || !w.sides[0].Next().Equal(w.sides[1].Next()) {
				t.Fatalf("seed %d, before move %d: side 0 has %+v, side 1 has %+v", seed, i, mine, theirs)
			}
			for k := range mine {
				if mine[k] != mirrored(theirs[k]) {
					t.Fatalf("seed %d, before move %d: side 0 has %+v, side 1 has %+v", seed, i, mine[k], theirs[k])
				}
			}
			m, by := w.randomMove(i)
			m.At = now
			if silent {
				m.Role = ""
			}
			sent, errSent := w.sides[by].Apply(own(m))
			got, errGot := w.sides[1-by].Apply(m)
			if sent != got || fmt.Sprint(errSent) != fmt.Sprint(errGot) {
				t.Fatalf("seed %d, move %d: %+v\nsender   %+v %v\nreceiver %+v %v\n%+v", seed, i, m, sent, errSent, got, errGot, w.protocol)
			}
			taken += count(errSent == nil)
		}
	}
	t.Logf("%d taken, %d timeouts", taken, timeouts)
	if taken < 5*walks() || timeouts < walks() {
		t.Error("the walks are too tame to prove anything")
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func mirrored(t dialogue.Timeout) dialogue.Timeout {
	t.Own, t.Send, t.Await = !t.Own, t.Await, t.Send
	return t
}

// restored returns the state as it comes back from a store.
func restored(t *testing.T, s *dialogue.State) *dialogue.State {
	t.Helper()
	again, err := dialogue.Decode(s.Encode())
	if err != nil {
		t.Fatalf("%v: %s", err, s.Encode())
	}
	return again
}

// A walk is two sides, a and b, that speak a random protocol.
type walk struct {
	r        *rand.Rand
	protocol *spec.Protocol
	sides    [2]*dialogue.State
	roles    [2]string
	reading  *reading
}

func newWalk(r *rand.Rand) *walk {
	w := &walk{r: r, protocol: &spec.Protocol{Name: "Random", Dialogue: &spec.Dialogue{}}}
	p := w.protocol
	switch r.IntN(4) {
	case 0:
	case 1:
		p.Roles, w.roles = []spec.Role{{Name: "peer", Min: 2, Max: 2}}, [2]string{"peer", "peer"}
	default:
		p.Roles, w.roles = []spec.Role{{Name: "a"}, {Name: "b"}}, [2]string{"a", "b"}
	}
	names := []string{"m0", "m1", "m2", "m3", "m4", "m5"}[:3+r.IntN(4)]
	for _, name := range names {
		m := spec.Message{Name: name}
		if r.IntN(6) == 0 {
			m.Class = spec.ErrorReport
		}
		if r.IntN(4) == 0 {
			m.From = w.someRole()
		}
		p.Messages = append(p.Messages, m)
		rule := spec.Rule{Message: name}
		for range r.IntN(4) {
			rule.Replies = append(rule.Replies, names[r.IntN(len(names))])
		}
		if len(rule.Replies) > 0 && r.IntN(3) == 0 {
			rule.By = w.someRole()
		}
		p.Rules = append(p.Rules, rule)
		o := spec.Outcome{State: "by_" + name, Messages: []string{name}}
		if r.IntN(2) == 0 {
			o.State, o.After = o.State+"_after", []string{names[r.IntN(len(names))]}
		}
		p.Dialogue.Outcomes = append(p.Dialogue.Outcomes, o)
	}
	for range 1 + r.IntN(2) {
		p.Dialogue.Initiates = append(p.Dialogue.Initiates, spec.Initiation{Messages: []string{names[r.IntN(len(names))]}, By: w.someRole()})
	}
	one := r.IntN(4) == 0
	w.sides = [2]*dialogue.State{{OneExchange: one}, {OneExchange: one}}
	w.reading = &reading{Protocol: p, one: one}
	return w
}

// someRole returns one of the protocol's roles, or none.
func (w *walk) someRole() []string {
	if len(w.protocol.Roles) == 0 || w.r.IntN(3) == 0 {
		return nil
	}
	return []string{w.roles[w.r.IntN(2)]}
}

// addTime gives the protocol time limits and what comes when they are over.
func (w *walk) addTime() {
	p, r := w.protocol, w.r
	for i := range p.Rules {
		if rule := &p.Rules[i]; r.IntN(2) == 0 {
			rule.Within = time.Duration(1+r.IntN(5)) * time.Second
			rule.Else = []string{"", "gone", "m0", "m1", "m2"}[r.IntN(5)]
		}
		p.Rules[i].MayRest = r.IntN(4) == 0
	}
	p.Dialogue.EndStates = []string{"gone", "quiet"}
	if r.IntN(2) == 0 {
		p.Dialogue.Timeout = time.Duration(1+r.IntN(10)) * time.Second
	}
	if r.IntN(2) == 0 {
		p.Dialogue.Outcomes = append(p.Dialogue.Outcomes, spec.Outcome{State: "quiet", OnTimeout: true, Messages: []string{"m0", "m1"}})
	}
}

// randomMove returns a message that may or may not be legal, and the side that
// sends it.
func (w *walk) randomMove(i int) (m dialogue.Move, by int) {
	by = w.r.IntN(2)
	p := w.protocol
	m = dialogue.Move{
		Protocol: p, Message: p.Messages[w.r.IntN(len(p.Messages))].Name, Role: w.roles[by], ID: fmt.Sprint(i), At: start,
	}
	if open := w.sides[0].Open(); len(open) > 0 && w.r.IntN(3) > 0 {
		e := open[w.r.IntN(len(open))]
		m.ReplyTo = e.ID
		if rule := p.Rule(e.Last); len(rule.Replies) > 0 && w.r.IntN(3) > 0 {
			m.Message = rule.Replies[w.r.IntN(len(rule.Replies))]
		}
	}
	return m, by
}

// A reading is what the rules say, read as simply as possible: for messages that
// name the first of an exchange or nothing, and without time.
type reading struct {
	*spec.Protocol
	one    bool
	closed bool
	open   []*readExchange
}

type readExchange struct {
	id, last, lastID string
	by               int
}

// say judges a message and returns what [told] must return.
func (r *reading) say(m dialogue.Move, by int) string {
	if r.one && r.closed {
		return "refused"
	}
	for _, e := range r.open {
		if e.id != m.ReplyTo && !r.one {
			continue
		}
		switch {
		case r.legal(e, m, by):
			return r.answer(e, m, by)
		case r.isError(m):
			return r.end(e, m)
		}
		return "refused"
	}
	for _, i := range r.Dialogue.Initiates {
		if slices.Contains(i.Messages, m.Message) && allows(i.By, m.Role) && allows(r.Message(m.Message).From, m.Role) {
			e := &readExchange{id: m.ID, last: m.Message, lastID: m.ID, by: by}
			if len(r.Rule(m.Message).Replies) == 0 {
				r.closed = true
				return "opens " + m.ID + ", ends " + m.ID + r.outcome(m.Message, "")
			}
			r.open = append(r.open, e)
			return "opens " + m.ID
		}
	}
	if m.ReplyTo != "" {
		return "refused"
	}
	for _, e := range r.open {
		if r.legal(e, m, by) {
			return r.answer(e, m, by)
		}
	}
	for _, e := range r.open {
		if r.isError(m) && e.by != by {
			return r.end(e, m)
		}
	}
	return "refused"
}

func (r *reading) isError(m dialogue.Move) bool {
	declared := r.Message(m.Message)
	return declared.Class == spec.ErrorReport && allows(declared.From, m.Role)
}

// legal: the rules name the message, and its sender is the role they name or
// else the other side.
func (r *reading) legal(e *readExchange, m dialogue.Move, by int) bool {
	rule, from := r.Rule(e.last), r.Message(m.Message).From
	if !slices.Contains(rule.Replies, m.Message) || !allows(from, m.Role) || !allows(rule.By, m.Role) {
		return false
	}
	return by != e.by || len(rule.By) > 0 || len(from) > 0 && len(r.Roles) == 2
}

func (r *reading) answer(e *readExchange, m dialogue.Move, by int) string {
	if len(r.Rule(m.Message).Replies) == 0 {
		return r.end(e, m)
	}
	said := "answers " + r.answered(e, m)
	e.last, e.lastID, e.by = m.Message, m.ID, by
	return said
}

func (r *reading) end(e *readExchange, m dialogue.Move) string {
	r.closed = true
	r.open = slices.DeleteFunc(r.open, func(other *readExchange) bool { return other == e })
	return "answers " + r.answered(e, m) + ", ends " + e.id + r.outcome(m.Message, e.last)
}

func (r *reading) answered(e *readExchange, m dialogue.Move) string {
	if m.ReplyTo == e.id {
		return e.id
	}
	return e.lastID
}

func (r *reading) outcome(last, before string) string {
	for _, o := range r.Dialogue.Outcomes {
		if o.Messages[0] == last && (o.After == nil || o.After[0] == before) {
			return ", as " + o.State
		}
	}
	return ""
}

func allows(roles []string, role string) bool { return len(roles) == 0 || slices.Contains(roles, role) }

// A refusal is for the author of either side, so both tell it alike.
func TestRefusalsReadTheSameOnBothSides(t *testing.T) {
	for seed := range walks() / 10 {
		w := newWalk(rand.New(rand.NewPCG(uint64(seed), 3)))
		for i := range 30 {
			m, by := w.randomMove(i)
			_, sender := w.sides[by].Apply(own(m))
			_, receiver := w.sides[1-by].Apply(m)
			if fmt.Sprint(sender) != fmt.Sprint(receiver) {
				t.Fatalf("seed %d, move %d\nsender   %v\nreceiver %v", seed, i, sender, receiver)
			}
			if code := fault.CodeOf(sender); code != "" && code != fault.OutOfTurn {
				t.Fatalf("seed %d, move %d: %v", seed, i, sender)
			}
		}
	}
}
