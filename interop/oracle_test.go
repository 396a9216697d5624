// Package interop tests Parley against the real libraries and agents it must
// understand. The tests need the Python of the project's virtualenv, which
// `make test` installs and names in PARLEY_PYTHON.
package interop

import (
	"bufio"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// python returns the interpreter with the real libraries. Without one the test
// is skipped, except where CI promises that it is there.
func python(t testing.TB) string {
	t.Helper()
	path := os.Getenv("PARLEY_PYTHON")
	if path == "" && os.Getenv("CI") == "true" {
		t.Fatal("PARLEY_PYTHON is not set: run `make test`, which installs the Python peers")
	}
	if path == "" {
		t.Skip("PARLEY_PYTHON is not set: run `make test`, which installs the Python peers")
	}
	return path
}

// count is how many random cases a test makes: all in `make test-long`.
func count(sample, full int) int {
	if os.Getenv("PARLEY_LONG") != "" {
		return full
	}
	return sample
}

// newRand returns a source that PARLEY_SEED makes repeat itself.
func newRand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := uint64(20261115)
	if text := os.Getenv("PARLEY_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("PARLEY_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("PARLEY_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// An oracle is a Python process that answers what the real library does.
type oracle struct {
	t     testing.TB
	stdin io.Writer
	lines *bufio.Reader
}

func startOracle(t testing.TB) *oracle {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python(t), "python/oracle.py")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stdin.Close(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("the oracle ended badly: %v", err)
		}
	})
	return &oracle{t, stdin, bufio.NewReaderSize(stdout, 1<<20)}
}

// A verdict is the result of a call in Python, or what it raised.
type verdict[R any] struct {
	OK     bool   `json:"ok"`
	Result R      `json:"result"`
	Error  string `json:"error"`
}

// ask puts one question and fails the test if Python raised an exception.
func ask[R any](o *oracle, question map[string]any) R {
	o.t.Helper()
	line, err := json.Marshal(question)
	if err != nil {
		o.t.Fatal(err)
	}
	if _, err := o.stdin.Write(append(line, '\n')); err != nil {
		o.t.Fatal(err)
	}
	text, err := o.lines.ReadBytes('\n')
	if err != nil {
		o.t.Fatalf("no answer to %s: %v", line, err)
	}
	var answer verdict[R]
	if err := json.Unmarshal(text, &answer); err != nil {
		o.t.Fatal(err)
	}
	if !answer.OK {
		o.t.Fatalf("the library refuses the question: %s\n%s\n%s", answer.Error, line, question["source"])
	}
	return answer.Result
}
