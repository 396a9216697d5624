package run_test

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/run"
)

// stubborn is a program that takes its time to stop.
func stubborn() {
	if text := os.Getenv("PARLEY_TEST_PATIENCE"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			panic(err)
		}
		run.SetPatience(d)
	}
	a := parley.NewAgent("stubborn", nil)
	a.OnStop(func(context.Context, *parley.Turn) error {
		time.Sleep(time.Minute)
		return nil
	})
	run.Main(a)
}

func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), "PARLEY_TEST_MAIN=1")
	return cmd
}

// Who does not want to wait says it twice.
func TestASecondSignalEndsTheProcessAtOnce(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		cmd := program(t, "-listen", "127.0.0.1:0", "-data", t.TempDir())
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(stdout)
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "listening") {
		}
		began := time.Now()
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for running := true; running; {
			_ = cmd.Process.Signal(signal) // the first begins the stop, one of the next ends it
			select {
			case <-ended:
				running = false
			case <-time.After(500 * time.Millisecond):
			}
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%v: it took %v", signal, took)
		}
	}
}

// U15: a function that does not heed its context does not keep the process.
func TestU15AProcessEndsAlsoIfAFunctionDoesNot(t *testing.T) {
	cmd := program(t, "-listen", "127.0.0.1:0", "-data", t.TempDir())
	cmd.Env = append(cmd.Env, "PARLEY_TEST_PATIENCE=200ms")
	var said strings.Builder
	cmd.Stderr = &said
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(stdout); lines.Scan() && !strings.HasPrefix(lines.Text(), "listening"); {
	}
	began := time.Now()
	_ = cmd.Process.Signal(syscall.SIGTERM)
	err = cmd.Wait()
	if failed, ok := err.(*exec.ExitError); !ok || failed.ExitCode() != 1 || !strings.Contains(said.String(), "handled again at the next start") {
		t.Errorf("it ended with %v and said %q", err, said.String())
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestMistakesOnTheCommandLineAreSaidOnce(t *testing.T) {
	for _, args := range [][]string{{"extra"}, {"-resolve", "x=y"}, {"-no-such-flag"}} {
		out, err := program(t, append(args, "-data", t.TempDir())...).CombinedOutput()
		if failed, ok := err.(*exec.ExitError); !ok || failed.ExitCode() != 2 {
			t.Errorf("%q: %v", args, err)
		}
		last := strings.TrimPrefix(args[len(args)-1], "-")
		if first, _, _ := strings.Cut(string(out), "\n"); !strings.Contains(first, last) || strings.Count(string(out), first) != 1 {
			t.Errorf("%q: %s", args, out)
		}
	}
}

// Every way in which a node cannot start has an error that says what is wrong.
func TestANodeThatCannotStartSaysWhy(t *testing.T) {
	folder := func(prepare func(dir string)) string {
		dir := t.TempDir()
		prepare(dir)
		return dir
	}
	file := func(dir, name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	elsewhere := key(t, "elsewhere").Address()
	for _, c := range []struct {
		name string
		opts run.Options
		want string
	}{
		{"an endpoint that is no URL", run.Options{Endpoint: "here"}, "endpoint"},
		{"an almanac of another kind", run.Options{Almanac: "ftp://x"}, "almanac"},
		{"a peer that is no URL", run.Options{Resolve: map[identity.Address]string{elsewhere: "there"}}, string(elsewhere)},
		{"a listener without port", run.Options{Listen: "nonsense"}, "expected host:port"},
		{"a port that is taken", run.Options{Listen: taken.Addr().String()}, "listens on " + taken.Addr().String() + ": choose another port with -listen"},
		{"half of TLS", run.Options{CertFile: "cert.pem"}, "go together"},
		{"a file for a folder", run.Options{Data: filepath.Join(folder(func(dir string) { file(dir, "f", "", 0o600) }), "f")}, "not a directory"},
		{"no database", run.Options{Data: folder(func(dir string) { file(dir, "parley.db", strings.Repeat("no database", 500), 0o600) })}, "is no database"},
	} {
		if c.opts.Data == "" {
			c.opts.Data = t.TempDir()
		}
		if c.opts.Listen == "" {
			c.opts.Listen = "127.0.0.1:0"
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		err := run.Run(ctx, &c.opts, parley.NewAgent("a", nil))
		cancel()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", c.name, err, c.want)
		}
	}
}

// An agent that brings its own key needs no folder of keys; the data folder is
// made all the same.
func TestTheDataFolderIsMade(t *testing.T) {
	data := filepath.Join(t.TempDir(), "new", "data")
	serve(t, run.Options{Data: data}, parley.NewAgent("a", &parley.AgentOptions{Key: key(t, "own")}))
	info, err := os.Stat(filepath.Join(data, "parley.db"))
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the store: %v, %v", info, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err = run.Run(ctx, &run.Options{Data: data, Listen: "127.0.0.1:0"})
	if fault.CodeOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second node on the same folder: %v", err)
	}
}

func key(t *testing.T, seed string) *identity.Key {
	t.Helper()
	k, err := identity.FromSeed(seed, 0)
	if err != nil {
		t.Fatal(err)
	}
	return k
}
