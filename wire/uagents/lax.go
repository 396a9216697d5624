package uagents

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
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
		v.Text = strings.TrimFunc(v.Text, isPythonSpace)
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
	text = strings.TrimFunc(text, spaceAround(text))
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

// spaceAround tells what int and float skip around a number. They look closer
// at text that is not ASCII.
func spaceAround(text string) func(rune) bool {
	if strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return isPythonSpace
	}
	return func(r rune) bool { return strings.ContainsRune("\t\n\v\f\r ", r) }
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
	if strings.HasSuffix(strings.ToLower(text), "nan") { // ParseFloat knows it without a sign only
		return math.NaN(), true
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil || math.IsInf(f, 0)
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
	text := strings.TrimFunc(v.Text, isPythonSpace)
	if text, ok := pythonDigits(strings.ReplaceAll(text, "_", "")); ok { // Decimal does not mind where they stand
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
