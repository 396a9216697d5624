package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A terminal is a window of tmux in which a command runs.
type terminal struct {
	t      *testing.T
	socket string
	folder string // that the command works in
}

const patience = 30 * time.Second

// openTerminal runs a node with the agent chatty, and a shell in a window beside.
func openTerminal(t *testing.T) *terminal {
	t.Helper()
	bin := programs(t, "parley", "chatty")
	data, _ := program(t, bin, "chatty", "--listen", "127.0.0.1:0")
	return openShell(t, bin, data)
}

// openShell runs a shell in a window, for the node of a data folder.
func openShell(t *testing.T, bin, data string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("tmux is not there: run `make test`, which installs it")
		}
		t.Skip("tmux is not there: apt-get install tmux, or run `make test`")
	}
	folder := t.TempDir()
	w := &terminal{t: t, socket: fmt.Sprintf("parley-%d-%d", os.Getpid(), time.Now().UnixNano()), folder: folder}
	w.tmux("-u", "-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "-c", folder,
		"env", "PS1=$ ", "PATH="+bin+":"+os.Getenv("PATH"), "PARLEY_DATA="+data, "LC_ALL=C.UTF-8", "sh")
	t.Cleanup(func() { w.tmux("kill-server") })
	w.until("the shell", func() bool { return strings.Contains(w.screen(), "$") })
	return w
}

func (w *terminal) until(what string, there func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); !there(); time.Sleep(30 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("no sign of %s; the screen:\n%s", what, w.screen())
		}
	}
}

func (w *terminal) tmux(args ...string) string {
	w.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-L", w.socket}, args...)...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// typed types text, and then presses keys by their names in tmux.
func (w *terminal) typed(text string, keys ...string) {
	w.t.Helper()
	if text != "" {
		w.tmux("send-keys", "-l", text)
	}
	for _, key := range keys {
		w.tmux("send-keys", key)
	}
}

var (
	blanks  = regexp.MustCompile(`(?m) +$`)
	uuids   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	briefID = regexp.MustCompile(`(session \d+ of \d+  )[0-9a-f]{8}`)
)

// screen is what the window shows, without what differs from run to run.
func (w *terminal) screen() string {
	w.t.Helper()
	text := blanks.ReplaceAllString(w.tmux("capture-pane", "-p"), "")
	return briefID.ReplaceAllString(uuids.ReplaceAllString(text, "<session>"), "${1}<id>")
}

// shows waits until the screen is that of a golden file. until is what is on it
// when it is finished, for the time when the file is being written.
func (w *terminal) shows(name, until string) {
	w.t.Helper()
	path := filepath.Join("testdata", "screens", name+".txt")
	if *update {
		w.until(until, func() bool { return strings.Contains(w.screen(), until) })
		time.Sleep(500 * time.Millisecond)
		if err := os.WriteFile(path, []byte(w.screen()), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); w.screen() != string(want); time.Sleep(30 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("the screen %s is:\n%s\nwant:\n%s\nIf the change is meant: go test ./cmd/parley -run %s -update", name, w.screen(), want, w.t.Name())
		}
	}
}

// chat starts parley chat and notes how it leaves the terminal.
func (w *terminal) chat() {
	w.t.Helper()
	w.typed("stty -g >before; parley chat; echo left with $?; stty -g >after; touch done", "Enter")
	w.shows("start", "Enter says it")
}

// talk has a conversation with an answer of all that Markdown has, and with one that
// was interrupted.
func (w *terminal) talk() {
	w.t.Helper()
	w.typed("markdown", "Enter")
	w.shows("markdown", "for {")
	w.typed("story", "Enter")
	w.shows("stream", "a time")
	w.typed("", "Escape")
	w.shows("interrupted", "(interrupted)")
}

// left waits until parley chat has ended as it should.
func (w *terminal) left() {
	w.t.Helper()
	w.until("the shell", func() bool { _, err := os.Stat(filepath.Join(w.folder, "done")); return err == nil })
	if !strings.Contains(w.screen(), "left with 0") || strings.Contains(w.screen(), "Enter says it") {
		w.t.Errorf("the screen after leaving:\n%s", w.screen())
	}
	before, _ := os.ReadFile(filepath.Join(w.folder, "before"))
	after, _ := os.ReadFile(filepath.Join(w.folder, "after"))
	if len(before) == 0 || string(before) != string(after) {
		w.t.Errorf("the terminal was %s and is %s", before, after)
	}
}

// log is what parley log tells about the node.
func (w *terminal) log() string {
	w.t.Helper()
	w.typed("clear; parley log -v --limit 1000 >log.txt; touch logged", "Enter")
	w.until("the log", func() bool { _, err := os.Stat(filepath.Join(w.folder, "logged")); return err == nil })
	text, err := os.ReadFile(filepath.Join(w.folder, "log.txt"))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// The whole of the terminal interface, as a person uses it.
func TestTerminal(t *testing.T) {
	w := openTerminal(t)
	w.chat()
	w.talk()

	w.tmux("resize-window", "-x", "44", "-y", "16")
	w.shows("narrow", "(interrupted)")
	w.typed("", "PageUp")
	w.shows("scrolled", "more below")
	w.tmux("resize-window", "-x", "80", "-y", "24")
	w.typed("", "PageDown", "PageDown")

	w.typed("one", "M-Enter")
	w.typed(`two\`, "Enter")
	w.typed("three")
	w.shows("lines", "> three")
	w.typed("", "Enter")
	w.shows("said", "THREE")

	w.typed("escape", "Enter")
	w.shows("escape", "red31m")
	w.typed("picture", "Enter")
	w.until("the attachment", func() bool { return strings.Contains(w.screen(), "[1] data:") })
	w.typed("/save 1 hello.txt", "Enter")
	w.shows("saved", "saved hello.txt, 5 bytes")
	if saved, err := os.ReadFile(filepath.Join(w.folder, "hello.txt")); err != nil || string(saved) != "hello" {
		t.Errorf("hello.txt has %q (%v)", saved, err)
	}

	w.typed("/new", "Enter")
	w.typed("in the second session", "Enter")
	w.until("the answer", func() bool { return strings.Contains(w.screen(), "IN THE SECOND") })
	w.typed("/sessions", "Enter")
	w.shows("sessions", "/switch N")
	w.typed("", "Escape")
	w.until("the conversation", func() bool { return !strings.Contains(w.screen(), "any other key") }) // else it is Alt-/
	w.typed("/switch 1", "Enter")
	w.shows("switched", "[1] data:") // the first one again, as it was
	w.typed("", "F1")
	w.shows("help", "any other key")
	w.typed("", "x")
	w.until("the conversation", func() bool { return !strings.Contains(w.screen(), "any other key") })
	w.typed("", "C-d")
	w.left()
	if log := w.log(); strings.Count(log, "end-session") != 4 || !strings.Contains(log, `end-stream`) { // two sent, two received
		t.Errorf("%d ends of sessions in the log:\n%s", strings.Count(log, "end-session"), log)
	}
}

// Ctrl-C stops the answer, and then leaves.
func TestTerminalInterrupt(t *testing.T) {
	w := openTerminal(t)
	w.chat()
	w.typed("story", "Enter")
	w.until("the stream", func() bool { return strings.Contains(w.screen(), "Once upon") })
	w.typed("", "C-c")
	w.until("the interrupt", func() bool { return strings.Contains(w.screen(), "(interrupted)") })
	w.typed("", "C-c")
	w.left()
}

// A terminal that can only show lines gets lines.
func TestTerminalWithLinesOnly(t *testing.T) {
	w := openTerminal(t)
	w.typed("stty -g >before; TERM=dumb parley chat; echo left with $?; stty -g >after; touch done", "Enter")
	w.until("the hint", func() bool { return strings.Contains(w.screen(), "each line is said when it ends; Ctrl-D leaves") })
	w.typed("hello", "Enter")
	w.until("the answer", func() bool { return strings.Contains(w.screen(), "\nYou said: HELLO\n") })
	w.typed("", "C-d")
	w.left()
}

// child is the process that the shell runs.
func (w *terminal) child() int {
	w.t.Helper()
	shell := strings.TrimSpace(w.tmux("display-message", "-p", "#{pane_pid}"))
	children, err := os.ReadFile("/proc/" + shell + "/task/" + shell + "/children")
	if err != nil {
		w.t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(children)))
	if err != nil {
		w.t.Fatal(err)
	}
	return child
}

// A picture that was scrolled while the terminal grew has set the margins of the
// old height: the next picture fills the whole terminal all the same.
func TestTerminalGrowsWhileItScrolls(t *testing.T) {
	w := openTerminal(t)
	w.chat()
	w.talk()
	w.tmux("resize-window", "-x", "80", "-y", "16")
	w.until("the small screen", func() bool {
		return strings.Count(w.screen(), "\n") == 16 && strings.Contains(w.screen(), "Ctrl-C again")
	})

	child := w.child()
	if err := syscall.Kill(child, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	w.tmux("resize-window", "-x", "80", "-y", "24")
	tty, err := os.OpenFile(strings.TrimSpace(w.tmux("display-message", "-p", "#{pane_tty}")), os.O_WRONLY|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	if _, err := tty.WriteString("\x1b[1;16r"); err != nil {
		t.Fatal(err)
	}
	w.until("the margins", func() bool {
		return strings.TrimSpace(w.tmux("display-message", "-p", "#{scroll_region_lower}")) == "15"
	})
	if err := syscall.Kill(child, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	w.shows("interrupted", "(interrupted)")
}

// A signal leaves nothing behind.
func TestTerminalSignals(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			w := openTerminal(t)
			w.chat()
			w.typed("hello", "Enter")
			w.until("the answer", func() bool { return strings.Contains(w.screen(), "You said: HELLO") })
			child := w.child()
			if err := syscall.Kill(child, signal); err != nil {
				t.Fatal(err)
			}
			w.left()
			if log := w.log(); strings.Count(log, "end-session") != 2 {
				t.Errorf("the session was not ended:\n%s", log)
			}
		})
	}
}
