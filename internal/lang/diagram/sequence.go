package diagram

import (
	"cmp"
	"slices"
	"strings"

	"github.com/parley-agents/parley/spec"
)

// maxWays is how many ways through a dialogue are told.
const maxWays = 16

// A Frame says how the blocks of a step relate.
type Frame uint8

// The frames.
const (
	Alternatives Frame = iota // one of them happens
	Parallel                  // all of them, in any order
	Loop                      // the only one, again and again
)

// A Sequence is messages between parties, in the order of time.
type Sequence struct {
	Title   string
	Parties []string // roles or, where both may open an exchange, who does and who answers
	Sides   bool     // the parties are no roles
	Steps   []SequenceStep
	Notes   []string
}

// A SequenceStep is a message, a note or a frame around blocks.
type SequenceStep struct {
	From    int // index of the party
	To      []int
	Message string
	Receipt bool
	Note    string // said after the message, or alone

	Frame  Frame
	Blocks []Block
}

// A Block is a part of a frame.
type Block struct {
	Title string
	Steps []SequenceStep
}

// Ways returns how exchanges of a protocol go: its flow if it has one, else the
// shortest way to each of its ends and through each of its messages.
func Ways(p *spec.Protocol) *Sequence {
	s := &Sequence{Title: p.Name}
	if p.Flow != nil {
		for _, r := range p.Roles {
			s.Parties = append(s.Parties, r.Name)
		}
		s.Steps = s.flow(p.Flow.Steps)
		return s
	}
	w := newWalk(p)
	s.Parties, s.Sides = w.parties(), !w.byRole
	ways := w.all()
	if len(ways) > maxWays {
		s.Notes = append(s.Notes, "There are more ways than these "+itoa(maxWays)+".")
		ways = ways[:maxWays]
	}
	if len(ways) > 0 {
		s.Steps = []SequenceStep{{Blocks: ways}}
	}
	return s
}

// Panels returns the alternatives of a sequence that has nothing else as sequences
// of their own, which are easier to read side by side than below one another.
func (s *Sequence) Panels() []*Sequence {
	if len(s.Steps) != 1 || len(s.Steps[0].Blocks) == 0 || s.Steps[0].Frame != Alternatives {
		return []*Sequence{s}
	}
	var all []*Sequence
	for _, b := range s.Steps[0].Blocks {
		all = append(all, &Sequence{Title: b.Title, Parties: s.Parties, Sides: s.Sides, Steps: b.Steps})
	}
	return all
}

// flow turns the steps of a flow into those of a sequence.
func (s *Sequence) flow(steps []spec.Step) []SequenceStep {
	var all []SequenceStep
	for i := range steps {
		step := &steps[i]
		var out SequenceStep
		switch {
		case step.Message != "":
			out = SequenceStep{From: max(0, slices.Index(s.Parties, step.From)), Message: step.Message}
			for _, to := range step.To {
				if i := slices.Index(s.Parties, to); i >= 0 {
					out.To = append(out.To, i)
				}
			}
			if step.Within > 0 {
				out.Note = "within " + Duration(step.Within)
			}
		case len(step.Blocks) > 0:
			title := "choice of " + step.ChoiceAt
			if step.Parallel {
				out.Frame, title = Parallel, "at once"
			} else if step.Loop != "" {
				out.Frame, title = Loop, step.Loop
			}
			for _, b := range step.Blocks {
				out.Blocks = append(out.Blocks, Block{Title: title, Steps: s.flow(b)})
				title = "or"
				if step.Parallel {
					title = "and"
				}
			}
		case step.Continue != "":
			out.Note = "again: " + step.Continue
		case step.Do != "":
			out.Note = "as in " + step.Do + " with " + strings.Join(step.Roles, ", ")
		case step.Ends && step.End != "":
			out.Note = "ends: " + step.End
		default:
			out.Note = "ends"
		}
		all = append(all, out)
	}
	return all
}

// A walk looks for ways through the rules. A move is a message with the side that
// sends it; sides are the roles where it is known who opens an exchange, else who
// opens and who answers.
type walk struct {
	p      *spec.Protocol
	g      *Graph
	byRole bool
	first  []int   // what opens an exchange, as moves
	out    [][]int // of each node: its edges
	from   map[int]int
	order  []int // moves in the order in which they are reached
}

func newWalk(p *spec.Protocol) *walk {
	w := &walk{p: p, g: States(p), from: make(map[int]int), byRole: len(p.Roles) == 2}
	w.out = make([][]int, len(w.g.Nodes))
	for i, e := range w.g.Edges {
		w.out[e.From] = append(w.out[e.From], i)
	}
	var open []int
	for _, i := range w.out[0] {
		open = append(open, w.g.Edges[i].To)
	}
	for _, m := range open {
		w.byRole = w.byRole && len(w.initiators(w.g.Nodes[m].Name)) == 1
	}
	for _, m := range open {
		side := 0
		if w.byRole {
			side = max(0, slices.Index(w.g.Roles, w.initiators(w.g.Nodes[m].Name)[0]))
		}
		w.first = append(w.first, m*2+side)
	}
	w.search()
	return w
}

func (w *walk) initiators(message string) []string {
	all := w.g.Nodes[w.node(message)].Senders
	if w.p.Dialogue == nil {
		return all
	}
	var by []string
	for _, i := range w.p.Dialogue.Initiates {
		if !slices.Contains(i.Messages, message) {
			continue
		}
		if len(i.By) == 0 {
			return all
		}
		by = append(by, i.By...)
	}
	return slices.DeleteFunc(slices.Clone(all), func(r string) bool { return !slices.Contains(by, r) })
}

func (w *walk) node(message string) int {
	return slices.IndexFunc(w.g.Nodes, func(n Node) bool { return n.Kind == Message && n.Name == message })
}

func (w *walk) parties() []string {
	if w.byRole {
		return w.g.Roles
	}
	return []string{"initiator", "responder"}
}

// sender returns who sends an answer: who may, and of two the other one.
func (w *walk) sender(rule *spec.Rule, answer int, last int) int {
	if !w.byRole {
		return 1 - last
	}
	may := func(side int) bool {
		role := w.g.Roles[side]
		return slices.Contains(w.g.Nodes[answer].Senders, role) && (rule == nil || len(rule.By) == 0 || slices.Contains(rule.By, role))
	}
	if !may(1-last) && may(last) {
		return last
	}
	return 1 - last
}

// next returns the moves that may follow a move.
func (w *walk) next(move int) []int {
	var all []int
	for _, i := range w.out[move/2] {
		if e := &w.g.Edges[i]; e.Reason == Sent {
			all = append(all, e.To*2+w.sender(w.p.Rule(w.g.Nodes[e.From].Name), e.To, move%2))
		}
	}
	return all
}

// search finds the shortest way to every move.
func (w *walk) search() {
	for _, m := range w.first {
		if _, seen := w.from[m]; !seen {
			w.from[m] = -1
			w.order = append(w.order, m)
		}
	}
	for i := 0; i < len(w.order); i++ {
		for _, m := range w.next(w.order[i]) {
			if _, seen := w.from[m]; !seen {
				w.from[m] = w.order[i]
				w.order = append(w.order, m)
			}
		}
	}
}

func (w *walk) way(to int) []int {
	var all []int
	for m := to; m >= 0; m = w.from[m] {
		all = append(all, m)
	}
	slices.Reverse(all)
	return all
}

// all returns the ways: to every end, then through the messages that are on none
// of them; at most one more than are told.
func (w *walk) all() []Block {
	var blocks []Block
	told := make(map[int]bool)
	tell := func(title string, way []int, e *Edge) {
		for _, m := range way {
			told[m/2] = true
		}
		blocks = append(blocks, Block{Title: title, Steps: w.steps(way, e)})
	}
	ended := make(map[int]bool)
	for _, reason := range []Reason{Over, TimeUp} {
		for i := range w.g.Edges {
			e := &w.g.Edges[i]
			to := &w.g.Nodes[e.To]
			if e.Reason != reason || ended[e.To] && to.Name != "" || len(blocks) > maxWays {
				continue
			}
			way := w.wayAlong(e)
			if way == nil {
				continue
			}
			ended[e.To] = true
			title := cmp.Or(to.Name, "ends with "+w.g.Nodes[e.From].Name)
			if to.Kind == Message {
				title = w.g.Nodes[e.From].Name + " in vain"
			}
			tell(title, way, e)
		}
	}
	for _, m := range w.order {
		if told[m/2] || len(blocks) > maxWays {
			continue
		}
		way, e := w.onward(w.way(m))
		title := "by way of " + w.g.Nodes[m/2].Name
		if e != nil && w.g.Nodes[e.To].Name != "" {
			title = w.g.Nodes[e.To].Name + ", " + title
		}
		tell(title, way, e)
	}
	return blocks
}

// wayAlong returns the shortest way that ends along an edge; nil if there is none.
func (w *walk) wayAlong(e *Edge) []int {
	var shortest []int
	for _, m := range w.order {
		if len(e.Before) == 0 && m/2 == e.From {
			return w.way(m)
		}
		if !slices.Contains(e.Before, w.g.Nodes[m/2].Name) {
			continue
		}
		for _, last := range w.next(m) {
			if way := append(w.way(m), last); last/2 == e.From && (shortest == nil || len(way) < len(shortest)) {
				shortest = way
			}
		}
	}
	return shortest
}

// onward goes on from the end of a way to the nearest end of the exchange.
func (w *walk) onward(way []int) ([]int, *Edge) {
	start := way[len(way)-1]
	from := map[int]int{start: -1}
	for todo := []int{start}; len(todo) > 0; todo = todo[1:] {
		for _, i := range w.out[todo[0]/2] {
			e := &w.g.Edges[i]
			if e.Reason != Over || !w.fits(e, way, from, todo[0]) {
				continue
			}
			var rest []int
			for m := todo[0]; m != start; m = from[m] {
				rest = append(rest, m)
			}
			slices.Reverse(rest)
			return append(way, rest...), e
		}
		for _, m := range w.next(todo[0]) {
			if _, seen := from[m]; !seen {
				from[m] = todo[0]
				todo = append(todo, m)
			}
		}
	}
	return way, nil
}

// fits reports whether the message before the end is one that the edge asks for.
func (w *walk) fits(e *Edge, way []int, from map[int]int, last int) bool {
	if len(e.Before) == 0 {
		return true
	}
	before := from[last]
	if before < 0 && len(way) > 1 {
		before = way[len(way)-2]
	}
	return before >= 0 && slices.Contains(e.Before, w.g.Nodes[before/2].Name)
}

// steps writes a way down, with receipts where they are due.
func (w *walk) steps(way []int, e *Edge) []SequenceStep {
	var all []SequenceStep
	send := func(move int) {
		all = append(all, SequenceStep{From: move % 2, To: []int{1 - move%2}, Message: w.g.Nodes[move/2].Name})
	}
	for i, m := range way {
		send(m)
		if i == len(way)-1 && e != nil && e.Reason == TimeUp {
			continue // what does not come is the point
		}
		for _, k := range w.out[m/2] {
			if c := &w.g.Edges[k]; c.Reason == Confirm {
				all = append(all, SequenceStep{From: 1 - m%2, To: []int{m % 2}, Message: w.g.Nodes[c.To].Name, Receipt: true})
			}
		}
	}
	if e == nil {
		return all
	}
	to, last := &w.g.Nodes[e.To], way[len(way)-1]
	switch {
	case e.Reason == TimeUp && to.Kind == Message:
		all = append(all, SequenceStep{Note: e.Label})
		send(e.To*2 + w.sender(nil, e.To, last%2))
	case e.Reason == TimeUp && strings.HasPrefix(e.Label, "after "):
		all = append(all, SequenceStep{Note: "no answer " + e.Label + ": " + to.Name})
	case e.Reason == TimeUp:
		all = append(all, SequenceStep{Note: e.Label + ": " + to.Name})
	case to.Name != "":
		all = append(all, SequenceStep{Note: to.Name})
	}
	return all
}
