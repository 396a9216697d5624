package verify_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/lang/diag"
	"github.com/parley-agents/parley/internal/lang/verify"
	"github.com/parley-agents/parley/spec"
)

// Random protocols: what the verifier accepts never gets stuck and never meets a
// message that is not handled, whatever the two sides do; and what it finds wrong
// goes wrong on the way that it shows.
func TestVerdictsAreTrue(t *testing.T) {
	accepted, confirmed := 0, make(map[string]int)
	for seed := range protocols() {
		r := rand.New(rand.NewPCG(uint64(seed), 6))
		p := random(r)
		result := verify.Protocol(p, verify.Options{})
		solved := withSenders(p, result.Senders)
		trouble := slices.ContainsFunc(result.Findings, func(f verify.Finding) bool {
			info, _ := diag.Lookup(f.Code)
			return info.Severity == diag.Error || f.Code == "PAR2121"
		})
		if !trouble {
			accepted++
			if err := sound(solved); err != nil {
				t.Fatalf("seed %d is accepted, but %v\n%s", seed, err, written(p))
			}
		}
		for _, f := range result.Findings {
			ok, err := confirm(p, solved, f)
			if err != nil {
				t.Fatalf("seed %d: %s %s\n%s\n%v\n%s", seed, f.Code, f.Message, way(f.Trace), err, written(p))
			}
			if ok {
				confirmed[f.Code]++
			}
		}
	}
	t.Logf("%d accepted, confirmed %v", accepted, confirmed)
	if accepted < protocols()/10 {
		t.Error("too few are accepted to prove anything")
	}
	for _, code := range []string{"PAR2101", "PAR2102", "PAR2120", "PAR2121"} {
		if confirmed[code] < protocols()/100 {
			t.Errorf("%s was found and confirmed only %d times", code, confirmed[code])
		}
	}
}

// withSenders returns the protocol with what was solved, as the checker leaves it.
func withSenders(p *spec.Protocol, senders map[string][]string) *spec.Protocol {
	solved := *p
	solved.Messages = slices.Clone(p.Messages)
	for i := range solved.Messages {
		m := &solved.Messages[i]
		if from := senders[m.Name]; from != nil {
			m.From = from
		}
	}
	return &solved
}

func sound(p *spec.Protocol) error {
	r := simulate(newWorld(p))
	switch {
	case r.unhandled != nil:
		return r.unhandled
	case r.stuck != "":
		return fmt.Errorf("it gets stuck at %s", r.stuck)
	case r.endless != "":
		return fmt.Errorf("no end can be reached from %s", r.endless)
	case r.apart != "":
		return fmt.Errorf("the sides do not agree on the end: %s", r.apart)
	}
	for _, m := range p.Messages {
		if m.Class != spec.Acknowledge && !r.sent[m.Name] {
			return fmt.Errorf("%s is never sent", m.Name)
		}
	}
	return nil
}

// confirm replays a finding. It reports false for those that are not about what
// happens but about what is written.
func confirm(p, solved *spec.Protocol, f verify.Finding) (bool, error) {
	if len(p.Roles) == 1 && p.Roles[0].Max == 0 {
		return false, nil // nobody can answer, whatever else is wrong
	}
	switch f.Code {
	case "PAR2101":
		if r := simulate(newWorld(p)); r.sent[f.At.Message] {
			return true, fmt.Errorf("%s is sent", f.At.Message)
		}
	case "PAR2102":
		w, err := replay(solved, f.Trace)
		if err != nil {
			return true, err
		}
		for side := range 2 {
			for len(w.queues[side]) > 0 {
				if err := w.receive(side); err != nil {
					return true, err
				}
			}
		}
		w.calm = true // messages that cross are another finding
		if canSettle(w) {
			return true, fmt.Errorf("an end can be reached")
		}
	case "PAR2120":
		return true, confirmSender(p, f)
	case "PAR2121":
		return true, confirmRace(solved, f)
	default:
		return false, nil
	}
	return true, nil
}

// replay lets the sides send the messages of a trace, each after it has received
// what was before.
func replay(p *spec.Protocol, trace []verify.Move) (*world, error) {
	w := newWorld(p)
	for _, m := range trace {
		side := sideOf(p, m)
		for len(w.queues[side]) > 0 {
			if err := w.receive(side); err != nil {
				return nil, err
			}
		}
		for len(w.queues[1-side]) > 0 { // one side may send twice
			if err := w.receive(1 - side); err != nil {
				return nil, err
			}
		}
		if err := w.send(side, m.Message); err != nil {
			return nil, fmt.Errorf("the trace breaks at %s: %w", m.Message, err)
		}
	}
	return w, nil
}

func sideOf(p *spec.Protocol, m verify.Move) int {
	if m.Role == "" {
		if m.Opener {
			return 0
		}
		return 1
	}
	return slices.IndexFunc(p.Roles, func(r spec.Role) bool { return r.Name == m.Role })
}

// canSettle reports whether any order of events leads to an end.
func canSettle(from *world) bool {
	seen := map[string]bool{from.key(): true}
	for todo := []*world{from}; len(todo) > 0; todo = todo[1:] {
		if todo[0].settled() {
			return true
		}
		next, _ := todo[0].steps()
		for _, n := range next {
			if !seen[n.key()] {
				seen[n.key()] = true
				todo = append(todo, n)
			}
		}
	}
	return false
}

// confirmSender asks that the side which should send the message cannot.
func confirmSender(p *spec.Protocol, f verify.Finding) error {
	if f.At.Element == verify.Initiates {
		for side := range 2 {
			if newWorld(p).send(side, f.At.Message) == nil {
				return fmt.Errorf("%s can be sent", f.At.Message)
			}
		}
		return nil
	}
	last := f.Trace[len(f.Trace)-1]
	w, err := replay(p, f.Trace[:len(f.Trace)-1])
	if err != nil {
		return err
	}
	other := 1 - sideOf(p, last)
	for len(w.queues[other]) > 0 {
		if err := w.receive(other); err != nil {
			return err
		}
	}
	if m := p.Message(last.Message); m.Class == spec.Acknowledge {
		return nil // the judge refuses no receipt, wherever it comes from
	}
	if p.Rule(f.At.Message).Else == last.Message {
		return nil // it is taken when time is up, and before: clocks differ
	}
	if w.send(other, last.Message) == nil {
		return fmt.Errorf("%s can be sent", last.Message)
	}
	return nil
}

// confirmRace lets two messages cross: one of them is not handled, or the sides no
// longer agree where they are.
func confirmRace(p *spec.Protocol, f verify.Finding) error {
	n := len(f.Trace) - 2
	w, err := replay(p, f.Trace[:n])
	if err != nil {
		return err
	}
	for side := range 2 {
		for len(w.queues[side]) > 0 {
			if err := w.receive(side); err != nil {
				return err
			}
		}
	}
	for _, m := range f.Trace[n:] {
		if err := w.send(sideOf(p, m), m.Message); err != nil {
			return fmt.Errorf("%s cannot be sent: %w", m.Message, err)
		}
	}
	for side := range 2 {
		if w.receive(side) != nil {
			return nil
		}
	}
	if w.view(0) == w.view(1) && w.ends[0] == w.ends[1] {
		return fmt.Errorf("the messages cross, and both sides are at %q", w.view(0))
	}
	return nil
}

// written shows a protocol to whoever has to find out what is wrong with it.
func written(p *spec.Protocol) string {
	var s strings.Builder
	s.WriteString(fmt.Sprintf("roles %v\n", p.Roles))
	for _, m := range p.Messages {
		s.WriteString(fmt.Sprintf("%s %s from %v\n", m.Name, m.Class, m.From))
	}
	for _, r := range p.Rules {
		s.WriteString(fmt.Sprintf("%s -> %v rest %v by %v within %v else %q\n", r.Message, r.Replies, r.MayRest, r.By, r.Within, r.Else))
	}
	return s.String() + fmt.Sprintf("%+v\n", *p.Dialogue)
}
