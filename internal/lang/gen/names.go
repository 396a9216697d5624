package gen

import (
	"strings"
	"unicode"
)

// Words splits a name at underscores, hyphens and other marks, and before capital
// letters that follow small ones.
func Words(name string) []string {
	var words []string
	var word strings.Builder
	flush := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	lower := false
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			lower = false
			continue
		case unicode.IsUpper(r) && lower:
			flush()
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
		word.WriteRune(r)
	}
	flush()
	return words
}

// Pascal writes a name with capitals: "msg_id" becomes "MsgId". One that is
// written so stays as it is.
func Pascal(name string) string {
	var b strings.Builder
	for _, word := range Words(name) {
		b.WriteString(capital(word))
	}
	text := b.String()
	if text == "" || !unicode.IsLetter([]rune(text)[0]) {
		return "X" + text
	}
	return text
}

func capital(word string) string {
	letters := []rune(word)
	letters[0] = unicode.ToUpper(letters[0])
	return string(letters)
}
