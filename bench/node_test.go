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
	Sink struct {
		Text string `json:"text"`
		N    int    `json:"n"`
		Sink bool   `json:"sink" parley:"default=true"`
	}
)

const (
	text     = "hello there, how are you today?"
	warmUp   = 500 * time.Millisecond
	playTime = 2 * time.Second
	repeats  = 3 // interleaved rounds of a comparison; the median counts
)

// TestMain makes the test binary another process when it is asked to be one.
func TestMain(m *testing.M) {
	switch os.Getenv("PARLEY_BENCH_ROLE") {
	case "":
		os.Exit(m.Run())
	case "pong":
		pongProcess()
	case "bare":
		bareProcess()
	case "idle":
		idleProcess()
	}
}

func benchKey(name string) *identity.Key {
	k, err := identity.FromSeed(name+" bench seed", 0)
	check(err)
	return k
}

func ponger() *parley.Agent {
	a := parley.NewAgent("bob", &parley.AgentOptions{Key: benchKey("bob")})
	parley.Handle(a, func(_ context.Context, _ *parley.Turn, in Ping) (Pong, error) { return Pong(in), nil })
	parley.On(a, func(context.Context, *parley.Turn, Sink) error { return nil })
	return a
}

func pongProcess() {
	resolve := map[identity.Address]string{}
	if peer := os.Getenv("PARLEY_BENCH_PEER"); peer != "" {
		resolve[benchKey("alice").Address()] = peer
	}
	check(run.Run(context.Background(), &run.Options{
		Data: os.Getenv("PARLEY_BENCH_DATA"), Listen: os.Getenv("PARLEY_BENCH_LISTEN"),
		Resolve: resolve,
		Started: func(string) { fmt.Println("started") },
	}, ponger()))
}

// Another is another process of this binary, listening.
type another struct {
	cmd     *exec.Cmd
	address string
	took    time.Duration // to start
}

func startOther(b *testing.B, role string, env ...string) *another {
	b.Helper()
	o := &another{cmd: exec.Command(os.Args[0]), address: freeAddress()}
	o.cmd.Env = append(os.Environ(), "PARLEY_BENCH_ROLE="+role, "PARLEY_BENCH_LISTEN="+o.address, "PARLEY_BENCH_DATA="+b.TempDir())
	o.cmd.Env = append(o.cmd.Env, env...)
	o.cmd.Stderr = os.Stderr
	out, err := o.cmd.StdoutPipe()
	check(err)
	began := time.Now()
	check(o.cmd.Start())
	if line, _ := bufio.NewReader(out).ReadString('\n'); strings.TrimSpace(line) != "started" {
		b.Fatalf("the other process says %q", line)
	}
	o.took = time.Since(began)
	return o
}

func (o *another) pid() int    { return o.cmd.Process.Pid }
func (o *another) url() string { return "http://" + o.address + "/submit" }

func (o *another) stop() {
	_ = o.cmd.Process.Kill()
	_ = o.cmd.Wait() // killed
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

// play lets an agent play against bob for a while.
func play(window, other int, start func(*parley.Agent) (stop func())) result {
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
	defer stop()
	time.Sleep(warmUp)
	g.mu.Lock()
	g.took = nil
	g.mu.Unlock()
	m := startMeter(other)
	time.Sleep(playTime)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
	return m.stop(slices.Clone(g.took))
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

// compare has a thing done by Parley, by the peer and by a bare program with
// either verifier, in interleaved rounds.
func compare(ours, theirs func() result, bare func(verifier string) result) (o, t, plain, remembering result) {
	var all [4][]result
	for range repeats {
		for i, r := range []result{ours(), theirs(), bare("plain"), bare("remembering")} {
			all[i] = append(all[i], r)
		}
	}
	return medianOf(all[0]), medianOf(all[1]), medianOf(all[2]), medianOf(all[3])
}

// BenchmarkNode prints what two processes do over loopback HTTP with durable
// stores, beside the peer's own and a bare program, which store nothing.
func BenchmarkNode(b *testing.B) {
	heading(fmt.Sprintf("Two processes over loopback, signed; Parley with durable stores; median of %d interleaved rounds", repeats))
	for _, c := range []struct {
		window     int
		aim, share float64
	}{{1, 10, 55}, {16, 20, 70}} {
		ours, theirs, plain, remembering := compare(
			func() result { return twoProcesses(b, c.window) },
			func() result { return pythonPair(b, c.window) },
			func(verifier string) result { return bareRoundTrips(b, verifier, c.window) })
		name := fmt.Sprintf("round trips, window %d", c.window)
		line{name, "/s", ours.perSecond, theirs.perSecond, plain.perSecond, false, c.aim, c.share}.print()
		line{"  bare with Parley's verifier", "/s", ours.perSecond, 0, remembering.perSecond, false, 0, 0}.print()
		line{"  p50", "µs", micros(ours.p50), micros(theirs.p50), micros(plain.p50), true, 0, 0}.print()
		line{"  CPU per message, both processes", "µs", micros(ours.cpu) / 2, micros(theirs.cpu) / 2, micros(plain.cpu) / 2, true, 0, 0}.print()
	}
	ours, theirs, plain, remembering := compare(
		func() result { return oneWay(b, 16) },
		func() result { return result{perSecond: python(b, "oneway")["msgs/s"]} },
		func(verifier string) result { return bareSends(b, verifier, 16, false) })
	line{"one way, window 16", "/s", ours.perSecond, theirs.perSecond, plain.perSecond, false, 0, 0}.print()
	line{"  bare with Parley's verifier", "/s", ours.perSecond, 0, remembering.perSecond, false, 0, 0}.print()
	line{"  CPU per message, both processes", "µs", micros(ours.cpu), 0, micros(plain.cpu), true, 0, 0}.print()

	ours, theirs, plain, remembering = compare(
		func() result { return queries(b) },
		func() result {
			found := python(b, "sync")
			return result{perSecond: found["q/s"], p50: millis(found["p50"]), p99: millis(found["p99"])}
		},
		func(verifier string) result { return bareSends(b, verifier, 1, true) })
	line{"sync query, p50", "µs", micros(ours.p50), micros(theirs.p50), micros(plain.p50), true, 8, 0}.print()
	line{"  bare with Parley's verifier", "µs", micros(ours.p50), 0, micros(remembering.p50), true, 0, 0}.print()
	line{"sync query, p99", "µs", micros(ours.p99), micros(theirs.p99), micros(plain.p99), true, 0, 0}.print()

	heading("One process: a pair in one node, durable store, against a Bureau")
	for _, window := range []int{1, 16} {
		var ours, theirs []result
		for range repeats {
			ours = append(ours, oneNode(b, window))
			theirs = append(theirs, result{perSecond: numbers(b, "uag_bureau_pingpong.py", strconv.Itoa(window), "3")["rt/s"]})
		}
		line{fmt.Sprintf("round trips, window %d", window), "/s", medianOf(ours).perSecond, medianOf(theirs).perSecond, 0, false, 3, 0}.print()
	}

	heading("Start: from the start of a process to its listening")
	node, least := startOther(b, "pong"), startOther(b, "bare")
	node.stop()
	least.stop()
	_, pong := pythonPong(b)
	pong.stop()
	line{"one agent", "ms", micros(node.took) / 1e3, micros(pong.took) / 1e3, micros(least.took) / 1e3, true, 0, 0}.print()
	for range b.N { // the framework wants a loop; the tables above are the result
	}
}

func millis(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }

func twoProcesses(b *testing.B, window int) result {
	b.Helper()
	listen := freeAddress()
	other := startOther(b, "pong", "PARLEY_BENCH_PEER=http://"+listen+"/submit")
	defer other.stop()
	return play(window, other.pid(), func(a *parley.Agent) func() {
		return host(b.TempDir(), listen, map[identity.Address]string{benchKey("bob").Address(): other.url()}, a)
	})
}

func oneNode(b *testing.B, window int) result {
	b.Helper()
	return play(window, 0, func(a *parley.Agent) func() { return host(b.TempDir(), freeAddress(), nil, a, ponger()) })
}

// carol runs an agent in this process that does something with bob in another.
func carol(b *testing.B, window int, do func(*parley.Agent, identity.Address) error) result {
	b.Helper()
	other := startOther(b, "pong")
	defer other.stop()
	a, bob := parley.NewAgent("carol", &parley.AgentOptions{Key: benchKey("carol")}), benchKey("bob").Address()
	stop := host(b.TempDir(), freeAddress(), map[identity.Address]string{bob: other.url()}, a)
	defer stop()
	return drive(other.pid(), window, func() func() { return func() { check(do(a, bob)) } })
}

// oneWay sends messages and waits until each was taken over.
func oneWay(b *testing.B, window int) result {
	b.Helper()
	return carol(b, window, func(a *parley.Agent, bob identity.Address) error {
		receipt, err := a.Send(b.Context(), bob, Sink{text, 1, true})
		if err != nil {
			return err
		}
		return receipt.Wait(b.Context())
	})
}

func queries(b *testing.B) result {
	b.Helper()
	return carol(b, 1, func(a *parley.Agent, bob identity.Address) error {
		_, err := parley.Ask[Pong](b.Context(), a, bob, Ping{text, 1})
		return err
	})
}

// pythonPong runs the peer's echo agent; nothing is done without a Python.
func pythonPong(b *testing.B) (ping string, o *another) {
	b.Helper()
	interpreter := os.Getenv("PARLEY_PYTHON")
	if interpreter == "" {
		b.Log("PARLEY_PYTHON is not set: no comparison with Python; `make bench` sets it")
		return "", &another{cmd: &exec.Cmd{Process: &os.Process{}}}
	}
	_, ping, _ = net.SplitHostPort(freeAddress())
	o = &another{address: freeAddress()}
	_, pong, _ := net.SplitHostPort(o.address)
	script, err := filepath.Abs("python/uag_pong.py")
	check(err)
	o.cmd = exec.Command(interpreter, script, pong, ping)
	o.cmd.Dir = b.TempDir()
	began := time.Now()
	check(o.cmd.Start())
	for time.Since(began) < 30*time.Second {
		if c, err := net.Dial("tcp", o.address); err == nil {
			c.Close()
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	o.took = time.Since(began)
	return ping, o
}

// pythonPair runs the peer's two processes.
func pythonPair(b *testing.B, window int) result {
	b.Helper()
	ping, o := pythonPong(b)
	defer o.stop()
	if o.address == "" {
		return result{}
	}
	const seconds = 3
	_, pong, _ := net.SplitHostPort(o.address)
	before := cpuOf(o.pid())
	found := numbers(b, "uag_ping.py", ping, pong, strconv.Itoa(window), strconv.Itoa(seconds))
	others := (cpuOf(o.pid()) - before).Seconds() / (found["rt/s"] * seconds)
	return result{
		perSecond: found["rt/s"], p50: millis(found["p50"]), p99: millis(found["p99"]),
		cpu: millis(found["cpu_us_per_rt"]/1e3 + others*1e3),
	}
}

// python runs the peer's client, which sends or asks, against its echo agent.
func python(b *testing.B, what string) map[string]float64 {
	b.Helper()
	_, o := pythonPong(b)
	defer o.stop()
	if o.address == "" {
		return nil
	}
	_, pong, _ := net.SplitHostPort(o.address)
	if what == "oneway" {
		return numbers(b, "uag_sync.py", "oneway", pong, "300")
	}
	return numbers(b, "uag_sync.py", pong, "200")
}

var measured = regexp.MustCompile(`([\w/]+)=([\d.]+)`)

// numbers runs a script of the peer's and returns what it measured, by name.
func numbers(b *testing.B, script string, args ...string) map[string]float64 {
	b.Helper()
	interpreter := os.Getenv("PARLEY_PYTHON")
	if interpreter == "" {
		return nil
	}
	path, err := filepath.Abs(filepath.Join("python", script))
	check(err)
	cmd := exec.CommandContext(b.Context(), interpreter, append([]string{path}, args...)...)
	cmd.Dir = b.TempDir()
	out, err := cmd.Output()
	check(err)
	found := make(map[string]float64)
	for _, m := range measured.FindAllSubmatch(out, -1) {
		if found[string(m[1])], err = strconv.ParseFloat(string(m[2]), 64); err != nil {
			b.Fatalf("%s printed %q", script, out)
		}
	}
	if len(found) == 0 {
		b.Fatalf("%s printed %q", script, out)
	}
	return found
}
