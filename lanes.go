package parley

import (
	"sync"
	"time"

	"github.com/parley-agents/parley/identity"
)

// lanes hand an agent's messages to its handlers: in order within a dialogue,
// concurrently across dialogues, at most so many at once, and in turn between
// senders, so that one who sends much does not delay one who sends little.
//
// An idle agent has no goroutine: each running lane has one, which ends when its
// dialogue has nothing more.
type lanes struct {
	run   func(*InboxEntry) time.Duration // how long to wait before the same message again; 0 if it is done
	limit int
	max   int // waiting

	mu      sync.Mutex
	waiting int
	running int
	lanes   map[string]*lane             // by dialogue
	ready   map[identity.Address][]*lane // lanes that could run, by sender
	senders []identity.Address           // those with ready lanes, next one first
	stopped bool
	idle    *sync.Cond
}

type lane struct {
	sender identity.Address
	queue  []InboxEntry
	active bool // running or ready
}

func newLanes(limit, maxWaiting int, run func(*InboxEntry) time.Duration) *lanes {
	l := &lanes{run: run, limit: limit, max: maxWaiting, lanes: make(map[string]*lane), ready: make(map[identity.Address][]*lane)}
	l.idle = sync.NewCond(&l.mu)
	return l
}

// full reports whether no more messages should be taken over.
func (l *lanes) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting >= l.max
}

// add queues a message that is stored.
func (l *lanes) add(e InboxEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return // it is stored, and handled after the next start
	}
	l.waiting++
	ln := l.lanes[e.Dialogue]
	if ln == nil {
		ln = &lane{sender: e.Message.From}
		l.lanes[e.Dialogue] = ln
	}
	ln.queue = append(ln.queue, e)
	if !ln.active {
		ln.active = true
		l.readyAfter(ln, time.Until(e.Before))
	}
	l.dispatch()
}

// readyAfter makes a lane ready, at once or after a while.
func (l *lanes) readyAfter(ln *lane, d time.Duration) {
	if d <= 0 {
		l.makeReady(ln)
		return
	}
	time.AfterFunc(d, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.makeReady(ln)
		l.dispatch()
	})
}

func (l *lanes) makeReady(ln *lane) {
	if len(l.ready[ln.sender]) == 0 {
		l.senders = append(l.senders, ln.sender)
	}
	l.ready[ln.sender] = append(l.ready[ln.sender], ln)
}

// dispatch starts lanes while there is room, one per sender in turn.
func (l *lanes) dispatch() {
	for l.running < l.limit && len(l.senders) > 0 && !l.stopped {
		sender := l.senders[0]
		l.senders = l.senders[1:]
		queue := l.ready[sender]
		ln := queue[0]
		if len(queue) == 1 {
			delete(l.ready, sender)
		} else {
			l.ready[sender] = queue[1:]
			l.senders = append(l.senders, sender)
		}
		l.running++
		go l.work(ln)
	}
}

// work handles one message of a lane. The next of the same dialogue goes back
// to the end of its sender's queue, so that others get their turn.
func (l *lanes) work(ln *lane) {
	l.mu.Lock()
	e := ln.queue[0]
	l.mu.Unlock()

	again := l.run(&e)

	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	if again == 0 {
		ln.queue = ln.queue[1:]
		l.waiting--
	} else {
		ln.queue[0] = e
	}
	if len(ln.queue) > 0 {
		l.readyAfter(ln, again)
	} else {
		ln.active = false
		delete(l.lanes, e.Dialogue)
	}
	l.dispatch()
	if l.running == 0 {
		l.idle.Broadcast()
	}
}

// stop lets the running handlers end and starts no more.
func (l *lanes) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	for l.running > 0 {
		l.idle.Wait()
	}
}
