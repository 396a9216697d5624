package bench

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/run"
)

type (
	Ping struct {
		Text string `json:"text"`
		N    int    `json:"n"`
	}
	Pong struct {
		Text string `json:"text"`
		N    int    `json:"n"`
	}
)

const text = "hello there, how are you today?"

// TestMain makes the test binary the second process when it is asked to be one.
func TestMain(m *testing.M) {
	if os.Getenv("PARLEY_BENCH_PONG") != "" {
		pongProcess()
		return
	}
	os.Exit(m.Run())
}

func benchKey(name string) *identity.Key {
	k, err := identity.FromSeed(name+" bench seed", 0)
	check(err)
	return k
}

func ponger() *parley.Agent {
	a := parley.NewAgent("bob", &parley.AgentOptions{Key: benchKey("bob")})
	parley.Handle(a, func(_ context.Context, _ *parley.Turn, in Ping) (Pong, error) { return Pong(in), nil })
	return a
}

func pongProcess() {
	check(run.Run(context.Background(), &run.Options{
		Data: os.Getenv("PARLEY_BENCH_DATA"), Listen: os.Getenv("PARLEY_BENCH_PONG"),
		Resolve: map[identity.Address]string{benchKey("alice").Address(): os.Getenv("PARLEY_BENCH_PEER")},
		Started: func(string) { fmt.Println("started") },
	}, ponger()))
}

// A game is ping-pong with a window of messages under way.
type game struct {
	mu      sync.Mutex
	sent    map[int]time.Time
	took    []time.Duration
	next    int
	stopped bool
}

func (g *game) serve() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.next
	g.next++
	g.sent[n] = time.Now()
	return n
}

func (g *game) back(n int) (more bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.took = append(g.took, time.Since(g.sent[n]))
	delete(g.sent, n)
	return !g.stopped
}

// play lets an agent play against bob for a while and returns round trips per
// second and the median.
func play(window int, d time.Duration, start func(*parley.Agent) (stop func())) (perSecond float64, p50 time.Duration) {
	g := &game{sent: make(map[int]time.Time)}
	bob := benchKey("bob").Address()
	a := parley.NewAgent("alice", &parley.AgentOptions{Key: benchKey("alice")})
	parley.On(a, func(_ context.Context, t *parley.Turn, in Pong) error {
		if !g.back(in.N) {
			return nil
		}
		return t.Send(bob, Ping{text, g.serve()})
	})
	for range window { // a session each, as the peer's contexts have
		a.OnStart(func(_ context.Context, t *parley.Turn) error { return t.Send(bob, Ping{text, g.serve()}) })
	}
	stop := start(a)
	time.Sleep(d)
	g.mu.Lock()
	g.stopped = true
	took := slices.Clone(g.took)
	g.mu.Unlock()
	stop()
	slices.Sort(took)
	if len(took) == 0 {
		return 0, 0
	}
	return float64(len(took)) / d.Seconds(), took[len(took)/2]
}

func freeAddress() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	defer l.Close()
	return l.Addr().String()
}

// host runs agents in this process.
func host(data, listen string, resolve map[identity.Address]string, agents ...*parley.Agent) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	started, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- run.Run(ctx, &run.Options{Data: data, Listen: listen, Resolve: resolve, Started: func(string) { close(started) }}, agents...)
	}()
	<-started
	return func() {
		cancel()
		check(<-done)
	}
}

// otherProcess runs bob in a process of its own.
func otherProcess(b *testing.B, peer string) (address string, stop func()) {
	b.Helper()
	address = freeAddress()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PARLEY_BENCH_PONG="+address, "PARLEY_BENCH_DATA="+b.TempDir(), "PARLEY_BENCH_PEER=http://"+peer+"/submit")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	check(err)
	check(cmd.Start())
	if line, _ := bufio.NewReader(out).ReadString('\n'); strings.TrimSpace(line) != "started" {
		b.Fatalf("the other process says %q", line)
	}
	return address, func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	}
}

const playTime = 3 * time.Second

// BenchmarkNode prints round trips of two processes over loopback HTTP with
// durable stores, and of a pair in one node, beside the peer's own.
func BenchmarkNode(b *testing.B) {
	fmt.Printf("\nRound trips, signed, two processes over loopback, durable stores (the peer stores nothing)\n")
	fmt.Printf("%-34s %12s %12s %8s %6s\n", "", "Parley", "Python", "ratio", "aim")
	for _, c := range []struct {
		window int
		aim    string
	}{{1, "10x"}, {16, "20x"}} {
		ours, p50 := twoProcesses(b, c.window)
		theirs := pythonPair(b, c.window)
		line(fmt.Sprintf("window %d (p50 %s)", c.window, p50.Round(10*time.Microsecond)), ours, theirs, c.aim)
	}
	for _, window := range []int{1, 16} {
		ours := oneNode(b, window)
		theirs := number(b, "uag_bureau_pingpong.py", `rt/s=([\d.]+)`, strconv.Itoa(window), "3")
		line(fmt.Sprintf("one process, window %d", window), ours, theirs, "3x")
	}
	for range b.N { // the framework wants a loop; the table above is the result
	}
}

func line(name string, ours, theirs float64, aim string) {
	ratio := "-"
	if theirs > 0 {
		ratio = fmt.Sprintf("%.1fx", ours/theirs)
	}
	fmt.Printf("%-34s %10.0f/s %10.0f/s %8s %6s\n", name, ours, theirs, ratio, aim)
}

func twoProcesses(b *testing.B, window int) (float64, time.Duration) {
	b.Helper()
	listen := freeAddress()
	peer, stop := otherProcess(b, listen)
	defer stop()
	bob := benchKey("bob").Address()
	return play(window, playTime, func(a *parley.Agent) func() {
		return host(b.TempDir(), listen, map[identity.Address]string{bob: "http://" + peer + "/submit"}, a)
	})
}

func oneNode(b *testing.B, window int) float64 {
	b.Helper()
	perSecond, _ := play(window, playTime, func(a *parley.Agent) func() { return host(b.TempDir(), freeAddress(), nil, a, ponger()) })
	return perSecond
}

// pythonPair runs the peer's two processes.
func pythonPair(b *testing.B, window int) float64 {
	b.Helper()
	interpreter := os.Getenv("PARLEY_PYTHON")
	if interpreter == "" {
		return 0
	}
	_, ping, _ := net.SplitHostPort(freeAddress())
	_, pong, _ := net.SplitHostPort(freeAddress())
	script, err := filepath.Abs("python/uag_pong.py")
	check(err)
	cmd := exec.Command(interpreter, script, pong, ping)
	cmd.Dir = b.TempDir()
	check(cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	}()
	for range 100 {
		if c, err := net.Dial("tcp", "127.0.0.1:"+pong); err == nil {
			c.Close()
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return number(b, "uag_ping.py", `rt/s=([\d.]+)`, ping, pong, strconv.Itoa(window), "4")
}

// number runs a script of the peer's and returns what it measured.
func number(b *testing.B, script, pattern string, args ...string) float64 {
	b.Helper()
	interpreter := os.Getenv("PARLEY_PYTHON")
	if interpreter == "" {
		return 0
	}
	path, err := filepath.Abs(filepath.Join("python", script))
	check(err)
	cmd := exec.CommandContext(b.Context(), interpreter, append([]string{path}, args...)...)
	cmd.Dir = b.TempDir()
	out, err := cmd.Output()
	check(err)
	found := regexp.MustCompile(pattern).FindSubmatch(out)
	if found == nil {
		b.Fatalf("%s printed %q", script, out)
	}
	n, err := strconv.ParseFloat(string(found[1]), 64)
	check(err)
	return n
}
