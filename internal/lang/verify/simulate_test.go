package verify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley/dialogue"
	"github.com/parley-agents/parley/spec"
)

// The simulation is two agents, each with the judge that a running agent has, and
// a queue of messages towards each. It tries every order of sending, receiving
// and running out of time. It knows nothing of the verifier.

const inFlight = 3 // messages that may be under way to one side

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// A world is a moment of the simulation.
type world struct {
	p      *spec.Protocol
	sides  [2]*dialogue.State
	queues [2][]string // towards each side
	ends   [2]string   // how the exchange ended for each side; "" while it is open
	now    time.Time
	next   int // number of the next message
	opened bool
	owed   bool // time was up, and what comes instead of an answer has not come
	calm   bool // nobody sends while a message is under way
}

// newWorld begins a simulation. A running dialogue also takes errors that no rule
// lists, since things break; here nothing breaks, and errors are messages like all
// others.
func newWorld(p *spec.Protocol) *world {
	plain := *p
	plain.Messages = slices.Clone(p.Messages)
	for i := range plain.Messages {
		if m := &plain.Messages[i]; m.Class == spec.ErrorReport {
			m.Class = spec.Unclassified
		}
	}
	p = &plain
	return &world{p: p, sides: [2]*dialogue.State{{OneExchange: true}, {OneExchange: true}}, now: start}
}

func (w *world) clone() *world {
	c := *w
	for i := range 2 {
		c.sides[i], c.queues[i] = w.sides[i].Clone(), slices.Clone(w.queues[i])
	}
	return &c
}

// key is what two moments have in common after which the same can happen.
func (w *world) key() string {
	return fmt.Sprint(w.view(0), w.view(1), w.queues, w.ends, w.owed)
}

// view is where the exchange is for one side: its latest message and who sent it.
func (w *world) view(side int) string {
	if open := w.sides[side].Open(); len(open) == 1 {
		who := side
		if !open[0].LastOwn {
			who = 1 - side
		}
		return fmt.Sprint(open[0].Last, " by ", who)
	}
	return "closed"
}

func (w *world) role(side int) string {
	switch len(w.p.Roles) {
	case 0:
		return ""
	case 1:
		return w.p.Roles[0].Name
	}
	return w.p.Roles[side].Name
}

func (w *world) apply(side int, message string, own bool) error {
	from := side
	if !own {
		from = 1 - side
	}
	w.next++
	v, err := w.sides[side].Apply(dialogue.Move{
		Protocol: w.p, Message: message, Role: w.role(from), Own: own, ID: fmt.Sprint(w.next), At: w.now,
	})
	w.owed = w.owed && (err != nil || v.Receipt)
	if err == nil && v.Ends {
		w.ends[side] = "ended " + v.Outcome
	}
	return err
}

// send lets a side send a message, if its own judge allows it.
func (w *world) send(side int, message string) error {
	if err := w.apply(side, message, true); err != nil {
		return err
	}
	w.opened = true
	w.queues[1-side] = append(w.queues[1-side], message)
	return nil
}

// receive hands a side the next message of its queue.
func (w *world) receive(side int) error {
	m := w.queues[side][0]
	w.queues[side] = w.queues[side][1:]
	return w.apply(side, m, false)
}

// options are the messages that the rules list where a side is.
func (w *world) options(side int) []string {
	if !w.opened {
		var all []string
		for _, i := range w.p.Dialogue.Initiates {
			all = append(all, i.Messages...)
		}
		return all
	}
	open := w.sides[side].Open()
	if len(open) == 0 {
		return nil
	}
	var all []string
	rule := w.p.Rule(open[0].Last)
	if rule == nil {
		return nil
	}
	for _, reply := range rule.Replies {
		if w.p.Message(reply).Class != spec.Acknowledge {
			all = append(all, reply)
		}
	}
	return all
}

// due returns when time runs out, for an answer and for the whole exchange; zero
// if never. While a message is under way it does not.
func (w *world) due() (answer, whole time.Time) {
	if len(w.queues[0])+len(w.queues[1]) > 0 || len(w.sides[0].Open()) == 0 {
		return answer, whole
	}
	if d := w.p.Dialogue.Timeout; d > 0 {
		whole = start.Add(d)
	}
	return w.sides[0].Next(), whole
}

// expire lets time run out for both sides.
func (w *world) expire(at time.Time) error {
	w.now = at
	for side, s := range w.sides {
		for _, t := range s.Expire(w.now) {
			switch t.Kind {
			case dialogue.TimedOut:
				w.ends[side] = "timed out " + t.Outcome
			case dialogue.ElseDue:
				w.owed = true
				if t.Send == "" {
					continue
				}
				if err := w.send(side, t.Send); err != nil {
					return fmt.Errorf("what is sent when time is up is refused: %w", err)
				}
			}
		}
	}
	return nil
}

// settled reports whether the exchange is over for both sides, or may rest.
func (w *world) settled() bool {
	if len(w.queues[0])+len(w.queues[1]) > 0 {
		return false
	}
	for _, s := range w.sides {
		for _, e := range s.Open() {
			if !e.MayRest {
				return false
			}
		}
	}
	return w.opened
}

// steps returns all moments that can come next. An error is a message that
// somebody received and does not handle.
func (w *world) steps() ([]*world, error) {
	var all []*world
	for side := range 2 {
		if len(w.queues[side]) > 0 {
			next := w.clone()
			m := next.queues[side][0]
			if err := next.receive(side); err != nil {
				return nil, fmt.Errorf("side %d gets %s at %q: %w", side, m, w.view(side), err)
			}
			all = append(all, next)
		}
		if w.calm && len(w.queues[0])+len(w.queues[1]) > 0 {
			continue
		}
		if len(w.queues[1-side]) >= inFlight || !w.opened && side == 1 && len(w.p.Roles) < 2 {
			continue
		}
		for _, m := range w.options(side) {
			next := w.clone()
			if next.send(side, m) == nil {
				all = append(all, next)
			}
		}
	}
	answer, whole := w.due()
	for _, at := range []time.Time{answer, whole} {
		if at.IsZero() {
			continue
		}
		late := w.clone()
		if err := late.expire(at); err != nil {
			return nil, err
		}
		all = append(all, late)
	}
	return all, nil
}

// A run is all that can happen.
type run struct {
	sent      map[string]bool
	unhandled error
	stuck     string // a moment that is not settled and from which nothing follows
	endless   string // a moment from which no settled one can be reached
	apart     string // a moment at which the sides do not agree how it ended
}

// simulate tries everything from a moment on.
func simulate(from *world) run {
	result := run{sent: make(map[string]bool)}
	index := map[string]int{from.key(): 0}
	all, before := []*world{from}, [][]int{nil}
	var good []int
	for i := 0; i < len(all); i++ {
		w := all[i]
		for side := range 2 {
			if v := w.view(side); v != "closed" {
				result.sent[strings.Fields(v)[0]] = true
			}
			for _, m := range w.queues[side] {
				result.sent[m] = true
			}
		}
		next, err := w.steps()
		switch {
		case err != nil:
			result.unhandled = err
			return result
		case w.settled():
			good = append(good, i)
			if w.ends[0] != w.ends[1] {
				result.apart = w.key()
			}
		case len(next) == 0 && w.opened:
			result.stuck = w.key()
		}
		for _, n := range next {
			k, known := index[n.key()]
			if !known {
				k = len(all)
				index[n.key()] = k
				all, before = append(all, n), append(before, nil)
			}
			before[k] = append(before[k], i)
		}
	}
	reaches := make([]bool, len(all))
	for _, i := range good {
		reaches[i] = true
	}
	for len(good) > 0 {
		i := good[len(good)-1]
		good = good[:len(good)-1]
		for _, k := range before[i] {
			if !reaches[k] {
				reaches[k] = true
				good = append(good, k)
			}
		}
	}
	for i, ok := range reaches {
		if !ok && all[i].opened {
			result.endless = all[i].key()
		}
	}
	return result
}

// The simulation finds what it is there to find.
func TestTheSimulationSeesTrouble(t *testing.T) {
	for _, tc := range []struct{ name, protocol, want string }{
		{"none", "ask\nyes\nstart ask by a\nask -> yes\nyes ->\nterminates yes", ""},
		{"unhandled", "open\nclose\nstart open by a\nopen -> close by a b\nclose ->\nterminates close", "unhandled"},
		{"stuck", "ask\nyes from a\nstart ask by a\nask -> yes by b\nyes ->\nterminates yes", "stuck"},
		{"endless", "ping\npong\nstart ping by a\nping -> pong\npong -> ping", "endless"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := simulate(newWorld(protocol(t, tc.protocol)))
			got := ""
			switch {
			case r.unhandled != nil:
				got = "unhandled"
			case r.stuck != "":
				got = "stuck"
			case r.endless != "":
				got = "endless"
			}
			if got != tc.want {
				t.Errorf("saw %q, want %q: %+v", got, tc.want, r)
			}
		})
	}
}
