package dialogue_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley/dialogue"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/spec"
)

// chat is the chat protocol of uAgents: every message is confirmed by a receipt,
// and an answer is a message of its own.
var chat = &spec.Protocol{
	Package: "fetchai.chat", Name: "AgentChatProtocol", Version: "0.3.0",
	Roles: []spec.Role{{Name: "agent", Min: 2, Max: 2}},
	Messages: []spec.Message{
		{Name: "ChatMessage", Class: spec.Inform},
		{Name: "ChatAcknowledgement", Class: spec.Acknowledge},
	},
	Rules: []spec.Rule{
		{Message: "ChatMessage", Replies: []string{"ChatAcknowledgement"}, Within: 30 * time.Second},
		{Message: "ChatAcknowledgement"},
	},
	Dialogue: &spec.Dialogue{
		Initiates:  []spec.Initiation{{Messages: []string{"ChatMessage"}, By: []string{"agent"}}},
		Terminates: []string{"ChatAcknowledgement"},
		EndStates:  []string{"acknowledged", "lost"},
		Outcomes:   []spec.Outcome{{State: "lost", OnTimeout: true, Messages: []string{"ChatMessage"}}},
	},
}

// fipa is the negotiation protocol of AEA. As in files of that framework, its
// messages have no classes.
var fipa = &spec.Protocol{
	Package: "fetchai.fipa", Name: "Fipa", Version: "1.0.0",
	Roles: []spec.Role{{Name: "seller"}, {Name: "buyer"}},
	Messages: named("cfp", "propose", "accept", "accept_w_inform", "decline", "match_accept",
		"match_accept_w_inform", "inform", "end"),
	Rules: []spec.Rule{
		{Message: "cfp", Replies: []string{"propose", "decline"}},
		{Message: "propose", Replies: []string{"accept", "accept_w_inform", "decline", "propose"}},
		{Message: "accept", Replies: []string{"decline", "match_accept", "match_accept_w_inform"}},
		{Message: "accept_w_inform", Replies: []string{"decline", "match_accept", "match_accept_w_inform"}},
		{Message: "decline"},
		{Message: "match_accept", Replies: []string{"inform", "end"}},
		{Message: "match_accept_w_inform", Replies: []string{"inform", "end"}},
		{Message: "inform", Replies: []string{"inform", "end"}},
		{Message: "end"},
	},
	Dialogue: &spec.Dialogue{
		Initiates:    []spec.Initiation{{Messages: []string{"cfp"}}},
		Terminates:   []string{"decline", "end"},
		EndStates:    []string{"successful", "declined_cfp", "declined_propose", "declined_accept"},
		KeepTerminal: true,
		Outcomes: []spec.Outcome{
			{State: "declined_cfp", Messages: []string{"decline"}, After: []string{"cfp"}},
			{State: "declined_propose", Messages: []string{"decline"}, After: []string{"propose"}},
			{State: "declined_accept", Messages: []string{"decline"}, After: []string{"accept", "accept_w_inform"}},
			{State: "successful", Messages: []string{"end"}},
		},
	},
}

// llm is a request with one answer, in limited time.
var llm = &spec.Protocol{
	Package: "fetchai.llm", Name: "LLMContextResponse", Version: "0.1.0",
	Roles: []spec.Role{{Name: "client"}, {Name: "llm"}},
	Messages: []spec.Message{
		{Name: "ContextPrompt", Class: spec.Request},
		{Name: "Response", Class: spec.Response},
		{Name: "ErrorMessage", Class: spec.ErrorReport},
	},
	Rules: []spec.Rule{
		{Message: "ContextPrompt", Replies: []string{"Response", "ErrorMessage"}, Within: 120 * time.Second, Else: "expired"},
		{Message: "Response"},
		{Message: "ErrorMessage"},
	},
	Dialogue: &spec.Dialogue{
		Initiates:  []spec.Initiation{{Messages: []string{"ContextPrompt"}, By: []string{"client"}}},
		Terminates: []string{"Response", "ErrorMessage"},
		EndStates:  []string{"answered", "failed", "expired"},
		Outcomes: []spec.Outcome{
			{State: "answered", Messages: []string{"Response"}},
			{State: "failed", Messages: []string{"ErrorMessage"}},
		},
	},
}

// payment is the payment protocol of uAgents as its manifests tell it: who
// handles what and with which replies, and nothing about what comes when.
var payment = &spec.Protocol{
	Name: "AgentPaymentProtocol", Version: "0.1.0",
	Roles: []spec.Role{{Name: "seller"}, {Name: "buyer"}},
	Messages: []spec.Message{
		{Name: "RequestPayment", To: []string{"buyer"}},
		{Name: "CommitPayment", To: []string{"seller"}},
		{Name: "RejectPayment", To: []string{"seller"}},
		{Name: "CompletePayment", To: []string{"buyer"}},
		{Name: "CancelPayment", To: []string{"buyer"}},
	},
	Rules: []spec.Rule{
		{Message: "RequestPayment", Replies: []string{"CommitPayment", "RejectPayment"}},
		{Message: "CommitPayment", Replies: []string{"CompletePayment", "CancelPayment"}},
		{Message: "RejectPayment"},
		{Message: "CompletePayment"},
		{Message: "CancelPayment"},
	},
}

// strictPayment is the same with its order said.
var strictPayment = with(payment, func(p *spec.Protocol) {
	p.Dialogue = &spec.Dialogue{
		Initiates:  []spec.Initiation{{Messages: []string{"RequestPayment"}, By: []string{"seller"}}},
		Terminates: []string{"RejectPayment", "CompletePayment", "CancelPayment"},
		EndStates:  []string{"paid", "rejected", "cancelled"},
		Outcomes: []spec.Outcome{
			{State: "paid", Messages: []string{"CompletePayment"}},
			{State: "rejected", Messages: []string{"RejectPayment"}},
			{State: "cancelled", Messages: []string{"CancelPayment"}},
		},
	}
})

// messaging is ai-agent-protocol: its six types, whose messages name what they
// answer.
var messaging = &spec.Protocol{
	Name: "AgentMessaging", Version: "1.0",
	Roles: []spec.Role{{Name: "asker"}, {Name: "answerer"}},
	Messages: []spec.Message{
		{Name: "request", Class: spec.Request},
		{Name: "response", Class: spec.Response},
		{Name: "query", Class: spec.Query},
		{Name: "inform", Class: spec.Inform},
		{Name: "acknowledge", Class: spec.Acknowledge},
		{Name: "error", Class: spec.ErrorReport},
	},
	Rules: []spec.Rule{
		{Message: "request", Replies: []string{"response", "error"}},
		{Message: "query", Replies: []string{"inform", "response", "error"}},
		{Message: "response"}, {Message: "inform"}, {Message: "acknowledge"}, {Message: "error"},
	},
	Dialogue: &spec.Dialogue{
		Initiates:  []spec.Initiation{{Messages: []string{"request", "query", "inform", "error"}, By: []string{"asker"}}},
		Terminates: []string{"response", "inform", "acknowledge", "error"},
		EndStates:  []string{"answered", "informed", "failed"},
	},
}

var protocols = []*spec.Protocol{chat, fipa, llm, payment, strictPayment, messaging, greeting, work, offer}

func named(names ...string) []spec.Message {
	var all []spec.Message
	for _, name := range names {
		all = append(all, spec.Message{Name: name})
	}
	return all
}

func with(p *spec.Protocol, change func(*spec.Protocol)) *spec.Protocol {
	changed := *p
	change(&changed)
	return &changed
}

var start = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func after(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

// A line is one message of a script, and what both sides must say to it.
type line struct {
	from    string // the role; or "a" or "b" for sides without roles
	message string
	id      string
	replyTo string
	at      float64 // seconds since the start
	want    string  // see told
}

// A script is a dialogue of two sides, told line by line. Sides is who they are:
// the first is the one whose State is a, and so on.
type script struct {
	protocol *spec.Protocol
	sides    [2]string
	one      bool // one exchange
	lines    []line
}

// check plays a script to both sides. Each line must get the same verdict from
// both, and one that is refused must leave no trace.
func (s script) check(t *testing.T) {
	t.Helper()
	sides := [2]*dialogue.State{{OneExchange: s.one}, {OneExchange: s.one}}
	for i, l := range s.lines {
		for side, state := range sides {
			before := string(state.Encode())
			verdict, err := state.Apply(s.move(l, side))
			if got := told(verdict, err); got != l.want {
				t.Errorf("line %d, %s: %s at side %s\n got %s\nwant %s", i+1, l.from, l.message, s.sides[side], got, l.want)
			}
			if after := string(state.Encode()); err != nil && after != before {
				t.Errorf("line %d was refused and changed the state\nfrom %s\n  to %s", i+1, before, after)
			}
		}
	}
}

func (s script) move(l line, side int) dialogue.Move {
	m := dialogue.Move{
		Protocol: s.protocol, Message: l.message, Own: l.from == s.sides[side],
		ID: l.id, ReplyTo: l.replyTo, At: after(l.at),
	}
	if s.protocol.Role(l.from) != nil {
		m.Role = l.from
	}
	return m
}

// told returns a verdict in words: "opens 1", "answers 1 in 1", "ends 1 as done".
func told(v dialogue.Verdict, err error) string {
	if err != nil {
		if fault.CodeOf(err) == fault.OutOfTurn {
			return "refused"
		}
		return string(fault.CodeOf(err))
	}
	var words []string
	say := func(when bool, format string, args ...any) {
		if when {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	say(v.Receipt && v.Matched, "receipt for %s", v.Answers)
	say(v.Receipt && !v.Matched, "stray receipt")
	say(v.Opens, "opens %s", v.Exchange)
	say(!v.Receipt && v.Matched, "answers %s", v.Answers)
	say(v.Ends, "ends %s", v.Exchange)
	say(v.Outcome != "", "as %s", v.Outcome)
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ", ")
}
