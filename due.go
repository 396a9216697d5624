package parley

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-agents/parley/dialogue"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/spec"
)

// A dueClock knows when something is due in a dialogue next.
type dueClock struct {
	mu     sync.Mutex
	next   time.Time // zero if nothing is
	sooner chan struct{}
}

// note hears that something is due at a time.
func (c *dueClock) note(at time.Time) {
	if at.IsZero() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.next.IsZero() && !at.Before(c.next) {
		return
	}
	c.next = at
	select {
	case c.sooner <- struct{}{}:
	default:
	}
}

func (c *dueClock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = at
}

// wait returns when the next thing is due, or ctx has ended.
func (c *dueClock) wait(ctx context.Context) {
	for ctx.Err() == nil {
		c.mu.Lock()
		next := c.next
		c.mu.Unlock()
		var due <-chan time.Time
		if !next.IsZero() {
			// Not too long at once: the system's clock may be set.
			timer := time.NewTimer(min(max(time.Until(next), 0), time.Minute))
			defer timer.Stop()
			due = timer.C
		}
		select {
		case <-ctx.Done():
			return
		case <-c.sooner:
			continue
		case <-due:
		}
		if !time.Now().Before(next) {
			return
		}
	}
}

// far is later than anything is due.
var far = time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC)

// keepTime lets time pass in dialogues, also in those of the last run.
func (n *Node) keepTime(ctx context.Context) {
	const page = 64
	for ctx.Err() == nil {
		due, err := n.opts.Store.Due(ctx, time.Now(), page)
		for _, d := range due {
			if failed := n.expire(ctx, d); failed != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", d.ID, failed)) // the others go on
			}
		}
		if err != nil && ctx.Err() == nil {
			n.opts.Logger.Error("dialogues that are due cannot be advanced", "error", err)
			sleep(ctx, time.Second)
			continue
		}
		if len(due) == page {
			continue
		}
		n.clock.set(time.Time{})
		first, err := n.opts.Store.Due(ctx, far, 1)
		if err != nil {
			sleep(ctx, time.Second)
			continue
		}
		if len(first) > 0 {
			n.clock.note(first[0].Next)
		}
		n.clock.wait(ctx)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// expire advances a dialogue to now. What should have happened and has not
// becomes an entry in the inbox, in one commit with the dialogue, so that it is
// dealt with once, in order, and also after a crash.
func (n *Node) expire(ctx context.Context, due DueDialogue) error {
	defer n.dialogues.lock(place{due.Agent, due.ID})()
	d := &docket{node: n}
	c, err := d.open(ctx, place{due.Agent, due.ID})
	if code := fault.CodeOf(err); code == fault.Malformed || code == fault.Unsupported {
		return n.setAside(ctx, due, err)
	}
	if err != nil {
		return err
	}
	b := &Batch{Agent: due.Agent}
	a := n.agent(due.Agent)
	peer, session := splitDialogueID(due.ID)
	if a != nil {
		for i, t := range c.state.Expire(time.Now()) {
			payload, err := json.Marshal(t)
			if err != nil {
				return err
			}
			e := InboxEntry{ID: deriveID(fmt.Sprintf("%s/%d", due.ID, c.record.Version), i), Dialogue: due.ID, Message: Message{
				From: peer, To: due.Agent, Session: session, Schema: timeoutSchema, Payload: payload, Proof: ByChannel,
			}}
			b.Inbox = append(b.Inbox, e)
			line := record(due.Agent, t.Kind.String(), t.ID, e.Message, strings.TrimSpace(t.Message+" "+t.Outcome))
			line.Message.Payload = nil
			b.Log = append(b.Log, line)
		}
	}
	c.changed = true
	d.enter(b)
	if a == nil { // it is hosted here no more, and nobody is to be told
		b.Dialogues[0].Next = time.Time{}
	}
	if a == nil {
		return n.opts.Store.Commit(ctx, b)
	}
	return n.commitInbox(ctx, a, b)
}

// setAside lets time stand still in a dialogue that cannot be read, so that it does
// not keep others waiting.
func (n *Node) setAside(ctx context.Context, due DueDialogue, reason error) error {
	n.opts.Logger.Error("a dialogue cannot be read and is set aside", "agent", due.Agent, "dialogue", due.ID, "error", reason)
	record, err := n.opts.Store.Dialogue(ctx, due.Agent, due.ID)
	if err != nil {
		return err
	}
	record.Version, record.Next = record.Version+1, time.Time{}
	return n.opts.Store.Commit(ctx, &Batch{Agent: due.Agent, Dialogues: []DialogueRecord{record}})
}

func splitDialogueID(id string) (peer identity.Address, session string) {
	address, session, _ := strings.Cut(strings.TrimSuffix(id, otherSide), "/")
	return identity.Address(address), session
}

// timeoutSchema marks an inbox entry that is a timeout. No envelope can have it
// handled: handlers are known by digests.
const timeoutSchema = "parley:timeout"

// OnTimeout runs f when something did not happen in time in a dialogue: an answer
// that was due within a time, or a receipt. Where the protocol names a message to
// be sent instead ([dialogue.Timeout.Send]), f sends it; without an f the node
// does, if the message needs no content.
func (a *Agent) OnTimeout(f func(context.Context, *Turn, dialogue.Timeout) error) {
	a.timeouts = append(a.timeouts, f)
}

// handleTimeout is the handler of timeouts.
func (a *Agent) handleTimeout(ctx context.Context, t *Turn, timeout dialogue.Timeout) error {
	t.Log.Info("time is up in a dialogue", "what", timeout.Kind, "message", timeout.Message, "outcome", timeout.Outcome)
	for _, f := range a.timeouts {
		if err := f(ctx, t, timeout); err != nil {
			return err
		}
	}
	if len(a.timeouts) > 0 || timeout.Send == "" {
		return nil
	}
	i := slices.IndexFunc(a.included, func(in inclusion) bool { return dialogue.ProtocolID(in.protocol.rules) == timeout.Protocol })
	if i < 0 {
		return nil
	}
	m := a.included[i].protocol.rules.Message(timeout.Send)
	if !needsNothing(m.Body) {
		t.Log.Warn("the protocol wants a message to be sent, and no OnTimeout is there to fill it", "message", timeout.Send)
		return nil
	}
	digest, err := spec.Digest(m.Body)
	if err != nil {
		return err
	}
	return t.Send(t.Sender, Raw{Schema: digest, Payload: []byte("{}")})
}

// timeoutHandler lets timeouts take the way of messages. Middleware does not see
// them.
func (a *Agent) timeoutHandler() *handler {
	return &handler{
		bare: true,
		decode: func(_ *model, payload []byte, _ bool) (any, error) {
			var t dialogue.Timeout
			err := json.Unmarshal(payload, &t)
			return t, err
		},
		run: func(ctx context.Context, t *Turn, in any) (any, error) {
			return nil, a.handleTimeout(ctx, t, in.(dialogue.Timeout))
		},
	}
}

// needsNothing reports whether an empty record is a message of the type.
func needsNothing(body spec.Type) bool {
	record, ok := body.(*spec.Record)
	return ok && !slices.ContainsFunc(record.Fields, func(f spec.Field) bool { return !f.Optional && f.Default == "" })
}
