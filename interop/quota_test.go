package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/quota"
	"github.com/parley-agents/parley/store/memory"
)

type (
	First struct {
		Text string `json:"text"`
	}
	Second struct {
		Text string `json:"text"`
	}
)

// A quotaRule is a rule as the library spells it.
type quotaRule struct {
	Limit  *quota.Limit `json:"limit"`
	Access *quotaAccess `json:"access"`
}

type quotaAccess struct {
	Default bool               `json:"default"`
	Allowed []identity.Address `json:"allowed"`
	Blocked []identity.Address `json:"blocked"`
	Bypass  []identity.Address `json:"bypass_rate_limit"`
}

type quotaStep struct {
	At      float64          `json:"at"`
	Sender  identity.Address `json:"sender"`
	Message string           `json:"message"`
}

type quotaPlay struct {
	Rules map[string]quotaRule `json:"rules"`
	Steps []quotaStep          `json:"steps"`
}

type quotaOutcome struct {
	Said    []*string                        `json:"said"` // nil where the message was handled
	Storage map[identity.Address]usageLedger `json:"storage"`
}

// openAt returns the windows that are open at a time. Of a sender who does not come
// back the library keeps the others for ever.
func (o *quotaOutcome) openAt(at float64) map[identity.Address]usageLedger {
	open := make(map[identity.Address]usageLedger)
	for sender, ledger := range o.Storage {
		for message, usage := range ledger {
			if math.Floor(at)-usage.Start > float64(60*usage.Minutes) {
				continue
			}
			if open[sender] == nil {
				open[sender] = make(usageLedger)
			}
			open[sender][message] = usage
		}
	}
	return open
}

type usageLedger map[string]struct {
	Start    float64 `json:"time_window_start"`
	Minutes  int     `json:"window_size_minutes"`
	Requests int     `json:"requests"`
	Max      int     `json:"max_requests"`
}

// TestQuotaLikeTheLibrary plays random sequences of messages through the real
// QuotaProtocol and through an agent under quota. Every message must get the
// same answer, and the same must be stored in the end.
func TestQuotaLikeTheLibrary(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), python(t), "python/quota.py")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })
	answers := json.NewDecoder(bufio.NewReader(stdout))
	r := newRand(t)
	handled, refused, denied := 0, 0, 0
	for i := range count(60, 2000) {
		play := randomPlay(t, r)
		if err := json.NewEncoder(stdin).Encode(play); err != nil {
			t.Fatal(err)
		}
		var theirs quotaOutcome
		if err := answers.Decode(&theirs); err != nil {
			t.Fatal(err)
		}
		ours := playQuota(t, play)
		for j := range play.Steps {
			if show(ours.Said[j]) != show(theirs.Said[j]) {
				t.Fatalf("play %d, step %d: we say %s, the library %s\n%s", i, j, show(ours.Said[j]), show(theirs.Said[j]), show(play))
			}
			switch {
			case theirs.Said[j] == nil:
				handled++
			case (*theirs.Said[j])[0] == 'Y':
				denied++
			default:
				refused++
			}
		}
		end := play.Steps[len(play.Steps)-1].At
		if !reflect.DeepEqual(ours.openAt(end), theirs.openAt(end)) {
			t.Fatalf("play %d: we store %s, the library %s\n%s", i, show(ours.Storage), show(theirs.Storage), show(play))
		}
	}
	t.Logf("%d handled, %d over the limit, %d denied", handled, refused, denied)
	if handled == 0 || refused == 0 || denied == 0 {
		t.Error("the plays show too little")
	}
}

// What package quota refuses (its TestU20…), the library takes and forgets.
func TestU20TheLibraryForgetsAnAccessList(t *testing.T) {
	const program = `
from uagents.protocol.quota import AccessControlList, RateLimit
print(RateLimit(window_size_minutes=60, max_requests=6, acl=AccessControlList(default=False)).model_dump())`
	out, err := exec.CommandContext(t.Context(), python(t), "-c", program).Output()
	if want := "{'window_size_minutes': 60, 'max_requests': 6}\n"; err != nil || string(out) != want {
		t.Errorf("the library makes of it %s (%v), and used to make %s: has it learned?", out, err, want)
	}
}

func randomPlay(t *testing.T, r *rand.Rand) *quotaPlay {
	senders := []identity.Address{quotaKey(t, 0).Address(), quotaKey(t, 1).Address()}
	some := func() []identity.Address { return append([]identity.Address{}, senders[:r.IntN(3)]...) }
	p := &quotaPlay{Rules: map[string]quotaRule{}}
	for _, message := range []string{"First", "Second"} {
		rule := quotaRule{}
		if r.IntN(8) > 0 {
			rule.Limit = &quota.Limit{MaxRequests: 1 + r.IntN(4), WindowMinutes: 1 + r.IntN(3)}
		}
		switch r.IntN(6) {
		case 0:
			rule.Access = &quotaAccess{Default: true, Allowed: []identity.Address{}, Blocked: some(), Bypass: some()}
		case 1:
			rule.Access = &quotaAccess{Allowed: some(), Blocked: []identity.Address{}, Bypass: some()}
		}
		p.Rules[message] = rule
	}
	at := 1_700_000_000 + r.Float64()
	for range 30 {
		// Often within a window, sometimes exactly at its end or a second after, and
		// now and then the clock is set back.
		at += []float64{0, 1, r.Float64() * 20, 59, 60, 61, 120, 181, -1, -61}[r.IntN(10)]
		p.Steps = append(p.Steps, quotaStep{at, senders[r.IntN(2)], []string{"First", "Second"}[r.IntN(2)]})
	}
	return p
}

func quotaKey(t *testing.T, i int) *identity.Key {
	key, err := identity.FromSeed(fmt.Sprint("quota ", i), 0)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// playQuota plays a sequence through an agent of a node.
func playQuota(t *testing.T, p *quotaPlay) *quotaOutcome {
	rules := quota.Rules{Messages: map[string]quota.Rule{}}
	for message, rule := range p.Rules {
		r := quota.Rule{Limit: rule.Limit}
		if a := rule.Access; a != nil {
			r.Access = &quota.Access{Closed: !a.Default, Allow: a.Allowed, Block: a.Blocked, Bypass: a.Bypass}
		}
		rules.Messages[message] = r
	}
	limits, err := quota.New(rules)
	if err != nil {
		t.Fatal(err)
	}
	var now atomic.Pointer[time.Time]
	limits.Now = func() time.Time { return *now.Load() }
	served := parley.NewAgent("served", &parley.AgentOptions{Key: quotaKey(t, 9)})
	served.Use(limits.Middleware())
	parley.Handle(served, func(_ context.Context, _ *parley.Turn, in First) (Second, error) { return Second(in), nil })
	parley.Handle(served, func(_ context.Context, _ *parley.Turn, in Second) (First, error) { return First(in), nil })
	agents := []*parley.Agent{served}
	byAddress := map[identity.Address]*parley.Agent{}
	for i := range 2 {
		a := parley.NewAgent(fmt.Sprint("sender", i), &parley.AgentOptions{Key: quotaKey(t, i)})
		agents, byAddress[a.Address()] = append(agents, a), a
	}
	store := memory.New()
	node, err := parley.NewNode(&parley.NodeOptions{Store: store, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Add(agents...); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- node.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()

	outcome := &quotaOutcome{Storage: map[identity.Address]usageLedger{}}
	for _, step := range p.Steps {
		at := time.UnixMicro(int64(step.At * 1e6))
		now.Store(&at)
		var message any = First{}
		if step.Message == "Second" {
			message = Second{}
		}
		reply, err := parley.Ask[parley.Raw](ctx, byAddress[step.Sender], served.Address(), message)
		if err != nil {
			t.Fatal(err)
		}
		var said struct{ Error *string }
		if err := json.Unmarshal(reply.Payload, &said); err != nil {
			t.Fatal(err)
		}
		outcome.Said = append(outcome.Said, said.Error)
	}
	for address := range byAddress {
		value, ok, err := store.Get(ctx, served.Address(), "quota/"+string(address))
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			var ledger usageLedger
			if err := json.Unmarshal(value, &ledger); err != nil {
				t.Fatal(err)
			}
			outcome.Storage[address] = ledger
		}
	}
	return outcome
}

func show(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
