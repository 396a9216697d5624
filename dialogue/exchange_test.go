package dialogue_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley/dialogue"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/spec"
)

func TestNegotiation(t *testing.T) {
	for _, tc := range []struct {
		name  string
		lines []line
	}{
		{"a bargain", []line{
			{"buyer", "cfp", "1", "", 0, "opens 1"},
			{"seller", "propose", "-1", "1", 0, "answers 1"},
			{"buyer", "propose", "2", "-1", 0, "answers -1"},
			{"seller", "propose", "-2", "2", 0, "answers 2"},
			{"buyer", "accept", "3", "-2", 0, "answers -2"},
			{"seller", "match_accept_w_inform", "-3", "3", 0, "answers 3"},
			{"buyer", "inform", "4", "-3", 0, "answers -3"},
			{"seller", "inform", "-4", "4", 0, "answers 4"},
			{"buyer", "end", "5", "-4", 0, "answers -4, ends 1, as successful"},
			{"seller", "inform", "-5", "5", 0, "refused"},
		}},
		{"closed is closed", []line{
			{"buyer", "cfp", "1", "", 0, "opens 1"},
			{"seller", "propose", "-1", "1", 0, "answers 1"},
			{"buyer", "decline", "2", "-1", 0, "answers -1, ends 1, as declined_propose"},
			{"seller", "propose", "-2", "1", 0, "refused"},
			{"seller", "propose", "-2", "", 0, "refused"},
			{"buyer", "cfp", "3", "", 0, "refused"}, // a new one needs a new dialogue
		}},
		{"the outcome depends on what was declined", []line{
			{"seller", "cfp", "1", "", 0, "opens 1"}, // either may ask
			{"buyer", "propose", "-1", "1", 0, "answers 1"},
			{"seller", "accept_w_inform", "2", "-1", 0, "answers -1"},
			{"buyer", "decline", "-2", "2", 0, "answers 2, ends 1, as declined_accept"},
		}},
		{"nobody speaks twice, or in the other's role", []line{
			{"buyer", "cfp", "1", "", 0, "opens 1"},
			{"buyer", "propose", "2", "1", 0, "refused"},
			{"seller", "propose", "-1", "1", 0, "answers 1"},
			{"seller", "accept", "-2", "-1", 0, "refused"},
			{"buyer", "accept", "2", "-1", 0, "answers -1"},
		}},
		{"a dialogue begins at its beginning", []line{
			{"buyer", "accept", "1", "", 0, "refused"},
			{"seller", "propose", "1", "", 0, "refused"},
			{"buyer", "cfp", "1", "", 0, "opens 1"},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			script{protocol: fipa, sides: [2]string{"buyer", "seller"}, one: true, lines: tc.lines}.check(t)
		})
	}
}

func TestExchangesRunSideBySideInBothDirections(t *testing.T) {
	script{protocol: fipa, sides: [2]string{"buyer", "seller"}, lines: []line{
		{"buyer", "cfp", "b1", "", 0, "opens b1"},
		{"buyer", "cfp", "b2", "", 0, "opens b2"},
		{"seller", "cfp", "s1", "", 0, "opens s1"},
		{"seller", "decline", "s2", "b2", 0, "answers b2, ends b2, as declined_cfp"},
		{"buyer", "decline", "b3", "s1", 0, "answers s1, ends s1, as declined_cfp"},
		{"seller", "propose", "s3", "b1", 0, "answers b1"},
		{"seller", "propose", "s4", "b2", 0, "refused"}, // ended
		{"buyer", "accept", "b4", "s3", 0, "answers s3"},
	}}.check(t)
}

// The uAgents wire has no names of messages: an answer is for the oldest exchange
// that waits for it.
func TestAnswersWithoutNamesGoToTheOldest(t *testing.T) {
	script{protocol: fipa, sides: [2]string{"buyer", "seller"}, lines: []line{
		{"buyer", "cfp", "b1", "", 0, "opens b1"},
		{"seller", "cfp", "s1", "", 0, "opens s1"},
		{"buyer", "cfp", "b2", "", 0, "opens b2"},
		{"seller", "propose", "s2", "", 0, "answers b1"},
		{"seller", "propose", "s3", "", 0, "answers b2"},
		{"seller", "propose", "s4", "", 0, "refused"}, // s1 is its own question
		{"buyer", "accept", "b3", "", 0, "answers s2"},
		{"buyer", "decline", "b4", "", 0, "answers s1, ends s1, as declined_cfp"},
		{"buyer", "decline", "b5", "", 0, "answers s3, ends b2, as declined_propose"},
	}}.check(t)
}

func TestWhatMayOpenAlwaysOpensUnlessItNamesWhatItAnswers(t *testing.T) {
	script{protocol: messaging, sides: [2]string{"asker", "answerer"}, lines: []line{
		{"asker", "query", "1", "", 0, "opens 1"},
		{"asker", "inform", "2", "", 0, "opens 2, ends 2"},
		{"asker", "inform", "3", "long gone", 0, "opens 3, ends 3"},
		{"asker", "request", "4", "1", 0, "refused"}, // named, and no answer to it
		{"answerer", "inform", "5", "", 0, "answers 1, ends 1"},
		{"answerer", "inform", "6", "", 0, "refused"}, // may only answer
	}}.check(t)
}

// An exchange is named by any of its messages, also by one that is not the latest.
func TestAnyMessageOfAnExchangeNamesIt(t *testing.T) {
	script{protocol: fipa, sides: [2]string{"buyer", "seller"}, lines: []line{
		{"buyer", "cfp", "1", "", 0, "opens 1"},
		{"buyer", "cfp", "2", "", 0, "opens 2"},
		{"seller", "propose", "3", "2", 0, "answers 2"},
		{"buyer", "propose", "4", "3", 0, "answers 3"},
		{"seller", "propose", "5", "2", 0, "answers 2"},
		{"buyer", "accept", "6", "5", 0, "answers 5"},
		{"seller", "decline", "7", "1", 0, "answers 1, ends 1, as declined_cfp"},
	}}.check(t)
}

func TestPaymentWithRoles(t *testing.T) {
	script{protocol: strictPayment, sides: [2]string{"seller", "buyer"}, lines: []line{
		{"buyer", "RequestPayment", "1", "", 0, "refused"}, // the seller asks
		{"seller", "RequestPayment", "2", "", 0, "opens 2"},
		{"seller", "CommitPayment", "3", "", 0, "refused"},
		{"buyer", "CommitPayment", "4", "", 0, "answers 2"},
		{"buyer", "CompletePayment", "5", "", 0, "refused"},
		{"seller", "CompletePayment", "6", "", 0, "answers 4, ends 2, as paid"},
		{"seller", "CancelPayment", "7", "", 0, "refused"},
	}}.check(t)
}

// Without roles in the moves they follow from who opened what, and from who
// sends what.
func TestRolesAreLearned(t *testing.T) {
	script{protocol: strictPayment, sides: [2]string{"a", "b"}, lines: []line{
		{"a", "RequestPayment", "1", "", 0, "opens 1"},
		{"b", "RequestPayment", "2", "", 0, "opens 2"}, // in this one b is the seller
		{"a", "CommitPayment", "3", "", 0, "answers 2"},
		{"a", "RejectPayment", "4", "", 0, "refused"},
		{"b", "CancelPayment", "5", "3", 0, "answers 3, ends 2, as cancelled"},
		{"b", "RejectPayment", "6", "", 0, "answers 1, ends 1, as rejected"},
	}}.check(t)
}

// work is a protocol in which one side may speak twice, in two ways: by a rule
// with "by", and by messages that belong to a role.
var work = &spec.Protocol{
	Name: "Work", Version: "1",
	Roles: []spec.Role{{Name: "client"}, {Name: "worker"}},
	Messages: []spec.Message{
		{Name: "job"}, {Name: "progress", From: []string{"worker"}}, {Name: "stop"}, {Name: "result"},
	},
	Rules: []spec.Rule{
		{Message: "job", Replies: []string{"progress", "result", "stop"}, By: []string{"client", "worker"}},
		{Message: "progress", Replies: []string{"progress", "result"}, By: []string{"worker"}, MayRest: true},
		{Message: "stop", Replies: []string{"progress", "result"}},
		{Message: "result"},
	},
	Dialogue: &spec.Dialogue{
		Initiates:  []spec.Initiation{{Messages: []string{"job"}, By: []string{"client"}}},
		Terminates: []string{"result", "progress"},
		EndStates:  []string{"done", "partly"},
		Outcomes:   []spec.Outcome{{State: "done", Messages: []string{"result"}}, {State: "partly", Messages: []string{"progress"}}},
	},
}

func TestASideMaySpeakTwiceWhereTheRuleSaysSo(t *testing.T) {
	script{protocol: work, sides: [2]string{"client", "worker"}, lines: []line{
		{"client", "job", "1", "", 0, "opens 1"},
		{"worker", "progress", "2", "1", 0, "answers 1"},
		{"worker", "progress", "3", "1", 0, "answers 1"},
		{"client", "progress", "4", "3", 0, "refused"},
		{"client", "result", "4", "3", 0, "refused"},
		{"worker", "result", "5", "1", 0, "answers 1, ends 1, as done"},
		{"client", "job", "6", "", 0, "opens 6"},
		{"client", "stop", "7", "6", 0, "answers 6"}, // its own message
		{"client", "result", "8", "7", 0, "refused"},
		{"worker", "result", "8", "7", 0, "answers 7, ends 6, as done"},
	}}.check(t)
}

// A side keeps the role in which it began, and the other one cannot have it.
func TestRolesDoNotChangeWithinAnExchange(t *testing.T) {
	p := with(fipa, func(p *spec.Protocol) { p.Roles = []spec.Role{{Name: "seller"}, {Name: "buyer"}, {Name: "broker"}} })
	var s dialogue.State
	for i, tc := range []struct {
		move dialogue.Move
		want string
	}{
		{dialogue.Move{Message: "cfp", Role: "buyer", ID: "1"}, "opens 1"},
		{dialogue.Move{Message: "propose", Role: "buyer", ID: "2", Own: true}, "refused"},
		{dialogue.Move{Message: "propose", Role: "broker", ID: "2", Own: true}, "answers 1"},
		{dialogue.Move{Message: "propose", Role: "seller", ID: "3"}, "refused"},
		{dialogue.Move{Message: "propose", Role: "buyer", ID: "3"}, "answers 2"},
		{dialogue.Move{Message: "accept", Role: "seller", ID: "4", Own: true}, "refused"},
		{dialogue.Move{Message: "accept", ID: "4", Own: true}, "answers 3"},
	} {
		tc.move.Protocol, tc.move.At = p, start
		if got := apply(t, &s, tc.move); got != tc.want {
			t.Errorf("move %d: %s, want %s", i+1, got, tc.want)
		}
	}
}

// Who handles a message says nothing about its sender when both have the role.
func TestEqualPeersHandleWhatTheySend(t *testing.T) {
	p := with(fipa, func(p *spec.Protocol) {
		p.Roles = []spec.Role{{Name: "peer", Min: 2, Max: 2}}
		p.Messages = slices.Clone(p.Messages)
		for i := range p.Messages {
			p.Messages[i].To = []string{"peer"}
		}
	})
	script{protocol: p, sides: [2]string{"a", "b"}, lines: []line{
		{"a", "cfp", "1", "", 0, "opens 1"},
		{"a", "propose", "2", "1", 0, "refused"},
		{"b", "propose", "2", "1", 0, "answers 1"},
	}}.check(t)
}

func TestErrorsAnswerEverythingAndClose(t *testing.T) {
	p := with(fipa, func(p *spec.Protocol) {
		p.Messages = append(slices.Clone(p.Messages), spec.Message{Name: "failure", Class: spec.ErrorReport})
		p.Rules = append(slices.Clone(p.Rules), spec.Rule{Message: "failure"})
		d := *p.Dialogue
		d.Outcomes = append(slices.Clone(d.Outcomes), spec.Outcome{State: "failed", Messages: []string{"failure"}})
		p.Dialogue = &d
	})
	script{protocol: p, sides: [2]string{"buyer", "seller"}, lines: []line{
		{"buyer", "cfp", "1", "", 0, "opens 1"},
		{"buyer", "cfp", "2", "", 0, "opens 2"},
		{"buyer", "failure", "3", "", 0, "refused"}, // it is not the buyer's turn anywhere
		{"seller", "failure", "4", "2", 0, "answers 2, ends 2, as failed"},
		{"seller", "propose", "5", "", 0, "answers 1"},
		{"buyer", "failure", "6", "", 0, "answers 5, ends 1, as failed"},
		{"seller", "failure", "7", "", 0, "refused"}, // nothing is open
	}}.check(t)
}

// Where the rules say what follows an error, they are right.
func TestErrorNamedByTheRulesFollowsThem(t *testing.T) {
	p := with(llm, func(p *spec.Protocol) {
		p.Rules = []spec.Rule{
			{Message: "ContextPrompt", Replies: []string{"Response", "ErrorMessage"}},
			{Message: "ErrorMessage", Replies: []string{"ContextPrompt"}, MayRest: true},
			{Message: "Response"},
		}
	})
	script{protocol: p, sides: [2]string{"client", "llm"}, lines: []line{
		{"client", "ContextPrompt", "1", "", 0, "opens 1"},
		{"llm", "ErrorMessage", "2", "1", 0, "answers 1"},
		{"client", "ContextPrompt", "3", "2", 0, "answers 2"}, // tries again in the same exchange
		{"llm", "Response", "4", "3", 0, "answers 3, ends 1, as answered"},
	}}.check(t)
}

// The error message of a dialect belongs to no protocol. It is never refused.
func TestAlwaysAllowedErrors(t *testing.T) {
	sent := func(id, replyTo string, own bool) dialogue.Move {
		return dialogue.Move{Message: "ErrorMessage", ID: id, ReplyTo: replyTo, Own: own, At: start, AlwaysAllowed: true}
	}
	var s dialogue.State
	for i, tc := range []struct {
		move dialogue.Move
		want string
	}{
		{sent("1", "", false), "nothing"},
		{dialogue.Move{Protocol: fipa, Message: "cfp", ID: "2", Own: true, At: start}, "opens 2"},
		{dialogue.Move{Protocol: strictPayment, Message: "RequestPayment", ID: "3", Own: true, At: start}, "opens 3"},
		{sent("4", "", true), "nothing"}, // this side has nothing to answer
		{sent("5", "unknown", false), "nothing"},
		{sent("6", "3", false), "answers 3, ends 3"},
		{sent("7", "", false), "answers 2, ends 2"},
		{dialogue.Move{Protocol: chat, Message: "ChatMessage", ID: "8", Own: true, At: start}, "opens 8, ends 8"},
		{sent("9", "", false), "nothing"},
		{dialogue.Move{Protocol: llm, Message: "ContextPrompt", ID: "10", Own: true, At: start}, "opens 10"},
		{dialogue.Move{Protocol: llm, Message: "ErrorMessage", ID: "11", At: start, AlwaysAllowed: true}, "answers 10, ends 10, as failed"},
	} {
		if got := apply(t, &s, tc.move); got != tc.want {
			t.Errorf("move %d: %s, want %s", i+1, got, tc.want)
		}
	}
	if len(s.Open()) != 0 {
		t.Errorf("still open: %+v", s.Open())
	}
}

// One dialogue may speak several protocols. What they call their messages, and
// in which version, keeps them apart.
func TestProtocolsDoNotAnswerForEachOther(t *testing.T) {
	newer := with(strictPayment, func(p *spec.Protocol) { p.Version = "0.2.0" })
	var s dialogue.State
	apply(t, &s, dialogue.Move{Protocol: strictPayment, Message: "RequestPayment", ID: "1", Own: true, At: start})

	for _, p := range []*spec.Protocol{newer, fipa} {
		reply := dialogue.Move{Protocol: p, Message: "CommitPayment", ID: "2", ReplyTo: "1", At: start}
		if p == fipa {
			reply.Message = "propose"
		}
		if got := apply(t, &s, reply); got != "refused" {
			t.Errorf("%s of %s: %s, want it refused", reply.Message, dialogue.ProtocolID(p), got)
		}
	}
	if got := apply(t, &s, dialogue.Move{Protocol: newer, Message: "CommitPayment", ID: "2", At: start}); got != "refused" {
		t.Errorf("an answer that names nothing, by a newer version: %s", got)
	}
	if got := apply(t, &s, dialogue.Move{Protocol: fipa, Message: "cfp", ID: "2", ReplyTo: "1", At: start}); got != "opens 2" {
		t.Errorf("a message of another protocol that may open an exchange: %s", got)
	}
}

func TestRefusalsSayWhatWouldHaveBeenAllowed(t *testing.T) {
	open := []dialogue.Move{{Protocol: llm, Message: "ContextPrompt", Role: "client", ID: "1"}}
	bargain := []dialogue.Move{
		{Protocol: fipa, Message: "cfp", Role: "buyer", ID: "1"},
		{Protocol: fipa, Message: "propose", Role: "seller", Own: true, ID: "2", ReplyTo: "1"},
	}
	for _, tc := range []struct {
		name   string
		before []dialogue.Move
		move   dialogue.Move
		want   string
	}{
		{"in an exchange", bargain, dialogue.Move{Protocol: fipa, Message: "match_accept", Role: "buyer", ReplyTo: "2"},
			"Fipa: match_accept from buyer may not follow propose from seller; allowed: accept, accept_w_inform, decline or propose from buyer"},
		{"no exchange", nil, dialogue.Move{Protocol: llm, Message: "Response", Role: "llm"},
			"LLMContextResponse: Response from llm answers nothing that is open; allowed: ContextPrompt from client to open an exchange"},
		{"no such message", nil, dialogue.Move{Protocol: llm, Message: "Response", Role: "llm", ReplyTo: "7"},
			`LLMContextResponse: Response from llm answers "7", which is no message of an open exchange; allowed: ContextPrompt from client to open an exchange`},
		{"the wrong side", open, dialogue.Move{Protocol: llm, Message: "Response", Role: "client"},
			"LLMContextResponse: Response from client answers nothing that is open; allowed: ContextPrompt from client to open an exchange; Response or ErrorMessage from llm after ContextPrompt from client"},
		{"too late", open, dialogue.Move{Protocol: llm, Message: "Response", Role: "llm", Own: true, ReplyTo: "1", At: after(121)},
			"LLMContextResponse: Response from llm is too late after ContextPrompt from client, whose time was up at 2026-05-04T12:02:00Z; allowed: nothing"},
		{"no roles", []dialogue.Move{{Protocol: fipa, Message: "cfp", ID: "1"}}, dialogue.Move{Protocol: fipa, Message: "accept", ReplyTo: "1"},
			"Fipa: accept may not follow cfp; allowed: propose or decline from the receiver of cfp"},
		{"by different roles", []dialogue.Move{{Protocol: work, Message: "job", ID: "1"}}, dialogue.Move{Protocol: work, Message: "job", ReplyTo: "1"},
			"Work: job may not follow job from client; allowed: progress from worker, result or stop from client or worker"},
		{"a rule that a newer program no longer has", []dialogue.Move{{Protocol: fipa, Message: "cfp", ID: "1"}},
			dialogue.Move{Protocol: with(fipa, func(p *spec.Protocol) { p.Rules = nil }), Message: "propose", Own: true, ReplyTo: "1"},
			"Fipa: propose may not follow cfp; allowed: nothing"},
		{"nothing can open", nil, dialogue.Move{Protocol: &spec.Protocol{Name: "Empty", Messages: named("m"), Dialogue: &spec.Dialogue{}}, Message: "m"},
			"Empty: m answers nothing that is open; allowed: nothing"},
		{"not a declared reply", []dialogue.Move{{Protocol: payment, Message: "RequestPayment", ID: "1"}}, dialogue.Move{Protocol: payment, Message: "CompletePayment", Own: true, ReplyTo: "1"},
			"AgentPaymentProtocol: CompletePayment may not follow RequestPayment from seller; allowed: CommitPayment or RejectPayment from buyer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s dialogue.State
			for _, m := range tc.before {
				m.At = start
				if _, err := s.Apply(m); err != nil {
					t.Fatal(err)
				}
			}
			tc.move.ID = "refused"
			if tc.move.At.IsZero() {
				tc.move.At = start
			}

			_, err := s.Apply(tc.move)

			refused, ok := errors.AsType[*fault.Error](err)
			if !ok || refused.Code != fault.OutOfTurn || refused.Text != tc.want {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

// However many exchanges are open and however long their names, a refusal stays
// readable.
func TestRefusalsStayShort(t *testing.T) {
	p := &spec.Protocol{Name: "Long", Dialogue: &spec.Dialogue{Initiates: []spec.Initiation{{}}}}
	for i := range 40 {
		name := fmt.Sprintf("message_%d", i)
		p.Messages = append(p.Messages, spec.Message{Name: name})
		p.Rules = append(p.Rules, spec.Rule{Message: name, Replies: []string{"message_0", "message_1"}})
		p.Dialogue.Initiates[0].Messages = append(p.Dialogue.Initiates[0].Messages, name)
	}
	p.Messages = append(p.Messages, spec.Message{Name: "answer"})
	var s dialogue.State
	for i := range 200 {
		apply(t, &s, dialogue.Move{Protocol: p, Message: fmt.Sprintf("message_%d", i%40), ID: fmt.Sprint(i), At: start})
	}

	_, err := s.Apply(dialogue.Move{Protocol: p, Message: "answer", ID: "x", ReplyTo: strings.Repeat("x", 100_000), At: start})

	if err == nil || len(err.Error()) > 600 {
		t.Errorf("got %.2000v", err)
	}
}

func TestIncompleteMovesAreRefused(t *testing.T) {
	whole := dialogue.Move{Protocol: fipa, Message: "cfp", Role: "buyer", ID: "1", At: start}
	for _, tc := range []struct {
		name   string
		change func(*dialogue.Move)
		want   fault.Code
	}{
		{"no ID", func(m *dialogue.Move) { m.ID = "" }, fault.Malformed},
		{"an ID that is no text", func(m *dialogue.Move) { m.ID = "\xff" }, fault.Malformed},
		{"an endless ID", func(m *dialogue.Move) { m.ID = strings.Repeat("1", 257) }, fault.TooLarge},
		{"no time", func(m *dialogue.Move) { m.At = time.Time{} }, fault.Malformed},
		{"no protocol", func(m *dialogue.Move) { m.Protocol = nil }, fault.Malformed},
		{"no such message", func(m *dialogue.Move) { m.Message = "bid" }, fault.NotFound},
		{"no such role", func(m *dialogue.Move) { m.Role = "bank" }, fault.NotFound},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s dialogue.State
			m := whole
			tc.change(&m)

			_, err := s.Apply(m)

			if got := fault.CodeOf(err); got != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
			if !s.Empty() {
				t.Error("the state changed")
			}
		})
	}
}

// An ID names one message. A peer that repeats ours cannot take its place.
func TestIDsOfOpenExchangesAreTaken(t *testing.T) {
	script{protocol: fipa, sides: [2]string{"buyer", "seller"}, lines: []line{
		{"buyer", "cfp", "1", "", 0, "opens 1"},
		{"seller", "cfp", "1", "", 0, "conflict"},
		{"seller", "propose", "1", "1", 0, "conflict"},
		{"seller", "propose", "2", "1", 0, "answers 1"},
		{"buyer", "cfp", "2", "", 0, "conflict"},
	}}.check(t)
}

func TestJudgeChangesNothing(t *testing.T) {
	var s dialogue.State
	m := dialogue.Move{Protocol: fipa, Message: "cfp", Role: "buyer", ID: "1", At: start}

	judged := told(s.Judge(m))

	if !s.Empty() || judged != "opens 1" {
		t.Errorf("judged %s, state %s", judged, s.Encode())
	}
	if applied := apply(t, &s, m); applied != judged {
		t.Errorf("judged %s, applied %s", judged, applied)
	}
	if _, err := s.Judge(dialogue.Move{Protocol: fipa, Message: "end", Role: "seller", ID: "2", At: start}); fault.CodeOf(err) != fault.OutOfTurn {
		t.Errorf("got %v, want out of turn", err)
	}
}
