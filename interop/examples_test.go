package interop

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An example is a program of examples/ that runs as its readers would run it.
type example struct {
	t     *testing.T
	lines chan string
}

func startExample(t *testing.T, name string, env ...string) *example {
	t.Helper()
	return startProgram(t, build(t, "examples/"+name), env, "-listen", "127.0.0.1:0", "-data", t.TempDir())
}

// build makes the binary of a package of the module.
func build(t *testing.T, name string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), filepath.Base(name))
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// startProgram runs a binary until the test ends. It must end cleanly then.
func startProgram(t *testing.T, binary string, env []string, args ...string) *example {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e := &example{t, make(chan string, 1000)}
	go func() {
		defer close(e.lines)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			e.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
		for range e.lines { // to the end
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s does not end cleanly: %v", filepath.Base(binary), err)
		}
	})
	return e
}

// expect waits for a line and returns what the expression captures.
func (e *example) expect(pattern string) string {
	e.t.Helper()
	re := regexp.MustCompile(pattern)
	timeout := time.After(30 * time.Second)
	for {
		select {
		case line, open := <-e.lines:
			if !open {
				e.t.Fatalf("it ended before %s", pattern)
			}
			if found := re.FindStringSubmatch(line); found != nil {
				return found[len(found)-1]
			}
		case <-timeout:
			e.t.Fatalf("it never printed %s", pattern)
		}
	}
}

// expectAll waits until each expression has fitted a line, in any order.
func (e *example) expectAll(patterns ...string) {
	e.t.Helper()
	timeout := time.After(60 * time.Second)
	for len(patterns) > 0 {
		select {
		case line, open := <-e.lines:
			if !open {
				e.t.Fatalf("it ended before %q", patterns)
			}
			patterns = slices.DeleteFunc(patterns, func(p string) bool { return regexp.MustCompile("^" + p).MatchString(line) })
		case <-timeout:
			e.t.Fatalf("it never printed %q", patterns)
		}
	}
}

func TestExampleHello(t *testing.T) {
	e := startExample(t, "hello")
	if address := e.expect(`^hello  (agent1q\S+)$`); len(address) != 65 {
		t.Errorf("address %q", address)
	}
	e.expect(`^listening on http://127\.0\.0\.1:\d+$`)
}

func TestExamplePingpong(t *testing.T) {
	e := startExample(t, "pingpong")
	e.expect(`^pong 1, 1 in total$`)
	e.expect(`^pong 2, 2 in total$`)
}

// The four messages of the chat protocol, in one session.
func TestExampleChatpair(t *testing.T) {
	e := startExample(t, "chatpair")
	seen := map[string]bool{}
	for range 4 {
		seen[e.expect(`^((?:alice|bob) (?:hears|is).*)$`)] = true
	}
	for _, want := range []string{`bob hears "Hello, Bob"`, "alice is acknowledged", `alice hears "You said: Hello, Bob"`, "bob is acknowledged"} {
		if !seen[want] {
			t.Errorf("nobody printed %q: %v", want, seen)
		}
	}
}

func TestExamplePythonpartner(t *testing.T) {
	interpreter := python(t)
	e := startExample(t, "pythonpartner")
	address := e.expect(`^loud  (agent1q\S+)$`)
	url := e.expect(`^listening on (http://\S+)$`)
	cmd := exec.CommandContext(t.Context(), interpreter, "../examples/pythonpartner/partner.py", address, url)
	cmd.Env = append(os.Environ(), "PORT="+strconv.Itoa(freePort(t)))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	for _, want := range []string{"heard HELLO", "heard GRÜSSE", "heard BYE"} {
		if !strings.Contains(string(out), want) && !strings.Contains(string(out), strings.Replace(want, "GRÜSSE", "GRÜßE", 1)) {
			t.Errorf("the Python side printed %q (%v), want %q", out, err, want)
		}
	}
}
