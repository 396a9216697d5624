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
}

// rulings collects the messages of a protocol that has a dialogue block: those
// the agent handles and those it sends.
func (a *Agent) rulings(in inclusion) {
	if in.protocol.rules.Dialogue == nil {
		return
	}
	for i := range in.protocol.rules.Messages {
		m := &in.protocol.rules.Messages[i]
		if digest, err := spec.Digest(m.Body); err == nil {
			a.ruled[digest] = ruling{in.protocol.rules, m.Name, in.Role}
		}
	}
}

// move is a message as the rules see it.
func (r ruling) move(id string, own bool) dialogue.Move {
	m := dialogue.Move{Protocol: r.rules, Message: r.message, Own: own, ID: id, At: time.Now(), Role: r.role}
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

// dialogueLocks keep two messages of one dialogue from being judged at once.
type dialogueLocks struct {
	seed  maphash.Seed
	locks [256]sync.Mutex
}

func (l *dialogueLocks) of(agent identity.Address, id string) int {
	return int(maphash.String(l.seed, string(agent)+id) % uint64(len(l.locks)))
}

// lock locks dialogues in an order that is the same for all, and returns how to
// unlock them.
func (l *dialogueLocks) lock(agent identity.Address, ids []string) (unlock func()) {
	var places []int
	for _, id := range ids {
		places = append(places, l.of(agent, id))
	}
	slices.Sort(places)
	places = slices.Compact(places)
	for _, p := range places {
		l.locks[p].Lock()
	}
	return func() {
		for _, p := range places {
			l.locks[p].Unlock()
		}
	}
}

// A step is a message that a dialogue is to advance by.
type step struct {
	dialogue string
	move     dialogue.Move
}

// advance judges steps and puts the dialogues that they lead to into the batch.
// The caller holds the locks of the dialogues.
func (n *Node) advance(ctx context.Context, b *Batch, steps []step) error {
	states := make(map[string]*dialogue.State)
	records := make(map[string]DialogueRecord)
	for _, s := range steps {
		if states[s.dialogue] == nil {
			record, err := n.opts.Store.Dialogue(ctx, b.Agent, s.dialogue)
			if err != nil {
				return err
			}
			state, err := dialogue.Decode(record.State)
			if err != nil {
				return err
			}
			states[s.dialogue], records[s.dialogue] = state, record
		}
		if _, err := states[s.dialogue].Apply(s.move); err != nil {
			return err
		}
	}
	for id, state := range states {
		b.Dialogues = append(b.Dialogues, DialogueRecord{ID: id, Version: records[id].Version + 1, State: state.Encode()})
	}
	return nil
}

// inTurn judges a message that came in. reason is what its sender is told if it
// is not; the caller unlocks when the batch is committed.
func (n *Node) inTurn(ctx context.Context, a *Agent, b *Batch, in *incoming) (unlock func(), reason string, err error) {
	s, ok := a.stepOf(in.Schema, dialogueID(in.From, in.Session), in.id, false)
	if !ok {
		return func() {}, "", nil
	}
	unlock = n.dialogues.lock(a.Address(), []string{s.dialogue})
	err = n.advance(ctx, b, []step{s})
	if coded, ok := errors.AsType[*fault.Error](err); ok && coded.Code != fault.Internal {
		return unlock, coded.Text, nil
	}
	return unlock, "", err
}

func (a *Agent) stepOf(schema, dialogueID, id string, own bool) (step, bool) {
	if schema == errorModel.digest && len(a.ruled) > 0 {
		return step{dialogueID, dialogue.Move{Own: own, ID: id, At: time.Now(), AlwaysAllowed: true}}, true
	}
	r, ok := a.ruled[schema]
	return step{dialogueID, r.move(id, own)}, ok
}

// commitInTurn commits what an agent sends, if all of it is in turn. What is not
// is a mistake of the agent's own program.
func (n *Node) commitInTurn(ctx context.Context, a *Agent, b *Batch) error {
	var steps []step
	var ids []string
	for _, e := range b.Outbox {
		if s, ok := a.stepOf(e.Message.Schema, e.Dialogue, e.ID, true); ok {
			s.move.ReplyTo = e.InReply
			steps = append(steps, s)
			ids = append(ids, s.dialogue)
		}
	}
	if len(steps) == 0 {
		return n.commitSends(ctx, b)
	}
	defer n.dialogues.lock(a.Address(), ids)()
	if err := n.advance(ctx, b, steps); err != nil {
		return errors.Join(errOwnMistake, err)
	}
	return n.commitSends(ctx, b)
}

var errOwnMistake = errors.New("the agent must not send this now")
