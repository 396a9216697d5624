package parley

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/wire/uagents"
)

// askTimeout is how long an Ask waits if its context has no deadline.
const askTimeout = 30 * time.Second

// An Asker can ask: a [Turn], or an [Agent] outside of one.
type Asker interface{ askingTurn() *Turn }

func (t *Turn) askingTurn() *Turn { return t }

func (a *Agent) askingTurn() *Turn {
	session := newSession()
	return a.newTurn("ask/"+session, session)
}

// Ask sends a message and waits for its reply, which is an Out, or one of its
// variants if Out is a sealed interface, or whatever comes first if Out is [Raw].
// Each Ask has a session of its own, so
// that any number may wait for the same peer. If the peer answers with an
// ErrorMessage, the error is an [*Error] with code Refused and the peer's text.
//
// In a handler, Ask flushes the turn first; see [Turn.Flush].
func Ask[Out any](ctx context.Context, from Asker, to identity.Address, msg any) (Out, error) {
	var out Out
	var replies []*model
	if _, raw := any(out).(Raw); !raw {
		var err error
		if replies, err = repliesOf(reflect.TypeFor[Out]()); err != nil {
			return out, err
		}
	}
	answer, err := from.askingTurn().ask(ctx, to, msg, replies)
	if err != nil {
		return out, err
	}
	if raw, ok := any(&out).(*Raw); ok {
		raw.Schema, raw.Payload = answer.Schema, answer.Payload
		return out, nil
	}
	for _, m := range replies {
		if m.digest != answer.Schema {
			continue
		}
		value := reflect.New(m.typ)
		if err := m.strict.Unmarshal(answer.Payload, value.Interface()); err != nil {
			return out, fault.Errorf(fault.Malformed, "", "the reply of %s: %w", to, err)
		}
		reflect.ValueOf(&out).Elem().Set(value.Elem())
		return out, nil
	}
	return out, errorOf(answer)
}

func errorOf(answer Message) error {
	var m ErrorMessage
	if err := errorModel.lax.Unmarshal(answer.Payload, &m); err != nil {
		return fault.Errorf(fault.Malformed, "", "the peer's error cannot be read: %w", err)
	}
	return &fault.Error{Code: fault.Refused, Text: m.Error}
}

func (t *Turn) ask(ctx context.Context, to identity.Address, msg any, replies []*model) (Message, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(askTimeout)
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	n := t.agent.node
	t.mu.Lock()
	ordinal := t.next()
	t.mu.Unlock()
	id := deriveID(t.ID, ordinal)
	if earlier, ok := n.earlierAnswer(ctx, t.Agent.Address, id); ok {
		t.skip(id)
		return earlier, nil
	}
	q := n.asks.add(t.Agent.Address, to, sessionOf(id), id, replies, t.entry != nil)
	defer n.asks.drop(q)
	e, err := t.addAsk(ordinal, to, msg, q.session, deadline)
	if err != nil {
		return Message{}, err
	}
	receipt := n.deliverer.watch(e.ID, e.Message.From, to)
	defer n.deliverer.unwatch(receipt)
	if err := t.Flush(ctx); err != nil {
		t.withdraw(e.ID)
		return Message{}, err
	}
	delivered := receipt.done
	for {
		select {
		case answer := <-q.answers:
			return answer, nil
		case <-delivered:
			delivered = nil
			if receipt.outcome.State == Failed {
				return Message{}, receipt.outcome.Reason
			}
		case <-ctx.Done():
			return Message{}, n.noReply(ctx, &e.OutboxEntry)
		}
	}
}

// noReply says that time is up, and what was in the way of the request. That is not in
// the text of the fault, which handlers hand on to strangers.
func (n *Node) noReply(ctx context.Context, e *OutboxEntry) error {
	late := &fault.Error{Code: fault.Unavailable, Text: "no reply in time", Err: ctx.Err()}
	stored, err := n.opts.Store.OutboxEntry(context.WithoutCancel(ctx), e.Message.From, e.ID)
	if err != nil || stored.Reason == nil {
		return late
	}
	return fmt.Errorf("%w: the last try: %w", late, stored.Reason)
}

// addAsk adds a request that expires when the asking ends and that is sent on a
// connection which waits for the reply: the peer need not know how to reach us.
func (t *Turn) addAsk(ordinal int, to identity.Address, msg any, session string, until time.Time) (*outgoing, error) {
	schema, payload, err := encodeMessage(msg)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.put(ordinal, to, msg, schema, payload, session, "", until)
}

// skip notes a request that an earlier run of the turn has sent.
func (t *Turn) skip(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = append(t.asked, askKey(id))
}

// answered lists the keys of the answers that the turn got; they go when it ends.
func (t *Turn) answered() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.asked)
}

// sessionOf makes a session from an ID: a UUID of version 4 in form.
func sessionOf(id string) string {
	u := uuid.MustParse(id)
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return u.String()
}

// askKey is where the answer to a request is kept until the turn has ended.
func askKey(id string) string { return "\x00ask/" + id }

// earlierAnswer finds the answer that an earlier run of the turn got.
func (n *Node) earlierAnswer(ctx context.Context, agent identity.Address, id string) (Message, bool) {
	text, ok, err := n.opts.Store.Get(ctx, agent, askKey(id))
	if err != nil || !ok {
		return Message{}, false
	}
	var m Message
	if err := json.Unmarshal(text, &m); err != nil {
		return Message{}, false
	}
	return m, true
}

// asks are the requests that wait for a reply.
type asks struct {
	mu      sync.Mutex
	waiting map[askPlace]*asked
}

type askPlace struct {
	agent, peer identity.Address
	session     string
}

type asked struct {
	askPlace
	id      string
	keep    bool     // the turn may be run again and must find the answer
	digests []string // of the replies that end the waiting; nil for all
	answers chan Message
}

func (a *asks) add(agent, peer identity.Address, session, id string, replies []*model, keep bool) *asked {
	q := &asked{askPlace: askPlace{agent, peer, session}, id: id, keep: keep, answers: make(chan Message, 1)}
	for _, m := range append(replies[:len(replies):len(replies)], errorModel) {
		if replies != nil {
			q.digests = append(q.digests, m.digest)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		a.waiting = make(map[askPlace]*asked)
	}
	a.waiting[q.askPlace] = q
	return q
}

func (a *asks) drop(q *asked) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, q.askPlace)
}

// find returns the request that a message answers. A receipt, or any message
// that was not asked for, goes to its handler instead; so does the request
// itself, where an agent asks itself.
func (a *asks) find(agent identity.Address, m *incoming) *asked {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.waiting[askPlace{agent, m.From, m.Session}]
	if q == nil || q.id == m.id || q.digests != nil && !slices.Contains(q.digests, m.Schema) {
		return nil
	}
	return q
}

func (q *asked) answer(m Message) {
	select {
	case q.answers <- m:
	default: // one answer is enough
	}
}

// hear takes over the reply that came back on a connection. Peers do not sign
// these; they are believed because the connection was ours, and marked.
func (n *Node) hear(ctx context.Context, request *OutboxEntry, body []byte) {
	e, err := uagents.Decode(body)
	if err != nil {
		n.opts.Logger.Info("the reply on a connection is no envelope", "peer", request.Message.To, "error", err)
		return
	}
	if e.Signature == nil && (e.Sender != request.Message.To || e.Target != request.Message.From || e.Session.String() != request.Message.Session) {
		n.opts.Logger.Info("an unsigned reply that does not belong to the request is dropped", "peer", request.Message.To)
		return
	}
	if e.Signature == nil && n.opts.RefuseUnsignedReplies {
		n.opts.Logger.Info("an unsigned reply is dropped", "peer", request.Message.To)
		return
	}
	var in *incoming
	if e.Signature != nil {
		if in, err = n.open(Frame{Body: body}); err != nil {
			n.opts.Logger.Info("the reply on a connection is refused", "peer", request.Message.To, "error", err)
			return
		}
	} else {
		payload, err := e.DecodePayload()
		if err != nil {
			return
		}
		in = &incoming{id: deriveID(request.ID, -1), Message: Message{
			From: e.Sender, To: e.Target, Session: e.Session.String(), Schema: e.SchemaDigest, Payload: payload, Proof: ByChannel,
		}}
	}
	if _, err := n.accept(ctx, in); err != nil {
		n.opts.Logger.Info("the reply on a connection is refused", "peer", request.Message.To, "error", err)
	}
}
