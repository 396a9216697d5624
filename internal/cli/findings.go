package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"charm.land/lipgloss/v2"
	"golang.org/x/term"

	"github.com/parley-agents/parley/internal/lang/diag"
)

// diagnosticsJSON are findings for scripts: a list, also if there are none.
func diagnosticsJSON(found diag.List) diag.List { return append(diag.List{}, found...) }

// findings prints diagnostics: one line each for programs, and for people on a
// terminal in colour and with the line of the source.
type findings struct {
	out      io.Writer
	terminal bool
	colour   bool
}

func newFindings(out io.Writer) *findings {
	terminal := toTerminal(out)
	return &findings{out, terminal, terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func toTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// print prints the findings. Line returns a line of a file.
func (p *findings) print(found diag.List, line func(file string, n int) string) {
	for _, d := range found {
		place, _, _ := strings.Cut(d.String(), ": "+d.Code+" ")
		fmt.Fprintf(p.out, "%s %s %s\n", p.paint(bold, printable(place)+":"), p.paint(colours[d.Severity], d.Code+" "+d.Severity.String()+":"), printable(d.Message))
		if p.terminal && d.Span.Start.Line > 0 {
			p.excerpt(line(d.Span.File, d.Span.Start.Line), d)
		}
		if d.Hint != "" {
			fmt.Fprintf(p.out, "  %s %s\n", p.paint(bold, "hint:"), printable(d.Hint))
		}
	}
}

// maxExcerpt is how much of a long line is shown, in characters.
const maxExcerpt = 100

// excerpt shows the line of the source with a mark below it.
func (p *findings) excerpt(line string, d diag.Diagnostic) {
	runes := []rune(line)
	from := min(max(0, d.Span.Start.Column-1), len(runes))
	to := len(runes)
	if d.Span.End.Line == d.Span.Start.Line {
		to = min(max(from, d.Span.End.Column-1), len(runes))
	}
	if cut := from - maxExcerpt/2; cut > 0 && len(runes) > maxExcerpt {
		runes, from, to = runes[cut:], from-cut, to-cut
	}
	if len(runes) > maxExcerpt {
		runes = runes[:maxExcerpt]
		to = min(to, maxExcerpt)
	}
	clean := func(part []rune) string { return printable(strings.ReplaceAll(string(part), "\t", " ")) }
	mark := strings.Repeat("^", max(1, lipgloss.Width(clean(runes[from:to]))))
	fmt.Fprintf(p.out, "  %s\n  %s%s\n", clean(runes), strings.Repeat(" ", lipgloss.Width(clean(runes[:from]))), p.paint(colours[d.Severity], mark))
}

// The colours of a terminal.
const bold = "1"

var colours = map[diag.Severity]string{diag.Error: "1;31", diag.Warning: "1;33", diag.Note: "1;36"}

func (p *findings) paint(colour, text string) string {
	if !p.colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// printable shows characters that would command a terminal as what they are.
func printable(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if !strings.ContainsFunc(text, commanding) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if commanding(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// commanding also counts what changes the direction of text.
func commanding(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// summary tells in a line how it went.
func summary(found diag.List, files, protocols int) string {
	var counts [diag.Note + 1]int
	for _, d := range found {
		counts[d.Severity]++
	}
	var parts []string
	for severity, n := range counts {
		if n > 0 {
			parts = append(parts, count(n, diag.Severity(severity).String()))
		}
	}
	if len(parts) == 0 {
		parts = []string{"clean"}
	}
	return count(files, "file") + ", " + count(protocols, "protocol") + ": " + strings.Join(parts, ", ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
