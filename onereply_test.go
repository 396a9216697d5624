package parley_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-agents/parley"
)

// A reply that went out on the connection does not go out again.
func TestAReplyOnTheConnectionIsTheOnlyOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bob := answering(t, "bob")
	w.start("b", nil, bob)
	var again atomic.Int32
	w.rawPeer("eve", func(parley.Frame) error { again.Add(1); return nil })
	eve := key(t, "eve")
	ping := digestOf[Ping](t)
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for j := range 150 {
				if _, err := w.post("b", sealed(t, eve, bob.Address(), ping, fmt.Sprintf(`{"text": "%d-%d"}`, i, j), nil), true); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	time.Sleep(200 * time.Millisecond)
	if n := again.Load(); n > 0 {
		t.Errorf("%d of 9600 replies were also sent to the caller's endpoint", n)
	}
}
