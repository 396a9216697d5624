package check_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/internal/lang/diag"
)

// A token that is missing or there twice is one mistake, and mostly one message:
// never a flood. Where a brace is missing, two can be said at most in good faith.
func TestOneSlipIsMostlyOneMessage(t *testing.T) {
	tokens := regexp.MustCompile(`[A-Za-z_0-9]+|"[^"\n]+"|->|[{}()\[\]<>:,;=|?@.]`)
	slips := map[string]func(before, token, after string) string{
		"missing": func(before, _, after string) string { return before + after },
		"doubled": func(before, token, after string) string { return before + token + " " + token + after },
	}
	for kind, slip := range slips {
		total, several, most, worst := 0, 0, 0, ""
		for _, name := range files(t, "examples") {
			src := string(read(t, name))
			for _, at := range tokens.FindAllStringIndex(src, -1) {
				if line := src[strings.LastIndexByte(src[:at[0]], '\n')+1 : at[0]]; strings.Contains(line, "//") {
					continue
				}
				damaged := slip(src[:at[0]], src[at[0]:at[1]], src[at[1]:])
				errors := 0
				found := check.File(name, []byte(damaged), check.Options{}).Diagnostics
				for _, d := range found {
					if d.Severity == diag.Error {
						errors++
					}
				}
				total++
				if errors > 1 {
					several++
				}
				if errors > most {
					most, worst = errors, "without "+src[at[0]:at[1]]+"\n"+found.String()
				}
			}
		}
		t.Logf("%s: %d of %d slips have several messages, at most %d", kind, several, total, most)
		if several*100 > 2*total || most > 2 {
			t.Errorf("%s: %d of %d slips have several messages; the most, %d, are\n%s", kind, several, total, most, worst)
		}
	}
}
