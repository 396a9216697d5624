package sqlite

import (
	"sync"
	"sync/atomic"

	"github.com/parley-agents/parley"
)

// request is something for the writer to do. Its owner waits on done.
type request struct {
	batch *parley.Batch
	trim  *trimming
	state atomic.Int32
	done  chan error
}

const (
	queued int32 = iota
	taken        // by the writer: it will send to done
	left         // by its owner: the writer must not look at it
)

var requests = sync.Pool{New: func() any { return &request{done: make(chan error, 1)} }}

func newRequest() *request { return requests.Get().(*request) }

// free gives a request back that the writer has answered.
func (r *request) free() {
	r.batch, r.trim = nil, nil
	r.state.Store(queued)
	requests.Put(r)
}

func (r *request) take() bool  { return r.state.CompareAndSwap(queued, taken) }
func (r *request) leave() bool { return r.state.CompareAndSwap(queued, left) }

// size is about how many bytes a request will write.
func (r *request) size() int {
	if r.batch == nil {
		return 0
	}
	n := 0
	for i := range r.batch.Inbox {
		n += len(r.batch.Inbox[i].Message.Payload)
	}
	for i := range r.batch.Outbox {
		n += len(r.batch.Outbox[i].Message.Payload) + len(r.batch.Outbox[i].Sealed)
	}
	for i := range r.batch.Log {
		n += len(r.batch.Log[i].Message.Payload)
	}
	for i := range r.batch.Bury {
		n += len(r.batch.Bury[i].Message.Payload)
	}
	for i := range r.batch.Dialogues {
		n += len(r.batch.Dialogues[i].State)
	}
	for i := range r.batch.Set {
		n += len(r.batch.Set[i].Value)
	}
	return n
}

// seqs is how many numbers a request needs.
func (r *request) seqs() int64 {
	if r.batch == nil {
		return 0
	}
	return int64(len(r.batch.Inbox) + len(r.batch.Outbox) + len(r.batch.Bury) + len(r.batch.Log))
}
