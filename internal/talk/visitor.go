package talk

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/run"
	"github.com/parley-agents/parley/wire/uagents"
)

// A Visitor is a [Node] without a node: it speaks as a user, who has a random
// address, signs nothing, and hears only what comes back on the connection. It
// keeps its log in memory.
type Visitor struct {
	own       identity.Address
	transport parley.Transport
	endpoint  string
	timeout   time.Duration // for the reply
	verifier  *identity.Verifier
	jobs      chan visit
	done      chan struct{}

	mu      sync.Mutex
	records []parley.LogRecord
	seq     int64
	changed chan struct{}
}

// A visit is a message on its way.
type visit struct {
	id       string
	message  parley.Message
	envelope []byte
	over     chan struct{}
}

const (
	maxVisits = 100   // messages that wait for the one before
	maxKept   = 10000 // records
)

// NewVisitor makes a visitor of an agent that answers at an endpoint, for as long
// as ctx lasts.
func NewVisitor(ctx context.Context, transport parley.Transport, endpoint string, timeout time.Duration) (*Visitor, error) {
	own, err := identity.NewUserAddress()
	if err != nil {
		return nil, err
	}
	v := &Visitor{
		own: own, transport: transport, endpoint: endpoint, timeout: timeout, verifier: identity.NewVerifier(nil),
		jobs: make(chan visit, maxVisits), done: make(chan struct{}), changed: make(chan struct{}),
	}
	go func() {
		defer close(v.done)
		v.work(ctx)
	}()
	return v, nil
}

// Address is who speaks.
func (v *Visitor) Address() identity.Address { return v.own }

// Wait returns when the visitor has stopped, after its context has ended.
func (v *Visitor) Wait() { <-v.done }

// work sends one message after the other: peers know a waiting user by the address
// alone, and would mix up two that wait at once.
func (v *Visitor) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case next := <-v.jobs:
			v.visit(ctx, next)
			close(next.over)
		}
	}
}

// Send is that of [Node].
func (v *Visitor) Send(ctx context.Context, r run.Request) (run.Reply, error) {
	session, err := uuid.Parse(r.Session)
	if err != nil {
		return run.Reply{}, fault.Errorf(fault.Malformed, "session", "%w", err)
	}
	var nonce [8]byte
	_, _ = rand.Read(nonce[:]) // it never fails
	e := &uagents.Envelope{
		Version: 1, Sender: v.own, Target: r.To, Session: session, SchemaDigest: r.Schema,
		Expires: new(uint64(time.Now().Add(v.timeout).Unix() + 1)), Nonce: new(binary.BigEndian.Uint64(nonce[:])),
	}
	e.SetPayload(r.Payload)
	if err := e.Validate(); err != nil {
		return run.Reply{}, err
	}
	next := visit{id: uuid.NewString(), envelope: e.Encode(), over: make(chan struct{}), message: parley.Message{
		From: v.own, To: r.To, Session: r.Session, Schema: r.Schema, Payload: r.Payload, Proof: parley.Unproved, Sync: true,
	}}
	if err := v.enqueue(next); err != nil {
		return run.Reply{}, err
	}
	if r.Timeout > 0 {
		select {
		case <-next.over:
		case <-v.done:
		case <-ctx.Done():
		case <-time.After(r.Timeout):
		}
	}
	return run.Reply{ID: next.id, Session: r.Session, State: "stored"}, nil
}

func (v *Visitor) enqueue(next visit) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	select {
	case v.jobs <- next:
		v.note("sent", next.id, next.message, "")
		return nil
	default:
		return fault.Errorf(fault.TooLarge, "", "%d messages wait for the agent already", maxVisits)
	}
}

// visit sends a message and notes what comes back.
func (v *Visitor) visit(ctx context.Context, next visit) {
	ctx, cancel := context.WithTimeout(ctx, v.timeout+2*time.Second) // the peer says itself that time is up
	defer cancel()
	frame, err := v.transport.Send(ctx, v.endpoint, parley.Frame{Body: next.envelope, Sync: true})
	var reply parley.Message
	if err == nil {
		reply, err = v.read(next.message, frame.Body)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		v.note("dead", next.id, next.message, err.Error())
		return
	}
	v.note("delivered", next.id, next.message, "")
	v.note("received", uuid.NewString(), reply, "")
}

// read believes a reply that is signed by the agent, or that is not signed and came
// on the connection to it.
func (v *Visitor) read(request parley.Message, body []byte) (parley.Message, error) {
	if len(body) == 0 {
		return parley.Message{}, errors.New("it was taken over, and no reply came")
	}
	e, err := uagents.Decode(body)
	if err != nil {
		return parley.Message{}, err
	}
	if e.Sender != request.To || e.Target != v.own || e.Session.String() != request.Session {
		return parley.Message{}, errors.New("the reply belongs to another message")
	}
	proof := parley.ByChannel
	if e.Signature != nil {
		if err := e.Verify(v.verifier); err != nil {
			return parley.Message{}, err
		}
		proof = parley.Signed
	}
	payload, err := e.DecodePayload()
	return parley.Message{From: e.Sender, To: e.Target, Session: request.Session, Schema: e.SchemaDigest, Payload: payload, Proof: proof}, err
}

// note adds a record; the caller has the lock.
func (v *Visitor) note(event, id string, m parley.Message, detail string) {
	v.seq++
	if len(v.records) == maxKept {
		v.records = slices.Delete(v.records, 0, 1)
	}
	v.records = append(v.records, parley.LogRecord{Seq: v.seq, Time: time.Now(), Agent: v.own, Event: event, ID: id, Message: m, Detail: detail})
	close(v.changed)
	v.changed = make(chan struct{})
}

// Log is that of [Node].
func (v *Visitor) Log(ctx context.Context, q parley.LogQuery, wait time.Duration) ([]parley.LogRecord, error) {
	late := time.After(wait)
	for {
		records, changed := v.find(q)
		if len(records) > 0 || wait <= 0 {
			return records, nil
		}
		select {
		case <-changed:
		case <-late:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (v *Visitor) find(q parley.LogQuery) (records []parley.LogRecord, changed <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, r := range v.records {
		if r.Seq > q.After && (q.Session == "" || q.Session == r.Message.Session) {
			records = append(records, r)
		}
	}
	if q.Limit > 0 && len(records) > q.Limit && q.Last {
		records = records[len(records)-q.Limit:]
	} else if q.Limit > 0 && len(records) > q.Limit {
		records = records[:q.Limit]
	}
	return records, v.changed
}
