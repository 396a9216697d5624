package dialogue_test

import (
	"fmt"
	"time"

	"github.com/parley-agents/parley/dialogue"
)

// A seller is asked for an offer, makes one and is turned down. The buyer cannot
// come back to it: closed is closed.
func ExampleState_Apply() {
	seller := dialogue.State{OneExchange: true}
	noon := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

	for _, m := range []dialogue.Move{
		{Message: "cfp", Role: "buyer", ID: "1"},
		{Message: "accept", Role: "buyer", ID: "2", ReplyTo: "1"},
		{Message: "propose", Role: "seller", Own: true, ID: "-1", ReplyTo: "1"},
		{Message: "decline", Role: "buyer", ID: "2", ReplyTo: "-1"},
		{Message: "accept", Role: "buyer", ID: "3", ReplyTo: "-1"},
	} {
		m.Protocol, m.At = fipa, noon
		verdict, err := seller.Apply(m)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%s: opens %t, ends %t, outcome %q\n", m.Message, verdict.Opens, verdict.Ends, verdict.Outcome)
	}
	// Output:
	// cfp: opens true, ends false, outcome ""
	// out_of_turn: Fipa: accept from buyer may not follow cfp from buyer; allowed: propose or decline from seller
	// propose: opens false, ends false, outcome ""
	// decline: opens false, ends true, outcome "declined_propose"
	// out_of_turn: Fipa: accept from buyer may not follow decline, which ended the dialogue as declined_propose; allowed: nothing
}

// A session of the chat protocol: every message is an exchange of its own, which
// ends when it is sent, and has a receipt.
func ExampleState_Apply_receipts() {
	var state dialogue.State
	noon := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

	for _, m := range []dialogue.Move{
		{Message: "ChatMessage", ID: "question"},
		{Message: "ChatAcknowledgement", Own: true, ID: "ack 1", ReplyTo: "question"},
		{Message: "ChatMessage", Own: true, ID: "answer"},
		{Message: "ChatAcknowledgement", ID: "ack 2", ReplyTo: "answer"},
		{Message: "ChatAcknowledgement", ID: "ack 3", ReplyTo: "answer"},
	} {
		m.Protocol, m.At = chat, noon
		verdict, _ := state.Apply(m)
		fmt.Printf("%s: opens %t, receipt %t, matched %t\n", m.ID, verdict.Opens, verdict.Receipt, verdict.Matched)
	}
	// Output:
	// question: opens true, receipt false, matched false
	// ack 1: opens false, receipt true, matched true
	// answer: opens true, receipt false, matched false
	// ack 2: opens false, receipt true, matched true
	// ack 3: opens false, receipt true, matched false
}

// Time is told to a State. Whoever keeps it asks when there will be something to
// do, and what.
func ExampleState_Expire() {
	var client dialogue.State
	noon := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	client.Apply(dialogue.Move{Protocol: llm, Message: "ContextPrompt", Role: "client", Own: true, ID: "1", At: noon})

	fmt.Println(client.Next().Sub(noon))
	for _, t := range client.Expire(client.Next()) {
		fmt.Printf("%s: %s of %s, outcome %s\n", t.Kind, t.Message, t.Protocol, t.Outcome)
	}
	// Output:
	// 2m0s
	// timed out: ContextPrompt of fetchai.llm/LLMContextResponse:0.1.0, outcome expired
}

// A State is kept as text between messages.
func ExampleDecode() {
	state, _ := dialogue.Decode(nil) // never stored: a new dialogue
	state.Apply(dialogue.Move{Protocol: fipa, Message: "cfp", Role: "buyer", ID: "1", At: time.Unix(0, 0)})

	stored := state.Encode()
	again, err := dialogue.Decode(stored)

	fmt.Println(string(stored), err)
	fmt.Println(again.Open()[0].Last)
	// Output:
	// {"v":1,"open":[{"id":"1","p":"fetchai.fipa/Fipa:1.0.0","roles":["seller","buyer"],"last":"cfp"}]} <nil>
	// cfp
}
