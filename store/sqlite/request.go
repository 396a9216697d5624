package sqlite

import (
	"sync"
	"sync/atomic"

	"github.com/parley-agents/parley"
)

// request is something for the writer to do. Its owner waits on done.
type request struct {
	batches []*parley.Batch
	trim    *trimming
	state   atomic.Int32
	done    chan error
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
	r.batches, r.trim = nil, nil
	r.state.Store(queued)
	requests.Put(r)
}

func (r *request) take() bool  { return r.state.CompareAndSwap(queued, taken) }
func (r *request) leave() bool { return r.state.CompareAndSwap(queued, left) }

// size is about how many bytes a request will write.
func (r *request) size() int {
	n := 0
	for _, b := range r.batches {
		for i := range b.Inbox {
			n += len(b.Inbox[i].Message.Payload)
		}
		for i := range b.Outbox {
			n += len(b.Outbox[i].Message.Payload) + len(b.Outbox[i].Sealed)
		}
		for i := range b.Log {
			n += len(b.Log[i].Message.Payload)
		}
		for i := range b.Bury {
			n += len(b.Bury[i].Message.Payload)
		}
		for i := range b.Dialogues {
			n += len(b.Dialogues[i].State)
		}
		for i := range b.Set {
			n += len(b.Set[i].Value)
		}
	}
	return n
}

// seqs is how many numbers a request needs.
func (r *request) seqs() int64 {
	n := 0
	for _, b := range r.batches {
		n += len(b.Inbox) + len(b.Outbox) + len(b.Bury) + len(b.Log)
	}
	return int64(n)
}
