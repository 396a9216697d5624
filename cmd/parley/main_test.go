package main

import (
	"context"
	"flag"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/quota"
	"github.com/parley-agents/parley/run"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"parley": main, "greeter": greeter, "rationed": rationed})
}

// TestScript runs testdata/script/*.txtar: sessions with the binary, which are
// also its manual by example.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", UpdateScripts: *update, Cmds: map[string]func(*testscript.TestScript, bool, []string){
		"waitfile": waitFile,
		"capture":  capture,
	}})
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

// capture sets a variable to what a regular expression finds in the last output.
func capture(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) < 2 {
		ts.Fatalf("nothing like %s in the output", args[1])
	}
	ts.Setenv(args[0], found[1])
}
