package chat

import (
	"context"

	"github.com/parley-agents/parley"
)

// NewPerson makes the agent that speaks for a person at a keyboard. It
// acknowledges what it is told and keeps nothing itself: the message log of the
// node has everything, and whoever shows the conversation reads it there.
func NewPerson(name string) *parley.Agent {
	a := parley.NewAgent(name, nil)
	p := parley.NewProtocol(Rules())
	printedRules, _, err := olderRules()
	if err != nil {
		panic(err) // the types are fixed
	}
	printed := parley.NewProtocol(printedRules)
	parley.On(p, func(context.Context, *parley.Turn, ChatMessage) error { return nil }, parley.Mend(Mend), parley.Confirm(Acknowledge))
	parley.On(printed, func(context.Context, *parley.Turn, printedMessage) error { return nil }, parley.Confirm(acknowledgePrinted))
	parley.On(parley.Together(p, printed), func(context.Context, *parley.Turn, ChatAcknowledgement) error { return nil }, parley.Mend(MendAcknowledgement))
	a.Include(p, &parley.Include{Role: RoleAgent})
	a.Include(printed, nil)
	return a
}
