// Package dialogue judges whether a message is in turn.
//
// A [State] is what one side remembers of a dialogue. Every message of the
// dialogue, sent or received, is a [Move] that the protocol allows or refuses:
//
//	verdict, err := state.Apply(dialogue.Move{
//		Protocol: protocol, Message: "propose", Role: "seller",
//		ID: "7", ReplyTo: "6", At: received,
//	})
//
// What names a dialogue is the business of a dialect: a session with one peer, a
// pair of references, a conversation. This package never sees it.
//
// # Exchanges
//
// An exchange is an initiating message and what may follow it by the rules. A
// dialogue holds any number of them side by side, in both directions. A message
// that its sender may initiate opens a new one, unless it names a message of an
// open one as the message that it answers. Any other message must be an answer:
// in the exchange of the message that it names or, on a wire where messages name
// nothing, in the oldest exchange in which it is a legal next move.
// [State.OneExchange] is for dialects whose dialogues are one exchange each.
//
// A protocol with a [spec.Dialogue] is enforced by its rules, both ways. One
// without is known only by its reply sets: what is handled may come in, and what
// is sent as a reply must be in the reply set of what it answers.
//
// # Receipts and errors
//
// A message of class acknowledge is a receipt. It may follow any message, opens,
// advances and closes nothing, and is never refused. A missing one is reported by
// [State.Expire] and refuses nothing.
//
// A message of class error is an allowed answer to every message of an open
// exchange. Where the rules do not name it, it closes the exchange.
//
// # Time
//
// Moves carry their time, and [State.Expire] is told the time: what happens when
// a rule's time is up is an end state that is reached, or a message that one side
// sends. The time of an exchange as a whole is that of the protocol. A message
// that comes after its time is out of turn.
//
// # Guarantees
//
// The package is pure: no I/O, no clock, no goroutine. A refused message leaves
// the state as it was. By a protocol with a dialogue, two sides that see the same
// messages in the same order agree on what is allowed, on what ends an exchange
// and on its outcome. The state is bounded, whatever the peer sends, and so is the
// cost of a move: finished exchanges are forgotten.
package dialogue

import (
	"slices"
	"time"

	"github.com/parley-agents/parley/spec"
)

const (
	defaultLimit = 1000 // exchanges and awaited receipts, per side
	maxIDLength  = 256  // of a message, in bytes
	maxRecent    = 8    // messages of an exchange that an answer can name
	maxAnswered  = 16   // answered messages of protocols without rules, see exchange.Answered
	maxUnawaited = 64   // messages whose receipt would be recognised though nobody waits for it, per side
)

// A State is what one side remembers of a dialogue: its open exchanges and what
// is needed to judge the next message. The zero State is a new dialogue.
//
// A State must not be copied after its first use, except by [State.Clone], and is
// not safe for concurrent use. An agent that talks to itself is two sides and
// needs two States.
type State struct {
	// Limit is how many exchanges each side may have open at a time; 0 means
	// 1000. A peer that uses up its share takes nothing from this side's. When
	// a share is used up, a new exchange takes the place of the oldest that may
	// rest or has timed out; if there is none, it is refused as TooLarge.
	//
	// Limit is not part of the encoding.
	Limit int

	// OneExchange says that the dialogue is one exchange: the first message
	// opens it, every other one belongs to it, and when it has ended nothing
	// may follow. It has no effect on protocols without a [spec.Dialogue].
	OneExchange bool

	open    []exchange // oldest first
	pending []note     // messages that have no receipt yet, oldest first
	ended   *ending    // how the only exchange of the dialogue ended
}

// A Move is a message of a dialogue, as far as the rules look at it.
type Move struct {
	Protocol *spec.Protocol
	Message  string // name of the message in the protocol
	Role     string // the role of its sender; "" if it is not known
	Own      bool   // this side sends it

	// ID is the identity of the message: the one by which others name it, if
	// the dialect has such names, else any that is unique in the dialogue.
	ID string

	// ReplyTo is the ID of the message that this one answers or confirms. Empty
	// if the dialect does not say.
	ReplyTo string

	// At is when this side sent or received the message.
	At time.Time

	// AlwaysAllowed marks the error message of a dialect, such as the
	// ErrorMessage of uAgents. It closes the exchange that it answers or, if it
	// names nothing, the oldest in which it is its sender's turn. It is also
	// taken when there is none, and needs no Protocol.
	AlwaysAllowed bool
}

// A Verdict says what a message that is in turn means.
type Verdict struct {
	// Exchange is the ID of the message that opened the exchange to which the
	// message belongs or, for a receipt, the confirmed message. Empty if that
	// is not known.
	Exchange string

	Opens   bool   // it opens the exchange
	Ends    bool   // it ends the exchange; without a dialogue: nothing answers it
	Outcome string // the end state, if it ends with one
	Receipt bool   // it is a receipt
	Matched bool   // what it answers or confirms is known here

	// Answers is the ID of the message that it answers or confirms, if Matched:
	// what the move names, or what was found for it.
	Answers string

	// Deadline is when the answer to it, or the receipt for it, is due. Zero if
	// never.
	Deadline time.Time

	// Forgotten is the exchange that was given up for this one, if the limit
	// was reached.
	Forgotten string
}

// An Exchange is an open exchange, as it is shown to people. In a protocol without
// a dialogue it is a message that has not been answered.
type Exchange struct {
	ID       string // of the message that opened it
	Protocol string // see [ProtocolID]
	Own      bool   // this side opened it
	Last     string // name of its latest message
	LastOwn  bool   // this side sent that
	MayRest  bool   // it may stay as it is for good
	Deadline time.Time
}

// Apply judges a message and advances the state by it.
//
// A message that is not in turn is refused with OutOfTurn; the text says what
// was refused, in which state, and what would have been allowed from whom. Other
// codes: NotFound for a message or role that the protocol does not have, Conflict
// for an ID that another message of an open exchange has, TooLarge for a limit,
// Malformed for a move that lacks something. On error the state is unchanged.
func (s *State) Apply(m Move) (Verdict, error) {
	next, err := s.judge(m)
	if err != nil {
		return Verdict{}, err
	}
	s.take(next)
	return next.Verdict, nil
}

// Judge says what Apply would say, and changes nothing.
func (s *State) Judge(m Move) (Verdict, error) {
	next, err := s.judge(m)
	if err != nil {
		return Verdict{}, err
	}
	return next.Verdict, nil
}

// Open returns the open exchanges, oldest first.
func (s *State) Open() []Exchange {
	var all []Exchange
	for i := range s.open {
		if e := &s.open[i]; !e.Answered {
			all = append(all, Exchange{
				ID: e.root(), Protocol: e.Protocol, Own: e.Own, Last: e.Last, LastOwn: e.LastOwn, MayRest: e.Rest,
				Deadline: e.deadline().time(),
			})
		}
	}
	return all
}

// Empty reports whether the state remembers nothing, so that a store need not
// keep it.
func (s *State) Empty() bool { return len(s.open) == 0 && len(s.pending) == 0 && s.ended == nil }

// Clone returns a copy that shares nothing with the state.
func (s *State) Clone() *State {
	c := *s
	c.open, c.pending = slices.Clone(s.open), slices.Clone(s.pending)
	return &c
}

func (s *State) limit() int {
	if s.Limit > 0 {
		return s.Limit
	}
	return defaultLimit
}

// ProtocolID returns the identity by which a State remembers a protocol:
// package, name and version. A new version is another protocol: it does not
// answer in exchanges of the old one.
func ProtocolID(p *spec.Protocol) string {
	id := p.Name + ":" + p.Version
	if p.Package != "" {
		id = p.Package + "/" + id
	}
	return id
}
