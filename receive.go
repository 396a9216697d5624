package parley

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/wire/uagents"
)

// This file holds the way of a message into the node, one function per step, in
// the order in which they run: open, route, fresh, admit, keep, handle. Each
// step passes the message on or returns an error for the sender; until it is
// kept, nothing has been touched.

// skew is how far the clocks of two nodes may differ.
const skew = 30 * time.Second

// incoming is a message on its way in.
type incoming struct {
	Message
	id       string // identity of the envelope; "" if it has none
	dialogue string
}

// deliver takes over one frame from a transport.
func (n *Node) deliver(ctx context.Context, f Frame) (Frame, error) {
	if !n.taking.Load() {
		return Frame{}, fault.Errorf(fault.Unavailable, "", "the node is stopping")
	}
	in, err := n.open(f)
	if err != nil {
		return Frame{}, err
	}
	reply, err := n.accept(ctx, in)
	if err == nil && in.Proof == Signed {
		n.deliverer.encourage(in.From)
		if f.Deduplicates {
			n.peers.learn(ctx, in.From)
		}
	}
	return reply, err
}

// accept takes over one message that was opened.
func (n *Node) accept(ctx context.Context, in *incoming) (Frame, error) {
	a, err := n.route(in)
	if err != nil {
		return Frame{}, err
	}
	if err := n.fresh(in); err != nil {
		return Frame{}, err
	}
	if in.id == "" {
		in.id = randomID()
	}
	if in.dialogue == "" {
		in.dialogue = dialogueID(in.From, in.Session)
	}
	var wait *waiter
	if in.Sync {
		wait = n.waiters.add(in.id)
		defer n.waiters.drop(wait)
	}
	repeated, err := n.keep(ctx, a, in)
	if err != nil {
		return Frame{}, err
	}
	if !in.Sync {
		return Frame{}, nil
	}
	if repeated {
		if reply, ok := n.earlierReply(ctx, a, in); ok {
			return Frame{Body: reply}, nil
		}
	}
	return n.await(ctx, a, in, wait)
}

// open decodes an envelope and establishes who vouches for its sender. The
// texts of its errors are those that the peers know.
func (n *Node) open(f Frame) (*incoming, error) {
	e, err := uagents.Decode(f.Body)
	if err != nil {
		return nil, decodeError(err, f.Body)
	}
	proof := Signed
	if e.Sender.IsUser() {
		proof = Unproved
	} else if err := e.Verify(n.verifier); err != nil {
		return nil, err
	}
	if n.agent(e.Target) == nil { // before the form of the payload, as the peers do
		return nil, notServed()
	}
	if err := e.Validate(); err != nil {
		return nil, err
	}
	payload, err := e.DecodePayload()
	if err != nil {
		return nil, err
	}
	in := &incoming{Message: Message{
		From: e.Sender, To: e.Target, Session: e.Session.String(), Schema: e.SchemaDigest, Payload: payload, Proof: proof, Sync: f.Sync,
	}}
	if e.ProtocolDigest != nil {
		in.Protocol = *e.ProtocolDigest
	}
	if e.Expires != nil && *e.Expires > 0 {
		in.Expires = time.Unix(int64(*e.Expires), 0)
	}
	if id, ok := e.ID(); ok && proof == Signed {
		in.id = hex.EncodeToString(id[:16])
	}
	return in, nil
}

// decodeError gives the peers' text for what is no envelope; the field and what
// was expected stay in the error for those who look.
func decodeError(err error, body []byte) error {
	coded, ok := errors.AsType[*fault.Error](err)
	if !ok || coded.Code == fault.TooLarge {
		return err
	}
	text := "contents do not match envelope schema"
	if !uagents.IsJSON(body) {
		text = "empty or invalid payload"
	}
	return &fault.Error{Code: fault.Malformed, Field: coded.Field, Text: text, Err: err}
}

func notServed() error {
	return &fault.Error{Code: fault.NotFound, Field: "target", Text: "unable to route envelope"}
}

// route finds the agent that the message is for.
func (n *Node) route(in *incoming) (*Agent, error) {
	a := n.agent(in.To)
	if a == nil {
		return nil, notServed()
	}
	return a, nil
}

// fresh refuses what has expired.
func (n *Node) fresh(in *incoming) error {
	if !in.Expires.IsZero() && time.Now().After(in.Expires.Add(skew)) {
		return fault.Errorf(fault.Expired, "expires", "the envelope expired at %s", in.Expires.UTC().Format(time.RFC3339))
	}
	return nil
}

// admit reads a message for its handler, or says why it cannot be handled, in
// words for its sender. Such a message is taken over and answered with an
// ErrorMessage.
func (a *Agent) admit(in *incoming) (h *handler, value any, reason string) {
	h = a.handlers.find(in.Schema)
	switch {
	case h == nil:
		return nil, nil, "no handler for the schema " + in.Schema
	case in.Proof == Unproved && !h.unsigned:
		return nil, nil, "Message must be sent from verified agent address"
	}
	value, err := h.read(in.Payload, a.opts.Lax)
	if err != nil {
		return nil, nil, "Message does not conform to expected schema: " + err.Error()
	}
	return h, value, ""
}

// keep stores the message and what it must be remembered by, in one commit, and
// queues it for its handler. repeated says that it was taken over before.
func (n *Node) keep(ctx context.Context, a *Agent, in *incoming) (repeated bool, err error) {
	if a.full() && n.asks.find(a.Address(), in) == nil { // an answer makes room
		return false, fault.Errorf(fault.Unavailable, "", "too many messages are waiting for %s", a.name)
	}
	if len(a.ruled) > 0 {
		defer n.dialogues.lock(place{a.Address(), in.dialogue})()
	}
	b, d := &Batch{Agent: a.Address()}, &docket{node: n}
	then, err := n.take(ctx, a, b, d, in)
	if err != nil {
		return false, err
	}
	d.enter(b)
	a.feed.RLock()
	defer a.feed.RUnlock()
	repeated, err = seen(n.commitSends(ctx, b))
	if err == nil && !repeated {
		d.noteDue()
		then()
	}
	return repeated, err
}

// take puts into a batch what taking over a message comes to. then is to be
// called when that is committed.
func (n *Node) take(ctx context.Context, a *Agent, b *Batch, d *docket, in *incoming) (then func(), err error) {
	b.Marks = append(b.Marks, n.mark(in))
	line := record(a.Address(), "received", in.id, in.Message, "")
	defer func() { b.Log = append(b.Log, line) }()
	if q := n.asks.find(a.Address(), in); q != nil {
		if q.keep {
			answer, err := json.Marshal(in.Message)
			if err != nil {
				return nil, err
			}
			b.Set = append(b.Set, KeyValue{askKey(q.id), answer})
		}
		return func() { q.answer(in.Message) }, nil
	}
	h, value, reason := a.admit(in)
	if reason == "" {
		if reason, err = d.inTurn(ctx, a, in, value); err != nil {
			return nil, err
		}
	}
	if reason != "" {
		line.Event, line.Detail = "refused", reason
		return func() {}, a.answerWithError(b, in, reason)
	}
	e := InboxEntry{ID: in.id, Dialogue: in.dialogue, Message: in.Message}
	if h.confirm != nil {
		if err := a.confirm(b, d, e, h.confirm(value)); err != nil {
			return nil, err
		}
	}
	b.Inbox = append(b.Inbox, e)
	return func() {
		if h.notice != nil {
			h.notice(in.From, in.Session, value)
		}
		if !a.recovering.Load() {
			a.queue().add(e)
		}
	}, nil
}

// commitInbox commits entries that did not come from a peer just now, and queues
// them.
func (n *Node) commitInbox(ctx context.Context, a *Agent, b *Batch) error {
	a.feed.RLock()
	defer a.feed.RUnlock()
	if err := n.opts.Store.Commit(ctx, b); err != nil {
		return err
	}
	if a.recovering.Load() {
		return nil
	}
	for _, e := range b.Inbox {
		a.queue().add(e)
	}
	return nil
}

// confirm puts the receipt for a message into the batch that takes it over.
func (a *Agent) confirm(b *Batch, d *docket, e InboxEntry, receipt any) error {
	if e.Message.From.IsUser() && !e.Message.Sync {
		return nil // there is nowhere to send it
	}
	t := a.newTurn(e.ID+"/receipt", e.Message.Session)
	t.entry = &e
	out, err := t.add(e.Message.From, receipt, e.Message.Session, e.ID)
	if err != nil {
		return err
	}
	b.Outbox = append(b.Outbox, out.OutboxEntry)
	b.Log = append(b.Log, record(a.Address(), "sent", out.ID, out.Message, ""))
	if s, ok := a.stepOf(out.Message.Schema, e.Dialogue, out.ID, receipt, true); ok {
		return d.judge(context.Background(), a.Address(), s) // the dialogue is open already
	}
	return nil
}

// mark is what a message is remembered by, until it would be refused anyway.
func (n *Node) mark(in *incoming) Mark {
	m := Mark{ID: in.id, Inbox: in.id, Expires: time.Now().Add(n.opts.Retention)}
	if !in.Expires.IsZero() {
		m.Expires = in.Expires.Add(2 * skew)
	}
	return m
}

// seen tells a repeat, which is no error, from a failure.
func seen(err error) (repeated bool, _ error) {
	if _, ok := errors.AsType[*SeenError](err); ok {
		return true, nil
	}
	return false, err
}

// answerWithError puts an ErrorMessage for the sender into the batch. An
// ErrorMessage is never answered by one, and users have no address to write to.
func (a *Agent) answerWithError(b *Batch, in *incoming, reason string) error {
	if in.Schema == errorModel.digest || in.Schema == timeoutSchema || in.From.IsUser() && !in.Sync {
		return nil
	}
	t := a.newTurn(in.id+"/error", in.Session)
	t.entry = &InboxEntry{ID: in.id, Message: in.Message}
	e, err := t.add(in.From, ErrorMessage{Error: reason}, in.Session, in.id)
	if err != nil {
		return err
	}
	b.Outbox = append(b.Outbox, e.OutboxEntry)
	return nil
}

func randomID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// maxRetries is how often a handler may ask to be run again.
const maxRetries = 5

// storePause is how long a message waits when the store cannot be written.
const storePause = time.Second

// handle runs the handler of a message that is kept. It returns how long to wait
// before running it again; 0 says that the message is done.
func (n *Node) handle(ctx context.Context, a *Agent, entry *InboxEntry) time.Duration {
	e := *entry
	h := a.handlers.find(e.Message.Schema)
	if e.Message.Schema == timeoutSchema {
		h = a.timeoutHandler()
	}
	if h == nil { // the program has changed since the message was stored
		return n.fail(ctx, a, e, nil, fault.Errorf(fault.Unhandled, "", "no handler for the schema %s", e.Message.Schema))
	}
	for again := e.Seq > 0 || e.Attempts > 0; ; again = true { // what comes from the store may have been run before
		t := a.turnFor(e)
		t.again = again
		reply, err := a.invoke(ctx, h, t, e)
		if err == nil && reply != nil {
			if _, err = t.add(e.Message.From, reply, e.Message.Session, e.ID); fault.CodeOf(err) == fault.Malformed {
				err = errors.Join(errOwnMistake, err)
			}
		}
		stored := true
		if err == nil {
			err = t.commit(ctx, func(b *Batch) {
				b.Done = []string{e.ID}
				b.Delete = append(b.Delete, t.answered()...)
				b.Log = append(b.Log, record(a.Address(), "handled", e.ID, e.Message, ""))
			})
			stored = fault.CodeOf(err) != fault.Unavailable
		}
		retry, later := asRetry(err)
		switch {
		case err == nil:
			return 0
		case errors.Is(err, errConflict) && ctx.Err() == nil:
			continue
		case ctx.Err() != nil: // stopping: the message is stored and will be handled again
			return 0
		case !stored:
			a.log().Error("what a handler did cannot be stored; it is run again", "message", e.ID, "error", err)
			return storePause
		case later && e.Attempts < maxRetries:
			entry.Attempts++
			return n.postpone(ctx, a, e, retry.after)
		}
		return n.fail(ctx, a, e, t.answered(), err)
	}
}

func (a *Agent) turnFor(e InboxEntry) *Turn {
	t := a.newTurn(e.ID, e.Message.Session)
	t.Sender, t.Proof, t.entry = e.Message.From, e.Message.Proof, &e
	return t
}

// invoke decodes the message and calls the handler through the middleware. A
// panic is an error of this message.
func (a *Agent) invoke(ctx context.Context, h *handler, t *Turn, e InboxEntry) (reply any, err error) {
	in, err := h.read(e.Message.Payload, a.opts.Lax)
	if err != nil {
		return nil, err
	}
	t.value = in
	run := h.run
	for i := len(a.middleware) - 1; i >= 0 && !h.bare; i-- {
		run = a.middleware[i](run)
	}
	err = protect(func() error {
		var err error
		reply, err = run(ctx, t, in)
		return err
	})
	return reply, err
}

func stack() string { return string(debug.Stack()) }

// postpone stores that the handler wants the message again.
func (n *Node) postpone(ctx context.Context, a *Agent, e InboxEntry, after time.Duration) time.Duration {
	after = max(after, time.Millisecond)
	b := &Batch{Agent: a.Address(), Retry: []Retry{{ID: e.ID, Attempts: e.Attempts + 1, Before: time.Now().Add(after)}}}
	if err := n.opts.Store.Commit(ctx, b); err != nil && ctx.Err() == nil {
		a.log().Error("a retry cannot be stored", "error", err)
	}
	return after
}

// fail ends a message whose handler failed: the sender is told, in words that
// are safe to show; the details go to the log.
func (n *Node) fail(ctx context.Context, a *Agent, e InboxEntry, answered []string, err error) time.Duration {
	log := a.log().With("message", e.ID, "sender", e.Message.From)
	text := fmt.Sprintf("internal error (message %s)", e.ID)
	coded, ours := errors.AsType[*fault.Error](err)
	if ours && coded.Code != fault.Internal && !errors.Is(err, errOwnMistake) {
		text = coded.Text
		log.Info("the handler refuses the message", "code", coded.Code, "text", coded.Text)
	} else {
		log.Error("the handler failed", "error", err)
	}
	b := &Batch{Agent: a.Address(), Done: []string{e.ID}, Delete: answered}
	if _, again := asRetry(err); again {
		b.Bury = []DeadLetter{{Agent: a.Address(), Time: time.Now(), Inbound: true, ID: e.ID, Message: e.Message, Code: fault.Unavailable, Reason: err.Error()}}
	}
	b.Log = []LogRecord{record(a.Address(), "failed", e.ID, e.Message, text)}
	in := &incoming{Message: e.Message, id: e.ID}
	if err := a.answerWithError(b, in, text); err != nil {
		log.Error("the sender cannot be told", "error", err)
	}
	if err := n.commitSends(ctx, b); err != nil {
		log.Error("the failure cannot be stored", "error", err)
		if ctx.Err() == nil {
			return storePause
		}
	}
	return 0
}

// earlierReply finds the reply that a repeated request got the first time.
func (n *Node) earlierReply(ctx context.Context, a *Agent, in *incoming) ([]byte, bool) {
	replies, err := n.opts.Store.Replies(ctx, a.Address(), in.id)
	if err != nil || len(replies) == 0 {
		return nil, false
	}
	return replies[0].Sealed, len(replies[0].Sealed) > 0
}

// await waits on the connection for the reply to a message. When time is up the
// caller gets what the peers say then; the reply goes the usual way.
func (n *Node) await(ctx context.Context, a *Agent, in *incoming, w *waiter) (Frame, error) {
	patience := n.opts.MaxSync
	if !in.Expires.IsZero() {
		patience = min(patience, max(0, time.Until(in.Expires)))
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var reply []byte
	select {
	case reply = <-w.reply:
	case <-timer.C:
		reply = n.waiters.giveUp(w)
	case <-ctx.Done():
		reply = n.waiters.giveUp(w)
	}
	if reply == nil {
		return n.notInTime(a, in)
	}
	return Frame{Body: reply}, nil
}

func (n *Node) notInTime(a *Agent, in *incoming) (Frame, error) {
	t := a.newTurn(in.id+"/late", in.Session)
	t.entry = &InboxEntry{Message: in.Message}
	e, err := t.add(in.From, ErrorMessage{Error: "Query envelope expired"}, in.Session, in.id)
	if err == nil && len(e.Sealed) == 0 { // somebody elsewhere has the key of an agent of this node
		err = a.sign(&e.OutboxEntry)
	}
	if err != nil {
		return Frame{}, err
	}
	return Frame{Body: e.Sealed}, nil
}
