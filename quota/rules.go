package quota

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

// Rules say who may send what, and how often.
type Rules struct {
	// Default holds for messages that are not named. Without it they are free.
	Default Rule `json:"default"`

	// Messages holds the rules of messages by name, such as "ContextPrompt". What
	// a rule leaves out is as in Default.
	Messages map[string]Rule `json:"messages,omitempty"`
}

// A Rule is about one kind of message.
type Rule struct {
	Limit  *Limit  `json:"limit,omitempty"`  // nil is no limit
	Access *Access `json:"access,omitempty"` // nil is access for all
}

// A Limit is how often one sender may send one kind of message. The window opens
// with the first message and is closed to the second when the time is up; the
// next message opens a new one.
type Limit struct {
	MaxRequests   int `json:"max_requests"`
	WindowMinutes int `json:"window_size_minutes"`
}

// Access says who may send. By default all may, but those that are blocked.
type Access struct {
	Closed bool               `json:"closed,omitempty"` // none may, but those that are allowed
	Allow  []identity.Address `json:"allow,omitempty"`
	Block  []identity.Address `json:"block,omitempty"`
	Bypass []identity.Address `json:"bypass,omitempty"` // no limit for these
}

// The default limit of the uAgents examples is PerHour(6).
func PerHour(requests int) *Limit { return &Limit{MaxRequests: requests, WindowMinutes: 60} }

const maxRules = 1 << 20

// ParseRules reads rules from JSON. A word that it does not know is an error: a
// limit that is silently not enforced is worse than none.
func ParseRules(text []byte) (Rules, error) {
	var r Rules
	if len(text) > maxRules {
		return r, fault.Errorf(fault.TooLarge, "quota", "rules have at most %d bytes, not %d", maxRules, len(text))
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return Rules{}, fault.Errorf(fault.Malformed, "quota", "%w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return Rules{}, fault.Errorf(fault.Malformed, "quota", "there is something after the rules")
	}
	return r, r.check()
}

// check finds rules that would not do what they seem to say.
func (r *Rules) check() error {
	if err := r.Default.check(); err != nil {
		return fault.In("default", err)
	}
	for name, rule := range r.Messages {
		if name == "" {
			return fault.Errorf(fault.Malformed, "messages", "a rule needs the name of a message")
		}
		if err := rule.check(); err != nil {
			return fault.In("messages."+name, err)
		}
	}
	return nil
}

func (r *Rule) check() error {
	if l := r.Limit; l != nil {
		const longest = 60 * 24 * 366
		if l.MaxRequests < 1 {
			return fault.Errorf(fault.Malformed, "limit.max_requests", "expected at least 1, not %d: to let nobody in, close the access", l.MaxRequests)
		}
		if l.WindowMinutes < 1 || l.WindowMinutes > longest {
			return fault.Errorf(fault.Malformed, "limit.window_size_minutes", "expected 1 to %d, not %d", longest, l.WindowMinutes)
		}
	}
	a := r.Access
	if a == nil {
		return nil
	}
	if len(a.Allow) > 0 && !a.Closed {
		return fault.Errorf(fault.Malformed, "access.allow", "it has no effect where all may send: set closed")
	}
	if len(a.Block) > 0 && a.Closed {
		return fault.Errorf(fault.Malformed, "access.block", "it has no effect where only those in allow may send")
	}
	for _, address := range slices.Concat(a.Allow, a.Block, a.Bypass) {
		if _, err := identity.ParseAddress(string(address)); err != nil {
			return fault.In("access", err)
		}
	}
	return nil
}

// of returns the rule for a message, with what is left out as in Default.
func (r *Rules) of(message string) Rule {
	rule := r.Messages[message]
	if rule.Limit == nil {
		rule.Limit = r.Default.Limit
	}
	if rule.Access == nil {
		rule.Access = r.Default.Access
	}
	return rule
}

func (a *Access) denies(sender identity.Address) bool {
	switch {
	case a == nil:
		return false
	case a.Closed:
		return !slices.Contains(a.Allow, sender)
	}
	return slices.Contains(a.Block, sender)
}

func (a *Access) bypasses(sender identity.Address) bool {
	return a != nil && slices.Contains(a.Bypass, sender)
}
