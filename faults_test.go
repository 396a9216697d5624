package parley_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/store/memory"
	"github.com/parley-agents/parley/wire/uagents"
)

// The tests in this file are named after the faults of the peers that Parley
// promises not to have.

func contains(text, part string) bool { return strings.Contains(text, part) }

func digestOf[T any](t testing.TB) string {
	t.Helper()
	r, err := spec.FromGo[T]()
	if err != nil {
		t.Fatal(err)
	}
	d, err := spec.Digest(r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// post sends an envelope to a node as a stranger would and returns the answer.
func (w *world) post(node string, body []byte, sync bool) (parley.Frame, error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return w.net.Join("stranger-"+uuid.NewString()).Send(ctx, "mem://"+node, parley.Frame{Body: body, Sync: sync})
}

// sealed makes an envelope for a Ping, with changes.
func sealed(t testing.TB, from *identity.Key, to identity.Address, schema, payload string, change func(*uagents.Draft)) []byte {
	t.Helper()
	d := &uagents.Draft{
		Target: to, Session: uuid.New(), SchemaDigest: schema, Payload: []byte(payload),
		Expires: uint64(time.Now().Add(time.Minute).Unix()), Nonce: uint64(time.Now().UnixNano()),
	}
	if change != nil {
		change(d)
	}
	e, err := uagents.Seal(from, d)
	if err != nil {
		t.Fatal(err)
	}
	return e.Encode()
}

// replyText opens a reply on a connection and returns the named field.
func replyText(t testing.TB, f parley.Frame) string {
	t.Helper()
	e, err := uagents.Open(f.Body, identity.NewVerifier(nil))
	if err != nil {
		t.Fatalf("the reply does not verify: %v\n%s", err, f.Body)
	}
	payload, err := e.DecodePayload()
	if err != nil {
		t.Fatal(err)
	}
	return string(payload)
}

func TestU1APayloadThatDoesNotFitHarmsNobody(t *testing.T) {
	w := newWorld(t)
	bob := answering(t, "bob")
	w.start("b", nil, bob)
	eve := key(t, "eve")

	bad, err := w.post("b", sealed(t, eve, bob.Address(), digestOf[Ping](t), `{"text": 5}`, nil), true)
	if err != nil {
		t.Fatal(err)
	}
	if got := replyText(t, bad); !contains(got, "Message does not conform to expected schema: ") || !contains(got, "text: expected a string") {
		t.Errorf("the sender hears %s", got)
	}
	good, err := w.post("b", sealed(t, eve, bob.Address(), digestOf[Ping](t), `{"text": "x"}`, nil), true)
	if err != nil {
		t.Fatal(err)
	}
	if got := replyText(t, good); got != `{"text": "pong:x"}` {
		t.Errorf("afterwards: %s", got)
	}
}

func unsigned(t testing.TB, to identity.Address, schema, payload string) []byte {
	t.Helper()
	user, err := identity.NewUserAddress()
	if err != nil {
		t.Fatal(err)
	}
	e := &uagents.Envelope{Version: 1, Sender: user, Target: to, Session: uuid.New(), SchemaDigest: schema}
	if payload != "" {
		e.SetPayload([]byte(payload))
	}
	return e.Encode()
}

func TestU2UnsignedSendersReachOnlyHandlersThatAllowThem(t *testing.T) {
	w := newWorld(t)
	bob := answering(t, "bob")
	parley.Handle(bob, func(_ context.Context, turn *parley.Turn, in Note) (Pong, error) {
		return Pong{string(turn.Proof) + ":" + in.Text}, nil
	}, parley.AllowUnsigned())
	w.start("b", nil, bob)

	for _, payload := range []string{"", `{"text": 5}`, `{"text": "x"}`} {
		f, err := w.post("b", unsigned(t, bob.Address(), digestOf[Ping](t), payload), true)
		if err != nil {
			t.Fatal(err)
		}
		if got := replyText(t, f); !contains(got, "Message must be sent from verified agent address") {
			t.Errorf("payload %q: %s", payload, got)
		}
	}
	f, err := w.post("b", unsigned(t, bob.Address(), digestOf[Note](t), `{"text": "x"}`), true)
	if err != nil || replyText(t, f) != `{"text": "none:x"}` {
		t.Errorf("a handler that allows it: %s (%v)", f.Body, err)
	}
}

func TestU3ParallelQueriesOfOneSenderGetTheirOwnAnswers(t *testing.T) {
	w := newWorld(t)
	bob := answering(t, "bob")
	w.start("b", nil, bob)
	eve := key(t, "eve")
	queries := 300
	if os.Getenv("PARLEY_LONG") != "" {
		queries = 1000
	}
	var all sync.WaitGroup
	for i := range queries {
		text := strings.Repeat("x", i%7) + uuid.NewString()
		body := sealed(t, eve, bob.Address(), digestOf[Ping](t), `{"text": "`+text+`"}`, func(d *uagents.Draft) { d.Nonce = uint64(i) })
		all.Go(func() {
			f, err := w.post("b", body, true)
			if err != nil {
				t.Error(err)
				return
			}
			if got := replyText(t, f); got != `{"text": "pong:`+text+`"}` {
				t.Errorf("query %d got %s", i, got)
			}
		})
		if i%100 == 99 {
			all.Wait()
		}
	}
	all.Wait()
}

func TestU4ConcurrentAsksDoNotTakeEachOthersReplies(t *testing.T) {
	w := newWorld(t)
	bob, alice := answering(t, "bob"), agent(t, "alice")
	parley.Handle(alice, func(ctx context.Context, turn *parley.Turn, in Note) (Pong, error) {
		var all sync.WaitGroup
		var failed sync.Once
		var first error
		for range 20 {
			text := uuid.NewString()
			all.Go(func() {
				pong, err := parley.Ask[Pong](ctx, alice, bob.Address(), Ping{text})
				if err == nil && pong.Text != "pong:"+text {
					err = errors.New("somebody else's reply: " + pong.Text)
				}
				if err != nil {
					failed.Do(func() { first = err })
				}
			})
		}
		all.Wait()
		return Pong{"all asked"}, first
	})
	carol := agent(t, "carol")
	w.start("b", nil, bob)
	w.start("a", nil, alice, carol)

	if pong, err := parley.Ask[Pong](t.Context(), carol, alice.Address(), Note{}); err != nil || pong.Text != "all asked" {
		t.Errorf("Ask = %+v, %v", pong, err)
	}
}

func TestU5AForgedRequestTouchesNothing(t *testing.T) {
	w := newWorld(t)
	bob := agent(t, "bob")
	release := make(chan struct{})
	parley.Handle(bob, func(context.Context, *parley.Turn, Ping) (Pong, error) { <-release; return Pong{"late"}, nil })
	store := memory.New()
	w.start("b", &parley.NodeOptions{Store: store}, bob)
	eve := key(t, "eve")
	answers := make(chan parley.Frame, 1)
	go func() {
		f, err := w.post("b", sealed(t, eve, bob.Address(), digestOf[Ping](t), `{"text": ""}`, nil), true)
		if err != nil {
			t.Error(err)
		}
		answers <- f
	}()
	for {
		log, err := store.Log(t.Context(), parley.LogQuery{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		if len(log) > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}

	forged := sealed(t, eve, bob.Address(), digestOf[Ping](t), `{"text": ""}`, nil)
	forged = []byte(strings.Replace(string(forged), `"payload":"ey`, `"payload":"ez`, 1))
	_, err := w.post("b", forged, true)
	if reason, ok := errors.AsType[*parley.DeliveryError](err); !ok || reason.Text != "Signature verification failed" {
		t.Errorf("the forged request: %v", err)
	}
	close(release)
	if got := replyText(t, <-answers); got != `{"text": "late"}` {
		t.Errorf("the pending query got %s", got)
	}
	log, err := store.Log(t.Context(), parley.LogQuery{Limit: 10})
	if err != nil || len(log) == 0 || log[0].Event != "received" {
		t.Errorf("log = %+v (%v)", log, err)
	}
}

func TestU6ExpiredEnvelopesAreRefused(t *testing.T) {
	w := newWorld(t)
	bob := answering(t, "bob")
	w.start("b", nil, bob)
	eve := key(t, "eve")
	for age, refused := range map[time.Duration]bool{time.Hour: true, 31 * time.Second: true, 20 * time.Second: false} {
		body := sealed(t, eve, bob.Address(), digestOf[Ping](t), `{"text": "x"}`, func(d *uagents.Draft) { d.Expires = uint64(time.Now().Add(-age).Unix()) })
		_, err := w.post("b", body, false)
		if reason, ok := errors.AsType[*parley.DeliveryError](err); refused != (ok && contains(reason.Text, "expired")) {
			t.Errorf("%s past its expiry: %v, want refused=%v", age, err, refused)
		}
	}
}

func TestU7RepeatsAreHandledOnce(t *testing.T) {
	w := newWorld(t)
	bob := agent(t, "bob")
	store := memory.New()
	parley.Handle(bob, func(ctx context.Context, turn *parley.Turn, in Ping) (Pong, error) {
		n, _, err := parley.Load[int](ctx, turn, "n")
		if err != nil {
			return Pong{}, err
		}
		return Pong(in), parley.Save(turn, "n", n+1)
	})
	w.start("b", &parley.NodeOptions{Store: store}, bob)
	body := sealed(t, key(t, "eve"), bob.Address(), digestOf[Ping](t), `{"text": "once"}`, nil)

	first, err := w.post("b", body, true)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again, err := w.post("b", body, true)
		if err != nil || string(again.Body) != string(first.Body) {
			t.Errorf("a repeat got %s (%v), want the same reply", again.Body, err)
		}
		if _, err := w.post("b", body, false); err != nil {
			t.Errorf("a repeat without waiting: %v, want the same acknowledgement", err)
		}
	}
	if n, _, err := store.Get(t.Context(), bob.Address(), "n"); err != nil || string(n) != "1" {
		t.Errorf("handled %s times (%v), want once", n, err)
	}
}

func TestU10ASlowHandlerDelaysOnlyItsOwnDialogue(t *testing.T) {
	w := newWorld(t)
	bob := agent(t, "bob")
	release := make(chan struct{})
	parley.Handle(bob, func(_ context.Context, _ *parley.Turn, in Ping) (Pong, error) {
		if in.Text == "slow" {
			<-release
		}
		return Pong(in), nil
	})
	w.start("b", nil, bob)
	eve, carol := key(t, "eve"), key(t, "carol")
	slow := make(chan error, 1)
	go func() {
		_, err := w.post("b", sealed(t, eve, bob.Address(), digestOf[Ping](t), `{"text": "slow"}`, nil), true)
		slow <- err
	}()
	for _, other := range []*identity.Key{carol, eve} {
		f, err := w.post("b", sealed(t, other, bob.Address(), digestOf[Ping](t), `{"text": "fast"}`, nil), true)
		if err != nil || replyText(t, f) != `{"text": "fast"}` {
			t.Errorf("another dialogue: %s (%v)", f.Body, err)
		}
	}
	select {
	case err := <-slow:
		t.Errorf("the slow one was done first (%v): the test shows nothing", err)
	default:
	}
	close(release)
	if err := <-slow; err != nil {
		t.Error(err)
	}
}

func TestU11AFailingPeerDelaysNoOther(t *testing.T) {
	w := newWorld(t)
	got := make(chan struct{}, 1)
	bob, alice := agent(t, "bob"), agent(t, "alice")
	parley.On(bob, func(context.Context, *parley.Turn, Note) error { got <- struct{}{}; return nil })
	w.start("b", nil, bob)
	w.start("a", nil, alice)
	gone := key(t, "gone").Address()
	w.mu.Lock()
	w.urls[gone] = "mem://a node that is not there"
	w.mu.Unlock()

	for range 300 { // more than are held in memory, and than one target may send at once
		if _, err := alice.Send(t.Context(), gone, Note{"lost"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := alice.Send(t.Context(), bob.Address(), Note{"hi"}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-got:
	case <-time.After(10 * time.Second):
		t.Error("the message to bob waits for the peer that is gone")
	}
}

func TestU12MessagesAreRetriedAcrossRestarts(t *testing.T) {
	w := newWorld(t)
	store := memory.New()
	alice, bob := agent(t, "alice"), agent(t, "bob")
	got := make(chan string, 10)
	parley.On(bob, func(_ context.Context, _ *parley.Turn, in Note) error { got <- in.Text; return nil })
	w.mu.Lock()
	w.urls[bob.Address()] = "mem://b"
	w.mu.Unlock()
	_, stop := w.start("a", &parley.NodeOptions{Store: store}, alice)
	if _, err := alice.Send(t.Context(), bob.Address(), Note{"patience"}); err != nil {
		t.Fatal(err)
	}
	stop()

	w.start("b", nil, bob)
	w.start("a", &parley.NodeOptions{Store: store}, agent(t, "alice"))

	select {
	case text := <-got:
		if text != "patience" {
			t.Errorf("got %q", text)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the message is lost")
	}
}

func TestU14TheCallerHearsOfAHandlersError(t *testing.T) {
	w := newWorld(t)
	bob, alice := agent(t, "bob"), agent(t, "alice")
	parley.Handle(bob, func(_ context.Context, _ *parley.Turn, in Ping) (Pong, error) {
		switch in.Text {
		case "refuse":
			return Pong{}, parley.Errorf(fault.Forbidden, "not for you")
		case "panic":
			panic("the secret is XYZZY")
		}
		return Pong{}, errors.New("the secret is XYZZY")
	})
	w.start("b", nil, bob)
	w.start("a", nil, alice)
	for text, want := range map[string]string{"refuse": "not for you", "panic": "internal error (message ", "fail": "internal error (message "} {
		_, err := parley.Ask[Pong](t.Context(), alice, bob.Address(), Ping{text})
		if fault.CodeOf(err) != fault.Refused || !contains(err.Error(), want) || contains(err.Error(), "XYZZY") {
			t.Errorf("%s: %v, want %q and no secret", text, err, want)
		}
	}
}

// A reply that does not fit its own model is a mistake of the handler, and not of
// the peer who asked.
func TestAReplyThatDoesNotFitIsAnInternalError(t *testing.T) {
	type Bid struct {
		Amount int `json:"amount" parley:"min=1"`
	}
	w := newWorld(t)
	bob, alice := agent(t, "bob"), agent(t, "alice")
	parley.Handle(bob, func(context.Context, *parley.Turn, Ping) (Bid, error) { return Bid{}, nil })
	w.start("b", nil, bob)
	w.start("a", nil, alice)

	_, err := parley.Ask[Bid](t.Context(), alice, bob.Address(), Ping{"x"})

	if fault.CodeOf(err) != fault.Refused || !contains(err.Error(), "internal error (message ") {
		t.Errorf("Ask = %v", err)
	}
}

func TestU15WaitingIsBoundedByTheServer(t *testing.T) {
	w := newWorld(t)
	bob := agent(t, "bob")
	parley.On(bob, func(context.Context, *parley.Turn, Ping) error { return nil }) // never replies
	w.start("b", &parley.NodeOptions{MaxSync: 50 * time.Millisecond}, bob)
	far := sealed(t, key(t, "eve"), bob.Address(), digestOf[Ping](t), `{"text": "x"}`, func(d *uagents.Draft) {
		d.Expires = uint64(time.Now().Add(1000 * time.Hour).Unix())
	})
	f, err := w.post("b", far, true)
	if err != nil || !contains(replyText(t, f), "Query envelope expired") {
		t.Errorf("the caller got %s (%v)", f.Body, err)
	}
}

func TestU17ARefusedValueLeavesEverythingAsItWas(t *testing.T) {
	w := newWorld(t)
	store := memory.New()
	bob, alice := agent(t, "bob"), agent(t, "alice")
	parley.Handle(bob, func(_ context.Context, turn *parley.Turn, in Ping) (Pong, error) {
		if err := parley.Save(turn, "a", in.Text); err != nil {
			return Pong{}, err
		}
		if in.Text == "bad" {
			if err := parley.Save(turn, "b", make(chan int)); err != nil {
				return Pong{}, err
			}
		}
		return Pong{"saved"}, nil
	})
	w.start("one", &parley.NodeOptions{Store: store}, bob, alice)
	if _, err := parley.Ask[Pong](t.Context(), alice, bob.Address(), Ping{"good"}); err != nil {
		t.Fatal(err)
	}
	if _, err := parley.Ask[Pong](t.Context(), alice, bob.Address(), Ping{"bad"}); err == nil {
		t.Error("a value that cannot be stored was taken")
	}
	if value, _, err := store.Get(t.Context(), bob.Address(), "a"); err != nil || string(value) != `"good"` {
		t.Errorf("a = %s (%v), want what it was", value, err)
	}
}

// pythonLike answers as the Python library does: on the connection, unsigned.
func (w *world) pythonLike(name string, k *identity.Key) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	transport := w.net.Join(name)
	transport.Forgetful = true
	go func() {
		done <- transport.Serve(ctx, func(_ context.Context, f parley.Frame) (parley.Frame, error) {
			e, err := uagents.Decode(f.Body)
			if err != nil || !f.Sync {
				return parley.Frame{}, err
			}
			reply := &uagents.Envelope{Version: 1, Sender: e.Target, Target: e.Sender, Session: e.Session, SchemaDigest: digestOf[Pong](w.t)}
			reply.SetPayload([]byte(`{"text": "unsigned"}`))
			return parley.Frame{Body: reply.Encode()}, nil
		})
	}()
	w.t.Cleanup(func() { cancel(); <-done })
	w.mu.Lock()
	w.urls[k.Address()] = "mem://" + name
	w.mu.Unlock()
}

// Parley signs its replies: replyText verifies them in all tests above. Unsigned
// ones are believed on a connection of our own, unless the node says otherwise.
func TestU9UnsignedRepliesOnlyWhereTheyAreAllowed(t *testing.T) {
	w := newWorld(t)
	peer := key(t, "python-like")
	w.pythonLike("p", peer)
	trusting, strict := agent(t, "trusting"), agent(t, "strict")
	w.start("t", nil, trusting)
	w.start("s", &parley.NodeOptions{RefuseUnsignedReplies: true}, strict)

	pong, err := parley.Ask[Pong](t.Context(), trusting, peer.Address(), Ping{})
	if err != nil || pong.Text != "unsigned" {
		t.Errorf("by default: %+v, %v", pong, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if pong, err := parley.Ask[Pong](ctx, strict, peer.Address(), Ping{}); err == nil {
		t.Errorf("believed although the node refuses unsigned replies: %+v", pong)
	}
}

// With no registry to be found, an agent starts at once.
func TestU16StartUpWaitsForNobody(t *testing.T) {
	w := newWorld(t)
	a := agent(t, "alone")
	ran := make(chan struct{})
	a.OnStart(func(_ context.Context, turn *parley.Turn) error {
		close(ran)
		return turn.Send(key(t, "unknown to all").Address(), Note{"is anybody there?"})
	})
	start := time.Now()
	w.start("a", nil, a)
	<-ran
	if took := time.Since(start); took > 10*time.Second { // the peer needs 33 s
		t.Errorf("start-up took %s", took)
	}
}

func TestTheDigestOfErrorsIsWhatTheTypeGives(t *testing.T) {
	if got := digestOf[parley.ErrorMessage](t); got != parley.ErrorMessageDigest {
		t.Errorf("the digest of ErrorMessage is %s, and written down as %s", got, parley.ErrorMessageDigest)
	}
}
