package parleymem_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/transport/parleymem"
	"github.com/parley-agents/parley/transport/transporttest"
)

func TestTransport(t *testing.T) {
	transporttest.Run(t, func(*testing.T) transporttest.Pair {
		var network parleymem.Network
		alice, bob := network.Join("alice"), network.Join("bob")
		return transporttest.Pair{
			Alice: alice, AliceAt: alice.Endpoint(),
			Bob: bob, BobAt: bob.Endpoint(),
			Absent: network.Join("nobody").Endpoint(),
			Crash:  bob.Crash,
		}
	})
}

// Time inside a synctest bubble is fake: the delays are exact and take no time.
func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		name      string
		fault     parleymem.Fault
		wantCode  parley.Code
		delivered int32
		after     time.Duration
	}{
		{"none", parleymem.Fault{}, "", 1, 0},
		{"a late frame", parleymem.Fault{Delay: time.Minute}, "", 1, time.Minute},
		{"a late answer", parleymem.Fault{DelayAnswer: time.Hour}, "", 1, time.Hour},
		{"no connection", parleymem.Fault{Refuse: true}, fault.Unavailable, 0, 0},
		{"a lost frame", parleymem.Fault{Lose: true, Delay: time.Second}, fault.Unknown, 0, time.Second},
		{"a lost answer", parleymem.Fault{LoseAnswer: true}, fault.Unknown, 1, 0},
		{"a doubled frame", parleymem.Fault{Twice: true}, "", 2, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var network parleymem.Network
				alice, bob := network.Join("alice"), network.Join("bob")
				var delivered atomic.Int32
				go bob.Serve(t.Context(), func(context.Context, parley.Frame) (parley.Frame, error) {
					delivered.Add(1)
					return parley.Frame{}, nil
				})
				synctest.Wait()
				network.Inject(func(p parleymem.Passage) parleymem.Fault {
					if p.From != "alice" || p.To != "bob" || string(p.Frame.Body) != "x" {
						t.Errorf("asked about %+v", p)
					}
					return tc.fault
				})
				began := time.Now()

				_, err := alice.Send(t.Context(), bob.Endpoint(), parley.Frame{Body: []byte("x")})

				took := time.Since(began)
				synctest.Wait()
				if got := codeOf(err); got != tc.wantCode {
					t.Errorf("Send = %v, want code %q", err, tc.wantCode)
				}
				if delivered.Load() != tc.delivered {
					t.Errorf("delivered %d times, want %d", delivered.Load(), tc.delivered)
				}
				if took != tc.after {
					t.Errorf("took %v, want %v", took, tc.after)
				}
			})
		})
	}
}

func TestDelayEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var network parleymem.Network
		network.Inject(func(parleymem.Passage) parleymem.Fault { return parleymem.Fault{Delay: time.Hour} })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()

		_, err := network.Join("alice").Send(ctx, "mem://bob", parley.Frame{})

		if codeOf(err) != fault.Unavailable {
			t.Errorf("Send = %v, want unavailable: the frame had not left", err)
		}
	})
}

func TestGraceEndsWaitsThatDoNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := parleymem.Network{Grace: 3 * time.Second}
		alice, bob := network.Join("alice"), network.Join("bob")
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() {
			served <- bob.Serve(ctx, func(ctx context.Context, _ parley.Frame) (parley.Frame, error) {
				<-ctx.Done()
				return parley.Frame{}, nil
			})
		}()
		synctest.Wait()
		go alice.Send(t.Context(), bob.Endpoint(), parley.Frame{Sync: true})
		synctest.Wait()
		began := time.Now()

		stop()

		if err := <-served; err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("Serve returned %v after %v, want nil after the grace time", err, time.Since(began))
		}
	})
}

func TestOnlyOneServesAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var network parleymem.Network
		first, second := network.Join("bob"), network.Join("bob")
		deliver := func(context.Context, parley.Frame) (parley.Frame, error) { return parley.Frame{}, nil }
		go first.Serve(t.Context(), deliver)
		synctest.Wait()

		if err := second.Serve(t.Context(), deliver); err == nil {
			t.Error("Serve of a name that is served = nil, want an error")
		}

		first.Crash()
		synctest.Wait()
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := second.Serve(ctx, deliver); err != nil {
			t.Errorf("Serve after a crash = %v, want nil", err)
		}
	})
}

func TestForgetfulPeersDoNotSayThatTheyDeduplicate(t *testing.T) {
	for _, forgetful := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var network parleymem.Network
			alice, bob := network.Join("alice"), network.Join("bob")
			alice.Forgetful, bob.Forgetful = !forgetful, forgetful
			var seen parley.Frame
			go bob.Serve(t.Context(), func(_ context.Context, f parley.Frame) (parley.Frame, error) {
				seen = f
				return parley.Frame{}, nil
			})
			synctest.Wait()

			reply, err := alice.Send(t.Context(), bob.Endpoint(), parley.Frame{})

			if err != nil || reply.Deduplicates == forgetful || seen.Deduplicates != forgetful {
				t.Errorf("forgetful %v: reply %+v, seen %+v, %v", forgetful, reply, seen, err)
			}
		})
	}
}

func codeOf(err error) parley.Code {
	if e, ok := errors.AsType[*parley.DeliveryError](err); ok {
		return e.Code
	}
	return fault.CodeOf(err)
}
