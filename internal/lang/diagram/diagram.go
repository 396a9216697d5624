// Package diagram draws protocols: which message may follow which, as a graph,
// and how exchanges go, as sequences of messages between the roles.
//
//	states := diagram.States(protocol)
//	page.Write(states.SVG(diagram.Options{}))     // laid out here
//	readme.WriteString(states.Mermaid())          // laid out by whoever shows it
//
//	ways := diagram.Ways(protocol)
//	page.Write(ways.SVG(diagram.Options{}))
//
// A graph is laid out in layers, from the start downwards: a message stands below
// those that it answers as far as there is no way back. An edge that passes a
// layer, and a label, have places of their own in it, so nothing is drawn over
// anything else but lines that cross. Colours tell roles apart, and so do marks
// at the sides of the boxes and words, for those who see no colours. A drawing
// has a title and a description in words, needs no script and no font of its own,
// and follows the reader's choice of light or dark.
//
// The package is pure, and the same protocol gives the same bytes.
package diagram

import (
	"slices"
	"strings"
	"time"

	"github.com/parley-agents/parley/spec"
)

// Options say how a drawing is embedded.
type Options struct {
	// Link returns where the box of a message leads to, such as "#message-cfp".
	// Nil makes no links.
	Link func(message string) string

	// Unstyled leaves out the style sheet, for pages that hold several drawings
	// and have [Style] once.
	Unstyled bool
}

// A Kind says what a node stands for.
type Kind uint8

// The kinds of nodes.
const (
	Start   Kind = iota
	Message      // an exchange whose latest message is this one
	End          // a named end state; without a name, an end that has none
)

// A Node is a state that an exchange can be in.
type Node struct {
	Kind    Kind
	Name    string   // of the message or end state
	Senders []string // of a message: the roles that may send it
	Class   string   // of a message, if it has one
	Receipt bool     // of a message: it confirms and changes nothing
}

// A Reason says what makes an exchange go along an edge.
type Reason uint8

// The reasons.
const (
	Sent    Reason = iota // the message at the end of the edge is sent
	Over                  // nothing follows
	TimeUp                // nothing came in time
	Confirm               // a receipt is sent
)

// An Edge leads from one node to another, by their indexes.
type Edge struct {
	From, To int
	Reason   Reason
	Label    string
	Before   []string // of Over: the messages before the last one, if only they lead here
}

// A Graph is what may follow what in a protocol.
type Graph struct {
	Title string
	Roles []string
	Nodes []Node
	Edges []Edge
	Notes []string // what holds everywhere, in sentences
}

// timedOut is the end state of an exchange whose time is up, where the protocol
// names no other.
const timedOut = "timeout"

// States returns the graph of a protocol: its messages, what may follow them, and
// how an exchange ends. A protocol without a dialogue has its flow or, without
// that, its replies.
func States(p *spec.Protocol) *Graph {
	b := &builder{p: p, g: &Graph{Title: p.Name}, messages: make(map[string]int), ends: make(map[string]int)}
	for _, r := range p.Roles {
		b.g.Roles = append(b.g.Roles, r.Name)
	}
	b.g.Nodes = append(b.g.Nodes, Node{Kind: Start})
	for i := range p.Messages {
		m := &p.Messages[i]
		if _, twice := b.messages[m.Name]; twice {
			continue
		}
		b.messages[m.Name] = len(b.g.Nodes)
		n := Node{Kind: Message, Name: m.Name, Senders: senders(p, m), Receipt: m.Class == spec.Acknowledge}
		if m.Class != spec.Unclassified {
			n.Class = m.Class.String()
		}
		b.g.Nodes = append(b.g.Nodes, n)
	}
	if p.Flow != nil && p.Dialogue == nil {
		b.flow(p.Flow)
		return b.g
	}
	b.openers()
	for i := range p.Rules {
		b.rule(&p.Rules[i])
	}
	b.notes()
	return b.g
}

type builder struct {
	p        *spec.Protocol
	g        *Graph
	messages map[string]int
	ends     map[string]int
}

// senders returns the roles that send a message: those that it names, or those
// that do in the flow, or the one that does not handle it, or all.
func senders(p *spec.Protocol, m *spec.Message) []string {
	from := m.From
	if len(from) == 0 && p.Flow != nil {
		from = flowSenders(p.Flow.Steps, m.Name)
	}
	var all []string
	for _, r := range p.Roles {
		switch {
		case len(from) > 0 && slices.Contains(from, r.Name),
			len(from) == 0 && (len(m.To) != 1 || len(p.Roles) != 2 || m.To[0] != r.Name):
			all = append(all, r.Name)
		}
	}
	return all
}

func (b *builder) edge(from, to int, reason Reason, label string, before ...string) {
	for _, e := range b.g.Edges {
		if e.From == from && e.To == to && e.Reason == reason && e.Label == label {
			return
		}
	}
	b.g.Edges = append(b.g.Edges, Edge{from, to, reason, label, before})
}

func (b *builder) end(state string) int {
	i, ok := b.ends[state]
	if !ok {
		i = len(b.g.Nodes)
		b.ends[state] = i
		b.g.Nodes = append(b.g.Nodes, Node{Kind: End, Name: state})
	}
	return i
}

// openers leads from the start to what opens an exchange. Without a dialogue that
// is what is handled and answers nothing else.
func (b *builder) openers() {
	for _, name := range openers(b.p) {
		if i, ok := b.messages[name]; ok {
			b.edge(0, i, Sent, "")
		}
	}
}

func openers(p *spec.Protocol) []string {
	var all []string
	if p.Dialogue != nil {
		for _, i := range p.Dialogue.Initiates {
			all = append(all, i.Messages...)
		}
		return all
	}
	answers := make(map[string]bool)
	for _, r := range p.Rules {
		for _, reply := range r.Replies {
			answers[reply] = answers[reply] || reply != r.Message
		}
	}
	for _, r := range p.Rules {
		if !answers[r.Message] {
			all = append(all, r.Message)
		}
	}
	return all
}

func (b *builder) rule(r *spec.Rule) {
	from, ok := b.messages[r.Message]
	if !ok {
		return
	}
	answers := 0
	for _, reply := range r.Replies {
		to, ok := b.messages[reply]
		switch {
		case !ok:
		case b.g.Nodes[to].Receipt:
			b.edge(from, to, Confirm, "receipt")
		default:
			b.edge(from, to, Sent, "")
			answers++
		}
	}
	if b.p.Dialogue == nil || b.g.Nodes[from].Receipt {
		return
	}
	switch {
	case answers == 0:
		b.over(r.Message, from, "")
	case r.MayRest || slices.Contains(b.p.Dialogue.Terminates, r.Message):
		b.over(r.Message, from, "may rest")
	}
	b.late(r, from, answers)
}

// late leads to what happens when the time of a rule is up.
func (b *builder) late(r *spec.Rule, from, answers int) {
	if r.Within == 0 {
		return
	}
	label := "after " + Duration(r.Within)
	if answers == 0 {
		label = "no receipt in " + Duration(r.Within)
	}
	to, isMessage := b.messages[r.Else]
	if slices.Contains(b.p.Dialogue.EndStates, r.Else) || !isMessage {
		to = b.end(timeoutState(b.p, r))
	}
	b.edge(from, to, TimeUp, label)
}

// timeoutState returns the end state that a rule's time leads to.
func timeoutState(p *spec.Protocol, r *spec.Rule) string {
	if slices.Contains(p.Dialogue.EndStates, r.Else) {
		return r.Else
	}
	for _, o := range p.Dialogue.Outcomes {
		if o.OnTimeout && (len(o.Messages) == 0 || slices.Contains(o.Messages, r.Message)) {
			return o.State
		}
	}
	return timedOut
}

// over leads from a last message to the end states that the outcomes name.
func (b *builder) over(message string, from int, label string) {
	general, named := "", make(map[string]bool)
	var special []spec.Outcome
	for _, o := range b.p.Dialogue.Outcomes {
		switch {
		case o.OnTimeout || !slices.Contains(o.Messages, message):
		case len(o.After) > 0:
			special = append(special, o)
			for _, before := range o.After {
				named[before] = true
			}
		case general == "":
			general = o.State
		}
	}
	with := func(words string) string {
		if label != "" && words != "" {
			return label + ", " + words
		}
		return label + words
	}
	for _, o := range special {
		b.edge(from, b.end(o.State), Over, with("after "+strings.Join(o.After, ", ")), o.After...)
	}
	if len(special) > 0 && b.allNamed(message, named) {
		return
	}
	words := ""
	if len(special) > 0 {
		words = "else"
	}
	b.edge(from, b.end(general), Over, with(words))
}

// allNamed reports whether only the named messages come before the given one.
func (b *builder) allNamed(message string, named map[string]bool) bool {
	if slices.Contains(openers(b.p), message) {
		return false
	}
	for _, r := range b.p.Rules {
		if slices.Contains(r.Replies, message) && !named[r.Message] {
			return false
		}
	}
	return true
}

func (b *builder) notes() {
	d := b.p.Dialogue
	if d == nil {
		return
	}
	if d.Timeout > 0 {
		b.g.Notes = append(b.g.Notes, "The whole exchange takes at most "+Duration(d.Timeout)+".")
	}
	var receipts []string
	for i := range b.p.Messages {
		if b.p.Messages[i].Class == spec.Acknowledge {
			receipts = append(receipts, b.p.Messages[i].Name)
		}
	}
	if len(receipts) > 0 {
		b.g.Notes = append(b.g.Notes, strings.Join(receipts, ", ")+" may confirm any message and changes nothing.")
	}
}

// Duration writes a duration as a source does: 30s, 5m, 7d.
func Duration(d time.Duration) string {
	for _, u := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if d >= u.size && d%u.size == 0 {
			return itoa(int(d/u.size)) + u.name
		}
	}
	return itoa(int(d/time.Millisecond)) + "ms"
}
