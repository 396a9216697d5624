package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Who is impatient signals twice, also where a command cannot end in good order:
// here nobody reads what it prints.
func TestASecondSignalEndsTheProcess(t *testing.T) {
	cmd := exec.Command(filepath.Join(programs(t, "parley"), "parley"), "fmt", "-")
	cmd.Stdin = strings.NewReader("parley \"1\"\npackage a version \"1.0.0\"\n" + strings.Repeat("// a line of many\n", 20_000))
	unread, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := unread.Read(make([]byte, 1)); err != nil { // it prints
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for deadline := time.Now().Add(patience); ; {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended:
			status := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if !status.Signaled() || status.Signal() != syscall.SIGTERM {
				t.Errorf("it ended as %v, and not by the signal", cmd.ProcessState)
			}
			return
		case <-time.After(200 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			t.Fatal("signals do not end it")
		}
	}
}
