package screen

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var styles = regexp.MustCompile(`\x1b\[[0-9;:]*m`)

// golden compares with a file, or rewrites it.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s\nIf the change is meant: go test ./internal/talk/screen -update", got, want)
	}
}

func plain(lines []string) string {
	return styles.ReplaceAllString(strings.Join(lines, "\n"), "") + "\n"
}

const everything = "# Title with *stress*\n\nA **bold** word, `code`, ~~gone~~, a [link](https://example.org/x) and https://example.org.\nThe second line stays a second line, and a long one is wrapped where it has to be wrapped.\n\n" +
	"- one\n- two\n  - nested and long enough to be wrapped in a narrow window, below its own beginning\n- three\n\n3. third\n4. fourth\n\n> quoted\n> text\n\n```go\nfunc main() {\n\tfmt.Println(\"this line of code is much too long for the window\")\n}\n```\n\n---\n\n| a | long header |\n|---|---|\n| 1 | x |\n| 22 | `y` |\n\n![picture](https://example.org/p.png)\n\n<b>html</b> &amp; entities, 5 \\* 3\n"

func TestMarkdown(t *testing.T) {
	for _, width := range []string{"40", "72"} {
		t.Run("width "+width, func(t *testing.T) {
			columns := map[string]int{"40": 40, "72": 72}[width]
			lines := markdown(everything, columns)
			golden(t, "testdata/markdown-"+width+".txt", plain(lines))
			for _, line := range lines {
				if lipgloss.Width(line) > columns {
					t.Errorf("%q is %d columns wide", line, lipgloss.Width(line))
				}
			}
		})
	}
	styled := strings.Join(markdown("a **b** `c`", 40), "\n")
	if !strings.Contains(styled, "\x1b[1mb\x1b[") || !strings.Contains(styled, "36mc\x1b[") {
		t.Errorf("no styles in %q", styled)
	}
}

// Text that looks like escape sequences after it was parsed is only text.
func TestMarkdownCannotEscape(t *testing.T) {
	for _, source := range []string{
		"&#27;[2J", "`&#27;[2J`", "&#x9b;2J", "[x](https://e.org/&#27;]0;t&#7;)", "![&#27;c](x)", "<a href='&#27;'>", "~~&#27;[2J~~",
		"```\n&#27;[2J\n```", "> &#27;[2J", "| &#27;[2J |\n|---|\n| &#27;[2J |", "<http://e.org/&#27;>",
	} {
		onlyStyles(t, markdown(source, 40))
	}
}

func onlyStyles(t *testing.T, lines []string) {
	t.Helper()
	for _, line := range lines {
		for _, r := range styles.ReplaceAllString(line, "") {
			if r < ' ' || r >= 0x7f && r < 0xa0 {
				t.Errorf("%q has %U", line, r)
			}
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add(everything, 40)
	f.Add("&#27;[2J", 5)
	f.Add(strings.Repeat("> ", 100)+"deep", 12)
	f.Add(strings.Repeat("- ", 100)+"deep", 12)
	f.Fuzz(func(t *testing.T, source string, width int) {
		if len(source) > 4<<10 || width > 200 {
			return
		}
		onlyStyles(t, markdown(clean([]byte(source)), width))
	})
}

// Nobody can make the screen stand still with a text.
func TestHostileTextIsShownSoon(t *testing.T) {
	began := time.Now()
	for _, piece := range []string{"*a ", "[", "> ", "- ", "|a", "<a ", "![x](", "a **b** ", "~~", "`", "a\u0301"} {
		source := strings.Repeat(piece, 120_000/len(piece))
		for size := len(source); size > 100; size /= 8 { // large ones are shown as they are, small ones parsed
			if lines := markdown(source[:size], 72); len(lines) == 0 && strings.Trim(source[:size], " ->`|~") != "" {
				t.Errorf("%d bytes of %q are not shown", size, piece)
			}
		}
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}
