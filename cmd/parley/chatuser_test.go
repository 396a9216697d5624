package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/run"
)

// openHouse is a program with an agent that lets users chat.
func openHouse() {
	a := parley.NewAgent("host", nil)
	chat.Handle(a, chatter, &chat.Options{AllowUnsigned: true})
	run.Main(a)
}

// pythonAgent runs a Python agent and returns where it answers.
func pythonAgent(t *testing.T, path, almanac string) (url string) {
	t.Helper()
	interpreter := os.Getenv("PARLEY_PYTHON")
	if interpreter == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("PARLEY_PYTHON is not set: run `make test`, which installs the Python peers")
		}
		t.Skip("PARLEY_PYTHON is not set: run `make test`, which installs the Python peers")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	peers, err := filepath.Abs("../../interop/peers")
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	cmd := exec.Command(interpreter, path)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PYTHONPATH="+peers, "AGENTVERSE="+almanac, fmt.Sprintf("PORT=%d", port), "RUN_SECONDS=120",
		fmt.Sprintf("ENDPOINT=http://127.0.0.1:%d/submit", port), "AGENT_SEED=agent for users "+filepath.Base(path))
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	started, ended := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			var e struct{ Event string }
			if json.Unmarshal(lines.Bytes(), &e) == nil && e.Event == "started" {
				started <- struct{}{}
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		<-ended
		_ = cmd.Wait() // its exit code tells of expectations that are not ours
		timer.Stop()
	})
	url = fmt.Sprintf("http://127.0.0.1:%d", port)
	select {
	case <-started:
	case <-ended:
		t.Fatalf("%s ended at once", path)
	case <-time.After(time.Minute):
		t.Fatalf("%s does not start", path)
	}
	for range 500 { // its server comes last
		if c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://")); err == nil {
			c.Close()
			return url
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s does not listen", path)
	return ""
}

// Users are answered on the connection, by Python agents that let them chat, and
// told so by those that do not.
func TestChatAsAUserWithPythonAgents(t *testing.T) {
	bin := programs(t, "parley")
	data, almanac := program(t, bin, "parley", "up", "--listen", "127.0.0.1:0", "--model", "offline")
	url := pythonAgent(t, "testdata/python/guest.py", almanac)
	chat := func(stdin string, args ...string) (code int, stdout, stderr string) {
		t.Helper()
		var out, err strings.Builder
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "parley"), append([]string{"chat", "--user", "--timeout", "30s"}, args...)...)
		cmd.Env = append(os.Environ(), "PARLEY_DATA="+t.TempDir())
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &err
		_ = cmd.Run()
		return cmd.ProcessState.ExitCode(), out.String(), err.String()
	}
	const metadata = "\ncolour: green · mood: good\n"
	for _, tc := range []struct {
		name, stdin string
		args        []string
		code        int
		out, err    string
	}{
		{"once", "", []string{url, "--once", "hi"}, 0, "Hello user, you said: hi" + metadata, ""},
		{"line by line", "one\ntwo\n", []string{url}, 0, "Hello user, you said: one" + metadata + "Hello user, you said: two" + metadata, ""},
		{"only acknowledged", "", []string{url, "--once", "only acknowledge"}, 1, "", "parley: unavailable: the agent has acknowledged it, and nothing else can reach a user"},
		{"a line that is only acknowledged", "one\nonly acknowledge\n", []string{url}, 1, "Hello user, you said: one" + metadata, "parley: unavailable: the agent has acknowledged it"},
		{"nobody there", "", []string{"http://127.0.0.1:1", "--once", "hi"}, 1, "", "nobody answers"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if code, out, err := chat(tc.stdin, tc.args...); code != tc.code || out != tc.out || !strings.HasPrefix(err, tc.err) && !strings.Contains(err, tc.err) || tc.err == "" && err != "" {
				t.Errorf("exit %d\n%s%s", code, out, err)
			}
		})
	}
	code, out, err := chat("", url, "--once", "hi", "--json")
	for _, want := range []string{`"event":"sent"`, `"event":"delivered"`, `"event":"said".*"text":"Hello user, you said: hi","metadata":\{"colour":"green","mood":"good"\}`} {
		if code != 0 || !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %s: exit %d\n%s%s", want, code, out, err)
		}
	}

	// The node knows the agent too: it has registered there.
	info := regexp.MustCompile(`"peer":"(agent1\w+)"`).FindStringSubmatch(out)
	if info == nil {
		t.Fatalf("no peer in\n%s", out)
	}
	if code, out, err = chat("", info[1], "--once", "hi", "--data", data); code != 0 || !strings.HasPrefix(out, "Hello user") {
		t.Errorf("by its address: exit %d\n%s%s", code, out, err)
	}

	// An agent that nobody has set anything up for is asked by its URL.
	said := filepath.Join(t.TempDir(), "said.json")
	text := `{"timestamp": "2026-03-04T05:06:07Z", "msg_id": "5f0f5f5e-7f58-4f6a-8c62-cf6cbb0c2f10", "content": [{"type": "text", "text": "hi"}]}`
	if err := os.WriteFile(said, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	fresh, _ := program(t, programs(t, "chatty"), "chatty", "--listen", "127.0.0.1:0")
	ask := exec.CommandContext(t.Context(), filepath.Join(bin, "parley"), "ask", url, said, "--data", fresh,
		"--schema", "model:2601825997203ee07dbb9ff6e7c71ae7bdaf6a7c8b817361f2f88f4b29c68d0c")
	if reply, err := ask.CombinedOutput(); err != nil || !strings.Contains(string(reply), `"text":"Hello agen, you said: hi"`) {
		t.Errorf("asked by its URL: %s (%v)", reply, err)
	}

	// An unchanged program of the examples takes only signed messages, and so does
	// the assistant.
	other := pythonAgent(t, "../../interop/peers/agent2.py", almanac)
	for _, whom := range [][]string{{other}, {"--data", data}, {"assistant", "--data", data}} {
		if code, out, err = chat("", append(whom, "--once", "hi")...); code != 1 || !strings.Contains(err, "refused: the agent takes only signed messages: speak without --user") {
			t.Errorf("%q: exit %d\n%s%s", whom, code, out, err)
		}
	}
}

// In the terminal a user sees what comes back, and that nothing more can.
func TestTerminalAsAUser(t *testing.T) {
	w := openTerminal(t)
	_, url := program(t, programs(t, "openhouse"), "openhouse", "--listen", "127.0.0.1:0")
	w.typed("stty -g >before; parley chat --user "+url+"; echo left with $?; stty -g >after; touch done", "Enter")
	w.until("the screen", func() bool { return strings.Contains(w.screen(), "Enter says it") })
	w.typed("hello", "Enter")
	w.until("the acknowledgement", func() bool {
		return strings.Contains(w.screen(), "(you are a user)") && strings.Contains(w.screen(), "you ✓✓") && strings.Contains(w.screen(), "acknowledged, and nothing else can reach a user")
	})
	w.typed("", "C-d")
	w.left()
}
