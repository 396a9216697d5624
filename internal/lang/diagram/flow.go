package diagram

import (
	"slices"

	"github.com/parley-agents/parley/spec"
)

// flowSenders returns the roles that send a message in a flow.
func flowSenders(steps []spec.Step, message string) []string {
	var all []string
	for i := range steps {
		if steps[i].Message == message {
			all = append(all, steps[i].From)
		}
		for _, b := range steps[i].Blocks {
			all = append(all, flowSenders(b, message)...)
		}
	}
	return all
}

// A flowing follows a flow from message to message.
type flowing struct {
	*builder
	loops map[string][]int // the first messages of the loops that are open
}

// flow leads from each message of a flow to those that come next. Blocks at once
// are drawn as alternatives: the order between them is nobody's business.
func (b *builder) flow(f *spec.Flow) {
	w := &flowing{builder: b, loops: make(map[string][]int)}
	for _, last := range w.steps(f.Steps, []int{0}) {
		if last > 0 {
			b.edge(last, b.end(""), Over, "")
		}
	}
}

// steps follows steps that come after the given nodes and returns the last ones,
// nil if nothing can follow.
func (w *flowing) steps(steps []spec.Step, before []int) []int {
	for i := range steps {
		if before == nil {
			return nil
		}
		before = w.step(&steps[i], before)
	}
	return before
}

func (w *flowing) step(s *spec.Step, before []int) []int {
	join := func(to int, reason Reason) {
		for _, from := range before {
			w.edge(from, to, reason, "")
		}
	}
	switch {
	case s.Message != "":
		to, ok := w.messages[s.Message]
		if !ok {
			return before
		}
		join(to, Sent)
		if s.Within > 0 {
			w.edge(to, w.end(timedOut), TimeUp, "after "+Duration(s.Within))
		}
		return []int{to}
	case len(s.Blocks) > 0:
		if s.Loop != "" {
			w.loops[s.Loop] = w.first(s.Blocks[0])
			defer delete(w.loops, s.Loop)
		}
		var last []int
		for _, b := range s.Blocks {
			last = append(last, w.steps(b, before)...)
		}
		slices.Sort(last)
		return slices.Compact(last)
	case s.Continue != "":
		for _, to := range w.loops[s.Continue] {
			join(to, Sent)
		}
		return nil
	case s.Do != "":
		return before
	}
	join(w.end(s.End), Over)
	return nil
}

// first returns the messages with which steps can begin.
func (w *flowing) first(steps []spec.Step) []int {
	for i := range steps {
		s := &steps[i]
		if to, ok := w.messages[s.Message]; ok {
			return []int{to}
		}
		var all []int
		for _, b := range s.Blocks {
			all = append(all, w.first(b)...)
		}
		if all != nil {
			return all
		}
	}
	return nil
}
