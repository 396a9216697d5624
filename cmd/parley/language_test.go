package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/lang/diag"
)

const languagePage = "docs/language.md"

// A block is a piece of code on a page: what stands behind the fence, and the code.
type block struct{ mark, file, text string }

var fenced = regexp.MustCompile("(?ms)^```([^\n]+)\n(.*?)^```$")

func blocks(page string) []block {
	var all []block
	for _, found := range fenced.FindAllStringSubmatch(page, -1) {
		mark, rest, _ := strings.Cut(found[1], " ")
		_, file, _ := strings.Cut(rest, "file=")
		all = append(all, block{mark, file, found[2]})
	}
	return all
}

func readPage(t *testing.T) string {
	t.Helper()
	t.Chdir("../..")
	page, err := os.ReadFile(languagePage)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// Examples on the page are right, alone and all together, and wrong ones are
// wrong in the way that they are marked with.
func TestExamplesOfTheReference(t *testing.T) {
	right, wrong := 0, 0
	for _, b := range blocks(readPage(t)) {
		switch {
		case b.mark == "parley":
			right++
			if found, _, code := parleyIn(t, b.text, "check", "--name", "docs/example.parley"); code != 0 || found != "" {
				t.Errorf("exit code %d\n%s\n%s", code, found, b.text)
			}
		case strings.HasPrefix(b.mark, "PAR"):
			wrong++
			checkWrong(t, b)
		}
	}
	if right < 10 || wrong < 8 {
		t.Errorf("%d examples and %d wrong ones were found", right, wrong)
	}
	for _, args := range [][]string{{"check", languagePage}, {"fmt", "--check", languagePage}} {
		if stdout, stderr, code := parleyIn(t, "", args...); code != 0 || stdout+stderr != "" {
			t.Errorf("parley %s: exit code %d\n%s%s", args, code, stdout, stderr)
		}
	}
}

func checkWrong(t *testing.T, b block) {
	t.Helper()
	args := []string{"check", "--json"}
	if b.mark == "PAR2140" || b.mark == "PAR2142" {
		args = append(args, "-W")
	}
	text, _, _ := parleyIn(t, b.text, args...)
	var found []struct{ Code string }
	if err := json.Unmarshal([]byte(text), &found); err != nil || len(found) == 0 {
		t.Errorf("%s is not found (%v) in\n%s", b.mark, err, b.text)
	}
	for _, d := range found {
		if d.Code != b.mark {
			t.Errorf("%s is found in what is marked %s\n%s", d.Code, b.mark, b.text)
		}
	}
}

// Whoever types the commands of the page, with the files it shows, sees what it
// shows. With -update the page is rewritten.
func TestCommandsOfTheReference(t *testing.T) {
	page := readPage(t)
	folder, rewritten, commands := t.TempDir(), page, 0
	for _, b := range blocks(page) {
		if b.file != "" {
			if err := os.WriteFile(filepath.Join(folder, b.file), []byte(b.text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if b.mark != "console" {
			continue
		}
		var session bytes.Buffer
		for line := range strings.Lines(b.text) {
			command, isCommand := strings.CutPrefix(line, "$ ")
			if !isCommand {
				continue
			}
			commands++
			session.WriteString(line)
			shell := exec.CommandContext(t.Context(), "sh", "-c", command)
			shell.Dir, shell.Stdout, shell.Stderr = folder, &session, &session
			_ = shell.Run() // what it prints says more than its exit code
		}
		if session.String() != b.text {
			t.Errorf("the page shows\n%sbut it is\n%s", b.text, session.String())
			rewritten = strings.Replace(rewritten, "```console\n"+b.text+"```", "```console\n"+session.String()+"```", 1)
		}
	}
	if commands < 10 {
		t.Errorf("only %d commands were found", commands)
	}
	if *update && rewritten != page {
		if err := os.WriteFile(languagePage, []byte(rewritten), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The page lists every code as it is. With -update it is rewritten.
func TestCodesOfTheReference(t *testing.T) {
	page := readPage(t)
	const head = "| code | | |\n|---|---|---|\n"
	before, rest, found := strings.Cut(page, head)
	table, after, ends := strings.Cut(rest, "\n\n")
	if !found || !ends {
		t.Fatal("there is no table of codes")
	}
	var rows []string
	for _, info := range diag.Codes() {
		rows = append(rows, "| "+info.Code+" | "+info.Severity.String()+" | "+info.Title+" |")
	}
	want := strings.Join(rows, "\n")
	if table == want {
		return
	}
	t.Error("the table of codes is not theirs; go test ./cmd/parley -run CodesOfTheReference -update rewrites it")
	if *update {
		if err := os.WriteFile(languagePage, []byte(before+head+want+"\n\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
