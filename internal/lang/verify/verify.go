// Package verify judges the dialogue of a protocol between one or two roles
// before anything runs: whether every message can be sent, an end can always be
// reached, answers fit what they answer, and each side knows who speaks.
//
// It builds the machine that the rules describe and asks of it what the judge of
// a running dialogue (package dialogue) will ask, message by message. What it
// accepts without a finding never gets stuck there, and neither side meets a
// message that it does not handle:
//
//	result := verify.Protocol(p, verify.Options{})
//	for _, f := range result.Findings {
//		fmt.Println(f.Code, f.Message)
//	}
//
// A finding names one cause; what only follows from it is not reported. So that
// this holds for mistakes that somebody else has reported already, a protocol may
// name messages that it does not have: whatever they would lead to is taken as
// right.
//
// The package is pure, and its cost is at most quadratic in the messages and
// replies of a protocol.
package verify

import "github.com/parley-agents/parley/spec"

// Options turn on what is not checked unless somebody asks.
type Options struct {
	// Bounds asks for time limits: PAR2140 for requests that can wait forever,
	// PAR2142 for loops that can.
	Bounds bool
}

// A Result is what is known of a dialogue.
type Result struct {
	Findings []Finding

	// Senders are the roles that send each message, in the order of the roles,
	// as solved from what the protocol says and from the rule that answers
	// alternate. Messages that nobody can send are missing. It is nil if the
	// protocol does not have two roles.
	Senders map[string][]string
}

// A Finding is one mistake, or something that deserves a second look.
type Finding struct {
	Code    string // see package diag
	At      Place
	Message string
	Hint    string

	// Trace is the shortest way to where it shows. Empty if the mistake is not
	// on a way, such as a missing rule.
	Trace []Move
}

// A Move is one message of a trace, and who sends it. Where both sides are alike,
// Role is "" and Opener says whether it is the side that opened the exchange.
type Move struct {
	Role    string
	Message string
	Opener  bool
}

// A Place names the part of a protocol that a finding is about.
type Place struct {
	Element Element
	Message string // the message or, of the parts of a rule, the message that has the rule
	Reply   string // of Reply
	Index   int    // of Outcome: which one
}

// An Element is a kind of place.
type Element uint8

// The kinds of places.
const (
	Dialogue   Element = iota + 1
	Initiates          // the message in an initiation
	Message            // its declaration
	Rule               // the rule of the message
	Reply              // a reply in that rule
	Within             // its time limit
	Else               // what its time limit leads to
	Terminates         // the message among those that terminate
	Outcome
)

// Covers reports whether the package can judge the dialogue of a protocol: there
// is one, and no more than two roles have a part in it.
func Covers(p *spec.Protocol) bool { return p.Dialogue != nil && len(p.Roles) <= 2 }

// Protocol judges the dialogue of a protocol. The result is empty if the package
// does not cover it.
func Protocol(p *spec.Protocol, options Options) Result {
	if !Covers(p) {
		return Result{}
	}
	m := build(p)
	m.parties()
	m.solve()
	m.walk()
	m.ruled()
	m.terminals()
	m.ends()
	m.classes()
	m.reachable()
	m.ending()
	m.wrongSenders()
	m.races()
	m.times(options)
	return Result{Findings: m.found, Senders: m.senders()}
}
