package quota_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/quota"
	"github.com/parley-agents/parley/store/memory"
	"github.com/parley-agents/parley/store/sqlite"
)

type (
	Prompt struct {
		Text string `json:"text"`
	}
	Reply struct {
		Text string `json:"text"`
	}
)

const (
	notAllowed = "You are not allowed to access this handler."
	exceeded   = "Rate limit exceeded for Prompt. This handler allows for 6 calls per 60 minutes. Try again later."
)

// A bench is a node with one agent under quota and some that ask it.
type bench struct {
	t      *testing.T
	store  parley.Store
	agent  *parley.Agent
	asking []*parley.Agent
	stop   func()
}

func address(t testing.TB, seed string) identity.Address { return newKey(t, seed).Address() }

func newKey(t testing.TB, seed string) *identity.Key {
	t.Helper()
	key, err := identity.FromSeed(seed, 0)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newBench(t *testing.T, store parley.Store, q *quota.Quota, senders int, handle func(context.Context, *parley.Turn, Prompt) (Reply, error)) *bench {
	t.Helper()
	b := &bench{t: t, store: store, agent: parley.NewAgent("served", &parley.AgentOptions{Key: newKey(t, "served")})}
	b.agent.Use(q.Middleware())
	parley.Handle(b.agent, handle)
	node, err := parley.NewNode(&parley.NodeOptions{Store: store, Grace: 100 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	agents := []*parley.Agent{b.agent}
	for i := range senders {
		a := parley.NewAgent(fmt.Sprint("sender", i), &parley.AgentOptions{Key: newKey(t, fmt.Sprint("sender", i))})
		b.asking = append(b.asking, a)
		agents = append(agents, a)
	}
	if err := node.Add(agents...); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- node.Run(ctx) }()
	b.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(b.stop)
	return b
}

// ask sends one prompt and returns the text of the reply or of the refusal.
func (b *bench) ask(sender int, text string) string {
	reply, err := parley.Ask[Reply](b.t.Context(), b.asking[sender], b.agent.Address(), Prompt{text})
	if refusal, ok := errors.AsType[*fault.Error](err); ok {
		return refusal.Text
	}
	if err != nil {
		return err.Error()
	}
	return reply.Text
}

func (b *bench) used(sender int) []quota.Entry {
	entries, err := quota.Read(b.t.Context(), b.store, b.agent.Address(), b.asking[sender].Address(), time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	return entries
}

func mustNew(t testing.TB, r quota.Rules) *quota.Quota {
	t.Helper()
	q, err := quota.New(r)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func answer(_ context.Context, _ *parley.Turn, in Prompt) (Reply, error) { return Reply(in), nil }

func limited() quota.Rules {
	return quota.Rules{Messages: map[string]quota.Rule{"Prompt": {Limit: quota.PerHour(6)}}}
}

func TestTheSeventhMessageOfAnHourIsRefused(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	q := mustNew(t, limited())
	q.Now = func() time.Time { return now }
	b := newBench(t, memory.New(), q, 2, answer)
	for i := range 6 {
		if got := b.ask(0, "hi"); got != "hi" {
			t.Fatalf("message %d: %s", i+1, got)
		}
	}
	if got := b.ask(0, "hi"); got != exceeded {
		t.Errorf("the seventh gets %q, want %q", got, exceeded)
	}
	if got := b.ask(1, "hi"); got != "hi" {
		t.Errorf("another sender gets %q", got)
	}
	now = now.Add(time.Hour) // the last second of the window
	if got := b.ask(0, "hi"); got != exceeded {
		t.Errorf("an hour later %q, want %q", got, exceeded)
	}
	now = now.Add(time.Second)
	if got := b.ask(0, "hi"); got != "hi" {
		t.Errorf("in the next window %q", got)
	}
}

func TestAccess(t *testing.T) {
	first, second := address(t, "sender0"), address(t, "sender1")
	for _, tc := range []struct {
		name   string
		access *quota.Access
		want   [2]string // of the second message each
	}{
		{"for all", nil, [2]string{"limit", "limit"}},
		{"blocked", &quota.Access{Block: []identity.Address{first}}, [2]string{notAllowed, "limit"}},
		{"closed", &quota.Access{Closed: true, Allow: []identity.Address{first}}, [2]string{"limit", notAllowed}},
		{"closed to all", &quota.Access{Closed: true}, [2]string{notAllowed, notAllowed}},
		{"no limit for one", &quota.Access{Bypass: []identity.Address{second}}, [2]string{"limit", "hi"}},
		{"blocked is blocked, also without limit", &quota.Access{Block: []identity.Address{first}, Bypass: []identity.Address{first}}, [2]string{notAllowed, "limit"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rule := quota.Rule{Limit: quota.PerHour(1), Access: tc.access}
			b := newBench(t, memory.New(), mustNew(t, quota.Rules{Default: rule}), 2, answer)
			for i, want := range tc.want {
				b.ask(i, "hi")
				got := b.ask(i, "hi")
				if strings.HasPrefix(got, "Rate limit exceeded for Prompt. This handler allows for 1 calls per 60 minutes.") {
					got = "limit"
				}
				if got != want {
					t.Errorf("sender %d gets %q, want %q", i, got, want)
				}
			}
		})
	}
}

func TestRulesCanBeReplacedWhileItRuns(t *testing.T) {
	q := mustNew(t, quota.Rules{})
	b := newBench(t, memory.New(), q, 1, answer)
	if got := b.ask(0, "hi"); got != "hi" {
		t.Fatal(got)
	}
	if err := q.SetRules(quota.Rules{Default: quota.Rule{Access: &quota.Access{Block: []identity.Address{b.asking[0].Address()}}}}); err != nil {
		t.Fatal(err)
	}
	if got := b.ask(0, "hi"); got != notAllowed {
		t.Errorf("after it was blocked the sender gets %q", got)
	}
	if err := q.SetRules(quota.Rules{Default: quota.Rule{Limit: &quota.Limit{}}}); err == nil {
		t.Error("rules with a mistake were taken")
	}
	if got := b.ask(0, "hi"); got != notAllowed {
		t.Errorf("after rules that were refused the sender gets %q", got)
	}
}

// 64 senders send ten messages each, all at once: of each exactly six are
// handled. Then one sender does the same with 64 messages.
func TestExactUnderConcurrency(t *testing.T) {
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "parley.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	var handled sync.Map
	b := newBench(t, store, mustNew(t, limited()), 64, func(_ context.Context, turn *parley.Turn, in Prompt) (Reply, error) {
		n, _ := handled.LoadOrStore(turn.Sender, new(atomic.Int32))
		n.(*atomic.Int32).Add(1)
		time.Sleep(10 * time.Millisecond) // others of the same sender are counted meanwhile
		return Reply(in), nil
	})
	check := func(sender int, refused, wantRefused int32) {
		t.Helper()
		n, _ := handled.LoadOrStore(b.asking[sender].Address(), new(atomic.Int32))
		if got := n.(*atomic.Int32).Load(); got != 6 || refused != wantRefused {
			t.Errorf("sender %d: %d handled, %d refused, want 6 and %d", sender, got, refused, wantRefused)
		}
		if used := b.used(sender); len(used) != 1 || used[0].Requests != 6 || used[0].MaxRequests != 6 || used[0].Message != "Prompt" {
			t.Errorf("sender %d: used %+v", sender, used)
		}
	}
	var refused [64]atomic.Int32
	volley := func(senders, messages int) {
		var all sync.WaitGroup
		for s := range senders {
			for range messages {
				all.Go(func() {
					switch got := b.ask(s, "hi"); got {
					case "hi":
					case exceeded:
						refused[s].Add(1)
					default:
						t.Errorf("sender %d gets %q", s, got)
					}
				})
			}
		}
		all.Wait()
	}
	volley(64, 10)
	for s := range 64 {
		check(s, refused[s].Load(), 4)
	}
	volley(1, 64)
	check(0, refused[0].Load(), 4+64)
}

func TestTheCountSurvivesARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	for _, tc := range []struct{ handled, refused int }{{4, 0}, {2, 2}, {0, 4}} {
		store, err := sqlite.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		b := newBench(t, store, mustNew(t, limited()), 1, answer)
		var handled, refused int
		for range 4 {
			if b.ask(0, "hi") == "hi" {
				handled++
			} else {
				refused++
			}
		}
		if handled != tc.handled || refused != tc.refused {
			t.Errorf("%d handled, %d refused, want %+v", handled, refused, tc)
		}
		b.stop()
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A node stops while a message is being handled; the next one handles it again.
func TestAMessageThatIsHandledAgainIsCountedOnce(t *testing.T) {
	store := memory.New()
	begun := make(chan struct{})
	first := newBench(t, store, mustNew(t, limited()), 1, func(ctx context.Context, _ *parley.Turn, _ Prompt) (Reply, error) {
		close(begun)
		<-ctx.Done()
		return Reply{}, ctx.Err()
	})
	if _, err := first.asking[0].Send(t.Context(), first.agent.Address(), Prompt{"once"}); err != nil {
		t.Fatal(err)
	}
	<-begun
	first.stop()
	if used := first.used(0); len(used) != 1 || used[0].Requests != 1 {
		t.Fatalf("before it was handled: used %+v", used)
	}

	var runs atomic.Int32
	again := make(chan struct{})
	second := newBench(t, store, mustNew(t, limited()), 1, func(_ context.Context, _ *parley.Turn, in Prompt) (Reply, error) {
		if in.Text == "once" {
			if runs.Add(1) == 1 {
				return Reply{}, parley.RetryAfter(time.Millisecond)
			}
			close(again)
		}
		return Reply(in), nil
	})
	<-again
	if got := second.ask(0, "hi"); got != "hi" {
		t.Fatal(got)
	}
	if used := second.used(0); len(used) != 1 || used[0].Requests != 2 {
		t.Errorf("one message handled three times and another: used %+v, want 2", used)
	}
}

// As with the Python library, a handler that fails has been paid for.
func TestAFailingHandlerIsCounted(t *testing.T) {
	b := newBench(t, memory.New(), mustNew(t, limited()), 1, func(context.Context, *parley.Turn, Prompt) (Reply, error) {
		return Reply{}, parley.Errorf(fault.Unavailable, "the model is away")
	})
	for range 6 {
		if got := b.ask(0, "hi"); got != "the model is away" {
			t.Fatal(got)
		}
	}
	if got := b.ask(0, "hi"); got != exceeded {
		t.Errorf("the seventh gets %q, want %q", got, exceeded)
	}
}

// Strangers who come once leave nothing behind for ever.
func TestOldLedgersAreDropped(t *testing.T) {
	var now atomic.Int64
	now.Store(1_700_000_000)
	q := mustNew(t, limited())
	q.Now = func() time.Time { return time.Unix(now.Load(), 0) }
	store := memory.New()
	b := newBench(t, store, q, 60, answer)
	kept := func() int {
		keys, err := store.Keys(t.Context(), b.agent.Address(), "quota/", "", 1000)
		if err != nil {
			t.Fatal(err)
		}
		return len(keys)
	}
	for i := range 30 {
		b.ask(i, "hi")
	}
	if n := kept(); n != 30 {
		t.Fatalf("%d ledgers of 30 senders in one hour", n)
	}
	now.Add(25*3600 + 1)
	for i := range 30 {
		b.ask(30+i, "hi")
	}
	if n := kept(); n != 30 {
		t.Errorf("%d ledgers, want those of the last 30 senders", n)
	}
}

// A clock that is set back opens no window that was used up.
func TestAClockThatIsSetBack(t *testing.T) {
	var now atomic.Int64
	now.Store(1_700_000_000)
	q := mustNew(t, limited())
	q.Now = func() time.Time { return time.Unix(now.Load(), 0) }
	b := newBench(t, memory.New(), q, 5, answer)
	for range 6 {
		b.ask(0, "hi")
	}
	now.Add(2 * 3600)
	for i := range 4 {
		b.ask(1+i, "hi") // and tidies up
	}
	now.Add(-5400)
	if got := b.ask(0, "hi"); got != exceeded {
		t.Errorf("half an hour after the first the seventh gets %q, want %q", got, exceeded)
	}
}

func TestMistakesInRules(t *testing.T) {
	one := []identity.Address{address(t, "sender0")}
	for _, tc := range []struct {
		rule quota.Rule
		says string
	}{
		{quota.Rule{Limit: &quota.Limit{WindowMinutes: 60}}, "max_requests"},
		{quota.Rule{Limit: &quota.Limit{MaxRequests: 6}}, "window_size_minutes"},
		{quota.Rule{Access: &quota.Access{Allow: one}}, "set closed"},
		{quota.Rule{Access: &quota.Access{Closed: true, Block: one}}, "no effect"},
		{quota.Rule{Access: &quota.Access{Bypass: []identity.Address{"somebody"}}}, "access"},
	} {
		_, err := quota.New(quota.Rules{Messages: map[string]quota.Rule{"Prompt": tc.rule}})
		if err == nil || fault.CodeOf(err) == fault.Internal || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "messages.Prompt") {
			t.Errorf("New = %v, want %q and the message", err, tc.says)
		}
	}
}

func TestAChangedLimitHoldsAtOnce(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	ledger := quota.Ledger{}
	for i, step := range []struct {
		after time.Duration
		limit quota.Limit
		want  bool
	}{
		{0, quota.Limit{MaxRequests: 1, WindowMinutes: 1}, true},
		{1, quota.Limit{MaxRequests: 1, WindowMinutes: 1}, false},
		{2, quota.Limit{MaxRequests: 2, WindowMinutes: 60}, true},
		{100, quota.Limit{MaxRequests: 3, WindowMinutes: 60}, true}, // the entry is not dropped after the old minute
		{101, quota.Limit{MaxRequests: 3, WindowMinutes: 60}, false},
		{102, quota.Limit{MaxRequests: 3, WindowMinutes: 1}, true},
	} {
		if got := ledger.Add("Prompt", step.limit, start.Add(step.after*time.Second)); got != step.want {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
	}
}

// The Python library ignores an access list that is given to a limit, as public
// examples do: whoever wrote it believes to be protected.
func TestU20UnknownOptionsAreErrors(t *testing.T) {
	for _, text := range []string{
		`{"messages": {"Prompt": {"limit": {"window_size_minutes": 60, "max_requests": 6, "acl": {"default": false}}}}}`,
		`{"messages": {"Prompt": {"limit": {"window_size_minutes": 60, "max_requests": 6, "access": {"closed": true}}}}}`,
		`{"default": {"rate_limit": {"window_size_minutes": 60, "max_requests": 6}}}`,
		`{"default": {"access": {"allowed": []}}}`,
		`{"defaults": {}}`,
	} {
		if _, err := quota.ParseRules([]byte(text)); fault.CodeOf(err) != fault.Malformed || !strings.Contains(err.Error(), "unknown field") {
			t.Errorf("ParseRules(%s) = %v, want malformed and the unknown field", text, err)
		}
	}
}

func FuzzParseRules(f *testing.F) {
	f.Add([]byte(`{"default": {"limit": {"window_size_minutes": 60, "max_requests": 6}}}`))
	f.Add([]byte(`{"messages": {"Prompt": {"access": {"closed": true, "allow": ["agent1q"]}}}} x`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := quota.ParseRules(text)
		if err != nil {
			return
		}
		if _, err := quota.New(r); err != nil {
			t.Errorf("what was read is refused: %v", err)
		}
	})
}
