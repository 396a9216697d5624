package parley

import (
	"context"
	"errors"
	"slices"

	"github.com/parley-agents/parley/identity"
)

// Messages between agents of one node take the same steps as all others, but in
// one commit: what the sender's turn changes and what taking the message over
// means for the receiver are stored together. So it is never on its way, and
// needs no outbox.

// A handover is a message to an agent of the same node.
type handover struct {
	to *Agent
	in *incoming
}

// handovers splits what a turn sends: what can be handed over at once, and what
// goes the usual way, because its receiver is elsewhere, busy or not ready, or
// because earlier messages are still on their way to it.
func (n *Node) handovers(from identity.Address, sends []outgoing) (given []handover, rest []OutboxEntry) {
	var later []identity.Address
	taking := n.taking.Load()
	for _, e := range sends {
		to := n.agent(e.Message.To)
		if to == nil || len(e.Sealed) > 0 {
			rest = append(rest, e.OutboxEntry)
			continue
		}
		in := &incoming{id: e.ID, Message: e.Message, dialogue: across(e.Message, e.Dialogue)}
		if !taking || e.Message.To == from || to.recovering.Load() || to.full() && n.asks.find(e.Message.To, in) == nil ||
			slices.Contains(later, e.Message.To) || n.deliverer.hasFor(e.Message.To) {
			later = append(later, e.Message.To)
			rest = append(rest, e.OutboxEntry)
			continue
		}
		given = append(given, handover{to, in})
	}
	return given, rest
}

// commitTurn commits what an agent changes and sends, if all of it is in turn.
// What is not is a mistake of the agent's own program.
func (n *Node) commitTurn(ctx context.Context, a *Agent, b *Batch, sends []outgoing) error {
	for {
		changes := *b
		err := n.tryTurn(ctx, a, &changes, sends)
		seen, ok := errors.AsType[*SeenError](err)
		if !ok {
			return err
		}
		// An earlier run of the same turn has handed it over.
		sends = slices.DeleteFunc(slices.Clone(sends), func(e outgoing) bool { return e.ID == seen.Mark.ID })
	}
}

func (n *Node) tryTurn(ctx context.Context, a *Agent, b *Batch, sends []outgoing) error {
	var steps []step
	var places []place
	for _, e := range sends {
		if s, ok := a.stepOf(e.Message.Schema, e.Dialogue, e.ID, e.value, true); ok {
			if s.move.ReplyTo == "" {
				s.move.ReplyTo = e.answers
			}
			steps = append(steps, s)
			places = append(places, place{a.Address(), s.dialogue})
		}
	}
	var given []handover
	given, b.Outbox = n.handovers(a.Address(), sends)
	for _, h := range given {
		if len(h.to.ruled) > 0 {
			places = append(places, place{h.to.Address(), h.in.dialogue})
		}
	}
	defer n.dialogues.lock(places...)()
	d := &docket{node: n}
	for _, s := range steps {
		if err := d.judge(ctx, a.Address(), s); err != nil {
			return errors.Join(errOwnMistake, err)
		}
	}
	batches := []*Batch{b}
	var follow []func()
	for _, h := range given {
		i := slices.IndexFunc(batches, func(b *Batch) bool { return b.Agent == h.in.To })
		if i < 0 {
			i, batches = len(batches), append(batches, &Batch{Agent: h.in.To})
		}
		then, err := n.take(ctx, h.to, batches[i], d, h.in)
		if err != nil {
			return err
		}
		follow = append(follow, then)
	}
	for _, one := range batches {
		d.enter(one)
	}
	if err := n.commitSends(ctx, batches...); err != nil {
		return err
	}
	d.noteDue()
	for i, h := range given {
		follow[i]()
		n.deliverer.notify(h.in.id, Outcome{ID: h.in.id, State: Delivered})
	}
	return nil
}
