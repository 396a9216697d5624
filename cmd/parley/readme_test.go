package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The first page of the README is true: its commands, as they stand there, in a
// clean clone, lead to an answer. The time that takes is printed.
func TestTheFirstPageOfTheReadme(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "clone")
	if out, err := exec.CommandContext(t.Context(), "git", "clone", "-q", "../..", folder).CombinedOutput(); err != nil {
		t.Skipf("this is no clone: %v %s", err, out)
	}
	page, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	steps := regexp.MustCompile(`(?m)^    (go run \./cmd/parley (?:up|chat --once .*?))(?:  +#.*)?$`).FindAllStringSubmatch(string(page), 2)
	if len(steps) != 2 || !strings.HasSuffix(steps[0][1], " up") {
		t.Fatalf("the first steps of the README are %q, want up and then chat --once", steps)
	}
	data := t.TempDir()
	step := func(text string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", text)
		cmd.Dir, cmd.Stderr = folder, os.Stderr
		cmd.Env = append(os.Environ(), "PARLEY_DATA="+data, "OPENAI_API_KEY=", "OPENAI_BASE_URL=", "MODEL_ENGINE=", "AGENT_SEED=", "AGENT_NAME=")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // go run has a child
		return cmd
	}
	began := time.Now()
	up := step(steps[0][1])
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-up.Process.Pid, syscall.SIGINT) // Ctrl-C
		_ = up.Wait()                                     // go run says that it was interrupted
	}()
	for range 3000 {
		if _, err := os.Stat(filepath.Join(data, "control.json")); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	started := time.Since(began)
	answer, err := step(steps[1][1]).Output()
	if err != nil || !strings.Contains(string(answer), "42") {
		t.Errorf("%s: %q (%v)", steps[1][1], answer, err)
	}
	t.Logf("started after %s, answered after %s: %s", started.Round(time.Millisecond), time.Since(began).Round(time.Millisecond), answer)
}
