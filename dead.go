package parley

import (
	"context"
	"time"

	"github.com/parley-agents/parley/fault"
)

// Resend gives a dead letter another life: one that could not be delivered is
// sealed anew and sent, with a new deadline; one whose handler never succeeded
// is handled again.
func (n *Node) Resend(ctx context.Context, d DeadLetter) error {
	a := n.agent(d.Agent)
	if a == nil {
		return fault.Errorf(fault.NotFound, "agent", "no agent %s is here", d.Agent)
	}
	b := &Batch{Agent: d.Agent, Unbury: []int64{d.Seq}}
	if d.Inbound {
		e := InboxEntry{ID: d.ID, Dialogue: dialogueID(d.Message.From, d.Message.Session), Message: d.Message}
		e.Message.Sync = false // whoever waited is gone
		b.Inbox = []InboxEntry{e}
		b.Log = []LogRecord{record(d.Agent, "resent", d.ID, d.Message, "")}
		return n.commitInbox(ctx, a, b)
	}
	e := OutboxEntry{
		ID: deriveID(d.ID, int(d.Seq)), Dialogue: dialogueID(d.Message.To, d.Message.Session),
		Message: d.Message, Deadline: time.Now().Add(sendDeadline),
	}
	e.Message.Expires = e.Deadline
	if err := a.seal(&e); err != nil {
		return err
	}
	b.Outbox = []OutboxEntry{e}
	b.Log = []LogRecord{record(d.Agent, "resent", e.ID, e.Message, "was "+d.ID)}
	return n.commitSends(ctx, b)
}

// Drop forgets a dead letter.
func (n *Node) Drop(ctx context.Context, d DeadLetter) error {
	return n.opts.Store.Commit(ctx, &Batch{Agent: d.Agent, Unbury: []int64{d.Seq}, Log: []LogRecord{record(d.Agent, "dropped", d.ID, d.Message, d.Reason)}})
}
