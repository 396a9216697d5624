package spec

import (
	"slices"
	"time"

	"github.com/parley-agents/parley/fault"
)

// A Protocol says which messages there are and which may answer which.
type Protocol struct {
	Name    string
	Version string
	Package string // of the source it was written in, such as "acme.trade"

	// Roles are the parties. None means that nothing is known of roles: whoever
	// includes the protocol handles all its messages.
	Roles []Role

	Messages []Message

	// Rules say which messages may answer a message. A message without a rule
	// is only ever an answer; one with an empty rule ends its exchange.
	Rules []Rule

	// Dialogue narrows the rules to a state machine. Without one, only the
	// reply sets of the rules count.
	Dialogue *Dialogue

	Flow        *Flow
	Doc         string
	Annotations []Annotation

	// PackageAnnotations are those that the source gives to the package.
	PackageAnnotations []Annotation

	// Customs are the custom types that the source declares, in its order.
	Customs []*Custom
}

// A Role is a party of a protocol. Min and Max say how many agents play it; both
// zero means one.
type Role struct {
	Name     string
	Min, Max int // Max < 0 is unbounded
}

// A Message is a type that travels on its own.
type Message struct {
	Name  string
	Body  Type // a record or alias of the same name, for JSON dialects
	Class Class

	// From names the roles that may send it, nil every role. To names those
	// that handle it, nil every role that is not its only sender.
	From, To []string

	Doc         string
	Annotations []Annotation
}

// A Class gives a message the semantics of ai-agent-protocol's message types.
type Class uint8

// The classes. Unclassified messages have only their rules. A message of class
// Acknowledge is a receipt: it opens, advances and closes nothing.
const (
	Unclassified Class = iota
	Request
	Response
	Inform
	Query
	Acknowledge
	ErrorReport
)

var classNames = [...]string{"", "request", "response", "inform", "query", "acknowledge", "error"}

// String returns the word for the class, none for [Unclassified].
func (c Class) String() string { return nameIn(classNames[:], int(c)) }

// A Rule lists the messages that may answer a message.
type Rule struct {
	Message string
	Replies []string
	MayRest bool     // the exchange may also stay here for good
	By      []string // the roles that may answer, if it is not simply the other one
	Within  time.Duration
	Else    string // end state or message when Within has passed; empty is the end state "timeout"
}

// A Dialogue is the state machine over a protocol's messages.
type Dialogue struct {
	Initiates    []Initiation
	Terminates   []string
	EndStates    []string
	KeepTerminal bool
	Timeout      time.Duration
	Outcomes     []Outcome
}

// An Initiation names messages that open an exchange, and the roles that may
// send them first; nil is every role.
type Initiation struct {
	Messages []string
	By       []string
}

// An Outcome binds an end state to the message that ends an exchange, and
// optionally to the one before it. OnTimeout marks what happens when time is up.
type Outcome struct {
	State     string
	OnTimeout bool
	Messages  []string
	After     []string
}

// A Flow is a protocol told as a sequence between two or more roles.
type Flow struct{ Steps []Step }

// A Step is one move of a flow. Exactly one of its groups is set: a message
// from one role to others, a choice, a loop, parallel blocks, or an end.
type Step struct {
	From    string
	To      []string
	Message string
	Within  time.Duration

	ChoiceAt string   // with Blocks: the role that chooses one of them
	Loop     string   // with one block: the loop's label
	Continue string   // the label of the loop to go on with
	Parallel bool     // with Blocks: all of them, in any order
	Do       string   // another protocol, with Roles as its roles
	Roles    []string //
	End      string   // the end state reached
	Ends     bool

	Blocks [][]Step
}

// Message returns the message with the given name, or nil.
func (p *Protocol) Message(name string) *Message {
	for i := range p.Messages {
		if p.Messages[i].Name == name {
			return &p.Messages[i]
		}
	}
	return nil
}

// Rule returns the rule for a message, or nil.
func (p *Protocol) Rule(message string) *Rule {
	for i := range p.Rules {
		if p.Rules[i].Message == message {
			return &p.Rules[i]
		}
	}
	return nil
}

// Role returns the role with the given name, or nil.
func (p *Protocol) Role(name string) *Role {
	for i := range p.Roles {
		if p.Roles[i].Name == name {
			return &p.Roles[i]
		}
	}
	return nil
}

// HandledBy reports whether agents in the given role handle the message. The
// empty role stands for an agent that plays all of them.
func (p *Protocol) HandledBy(m *Message, role string) bool {
	switch {
	case role == "":
		return true
	case m.To != nil:
		return slices.Contains(m.To, role)
	case len(m.From) == 0:
		return true
	}
	if len(m.From) > 1 || m.From[0] != role {
		return true
	}
	r := p.Role(role)
	return r != nil && (r.Max > 1 || r.Max < 0)
}

// Check reports the mistakes that would make the protocol meaningless: names
// that are empty, used twice or not declared. It does not judge the dialogue.
func (p *Protocol) Check() error {
	roles := make(names)
	for i, r := range p.Roles {
		if err := roles.declare(r.Name); err != nil {
			return fault.In(indexed("roles", i), err)
		}
	}
	messages := make(names)
	for i, m := range p.Messages {
		if err := messages.declare(m.Name); err != nil {
			return fault.In(indexed("messages", i), err)
		}
		if err := roles.contain("role", slices.Concat(m.From, m.To)); err != nil {
			return fault.In("messages."+m.Name, err)
		}
	}
	ruled := make(names)
	for i, r := range p.Rules {
		if err := ruled.declare(r.Message); err != nil {
			return fault.In(indexed("rules", i), err)
		}
		err := messages.contain("message", append([]string{r.Message}, r.Replies...))
		if err == nil {
			err = roles.contain("role", r.By)
		}
		if err != nil {
			return fault.In("rules."+r.Message, err)
		}
	}
	return nil
}

// names are those that a protocol declares of one kind.
type names map[string]bool

func (n names) declare(name string) error {
	if name == "" {
		return fault.Errorf(fault.Malformed, "", "there is no name")
	}
	if n[name] {
		return fault.Errorf(fault.Malformed, "", "%q is there twice", name)
	}
	n[name] = true
	return nil
}

func (n names) contain(what string, used []string) error {
	for _, name := range used {
		if !n[name] {
			return fault.Errorf(fault.Malformed, "", "no %s %q is declared", what, name)
		}
	}
	return nil
}
