package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// onTerminal runs a command whose output is a terminal, and returns that.
func onTerminal(t *testing.T, folder string, env []string, args ...string) string {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer ours.Close()
	var number, unlocked uint32
	for request, argument := range map[uintptr]*uint32{syscall.TIOCSPTLCK: &unlocked, syscall.TIOCGPTN: &number} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, ours.Fd(), request, uintptr(unsafe.Pointer(argument))); errno != 0 {
			t.Skip(errno)
		}
	}
	theirs, err := os.OpenFile("/dev/pts/"+strconv.Itoa(int(number)), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.CommandContext(t.Context(), "parley", args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = folder, append(os.Environ(), env...), theirs, theirs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	text, err := io.ReadAll(ours) // ends with an error when nobody is there any more
	if err != nil && !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it has findings
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

func TestPeopleSeeColoursAndTheLine(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.parley"), []byte("// a name\ntype A = Strng // of somebody\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	plain := "a.parley:2:10: PAR1001 error: unknown type 'Strng'\n" +
		"  type A = Strng // of somebody\n" +
		"           ^^^^^\n" +
		"  hint: did you mean 'String'?\n" +
		"1 file, 0 protocols: 1 error\n"
	if got := onTerminal(t, folder, []string{"NO_COLOR=1"}, "check", "a.parley"); got != plain {
		t.Errorf("got\n%s\nwant\n%s", got, plain)
	}
	coloured := onTerminal(t, folder, []string{"NO_COLOR=", "TERM=xterm"}, "check", "a.parley")
	if !strings.Contains(coloured, "\x1b[1;31mPAR1001 error:\x1b[0m unknown type") || !strings.Contains(coloured, "\x1b[1;31m^^^^^\x1b[0m") {
		t.Errorf("got %q", coloured)
	}
}
