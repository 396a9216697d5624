package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/run"
)

// startNode runs agents as a program would, on a free port, and returns the
// node's URL.
func startNode(t *testing.T, agents ...*parley.Agent) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	started := make(chan string, 1)
	done := make(chan error, 1)
	opts := &run.Options{Data: t.TempDir(), Listen: "127.0.0.1:0", Started: func(url string) { started <- url }}
	go func() { done <- run.Run(ctx, opts, agents...) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the node: %v", err)
		}
	})
	select {
	case url := <-started:
		return url
	case err := <-done:
		done <- nil
		t.Fatalf("the node does not start: %v", err)
		return ""
	}
}

// An event is a line that a Python peer prints.
type event struct {
	Event   string            `json:"event"`
	Name    string            `json:"name"`
	Agent   string            `json:"agent"`
	Address identity.Address  `json:"address"`
	From    identity.Address  `json:"from"`
	Model   string            `json:"model"`
	Session string            `json:"session"`
	Status  string            `json:"status"`
	Text    string            `json:"text"`
	Body    map[string]any    `json:"body"`
	Code    int               `json:"code"`     // of a program that has stopped
	Missing map[string]int    `json:"missing"`  // what it still expected
	Place   map[string]any    `json:"location"` // that the client program read from an answer
	Raw     map[string]string `json:"-"`
}

// A peer is a running Python program.
type peer struct {
	t      *testing.T
	events chan event
	port   int
	stop   func() // as a person would
	kill   func() // as a crash would
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// startPeer runs one of the programs of peers/, unchanged, in a folder of its
// own. It is stopped as a person would stop it.
func startPeer(t *testing.T, program, almanac string, env ...string) *peer {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("peers", program))
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, events: make(chan event, 10_000), port: freePort(t)}
	cmd := exec.Command(python(t), path)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "AGENTVERSE="+almanac, "PORT="+strconv.Itoa(p.port), "RUN_SECONDS=120",
		"ENDPOINT=http://127.0.0.1:"+strconv.Itoa(p.port)+"/submit")
	cmd.Env = append(cmd.Env, env...)
	log, err := os.Create(filepath.Join(cmd.Dir, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.stop = func() { _ = cmd.Process.Signal(syscall.SIGINT) }
	p.kill = func() { _ = cmd.Process.Kill() }
	var reading sync.WaitGroup
	reading.Go(func() {
		lines := bufio.NewScanner(stdout)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var e event
			if json.Unmarshal(lines.Bytes(), &e) == nil {
				p.events <- e
			}
		}
		close(p.events)
	})
	t.Cleanup(func() {
		p.stop()
		timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		reading.Wait()
		_ = cmd.Wait() // its exit code tells of expectations that are not ours
		timer.Stop()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("%s:\n%s", program, lastLines(string(text), 40))
		}
	})
	return p
}

func lastLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// wait returns the next event that fits.
func (p *peer) wait(what string, fits func(event) bool) event {
	p.t.Helper()
	timeout := time.After(60 * time.Second)
	for {
		select {
		case e, open := <-p.events:
			if !open {
				p.t.Fatalf("the peer ended before: %s", what)
			}
			if fits(e) {
				return e
			}
		case <-timeout:
			p.t.Fatalf("the peer never said: %s", what)
		}
	}
}

func (p *peer) started() event {
	return p.wait("started", func(e event) bool { return e.Event == "started" })
}

type (
	EchoRequest struct {
		Text  string `json:"text"`
		Count int    `json:"count" parley:"default=1"`
	}
	EchoResponse struct {
		Text      string `json:"text"`
		Count     int    `json:"count"`
		AgentName string `json:"agent_name"`
	}
	Ping struct {
		Text string `json:"text"`
	}
	Pong struct {
		Text string `json:"text"`
	}
)

// A Go agent asks ten Python agents behind one port, which it finds in its own
// node's directory, where the Python library registered them.
func TestGoAsksPythonAgentsOfABureau(t *testing.T) {
	asker := parley.NewAgent("asker", nil)
	url := startNode(t, asker)
	bureau := startPeer(t, "bureau.py", url, "COUNT=5")
	for range 5 {
		e := bureau.started()
		waitRegistered(t, url, e.Address)
		got, err := parley.Ask[EchoResponse](t.Context(), asker, e.Address, EchoRequest{Text: "grüße 🤖", Count: 3})
		if want := (EchoResponse{"grüße 🤖", 3, e.Name}); err != nil || got != want {
			t.Errorf("Ask = %+v, %v, want %+v", got, err, want)
		}
		_, err = parley.Ask[EchoResponse](t.Context(), asker, e.Address, EchoRequest{Text: "x", Count: -1})
		if fault.CodeOf(err) != fault.Refused || !strings.Contains(err.Error(), "count is negative") {
			t.Errorf("the peer's error: %v", err)
		}
	}
}

// waitRegistered waits until the directory knows an agent: the library registers
// while its start-up functions run.
func waitRegistered(t *testing.T, url string, address identity.Address) {
	t.Helper()
	for range 200 {
		response, err := http.Get(url + "/v1/almanac/agents/" + string(address))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s does not register", address)
}

// A message that is only sent, not asked, comes back the usual way: the Python
// agent finds the Go agent in the node's directory and posts its answer.
func TestPythonAnswersWithoutAWaitingConnection(t *testing.T) {
	got := make(chan EchoResponse, 1)
	sender := parley.NewAgent("sender", nil)
	parley.On(sender, func(_ context.Context, turn *parley.Turn, in EchoResponse) error {
		if turn.Proof != parley.Signed {
			t.Errorf("the answer is vouched for by %q", turn.Proof)
		}
		got <- in
		return nil
	})
	url := startNode(t, sender)
	e := startPeer(t, "rest_agent.py", url).started()
	waitRegistered(t, url, e.Address)

	receipt, err := sender.Send(t.Context(), e.Address, EchoRequest{Text: "later", Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := receipt.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case in := <-got:
		if in.Text != "later" {
			t.Errorf("got %+v", in)
		}
	case <-time.After(30 * time.Second):
		t.Error("no answer")
	}
}

func pinger(name string) *parley.Agent {
	a := parley.NewAgent(name, nil)
	parley.Handle(a, func(_ context.Context, _ *parley.Turn, in Ping) (Pong, error) {
		return Pong{Text: "pong:" + in.Text}, nil
	}, parley.AllowUnsigned())
	return a
}

// U3 with the real library as the client: many queries at once from one sender
// each get their own answer, signed and from a user address.
func TestParallelQueriesOfThePythonLibrary(t *testing.T) {
	a := pinger("pinger")
	url := startNode(t, a)
	for _, kind := range []string{"signed", "user"} {
		n := count(100, 1000)
		cmd := exec.CommandContext(t.Context(), python(t), "python/queries.py", string(a.Address()), url+"/submit", strconv.Itoa(n), kind)
		cmd.Stderr = io.Discard
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var result struct {
			Right int
			Wrong string
		}
		if err := json.Unmarshal(out[strings.LastIndex(strings.TrimSpace(string(out)), "\n")+1:], &result); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if result.Right != n {
			t.Errorf("%s: %d of %d queries got their own answer; first other: %s", kind, result.Right, n, result.Wrong)
		}
	}
}
