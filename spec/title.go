package spec

import (
	"strings"
	"unicode"
)

// titleOf makes the title that pydantic gives to a field: Python's str.title
// with blanks for underscores.
func titleOf(name string) string {
	var b strings.Builder
	afterLetter := false
	for _, r := range name {
		switch {
		case r == '_':
			b.WriteByte(' ')
		case !afterLetter:
			writeTitleCase(&b, r)
		default:
			writeLowerCase(&b, r)
		}
		afterLetter = isCased(r)
	}
	return b.String()
}

// titleSpecial are the letters whose title case is more than one letter and
// that can occur in a Python identifier.
var titleSpecial = map[rune]string{
	'ß': "Ss", 'ŉ': "ʼN", 'ǰ': "J̌", 'ΐ': "Ϊ́", 'ΰ': "Ϋ́", 'և': "Եւ",
	'ẖ': "H̱", 'ẗ': "T̈", 'ẘ': "W̊", 'ẙ': "Y̊", 'ẚ': "Aʾ",
}

func writeTitleCase(b *strings.Builder, r rune) {
	if special, ok := titleSpecial[r]; ok {
		b.WriteString(special)
		return
	}
	b.WriteRune(unicode.ToTitle(r))
}

func writeLowerCase(b *strings.Builder, r rune) {
	if r == 'İ' { // its full lower case is two code points
		b.WriteString("i̇")
		return
	}
	b.WriteRune(unicode.ToLower(r))
}

func isCased(r rune) bool {
	return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) ||
		unicode.In(r, unicode.Other_Lowercase, unicode.Other_Uppercase)
}
