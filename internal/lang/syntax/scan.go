package syntax

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/parley-agents/parley/internal/lang/diag"
)

// kind is what a token is.
type kind uint8

const (
	tokEOF kind = iota
	tokName
	tokQuoted
	tokString
	tokText
	tokNumber
	tokDuration
	tokLBrace
	tokRBrace
	tokLBrack
	tokRBrack
	tokLParen
	tokRParen
	tokLess
	tokGreater
	tokColon
	tokComma
	tokSemi
	tokEqual
	tokPipe
	tokQuestion
	tokDot
	tokDotDot
	tokEllipsis
	tokAt
	tokArrow
	tokStar
)

var spelling = [...]string{
	tokEOF: "end of file", tokName: "a name", tokQuoted: "a name", tokString: "a string", tokText: "a text",
	tokNumber: "a number", tokDuration: "a duration such as 30s",
	tokLBrace: "'{'", tokRBrace: "'}'", tokLBrack: "'['", tokRBrack: "']'", tokLParen: "'('", tokRParen: "')'",
	tokLess: "'<'", tokGreater: "'>'", tokColon: "':'", tokComma: "','", tokSemi: "';'", tokEqual: "'='",
	tokPipe: "'|'", tokQuestion: "'?'", tokDot: "'.'", tokDotDot: "'..'", tokEllipsis: "'...'", tokAt: "'@'",
	tokArrow: "'->'", tokStar: "'*'",
}

// A token has no text of its own: that is a piece of the source.
type token struct {
	start, end int32
	comments   int32 // how many comments stand before it in the file
	kind       kind
	newline    bool // it is the first on its line
	blank      bool // an empty line stands before it
	damaged    bool // the scanner found a mistake in it or just before it
}

// mark remembers how a comment stands among tokens.
type mark struct{ newline bool }

type scanner struct {
	file     *File
	src      string // what to scan: spaces where a page has no code
	at       int
	tokens   []token
	comments []Comment
	marks    []mark
	found    diag.List

	newlines  int  // since the last token or comment
	damaged   bool // a mistake since the last token
	swallowed bool // something that was never closed took the rest of the file
}

const (
	maxSource   = 8 << 20
	maxNumber   = 400
	maxExponent = 1000
)

const byteOrderMark = '\uFEFF'

const (
	classOther = iota
	className
	classDigit
	classSpace
)

var class = func() (c [256]uint8) {
	for b := range c {
		switch {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', b == '_':
			c[b] = className
		case '0' <= b && b <= '9':
			c[b] = classDigit
		case b == ' ', b == '\t', b == '\r', b == '\n':
			c[b] = classSpace
		}
	}
	return c
}()

var punctuation = [256]kind{
	'{': tokLBrace, '}': tokRBrace, '[': tokLBrack, ']': tokRBrack, '(': tokLParen, ')': tokRParen,
	'<': tokLess, '>': tokGreater, ':': tokColon, ',': tokComma, ';': tokSemi, '=': tokEqual,
	'|': tokPipe, '?': tokQuestion, '@': tokAt, '*': tokStar,
}

func (s *scanner) report(code string, start, end int, hint, format string, args ...any) {
	if len(s.found) < 4*diag.MaxPerFile {
		at := s.file.At(Span{int32(start), int32(end)})
		s.found = append(s.found, diag.New(code, at, hint, format, args...))
	}
	s.damaged = true
}

// scan splits the whole source, so that the parser can look ahead freely.
func (s *scanner) scan() {
	s.tokens = make([]token, 0, len(s.src)/5+8)
	for {
		s.space()
		if s.at >= len(s.src) {
			s.emit(tokEOF, s.at)
			return
		}
		start := s.at
		b := s.src[start]
		switch {
		case class[b] == className:
			for s.at++; s.at < len(s.src) && isWord(s.src[s.at]); s.at++ {
			}
			s.emit(tokName, start)
		case class[b] == classDigit:
			s.number()
		case b == '*' && s.follows("*/"):
			s.report("PAR0001", start, s.at, "comments do not nest: each ends at the first */", "unexpected '*/'")
		case b == '<' && s.follows("<!--"):
			if n := strings.Index(s.src[s.at:], "-->"); n >= 0 {
				s.at += n + len("-->")
			}
			s.report("PAR0001", start, start+len("<!--"), "comments start with //", "unexpected '<!--'")
		case b == '<' && strings.HasPrefix(s.src[start:], "<-") && (start+2 >= len(s.src) || class[s.src[start+2]] != classDigit):
			s.at += len("<-")
			s.report("PAR0001", start, s.at, "a rule is `message -> [replies]`", "unexpected '<-'")
			s.emit(tokArrow, start)
		case punctuation[b] != tokEOF:
			s.at++
			s.emit(punctuation[b], start)
		case b == '"':
			s.string()
		case b == '/':
			if !s.comment() {
				s.bad(start)
			}
		case b == '-':
			if s.follows("->") {
				s.emit(tokArrow, start)
			} else if start+1 < len(s.src) && class[s.src[start+1]] == classDigit {
				s.number()
			} else {
				s.bad(start)
			}
		case b == '.':
			switch {
			case s.follows("..."):
				s.emit(tokEllipsis, start)
			case s.follows(".."):
				s.emit(tokDotDot, start)
			default:
				s.at++
				s.emit(tokDot, start)
			}
		case b == '`':
			s.quoted()
		default:
			s.bad(start)
		}
	}
}

func (s *scanner) follows(text string) bool {
	if strings.HasPrefix(s.src[s.at:], text) {
		s.at += len(text)
		return true
	}
	return false
}

func (s *scanner) emit(k kind, start int) {
	s.tokens = append(s.tokens, token{
		start: int32(start), end: int32(s.at), comments: int32(len(s.comments)), kind: k,
		newline: s.newlines > 0 || len(s.tokens) == 0, blank: s.newlines > 1, damaged: s.damaged,
	})
	s.newlines, s.damaged = 0, false
}

func (s *scanner) space() {
	src, at := s.src, s.at
	for at < len(src) && class[src[at]] == classSpace {
		if src[at] == '\n' {
			s.newlines++
		}
		at++
	}
	s.at = at
}

// bad reports a run of characters that belong nowhere, once.
func (s *scanner) bad(start int) {
	r, size := utf8.DecodeRuneInString(s.src[start:])
	s.at = start + size
	for s.at < len(s.src) && strings.HasPrefix(s.src[s.at:], s.src[start:start+size]) {
		s.at += size
	}
	switch {
	case r == byteOrderMark && start == 0: // some editors begin a file with it
	case r == byteOrderMark:
		s.report("PAR0006", start, s.at, "remove it", "a byte order mark in the middle of the text")
	case r == utf8.RuneError && size == 1, r == 0:
		s.damaged = true // reported for the whole file, by unreadable
	case r == '-' && s.joinsName(start):
		s.wholeName(start, "a name with a dash stands in backticks")
	case r == '-' && s.at-start > 1:
		hint := "comments start with //"
		if s.at < len(s.src) && s.src[s.at] == '>' {
			s.at++
			hint = "write `->`"
			s.report("PAR0001", start, s.at, hint, "unexpected '%s'", s.src[start:s.at])
			s.emit(tokArrow, start)
			return
		}
		s.report("PAR0001", start, s.at, hint, "unexpected character '-'")
	case r == '→':
		s.report("PAR0001", start, s.at, "write `->`", "unexpected character '→'")
		s.emit(tokArrow, start)
	case r == '#':
		s.report("PAR0001", start, s.at, "comments start with //", "unexpected character '#'")
	case r == '\'':
		if n := strings.IndexAny(s.src[s.at:], "'\n"); n >= 0 && s.src[s.at+n] == '\'' {
			s.at += n + 1
			s.report("PAR0001", start, s.at, "strings stand in double quotes", "unexpected character '")
			s.emit(tokString, start)
			return
		}
		s.report("PAR0001", start, s.at, "strings stand in double quotes", "unexpected character '")
	case unicode.IsLetter(r):
		s.wholeName(start, "a name with other letters than A-Z stands in backticks")
	default:
		s.report("PAR0001", start, s.at, "", "unexpected character %q", r)
	}
}

// joinsName reports whether a character stands between letters of what was meant
// as one name.
func (s *scanner) joinsName(at int) bool {
	last := len(s.tokens) - 1
	return last >= 0 && s.tokens[last].kind == tokName && int(s.tokens[last].end) == at &&
		s.at < len(s.src) && isWord(s.src[s.at])
}

// wholeName reports a name with a character that names do not have, and takes all
// of it, so that it is one mistake.
func (s *scanner) wholeName(at int, hint string) {
	start := at
	if last := len(s.tokens) - 1; last >= 0 && s.tokens[last].kind == tokName && int(s.tokens[last].end) == at {
		start = int(s.tokens[last].start)
		before := s.tokens[last]
		s.tokens = s.tokens[:last]
		defer func() {
			t := &s.tokens[last]
			t.newline, t.blank, t.comments = before.newline, before.blank, before.comments
		}()
	}
	bad, _ := utf8.DecodeRuneInString(s.src[at:])
	for s.at < len(s.src) {
		r, size := utf8.DecodeRuneInString(s.src[s.at:])
		dash := r == '-' && s.at+1 < len(s.src) && class[s.src[s.at+1]] == className
		if r < utf8.RuneSelf && !isWord(s.src[s.at]) && !dash || r >= utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsMark(r) {
			break
		}
		s.at += size
	}
	s.report("PAR0001", at, at+utf8.RuneLen(bad), hint+": `"+shorten(s.src[start:s.at])+"`", "unexpected character %q", bad)
	s.emit(tokName, start)
}

// comment takes a comment, or a lone slash and returns false.
func (s *scanner) comment() bool {
	start := s.at
	rest := s.src[start:]
	switch {
	case strings.HasPrefix(rest, "//"):
		n := strings.IndexByte(rest, '\n')
		if n < 0 {
			n = len(rest)
		}
		s.at += n
		rest = strings.TrimRight(rest[:n], " \t\r")
	case strings.HasPrefix(rest, "/*"):
		n := strings.Index(rest[2:], "*/")
		if n < 0 {
			s.at = len(s.src)
			s.report("PAR0004", start, start+2, "close it with */", "this comment is not closed")
			s.swallowed = true
			return true
		}
		s.at += n + 4
		rest = rest[:n+4]
	default:
		return false
	}
	s.comments = append(s.comments, Comment{Span: Span{int32(start), int32(start + len(rest))}, Text: unixLines(rest), Blank: s.newlines > 1})
	s.marks = append(s.marks, mark{newline: s.newlines > 0})
	s.newlines = 0
	return true
}

func (s *scanner) quoted() {
	start := s.at
	n := strings.IndexAny(s.src[start+1:], "`\n")
	if n < 0 || s.src[start+1+n] == '\n' {
		s.at++
		s.report("PAR0004", start, s.at, "names in backticks end on the same line", "this name is not closed")
		return
	}
	s.at += n + 2
	if n == 0 {
		s.report("PAR0005", start, s.at, "", "a name in backticks must not be empty")
	}
	s.emit(tokQuoted, start)
}

// string takes a string or a text. One that is not closed ends with its line,
// so that what follows can still be read.
func (s *scanner) string() {
	start := s.at
	if s.follows(`"""`) {
		n := strings.Index(s.src[s.at:], `"""`)
		if n < 0 {
			s.at = len(s.src)
			s.report("PAR0004", start, start+3, `close it with """`, "this text is not closed")
			s.swallowed = true
		} else {
			s.at += n + 3
		}
		s.emit(tokText, start)
		return
	}
	for s.at++; s.at < len(s.src); s.at++ {
		switch b := s.src[s.at]; {
		case b == '"':
			s.at++
			s.emit(tokString, start)
			return
		case b == '\\':
			s.escape()
		case b == '\n':
			s.unclosedString(start)
			return
		case b < ' ' && b != '\r' && b != 0:
			s.report("PAR0005", s.at, s.at+1, `write it as an escape such as \t`, "strings cannot hold the control character %q", b)
		}
	}
	s.unclosedString(start)
}

func (s *scanner) unclosedString(start int) {
	s.at = min(s.at, len(s.src))
	for s.at > start+1 && class[s.src[s.at-1]] == classSpace {
		s.at--
	}
	s.report("PAR0004", start, s.at, `close it with "; longer texts stand in """`, "this string is not closed")
	s.emit(tokString, start)
	s.damaged = true // what follows on the line was perhaps meant to be outside
}

// escape checks the escape at a backslash and stops at its last byte.
func (s *scanner) escape() {
	start := s.at
	if start+1 >= len(s.src) || s.src[start+1] == '\n' {
		return
	}
	s.at++
	switch c := s.src[s.at]; c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
	case 'u':
		for i := 1; i <= 4; i++ {
			if s.at+1 >= len(s.src) || !isHex(s.src[s.at+1]) {
				s.report("PAR0005", start, s.at+1, `such as \u00e9`, `\u needs four hexadecimal digits`)
				return
			}
			s.at++
		}
		s.surrogate(start)
	default:
		_, size := utf8.DecodeRuneInString(s.src[s.at:])
		s.at += size - 1
		s.report("PAR0005", start, s.at+1, `the escapes are those of JSON: \" \\ \/ \b \f \n \r \t \u0041`, "unknown escape %s", s.src[start:s.at+1])
	}
}

// surrogate asks that an escape is a character, or half of one with the other half.
func (s *scanner) surrogate(start int) {
	r := hex4(s.src[start+2:])
	if !utf16.IsSurrogate(r) {
		return
	}
	if rest := s.src[s.at+1:]; strings.HasPrefix(rest, `\u`) && utf16.DecodeRune(r, hex4(rest[2:])) != utf8.RuneError {
		s.at += len(`\ude00`)
		return
	}
	s.report("PAR0005", start, s.at+1, `such as \ud83d\ude00`, "%s is half of a character", s.src[start:s.at+1])
}

func isHex(b byte) bool {
	return class[b] == classDigit || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F'
}

// number takes a JSON number or a duration, with everything that hangs on it.
func (s *scanner) number() {
	start := s.at
	if s.src[s.at] == '-' {
		s.at++
	}
	whole := s.at
	s.digits()
	integer := true
	if s.at+1 < len(s.src) && s.src[s.at] == '.' && class[s.src[s.at+1]] == classDigit {
		integer = false
		s.at++
		s.digits()
	}
	mantissa := s.at
	if s.at < len(s.src) && s.src[s.at]|0x20 == 'e' {
		next := s.at + 1
		if next < len(s.src) && (s.src[next] == '+' || s.src[next] == '-') {
			next++
		}
		if next < len(s.src) && class[s.src[next]] == classDigit {
			integer = false
			s.at = next
			s.digits()
		}
	}
	number := s.at
	if s.at < len(s.src) && s.src[s.at] == '.' && !strings.HasPrefix(s.src[s.at:], "..") {
		s.at++ // as in `1.` or `1.0.0`
	}
	for s.at < len(s.src) && isWord(s.src[s.at]) {
		s.at++
	}
	switch unit := s.src[number:s.at]; {
	case unit != "" && integer && isUnit(unit) && s.src[start] != '-':
		if number-start > 18 {
			s.report("PAR0008", start, s.at, "", "this duration is too long")
		}
		s.emit(tokDuration, start)
		return
	case unit != "":
		hint := "names begin with a letter; durations are whole numbers with ms, s, m, h or d"
		switch {
		case unit == ".":
			hint = "digits follow the point"
		case strings.HasPrefix(unit, "."):
			hint = "versions stand in quotes"
		}
		s.report("PAR0008", start, s.at, hint, "malformed number '%s'", shorten(s.src[start:s.at]))
	case s.src[whole] == '0' && whole+1 < mantissa && class[s.src[whole+1]] == classDigit:
		s.report("PAR0008", start, s.at, "", "number '%s' starts with a superfluous 0", shorten(s.src[start:s.at]))
	case s.at-start > maxNumber || exponentTooLarge(s.src[mantissa:number]):
		s.report("PAR0008", start, s.at, "", "number '%s' is too large", shorten(s.src[start:s.at]))
	}
	s.emit(tokNumber, start)
}

func (s *scanner) digits() {
	for s.at < len(s.src) && class[s.src[s.at]] == classDigit {
		s.at++
	}
}

func isUnit(s string) bool {
	switch s {
	case "ms", "s", "m", "h", "d":
		return true
	}
	return false
}

func exponentTooLarge(e string) bool {
	n := 0
	for _, c := range strings.TrimLeft(e, "eE+-") {
		if n = n*10 + int(c-'0'); n > maxExponent {
			return true
		}
	}
	return false
}

func shorten(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

// unreadable reports the bytes that no text has, wherever they stand.
func (s *scanner) unreadable(src string) {
	if utf8.ValidString(src) && strings.IndexByte(src, 0) < 0 {
		s.damaged = false
		return
	}
	for i := 0; i < len(src) && len(s.found) < diag.MaxPerFile; {
		r, size := utf8.DecodeRuneInString(src[i:])
		if r == 0 {
			s.report("PAR0006", i, i+1, "", "a source cannot hold the byte 00")
		} else if r == utf8.RuneError && size == 1 {
			end := i
			for end < len(src) && !utf8.RuneStart(src[end]) || end == i {
				end++
			}
			s.report("PAR0006", i, end, "save the file as UTF-8", "byte %02x is not UTF-8", src[i])
			size = end - i
		}
		i += size
	}
	s.damaged = false
}

func isWord(b byte) bool { c := class[b]; return c == className || c == classDigit }
