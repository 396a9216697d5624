package interop

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/cli"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/run"
)

// parleyCommand runs a command and returns what it prints.
func parleyCommand(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	code = cli.Main(t.Context(), args, strings.NewReader(stdin), &out, &err)
	return code, out.String(), err.String()
}

// parley chat talks with the unmodified Python agent: by its address through the
// node that it is registered at, by its URL, and from a node of its own.
func TestParleyChatWithAPythonAgent(t *testing.T) {
	data := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	started, done := make(chan string, 1), make(chan error, 1)
	opts := &run.Options{Data: data, Listen: "127.0.0.1:0", Started: func(url string) { started <- url }}
	go func() { done <- run.Run(ctx, opts, chat.NewPerson("you")) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the node: %v", err)
		}
	})
	var url string
	select {
	case url = <-started:
	case err := <-done:
		done <- nil
		t.Fatal(err)
	}
	peer := startPeer(t, "agent2.py", url, "AGENT_SEED=agent2 of parley chat")
	address := peer.started().Address
	waitRegistered(t, url, address)
	at := fmt.Sprintf("http://127.0.0.1:%d", peer.port)

	const answer = "Hello from Agent2!\n"
	for _, tc := range []struct {
		name, stdin, want string
		args              []string
	}{
		{"by its address", "", answer, []string{string(address), "--once", "hello", "--data", data}},
		{"by its URL", "", answer, []string{at, "--once", "hello", "--data", data}},
		{"line by line", "one\ntwo\n", answer + answer, []string{string(address), "--data", data}},
		{"asking for a stream", "", answer, []string{string(address), "--once", "hello", "--stream", "--data", data}},
		{"from a node of one's own", "", answer, []string{at, "--once", "hello", "--data", t.TempDir(), "--almanac", url + "/v1/almanac"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, stdout, stderr := parleyCommand(t, tc.stdin, append([]string{"chat"}, tc.args...)...)
			if code != 0 || stdout != tc.want {
				t.Errorf("exit %d\n%s%s", code, stdout, stderr)
			}
		})
	}

	code, stdout, stderr := parleyCommand(t, "", "chat", string(address), "--once", "hello", "--json", "--data", data)
	for _, event := range []string{"sent", "acknowledged", "said"} {
		if code != 0 || strings.Count(stdout, `{"event":"`+event+`"`) != 1 {
			t.Errorf("no %s in\n%s%s", event, stdout, stderr)
		}
	}
	// The Python agent has heard what the person said, and that it was heard.
	peer.wait("an acknowledgement", func(e event) bool { return e.Event == "ack" })

	// So does one that knows chat only as the example prints it.
	older := startPeer(t, "ai_agent.py", url, "AGENT_SEED=older agent of parley chat")
	address = older.started().Address
	waitRegistered(t, url, address)
	code, stdout, stderr = parleyCommand(t, "", "chat", string(address), "--once", "hello", "--data", data)
	if code != 0 || strings.TrimSpace(stdout) == "" {
		t.Errorf("the older agent: exit %d\n%s%s", code, stdout, stderr)
	}
	older.wait("an acknowledgement", func(e event) bool { return e.Event == "ack" })
}
