package uagents

import (
	"encoding/hex"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
)

// A Writer writes a payload for generated code. Like a [Reader] it gives up on
// what is not usual.
type Writer struct {
	text   []byte
	levels int // that arrays and objects may still nest
	failed bool
}

// Fail gives up.
func (w *Writer) Fail() { w.failed = true }

// Check gives up unless fits is true.
func (w *Writer) Check(fits bool) { w.failed = w.failed || !fits }

// Limit gives up if there is an error.
func (w *Writer) Limit(err error) { w.Check(err == nil) }

// Open starts an array or object with the given text. It reports whether to go on:
// of a value that contains itself there is no end.
func (w *Writer) Open(text string) bool {
	w.levels--
	w.Check(w.levels >= 0)
	w.text = append(w.text, text...)
	return !w.failed
}

// Close ends an array or object with the given text.
func (w *Writer) Close(text string) {
	w.levels++
	w.text = append(w.text, text...)
}

// Raw writes text as it is.
func (w *Writer) Raw(text string) { w.text = append(w.text, text...) }

// Item writes what stands between items, if i is not the first.
func (w *Writer) Item(i int) {
	if i > 0 {
		w.text = append(w.text, ", "...)
	}
}

// Null writes null.
func (w *Writer) Null() { w.text = append(w.text, "null"...) }

// String writes text.
func (w *Writer) String(s string) {
	for i := range len(s) {
		if !isPlain[s[i]] {
			w.Check(utf8.ValidString(s[i:]))
			w.text = pyjson.AppendString(w.text, s, pyjson.Spaced)
			return
		}
	}
	w.text = append(w.text, '"')
	w.text = append(w.text, s...)
	w.text = append(w.text, '"')
}

// isPlain tells the characters that stand for themselves in JSON text as Python
// writes it.
var isPlain = func() (plain [256]bool) {
	for c := range plain {
		plain[c] = c >= 0x20 && c < 0x7f && c != '"' && c != '\\'
	}
	return plain
}()

// Literal writes text that may only be the given one; none stands for it.
func (w *Writer) Literal(s, only string) {
	w.Check(s == "" || s == only)
	w.String(only)
}

// Bool writes true or false.
func (w *Writer) Bool(b bool) { w.text = strconv.AppendBool(w.text, b) }

// Int64 writes an integer.
func (w *Writer) Int64(n int64) { w.text = strconv.AppendInt(w.text, n, 10) }

// Int32 writes an integer.
func (w *Writer) Int32(n int32) { w.Int64(int64(n)) }

// Uint64 writes an integer.
func (w *Writer) Uint64(n uint64) { w.text = strconv.AppendUint(w.text, n, 10) }

// Uint32 writes an integer.
func (w *Writer) Uint32(n uint32) { w.Uint64(uint64(n)) }

// Float64 writes a number.
func (w *Writer) Float64(f float64) { w.text = pyjson.AppendFloat(w.text, f) }

// Float32 writes the shortest number that reads back as the same 32 bits.
func (w *Writer) Float32(f float32) {
	wide, err := strconv.ParseFloat(strconv.FormatFloat(float64(f), 'g', -1, 32), 64)
	w.Limit(err)
	w.Float64(wide)
}

// Bytes writes bytes as text.
func (w *Writer) Bytes(b []byte) { w.String(string(b)) }

// Decimal writes a decimal number.
func (w *Writer) Decimal(s string) {
	v, err := decimal(pyjson.Of(s))
	w.Limit(err)
	w.text = pyjson.Append(w.text, v, pyjson.Spaced)
}

// URI writes a URI.
func (w *Writer) URI(s string) {
	w.Check(utf8.ValidString(s))
	text, err := canonicalURL(s, spec.Limits{})
	w.Limit(err)
	w.String(text)
}

// Time writes a time with its date.
func (w *Writer) Time(t time.Time) { w.time(t, spec.DateTime) }

// Date writes a date.
func (w *Writer) Date(t time.Time) { w.time(t, spec.Date) }

// TimeOfDay writes a time of day.
func (w *Writer) TimeOfDay(t time.Time) { w.time(t, spec.Time) }

func (w *Writer) time(t time.Time, kind spec.Kind) {
	w.Check(kind == spec.Time || t.Year() >= 1 && t.Year() <= 9999)
	w.text = append(w.text, '"')
	switch kind {
	case spec.Date:
		w.text = t.AppendFormat(w.text, time.DateOnly)
	case spec.Time:
		w.text = append(w.text, formatTime(t, false)[len("2006-01-02T"):]...)
	default:
		w.text = append(w.text, formatTime(t, true)...)
	}
	w.text = append(w.text, '"')
}

// Duration writes seconds.
func (w *Writer) Duration(d time.Duration) { w.Float64(float64(d.Microseconds()) / 1e6) }

// UUID writes a UUID of any version.
func (w *Writer) UUID(id uuid.UUID) {
	var text [38]byte
	text[0], text[9], text[14], text[19], text[24], text[37] = '"', '-', '-', '-', '-', '"'
	hex.Encode(text[1:], id[:4])
	hex.Encode(text[10:], id[4:6])
	hex.Encode(text[15:], id[6:8])
	hex.Encode(text[20:], id[8:10])
	hex.Encode(text[25:], id[10:])
	w.text = append(w.text, text[:]...)
}

// UUID4 writes a UUID of version 4.
func (w *Writer) UUID4(id uuid.UUID) {
	w.Check(id.Version() == 4 && id.Variant() == uuid.RFC4122)
	w.UUID(id)
}

// Any writes a value of which no type is known.
func (w *Writer) Any(v any) {
	switch v := v.(type) {
	case nil:
		w.Null()
	case bool:
		w.Bool(v)
	case string:
		w.String(v)
	case int:
		w.Int64(int64(v))
	case int64:
		w.Int64(v)
	case float64:
		w.Float64(v)
	case []any:
		WriteList(w, v, w.Any)
	case map[string]any:
		WriteMap(w, v, w.Any)
	default:
		w.Fail()
	}
}

// WriteMap writes a map in the order of its keys.
func WriteMap[K ~string, V any](w *Writer, m map[K]V, write func(V)) {
	if !w.Open("{") {
		return
	}
	for i, key := range slices.Sorted(maps.Keys(m)) {
		w.Item(i)
		w.String(string(key))
		w.Raw(": ")
		write(m[key])
	}
	w.Close("}")
}

// WriteList writes a list.
func WriteList[T any](w *Writer, list []T, write func(T)) {
	if !w.Open("[") {
		return
	}
	for i := range list {
		w.Item(i)
		write(list[i])
	}
	w.Close("]")
}

// ReadMap reads a map with text for keys.
func ReadMap[K ~string, V any](r *Reader, read func() V) map[K]V {
	m := make(map[K]V)
	for r.Object(); r.Next(); {
		key := K(r.Key())
		_, twice := m[key]
		r.Check(!twice)
		m[key] = read()
	}
	return m
}

// ReadList reads a list.
func ReadList[T any](r *Reader, read func() T) []T {
	list := []T{}
	for r.List(); r.More(); {
		list = append(list, read())
	}
	return list
}

// Record reads a generated struct.
func Record[T any, P interface {
	*T
	ReadPayload(*Reader)
}](r *Reader) T {
	var v T
	P(&v).ReadPayload(r)
	return v
}

// ReadPointer reads a value that may be null.
func ReadPointer[T any](r *Reader, read func() T) *T {
	if r.Null() {
		return nil
	}
	v := read()
	return &v
}

// Unusual gives up, for values of which only the codec knows what they are.
func Unusual[T any](r *Reader) (v T) {
	r.Fail()
	return v
}

// codecs holds the codecs of generated types that are used on their own: types do
// not change, and there are only as many as the program has.
var codecs sync.Map // reflect.Type → *Codec

func codecOf(t reflect.Type) (*Codec, error) {
	if c, ok := codecs.Load(t); ok {
		return c.(*Codec), nil
	}
	record, err := spec.FromGoType(t)
	if err != nil {
		return nil, err
	}
	c, err := NewCodec(record, &CodecOptions{Generated: true, MaxSize: math.MaxInt})
	if err != nil {
		return nil, err
	}
	codecs.Store(t, c)
	return c, nil
}

// Validate says why a generated struct could not be sent, or nil.
func Validate[T Generated](v T) error {
	_, err := MarshalJSON(v)
	return err
}

// MarshalJSON writes a generated struct as a payload, for encoding/json.
func MarshalJSON[T Generated](v T) ([]byte, error) {
	c, err := codecOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	return c.Marshal(v)
}

// UnmarshalJSON reads a payload into a generated struct, for encoding/json.
func UnmarshalJSON[T Generated](text []byte, v *T) error {
	c, err := codecOf(reflect.TypeFor[T]())
	if err != nil {
		return err
	}
	if string(text) == "null" { // as encoding/json wants it
		return nil
	}
	return c.Unmarshal(text, v)
}

// ReadsItself reports whether a generated struct, given by pointer, reads a payload
// without the help of a codec, and reads it.
func ReadsItself(payload []byte, v any) bool {
	g, ok := v.(generatedReader)
	if !ok {
		return false
	}
	r := newReader(payload, defaultMaxDepth)
	g.ReadPayload(r)
	return r.OK() && r.depth == 0
}

// WritesItself reports whether a generated struct writes a payload without the
// help of a codec.
func WritesItself(v any) bool {
	g, ok := v.(Generated)
	if !ok {
		return false
	}
	w := Writer{levels: defaultMaxDepth}
	g.WritePayload(&w)
	return !w.failed
}
