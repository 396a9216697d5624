package sqlite_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// children are what the test binary does instead of its tests when it is started
// by one of them. Each gets the path of the store.
var children = map[string]func(path string) error{}

const childVariable = "PARLEY_STORE_CHILD"

func TestMain(m *testing.M) {
	if child := children[os.Getenv(childVariable)]; child != nil {
		if err := child(os.Args[1]); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A process is a running child.
type process struct {
	*exec.Cmd
	lines *bufio.Scanner
	stdin io.WriteCloser
}

// spawn starts a child and kills it at the end of the test, or when it takes too
// long.
func spawn(t *testing.T, child, path string) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], path)
	cmd.Env = append(os.Environ(), childVariable+"="+child)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		timer.Stop()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &process{cmd, bufio.NewScanner(stdout), stdin}
}

// await fails the test if the next line of the child is another.
func (p *process) await(t *testing.T, line string) {
	t.Helper()
	if !p.lines.Scan() || p.lines.Text() != line {
		t.Fatalf("the child says %q (%v), want %q", p.lines.Text(), p.lines.Err(), line)
	}
}
