package cli

import (
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/lang/diag"
)

func shown(p findings, line string, from, to int) string {
	var b strings.Builder
	p.out = &b
	at := diag.Span{File: "a.parley", Start: diag.Pos{Offset: from - 1, Line: 2, Column: from}, End: diag.Pos{Offset: to - 1, Line: 2, Column: to}}
	p.print(diag.List{diag.New("PAR1001", at, "did you mean 'String'?", "unknown type 'Strng'")}, func(string, int) string { return line })
	return b.String()
}

func TestPeopleSeeTheLineAndAMark(t *testing.T) {
	person := findings{terminal: true}
	for name, tc := range map[string]struct {
		line     string
		from, to int
		want     string
	}{
		"a word":            {"type A = Strng", 10, 15, "  type A = Strng\n           ^^^^^\n"},
		"an empty place":    {"type A =", 9, 9, "  type A =\n          ^\n"},
		"behind tabs":       {"\ta: Strng", 5, 10, "   a: Strng\n      ^^^^^\n"},
		"wide characters":   {"/* 日本 */ Strng", 10, 15, "  /* 日本 */ Strng\n             ^^^^^\n"},
		"escapes are shown": {"\x1b[2J Strng", 6, 11, "  \\u001b[2J Strng\n            ^^^^^\n"},
		"a long line":       {strings.Repeat("x", 500) + "Strng", 501, 506, "  " + strings.Repeat("x", 50) + "Strng\n" + strings.Repeat(" ", 52) + "^^^^^\n"},
		"beyond the line":   {"x", 90, 95, "  x\n   ^\n"},
	} {
		got := shown(person, tc.line, tc.from, tc.to)
		if !strings.Contains(got, "unknown type 'Strng'\n"+tc.want+"  hint: did you mean 'String'?\n") {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, tc.want)
		}
	}
}

func TestColoursAreForTerminals(t *testing.T) {
	if got := shown(findings{terminal: true, colour: true}, "x", 1, 2); !strings.Contains(got, "\x1b[1;31mPAR1001 error:\x1b[0m unknown") || !strings.Contains(got, "\x1b[1;31m^\x1b[0m") {
		t.Errorf("in colour: %q", got)
	}
	want := "a.parley:2:1: PAR1001 error: unknown type 'Strng'\n  hint: did you mean 'String'?\n"
	if got := shown(findings{}, "x", 1, 2); got != want {
		t.Errorf("for programs: %q, want %q", got, want)
	}
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	if p := newFindings(&strings.Builder{}); p.terminal || p.colour {
		t.Error("a buffer is taken for a terminal")
	}
}

func TestNothingCommandsTheTerminal(t *testing.T) {
	if got := printable("a\x1b[2J\x9b\u202eb\n"); got != `a\u001b[2J`+"\uFFFD"+`\u202eb\u000a` {
		t.Errorf("got %q", got)
	}
}

func TestSummary(t *testing.T) {
	found := diag.List{{Severity: diag.Error}, {Severity: diag.Note}, {Severity: diag.Error}}
	if got := summary(found, 3, 1); got != "3 files, 1 protocol: 2 errors, 1 note" {
		t.Errorf("got %q", got)
	}
	if got := summary(nil, 1, 2); got != "1 file, 2 protocols: clean" {
		t.Errorf("got %q", got)
	}
}
