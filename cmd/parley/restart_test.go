package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-agents/parley/run"
)

// A chattyNode is a node with the agent chatty that can be stopped and started
// again, in the same data folder and at the same port.
type chattyNode struct {
	t         *testing.T
	bin, data string
	listen    string
	cmd       *exec.Cmd
}

func (n *chattyNode) start() {
	n.t.Helper()
	n.cmd = exec.Command(filepath.Join(n.bin, "chatty"), "--listen", n.listen, "--data", n.data)
	if err := n.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if control, err := run.ReadControl(n.data); err == nil && control.PID == n.cmd.Process.Pid {
			n.listen = strings.TrimPrefix(control.URL, "http://")
			return
		}
	}
	n.t.Fatal("the node does not start")
}

func (n *chattyNode) stop(how syscall.Signal) {
	n.t.Helper()
	if err := n.cmd.Process.Signal(how); err != nil {
		n.t.Fatal(err)
	}
	_ = n.cmd.Wait() // of SIGKILL it says that it was killed
}

// The screen outlives the node: it says that the node is gone, keeps what is typed,
// and goes on where it was when the node is back. Nothing is lost or doubled.
func TestTerminalOutlivesTheNode(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"stopped": syscall.SIGINT, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			n := &chattyNode{t: t, bin: programs(t, "parley", "chatty"), data: filepath.Join(t.TempDir(), "data"), listen: "127.0.0.1:0"}
			n.start()
			t.Cleanup(func() { n.stop(syscall.SIGINT) })
			w := openShell(t, n.bin, n.data)
			shows := func(what string) {
				t.Helper()
				w.until(what, func() bool { return strings.Contains(w.screen(), what) })
			}
			w.chat()
			w.typed("before", "Enter")
			shows("You said: BEFORE")
			for _, text := range []string{"between", "again"} {
				n.stop(signal)
				shows("the node is gone, trying again")
				w.typed("said "+text, "Enter")
				shows("waits for the node")
				n.start()
				shows("You said: SAID " + strings.ToUpper(text))
			}
			w.typed("after", "Enter")
			shows("You said: AFTER")
			for _, once := range []string{"BEFORE", "SAID BETWEEN", "SAID AGAIN", "AFTER"} {
				if strings.Count(w.screen(), "You said: "+once+"\n") != 1 {
					t.Errorf("%s is not there once:\n%s", once, w.screen())
				}
			}
			if strings.Contains(w.screen(), "gone") || strings.Contains(w.screen(), "waits for") {
				t.Errorf("the node is back:\n%s", w.screen())
			}
			w.typed("", "C-d")
			w.left()
			log := w.log()
			for _, text := range []string{"before", "said between", "said again", "after"} {
				if said := strings.Count(log, `"text":"`+text+`"`); said != 2 { // sent and received
					t.Errorf("%q is in the log %d times, want 2:\n%s", text, said, log)
				}
			}
		})
	}
}

// Who does not want to wait for the node leaves at once, and sees what was not said.
func TestTerminalLeavesANodeThatIsGone(t *testing.T) {
	n := &chattyNode{t: t, bin: programs(t, "parley", "chatty"), data: filepath.Join(t.TempDir(), "data"), listen: "127.0.0.1:0"}
	n.start()
	w := openShell(t, n.bin, n.data)
	w.chat()
	w.typed("before", "Enter")
	w.until("the answer", func() bool { return strings.Contains(w.screen(), "You said: BEFORE") })
	n.stop(syscall.SIGKILL)
	w.until("the loss", func() bool { return strings.Contains(w.screen(), "the node is gone, trying again") })
	w.typed("into the void", "Enter")
	w.until("the void", func() bool { return strings.Contains(w.screen(), "waits for the node") })
	w.typed("", "C-c")
	w.left()
	if !strings.Contains(w.screen(), "parley: not said, for the node is gone: into the void") {
		t.Errorf("the screen after leaving:\n%s", w.screen())
	}
}
