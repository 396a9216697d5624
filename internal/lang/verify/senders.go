package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/parley-agents/parley/spec"
)

// maxTold bounds how many findings of a kind are told, since each has its trace.
const maxTold = 100

// wrongSenders asks that somebody can send each reply where it is allowed. The
// place of a reply that is wrong in several ways is named once.
func (m *machine) wrongSenders() {
	if m.roles == nil {
		return
	}
	for _, i := range m.first {
		n := &m.nodes[i]
		if m.openers[i]&n.from == 0 && n.from != 0 {
			m.report("PAR2120", Place{Element: Initiates, Message: n.Name}, nil, fmt.Sprintf("change the `from` of '%s' or the `by` here", n.Name),
				"'%s' must be sent by %s here (initiates) but is declared from %s", n.Name, m.names(m.openers[i]), m.names(n.from))
		}
	}
	told := make(map[[2]int]bool)
	for _, c := range m.reached {
		n := &m.nodes[c.message]
		for _, r := range n.answers {
			if m.answerers(c, r) == 0 && !told[[2]int{c.message, r}] && len(told) < maxTold {
				told[[2]int{c.message, r}] = true
				m.wrongSender(c, r)
			}
		}
		for _, r := range n.receipts {
			if !m.mayConfirm(c, r) && !told[[2]int{c.message, r}] && len(told) < maxTold {
				told[[2]int{c.message, r}] = true
				m.wrongReceipt(c, r)
			}
		}
	}
}

func (m *machine) wrongSender(c config, reply int) {
	n, r := &m.nodes[c.message], &m.nodes[reply]
	must, hint := n.by, fmt.Sprintf("change the `from` of '%s' or the `by` of this rule", r.Name)
	if must == 0 {
		must = only(c.by.other())
		hint = fmt.Sprintf("declare it `from %s`", m.roles[c.by.other()])
	}
	trace := append(m.trace(c), m.move(config{reply, c.by}))
	m.report("PAR2120", Place{Element: Reply, Message: n.Name, Reply: r.Name}, trace, hint,
		"'%s' must be sent by %s here (answers '%s' from '%s') but is declared from %s",
		r.Name, m.names(must), n.Name, m.roles[c.by], m.names(r.from))
}

func (m *machine) wrongReceipt(c config, receipt int) {
	n, r := &m.nodes[c.message], &m.nodes[receipt]
	said := "is declared from " + m.names(r.from)
	if r.from.has(c.by.other()) {
		said = "the rule says by " + m.names(n.by)
	}
	trace := append(m.trace(c), m.move(config{receipt, c.by}))
	m.report("PAR2120", Place{Element: Reply, Message: n.Name, Reply: r.Name}, trace, "who receives a message confirms it",
		"'%s' must be sent by '%s' here (confirms '%s' from '%s') but %s", r.Name, m.roles[c.by.other()], n.Name, m.roles[c.by], said)
}

func (m *machine) names(set sides) string {
	var all []string
	for s := range side(2) {
		if set.has(s) {
			all = append(all, m.roles[s])
		}
	}
	return quoted(all)
}

// races warns where both sides may speak, unless their messages can cross without
// harm: each takes the other's after its own, and it does not matter which came
// first.
func (m *machine) races() {
	if raceIsMeant(m.Annotations) {
		return
	}
	told := make(map[int]bool)
	for _, c := range m.reached {
		n := &m.nodes[c.message]
		if told[c.message] || n.open || raceIsMeant(n.Annotations) {
			continue
		}
		x, y, crossing := m.crossing(c)
		if !crossing {
			continue
		}
		if told[c.message] = true; len(told) > maxTold {
			return
		}
		trace := append(m.trace(c), m.move(x), m.move(y))
		m.report("PAR2121", Place{Element: Rule, Message: n.Name}, trace, "let one side speak, or `@race(ok)`",
			"after '%s' both sides may send: messages can cross", n.Name)
	}
}

// raceIsMeant reports whether a protocol or the message before a race says that
// crossing messages are welcome: @race(ok).
func raceIsMeant(annotations []spec.Annotation) bool {
	return slices.ContainsFunc(annotations, func(a spec.Annotation) bool {
		return a.Name == "race" && len(a.Args) == 1 && a.Args[0].Value == `"ok"`
	})
}

// moves returns what each side may send in a config. Where nobody can send a
// reply, that is the mistake.
func (m *machine) moves(c config) (all [2][]config, contradiction bool) {
	for _, r := range m.nodes[c.message].answers {
		who := m.answerers(c, r)
		if who == 0 {
			return all, true
		}
		for s := range side(2) {
			if who.has(s) {
				all[s] = append(all[s], config{r, s})
			}
		}
	}
	return all, false
}

// crossing returns two messages that both sides may send at the same time and that
// lead them apart.
func (m *machine) crossing(c config) (x, y config, found bool) {
	moves, contradiction := m.moves(c)
	if contradiction {
		return x, y, false
	}
	for _, x := range moves[0] {
		for _, y := range moves[1] {
			if m.mayCross[x.message].has(y.message) {
				continue
			}
			if !m.allows(x, y) || !m.allows(y, x) || !m.alike(x, y) {
				return x, y, true
			}
			m.mayCross[x.message] = m.mayCross[x.message].with(y.message, len(m.nodes))
		}
	}
	return x, y, false
}

// allows reports whether one move may follow another.
func (m *machine) allows(before, c config) bool {
	n := &m.nodes[before.message]
	return n.replies.has(c.message) && m.answerers(before, c.message).has(c.by)
}

// alike reports whether it makes no difference which of two moves came last, after
// both. A move leads to the same config from wherever it is made, so it is enough
// that the same moves are allowed and that whatever ends the exchange ends it alike.
func (m *machine) alike(x, y config) bool {
	return m.horizon(x) == m.horizon(y) && m.restsAs(y, x.message) == m.restsAs(x, y.message)
}

// horizon returns the same number for moves after which the same can come.
func (m *machine) horizon(c config) int {
	if h := m.horizons[c.index()]; h != 0 {
		return h
	}
	text := m.describe(c)
	if m.sameText[text] == 0 {
		m.sameText[text] = len(m.sameText) + 1
	}
	m.horizons[c.index()] = m.sameText[text]
	return m.sameText[text]
}

// describe writes down what can come after a move.
func (m *machine) describe(c config) string {
	n := &m.nodes[c.message]
	var b strings.Builder
	if len(n.answers) > 0 {
		fmt.Fprint(&b, n.within, " ", n.elseState, " ", n.orElse)
	}
	if n.orElse >= 0 {
		fmt.Fprint(&b, " ", m.elseSender(c))
	}
	var moves []string
	for _, r := range n.answers {
		for s, who := side(0), m.answerers(c, r); s < 2; s++ {
			if who.has(s) {
				moves = append(moves, fmt.Sprint(s, " ", r, " ", m.restsAs(config{r, s}, c.message)))
			}
		}
	}
	slices.Sort(moves)
	fmt.Fprint(&b, moves)
	return b.String()
}

// restsAs describes how an exchange ends that comes to rest at a message, by itself
// or when its time is up.
func (m *machine) restsAs(c config, before int) string {
	n := &m.nodes[c.message]
	switch {
	case len(n.answers) == 0:
		return "end " + m.outcome(c.message, before)
	case m.Dialogue.Timeout > 0 || n.within > 0:
		return "wait " + m.timeoutState(c.message, before)
	case n.mayRest || n.terminal:
		return "rest " + m.outcome(c.message, before)
	}
	return ""
}

// outcome returns the end state of an exchange by its last two messages, as a
// running dialogue finds it.
func (m *machine) outcome(last, before int) string {
	general := ""
	for _, o := range m.outcomes[m.nodes[last].Name] {
		switch {
		case o.OnTimeout:
		case slices.Contains(o.After, m.nodes[before].Name):
			return o.State
		case len(o.After) == 0 && general == "":
			general = o.State
		}
	}
	return general
}

// timeoutState returns the end state that is reached when time is up at a message.
func (m *machine) timeoutState(last, before int) string {
	n := &m.nodes[last]
	for _, o := range m.Dialogue.Outcomes {
		if o.OnTimeout && (len(o.Messages) == 0 || slices.Contains(o.Messages, n.Name)) {
			return o.State
		}
	}
	if n.mayRest || n.terminal {
		return m.outcome(last, before)
	}
	return ""
}
