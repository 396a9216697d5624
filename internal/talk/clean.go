package talk

import (
	"strings"
	"unicode"
)

// Clean makes text that a stranger wrote harmless to show in a terminal: no
// control character but newline and tab is left, nor one that turns the
// direction of writing around, so that no text can move the cursor, set a title
// or pretend to be somebody else's.
func Clean(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n").Replace(strings.ToValidUTF8(text, "\ufffd"))
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r >= 0xE0000 && r <= 0xE007F:
			return -1
		}
		return r
	}, text)
}

// CleanLine is [Clean] for what belongs on one line.
func CleanLine(text string) string {
	return strings.Join(strings.Fields(Clean(text)), " ")
}
