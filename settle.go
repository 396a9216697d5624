package parley

import (
	"context"
	"sync"
	"time"

	"github.com/parley-agents/parley/identity"
)

// That a peer has taken a message over is recorded with the next commit of the agent
// that sent it, or by itself a little later. Nobody waits for that: should the
// process die first, the message is sent again, which a message may be anyway when
// the process dies before the answer of the peer.

const (
	settleWithin = 5 * time.Millisecond
	maxSettling  = 256              // messages that are not recorded yet
	maxUnsettled = 16 * maxSettling // the same where the store fails; then no more are sent
)

// settlements are the messages that peers have taken over and that are not recorded
// as such. The deliverer holds them so long.
type settlements struct {
	node     *Node
	flushing sync.Mutex // held while they are recorded by themselves

	mu      sync.Mutex
	waiting map[identity.Address][]settlement // by sender
	queued  int                               // how many wait
	count   int                               // those too that are being recorded
	timer   *time.Timer                       // nil if nothing waits
	pause   time.Duration                     // after a failure
	closed  bool
}

type settlement struct {
	entry   OutboxEntry
	outcome Outcome
	line    LogRecord
}

// add takes note of a message that was taken over.
func (s *settlements) add(e OutboxEntry, o Outcome) {
	d := s.node.deliverer
	d.hold(e.ID)
	s.mu.Lock()
	s.put(e.Message.From, settlement{e, o, record(e.Message.From, "delivered", e.ID, e.Message, "")})
	s.count++
	now := s.queued >= maxSettling && s.pause == 0 || s.closed
	s.mu.Unlock()
	d.notify(e.ID, o)
	if now {
		s.flush()
	}
}

// room waits until more may be sent: all that cannot be recorded is held in memory.
func (s *settlements) room(ctx context.Context) {
	for s.isFull() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(storePause):
		}
	}
}

func (s *settlements) isFull() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count >= maxUnsettled
}

// put queues settlements of an agent. The caller holds the lock.
func (s *settlements) put(agent identity.Address, list ...settlement) {
	if s.waiting == nil {
		s.waiting = make(map[identity.Address][]settlement)
	}
	s.waiting[agent] = append(s.waiting[agent], list...)
	s.queued += len(list)
	if s.timer == nil && !s.closed {
		s.timer = time.AfterFunc(settleWithin+s.pause, s.flush)
	}
}

// take puts what waits for an agent into its batch. settled is to be called when the
// batch is committed, or not.
func (s *settlements) take(b *Batch) (settled func(committed bool)) {
	s.mu.Lock()
	list := s.waiting[b.Agent]
	delete(s.waiting, b.Agent)
	s.queued -= len(list)
	s.mu.Unlock()
	for i := range list {
		b.Outcomes = append(b.Outcomes, list[i].outcome)
		b.Log = append(b.Log, list[i].line)
	}
	return func(committed bool) {
		if len(list) == 0 {
			return
		}
		s.mu.Lock()
		if committed {
			s.count -= len(list)
		} else {
			s.put(b.Agent, list...)
			list = nil
		}
		s.mu.Unlock()
		for i := range list {
			s.node.deliverer.letGo(&list[i].entry)
		}
	}
}

// flush records what no other commit has taken with it.
func (s *settlements) flush() {
	s.flushing.Lock()
	defer s.flushing.Unlock()
	s.mu.Lock()
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	var batches []*Batch
	for agent := range s.waiting {
		batches = append(batches, &Batch{Agent: agent})
	}
	s.mu.Unlock()
	for _, b := range batches {
		settled := s.take(b)
		if len(b.Outcomes) == 0 {
			continue
		}
		err := s.node.opts.Store.Commit(context.Background(), b) // also while stopping
		settled(!s.tryAgain(err))
	}
}

// tryAgain says whether what could not be recorded is to be tried again, after a
// pause.
func (s *settlements) tryAgain(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pause = 0; err == nil {
		return false
	}
	s.pause = storePause
	s.node.opts.Logger.Error("what was delivered cannot be stored", "error", err)
	return !s.closed
}

// open lets settlements wait; close records what waits, and everything else at once.
func (s *settlements) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = false
}

func (s *settlements) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.flush()
}
