package pyjson

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Style is one of the ways in which JSON text is laid out on the wire.
type Style struct {
	comma, colon string
	ascii        bool // escape all that is not printable ASCII
	sorted       bool // order keys by code point, at every level
}

// The styles of the uAgents wire.
var (
	Spaced        = Style{comma: ", ", colon: ": ", ascii: true}               // message payloads, HTTP bodies
	Sorted        = Style{comma: ", ", colon: ": ", ascii: true, sorted: true} // what schema and protocol digests hash
	Compact       = Style{comma: ",", colon: ":"}                              // envelopes and registrations: raw UTF-8
	CompactSorted = Style{comma: ",", colon: ":", ascii: true, sorted: true}   // what registration signatures cover
)

// Append appends the text of v to dst.
func Append(dst []byte, v Value, style Style) []byte {
	switch v.Kind {
	case Bool:
		return strconv.AppendBool(dst, v.Bool)
	case Int:
		return append(dst, v.Text...)
	case Float:
		return AppendFloat(dst, v.Num)
	case String:
		return AppendString(dst, v.Text, style)
	case Array:
		return appendArray(dst, v.Items, style)
	case Object:
		return appendObject(dst, v, style)
	default:
		return append(dst, "null"...)
	}
}

func appendArray(dst []byte, items []Value, style Style) []byte {
	dst = append(dst, '[')
	for i, item := range items {
		if i > 0 {
			dst = append(dst, style.comma...)
		}
		dst = Append(dst, item, style)
	}
	return append(dst, ']')
}

func appendObject(dst []byte, v Value, style Style) []byte {
	members := v.Members
	if style.sorted {
		members = slices.Clone(members)
		slices.SortStableFunc(members, func(a, b Member) int {
			if v.NumberKeys {
				return cmp.Compare(number(a.Key), number(b.Key))
			}
			return strings.Compare(a.Key, b.Key)
		})
	}
	dst = append(dst, '{')
	for i, member := range members {
		if i > 0 {
			dst = append(dst, style.comma...)
		}
		dst = AppendString(dst, member.Key, style)
		dst = append(dst, style.colon...)
		dst = Append(dst, member.Value, style)
	}
	return append(dst, '}')
}

// number is the number that a key spells.
func number(key string) float64 {
	f, _ := strconv.ParseFloat(key, 64)
	return f
}

// AppendFloat appends f as Python's repr writes it: the shortest digits that
// read back as f, with ".0" or an exponent so that it stays a float.
func AppendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	mark := start + slices.Index(dst[start:], 'e')
	exponent, _ := strconv.Atoi(string(dst[mark+1:]))
	if exponent < -4 || exponent >= 16 {
		return dst
	}
	dst = strconv.AppendFloat(dst[:start], f, 'f', -1, 64)
	if !slices.Contains(dst[start:], '.') {
		dst = append(dst, ".0"...)
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// AppendString appends s in quotes. Bytes that are no UTF-8 are taken as half
// a surrogate pair where they are one, else as U+FFFD.
func AppendString(dst []byte, s string, style Style) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			dst = appendASCII(dst, c, style)
			i++
			continue
		}
		r, size := decodeRune(s[i:])
		switch {
		case !style.ascii:
			dst = utf8.AppendRune(dst, r)
		case r >= 0x10000:
			dst = appendEscape(dst, 0xd800+(r-0x10000)>>10)
			dst = appendEscape(dst, 0xdc00+(r-0x10000)&0x3ff)
		default:
			dst = appendEscape(dst, r)
		}
		i += size
	}
	return append(dst, '"')
}

func appendASCII(dst []byte, c byte, style Style) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	if c < 0x20 || c == 0x7f && style.ascii {
		return appendEscape(dst, rune(c))
	}
	return append(dst, c)
}

func appendEscape(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// decodeRune is utf8.DecodeRuneInString that also knows halves of surrogate
// pairs in three bytes.
func decodeRune(s string) (rune, int) {
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 && len(s) >= 3 && isSurrogate(s[0], s[1], s[2]) {
		return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), 3
	}
	return r, size
}

func isSurrogate(a, b, c byte) bool {
	return a == 0xed && b >= 0xa0 && b <= 0xbf && c >= 0x80 && c <= 0xbf
}

// appendRune is utf8.AppendRune that also writes halves of surrogate pairs.
func appendRune(dst []byte, r rune) []byte {
	if r >= 0xd800 && r < 0xe000 {
		return append(dst, 0xed, 0x80|byte(r>>6&0x3f), 0x80|byte(r&0x3f))
	}
	return utf8.AppendRune(dst, r)
}

// Brief cuts text from a stranger for an error message or a log line.
func Brief(text string) string {
	const limit = 64
	if len(text) <= limit {
		return text
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
