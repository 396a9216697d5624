package main

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/quota"
	"github.com/parley-agents/parley/run"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"parley": main, "greeter": greeter, "rationed": rationed, "chatty": chatty, "solo": solo, "openhouse": openHouse, "auction": auction})
}

// TestScript runs testdata/script/*.txtar: sessions with the binary, which are
// also its manual by example.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", UpdateScripts: *update, Setup: ordinary(t), Cmds: map[string]func(*testscript.TestScript, bool, []string){
		"waitfile":     waitFile,
		"waittext":     waitText,
		"capture":      capture,
		"capture_file": captureFile,
	}})
}

// ordinary has the scripts run the binary as it is built for its users where the
// tests are built with the race detector: keys are encrypted at a cost that
// takes a second, and with the detector twenty. The agents that the scripts talk
// with keep the detector.
func ordinary(t *testing.T) func(*testscript.Env) error {
	t.Helper()
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || !slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return func(env *testscript.Env) error {
			env.Setenv("REPOSITORY", repository)
			return nil
		}
	}
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", folder, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return func(env *testscript.Env) error {
		env.Setenv("REPOSITORY", repository)
		env.Setenv("PATH", folder+string(os.PathListSeparator)+env.Getenv("PATH"))
		return nil
	}
}

// greeter is a program with an agent, for the scripts to talk with.
func greeter() {
	type Greet struct {
		Name string `json:"name"`
	}
	type Greeting struct {
		Text string `json:"text"`
	}
	a := parley.NewAgent("greeter", nil)
	parley.Handle(a, func(_ context.Context, _ *parley.Turn, in Greet) (Greeting, error) {
		return Greeting{Text: "Hello, " + in.Name}, nil
	})
	run.Main(a)
}

// rationed is a program with an agent that answers each sender twice an hour.
func rationed() {
	type Greet struct {
		Name string `json:"name"`
	}
	a := parley.NewAgent("rationed", nil)
	limits, err := quota.New(quota.Rules{Default: quota.Rule{Limit: quota.PerHour(2)}})
	if err != nil {
		panic(err)
	}
	a.Use(limits.Middleware())
	parley.Handle(a, func(_ context.Context, _ *parley.Turn, in Greet) (Greet, error) { return in, nil })
	run.Main(a)
}

// waitFile waits until a file is there.
func waitFile(ts *testscript.TestScript, _ bool, args []string) {
	for range 500 {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	ts.Fatalf("%s does not appear", args[0])
}

// waitText waits until a file has a text.
func waitText(ts *testscript.TestScript, _ bool, args []string) {
	for range 500 {
		if text, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && strings.Contains(string(text), args[1]) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	ts.Fatalf("%s never has %q", args[0], args[1])
}

// capture sets a variable to what a regular expression finds in the last output.
func capture(ts *testscript.TestScript, _ bool, args []string) {
	captureFile(ts, false, []string{args[0], "stdout", args[1]})
}

// captureFile sets a variable to what a regular expression finds in a file.
func captureFile(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile(args[2]).FindStringSubmatch(ts.ReadFile(args[1]))
	if len(found) < 2 {
		ts.Fatalf("nothing like %s in %s", args[2], args[1])
	}
	ts.Setenv(args[0], found[1])
}
