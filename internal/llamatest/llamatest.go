// Package llamatest runs a real llama.cpp server for tests, with a model of half
// a megabyte that is made on the spot. It speaks the OpenAI API as servers in
// the field do; its words are random, so it tests the wire and not the wit.
package llamatest

import (
	"bufio"
	_ "embed"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

//go:embed serve.py
var program string

// Start runs the server until the test ends and returns its base URL, such as
// http://127.0.0.1:40123/v1. Without the Python of `make test` the test is
// skipped, except where CI promises that it is there.
func Start(t testing.TB) string {
	t.Helper()
	python := os.Getenv("PARLEY_PYTHON")
	if python == "" && os.Getenv("CI") == "true" {
		t.Fatal("PARLEY_PYTHON is not set: run `make test`, which installs llama.cpp")
	}
	if python == "" {
		t.Skip("PARLEY_PYTHON is not set: run `make test`, which installs llama.cpp")
	}
	model := filepath.Join(t.TempDir(), "tiny.gguf")
	if err := os.WriteFile(model, newModel(), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c", program, model)
	cmd.Stderr = log
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
		_ = stdin.Close()
		_ = cmd.Process.Kill() // it holds nothing that it could lose
		_ = cmd.Wait()
		_ = log.Close()
	})
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			said, _ := os.ReadFile(log.Name())
			t.Fatalf("llama.cpp does not start: %v\n%s", err, said)
		}
		if url := strings.TrimSpace(line); strings.HasPrefix(url, "http://") {
			go func() { _, _ = io.Copy(io.Discard, lines) }() // ends with the process
			awaitHealth(t, url)
			return url + "/v1"
		}
	}
}

func awaitHealth(t testing.TB, url string) {
	for range 1200 { // where others are busy too it takes a while
		response, err := http.Get(url + "/health")
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("llama.cpp does not get healthy")
}
