package verify

import (
	"slices"
	"time"

	"github.com/parley-agents/parley/spec"
)

// A side is one of the two parties. With two roles it is the role of that index;
// else side 0 is the one that opens the exchange.
type side int

// sides is a set of them.
type sides uint8

const both sides = 3

func only(s side) sides            { return 1 << s }
func (s side) other() side         { return 1 - s }
func (set sides) has(s side) bool  { return set&only(s) != 0 }
func (set sides) sole(s side) bool { return set == only(s) }

// bits is a set of messages.
type bits []uint64

func (b bits) has(i int) bool { return b != nil && b[i/64]&(1<<(i%64)) != 0 }
func (b bits) add(i int)      { b[i/64] |= 1 << (i % 64) }

// with adds a message to a set that may not have been made yet.
func (b bits) with(i, messages int) bits {
	if b == nil {
		b = make(bits, messages/64+1)
	}
	b.add(i)
	return b
}

// A node is a message and what the protocol says may follow it.
type node struct {
	*spec.Message
	from sides // who may send it by its declaration

	ruled     bool
	answers   []int // messages that may answer it, without receipts
	replies   bits  // the same as a set
	receipts  []int // receipts among its replies
	by        sides // who may answer, 0 if the rule does not say
	mayRest   bool
	within    time.Duration
	elseState string // the end state when time is up, if the rule names one
	orElse    int    // the message sent when time is up, or -1
	badElse   string // what is neither
	next      []int  // messages that may come after it, in answer or when time is up
	open      bool   // a name or a rule is missing: what may follow is not known
	clash     bool   // nobody can send one of its replies, somewhere
	terminal  bool   // among those that terminate
}

func (n *node) receipt() bool { return n.Class == spec.Acknowledge }

// endsAt reports whether an exchange is over, or may rest for good, when the
// message has been sent and time has run out.
func (m *machine) endsAt(n *node) bool {
	return n.open || n.clash || len(n.answers) == 0 || n.mayRest || n.terminal ||
		m.Dialogue.Timeout > 0 || n.within > 0 && n.orElse < 0
}

// A config is a point of an exchange: the latest message, and who sent it.
type config struct {
	message int
	by      side
}

func (c config) index() int { return 2*c.message + int(c.by) }

// A machine is the dialogue of a protocol.
type machine struct {
	*spec.Protocol
	nodes  []node
	byName map[string]int
	roles  []string // two, or none if the sides are alike

	openers map[int]sides // the messages that open an exchange, and who sends them
	first   []int         // the keys of openers in the order of the source
	lost    bool          // a name is missing where an exchange opens

	reached []config // in the order of their distance from the start
	before  []config // by index: the config from which it was first reached
	seen    []bool

	outcomes map[string][]*spec.Outcome // by last message
	horizons []int                      // by index, see machine.horizon
	sameText map[string]int
	mayCross []bits // pairs of messages, from side 0 and from side 1, that may cross

	found []Finding
}

func build(p *spec.Protocol) *machine {
	m := &machine{Protocol: p, byName: make(map[string]int), openers: make(map[int]sides)}
	if len(p.Roles) == 2 {
		m.roles = []string{p.Roles[0].Name, p.Roles[1].Name}
	}
	for i := range p.Messages {
		msg := &p.Messages[i]
		if _, twice := m.byName[msg.Name]; twice {
			continue
		}
		m.byName[msg.Name] = len(m.nodes)
		m.nodes = append(m.nodes, node{Message: msg, from: m.declared(msg), replies: make(bits, len(p.Messages)/64+1), orElse: -1, open: true})
	}
	for i := range p.Rules {
		m.addRule(&p.Rules[i])
	}
	for i := range m.nodes {
		n := &m.nodes[i]
		n.next = n.answers
		if n.orElse >= 0 && !n.replies.has(n.orElse) {
			n.next = append(slices.Clip(n.answers), n.orElse)
		}
	}
	for _, name := range p.Dialogue.Terminates {
		if n := m.node(name); n != nil {
			n.terminal = true
		}
	}
	for _, i := range p.Dialogue.Initiates {
		m.addInitiation(i)
	}
	m.outcomes, m.horizons, m.sameText = make(map[string][]*spec.Outcome), make([]int, 2*len(m.nodes)), make(map[string]int)
	for i := range p.Dialogue.Outcomes {
		o := &p.Dialogue.Outcomes[i]
		for _, name := range o.Messages {
			m.outcomes[name] = append(m.outcomes[name], o)
		}
	}
	m.mayCross = make([]bits, len(m.nodes))
	m.seen, m.before = make([]bool, 2*len(m.nodes)), make([]config, 2*len(m.nodes))
	return m
}

func (m *machine) node(name string) *node {
	if i, ok := m.byName[name]; ok {
		return &m.nodes[i]
	}
	return nil
}

func (m *machine) addRule(r *spec.Rule) {
	n := m.node(r.Message)
	if n == nil {
		return
	}
	if !n.ruled {
		n.ruled, n.open = true, false
	}
	for _, name := range r.Replies {
		i, known := m.byName[name]
		switch {
		case !known:
			n.open = true
		case m.nodes[i].receipt():
			n.receipts = append(n.receipts, i)
		case !n.replies.has(i):
			n.replies.add(i)
			n.answers = append(n.answers, i)
		}
	}
	n.by |= m.set(r.By)
	n.mayRest = n.mayRest || r.MayRest
	if r.Within <= 0 {
		return
	}
	n.within = r.Within
	if r.Else == "" || r.Else == stateTimeout || slices.Contains(m.Dialogue.EndStates, r.Else) {
		n.elseState = r.Else
		return
	}
	i, known := m.byName[r.Else]
	switch {
	case !known:
		n.badElse = r.Else
	case !m.nodes[i].receipt() && len(n.answers) > 0:
		n.orElse = i
	}
}

func (m *machine) addInitiation(i spec.Initiation) {
	by := m.set(i.By)
	if by == 0 {
		by = both
	}
	for _, name := range i.Messages {
		k, known := m.byName[name]
		if !known {
			m.lost = true
			continue
		}
		if m.nodes[k].receipt() {
			continue // it opens nothing
		}
		if _, again := m.openers[k]; !again {
			m.first = append(m.first, k)
		}
		m.openers[k] |= by
	}
}

// set returns the sides with the given roles. Where both sides are alike, a role
// says that either may speak. A role that does not exist may be any.
func (m *machine) set(roles []string) sides {
	var s sides
	for _, role := range roles {
		if i := slices.Index(m.roles, role); i >= 0 {
			s |= only(side(i))
		} else {
			s = both
		}
	}
	return s
}

// declared returns who may send a message by its declaration. Of two parties, the
// one that handles it does not send it.
func (m *machine) declared(msg *spec.Message) sides {
	switch {
	case m.roles == nil:
		return both
	case len(msg.From) > 0:
		return m.set(msg.From)
	case len(msg.To) == 1 && slices.Contains(m.roles, msg.To[0]):
		return both &^ m.set(msg.To)
	}
	return both
}

// answerers returns who may send a reply in a config, as the judge of a running
// dialogue has it: who the rule says, else who the message is from, else the
// other side. Nobody, if these contradict.
func (m *machine) answerers(c config, reply int) sides {
	n, r := &m.nodes[c.message], &m.nodes[reply]
	switch {
	case n.by != 0:
		return n.by & r.from
	case r.from == both || r.from == 0:
		return only(c.by.other())
	case r.from.sole(c.by) && m.awaitsOther(n, r):
		return 0
	}
	return r.from
}

// awaitsOther reports whether only the other side can mean the reply: a question
// is not answered by whoever asked it.
func (m *machine) awaitsOther(n, reply *node) bool {
	return n.Class == spec.Request || n.Class == spec.Query || reply.Class == spec.Response
}

// elseSender returns the side that sends the message which comes when time is up:
// the side whose role the message has, else the one that has not answered if it
// is an answer, else the one that has waited in vain.
func (m *machine) elseSender(c config) side {
	n := &m.nodes[c.message]
	can := m.nodes[n.orElse].from
	isAnswer := n.replies.has(n.orElse)
	if isAnswer && n.by != 0 {
		can &= n.by
	}
	if mine, theirs := can.has(c.by), can.has(c.by.other()); mine != theirs {
		if mine {
			return c.by
		}
		return c.by.other()
	}
	if isAnswer {
		return c.by.other()
	}
	return c.by
}

// successors calls visit for each config that may come next.
func (m *machine) successors(c config, visit func(config)) {
	n := &m.nodes[c.message]
	for _, reply := range n.answers {
		who := m.answerers(c, reply)
		for s := range side(2) {
			if who.has(s) {
				visit(config{reply, s})
			}
		}
	}
	if n.orElse >= 0 {
		if s := m.elseSender(c); m.nodes[n.orElse].from.has(s) {
			visit(config{n.orElse, s})
		}
	}
}

// starts calls visit for each config that opens an exchange.
func (m *machine) starts(visit func(config)) {
	for _, i := range m.first {
		who := m.openers[i] & m.nodes[i].from
		for s := range side(2) {
			if who.has(s) {
				visit(config{i, s})
			}
		}
	}
}

// solve decides who opens an exchange with a message of which the protocol does
// not say it, where only one of the two sides can.
func (m *machine) solve() {
	if m.roles == nil {
		for i := range m.openers { // they are alike: the opener is side 0
			m.openers[i] = only(0)
		}
		return
	}
	for i, who := range m.openers {
		if who&m.nodes[i].from != both {
			continue
		}
		if a, b := m.contradicts(config{i, 0}), m.contradicts(config{i, 1}); a != b {
			if a {
				m.openers[i] = only(1)
			} else {
				m.openers[i] = only(0)
			}
		}
	}
}

// contradicts reports whether somewhere after a config nobody can send a reply.
func (m *machine) contradicts(from config) bool {
	seen := make([]bool, 2*len(m.nodes))
	seen[from.index()] = true
	for todo := []config{from}; len(todo) > 0; {
		c := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		n := &m.nodes[c.message]
		for _, reply := range n.answers {
			if m.answerers(c, reply) == 0 {
				return true
			}
		}
		for _, r := range n.receipts {
			if !m.mayConfirm(c, r) {
				return true
			}
		}
		m.successors(c, func(next config) {
			if !seen[next.index()] {
				seen[next.index()] = true
				todo = append(todo, next)
			}
		})
	}
	return false
}

// mayConfirm reports whether a receipt can come from the receiver of what it
// confirms.
func (m *machine) mayConfirm(c config, receipt int) bool {
	n := &m.nodes[c.message]
	can := m.nodes[receipt].from
	if n.by != 0 && len(n.answers) == 0 {
		can &= n.by
	}
	return can.has(c.by.other())
}

// walk finds what can be reached, nearest first.
func (m *machine) walk() {
	visit := func(from config) func(config) {
		return func(c config) {
			if !m.seen[c.index()] {
				m.seen[c.index()], m.before[c.index()] = true, from
				m.reached = append(m.reached, c)
			}
		}
	}
	m.starts(visit(config{-1, 0}))
	for i := 0; i < len(m.reached); i++ {
		c := m.reached[i]
		m.successors(c, visit(c))
		for _, reply := range m.nodes[c.message].answers {
			if m.answerers(c, reply) == 0 {
				m.nodes[c.message].clash = true
			}
		}
	}
}

// trace returns the shortest way to a config.
func (m *machine) trace(c config) []Move {
	var moves []Move
	for ; c.message >= 0; c = m.before[c.index()] {
		moves = append(moves, m.move(c))
	}
	slices.Reverse(moves)
	return moves
}

func (m *machine) move(c config) Move {
	if m.roles == nil {
		return Move{Message: m.nodes[c.message].Name, Opener: c.by == 0}
	}
	return Move{Message: m.nodes[c.message].Name, Role: m.roles[c.by]}
}

// senders collects who sends what.
func (m *machine) senders() map[string][]string {
	if m.roles == nil {
		return nil
	}
	who := make([]sides, len(m.nodes))
	var anyone sides // who receives something, and can confirm it
	for _, c := range m.reached {
		who[c.message] |= only(c.by)
		anyone |= only(c.by.other())
		for _, r := range m.nodes[c.message].receipts {
			who[r] |= only(c.by.other()) & m.nodes[r].from
		}
	}
	all := make(map[string][]string)
	for i := range m.nodes {
		if m.nodes[i].receipt() && who[i] == 0 {
			who[i] = anyone & m.nodes[i].from
		}
		for s := range side(2) {
			if who[i].has(s) {
				all[m.nodes[i].Name] = append(all[m.nodes[i].Name], m.roles[s])
			}
		}
	}
	return all
}
