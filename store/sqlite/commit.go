package sqlite

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
)

// apply changes what the batch says, in the order of its fields. It may stop in
// the middle: its caller undoes the rest.
func (w *writer) apply(agent int64, b *parley.Batch, now time.Time) error {
	for i := range b.Marks {
		if err := w.mark(agent, &b.Marks[i]); err != nil {
			return err
		}
		w.touched = true
	}
	w.touched = true
	for i := range b.Inbox {
		if err := w.receive(agent, b, &b.Inbox[i]); err != nil {
			return err
		}
	}
	for _, id := range b.Done {
		if _, err := w.exec("DELETE FROM inbox WHERE agent = ? AND id = ?", agent, id); err != nil {
			return err
		}
	}
	for i := range b.Retry {
		r := &b.Retry[i]
		if _, err := w.exec("UPDATE inbox SET attempts = ?, before = ? WHERE agent = ? AND id = ?", int64(r.Attempts), when(r.Before), agent, r.ID); err != nil {
			return err
		}
	}
	for i := range b.Outbox {
		if err := w.send(agent, b, &b.Outbox[i], now); err != nil {
			return err
		}
	}
	for i := range b.Outcomes {
		if err := w.settle(agent, &b.Outcomes[i], now); err != nil {
			return err
		}
	}
	for i := range b.Bury {
		if err := w.bury(agent, b, &b.Bury[i]); err != nil {
			return err
		}
	}
	for _, seq := range b.Unbury {
		if _, err := w.exec("DELETE FROM dead WHERE seq = ? AND agent = ?", seq, agent); err != nil {
			return err
		}
	}
	for i := range b.Dialogues {
		if err := w.advance(agent, &b.Dialogues[i]); err != nil {
			return err
		}
	}
	for i := range b.Set {
		if _, err := w.exec("INSERT INTO value (agent, key, value) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", agent, b.Set[i].Key, b.Set[i].Value); err != nil {
			return err
		}
	}
	for _, key := range b.Delete {
		if _, err := w.exec("DELETE FROM value WHERE agent = ? AND key = ?", agent, key); err != nil {
			return err
		}
	}
	for i := range b.Log {
		if err := w.record(agent, b, &b.Log[i]); err != nil {
			return err
		}
	}
	return nil
}

// markKey is what stands for the ID of a mark. Half of a SHA-256 is enough: to
// find two IDs with the same one takes 2⁶⁴ tries, and harms only who sends them.
func markKey(id string) []byte {
	sum := sha256.Sum256([]byte(id))
	return sum[:16]
}

func (w *writer) mark(agent int64, m *parley.Mark) error {
	key := markKey(m.ID)
	changed, err := w.exec("INSERT INTO mark (agent, key, inbox, expires) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", agent, key, unless(m.Inbox, m.ID), when(m.Expires))
	if err != nil || changed > 0 {
		return err
	}
	seen := &parley.SeenError{Mark: parley.Mark{ID: m.ID, Inbox: m.ID}}
	err = w.query(func(r row) error {
		if r[0] != nil {
			seen.Mark.Inbox = r.text(0)
		}
		seen.Mark.Expires = r.time(1)
		return nil
	}, "SELECT inbox, expires FROM mark WHERE agent = ? AND key = ?", agent, key)
	if err != nil {
		return err
	}
	return seen
}

func (w *writer) receive(agent int64, b *parley.Batch, e *parley.InboxEntry) error {
	m := &e.Message
	changed, err := w.exec(`INSERT INTO inbox (seq, agent, id, attempts, before, dialogue, sender, target, session, schema, protocol, payload, proof, expires, sync)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (agent, id) DO NOTHING`,
		w.seq(), agent, e.ID, int64(e.Attempts), when(e.Before), e.Dialogue,
		unless(m.From, b.Agent), unless(m.To, b.Agent), m.Session, m.Schema, m.Protocol, m.Payload, string(m.Proof), when(m.Expires), flag(m.Sync))
	if err == nil && changed == 0 {
		return fault.Errorf(fault.Conflict, "inbox", "%s waits already", e.ID)
	}
	return err
}

func (w *writer) send(agent int64, b *parley.Batch, e *parley.OutboxEntry, now time.Time) error {
	reason, err := encodeReason(e.Reason)
	if err != nil {
		return err
	}
	m := &e.Message
	_, err = w.exec(`INSERT INTO outbox (seq, agent, id, in_reply, state, attempts, next, reason, finished, deadline, waits, repeats, dialogue,
			sender, target, session, schema, protocol, payload, proof, expires, sync, sealed)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (agent, id) DO NOTHING`,
		w.seq(), agent, e.ID, unless(e.InReply, ""), int64(e.State), int64(e.Attempts), when(e.Next), reason, finished(e.State, now), when(e.Deadline), flag(e.Sync), flag(e.Repeats), e.Dialogue,
		unless(m.From, b.Agent), string(m.To), m.Session, m.Schema, m.Protocol, m.Payload, string(m.Proof), when(m.Expires), flag(m.Sync), e.Sealed)
	return err
}

func (w *writer) settle(agent int64, o *parley.Outcome, now time.Time) error {
	reason, err := encodeReason(o.Reason)
	if err != nil {
		return err
	}
	_, err = w.exec("UPDATE outbox SET state = ?, attempts = ?, next = ?, reason = ?, finished = ? WHERE agent = ? AND id = ?",
		int64(o.State), int64(o.Attempts), when(o.Next), reason, finished(o.State, now), agent, o.ID)
	return err
}

// finished is the time from which an outbox entry in that state grows old.
func finished(state parley.OutboxState, now time.Time) any {
	if state == parley.Delivered || state == parley.Failed {
		return when(now)
	}
	return nil
}

func (w *writer) bury(agent int64, b *parley.Batch, d *parley.DeadLetter) error {
	m := &d.Message
	_, err := w.exec(`INSERT INTO dead (seq, agent, time, inbound, id, code, reason, sender, target, session, schema, protocol, payload, proof, expires, sync)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		w.seq(), agent, d.Time.UnixMicro(), flag(d.Inbound), d.ID, string(d.Code), d.Reason,
		unless(m.From, b.Agent), unless(m.To, b.Agent), m.Session, m.Schema, m.Protocol, m.Payload, string(m.Proof), when(m.Expires), flag(m.Sync))
	return err
}

func (w *writer) advance(agent int64, d *parley.DialogueRecord) (err error) {
	var changed int64
	if d.Version == 1 {
		changed, err = w.exec("INSERT INTO dialogue (agent, id, version, state, next, expires) VALUES (?, ?, 1, ?, ?, ?) ON CONFLICT DO NOTHING",
			agent, d.ID, d.State, when(d.Next), when(d.Expires))
	} else {
		changed, err = w.exec("UPDATE dialogue SET version = ?, state = ?, next = ?, expires = ? WHERE agent = ? AND id = ? AND version = ? AND version > 0",
			d.Version, d.State, when(d.Next), when(d.Expires), agent, d.ID, d.Version-1)
	}
	if err != nil || changed > 0 {
		return err
	}
	stored, err := w.number("SELECT version FROM dialogue WHERE agent = ? AND id = ?", agent, d.ID)
	if err != nil {
		return err
	}
	return fault.Errorf(fault.Conflict, "dialogue", "%s is at version %d, the batch expects %d", d.ID, stored, d.Version-1)
}

func (w *writer) record(agent int64, b *parley.Batch, r *parley.LogRecord) error {
	m := &r.Message
	_, err := w.exec(`INSERT INTO log (seq, agent, time, event, id, detail, sender, target, session, schema, protocol, payload, proof, expires, sync)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		w.seq(), agent, r.Time.UnixMicro(), r.Event, r.ID, r.Detail,
		unless(m.From, b.Agent), unless(m.To, b.Agent), m.Session, m.Schema, m.Protocol, m.Payload, string(m.Proof), when(m.Expires), flag(m.Sync))
	return err
}

// reason is a parley.DeliveryError as it is stored.
type reason struct {
	Code     parley.Code `json:"code"`
	Endpoint string      `json:"endpoint,omitempty"`
	Status   int         `json:"status,omitempty"`
	Text     string      `json:"text,omitempty"`
}

func encodeReason(e *parley.DeliveryError) (any, error) {
	if e == nil {
		return nil, nil
	}
	text, err := json.Marshal(reason(*e))
	return string(text), err
}

func decodeReason(text string) (*parley.DeliveryError, error) {
	if text == "" {
		return nil, nil
	}
	var r reason
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("the reason of an outbox entry: %w", err)
	}
	e := parley.DeliveryError(r)
	return &e, nil
}
