package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parley-agents/parley/spec"
)

// stateTimeout is the end state that every dialogue with a time limit has.
const stateTimeout = "timeout"

func (m *machine) report(code string, at Place, trace []Move, hint, format string, args ...any) {
	m.found = append(m.found, Finding{Code: code, At: at, Message: fmt.Sprintf(format, args...), Hint: hint, Trace: trace})
}

// parties asks that there is somebody to talk to: a single role is played by both
// sides.
func (m *machine) parties() {
	if len(m.Roles) != 1 {
		return
	}
	if r := &m.Roles[0]; r.Max == 0 || r.Max == 1 {
		m.report("PAR2005", Place{Element: Dialogue}, nil, fmt.Sprintf("write `roles %s[2]` if both sides have it, or name the other", r.Name),
			"role '%s' is alone: there is nobody to answer", r.Name)
	}
}

// ruled asks for one rule for every message.
func (m *machine) ruled() {
	for i := range m.nodes {
		if n := &m.nodes[i]; !n.ruled {
			m.report("PAR2104", Place{Element: Message, Message: n.Name}, nil,
				fmt.Sprintf("write `%s -> []`", n.Name), "message '%s' has no reply rule", n.Name)
		}
	}
}

// terminals asks that exactly those messages terminate after which an exchange
// may end. Receipts are outside of it: they end nothing and have no replies.
func (m *machine) terminals() {
	for i := range m.nodes {
		n := &m.nodes[i]
		at := Place{Element: Rule, Message: n.Name}
		ends := len(n.answers) == 0
		switch {
		case !n.ruled || n.open:
		case n.receipt():
			if len(n.answers)+len(n.receipts) > 0 {
				m.report("PAR2105", at, nil, fmt.Sprintf("a receipt only confirms: write `%s -> []`", n.Name),
					"receipt '%s' has replies", n.Name)
			}
		case n.terminal && !ends && !n.mayRest:
			m.report("PAR2105", at, nil, fmt.Sprintf("remove it from terminates or write `%s -> [...]?`", n.Name),
				"terminal message '%s' has replies", n.Name)
		case n.terminal || len(n.receipts) > 0 && ends || m.lacksReply(n):
		case ends:
			m.report("PAR2106", at, nil, fmt.Sprintf("add '%s' to terminates", n.Name),
				"'%s' has no replies but is not in terminates", n.Name)
		case n.mayRest:
			m.report("PAR2106", at, nil, fmt.Sprintf("add '%s' to terminates or remove the '?'", n.Name),
				"the dialogue may rest at '%s', which is not in terminates", n.Name)
		}
	}
}

// lacksReply reports whether a message that asks for something has no reply.
func (m *machine) lacksReply(n *node) bool {
	return (n.Class == spec.Request || n.Class == spec.Query) && n.ruled && !n.open && len(n.answers) == 0
}

// ends asks that the end states which the dialogue speaks of exist.
func (m *machine) ends() {
	states := m.Dialogue.EndStates
	timed := m.Dialogue.Timeout > 0 || slices.ContainsFunc(m.nodes, func(n node) bool { return n.within > 0 })
	hint := "end states are: " + strings.Join(states, ", ")
	for i, o := range m.Dialogue.Outcomes {
		if o.State == "" || o.State == stateTimeout && timed || slices.Contains(states, o.State) {
			continue
		}
		h := hint
		if len(states) == 0 {
			h = fmt.Sprintf("write `end_states [%s]`", o.State)
		}
		m.report("PAR2107", Place{Element: Outcome, Index: i}, nil, h, "outcome '%s' is not an end state", o.State)
	}
	for i := range m.nodes {
		n := &m.nodes[i]
		if n.badElse == "" {
			continue
		}
		h := hint
		if len(states) == 0 {
			h = fmt.Sprintf("write `end_states [%s]`", n.badElse)
		}
		m.report("PAR2108", Place{Element: Else, Message: n.Name}, nil, h, "'else %s' is neither an end state nor a message", n.badElse)
	}
}

// classes asks that what wants an answer can get one of the right class. It says
// nothing of messages without a class.
func (m *machine) classes() {
	for i := range m.nodes {
		n := &m.nodes[i]
		if !n.ruled {
			continue
		}
		switch n.Class {
		case spec.Request:
			m.answered(n, "a response or an error", spec.Response, spec.ErrorReport)
		case spec.Query:
			if m.answered(n, "an inform, a response or an error", spec.Inform, spec.Response, spec.ErrorReport) {
				m.usual(n)
			}
		case spec.Inform, spec.ErrorReport:
			for _, r := range n.answers {
				if reply := &m.nodes[r]; reply.Class == spec.Response {
					m.report("PAR2112", Place{Element: Reply, Message: n.Name, Reply: reply.Name}, nil, "change a class",
						"response '%s' answers '%s', which is not a request", reply.Name, n.Name)
				}
			}
		}
	}
}

// answered reports whether a reply to a request or query has one of the classes,
// or one that is not known.
func (m *machine) answered(n *node, want string, classes ...spec.Class) bool {
	at := Place{Element: Rule, Message: n.Name}
	if m.lacksReply(n) {
		m.report("PAR2110", at, nil, "list what answers it, or make it an inform", "%s '%s' expects a reply but allows none", n.Class, n.Name)
		return false
	}
	for _, r := range n.answers {
		if c := m.nodes[r].Class; c == spec.Unclassified || slices.Contains(classes, c) {
			return true
		}
	}
	if n.open {
		return false
	}
	m.report("PAR2110", at, nil, "change a class", "%s '%s' expects %s but allows none", n.Class, n.Name, want)
	return false
}

// usual says that a query is answered by an inform, where it is not.
func (m *machine) usual(n *node) {
	var response *node
	for _, r := range n.answers {
		switch reply := &m.nodes[r]; reply.Class {
		case spec.Inform, spec.Unclassified:
			return
		case spec.Response:
			if response == nil {
				response = reply
			}
		}
	}
	if response == nil || n.open {
		return
	}
	m.report("PAR2111", Place{Element: Reply, Message: n.Name, Reply: response.Name}, nil, "change a class",
		"query '%s' is answered by response '%s'; inform is the usual answer", n.Name, response.Name)
}

// times compares time limits, and asks for them if that is wanted.
func (m *machine) times(options Options) {
	whole := m.Dialogue.Timeout
	for i := range m.nodes {
		n := &m.nodes[i]
		if whole > 0 && n.within > whole && len(n.answers) > 0 {
			bound, limit := inOneUnit(n.within, whole)
			m.report("PAR2141", Place{Element: Within, Message: n.Name}, nil, "shorten it, or give the dialogue more time",
				"reply bound %s is longer than the dialogue's %s", bound, limit)
		}
		asks := n.Class == spec.Request || n.Class == spec.Query
		if options.Bounds && asks && whole == 0 && n.within == 0 && !n.open && !n.mayRest && len(n.answers) > 0 {
			m.report("PAR2140", Place{Element: Rule, Message: n.Name}, nil, "add `within` or a dialogue `timeout`",
				"%s '%s' can wait forever", n.Class, n.Name)
		}
	}
	if options.Bounds && whole == 0 {
		m.endlessLoops()
	}
}

// inOneUnit writes two durations so that they are easy to compare: in the largest
// unit of the language in which both are whole numbers.
func inOneUnit(a, b time.Duration) (string, string) {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}, {time.Millisecond, "ms"}} {
		if a%unit.length == 0 && b%unit.length == 0 {
			return fmt.Sprint(int64(a/unit.length), unit.name), fmt.Sprint(int64(b/unit.length), unit.name)
		}
	}
	return a.String(), b.String()
}
