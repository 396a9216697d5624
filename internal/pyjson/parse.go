package pyjson

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/parley-agents/parley/fault"
)

// Options limit what [Parse] takes. Nil means the defaults.
type Options struct {
	MaxDepth         int  // of nested arrays and objects; default 64
	UniqueKeys       bool // refuse an object with the same key twice; else the last one counts, as in Python
	NoSurrogateHalfs bool // refuse strings that are no Unicode text
}

const (
	defaultDepth = 64
	maxDigits    = 4300 // Python refuses longer integers too
)

// Parse reads one JSON value with nothing after it. Its errors say where.
func Parse(data []byte, opts *Options) (Value, error) {
	p := parser{text: data, depth: defaultDepth}
	if opts != nil {
		p.opts = *opts
		if opts.MaxDepth > 0 {
			p.depth = opts.MaxDepth
		}
	}
	if !utf8.Valid(data) {
		return Value{}, fault.Errorf(fault.Malformed, "", "the text is not UTF-8")
	}
	v := p.value()
	p.blanks()
	if p.err == nil && p.pos < len(p.text) {
		p.fail("nothing more after the value")
	}
	if p.err != nil {
		return Value{}, p.err
	}
	return v, nil
}

type parser struct {
	text  []byte
	pos   int
	depth int // levels that may still be opened
	opts  Options
	err   error
}

// fail records the first error. It moves to the end of the text, so that every
// loop of the parser stops.
func (p *parser) fail(want string) {
	if p.err != nil {
		return
	}
	found := "the end"
	if p.pos < len(p.text) {
		r, _ := utf8.DecodeRune(p.text[p.pos:])
		found = strconv.QuoteRune(r)
	}
	p.err = fault.Errorf(fault.Malformed, "", "expected %s at byte %d of the JSON text, found %s", want, p.pos, found)
	p.pos = len(p.text)
}

func (p *parser) blanks() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

func (p *parser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *parser) take(c byte) bool {
	if p.peek() != c || p.pos >= len(p.text) {
		return false
	}
	p.pos++
	return true
}

func (p *parser) word(w string) bool {
	if !strings.HasPrefix(string(p.text[p.pos:min(len(p.text), p.pos+len(w))]), w) {
		return false
	}
	p.pos += len(w)
	return true
}

func (p *parser) value() Value {
	p.blanks()
	switch c := p.peek(); {
	case c == '{':
		return p.nested(p.object)
	case c == '[':
		return p.nested(p.array)
	case c == '"':
		return Of(p.string())
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case p.word("true"):
		return OfBool(true)
	case p.word("false"):
		return OfBool(false)
	case p.word("null"):
		return Value{}
	case p.word("NaN"):
		return OfFloat(math.NaN())
	case p.word("Infinity"):
		return OfFloat(math.Inf(1))
	}
	p.fail("a value")
	return Value{}
}

func (p *parser) nested(read func() Value) Value {
	if p.depth == 0 {
		if p.err == nil {
			p.err = fault.Errorf(fault.TooLarge, "", "the JSON text nests too deep at byte %d", p.pos)
			p.pos = len(p.text)
		}
		return Value{}
	}
	p.depth--
	p.pos++
	v := read()
	p.depth++
	return v
}

func (p *parser) array() Value {
	v := Value{Kind: Array}
	p.blanks()
	if p.take(']') {
		return v
	}
	for {
		v.Items = append(v.Items, p.value())
		p.blanks()
		switch {
		case p.take(','):
		case p.take(']'):
			return v
		default:
			p.fail("',' or ']'")
			return v
		}
	}
}

func (p *parser) object() Value {
	var members Members
	p.blanks()
	if p.take('}') {
		return members.Object()
	}
	for {
		p.blanks()
		if p.peek() != '"' {
			p.fail("a key in double quotes")
			return Value{}
		}
		key := p.string()
		p.blanks()
		if !p.take(':') {
			p.fail("':'")
			return Value{}
		}
		value := p.value()
		if p.opts.UniqueKeys && p.err == nil && members.find(key) >= 0 {
			p.err = fault.Errorf(fault.Malformed, Brief(key), "the key is there twice")
			p.pos = len(p.text)
		}
		members.Set(key, value)
		p.blanks()
		switch {
		case p.take(','):
		case p.take('}'):
			return members.Object()
		default:
			p.fail("',' or '}'")
			return Value{}
		}
	}
}

func (p *parser) digits() int {
	start := p.pos
	for p.pos < len(p.text) && p.text[p.pos] >= '0' && p.text[p.pos] <= '9' {
		p.pos++
	}
	return p.pos - start
}

func (p *parser) number() Value {
	start := p.pos
	if p.take('-') && p.word("Infinity") {
		return OfFloat(math.Inf(-1))
	}
	first := p.peek()
	switch n := p.digits(); {
	case n == 0:
		p.fail("a digit")
		return Value{}
	case first == '0' && n > 1:
		p.pos -= n - 1
		p.fail("no digit after a leading zero")
		return Value{}
	case n > maxDigits:
		p.err = fault.Errorf(fault.TooLarge, "", "an integer of %d digits", n)
		p.pos = len(p.text)
		return Value{}
	}
	integer := true
	if p.take('.') {
		integer = false
		if p.digits() == 0 {
			p.fail("a digit")
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		integer = false
		p.pos++
		if !p.take('+') {
			p.take('-')
		}
		if p.digits() == 0 {
			p.fail("a digit")
		}
	}
	if p.err != nil {
		return Value{}
	}
	text := string(p.text[start:p.pos])
	if integer {
		if text == "-0" {
			text = "0"
		}
		return OfInt(text)
	}
	f, _ := strconv.ParseFloat(text, 64) // out of range is an infinity, as in Python
	return Value{Kind: Float, Num: f, Text: text}
}

func (p *parser) string() string {
	p.pos++
	start := p.pos
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == '"':
			s := string(p.text[start:p.pos])
			p.pos++
			return s
		case c == '\\':
			return p.escaped(start)
		case c < 0x20:
			p.fail("no control character in a string")
			return ""
		default:
			p.pos++
		}
	}
	p.fail("a closing quote")
	return ""
}

// escaped reads the rest of a string from its first escape on.
func (p *parser) escaped(start int) string {
	out := append([]byte(nil), p.text[start:p.pos]...)
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		p.pos++
		switch {
		case c == '"':
			return string(out)
		case c == '\\':
			out = p.escape(out)
		case c < 0x20:
			p.pos--
			p.fail("no control character in a string")
		default:
			out = append(out, c)
		}
	}
	p.fail("a closing quote")
	return ""
}

func (p *parser) escape(out []byte) []byte {
	c := p.peek()
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 && p.pos < len(p.text) {
		p.pos++
		return append(out, "\"\\/\b\f\n\r\t"[i])
	}
	if !p.take('u') {
		p.fail("an escape")
		return out
	}
	r := p.hex4()
	if r>>10 != 0xd800>>10 {
		return p.appendUnicode(out, r)
	}
	after := p.pos
	if p.word(`\u`) {
		if low := p.hex4(); low>>10 == 0xdc00>>10 {
			return utf8.AppendRune(out, 0x10000+(r-0xd800)<<10+(low-0xdc00))
		}
		if p.err != nil {
			return out
		}
		p.pos = after
	}
	return p.appendUnicode(out, r)
}

func (p *parser) appendUnicode(out []byte, r rune) []byte {
	if p.opts.NoSurrogateHalfs && r >= 0xd800 && r < 0xe000 && p.err == nil {
		p.err = fault.Errorf(fault.Malformed, "", "half a surrogate pair at byte %d of the JSON text", p.pos-6)
		p.pos = len(p.text)
	}
	return appendRune(out, r)
}

func (p *parser) hex4() rune {
	if p.pos+4 > len(p.text) {
		p.pos = len(p.text)
		p.fail("four hexadecimal digits")
		return 0
	}
	var r rune
	for range 4 {
		d := strings.IndexByte(hexDigits, p.text[p.pos]|0x20)
		if d < 0 || p.text[p.pos] < '0' {
			p.fail("four hexadecimal digits")
			return 0
		}
		r = r<<4 | rune(d)
		p.pos++
	}
	return r
}
