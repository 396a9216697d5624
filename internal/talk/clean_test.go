package talk_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/parley-agents/parley/internal/talk"
)

// harmless fails if a terminal would do anything but show the text.
func harmless(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%q is not UTF-8", text)
	}
	for _, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			t.Errorf("%q has %U", text, r)
		}
	}
}

func TestClean(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"text", "grüße, 世界 👩‍👩‍👧 ✓", "grüße, 世界 👩‍👩‍👧 ✓"},
		{"newlines", "a\r\nb\rc\u2028d\n\te", "a\nb\nc\nd\n\te"},
		{"clear the screen", "\x1b[2J\x1b[Hx", "[2J[Hx"},
		{"set the title", "\x1b]0;title\x07x", "]0;titlex"},
		{"the same in eight bits", "\u009b2J\u009d0;t\u009cx", "2J0;tx"},
		{"invalid bytes", "\x9b2Jx\xff", "\ufffd2Jx\ufffd"},
		{"backspace over a name", "mallory\b\b\b\b\b\b\balice", "malloryalice"},
		{"right to left", "\u202eexe.txt\u2066x", "exe.txtx"},
		{"hidden tags", "a\U000E0041b", "ab"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := talk.Clean(tc.in)
			if got != tc.want {
				t.Errorf("Clean(%q) = %q, want %q", tc.in, got, tc.want)
			}
			harmless(t, got)
		})
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[2Jx\u009b\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		once := talk.Clean(text)
		harmless(t, once)
		if twice := talk.Clean(once); twice != once {
			t.Errorf("Clean(%q) = %q, then %q", text, once, twice)
		}
		if line := talk.CleanLine(text); strings.ContainsAny(line, "\n\t") {
			t.Errorf("CleanLine(%q) = %q", text, line)
		}
	})
}
