package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/run"
)

// solo is a program with one agent that speaks chat.
func solo() {
	a := parley.NewAgent("solo", nil)
	chat.Handle(a, chatter, nil)
	run.Main(a)
}

// program starts one of the programs of TestMain and returns its data folder and
// URL. It is stopped as a person would stop it.
func program(t *testing.T, bin, name string, args ...string) (data, url string) {
	t.Helper()
	data = filepath.Join(t.TempDir(), name)
	cmd := exec.Command(filepath.Join(bin, name), append(args, "--data", data)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	for range 1000 {
		if control, err := run.ReadControl(data); err == nil {
			return data, control.URL
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s does not start", name)
	return "", ""
}

// programs returns a folder in which programs of TestMain are by their names.
func programs(t *testing.T, names ...string) (bin string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin = t.TempDir()
	for _, name := range names {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	return bin
}

// Every command that docs/chat.md shows works, and all flags are in it.
func TestTheManualOfChat(t *testing.T) {
	page, err := os.ReadFile("../../docs/chat.md")
	if err != nil {
		t.Fatal(err)
	}
	bin := programs(t, "parley", "solo")
	data, url := program(t, bin, "parley", "up", "--listen", "127.0.0.1:0", "--model", "offline")
	soloData, soloURL := program(t, bin, "solo", "--listen", "127.0.0.1:0", "--almanac", url+"/v1/almanac")
	parley := func(shell, data string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c", shell)
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "PARLEY_DATA="+data)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
		return string(out)
	}
	address := regexp.MustCompile(`agent1q\S+`).FindString(parley("parley keys list", soloData))
	session := regexp.MustCompile(`"session":"([^"]*)"`).FindStringSubmatch(parley("parley chat --once hello --json", data))[1]
	own := t.TempDir()
	parley("parley keys new ada", own)
	commands := 0
	for line := range strings.SplitSeq(string(page), "\n") {
		command, ok := strings.CutPrefix(line, "    ")
		if !ok || command == "parley up" {
			continue
		}
		commands++
		folder := data
		if strings.Contains(command, "--key") || strings.Contains(command, "--almanac") {
			folder = own
		}
		command = strings.NewReplacer("agent1q…", address, "http://127.0.0.1:8001", soloURL, "http://127.0.0.1:8000", url, "7d3f…", session).Replace(command)
		if !strings.Contains(command, "--once") && !strings.Contains(command, "echo") {
			command = "echo hello | " + command
		}
		if out := parley(command, folder); strings.TrimSpace(out) == "" {
			t.Errorf("%s prints nothing", command)
		}
	}
	if commands < 10 {
		t.Errorf("%d commands: the page is not read right", commands)
	}

	flags := func(text, pattern string) (all []string) {
		for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			all = append(all, found[1])
		}
		slices.Sort(all)
		return all
	}
	have := slices.DeleteFunc(flags(parley("parley chat --help", data), `(?m)^ +(?:-\w, )?--(\w+)`), func(f string) bool { return f == "help" })
	if told := flags(string(page), "(?m)^\\| `--(\\w+)"); !slices.Equal(told, have) {
		t.Errorf("the page has the flags %v, the command %v", told, have)
	}
}

// Other commands do not pay for the terminal: what the packages behind it do
// before main begins stays small. (One that is known to take 30 ms came and went
// between two small versions of a library.)
func TestTheTerminalCostsOtherCommandsLittle(t *testing.T) {
	bin := programs(t, "parley")
	line := regexp.MustCompile(`(?m)^init (\S+) @\S+ ms, (\S+) ms clock`)
	const most = 10.0 // milliseconds; together they take less than two
	least := 1e9
	for range 10 { // a loaded machine is slow sometimes, but not always
		cmd := exec.Command(filepath.Join(bin, "parley"), "version")
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		sum, packages := 0.0, 0
		for _, found := range line.FindAllStringSubmatch(string(out), -1) {
			for _, part := range []string{"charm", "runewidth", "goldmark", "clipboard", "uniseg", "displaywidth", "uax29", "colorful", "terminfo", "cancelreader", "internal/talk"} {
				if strings.Contains(found[1], part) {
					ms, err := strconv.ParseFloat(found[2], 64)
					if err != nil {
						t.Fatal(err)
					}
					sum += ms
					packages++
					break
				}
			}
		}
		if packages < 3 {
			t.Fatalf("%d packages of the terminal: the trace is not read right\n%s", packages, out)
		}
		least = min(least, sum)
	}
	t.Logf("the packages of the terminal take %.2f ms before main", least)
	if least > most {
		t.Errorf("the packages of the terminal take %.2f ms before main, more than %.0f", least, most)
	}
}
