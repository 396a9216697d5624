package uagents

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
)

// Generated is implemented by what "parley gen" writes: structs that read and
// write their payloads themselves, without reflection. The methods take the usual
// payloads only and give up on the rest, on which the codec then decides as for
// every other type. So what is taken, what is refused and why does not depend on
// them.
type Generated interface {
	WritePayload(*Writer)
}

// generatedReader is the other half, which pointers implement. ReadPayload
// changes its receiver only if the reader has not failed.
type generatedReader interface{ ReadPayload(*Reader) }

// A Reader reads a payload for generated code. Its methods take only what every
// codec takes; the first one that finds something else makes it fail, and from
// then on they return zero values.
type Reader struct {
	text   []byte
	pos    int
	depth  int // of open arrays and objects
	levels int // that there may be
	first  bool
	failed bool
	key    []byte
}

func newReader(payload []byte, levels int) *Reader {
	return &Reader{text: payload, levels: levels, failed: !utf8.Valid(payload)}
}

// Fail gives up.
func (r *Reader) Fail() {
	r.failed = true
	r.pos = len(r.text)
}

// OK reports whether the reader has not failed.
func (r *Reader) OK() bool { return !r.failed }

// Check gives up unless fits is true.
func (r *Reader) Check(fits bool) {
	if !fits {
		r.Fail()
	}
}

// Limit gives up if there is an error.
func (r *Reader) Limit(err error) { r.Check(err == nil) }

// Once notes that a field is there, and gives up if it was there before.
func (r *Reader) Once(seen *uint64, field uint64) {
	r.Check(*seen&field == 0)
	*seen |= field
}

// Need gives up unless all fields were there.
func (r *Reader) Need(seen, fields uint64) { r.Check(seen&fields == fields) }

func (r *Reader) peek() byte {
	for r.pos < len(r.text) {
		switch c := r.text[r.pos]; c {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return c
		}
	}
	return 0
}

func (r *Reader) take(c byte) bool {
	if r.peek() != c || r.pos >= len(r.text) {
		return false
	}
	r.pos++
	return true
}

func (r *Reader) word(w string) bool {
	if len(r.text)-r.pos < len(w) || string(r.text[r.pos:r.pos+len(w)]) != w {
		return false
	}
	r.pos += len(w)
	return true
}

// A Kind is what a value looks like.
type Kind uint8

// The kinds of values that unions can be told apart by. None is no value.
const (
	NoKind Kind = iota
	NullKind
	BoolKind
	NumberKind
	StringKind
	ArrayKind
	ObjectKind
)

// Kind returns the kind of the value that comes next.
func (r *Reader) Kind() Kind {
	switch c := r.peek(); {
	case c == '{':
		return ObjectKind
	case c == '[':
		return ArrayKind
	case c == '"':
		return StringKind
	case c == 'n':
		return NullKind
	case c == 't' || c == 'f':
		return BoolKind
	case c == '-' || c >= '0' && c <= '9':
		return NumberKind
	}
	return NoKind
}

// Null skips null and reports whether it was there.
func (r *Reader) Null() bool { return r.peek() == 'n' && r.word("null") }

// Object opens an object, whose members [Reader.Next] finds:
//
//	for r.Object(); r.Next(); {
//		switch string(r.Key()) { … }
//	}
func (r *Reader) Object() { r.open('{') }

// List opens an array, whose items [Reader.More] finds.
func (r *Reader) List() { r.open('[') }

func (r *Reader) open(c byte) {
	r.depth++
	r.first = true
	r.Check(r.take(c) && r.depth <= r.levels)
}

// more goes to the next item or over the closing bracket.
func (r *Reader) more(end byte) bool {
	if r.failed {
		return false
	}
	if r.take(end) {
		r.depth--
		r.first = false
		if r.depth == 0 {
			r.Check(r.peek() == 0 && r.pos == len(r.text))
		}
		return false
	}
	if !r.first && !r.take(',') {
		r.Fail()
		return false
	}
	r.first = false
	return true
}

// More reports whether the array has another item.
func (r *Reader) More() bool { return r.more(']') }

// Next reports whether the object has another member, and reads its key.
func (r *Reader) Next() bool {
	if !r.more('}') {
		return false
	}
	r.key = r.plainText()
	r.Check(r.take(':'))
	return !r.failed
}

// Key returns the key that [Reader.Next] has read. It is valid until the next call.
func (r *Reader) Key() []byte { return r.key }

// plainText reads a string without escapes.
func (r *Reader) plainText() []byte {
	if !r.take('"') {
		r.Fail()
		return nil
	}
	start := r.pos
	for ; r.pos < len(r.text); r.pos++ {
		switch c := r.text[r.pos]; {
		case c == '"':
			r.pos++
			return r.text[start : r.pos-1]
		case c == '\\' || c < 0x20:
			r.Fail()
			return nil
		}
	}
	r.Fail()
	return nil
}

// String reads a string.
func (r *Reader) String() string {
	if !r.take('"') {
		r.Fail()
		return ""
	}
	start := r.pos
	r.pos += plainRun(r.text[r.pos:])
	switch {
	case r.pos == len(r.text):
		r.Fail()
	case r.text[r.pos] == '"':
		r.pos++
		return string(r.text[start : r.pos-1])
	case r.text[r.pos] == '\\':
		return r.escaped(start)
	default: // a control character
		r.Fail()
	}
	return ""
}

// plainRun returns how many bytes at the start of text stand for themselves.
func plainRun(text []byte) int {
	for i, c := range text {
		if !isPlain[c] && c < utf8.RuneSelf && c != 0x7f {
			return i
		}
	}
	return len(text)
}

// escaped reads the rest of a string from its first escape on.
func (r *Reader) escaped(start int) string {
	out := make([]byte, 0, 2*(r.pos-start)+16)
	out = append(out, r.text[start:r.pos]...)
	for r.pos < len(r.text) {
		c := r.text[r.pos]
		r.pos++
		switch {
		case c == '"':
			return string(out)
		case c == '\\':
			out = r.escape(out)
		case c < 0x20:
			r.Fail()
		default:
			run := plainRun(r.text[r.pos:])
			out = append(out, r.text[r.pos-1:r.pos+run]...)
			r.pos += run
		}
	}
	r.Fail()
	return ""
}

func (r *Reader) escape(out []byte) []byte {
	if r.pos >= len(r.text) {
		return out
	}
	c := r.text[r.pos]
	r.pos++
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		return append(out, "\"\\/\b\f\n\r\t"[i])
	}
	if c != 'u' {
		r.Fail()
		return out
	}
	unit := r.hex4()
	if unit>>10 == 0xd800>>10 {
		if !r.word(`\u`) {
			r.Fail()
			return out
		}
		low := r.hex4()
		r.Check(low>>10 == 0xdc00>>10)
		return utf8.AppendRune(out, 0x10000+(unit-0xd800)<<10+(low-0xdc00))
	}
	r.Check(unit>>10 != 0xdc00>>10)
	return utf8.AppendRune(out, unit)
}

func (r *Reader) hex4() (unit rune) {
	if len(r.text)-r.pos < 4 {
		r.Fail()
		return 0
	}
	for _, c := range r.text[r.pos : r.pos+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			r.Fail()
			return 0
		}
		unit = unit<<4 | rune(c)
	}
	r.pos += 4
	return unit
}

// Bool reads true or false.
func (r *Reader) Bool() bool {
	switch r.peek() {
	case 't':
		r.Check(r.word("true"))
		return r.OK()
	case 'f':
		r.Check(r.word("false"))
		return false
	}
	r.Fail()
	return false
}

// digits reads a number as it is written.
func (r *Reader) digits() (text []byte, integer bool) {
	r.peek()
	start := r.pos
	for ; r.pos < len(r.text); r.pos++ {
		switch c := r.text[r.pos]; {
		case c >= '0' && c <= '9', c == '-', c == '+', c == '.', c == 'e', c == 'E':
			continue
		}
		break
	}
	text = r.text[start:r.pos]
	if !wellFormed(text) {
		r.Fail()
		return nil, false
	}
	return text, !bytes.ContainsAny(text, ".eE")
}

// wellFormed reports whether text is a number of JSON, and not a long one.
func wellFormed(text []byte) bool {
	if len(text) > 64 {
		return false
	}
	rest := bytes.TrimPrefix(text, []byte("-"))
	n := leadingDigits(rest)
	if n == 0 || n > 1 && rest[0] == '0' {
		return false
	}
	if rest = rest[n:]; len(rest) > 0 && rest[0] == '.' {
		if n = leadingDigits(rest[1:]); n == 0 {
			return false
		}
		rest = rest[1+n:]
	}
	if len(rest) > 0 && rest[0]|0x20 == 'e' {
		if rest = rest[1:]; len(rest) > 0 && (rest[0] == '+' || rest[0] == '-') {
			rest = rest[1:]
		}
		if n = leadingDigits(rest); n == 0 {
			return false
		}
		rest = rest[n:]
	}
	return len(rest) == 0
}

func leadingDigits(text []byte) int {
	for i, c := range text {
		if c < '0' || c > '9' {
			return i
		}
	}
	return len(text)
}

func (r *Reader) integer(bits int) int64 {
	text, whole := r.digits()
	n, err := strconv.ParseInt(string(text), 10, bits)
	r.Check(whole && err == nil)
	return n
}

func (r *Reader) unsigned(bits int) uint64 {
	text, whole := r.digits()
	n, err := strconv.ParseUint(string(text), 10, bits)
	r.Check(whole && err == nil)
	return n
}

// Int64 reads an integer.
func (r *Reader) Int64() int64 { return r.integer(64) }

// Int32 reads an integer.
func (r *Reader) Int32() int32 { return int32(r.integer(32)) }

// Uint64 reads an integer.
func (r *Reader) Uint64() uint64 { return r.unsigned(64) }

// Uint32 reads an integer.
func (r *Reader) Uint32() uint32 { return uint32(r.unsigned(32)) }

// Float64 reads a number.
func (r *Reader) Float64() float64 {
	text, _ := r.digits()
	f, err := strconv.ParseFloat(string(text), 64)
	r.Check(err == nil)
	return f
}

// Float32 reads a number that has room in 32 bits.
func (r *Reader) Float32() float32 {
	f := r.Float64()
	r.Check(math.Abs(f) <= math.MaxFloat32)
	return float32(f)
}

// Bytes reads text as bytes.
func (r *Reader) Bytes() []byte { return []byte(r.String()) }

// Decimal reads a decimal number, written as a number or as text.
func (r *Reader) Decimal() string {
	var v pyjson.Value
	if r.peek() == '"' {
		v = pyjson.Of(r.String())
	} else {
		text, whole := r.digits()
		if v = pyjson.OfInt(string(text)); !whole {
			f, _ := strconv.ParseFloat(string(text), 64)
			v = pyjson.OfFloat(f)
		} else if v.Text == "-0" {
			v.Text = "0"
		}
	}
	v, err := decimal(v)
	r.Limit(err)
	return decimalText(v)
}

// Time reads a time with a date; without an offset it is UTC.
func (r *Reader) Time() time.Time { return r.time(spec.DateTime) }

// Date reads a date.
func (r *Reader) Date() time.Time { return r.time(spec.Date) }

// TimeOfDay reads a time of day.
func (r *Reader) TimeOfDay() time.Time { return r.time(spec.Time) }

func (r *Reader) time(kind spec.Kind) time.Time {
	text := r.String()
	if !r.OK() {
		return time.Time{}
	}
	if kind == spec.DateTime {
		t, _, err := parseTime(text, kind)
		r.Check(err == nil && t.Year() >= 1)
		return t.Truncate(time.Microsecond)
	}
	text, err := canonicalTime(text, kind)
	r.Limit(err)
	t, _, err := parseTime(text, kind)
	r.Limit(err)
	return t
}

// Duration reads seconds.
func (r *Reader) Duration() time.Duration {
	d, ok := durationOf(r.Float64())
	r.Check(ok)
	return d
}

// UUID reads a UUID of any version.
func (r *Reader) UUID() uuid.UUID {
	text := r.plainText()
	if len(text) != 36 {
		r.Fail()
		return uuid.UUID{}
	}
	id, err := uuid.ParseBytes(text)
	r.Limit(err)
	return id
}

// UUID4 reads a UUID of version 4.
func (r *Reader) UUID4() uuid.UUID {
	id := r.UUID()
	r.Check(id.Version() == 4 && id.Variant() == uuid.RFC4122)
	return id
}

// URI reads a URI.
func (r *Reader) URI() string {
	text, err := canonicalURL(r.String(), spec.Limits{})
	r.Limit(err)
	return text
}

// Any reads a value of which no type is known: nil, bool, int64, float64, string,
// []any or map[string]any.
func (r *Reader) Any() any {
	switch r.Kind() {
	case NullKind:
		r.Check(r.Null())
		return nil
	case BoolKind:
		return r.Bool()
	case NumberKind:
		return r.anyNumber()
	case StringKind:
		return r.String()
	case ArrayKind:
		items := []any{}
		for r.List(); r.More(); {
			items = append(items, r.Any())
		}
		return items
	case ObjectKind:
		members := map[string]any{}
		for r.Object(); r.Next(); {
			key, before := string(r.Key()), len(members)
			members[key] = r.Any()
			r.Check(len(members) > before) // else the key is there twice
		}
		return members
	}
	r.Fail()
	return nil
}

func (r *Reader) anyNumber() any {
	text, whole := r.digits()
	if !whole {
		f, err := strconv.ParseFloat(string(text), 64)
		r.Limit(err)
		return f
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	r.Limit(err)
	return n
}

// Tag returns the text of a member of the object that comes next, and leaves the
// object to be read.
func (r *Reader) Tag(key string) []byte {
	at := *r
	var value []byte
	for r.Object(); r.Next(); {
		if string(r.Key()) == key && r.Kind() == StringKind {
			value = r.plainText()
			break
		}
		r.skip()
	}
	ok := r.OK()
	*r = at
	r.Check(ok && value != nil)
	return value
}

// skip goes over a value that is read again, so that it need not be understood.
func (r *Reader) skip() {
	depth := 0
	for r.OK() {
		switch c := r.peek(); c {
		case '{', '[':
			depth++
			r.pos++
		case '}', ']':
			depth--
			r.pos++
		case '"':
			r.skipText()
		case ',', ':':
			r.pos++
			continue
		case 0:
			r.Fail()
		default:
			for r.pos < len(r.text) && strings.IndexByte(" \t\r\n,:]}\"", r.text[r.pos]) < 0 {
				r.pos++
			}
		}
		if depth <= 0 {
			return
		}
	}
}

func (r *Reader) skipText() {
	for r.pos++; r.pos < len(r.text); r.pos++ {
		switch r.text[r.pos] {
		case '\\':
			r.pos++
		case '"':
			r.pos++
			return
		}
	}
	r.Fail()
}

// Limits are what a value must fit beside its kind.
type Limits struct {
	decoder decoder
	scalar  spec.Scalar
}

// NewLimits prepares limits, for generated code. It panics if they cannot be
// understood, since a generator has checked them.
func NewLimits(kind spec.Kind, limits spec.Limits) *Limits {
	t := kind.With(limits)
	p, err := newPlan(t)
	if err != nil {
		panic(fault.In("limits", err))
	}
	return &Limits{decoder{plan: p}, *t}
}

// Text says whether text fits.
func (l *Limits) Text(s string) error { return l.decoder.limits(pyjson.Of(s), l.scalar) }

// Float says whether a number fits.
func (l *Limits) Float(f float64) error { return l.decoder.limits(pyjson.OfFloat(f), l.scalar) }

// Int says whether an integer fits.
func (l *Limits) Int(n int64) error {
	return l.decoder.limits(pyjson.OfInt(strconv.FormatInt(n, 10)), l.scalar)
}

// Uint says whether an integer fits.
func (l *Limits) Uint(n uint64) error {
	return l.decoder.limits(pyjson.OfInt(strconv.FormatUint(n, 10)), l.scalar)
}
