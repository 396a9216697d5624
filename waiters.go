package parley

import (
	"context"
	"slices"
	"sync"
)

// waiters are callers who wait on a connection, each for the reply to one
// message. A reply belongs to a message, never just to a sender.
type waiters struct {
	mu   sync.Mutex
	byID map[string][]*waiter
}

type waiter struct {
	id    string
	reply chan []byte // gets the reply, or nil if there will be none
	taken bool        // a commit is under way that has the reply
	gone  bool        // the caller waits for nothing but that commit
}

func (w *waiters) add(id string) *waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byID == nil {
		w.byID = make(map[string][]*waiter)
	}
	one := &waiter{id: id, reply: make(chan []byte, 1)}
	w.byID[id] = append(w.byID[id], one)
	return one
}

func (w *waiters) drop(one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one.gone = true
	w.remove(one)
}

func (w *waiters) remove(one *waiter) {
	list := w.byID[one.id]
	for i, other := range list {
		if other == one {
			list = append(list[:i:i], list[i+1:]...)
			break
		}
	}
	if len(list) == 0 {
		delete(w.byID, one.id)
	} else {
		w.byID[one.id] = list
	}
}

// take claims all callers who wait for a message's reply.
func (w *waiters) take(id string) []*waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.byID[id]
	delete(w.byID, id)
	for _, one := range list {
		one.taken = true
	}
	return list
}

// giveBack lets callers wait on whose reply was not committed.
func (w *waiters) giveBack(list []*waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range list {
		one.taken = false
		if one.gone {
			one.reply <- nil
		} else {
			w.byID[one.id] = append(w.byID[one.id], one)
		}
	}
}

// giveUp ends the waiting. If a reply is being committed just now, it waits for
// that and returns it.
func (w *waiters) giveUp(one *waiter) []byte {
	w.mu.Lock()
	taken := one.taken
	one.gone = true
	w.remove(one)
	w.mu.Unlock()
	if !taken {
		return nil
	}
	return <-one.reply
}

// A held reply goes to callers who wait on the connection.
type held struct {
	waiters []*waiter
	entry   OutboxEntry
}

// hold finds the replies of a batch that somebody waits for. Only the first
// reply to a message goes to the connection. In the store it is pending like any
// other: should the process die before the caller has it, it is sent the usual
// way.
func (n *Node) hold(b *Batch) []held {
	var all []held
	for i := range b.Outbox {
		e := &b.Outbox[i]
		if e.InReply == "" || len(e.Sealed) == 0 {
			continue
		}
		if waiting := n.waiters.take(e.InReply); len(waiting) > 0 {
			n.deliverer.hold(e.ID)
			all = append(all, held{waiting, *e})
		}
	}
	return all
}

// commitSends commits a batch with messages that go out, and lets them go: on
// the connection where somebody waits, else the usual way.
func (n *Node) commitSends(ctx context.Context, batches ...*Batch) error {
	var held []held
	var settled []func(bool)
	for _, b := range batches {
		held = append(held, n.hold(b)...)
		n.dropUnreachable(b)
		settled = append(settled, n.deliverer.settling.take(b))
	}
	err := n.opts.Store.Commit(ctx, batches...)
	for _, end := range settled {
		end(err == nil)
	}
	if err != nil {
		for _, h := range held {
			n.deliverer.letGo(&h.entry)
			n.waiters.giveBack(h.waiters)
		}
		return err
	}
	for _, b := range batches {
		n.deliverer.wake(b.Outbox) // but for what is held
	}
	n.release(held)
	return nil
}

// dropUnreachable leaves out what is for a user who does not wait any more: user
// addresses can be answered on their connection and nowhere else.
func (n *Node) dropUnreachable(b *Batch) {
	b.Outbox = slices.DeleteFunc(b.Outbox, func(e OutboxEntry) bool {
		gone := e.Message.To.IsUser() && !n.deliverer.holds(e.ID)
		if gone {
			b.Log = append(b.Log, record(b.Agent, "dropped", e.ID, e.Message, "the user does not wait any more"))
		}
		return gone
	})
}

// release hands committed replies to those who wait for them.
func (n *Node) release(all []held) {
	for _, h := range all {
		for _, w := range h.waiters {
			w.reply <- h.entry.Sealed
		}
		n.deliverer.settling.add(h.entry, Outcome{ID: h.entry.ID, State: Delivered})
	}
}
