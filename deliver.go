package parley

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

// This file holds the way of a message out of the node: it waits in the outbox,
// is tried until it is taken over, refused or past its deadline, and becomes a
// dead letter if it could not be delivered.

// A deliverer sends what is in the outbox. Each target has a queue of its own,
// so that one that fails or is slow delays no other; within a dialogue messages
// go in order.
type deliverer struct {
	node  *Node
	slots chan struct{} // bounds what is being sent at once
	asks  chan struct{} // the same for requests, which take as long as their replies

	mu       sync.Mutex
	targets  map[identity.Address]*target
	receipts map[string][]*Receipt
	held     map[string]bool // IDs of entries that are not to be sent: they go out on a connection, or have gone
	settling settlements
	work     context.Context // ended by stop; nil before start
	cancel   context.CancelFunc
	running  sync.WaitGroup
}

// A target is a peer that messages are waiting for.
type target struct {
	address identity.Address
	queue   []OutboxEntry     // the next ones; the store has them all
	busy    map[string]string // dialogues with a message on its way, and its ID
	sending int
	asking  int             // of those on their way, requests that wait for their replies
	spilled bool            // the store has more than the queue
	settled map[string]bool // what has ended while the store is being read; else nil
	until   time.Time
	pause   time.Duration // after the last failure
}

const (
	maxQueued    = 256 // messages of a target that are held in memory
	maxPerTarget = 8   // dialogues of a target that are served at once
	maxAsking    = 256 // requests to a target that wait for their replies at once
	firstPause   = time.Second
	lastPause    = 5 * time.Minute
	sendTimeout  = 30 * time.Second
)

func newDeliverer(n *Node) *deliverer {
	return &deliverer{
		node: n, settling: settlements{node: n}, slots: make(chan struct{}, n.opts.MaxSending), asks: make(chan struct{}, n.opts.MaxAsking),
		targets: make(map[identity.Address]*target), receipts: make(map[string][]*Receipt), held: make(map[string]bool),
	}
}

// start takes up what the last run left in the outbox.
func (d *deliverer) start(ctx context.Context) error {
	addresses, err := d.node.opts.Store.Targets(ctx)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.work, d.cancel = context.WithCancel(ctx)
	d.settling.open()
	for _, a := range addresses {
		t := d.target(a)
		t.spilled, t.queue = true, nil // the store has them all, in order
	}
	for _, t := range d.targets { // also those that were sent to before the start
		d.pump(t)
	}
	return nil
}

// stop cuts what is being sent; it is stored and sent after the next start.
func (d *deliverer) stop() {
	d.mu.Lock()
	if d.cancel != nil {
		d.cancel()
	}
	d.mu.Unlock()
	d.running.Wait()
	d.settling.close()
}

func (d *deliverer) target(address identity.Address) *target {
	t := d.targets[address]
	if t == nil {
		t = &target{address: address, busy: make(map[string]string)}
		d.targets[address] = t
	}
	return t
}

// wake queues entries that were committed just now.
func (d *deliverer) wake(entries []OutboxEntry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range entries {
		if d.held[e.ID] {
			continue
		}
		t := d.target(e.Message.To)
		if t.spilled || len(t.queue) >= maxQueued {
			t.spilled = true
		} else {
			t.queue = append(t.queue, e)
		}
		d.pump(t)
	}
}

// pump starts sending what can be sent now. The caller holds the lock.
func (d *deliverer) pump(t *target) {
	if d.work == nil || d.work.Err() != nil {
		return
	}
	if t.settled != nil || time.Until(t.until) > 0 {
		return // older ones are being read, or a timer is set
	}
	for i := 0; i < len(t.queue); {
		e := t.queue[i]
		count, most := t.lineOf(&e)
		if t.busy[e.Dialogue] != "" || *count >= most {
			i++
			continue
		}
		t.queue = append(t.queue[:i:i], t.queue[i+1:]...)
		t.busy[e.Dialogue] = e.ID
		*count++
		d.running.Go(func() { d.send(t, e) })
	}
	if t.sending > 0 || len(t.queue) > 0 {
		return
	}
	if t.spilled && t.asking < maxAsking {
		t.spilled = false
		t.sending++ // until the page is read, nothing else is started
		t.settled = make(map[string]bool)
		d.running.Go(func() { d.refill(t) })
		return
	}
	if t.asking == 0 && !t.spilled && d.targets[t.address] == t { // it may be a timer of one that is gone
		delete(d.targets, t.address)
	}
}

// refill reads the next messages of a target from the store.
func (d *deliverer) refill(t *target) {
	entries, err := d.node.opts.Store.Outbox(d.work, t.address, 0, maxQueued)
	d.mu.Lock()
	defer d.mu.Unlock()
	t.sending--
	queued := make(map[string]bool)
	for _, e := range t.queue {
		queued[e.ID] = true
	}
	var older []OutboxEntry
	for _, e := range entries {
		if !queued[e.ID] && t.busy[e.Dialogue] != e.ID && !d.held[e.ID] && !t.settled[e.ID] {
			older = append(older, e)
		}
	}
	t.queue = append(older, t.queue...)
	t.settled = nil
	t.spilled = t.spilled || len(entries) == maxQueued
	if err == nil && t.spilled && len(t.queue) == 0 { // all of it has gone and is not recorded yet
		t.until = time.Now().Add(10 * settleWithin)
		time.AfterFunc(10*settleWithin, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.pump(t)
		})
	}
	if err != nil && d.work.Err() == nil {
		d.node.opts.Logger.Error("the outbox cannot be read", "error", err)
		t.spilled = true
		d.backOff(t)
	}
	d.pump(t)
}

// send tries one message and records what became of it.
func (d *deliverer) send(t *target, e OutboxEntry) {
	d.settling.room(d.work)
	outcome, event, ok := d.attempt(&e)
	switch {
	case ok && outcome.State == Delivered:
		d.settling.add(e, outcome)
	case ok:
		d.settle(e, outcome, event)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	count, _ := t.lineOf(&e)
	*count--
	delete(t.busy, e.Dialogue)
	switch {
	case !ok:
	case outcome.State == Pending:
		e.Attempts, e.Next = outcome.Attempts, outcome.Next
		t.queue = append([]OutboxEntry{e}, t.queue...)
		d.backOff(t)
	case outcome.State == Delivered:
		t.pause = 0
	}
	d.pump(t)
}

// lineOf returns what counts messages like this one, and how many may be on their
// way at once.
func (t *target) lineOf(e *OutboxEntry) (count *int, most int) {
	if e.Sync {
		return &t.asking, maxAsking
	}
	return &t.sending, maxPerTarget
}

// hasFor reports whether messages to somebody are on their way.
func (d *deliverer) hasFor(address identity.Address) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.targets[address] != nil
}

// encourage tries a target again at once: it has just been heard of.
func (d *deliverer) encourage(address identity.Address) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t := d.targets[address]; t != nil && t.pause > 0 {
		t.pause, t.until = 0, time.Time{}
		d.pump(t)
	}
}

// hold keeps an entry from being sent: a caller gets it on the connection.
func (d *deliverer) hold(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held[id] = true
}

func (d *deliverer) letGo(e *OutboxEntry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.held, e.ID)
	if t := d.targets[e.Message.To]; t != nil && t.settled != nil {
		t.settled[e.ID] = true
	}
}

func (d *deliverer) holds(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held[id]
}

// backOff leaves a target alone for a while, twice as long each time.
func (d *deliverer) backOff(t *target) {
	if time.Until(t.until) > 0 {
		return // others have failed with it
	}
	t.pause = min(max(2*t.pause, firstPause), lastPause)
	wait := t.pause/2 + rand.N(t.pause/2)
	t.until = time.Now().Add(wait)
	time.AfterFunc(wait, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.pump(t)
	})
}

// attempt tries a message once. ok is false if the node is stopping.
func (d *deliverer) attempt(e *OutboxEntry) (outcome Outcome, event string, ok bool) {
	outcome = Outcome{ID: e.ID, Attempts: e.Attempts + 1}
	if !time.Now().Before(e.Deadline) {
		outcome.State, outcome.Reason = Failed, &DeliveryError{Code: fault.Expired, Text: "the deadline has passed"}
		if e.Reason != nil {
			outcome.Reason.Text += "; last: " + e.Reason.Error()
		}
		return outcome, "dead", true
	}
	slots := d.slots
	if e.Sync {
		slots = d.asks
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-d.work.Done():
		return outcome, "", false
	}
	err := d.transmit(e)
	switch {
	case err == nil:
		outcome.State = Delivered
		return outcome, "delivered", true
	case d.work.Err() != nil:
		return outcome, "", false
	}
	outcome.Reason = err
	again := err.Code == fault.Unavailable || err.Code == fault.Unknown && (e.Repeats || d.node.peers.dedups(d.work, e.Message.To))
	if !again {
		outcome.State = Failed
		return outcome, "dead", true
	}
	outcome.State, outcome.Next = Pending, time.Now().Add(firstPause)
	e.Reason = err
	return outcome, "retried", true
}

// transmit hands a message to its target, wherever that is.
func (d *deliverer) transmit(e *OutboxEntry) *DeliveryError {
	ctx, cancel := context.WithDeadline(d.work, e.Deadline)
	defer cancel()
	if len(e.Sealed) == 0 {
		return d.transmitLocally(ctx, e)
	}
	endpoints, err := d.node.opts.Resolver.Resolve(ctx, e.Message.To)
	if err != nil || len(endpoints) == 0 {
		return &DeliveryError{Code: fault.Unavailable, Text: textOf(err, "no endpoint is known")}
	}
	last := &DeliveryError{Code: fault.Unavailable, Text: "no transport reaches an endpoint"}
	for _, endpoint := range inWeightedOrder(endpoints) {
		transport := d.node.transportTo(endpoint.URL)
		if transport == nil {
			continue
		}
		if last = d.transmitTo(ctx, transport, endpoint.URL, e); last == nil || last.Code == fault.Unknown {
			return last
		}
	}
	return last
}

func textOf(err error, otherwise string) string {
	if err == nil {
		return otherwise
	}
	return err.Error()
}

func (n *Node) transportTo(endpoint string) Transport {
	for _, t := range n.opts.Transports {
		if t.Reaches(endpoint) {
			return t
		}
	}
	return nil
}

func (d *deliverer) transmitTo(ctx context.Context, transport Transport, url string, e *OutboxEntry) *DeliveryError {
	if !e.Sync {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, sendTimeout)
		defer cancel()
	}
	reply, err := transport.Send(ctx, url, Frame{Body: e.Sealed, Sync: e.Sync})
	if reply.Deduplicates {
		d.node.peers.learn(d.work, e.Message.To)
	}
	if err != nil {
		if known, ok := errors.AsType[*DeliveryError](err); ok {
			return known
		}
		return &DeliveryError{Code: fault.Unknown, Endpoint: url, Text: err.Error()}
	}
	if len(reply.Body) > 0 {
		d.node.hear(d.work, e, reply.Body)
	}
	return nil
}

// transmitLocally hands a message to an agent of the same node: no socket, no
// signature, but the same steps.
func (d *deliverer) transmitLocally(ctx context.Context, e *OutboxEntry) *DeliveryError {
	in := &incoming{id: e.ID, Message: e.Message, dialogue: across(e.Message, e.Dialogue)}
	if _, err := d.node.accept(ctx, in); err != nil {
		code := fault.Refused
		if c := fault.CodeOf(err); c == fault.Unavailable || c == fault.Internal {
			code = fault.Unavailable
		}
		return &DeliveryError{Code: code, Text: err.Error()}
	}
	return nil
}

// settle stores what became of a message and tells those who wait for it.
func (d *deliverer) settle(e OutboxEntry, o Outcome, event string) {
	detail := ""
	if o.Reason != nil {
		detail = o.Reason.Error()
	}
	b := &Batch{Agent: e.Message.From, Outcomes: []Outcome{o}, Log: []LogRecord{record(e.Message.From, event, e.ID, e.Message, detail)}}
	if o.State == Failed {
		b.Bury = []DeadLetter{{Agent: e.Message.From, Time: time.Now(), ID: e.ID, Message: e.Message, Code: o.Reason.Code, Reason: detail}}
	}
	ctx := context.Background() // what was sent must be recorded, also while stopping
	if err := d.node.opts.Store.Commit(ctx, b); err != nil {
		d.node.opts.Logger.Error("the outcome of a message cannot be stored", "message", e.ID, "error", err)
	}
	if o.State != Pending {
		d.notify(e.ID, o)
	}
}

// notify completes the receipts of a message.
func (d *deliverer) notify(id string, o Outcome) {
	d.mu.Lock()
	waiting := d.receipts[id]
	delete(d.receipts, id)
	d.mu.Unlock()
	for _, r := range waiting {
		r.complete(o)
	}
}

// watch returns a receipt that learns what becomes of a message.
func (d *deliverer) watch(id string, from, to identity.Address) *Receipt {
	r := &Receipt{ID: id, From: from, To: to, done: make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.receipts[id] = append(d.receipts[id], r)
	return r
}

// unwatch forgets a receipt that nobody waits for any more.
func (d *deliverer) unwatch(r *Receipt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.receipts[r.ID]
	for i, other := range list {
		if other == r {
			d.receipts[r.ID] = append(list[:i:i], list[i+1:]...)
		}
	}
	if len(d.receipts[r.ID]) == 0 {
		delete(d.receipts, r.ID)
	}
}

// A Receipt follows a message that was sent from outside a handler.
type Receipt struct {
	ID       string
	From, To identity.Address

	done    chan struct{}
	outcome Outcome
}

func (r *Receipt) complete(o Outcome) {
	r.outcome = o
	close(r.done)
}

// Wait returns nil once the peer has taken the message over, and a
// [*DeliveryError] with the endpoint, the status and what the peer said if it
// never will. If ctx ends first, the message stays on its way.
func (r *Receipt) Wait(ctx context.Context) error {
	select {
	case <-r.done:
		if r.outcome.State == Delivered {
			return nil
		}
		return r.outcome.Reason
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Send sends a message from outside a handler, in a session of its own. It returns
// when the message is stored; the receipt tells what becomes of it.
func (a *Agent) Send(ctx context.Context, to identity.Address, msg any) (*Receipt, error) {
	return a.SendIn(ctx, newSession(), to, msg)
}

// SendIn is Send in a session, a UUID, that others may have spoken in.
func (a *Agent) SendIn(ctx context.Context, session string, to identity.Address, msg any) (*Receipt, error) {
	if a.node == nil {
		return nil, errors.New("the agent is in no node yet")
	}
	if to.IsUser() {
		return nil, fault.Errorf(fault.Unsupported, "to", "users are answered on their connection and cannot be written to")
	}
	t := a.newTurn("send/"+newSession(), session)
	e, err := t.add(to, msg, session, "")
	if err != nil {
		return nil, err
	}
	r := a.node.deliverer.watch(e.ID, e.Message.From, to)
	if err := t.commit(ctx, nil); err != nil {
		a.node.deliverer.unwatch(r)
		return nil, err
	}
	return r, nil
}
