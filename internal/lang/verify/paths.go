package verify

import (
	"fmt"
	"slices"
	"strings"
)

// reachable asks that every message can be sent. Of messages that lead to each
// other only the first is named. Where a name or a rule on the way is missing, a
// message may be lost because of that, and nothing is said; nor of what only comes
// after a message that nobody can send.
func (m *machine) reachable() {
	if m.lost {
		return
	}
	if len(m.first) == 0 {
		if len(m.Dialogue.Initiates) > 0 {
			m.report("PAR2003", Place{Element: Dialogue}, nil, "a receipt opens nothing", "dialogue has no initiating message")
		}
		return
	}
	sent := make([]bool, len(m.nodes))
	for _, c := range m.reached {
		n := &m.nodes[c.message]
		if n.open || n.badElse != "" || m.lacksReply(n) {
			return
		}
		sent[c.message] = true
		if n.clash {
			m.mark(c.message, sent)
		}
	}
	for _, i := range m.first {
		if m.openers[i]&m.nodes[i].from == 0 {
			m.mark(i, sent)
		}
	}
	for i := range m.nodes {
		n := &m.nodes[i]
		if sent[i] || n.receipt() || m.leadsHere(i, sent) {
			continue
		}
		m.report("PAR2101", Place{Element: Message, Message: n.Name}, nil, "add it to a reply list or to initiates",
			"message '%s' can never be sent: no path from %s", n.Name, m.start())
		m.mark(i, sent)
	}
}

// leadsHere reports whether an unsent message that is no follower of this one
// leads to it, and will be named instead.
func (m *machine) leadsHere(i int, sent []bool) bool {
	followers := make([]bool, len(m.nodes))
	m.mark(i, followers)
	for k := range m.nodes {
		if n := &m.nodes[k]; !sent[k] && !followers[k] && !n.receipt() && slices.Contains(n.next, i) {
			return true
		}
	}
	return false
}

// mark marks a message and all that may come after it.
func (m *machine) mark(i int, marked []bool) {
	marked[i] = true
	for todo := []int{i}; len(todo) > 0; {
		n := &m.nodes[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		for _, k := range n.next {
			if !marked[k] {
				marked[k] = true
				todo = append(todo, k)
			}
		}
	}
}

// start names the messages that open an exchange.
func (m *machine) start() string {
	if len(m.first) > 3 {
		return "the initiating messages"
	}
	var all []string
	for _, i := range m.first {
		all = append(all, "'"+m.nodes[i].Name+"'")
	}
	return strings.Join(all, " or ")
}

// ending asks that an end can be reached from wherever an exchange is. Each
// closed circle of messages is named once.
func (m *machine) ending() {
	in := make([]bool, len(m.nodes))
	for _, c := range m.reached {
		in[c.message] = true
	}
	for _, circle := range m.circles(m.doomed(in)) {
		part := make([]bool, len(m.nodes))
		for _, k := range circle {
			part[k] = true
		}
		leaves := func(k int) bool { return !part[k] }
		if slices.ContainsFunc(circle, func(k int) bool { return slices.ContainsFunc(m.nodes[k].next, leaves) }) {
			continue
		}
		at := m.nearest(circle)
		trace := m.trace(at)
		for _, c := range m.around(at) {
			trace = append(trace, m.move(c))
		}
		m.report("PAR2102", Place{Element: Rule, Message: m.nodes[at.message].Name}, trace, "add a terminal reply or a timeout",
			"after '%s' no end can be reached: %s", m.nodes[at.message].Name, arrows(trace))
	}
}

// doomed returns those of the given messages after which no end can be reached.
func (m *machine) doomed(in []bool) []bool {
	from := make([][]int, len(m.nodes))
	var todo []int
	doomed := slices.Clone(in)
	for i := range m.nodes {
		if !in[i] {
			continue
		}
		if n := &m.nodes[i]; m.endsAt(n) {
			doomed[i] = false
			todo = append(todo, i)
		}
		for _, k := range m.nodes[i].next {
			from[k] = append(from[k], i)
		}
	}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, k := range from[i] {
			if doomed[k] {
				doomed[k] = false
				todo = append(todo, k)
			}
		}
	}
	return doomed
}

func arrows(trace []Move) string {
	var names []string
	for _, move := range trace {
		names = append(names, move.Message)
	}
	return strings.Join(names, " -> ")
}

// nearest returns the config of one of the messages, which are sorted, that is
// reached first.
func (m *machine) nearest(messages []int) config {
	i := slices.IndexFunc(m.reached, func(c config) bool {
		_, found := slices.BinarySearch(messages, c.message)
		return found
	})
	return m.reached[i]
}

// around returns the shortest way from a config back to its message, without the
// start.
func (m *machine) around(from config) []config {
	before := map[config]config{}
	for todo := []config{from}; len(todo) > 0; todo = todo[1:] {
		var back *config
		m.successors(todo[0], func(c config) {
			if _, known := before[c]; known || back != nil {
				return
			}
			before[c] = todo[0]
			todo = append(todo, c)
			if c.message == from.message {
				back = &c
			}
		})
		if back != nil {
			way := []config{*back}
			for c := before[*back]; c != from; c = before[c] {
				way = append(way, c)
			}
			slices.Reverse(way)
			return way
		}
	}
	return nil
}

// endlessLoops names loops in which no message has a time limit.
func (m *machine) endlessLoops() {
	unbounded := make([]bool, len(m.nodes))
	for _, c := range m.reached {
		unbounded[c.message] = m.nodes[c.message].within == 0
	}
	for _, circle := range m.circles(unbounded) {
		at := m.nearest(circle)
		loop := []Move{m.move(at)}
		for _, c := range m.around(at) {
			loop = append(loop, m.move(c))
		}
		m.report("PAR2142", Place{Element: Rule, Message: m.nodes[at.message].Name}, m.trace(at), "add `within` or a dialogue `timeout`",
			"loop %s has no time bound", arrows(loop))
	}
}

// circles returns the strongly connected parts of the given messages in which one
// can go round, in the order of the source; each in the order of the source too.
func (m *machine) circles(in []bool) [][]int {
	t := &tarjan{m: m, in: in, index: make([]int, len(m.nodes)), low: make([]int, len(m.nodes)), on: make([]bool, len(m.nodes))}
	for i := range m.nodes {
		if in[i] && t.index[i] == 0 {
			t.visit(i)
		}
	}
	slices.SortFunc(t.found, func(a, b []int) int { return a[0] - b[0] })
	return t.found
}

// tarjan is the search for strongly connected parts, without recursion, since
// protocols may be long.
type tarjan struct {
	m          *machine
	in, on     []bool
	index, low []int
	count      int
	stack      []int
	found      [][]int
}

func (t *tarjan) visit(root int) {
	type frame struct{ node, edge int }
	t.enter(root)
	for calls := []frame{{root, 0}}; len(calls) > 0; {
		f := &calls[len(calls)-1]
		next := t.m.nodes[f.node].next
		if f.edge < len(next) {
			k := next[f.edge]
			f.edge++
			switch {
			case !t.in[k]:
			case t.index[k] == 0:
				t.enter(k)
				calls = append(calls, frame{k, 0})
			case t.on[k]:
				t.low[f.node] = min(t.low[f.node], t.index[k])
			}
			continue
		}
		done := f.node
		calls = calls[:len(calls)-1]
		if len(calls) > 0 {
			parent := calls[len(calls)-1].node
			t.low[parent] = min(t.low[parent], t.low[done])
		}
		if t.low[done] == t.index[done] {
			t.leave(done)
		}
	}
}

func (t *tarjan) enter(i int) {
	t.count++
	t.index[i], t.low[i], t.on[i] = t.count, t.count, true
	t.stack = append(t.stack, i)
}

func (t *tarjan) leave(root int) {
	at := slices.Index(t.stack, root)
	part := slices.Clone(t.stack[at:])
	t.stack = t.stack[:at]
	for _, i := range part {
		t.on[i] = false
	}
	if len(part) > 1 || slices.Contains(t.m.nodes[root].next, root) {
		slices.Sort(part)
		t.found = append(t.found, part)
	}
}

// quoted lists names for a sentence.
func quoted(names []string) string {
	return fmt.Sprintf("'%s'", strings.Join(names, "' or '"))
}
