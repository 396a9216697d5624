package uagents

import (
	"regexp"
	"strings"
)

// compilePattern compiles a regular expression of a model, anchored at the start
// as Python agents apply it, and with Python's reading of what both know.
func compilePattern(text string) (*regexp.Regexp, error) {
	return regexp.Compile(`\A(?:` + fromPython(text) + `)`)
}

// pythonClasses are the classes of Python, where letters and digits of all
// scripts count. Inside of brackets the outer ones of the text are left out.
var pythonClasses = map[byte]string{
	'd': `[\p{Nd}]`, 'D': `[^\p{Nd}]`,
	'w': `[\p{L}\p{N}_]`, 'W': `[^\p{L}\p{N}_]`,
	's': `[\s\v\x1c-\x1f\x{85}\p{Z}]`, 'S': `[^\s\v\x1c-\x1f\x{85}\p{Z}]`,
}

// fromPython spells a regular expression of Python in Go: classes know all
// scripts, and $ matches before a last line break too.
func fromPython(text string) string {
	var b strings.Builder
	inClass := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteString(escapeFromPython(text[i], inClass))
		case c == '[' && !inClass:
			inClass = true
			b.WriteByte(c)
			for _, first := range []string{"^", "]"} { // a bracket that comes first is meant as such
				if strings.HasPrefix(text[i+1:], first) {
					i++
					b.WriteString(first)
				}
			}
		case c == '[':
			b.WriteString(`\[`) // which Go would take for a class like [:alpha:]
		case c == ']':
			inClass = false
			b.WriteByte(c)
		case c == '$' && !inClass:
			b.WriteString(`(?:\n?\z)`)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func escapeFromPython(c byte, inClass bool) string {
	class, ok := pythonClasses[c]
	switch {
	case c == 'Z' && !inClass:
		return `\z`
	case !ok, inClass && class[1] == '^': // a negated class inside another has no spelling
		return `\` + string(c)
	case inClass:
		return class[1 : len(class)-1]
	}
	return class
}
