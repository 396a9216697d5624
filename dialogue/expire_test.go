package dialogue_test

import (
	"slices"
	"testing"
	"time"

	"github.com/parley-agents/parley/dialogue"
	"github.com/parley-agents/parley/spec"
)

// offer is a protocol with every kind of time limit: an answer that is given for
// the one who is silent, a message by the one who waited in vain, and an end for
// the whole.
var offer = &spec.Protocol{
	Name: "Offer", Version: "1",
	Roles:    []spec.Role{{Name: "seller"}, {Name: "buyer"}},
	Messages: named("offer", "take", "leave", "deliver", "complain", "settle"),
	Rules: []spec.Rule{
		{Message: "offer", Replies: []string{"take", "leave"}, Within: 10 * time.Second, Else: "leave"},
		{Message: "take", Replies: []string{"deliver"}, Within: 20 * time.Second, Else: "complain"},
		{Message: "complain", Replies: []string{"settle"}},
		{Message: "leave"}, {Message: "deliver"}, {Message: "settle"},
	},
	Dialogue: &spec.Dialogue{
		Initiates:  []spec.Initiation{{Messages: []string{"offer"}, By: []string{"seller"}}},
		Terminates: []string{"leave", "deliver", "settle"},
		EndStates:  []string{"left", "delivered", "settled", "dead"},
		Timeout:    60 * time.Second,
		Outcomes: []spec.Outcome{
			{State: "left", Messages: []string{"leave"}},
			{State: "delivered", Messages: []string{"deliver"}},
			{State: "settled", Messages: []string{"settle"}},
			{State: "dead", OnTimeout: true, Messages: []string{"complain"}},
		},
	},
}

// both plays lines to a seller and a buyer, in a protocol with these roles.
func both(t *testing.T, p *spec.Protocol, lines ...line) (seller, buyer *dialogue.State) {
	t.Helper()
	seller, buyer = new(dialogue.State), new(dialogue.State)
	s := script{protocol: p, sides: [2]string{"seller", "buyer"}}
	for i, l := range lines {
		for side, state := range []*dialogue.State{seller, buyer} {
			if got := apply(t, state, s.move(l, side)); got != l.want {
				t.Fatalf("line %d at %s: %s, want %s", i+1, s.sides[side], got, l.want)
			}
		}
	}
	return seller, buyer
}

func TestRequestWithoutAnswerTimesOut(t *testing.T) {
	for _, tc := range []struct {
		name     string
		protocol *spec.Protocol
		want     string
	}{
		{"into the state that the rule names", llm, "expired"},
		{"else into the state that an outcome names", with(llm, func(p *spec.Protocol) {
			p.Rules = slices.Clone(p.Rules)
			p.Rules[0].Else = ""
			d := *p.Dialogue
			d.Outcomes = append(slices.Clone(d.Outcomes), spec.Outcome{State: "silent", OnTimeout: true, Messages: []string{"ContextPrompt"}})
			p.Dialogue = &d
		}), "silent"},
		{"else into timeout", with(llm, func(p *spec.Protocol) {
			p.Rules = slices.Clone(p.Rules)
			p.Rules[0].Else = ""
		}), "timeout"},
		{"and never into the state of an end by a message", with(llm, func(p *spec.Protocol) {
			p.Rules = slices.Clone(p.Rules)
			p.Rules[0].Else = ""
			d := *p.Dialogue
			d.Outcomes = []spec.Outcome{{State: "asked", Messages: []string{"ContextPrompt"}}}
			p.Dialogue = &d
		}), "timeout"},
		{"a name that is a state and a message is the state", with(llm, func(p *spec.Protocol) {
			p.Messages = append(slices.Clone(p.Messages), spec.Message{Name: "expired"})
		}), "expired"},
		{"also without a dialogue", with(llm, func(p *spec.Protocol) { p.Dialogue = nil }), "expired"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var client, server dialogue.State
			prompt := dialogue.Move{Protocol: tc.protocol, Message: "ContextPrompt", Role: "client", ID: "1", At: start}
			verdict, err := client.Apply(own(prompt))
			if err != nil || !verdict.Deadline.Equal(after(120)) {
				t.Fatalf("due at %v (%v), want %v", verdict.Deadline, err, after(120))
			}
			apply(t, &server, prompt)

			early, atClient, atServer := client.Expire(after(119)), client.Expire(after(120)), server.Expire(after(500))

			want := dialogue.Timeout{
				Kind: dialogue.TimedOut, Exchange: "1", Protocol: dialogue.ProtocolID(tc.protocol), Message: "ContextPrompt",
				ID: "1", Own: true, At: after(120), Outcome: tc.want,
			}
			if len(early) > 0 || len(atClient) != 1 || atClient[0] != want {
				t.Errorf("client: %+v, then %+v\nwant %+v", early, atClient, want)
			}
			want.Own = false
			if len(atServer) != 1 || atServer[0] != want {
				t.Errorf("server: %+v\nwant %+v", atServer, want)
			}
			if !client.Empty() || !client.Next().IsZero() {
				t.Errorf("something is left: %s", client.Encode())
			}
		})
	}
}

// What is late does not depend on whether somebody has looked at the clock.
func TestLateAnswerIsRefusedBeforeAndAfterExpire(t *testing.T) {
	var s dialogue.State
	apply(t, &s, dialogue.Move{Protocol: llm, Message: "ContextPrompt", Role: "client", Own: true, ID: "1", At: start})
	answer := dialogue.Move{Protocol: llm, Message: "Response", Role: "llm", ID: "2", ReplyTo: "1", At: after(120)}

	before := apply(t, &s, answer)
	timeouts := s.Expire(after(120))
	afterwards := apply(t, &s, answer)

	if before != "refused" || afterwards != "refused" || len(timeouts) != 1 {
		t.Errorf("before: %s, after: %s, timeouts: %v", before, afterwards, timeouts)
	}
}

// An error of the dialect that comes too late is taken like one that answers
// nothing: the exchange has its own end.
func TestLateErrorChangesNothing(t *testing.T) {
	var s dialogue.State
	apply(t, &s, dialogue.Move{Protocol: llm, Message: "ContextPrompt", Role: "client", Own: true, ID: "1", At: start})

	got := apply(t, &s, dialogue.Move{Message: "ErrorMessage", ID: "2", ReplyTo: "1", At: after(120), AlwaysAllowed: true})

	if got != "nothing" || len(s.Expire(after(120))) != 1 {
		t.Errorf("%s, and then: %s", got, s.Encode())
	}
}

func TestSilentSideIsAnsweredFor(t *testing.T) {
	seller, buyer := both(t, offer, line{"seller", "offer", "1", "", 0, "opens 1"})

	atSeller, atBuyer := seller.Expire(after(10)), buyer.Expire(after(10))

	if len(atBuyer) != 1 || atBuyer[0].Kind != dialogue.ElseDue || atBuyer[0].Send != "leave" || atBuyer[0].Await != "" {
		t.Errorf("the buyer, who owes the answer: %+v", atBuyer)
	}
	if len(atSeller) != 1 || atSeller[0].Kind != dialogue.ElseDue || atSeller[0].Await != "leave" || atSeller[0].Send != "" {
		t.Errorf("the seller, who waits: %+v", atSeller)
	}
	take := dialogue.Move{Protocol: offer, Message: "take", Role: "buyer", ID: "2", ReplyTo: "1", At: after(11)}
	leave := dialogue.Move{Protocol: offer, Message: "leave", Role: "buyer", ID: "3", ReplyTo: "1", At: after(11)}
	if got := apply(t, seller, take); got != "refused" {
		t.Errorf("the late answer: %s, want it refused", got)
	}
	if got := apply(t, buyer, own(leave)); got != "answers 1, ends 1, as left" {
		t.Errorf("buyer: %s", got)
	}
	if got := apply(t, seller, leave); got != "answers 1, ends 1, as left" {
		t.Errorf("seller: %s", got)
	}
}

// The message that comes when time is up is not an answer here: the one who has
// waited in vain sends it.
func TestWhoWaitsInVainMaySpeak(t *testing.T) {
	seller, buyer := both(t, offer,
		line{"seller", "offer", "1", "", 0, "opens 1"},
		line{"buyer", "take", "2", "1", 5, "answers 1"})
	complain := func(at float64) dialogue.Move {
		return dialogue.Move{Protocol: offer, Message: "complain", Role: "buyer", ID: "3", ReplyTo: "2", At: after(at)}
	}
	complaint := complain(24)
	complaint.Role = "seller"
	if got := apply(t, seller, own(complaint)); got != "refused" {
		t.Errorf("a complaint of the wrong side: %s", got)
	}

	atBuyer := buyer.Expire(after(25))

	if len(atBuyer) != 1 || atBuyer[0].Send != "complain" {
		t.Fatalf("got %+v, want the buyer to complain", atBuyer)
	}
	complaint = complain(25)
	complaint.Role = "seller"
	if got := apply(t, buyer, own(complaint)); got != "refused" {
		t.Errorf("a complaint of the buyer in the seller's role: %s", got)
	}
	if got := apply(t, buyer, own(complain(25))); got != "answers 2" {
		t.Errorf("buyer: %s", got)
	}
	// A fast message can overtake the clock of the seller, which started later.
	if got := apply(t, seller, complain(24.9)); got != "answers 2" {
		t.Errorf("seller: %s", got)
	}
	for _, s := range []*dialogue.State{seller, buyer} {
		if last := s.Expire(after(60)); len(last) != 1 || last[0].Kind != dialogue.TimedOut || last[0].Outcome != "dead" || !last[0].At.Equal(after(60)) {
			t.Errorf("at the end of all time: %+v", last)
		}
	}
}

// A message that is due because time is up can fail to come, too.
func TestOwedMessageHasItsTimeToo(t *testing.T) {
	seller, _ := both(t, offer, line{"seller", "offer", "1", "", 0, "opens 1"})
	seller.Expire(after(13)) // late by three seconds

	if next := seller.Next(); !next.Equal(after(23)) {
		t.Errorf("Next is %v, want %v", next, after(23))
	}
	last := seller.Expire(after(23))

	if len(last) != 1 || last[0].Kind != dialogue.TimedOut || last[0].Outcome != "timeout" {
		t.Errorf("got %+v", last)
	}
	if !seller.Empty() {
		t.Errorf("left: %s", seller.Encode())
	}
}

// A node that slept through all deadlines reports the end, not the steps to it.
func TestTheEndOfAnExchangeComesFirst(t *testing.T) {
	seller, buyer := both(t, offer, line{"seller", "offer", "1", "", 0, "opens 1"})

	for _, s := range []*dialogue.State{seller, buyer} {
		got := s.Expire(after(3600))
		if len(got) != 1 || got[0].Kind != dialogue.TimedOut || got[0].Outcome != "timeout" || !got[0].At.Equal(after(60)) {
			t.Errorf("got %+v", got)
		}
	}
}

// Either the rule says that an exchange may rest, or the list of terminal messages.
func TestAnExchangeMayRest(t *testing.T) {
	for _, mayRest := range []bool{true, false} {
		p := with(work, func(p *spec.Protocol) {
			d := *p.Dialogue
			d.Timeout = time.Minute
			p.Dialogue = &d
			p.Rules = slices.Clone(p.Rules)
			p.Rules[1].MayRest = mayRest
			if mayRest {
				d.Terminates = []string{"result"}
			}
		})
		var s dialogue.State
		apply(t, &s, dialogue.Move{Protocol: p, Message: "job", Role: "client", Own: true, ID: "1", At: start})
		apply(t, &s, dialogue.Move{Protocol: p, Message: "progress", Role: "worker", ID: "2", ReplyTo: "1", At: after(1)})
		if open := s.Open(); len(open) != 1 || !open[0].MayRest || !open[0].Deadline.Equal(after(60)) {
			t.Errorf("open: %+v", open)
		}

		got := s.Expire(after(60))

		if len(got) != 1 || got[0].Outcome != "partly" {
			t.Errorf("got %+v, want the outcome of the message at which it rested", got)
		}
	}
}

func TestTheExchangeEndsBeforeALaterAnswerIsDue(t *testing.T) {
	_, buyer := both(t, offer,
		line{"seller", "offer", "1", "", 0, "opens 1"},
		line{"buyer", "leave", "2", "1", 1, "answers 1, ends 1, as left"},
		line{"seller", "offer", "3", "", 0, "opens 3"},
		line{"buyer", "take", "4", "3", 9, "answers 3"},
	)
	short := with(offer, func(p *spec.Protocol) {
		d := *p.Dialogue
		d.Timeout = 5 * time.Second
		p.Dialogue = &d
	})

	long, _ := buyer.Judge(dialogue.Move{Protocol: offer, Message: "offer", Role: "seller", ID: "5", At: start})
	brief, _ := buyer.Judge(dialogue.Move{Protocol: short, Message: "offer", Role: "seller", ID: "5", At: start})

	if !long.Deadline.Equal(after(10)) || !brief.Deadline.Equal(after(5)) || !buyer.Next().Equal(after(29)) {
		t.Errorf("deadlines %v and %v, next %v", long.Deadline, brief.Deadline, buyer.Next())
	}
	var s dialogue.State
	apply(t, &s, dialogue.Move{Protocol: short, Message: "offer", Role: "seller", ID: "1", At: start})
	if got := s.Expire(s.Next()); len(got) != 1 || got[0].Kind != dialogue.TimedOut || !got[0].At.Equal(after(5)) {
		t.Errorf("got %+v, want the end of the exchange", got)
	}
}

// Who sends what comes when time is up follows from the message's role, too: here
// it is an answer, and the one who answers is not the one who owes it.
func TestRoleOfTheElseMessageDecides(t *testing.T) {
	p := with(offer, func(p *spec.Protocol) {
		p.Messages = slices.Clone(p.Messages)
		p.Messages[2].From = []string{"seller"} // leave
	})
	seller, buyer := both(t, p, line{"seller", "offer", "1", "", 0, "opens 1"})

	atSeller, atBuyer := seller.Expire(after(10)), buyer.Expire(after(10))

	if len(atSeller) != 1 || atSeller[0].Send != "leave" || len(atBuyer) != 1 || atBuyer[0].Await != "leave" {
		t.Errorf("seller: %+v\nbuyer: %+v", atSeller, atBuyer)
	}
}

func TestTimeoutsComeInTheOrderOfTime(t *testing.T) {
	var s dialogue.State
	apply(t, &s, dialogue.Move{Protocol: llm, Message: "ContextPrompt", ID: "slow", At: start})
	apply(t, &s, dialogue.Move{Protocol: offer, Message: "offer", ID: "offer", At: after(1)})
	apply(t, &s, dialogue.Move{Protocol: chat, Message: "ChatMessage", ID: "chat", At: after(2)})
	apply(t, &s, dialogue.Move{Protocol: llm, Message: "ContextPrompt", ID: "slower", At: after(3)})

	var got []string
	for next := s.Next(); !next.IsZero() && next.Before(after(125)); next = s.Next() {
		for _, timeout := range s.Expire(next) {
			got = append(got, timeout.ID+" "+timeout.Kind.String())
		}
	}

	want := []string{"offer else due", "offer timed out", "chat receipt missing", "slow timed out", "slower timed out"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}

	apply(t, &s, dialogue.Move{Protocol: llm, Message: "ContextPrompt", ID: "second", At: after(201)})
	apply(t, &s, dialogue.Move{Protocol: llm, Message: "ContextPrompt", ID: "first", At: after(200)}) // a clock that was set back
	if all := s.Expire(after(1000)); len(all) != 2 || all[0].ID != "first" || all[1].ID != "second" {
		t.Errorf("at once: %+v", all)
	}
}

// The only exchange of a dialogue that timed out has ended like any other.
func TestNothingFollowsATimeoutInADialogueOfOneExchange(t *testing.T) {
	s := dialogue.State{OneExchange: true}
	apply(t, &s, dialogue.Move{Protocol: llm, Message: "ContextPrompt", ID: "1", At: start})
	s.Expire(after(120))

	_, err := s.Apply(dialogue.Move{Protocol: llm, Message: "ContextPrompt", ID: "2", At: after(121)})

	const want = "out_of_turn: LLMContextResponse: ContextPrompt may not follow ContextPrompt, which ended the dialogue as expired; allowed: nothing"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
