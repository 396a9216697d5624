package dialogue_test

import (
	"fmt"
	"testing"

	"github.com/parley-agents/parley/dialogue"
	"github.com/parley-agents/parley/spec"
)

func TestChatIsTwoExchangesAndTheirReceipts(t *testing.T) {
	script{protocol: chat, sides: [2]string{"a", "b"}, lines: []line{
		{"a", "ChatMessage", "question", "", 0, "opens question, ends question"},
		{"b", "ChatAcknowledgement", "1", "question", 1, "receipt for question"},
		{"b", "ChatMessage", "answer", "", 2, "opens answer, ends answer"},
		{"a", "ChatAcknowledgement", "2", "answer", 3, "receipt for answer"},
	}}.check(t)
}

func TestReceiptsAreNeverRefused(t *testing.T) {
	script{protocol: chat, sides: [2]string{"a", "b"}, lines: []line{
		{"b", "ChatAcknowledgement", "1", "question", 0, "stray receipt"}, // before the message
		{"a", "ChatMessage", "question", "", 1, "opens question, ends question"},
		{"a", "ChatAcknowledgement", "2", "question", 2, "stray receipt"}, // by its own sender
		{"b", "ChatMessage", "answer", "", 3, "opens answer, ends answer"},
		{"b", "ChatAcknowledgement", "3", "question", 900, "receipt for question"}, // late, after the answer
		{"b", "ChatAcknowledgement", "4", "question", 901, "stray receipt"},        // doubled
		{"b", "ChatAcknowledgement", "5", "nothing", 902, "stray receipt"},
		{"b", "ChatAcknowledgement", "6", "", 903, "stray receipt"},
		{"b", "ChatAcknowledgement", "6", "6", 903, "stray receipt"}, // a receipt for a receipt
		{"a", "ChatMessage", "again", "", 904, "opens again, ends again"},
	}}.check(t)
}

func TestCrossingMessagesAreExchangesOfTheirOwn(t *testing.T) {
	var a, b dialogue.State
	fromA := dialogue.Move{Protocol: chat, Message: "ChatMessage", ID: "hello from a", At: start}
	fromB := dialogue.Move{Protocol: chat, Message: "ChatMessage", ID: "hello from b", At: start}

	said := apply(t, &a, own(fromA)) + " / " + apply(t, &a, fromB)
	heard := apply(t, &b, own(fromB)) + " / " + apply(t, &b, fromA)

	if want := "opens hello from a, ends hello from a / opens hello from b, ends hello from b"; said != want {
		t.Errorf("a: %s, want %s", said, want)
	}
	if want := "opens hello from b, ends hello from b / opens hello from a, ends hello from a"; heard != want {
		t.Errorf("b: %s, want %s", heard, want)
	}
}

func TestMissingReceiptIsReportedOnceAndRefusesNothing(t *testing.T) {
	var a dialogue.State
	question := dialogue.Move{Protocol: chat, Message: "ChatMessage", Own: true, ID: "question", At: start}
	verdict, _ := a.Apply(question)
	if !verdict.Deadline.Equal(after(30)) || !a.Next().Equal(after(30)) {
		t.Fatalf("the receipt is due at %v and Next is %v, want %v", verdict.Deadline, a.Next(), after(30))
	}

	early, missing, again := a.Expire(after(29.999)), a.Expire(after(31)), a.Expire(after(1000))

	if len(early) > 0 || len(again) > 0 {
		t.Errorf("reported before its time: %v, and again: %v", early, again)
	}
	want := dialogue.Timeout{
		Kind: dialogue.ReceiptMissing, Exchange: "question", Protocol: "fetchai.chat/AgentChatProtocol:0.3.0",
		Message: "ChatMessage", ID: "question", Own: true, At: after(30), Outcome: "lost",
	}
	if len(missing) != 1 || missing[0] != want {
		t.Errorf("got %+v\nwant %+v", missing, want)
	}
	if got := apply(t, &a, dialogue.Move{Protocol: chat, Message: "ChatMessage", ID: "answer", At: after(32)}); got != "opens answer, ends answer" {
		t.Errorf("after a missing receipt a message %s", got)
	}
	late := dialogue.Move{Protocol: chat, Message: "ChatAcknowledgement", ID: "ack", ReplyTo: "question", At: after(2000)}
	if got := apply(t, &a, late); got != "receipt for question" {
		t.Errorf("the late receipt is a %s", got)
	}
}

func TestReceiptLeavesItsExchangeAsItIs(t *testing.T) {
	script{protocol: messaging, sides: [2]string{"asker", "answerer"}, lines: []line{
		{"asker", "request", "1", "", 0, "opens 1"},
		{"answerer", "acknowledge", "2", "1", 1, "receipt for 1"},
		{"answerer", "response", "3", "1", 2, "answers 1, ends 1"},
		{"asker", "acknowledge", "4", "3", 3, "receipt for 3"},
		{"asker", "acknowledge", "5", "1", 4, "stray receipt"}, // its own request
	}}.check(t)
}

// A message that has answers and receipts waits for the answer: nothing says how
// long the receipt may take.
func TestTimeLimitIsForTheAnswerIfThereIsOne(t *testing.T) {
	p := with(messaging, func(p *spec.Protocol) {
		p.Rules = append([]spec.Rule{{Message: "request", Replies: []string{"response", "acknowledge"}, Within: 10e9}}, p.Rules[1:]...)
	})
	var s dialogue.State
	apply(t, &s, dialogue.Move{Protocol: p, Message: "request", ID: "1", Own: true, At: start})

	timeouts := s.Expire(after(10))

	if len(timeouts) != 1 || timeouts[0].Kind != dialogue.TimedOut {
		t.Errorf("got %+v, want the exchange to time out", timeouts)
	}
}

// The receipts that a peer never sends must not fill the store.
func TestUnconfirmedMessagesAreForgottenInTheEnd(t *testing.T) {
	s := dialogue.State{Limit: 100}
	for i := range 5000 {
		at := after(float64(i)) // each is missed before the hundredth after it
		s.Expire(at)
		apply(t, &s, dialogue.Move{Protocol: chat, Message: "ChatMessage", ID: fmt.Sprint(i), Own: i%2 == 0, At: at})
	}

	if size := len(s.Encode()); size > 30_000 {
		t.Errorf("after 5000 unconfirmed messages the state has %d bytes", size)
	}
	latest := dialogue.Move{Protocol: chat, Message: "ChatAcknowledgement", ID: "ack", ReplyTo: "4998", At: after(5000)}
	if got := apply(t, &s, latest); got != "receipt for 4998" {
		t.Errorf("the receipt of the latest message is a %s", got)
	}
	latest.ReplyTo = "10"
	if got := apply(t, &s, latest); got != "stray receipt" {
		t.Errorf("the receipt of a message long ago is a %s", got)
	}
}

// Whether or not a receipt is awaited, and whether or not the clock runs, there is
// a bound; and each side has its own.
func TestUnconfirmedMessagesAreBounded(t *testing.T) {
	s := dialogue.State{Limit: 100}
	apply(t, &s, dialogue.Move{Protocol: chat, Message: "ChatMessage", Own: true, ID: "awaited", At: start})
	apply(t, &s, dialogue.Move{Protocol: messaging, Message: "inform", Own: true, ID: "not awaited", At: start})
	for i := range 1000 {
		apply(t, &s, dialogue.Move{Protocol: messaging, Message: "inform", ID: fmt.Sprint("i", i), At: start})
		apply(t, &s, dialogue.Move{Protocol: chat, Message: "ChatMessage", ID: fmt.Sprint("c", i), At: start})
	}
	if size := len(s.Encode()); size > 20_000 {
		t.Errorf("the state has %d bytes", size)
	}

	missing := s.Expire(after(60))

	if len(missing) != 101 {
		t.Errorf("%d receipts are missed, want that of our message and of the latest 100", len(missing))
	}
	if size := len(s.Encode()); size > 10_000 {
		t.Errorf("when they were missed, the state has %d bytes", size)
	}
	for _, receipt := range []dialogue.Move{
		{Protocol: chat, Message: "ChatAcknowledgement", ID: "1", ReplyTo: "awaited"},
		{Protocol: messaging, Message: "acknowledge", ID: "2", ReplyTo: "not awaited"},
	} {
		receipt.At = after(61)
		if got := apply(t, &s, receipt); got != "receipt for "+receipt.ReplyTo {
			t.Errorf("our message was pushed out by those of the peer: %s", got)
		}
	}
}

func TestReceiptsConfirmMessagesOfTheirProtocol(t *testing.T) {
	var s dialogue.State
	apply(t, &s, dialogue.Move{Protocol: chat, Message: "ChatMessage", Own: true, ID: "1", At: start})

	if got := apply(t, &s, dialogue.Move{Protocol: messaging, Message: "acknowledge", ID: "2", ReplyTo: "1", At: start}); got != "stray receipt" {
		t.Errorf("a receipt of another protocol is a %s", got)
	}
}

// Peers exist that give every message the same ID.
func TestReusedIDOfAFinishedMessageIsTaken(t *testing.T) {
	script{protocol: chat, sides: [2]string{"a", "b"}, lines: []line{
		{"a", "ChatMessage", "same", "", 0, "opens same, ends same"},
		{"a", "ChatMessage", "same", "", 1, "opens same, ends same"},
		{"b", "ChatAcknowledgement", "1", "same", 2, "receipt for same"},
		{"b", "ChatAcknowledgement", "2", "same", 2, "stray receipt"},
	}}.check(t)
}

func apply(t *testing.T, s *dialogue.State, m dialogue.Move) string {
	t.Helper()
	return told(s.Apply(m))
}

func own(m dialogue.Move) dialogue.Move {
	m.Own = true
	return m
}
