package run_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// clockEnv says by how many seconds the clock of a process is wrong, in a binary
// that was built for it.
const clockEnv = "PARLEY_TEST_CLOCK"

// TestClockSteps has the clock of a bank jump by an hour, forward and back, while
// payments are made and across restarts. Only the wall clock jumps, not the
// clock that measures durations, as when a machine's clock is set.
func TestClockSteps(t *testing.T) {
	if os.Getenv("PARLEY_LONG") == "" {
		t.Skip("needs a build of the standard library: PARLEY_LONG=1")
	}
	north, south := twoBanks(t, 1500)
	north.binary = clockBinary(t)
	south.binary = north.binary
	north.start()
	south.start()
	const hour = 3600
	for _, step := range []struct {
		who     *process
		seconds int
	}{{north, hour}, {south, -hour}, {north, 0}, {north, -hour}, {south, hour}, {south, 0}} {
		time.Sleep(300 * time.Millisecond)
		step.who.setClock(step.seconds)
	}
	north.setClock(hour)
	time.Sleep(300 * time.Millisecond)
	north.terminate() // and started an hour earlier than what it has stored
	north.start()
	settle(north, south)
}

func (p *process) setClock(wrong int) {
	p.t.Helper()
	fmt.Fprintln(p.stdin, wrong)
	line := p.line()
	now, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		p.t.Fatalf("%s says %q", p.name, line)
	}
	if off := now - time.Now().Unix() - int64(wrong); off < -60 || off > 60 {
		p.t.Fatalf("the clock of %s is wrong by %d seconds, not by %d: the test shows nothing", p.name, off+int64(wrong), wrong)
	}
}

// clockBinary builds this test with a standard library whose clock can be set.
func clockBinary(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	source, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	const reading = "sec, nsec, mono := runtimeNow()\n"
	if strings.Count(string(source), "func Now() Time {\n\t"+reading) != 1 {
		t.Fatalf("%s does not read the clock as it did", original)
	}
	changed := strings.Replace(string(source), reading, reading+"\tsec += wrong()\n", 1)
	files := map[string]string{original: changed, filepath.Join(filepath.Dir(original), "wrong.go"): `package time

import "syscall"

func wrong() (seconds int64) {
	sign, text := int64(1), ""
	if text, _ = syscall.Getenv("` + clockEnv + `"); text != "" && text[0] == '-' {
		sign, text = -1, text[1:]
	}
	for _, digit := range []byte(text) {
		seconds = 10*seconds + int64(digit-'0')
	}
	return sign * seconds
}
`}
	replace := map[string]string{}
	for name, text := range files {
		replace[name] = filepath.Join(folder, filepath.Base(name))
		if err := os.WriteFile(replace[name], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlayFile, binary := filepath.Join(folder, "overlay.json"), filepath.Join(folder, "run.test")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-overlay", overlayFile, "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}
