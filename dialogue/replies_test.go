package dialogue_test

import (
	"fmt"
	"testing"

	"github.com/parley-agents/parley/dialogue"
	"github.com/parley-agents/parley/spec"
)

// greeting is what an agent knows of a protocol by its handlers: it answers Greet
// and it handles Bye. Greeting is an answer only.
var greeting = &spec.Protocol{
	Name: "hello", Version: "0.1.0",
	Messages: named("Greet", "Greeting", "Busy", "Bye"),
	Rules: []spec.Rule{
		{Message: "Greet", Replies: []string{"Greeting", "Busy"}},
		{Message: "Bye"},
	},
}

func TestWithoutADialogueOnlyReplySetsCount(t *testing.T) {
	in := func(message, id, replyTo string) dialogue.Move {
		return dialogue.Move{Protocol: greeting, Message: message, ID: id, ReplyTo: replyTo, At: start}
	}
	for _, tc := range []struct {
		name string
		play [][2]any
	}{
		{"what is handled may come in at any time", [][2]any{
			{in("Bye", "1", ""), "opens 1, ends 1"},
			{in("Greet", "2", ""), "opens 2"},
			{in("Greet", "3", ""), "opens 3"},
			{in("Bye", "4", "3"), "opens 4, ends 4"},
		}},
		{"what is only an answer needs a question", [][2]any{
			{in("Greeting", "1", ""), "refused"},
			{own(in("Greet", "2", "")), "opens 2"},
			{own(in("Greet", "3", "")), "opens 3"},
			{in("Greeting", "4", ""), "answers 2, ends 2"},
			{in("Greeting", "5", ""), "answers 3, ends 3"},
		}},
		{"a reply is in the reply set", [][2]any{
			{in("Greet", "1", ""), "opens 1"},
			{own(in("Bye", "2", "1")), "refused"},
			{own(in("Greet", "2", "1")), "refused"},
			{own(in("Busy", "2", "1")), "answers 1, ends 1"},
		}},
		{"also the second reply to the same message", [][2]any{
			{in("Greet", "1", ""), "opens 1"},
			{own(in("Greeting", "2", "1")), "answers 1, ends 1"},
			{own(in("Greeting", "3", "1")), "answers 1, ends 1"},
			{own(in("Bye", "4", "1")), "refused"},
		}},
		{"further replies without names are for what was answered last", [][2]any{
			{own(in("Greet", "1", "")), "opens 1"},
			{own(in("Greet", "2", "")), "opens 2"},
			{in("Busy", "3", ""), "answers 1, ends 1"},
			{in("Busy", "4", ""), "answers 2, ends 2"},
			{in("Greeting", "5", ""), "answers 2, ends 2"},
		}},
		{"what is no reply may be sent to anyone", [][2]any{
			{own(in("Bye", "1", "")), "opens 1, ends 1"},
			{own(in("Greeting", "2", "")), "opens 2, ends 2"},
			{own(in("Greeting", "3", "long gone")), "opens 3, ends 3"},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s dialogue.State
			for i, p := range tc.play {
				if got := apply(t, &s, p[0].(dialogue.Move)); got != p[1] {
					t.Errorf("move %d: %s, want %s", i+1, got, p[1])
				}
			}
		})
	}
}

func TestPaymentByItsManifest(t *testing.T) {
	script{protocol: payment, sides: [2]string{"seller", "buyer"}, lines: []line{
		{"seller", "RequestPayment", "1", "", 0, "opens 1"},
		{"buyer", "CommitPayment", "2", "1", 0, "answers 1"},
		{"seller", "CommitPayment", "3", "2", 0, "refused"}, // the seller handles that
		{"seller", "CompletePayment", "4", "2", 0, "answers 2, ends 1"},
		{"seller", "RequestPayment", "5", "", 0, "opens 5"},
		{"buyer", "RejectPayment", "6", "", 0, "answers 5, ends 5"},
	}}.check(t)
}

// Two agents that answer each other for ever are one exchange without an end.
func TestEndlessPingPongStaysSmall(t *testing.T) {
	p := &spec.Protocol{
		Name: "game", Messages: named("Ping", "Pong"),
		Rules: []spec.Rule{{Message: "Ping", Replies: []string{"Pong"}}, {Message: "Pong", Replies: []string{"Ping"}}},
	}
	var s dialogue.State
	apply(t, &s, dialogue.Move{Protocol: p, Message: "Ping", Own: true, ID: "0", At: start})
	for i := 1; i < 5000; i++ {
		m := dialogue.Move{Protocol: p, Message: []string{"Ping", "Pong"}[i%2], Own: i%2 == 0, ID: fmt.Sprint(i), At: start}
		v, err := s.Apply(m)
		if err != nil || v.Exchange != "0" || v.Answers != fmt.Sprint(i-1) {
			t.Fatalf("move %d: %+v, %v", i, v, err)
		}
	}

	if size := len(s.Encode()); size > 2000 {
		t.Errorf("the state has %d bytes", size)
	}
	if open := s.Open(); len(open) != 1 || open[0].ID != "0" || open[0].Last != "Pong" {
		t.Errorf("open: %+v", open)
	}
}

// The implicit protocol of every uAgents agent handles ErrorMessage. One that
// comes in is the answer to what waits, not a message of its own.
func TestHandledErrorMessageClosesWhatItAnswers(t *testing.T) {
	p := with(greeting, func(p *spec.Protocol) {
		p.Messages = append(named("ErrorMessage"), p.Messages...)
		p.Rules = append([]spec.Rule{{Message: "ErrorMessage"}}, p.Rules...)
	})
	var s dialogue.State
	apply(t, &s, dialogue.Move{Protocol: p, Message: "Greet", Own: true, ID: "1", At: start})
	failed := dialogue.Move{Protocol: p, Message: "ErrorMessage", ID: "2", At: start, AlwaysAllowed: true}

	first := apply(t, &s, failed)
	failed.ID = "3"
	second := apply(t, &s, failed)

	if first != "answers 1, ends 1" || second != "nothing" {
		t.Errorf("first: %s, second: %s", first, second)
	}
}
