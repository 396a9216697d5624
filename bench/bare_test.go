package bench

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/wire/uagents"
)

// A bare program does only HTTP, verification and signing: no store, no order,
// no handlers. It is what remains of a node if nothing but the wire is left.
//
// The aims were set with the signature library's own verification. With the
// verifier that remembers frequent senders the bare program is faster too, so
// that there are two of them.
type bare struct {
	key      *identity.Key
	open     func([]byte) (*uagents.Envelope, error)
	client   *http.Client
	peer     string // URL
	received func(*uagents.Envelope)
}

func newBare(name, verifier, peer string) *bare {
	b := &bare{key: benchKey(name), peer: peer, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	remembering := identity.NewVerifier(nil)
	b.open = func(body []byte) (*uagents.Envelope, error) { return uagents.Open(body, remembering) }
	if verifier == "plain" {
		b.open = func(body []byte) (*uagents.Envelope, error) { return uagents.Open(body, identity.NewVerifier(nil)) }
	}
	return b
}

func (b *bare) seal(to identity.Address, session uuid.UUID) []byte {
	e, err := uagents.Seal(b.key, &uagents.Draft{
		Target: to, Session: session, SchemaDigest: schema, Payload: []byte(message),
		Expires: uint64(time.Now().Add(time.Hour).Unix()), Nonce: uint64(time.Now().UnixNano()),
	})
	check(err)
	return e.Encode()
}

func (b *bare) send(to identity.Address, session uuid.UUID, wait bool) []byte {
	request, err := http.NewRequest(http.MethodPost, b.peer, bytes.NewReader(b.seal(to, session)))
	check(err)
	request.Header.Set("content-type", "application/json")
	if wait {
		request.Header.Set("x-uagents-connection", "sync")
	}
	response, err := b.client.Do(request)
	check(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	check(err)
	if response.StatusCode != http.StatusOK {
		panic(fmt.Sprintf("the bare program answers %d %s", response.StatusCode, body))
	}
	return body
}

func (b *bare) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	check(err)
	e, err := b.open(body)
	if err != nil {
		http.Error(w, "{}", http.StatusBadRequest)
		return
	}
	w.Header().Set("content-type", "application/json")
	if r.Header.Get("x-uagents-connection") == "sync" {
		_, _ = w.Write(b.seal(e.Sender, e.Session))
		return
	}
	_, _ = io.WriteString(w, "{}")
	if b.received != nil {
		go b.received(e)
	}
}

func (b *bare) serve(address string) {
	l, err := net.Listen("tcp", address)
	check(err)
	go func() { check(http.Serve(l, b)) }()
}

// bareProcess answers each message of its peer, but not those of others.
func bareProcess() {
	b := newBare("bob", os.Getenv("PARLEY_BENCH_VERIFIER"), os.Getenv("PARLEY_BENCH_PEER"))
	pinger := benchKey("alice").Address()
	b.received = func(e *uagents.Envelope) {
		if e.Sender == pinger {
			b.send(e.Sender, e.Session, false)
		}
	}
	b.serve(os.Getenv("PARLEY_BENCH_LISTEN"))
	fmt.Println("started")
	select {}
}

// bareRoundTrips plays ping-pong between two bare programs.
func bareRoundTrips(b *testing.B, verifier string, window int) result {
	b.Helper()
	listen := freeAddress()
	other := startOther(b, "bare", "PARLEY_BENCH_PEER=http://"+listen+"/submit", "PARLEY_BENCH_VERIFIER="+verifier)
	defer other.stop()
	alice := newBare("alice", verifier, other.url())
	var mu sync.Mutex
	waiting := make(map[uuid.UUID]chan struct{})
	alice.received = func(e *uagents.Envelope) {
		mu.Lock()
		defer mu.Unlock()
		waiting[e.Session] <- struct{}{}
	}
	alice.serve(listen)
	bob := benchKey("bob").Address()
	return drive(other.pid(), window, func() func() {
		session, back := uuid.New(), make(chan struct{}, 1)
		mu.Lock()
		waiting[session] = back
		mu.Unlock()
		return func() {
			alice.send(bob, session, false)
			<-back
		}
	})
}

// bareSends sends one way, or asks and waits for the reply.
func bareSends(b *testing.B, verifier string, window int, wait bool) result {
	b.Helper()
	other := startOther(b, "bare", "PARLEY_BENCH_VERIFIER="+verifier)
	defer other.stop()
	carol := newBare("carol", verifier, other.url())
	bob := benchKey("bob").Address()
	return drive(other.pid(), window, func() func() {
		return func() {
			if answer := carol.send(bob, uuid.New(), wait); wait {
				_, err := carol.open(answer)
				check(err)
			}
		}
	})
}

// drive runs operations, a window of them at once, and measures them after a
// start.
func drive(other, window int, newOperation func() func()) result {
	var (
		mu      sync.Mutex
		took    []time.Duration
		stopped bool
		workers sync.WaitGroup
	)
	for range window {
		operation := newOperation()
		workers.Go(func() {
			for {
				began := time.Now()
				operation()
				mu.Lock()
				took = append(took, time.Since(began))
				end := stopped
				mu.Unlock()
				if end {
					return
				}
			}
		})
	}
	time.Sleep(warmUp)
	mu.Lock()
	took = took[:0]
	mu.Unlock()
	m := startMeter(other)
	time.Sleep(playTime)
	mu.Lock()
	r := m.stop(slices.Clone(took))
	stopped = true
	mu.Unlock()
	workers.Wait()
	return r
}
