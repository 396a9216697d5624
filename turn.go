package parley

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/wire/uagents"
)

// A Turn is one message being handled, or one run of an interval. It is the only
// door to effects: what a handler sends and stores through it is collected and
// committed together when the handler returns without error, in one step with
// the message being done. If the handler fails, or the process dies, nothing of
// it has happened.
//
// A handler may be run again for the same message, after a crash or because
// another turn changed a value that it had read. Calls to the outside world are
// the author's to make idempotent, by ID.
type Turn struct {
	ID      string           // the same each time the message is handled
	Sender  identity.Address // "" for an interval
	Proof   Proof            // who vouches for the sender
	Session string           // a UUID; replies carry the same
	Agent   AgentInfo        // the agent whose turn it is
	Log     *slog.Logger

	agent *Agent
	entry *InboxEntry // nil where no message is being handled
	value any         // of the message, if there is one

	mu      sync.Mutex
	ordinal int // of the next thing that the turn sends
	outbox  []outgoing
	values  *values

	again bool     // the turn has been run before
	asked []string // keys of the answers that were kept
}

func (a *Agent) newTurn(id, session string) *Turn {
	info := a.info()
	return &Turn{
		ID: id, Session: session, Agent: info, agent: a, values: a.node.values.begin(info.Address),
		Log: a.log().With("turn", id),
	}
}

func newSession() string { return uuid.NewString() }

// Deadline is when the message expires; zero if it does not.
func (t *Turn) Deadline() time.Time {
	if t.entry == nil {
		return time.Time{}
	}
	return t.entry.Message.Expires
}

const (
	sendDeadline  = 24 * time.Hour
	replyDeadline = time.Hour
)

// Send sends a message when the turn is committed. It goes out in the turn's
// session and is tried for 24 hours.
func (t *Turn) Send(to identity.Address, msg any) error {
	return t.SendIn(t.Session, to, msg)
}

// SendIn is Send in another session, a UUID, that this or others may have spoken in.
func (t *Turn) SendIn(session string, to identity.Address, msg any) error {
	_, err := t.add(to, msg, session, "")
	return err
}

// outgoing is a message that a turn sends.
type outgoing struct {
	OutboxEntry
	value   any
	answers string // the identity by which the rules know what it answers
}

// add seals a message and puts it among what the turn sends.
func (t *Turn) add(to identity.Address, msg any, session, inReply string) (*outgoing, error) {
	schema, payload, err := encodeMessage(msg)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.put(t.next(), to, msg, schema, payload, session, inReply, time.Time{})
}

// next takes the next place in what the turn sends. The caller holds the lock.
func (t *Turn) next() int {
	t.ordinal++
	return t.ordinal - 1
}

// put seals a message and puts it among what the turn sends. With until it is a
// request that waits so long for its reply. The caller holds the lock.
func (t *Turn) put(ordinal int, to identity.Address, msg any, schema string, payload []byte, session, inReply string, until time.Time) (*outgoing, error) {
	e := outgoing{value: msg, answers: inReply, OutboxEntry: OutboxEntry{
		ID: deriveID(t.ID, ordinal), InReply: inReply, Dialogue: t.dialogueWith(to, session), Deadline: t.deadlineFor(inReply),
		Message: Message{From: t.Agent.Address, To: to, Session: session, Schema: schema, Payload: payload, Proof: Signed},
	}}
	if named, ok := t.value.(Identified); ok && inReply != "" {
		e.answers = named.MessageID()
	}
	if !until.IsZero() {
		e.Sync, e.Deadline = true, until
		t.asked = append(t.asked, askKey(e.ID))
	}
	e.Message.Expires = e.Deadline
	if err := t.agent.seal(&e.OutboxEntry); err != nil {
		return nil, err
	}
	t.outbox = append(t.outbox, e)
	return &t.outbox[len(t.outbox)-1], nil
}

// dialogueWith names the dialogue that a message to somebody belongs to. Who talks
// to itself answers on the side on which it was spoken to.
func (t *Turn) dialogueWith(to identity.Address, session string) string {
	if e := t.entry; e != nil && e.Message.From == to && e.Message.Session == session && e.Dialogue != "" {
		return e.Dialogue
	}
	return dialogueID(to, session)
}

// Raw is a message of which no Go type is known: the digest of its model and its
// JSON. It can be sent and asked with like any other.
type Raw struct {
	Schema  string
	Payload []byte
}

func encodeMessage(msg any) (schema string, payload []byte, err error) {
	if raw, ok := msg.(Raw); ok {
		if !json.Valid(raw.Payload) {
			return "", nil, fault.Errorf(fault.Malformed, "payload", "the message is not JSON")
		}
		return raw.Schema, raw.Payload, nil
	}
	if msg == nil {
		return "", nil, fault.Errorf(fault.Malformed, "", "nil is no message")
	}
	m, err := modelOf(reflect.TypeOf(msg))
	if err != nil {
		return "", nil, err
	}
	payload, err = m.strict.Marshal(msg)
	return m.digest, payload, fault.In(m.record.Name, err)
}

func (t *Turn) deadlineFor(inReply string) time.Time {
	now := time.Now()
	if inReply == "" {
		return now.Add(sendDeadline)
	}
	due := now.Add(replyDeadline)
	if expires := t.Deadline(); expires.After(due) {
		due = expires
	}
	if most := now.Add(sendDeadline); due.After(most) {
		return most
	}
	return due
}

// deriveID names what a turn sends by the turn and the place in it, so that a
// handler that is run again produces the same identities.
func deriveID(turn string, ordinal int) string {
	sum := sha256.Sum256([]byte(turn + "/" + strconv.Itoa(ordinal)))
	return hex.EncodeToString(sum[:16])
}

// dialogueID names a dialogue of the uAgents wire: a session with one peer.
func dialogueID(peer identity.Address, session string) string { return string(peer) + "/" + session }

// seal signs an outgoing message, once and for all. Within a node nothing is
// signed.
func (a *Agent) seal(e *OutboxEntry) error {
	if a.node.agent(e.Message.To) != nil {
		e.Message.Proof = ByChannel
		return nil
	}
	return a.sign(e)
}

func (a *Agent) sign(e *OutboxEntry) error {
	session, err := uuid.Parse(e.Message.Session)
	if err != nil {
		return fault.Errorf(fault.Malformed, "session", "expected a UUID: %w", err)
	}
	raw, err := hex.DecodeString(e.ID)
	if err != nil {
		return err
	}
	envelope, err := uagents.Seal(a.key, &uagents.Draft{
		Target: e.Message.To, Session: session, SchemaDigest: e.Message.Schema, ProtocolDigest: e.Message.Protocol,
		Payload: e.Message.Payload, Expires: uint64(e.Deadline.Unix()), Nonce: binary.BigEndian.Uint64(raw),
	})
	if err != nil {
		return err
	}
	e.Sealed = envelope.Encode()
	return nil
}

// Sent returns how many messages the turn has sent. A message is known by its turn
// and its place in it, so that a handler which is run again sends nothing twice.
func (t *Turn) Sent() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ordinal
}

// SkipTo goes on after the first n messages, for a handler that knows that an
// earlier run has flushed them and does not want to say the same.
func (t *Turn) SkipTo(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ordinal = max(t.ordinal, n)
}

// Flush commits what the turn has collected so far and lets it go out. A handler
// that is run again after a flush finds the flushed messages sent already, and
// they are not sent twice.
func (t *Turn) Flush(ctx context.Context) error { return t.commit(ctx, nil) }

// commit writes what was collected, with more to the same batch, and then lets
// the rest of the node know.
func (t *Turn) commit(ctx context.Context, more func(*Batch)) error {
	t.mu.Lock()
	b, sends := &Batch{Agent: t.Agent.Address}, t.outbox
	t.outbox = nil
	t.mu.Unlock()
	if more != nil {
		more(b)
	}
	set, deleted := t.values.changes()
	for _, key := range slices.Sorted(maps.Keys(set)) {
		b.Set = append(b.Set, KeyValue{key, set[key]})
	}
	b.Delete = append(b.Delete, deleted...)
	for i := range sends {
		b.Log = append(b.Log, record(t.Agent.Address, "sent", sends[i].ID, sends[i].Message, ""))
	}
	if len(sends)+len(b.Set)+len(b.Delete)+len(b.Done)+len(b.Retry)+len(b.Bury) == 0 {
		return t.values.check()
	}
	err := t.values.commit(ctx, func() error {
		unsent, err := t.unsent(ctx, sends)
		if err != nil {
			return err
		}
		return t.agent.node.commitTurn(ctx, t.agent, b, unsent)
	})
	if err != nil && !errors.Is(err, errOwnMistake) { // nothing has happened: it is sent with the next commit
		t.mu.Lock()
		t.outbox = append(sends, t.outbox...)
		t.mu.Unlock()
	}
	return err
}

// unsent leaves out what an earlier run of the turn has flushed.
func (t *Turn) unsent(ctx context.Context, sends []outgoing) ([]outgoing, error) {
	if !t.again {
		return sends, nil
	}
	var left []outgoing
	for _, e := range sends {
		_, err := t.agent.node.opts.Store.OutboxEntry(ctx, t.Agent.Address, e.ID)
		switch {
		case fault.CodeOf(err) == fault.NotFound:
			left = append(left, e)
		case err != nil:
			return nil, err
		}
	}
	return left, nil
}

// withdraw takes back what the turn would send with its next commit.
func (t *Turn) withdraw(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.outbox = slices.DeleteFunc(t.outbox, func(e outgoing) bool { return e.ID == id })
}

// record is a line of the log. What was said is in the line that says that the
// message came or went; later lines about it only name it.
func record(agent identity.Address, event, id string, m Message, detail string) LogRecord {
	if event == "handled" || event == "delivered" || event == "retried" {
		m.Payload = nil
	}
	return LogRecord{Time: time.Now(), Agent: agent, Event: event, ID: id, Message: m, Detail: detail}
}

const (
	maxKey   = 512
	maxValue = 1 << 20
)

// Get returns one of the agent's own values.
func (t *Turn) Get(ctx context.Context, key string) (value []byte, ok bool, err error) {
	return t.values.get(ctx, key)
}

// Set stores a value when the turn is committed. A value over one mebibyte is
// refused and leaves everything as it was.
func (t *Turn) Set(key string, value []byte) error {
	if key == "" || len(key) > maxKey {
		return fault.Errorf(fault.TooLarge, "key", "a key has 1 to %d bytes, not %d", maxKey, len(key))
	}
	if len(value) > maxValue {
		return fault.Errorf(fault.TooLarge, key, "a value has at most %d bytes, not %d", maxValue, len(value))
	}
	t.values.set(key, slices.Clone(value))
	return nil
}

// Delete removes a value when the turn is committed.
func (t *Turn) Delete(key string) { t.values.delete(key) }

// Keys returns up to limit keys of the agent's own values that start with a prefix
// and are greater than after, in order of bytes, as they are committed.
func (t *Turn) Keys(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	return t.agent.node.opts.Store.Keys(ctx, t.Agent.Address, prefix, after, limit)
}

// Load returns one of the agent's own values as a T, from JSON. ok is false if
// there is none.
func Load[T any](ctx context.Context, t *Turn, key string) (value T, ok bool, err error) {
	text, ok, err := t.Get(ctx, key)
	if err != nil || !ok {
		return value, false, err
	}
	if err := json.Unmarshal(text, &value); err != nil {
		return value, false, fmt.Errorf("the value of %q is no %T: %w", key, value, err)
	}
	return value, true, nil
}

// Save stores a value as JSON when the turn is committed.
func Save[T any](t *Turn, key string, value T) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fault.Errorf(fault.Unsupported, key, "%w", err)
	}
	return t.Set(key, text)
}

var errConflict = errors.New("another turn changed a value that this one had read")
