package spec

import (
	"strings"
	"unicode"
)

// titleOf makes the title that pydantic gives to a field: Python's str.title
// with blanks for underscores.
func titleOf(name string) string {
	var b strings.Builder
	letters := []rune(name)
	afterLetter := false
	for i, r := range letters {
		switch {
		case r == '_':
			b.WriteByte(' ')
		case !afterLetter:
			b.WriteString(titleCase(r))
		case r == 'Σ' && endsWord(letters, i):
			b.WriteRune('ς')
		default:
			b.WriteString(lowerCase(r))
		}
		afterLetter = isCased(r)
	}
	return b.String()
}

// longTitles are the letters whose title case is more than one letter, which
// package unicode does not know; see SpecialCasing.txt of the Unicode standard.
var longTitles = map[rune]string{
	'ß': "Ss", 'ŉ': "ʼN", 'ǰ': "J\u030c", '\u0390': "Ι\u0308\u0301", '\u03b0': "Υ\u0308\u0301", 'և': "Եւ",
	'ẖ': "H\u0331", 'ẗ': "T\u0308", 'ẘ': "W\u030a", 'ẙ': "Y\u030a", 'ẚ': "Aʾ",
	'\u1f50': "Υ\u0313", '\u1f52': "Υ\u0313\u0300", '\u1f54': "Υ\u0313\u0301", '\u1f56': "Υ\u0313\u0342",
	'\u1fb2': "\u1fba\u0345", '\u1fb4': "\u0386\u0345", '\u1fb6': "Α\u0342", '\u1fb7': "Α\u0342\u0345",
	'\u1fc2': "\u1fca\u0345", '\u1fc4': "\u0389\u0345", '\u1fc6': "Η\u0342", '\u1fc7': "Η\u0342\u0345",
	'\u1fd2': "Ι\u0308\u0300", '\u1fd3': "Ι\u0308\u0301", '\u1fd6': "Ι\u0342", '\u1fd7': "Ι\u0308\u0342",
	'\u1fe2': "Υ\u0308\u0300", '\u1fe3': "Υ\u0308\u0301", '\u1fe4': "Ρ\u0313", '\u1fe6': "Υ\u0342", '\u1fe7': "Υ\u0308\u0342",
	'\u1ff2': "\u1ffa\u0345", '\u1ff4': "\u038f\u0345", '\u1ff6': "Ω\u0342", '\u1ff7': "Ω\u0342\u0345",
	'\ufb00': "Ff", '\ufb01': "Fi", '\ufb02': "Fl", '\ufb03': "Ffi", '\ufb04': "Ffl", '\ufb05': "St", '\ufb06': "St",
	'\ufb13': "Մն", '\ufb14': "Մե", '\ufb15': "Մի", '\ufb16': "Վն", '\ufb17': "Մխ",
}

func titleCase(r rune) string {
	if long, ok := longTitles[r]; ok {
		return long
	}
	return string(unicode.ToTitle(r))
}

func lowerCase(r rune) string {
	if r == 'İ' { // its full lower case is two code points
		return "i\u0307"
	}
	return string(unicode.ToLower(r))
}

// endsWord reports whether the sigma at i takes its final form: a letter stands
// before it and none after it.
func endsWord(letters []rune, i int) bool {
	before, after := i-1, i+1
	for before >= 0 && isIgnored(letters[before]) {
		before--
	}
	for after < len(letters) && isIgnored(letters[after]) {
		after++
	}
	return before >= 0 && isCased(letters[before]) && (after == len(letters) || !isCased(letters[after]))
}

func isCased(r rune) bool {
	return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) ||
		unicode.In(r, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

// isIgnored reports whether the rule for sigma looks past the character: accents
// and marks that can stand inside a word (Unicode calls them case-ignorable).
func isIgnored(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) ||
		strings.ContainsRune("'.:·\u0387\u055f\u05f4‘’\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a", r)
}
