package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/store/sqlite"
)

// The messages of a trade, whose rules make every message look at its dialogue.
type (
	Cfp struct {
		Item string `json:"item"`
	}
	Propose struct {
		Price int `json:"price"`
	}
	Accept struct{}
)

func trade() *spec.Protocol {
	p := &spec.Protocol{
		Name: "Trade", Version: "1.0.0", Roles: []spec.Role{{Name: "buyer"}, {Name: "seller"}},
		Rules: []spec.Rule{{Message: "Cfp", Replies: []string{"Propose"}}, {Message: "Propose", Replies: []string{"Accept"}}, {Message: "Accept"}},
		Dialogue: &spec.Dialogue{
			Initiates:  []spec.Initiation{{Messages: []string{"Cfp"}, By: []string{"buyer"}}},
			Terminates: []string{"Accept"}, EndStates: []string{"agreed"},
			Outcomes: []spec.Outcome{{State: "agreed", Messages: []string{"Accept"}}},
		},
	}
	for _, m := range []struct {
		from string
		body func() (*spec.Record, error)
	}{{"buyer", spec.FromGo[Cfp]}, {"seller", spec.FromGo[Propose]}, {"buyer", spec.FromGo[Accept]}} {
		body, err := m.body()
		check(err)
		p.Messages = append(p.Messages, spec.Message{Name: body.Name, Body: body, From: []string{m.from}})
	}
	return p
}

// BenchmarkStoredDialogues prints what a message costs where ten dialogues are
// stored, and where a million are.
func BenchmarkStoredDialogues(b *testing.B) {
	fmt.Printf("\nCost of a message in a dialogue with rules, one node, durable store, by the number of stored dialogues\n")
	fmt.Printf("%-38s %12s %12s %12s\n", "", "time", "CPU", "first start")
	var few result
	for _, stored := range []int{10, 1_000_000} {
		folder := b.TempDir()
		began := time.Now()
		fill(folder, trades(folder), stored)
		filled := time.Since(began)
		var all []result
		var start time.Duration
		for i := range repeats {
			r, took := tradesFor(folder)
			all = append(all, r)
			if i == 0 {
				start = took
			}
		}
		r := medianOf(all)
		fmt.Printf("%-38s %9.0f µs %9.0f µs %9.0f ms   (stored in %s)\n", fmt.Sprintf("%d dialogues", stored),
			1e6/r.perSecond/3, micros(r.cpu)/3, micros(start)/1e3, filled.Round(time.Second))
		if stored == 10 {
			few = r
		} else {
			fmt.Printf("%-38s %11.2fx %11.2fx   aim: flat\n", "a million against ten", few.perSecond/r.perSecond, micros(r.cpu)/micros(few.cpu))
		}
	}
	for range b.N { // the framework wants a loop; the table above is the result
	}
}

// traders are a buyer who begins a trade when another has ended, and a seller.
func traders(ended func(session string)) (buyer, seller *parley.Agent) {
	buyer = parley.NewAgent("buyer", &parley.AgentOptions{Key: benchKey("buyer")})
	seller = parley.NewAgent("seller", &parley.AgentOptions{Key: benchKey("seller")})
	buys, sells := parley.NewProtocol(trade()), parley.NewProtocol(trade())
	parley.Handle(buys, func(context.Context, *parley.Turn, Propose) (Accept, error) { return Accept{}, nil })
	parley.Handle(sells, func(context.Context, *parley.Turn, Cfp) (Propose, error) { return Propose{7}, nil })
	parley.On(sells, func(_ context.Context, t *parley.Turn, _ Accept) error { ended(t.Session); return nil })
	buyer.Include(buys, &parley.Include{Role: "buyer"})
	seller.Include(sells, &parley.Include{Role: "seller"})
	return buyer, seller
}

// trades makes one trade in a new store and returns the states that it leaves,
// of the seller and of the buyer.
func trades(folder string) (left [2][]byte) {
	done := make(chan string, 1)
	buyer, seller := traders(func(session string) { done <- session })
	stop := host(folder, freeAddress(), nil, buyer, seller)
	_, err := buyer.Send(context.Background(), seller.Address(), Cfp{"sugar"})
	check(err)
	session := <-done
	time.Sleep(warmUp) // until the last commit
	stop()
	store := open(folder, nil)
	defer store.Close()
	for i, pair := range [][2]*parley.Agent{{seller, buyer}, {buyer, seller}} {
		d, err := store.Dialogue(context.Background(), pair[0].Address(), string(pair[1].Address())+"/"+session)
		check(err)
		if left[i] = d.State; len(d.State) == 0 {
			panic("the trade has left no dialogue")
		}
	}
	return left
}

func open(folder string, opts *sqlite.Options) *sqlite.Store {
	store, err := sqlite.Open(filepath.Join(folder, "parley.db"), opts)
	check(err)
	return store
}

// fill stores dialogues as that trade has left them, half of them the seller's,
// with the marks of their first messages.
func fill(folder string, left [2][]byte, n int) {
	store := open(folder, &sqlite.Options{Cache: 256 << 20})
	defer store.Close()
	agents := []identity.Address{benchKey("seller").Address(), benchKey("buyer").Address()}
	const batch = 5000
	later := time.Now().Add(7 * 24 * time.Hour)
	for stored := 0; stored < n; {
		for i, agent := range agents {
			b := &parley.Batch{Agent: agent}
			for ; len(b.Dialogues) < min(batch, n/2) && stored < n; stored++ {
				session := spread(stored, n)
				b.Dialogues = append(b.Dialogues, parley.DialogueRecord{ID: string(agents[1-i]) + "/" + session, Version: 1, State: left[i], Expires: later})
				b.Marks = append(b.Marks, parley.Mark{ID: session, Inbox: session, Expires: later})
			}
			check(store.Commit(context.Background(), b))
		}
	}
}

// spread makes sessions that are in order, which is quick to store, and as far
// apart as random ones.
func spread(i, n int) string {
	var u uuid.UUID
	binary.BigEndian.PutUint64(u[:], math.MaxUint64/uint64(n)*uint64(i))
	return u.String()
}

// tradesFor makes trades one after the other for a while; a trade is three
// messages. took is how long the node needed to start.
func tradesFor(folder string) (r result, took time.Duration) {
	back := make(chan struct{}, 1)
	buyer, seller := traders(func(string) { back <- struct{}{} })
	began := time.Now()
	stop := host(folder, freeAddress(), nil, buyer, seller)
	defer stop()
	took = time.Since(began)
	r = drive(0, 1, func() func() {
		return func() {
			_, err := buyer.Send(context.Background(), seller.Address(), Cfp{"sugar"})
			check(err)
			<-back
		}
	})
	return r, took
}
