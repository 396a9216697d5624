package parley

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/parley-agents/parley/dialogue"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/spec"
)

// A ruling is what a protocol with a dialogue block says about one message.
type ruling struct {
	rules   *spec.Protocol
	message string
	role    string // that the agent plays
	report  bool   // what is out of turn is reported and not refused
}

// rulings collects the messages of a protocol that has a dialogue block: those
// the agent handles and those it sends.
func (a *Agent) rulings(in inclusion) {
	if in.protocol.rules.Dialogue == nil {
		return
	}
	if a.ruled == nil {
		a.ruled = make(map[string]ruling)
	}
	for i := range in.protocol.rules.Messages {
		m := &in.protocol.rules.Messages[i]
		if digest, err := spec.Digest(m.Body); err == nil {
			a.ruled[digest] = ruling{in.protocol.rules, m.Name, in.Role, in.Report}
		}
	}
}

// move is a message as the rules see it.
func (r ruling) move(own bool) dialogue.Move {
	m := dialogue.Move{Protocol: r.rules, Message: r.message, Own: own, Role: r.role}
	if !own && r.role != "" {
		m.Role = ""
		for _, other := range r.rules.Roles {
			if other.Name != r.role || len(r.rules.Roles) == 1 {
				m.Role = other.Name
			}
		}
	}
	return m
}

// Identified is a message that carries an identity of its own, by which others
// name it; Confirming is one that names the message which it confirms or answers.
type (
	Identified interface{ MessageID() string }
	Confirming interface{ Confirms() string }
)

// A step is a message that a dialogue is to advance by.
type step struct {
	dialogue string
	move     dialogue.Move
	report   bool
}

// stepOf says what a message means to the rules; ok is false if it is none of
// theirs. value is the message itself, or nil if it is not known.
func (a *Agent) stepOf(schema, dialogueID, id string, value any, own bool) (s step, ok bool) {
	if len(a.ruled) == 0 {
		return step{}, false
	}
	s.dialogue = dialogueID
	if schema == errorModel.digest {
		s.move = dialogue.Move{Own: own, AlwaysAllowed: true}
	} else {
		r, ok := a.ruled[schema]
		if !ok {
			return step{}, false
		}
		s.move, s.report = r.move(own), r.report
	}
	s.move.ID, s.move.At = id, time.Now()
	if raw, ok := value.(Raw); ok { // as commands send it: the model of a handler knows what it is called
		if h := a.handlers.find(schema); h != nil {
			if known, err := h.read(raw.Payload, a.opts.Lax); err == nil {
				value = known
			}
		}
	}
	if named, ok := value.(Identified); ok {
		s.move.ID = named.MessageID()
	}
	if confirming, ok := value.(Confirming); ok {
		s.move.ReplyTo = confirming.Confirms()
	}
	return s, true
}

// dialogueLocks keep two messages of one dialogue from being judged at once.
type dialogueLocks struct {
	seed  maphash.Seed
	locks [256]sync.Mutex
}

// A place is a dialogue of an agent.
type place struct {
	agent    identity.Address
	dialogue string
}

// lock locks dialogues in an order that is the same for all, and returns how to
// unlock them.
func (l *dialogueLocks) lock(places ...place) (unlock func()) {
	var all []int
	for _, p := range places {
		all = append(all, int(maphash.String(l.seed, string(p.agent)+p.dialogue)%uint64(len(l.locks))))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	for _, i := range all {
		l.locks[i].Lock()
	}
	return func() {
		for _, i := range all {
			l.locks[i].Unlock()
		}
	}
}

// A docket holds the dialogues that one commit advances. Whoever has it holds
// their locks.
type docket struct {
	node  *Node
	cases map[place]*docketCase
}

type docketCase struct {
	record  DialogueRecord
	state   *dialogue.State
	changed bool
}

func (d *docket) open(ctx context.Context, p place) (*docketCase, error) {
	if c := d.cases[p]; c != nil {
		return c, nil
	}
	record, err := d.node.opts.Store.Dialogue(ctx, p.agent, p.dialogue)
	if err != nil {
		return nil, err
	}
	state, err := dialogue.Decode(record.State)
	if err != nil {
		return nil, err
	}
	if d.cases == nil {
		d.cases = make(map[place]*docketCase)
	}
	c := &docketCase{record: record, state: state}
	d.cases[p] = c
	return c, nil
}

// judge advances a dialogue by a message, or says why it is not in turn.
func (d *docket) judge(ctx context.Context, agent identity.Address, s step) error {
	c, err := d.open(ctx, place{agent, s.dialogue})
	if err != nil {
		return err
	}
	switch _, err = c.state.Apply(s.move); {
	case err == nil:
		c.changed = true
	case s.report && fault.CodeOf(err) == fault.OutOfTurn:
		d.node.opts.Logger.Warn("a message is out of turn", "agent", agent, "dialogue", s.dialogue, "error", err)
		err = nil
	}
	return err
}

// enter puts the dialogues of an agent that have advanced into its batch.
func (d *docket) enter(b *Batch) {
	for p, c := range d.cases {
		if p.agent != b.Agent || !c.changed {
			continue
		}
		next := c.state.Next()
		expires := time.Now()
		if next.After(expires) {
			expires = next
		}
		b.Dialogues = append(b.Dialogues, DialogueRecord{
			ID: p.dialogue, Version: c.record.Version + 1, State: c.state.Encode(), Next: next, Expires: expires.Add(d.node.opts.Retention),
		})
	}
}

// noteDue tells the clock about what is due in the dialogues of the docket.
func (d *docket) noteDue() {
	for _, c := range d.cases {
		if c.changed {
			d.node.clock.note(c.state.Next())
		}
	}
}

// inTurn judges a message that came in. reason is what its sender is told if it
// is not.
func (d *docket) inTurn(ctx context.Context, a *Agent, in *incoming, value any) (reason string, err error) {
	s, ok := a.stepOf(in.Schema, in.dialogue, in.id, value, false)
	if !ok {
		return "", nil
	}
	err = d.judge(ctx, a.Address(), s)
	if coded, ok := errors.AsType[*fault.Error](err); ok && coded.Code != fault.Internal {
		return coded.Text, nil
	}
	return "", err
}

// errOwnMistake marks what the agent did wrong, and not the sender whose message it
// handles.
var errOwnMistake = errors.New("the agent must not send this")

// The sides of a dialogue. An agent that talks to itself is both of them: the
// one that spoke first, and the one that was spoken to.
const otherSide = "/other"

// across names the dialogue on the side of the one who receives what was sent in
// a dialogue of this node.
func across(m Message, sent string) string {
	id := dialogueID(m.From, m.Session)
	if m.From == m.To && sent == id {
		return id + otherSide
	}
	return id
}
