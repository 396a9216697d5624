package uagents

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
)

// This file holds what a Python agent takes beyond what a model says: the
// coercions of pydantic v1. They run before the strict reading, which then sees
// a value of the right kind.

// coerce turns a value into one of the wanted kind where Python would.
func coerce(v pyjson.Value, kind spec.Kind) (pyjson.Value, error) {
	switch kind {
	case spec.String, spec.Bytes:
		return coerceText(v), nil
	case spec.URI:
		v = coerceText(v)
		v.Text = strings.TrimFunc(v.Text, unicode.IsSpace)
		return v, nil
	case spec.Int, spec.Int32, spec.UInt32, spec.UInt64:
		return coerceInt(v)
	case spec.Float, spec.Float32:
		return coerceFloat(v)
	case spec.Bool:
		return coerceBool(v)
	case spec.Decimal:
		return coerceDecimal(v), nil
	case spec.Duration:
		return coerceDuration(v)
	case spec.DateTime, spec.Date, spec.Time:
		return coerceTime(v, kind)
	case spec.UUID, spec.UUID4:
		return coerceUUID(v), nil
	}
	return v, nil
}

func coerceText(v pyjson.Value) pyjson.Value {
	switch v.Kind {
	case pyjson.Bool:
		return pyjson.Of(map[bool]string{true: "True", false: "False"}[v.Bool])
	case pyjson.Int:
		return pyjson.Of(v.Text)
	case pyjson.Float:
		return pyjson.Of(pythonFloat(v.Num))
	}
	return v
}

// pythonFloat is str(f) in Python, which spells the infinities in its own way.
func pythonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	return string(pyjson.AppendFloat(nil, f))
}

func coerceInt(v pyjson.Value) (pyjson.Value, error) {
	switch v.Kind {
	case pyjson.Bool:
		return pyjson.OfInt(map[bool]string{true: "1", false: "0"}[v.Bool]), nil
	case pyjson.Float:
		if math.IsNaN(v.Num) || math.IsInf(v.Num, 0) {
			return v, refuse("expected an integer")
		}
		n, _ := big.NewFloat(v.Num).Int(nil)
		return pyjson.OfInt(n.String()), nil
	case pyjson.String:
		text, ok := pythonDigits(v.Text)
		n, valid := new(big.Int).SetString(text, 10)
		if !ok || !valid || strings.Contains(text, ".") {
			return v, refuse("expected an integer, found %s", brief(v))
		}
		return pyjson.OfInt(n.String()), nil
	}
	return v, nil
}

const maxPythonDigits = 4300

// pythonDigits prepares text for a number as Python's int and float do: blanks
// around it go, single underscores between digits go, digits of all scripts count.
func pythonDigits(text string) (string, bool) {
	text = strings.TrimFunc(text, unicode.IsSpace)
	if len(text) > 4*maxPythonDigits {
		return "", false
	}
	var b strings.Builder
	previousDigit, afterUnderscore := false, false
	for _, r := range text {
		digit, isDigit := decimalDigit(r)
		switch {
		case r == '_':
			if !previousDigit {
				return "", false
			}
			afterUnderscore, previousDigit = true, false
			continue
		case isDigit:
			b.WriteByte('0' + digit)
		case afterUnderscore:
			return "", false
		default:
			b.WriteRune(r)
		}
		previousDigit, afterUnderscore = isDigit, false
	}
	return b.String(), !afterUnderscore && b.Len() <= maxPythonDigits
}

// asciiDigits writes the digits of all scripts as 0 to 9.
func asciiDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if digit, ok := decimalDigit(r); ok {
			return '0' + rune(digit)
		}
		return r
	}, text)
}

// decimalDigit relies on every script's digits standing in a run from 0 to 9.
func decimalDigit(r rune) (byte, bool) {
	if r < 0x80 {
		return byte(r - '0'), r >= '0' && r <= '9'
	}
	if !unicode.Is(unicode.Nd, r) {
		return 0, false
	}
	zero := r
	for unicode.Is(unicode.Nd, zero-1) && r-zero < 9 {
		zero--
	}
	return byte(r - zero), true
}

func coerceFloat(v pyjson.Value) (pyjson.Value, error) {
	switch v.Kind {
	case pyjson.Bool:
		return pyjson.OfFloat(map[bool]float64{true: 1, false: 0}[v.Bool]), nil
	case pyjson.String:
		f, ok := parsePythonFloat(v.Text)
		if !ok {
			return v, refuse("expected a number, found %s", brief(v))
		}
		return pyjson.OfFloat(f), nil
	}
	return v, nil
}

var pythonFloatForm = regexp.MustCompile(`^[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|(?i:inf|infinity|nan))$`)

func parsePythonFloat(text string) (float64, bool) {
	text, ok := pythonDigits(text)
	if !ok || !pythonFloatForm.MatchString(text) {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, strings.HasSuffix(strings.ToLower(text), "nan")
	}
	return f, true
}

func coerceBool(v pyjson.Value) (pyjson.Value, error) {
	text := strings.ToLower(v.Text)
	if v.Kind == pyjson.Float {
		text = strconv.FormatFloat(v.Num, 'g', -1, 64)
	}
	switch v.Kind {
	case pyjson.Bool:
		return v, nil
	case pyjson.Int, pyjson.Float:
		if text == "1" || text == "0" || text == "-0" {
			return pyjson.OfBool(text == "1"), nil
		}
	case pyjson.String:
		switch text {
		case "1", "on", "t", "true", "y", "yes":
			return pyjson.OfBool(true), nil
		case "0", "off", "f", "false", "n", "no":
			return pyjson.OfBool(false), nil
		}
	}
	return v, refuse("expected a boolean")
}

func coerceDecimal(v pyjson.Value) pyjson.Value {
	if v.Kind != pyjson.String {
		return v
	}
	if text, ok := pythonDigits(strings.ReplaceAll(v.Text, "_", "")); ok { // Decimal does not mind where they stand
		return pyjson.Of(text)
	}
	return v
}

func coerceUUID(v pyjson.Value) pyjson.Value {
	if v.Kind != pyjson.String {
		return v
	}
	hex := strings.ReplaceAll(strings.ReplaceAll(v.Text, "urn:", ""), "uuid:", "")
	hex = strings.ReplaceAll(strings.Trim(hex, "{}"), "-", "")
	if len(hex) != 32 {
		return v
	}
	return pyjson.Of(hex[:8] + "-" + hex[8:12] + "-" + hex[12:16] + "-" + hex[16:20] + "-" + hex[20:])
}

const (
	millisecondsFrom = 2e10 // a larger Unix time is taken as milliseconds, or less
	endOfTime        = 3e20
)

// coerceTime turns numbers and numeric text into times; other text stays, with
// the shorter spellings that Python takes made complete.
func coerceTime(v pyjson.Value, kind spec.Kind) (pyjson.Value, error) {
	seconds, numeric := 0.0, true
	switch v.Kind {
	case pyjson.Bool, pyjson.Int, pyjson.Float:
		f, err := coerceFloat(v)
		if err == nil {
			f, err = float(f)
		}
		if err != nil {
			return v, err
		}
		seconds = f.Num
	case pyjson.String:
		seconds, numeric = parsePythonFloat(v.Text)
	default:
		return v, expected("a time", v)
	}
	if !numeric {
		return completeTime(v, kind), nil
	}
	if math.IsNaN(seconds) {
		return v, refuse("expected a time")
	}
	if kind == spec.Time {
		return timeOfDay(seconds)
	}
	t, err := unixTime(seconds)
	if err != nil {
		return v, err
	}
	if kind == spec.Date {
		return pyjson.Of(t.Format(time.DateOnly)), nil
	}
	return pyjson.Of(formatTime(t, math.Abs(seconds) <= endOfTime)), nil
}

func unixTime(seconds float64) (time.Time, error) {
	switch {
	case seconds > endOfTime:
		return time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC), nil
	case seconds < -endOfTime:
		return time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), nil
	}
	for math.Abs(seconds) > millisecondsFrom {
		seconds /= 1000
	}
	t := time.UnixMicro(microseconds(seconds)).UTC()
	if t.Year() < 1 || t.Year() > 9999 {
		return t, refuse("expected a time between the years 1 and 9999")
	}
	return t, nil
}

// microseconds rounds as Python's timedelta does: whole seconds apart from the
// fraction, half to even.
func microseconds(seconds float64) int64 {
	whole, fraction := math.Modf(seconds)
	return int64(whole)*1e6 + int64(math.RoundToEven(fraction*1e6))
}

func timeOfDay(seconds float64) (pyjson.Value, error) {
	if seconds >= 86400 || seconds < 0 {
		return pyjson.Value{}, refuse("expected a time of day")
	}
	t := time.UnixMicro(microseconds(seconds)).UTC()
	return pyjson.Of(formatTime(t, false)[len("1970-01-01T"):]), nil
}

var shortTime = regexp.MustCompile(`^(?:(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ]|$))?(?:(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6})\d{0,6})?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?\n?$`)

// completeTime writes "2026-1-2 3:04+0530" as "2026-01-02T03:04:00+05:30". What
// is no time stays as it is, to be refused.
func completeTime(v pyjson.Value, kind spec.Kind) pyjson.Value {
	m := shortTime.FindStringSubmatch(asciiDigits(v.Text))
	if m == nil || (m[1] == "") != (kind == spec.Time) || (m[4] == "") != (kind == spec.Date) {
		return v
	}
	two := func(s string) string { return strings.Repeat("0", max(0, 2-len(s))) + s }
	var parts []string
	if m[1] != "" {
		parts = append(parts, m[1]+"-"+two(m[2])+"-"+two(m[3]))
	}
	if m[4] != "" {
		clock := two(m[4]) + ":" + two(m[5]) + ":" + two(m[6])
		if m[7] != "" {
			clock += "." + m[7]
		}
		parts = append(parts, clock+completeOffset(m[8]))
	}
	return pyjson.Of(strings.Join(parts, "T"))
}

func completeOffset(offset string) string {
	switch {
	case offset == "" || offset == "Z" || strings.Contains(offset, ":"):
		return offset
	case len(offset) == 3:
		return offset + ":00"
	}
	return offset[:3] + ":" + offset[3:]
}

var (
	clockDuration = regexp.MustCompile(`^(?:(-?\d+) (?:days?, )?)?(?:(?:(-?\d+):(\d+):(\d+)|(?:(-?\d+):)?(-?\d+))(?:\.(\d{1,6})\d{0,6})?)\n?$`)
	isoDuration   = regexp.MustCompile(`^([-+]?)P(?:(\d+(?:\.\d+)?)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?\n?$`)
)

const maxDurationDays = 999999999

// coerceDuration reads "1 day, 2:03:04.5", "P1DT2H" and numbers as seconds.
func coerceDuration(v pyjson.Value) (pyjson.Value, error) {
	text := v.Text
	switch v.Kind {
	case pyjson.Bool, pyjson.Int, pyjson.Float:
		f, err := coerceFloat(v)
		if err == nil {
			f, err = float(f)
		}
		if err != nil {
			return v, err
		}
		text = strconv.FormatFloat(f.Num, 'f', 6, 64)
	case pyjson.String:
		text = asciiDigits(text)
	default:
		return v, expected("a duration", v)
	}
	seconds, ok := parseDuration(text)
	if !ok || math.Abs(seconds) >= maxDurationDays*86400 {
		return v, refuse("expected a duration")
	}
	return pyjson.OfFloat(seconds), nil
}

func parseDuration(text string) (float64, bool) {
	number := func(s string) float64 {
		f, _ := strconv.ParseFloat(s, 64)
		return f
	}
	if m := isoDuration.FindStringSubmatch(text); m != nil {
		total := number(m[2])*86400 + number(m[3])*3600 + number(m[4])*60 + number(m[5])
		if m[1] == "-" {
			total = -total
		}
		return roundToMicroseconds(total), true
	}
	m := clockDuration.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	minutes, seconds := m[3]+m[5], m[4]+m[6]
	fraction := number("0." + m[7] + "0")
	if strings.HasPrefix(seconds, "-") {
		fraction = -fraction
	}
	total := number(m[1])*86400 + number(m[2])*3600 + number(minutes)*60 + number(seconds) + fraction
	return roundToMicroseconds(total), true
}

func roundToMicroseconds(seconds float64) float64 {
	if math.Abs(seconds) > 9e12 {
		return seconds
	}
	return float64(microseconds(seconds)) / 1e6
}

// A pair is a key with its value, before the key is known to be text.
type pair struct{ key, value pyjson.Value }

// pairsOf is Python's dict(v): a list of pairs makes an object too, and so does
// one of two-letter strings or of objects with two keys.
func pairsOf(v pyjson.Value) (pairs []pair, ok bool) {
	switch {
	case v.Kind == pyjson.Object:
		for _, m := range v.Members {
			pairs = append(pairs, pair{pyjson.Of(m.Key), m.Value})
		}
		return pairs, true
	case v.Kind == pyjson.String && v.Text == "":
		return nil, true
	case v.Kind != pyjson.Array:
		return nil, false
	}
	for _, item := range v.Items {
		p, ok := pairOf(item)
		if !ok || p.key.Kind == pyjson.Array || p.key.Kind == pyjson.Object {
			return nil, false
		}
		pairs = append(pairs, p)
	}
	return pairs, true
}

func pairOf(item pyjson.Value) (p pair, ok bool) {
	switch {
	case item.Kind == pyjson.Array && len(item.Items) == 2:
		return pair{item.Items[0], item.Items[1]}, true
	case item.Kind == pyjson.Object && len(item.Members) == 2:
		return pair{pyjson.Of(item.Members[0].Key), pyjson.Of(item.Members[1].Key)}, true
	case item.Kind == pyjson.String && utf8.RuneCountInString(item.Text) == 2:
		_, size := utf8.DecodeRuneInString(item.Text)
		return pair{pyjson.Of(item.Text[:size]), pyjson.Of(item.Text[size:])}, true
	}
	return p, false
}

// asObject makes an object of what a record takes for one: the pairs whose keys
// are text. What does not stays as it is.
func asObject(v pyjson.Value) pyjson.Value {
	pairs, ok := pairsOf(v)
	if v.Kind == pyjson.Object || !ok {
		return v
	}
	var out pyjson.Members
	for _, p := range pairs {
		if p.key.Kind != pyjson.String {
			return v
		}
		out.Set(p.key.Text, p.value)
	}
	return out.Object()
}

// equalText is the same for values that are equal in Python, where 1, 1.0 and
// True are.
func equalText(v pyjson.Value) string {
	switch {
	case v.Kind == pyjson.Bool:
		v, _ = coerceInt(v)
	case v.Kind == pyjson.Float && v.Num == math.Trunc(v.Num) && !math.IsInf(v.Num, 0):
		n, _ := big.NewFloat(v.Num).Int(nil)
		return n.String()
	}
	return sortedText(v)
}
