package uagents

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
)

func isInteger(k spec.Kind) bool {
	return k == spec.Int || k == spec.Int32 || k == spec.UInt32 || k == spec.UInt64
}

// scalar reads a value of a scalar type and checks its limits.
func (d *decoder) scalar(v pyjson.Value, s spec.Scalar) (pyjson.Value, error) {
	if d.lax && s.Kind != spec.Any && v.Kind != pyjson.Null {
		var err error
		if v, err = coerce(v, s.Kind); err != nil {
			return v, err
		}
	}
	out, err := d.kind(v, s)
	if err != nil {
		return out, err
	}
	return out, d.limits(out, s)
}

func (d *decoder) kind(v pyjson.Value, s spec.Scalar) (pyjson.Value, error) {
	switch s.Kind {
	case spec.Any:
		return v, nil
	case spec.Null:
		return v, want(v, pyjson.Null)
	case spec.Bool:
		return v, want(v, pyjson.Bool)
	case spec.String, spec.Bytes:
		return v, want(v, pyjson.String)
	case spec.Int, spec.Int32, spec.UInt32, spec.UInt64:
		return v, d.integer(v, s.Kind)
	case spec.Float, spec.Float32, spec.Duration:
		return float(v)
	case spec.Decimal:
		return decimal(v)
	}
	if err := want(v, pyjson.String); err != nil {
		return v, err
	}
	switch s.Kind {
	case spec.DateTime, spec.Date, spec.Time:
		text, err := canonicalTime(v.Text, s.Kind)
		return pyjson.Of(text), err
	case spec.UUID, spec.UUID4:
		text, err := canonicalUUID(v.Text, s.Kind == spec.UUID4)
		return pyjson.Of(text), err
	default: // spec.URI
		text, err := canonicalURL(v.Text, s.Limits)
		return pyjson.Of(text), err
	}
}

func want(v pyjson.Value, kind pyjson.Kind) error {
	if v.Kind != kind {
		return expected(kind.String(), v)
	}
	return nil
}

// integer refuses numbers beyond the type. Python's integers have no end, so a
// lax reader takes them all; filling a Go value still checks.
func (d *decoder) integer(v pyjson.Value, kind spec.Kind) error {
	err := want(v, pyjson.Int)
	if err != nil || d.lax {
		return err
	}
	switch kind {
	case spec.Int:
		_, err = strconv.ParseInt(v.Text, 10, 64)
	case spec.Int32:
		_, err = strconv.ParseInt(v.Text, 10, 32)
	case spec.UInt32:
		_, err = strconv.ParseUint(v.Text, 10, 32)
	case spec.UInt64:
		_, err = strconv.ParseUint(v.Text, 10, 64)
	}
	if err != nil {
		return refuse("%s is out of the range of %s", brief(v), kind)
	}
	return nil
}

func float(v pyjson.Value) (pyjson.Value, error) {
	switch v.Kind {
	case pyjson.Float:
		return pyjson.OfFloat(v.Num), nil
	case pyjson.Int:
		f, err := strconv.ParseFloat(v.Text, 64)
		if err != nil {
			return v, refuse("%s is out of the range of a float", brief(v))
		}
		return pyjson.OfFloat(f), nil
	}
	return v, expected("a number", v)
}

// decimal keeps the digits in Text and the value that Python would write in
// the rest: an integer where the exponent allows it, else a float.
func decimal(v pyjson.Value) (pyjson.Value, error) {
	text := v.Text
	switch v.Kind {
	case pyjson.Int, pyjson.String:
	case pyjson.Float:
		text = pythonFloat(v.Num)
	default:
		return v, expected("a decimal number", v)
	}
	digits, exponent, ok := splitDecimal(text)
	if !ok || exponent > 6144 || exponent < -6176 {
		return v, refuse("expected a decimal number")
	}
	if exponent >= 0 {
		n, ok := new(big.Int).SetString(digits+strings.Repeat("0", exponent), 10)
		if !ok {
			return v, refuse("expected a decimal number")
		}
		return pyjson.OfInt(n.String()), nil
	}
	f, err := strconv.ParseFloat(digits+"e"+strconv.Itoa(exponent), 64)
	if err != nil {
		return v, refuse("%s is out of the range of a float", pyjson.Brief(text))
	}
	return pyjson.Value{Kind: pyjson.Float, Num: f, Text: text}, nil
}

// splitDecimal reads "1.10" as the digits 110 and the exponent -2.
func splitDecimal(text string) (digits string, exponent int, ok bool) {
	mantissa, exp, hasExp := strings.Cut(strings.ToLower(text), "e")
	if hasExp {
		n, err := strconv.Atoi(exp)
		if err != nil {
			return "", 0, false
		}
		exponent = n
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimPrefix(whole, "+") + fraction
	unsigned := strings.TrimPrefix(digits, "-")
	if unsigned == "" || strings.Trim(unsigned, "0123456789") != "" || len(unsigned) > 6144 {
		return "", 0, false
	}
	return digits, exponent - len(fraction), true
}

func (d *decoder) limits(v pyjson.Value, s spec.Scalar) error {
	l := s.Limits
	if l == (spec.Limits{}) {
		return nil
	}
	if v.Kind == pyjson.String {
		return d.stringLimits(v.Text, l)
	}
	n, ok := bigOf(v)
	if !ok && v.Kind == pyjson.Float {
		return refuse("NaN is within no limits")
	} else if !ok {
		return nil
	}
	for _, bound := range []struct {
		limit spec.JSON
		words string
		fits  func(cmp int) bool
	}{
		{l.Min, "at least", func(c int) bool { return c >= 0 }},
		{l.Max, "at most", func(c int) bool { return c <= 0 }},
		{l.Above, "more than", func(c int) bool { return c > 0 }},
		{l.Below, "less than", func(c int) bool { return c < 0 }},
	} {
		limit, ok := new(big.Float).SetString(string(bound.limit))
		if ok && !bound.fits(n.Cmp(limit)) {
			return refuse("expected %s %s, found %s", bound.words, bound.limit, brief(v))
		}
	}
	return checkMultiple(n, l.MultipleOf)
}

// checkMultiple allows for the rounding of floats as Python agents do.
func checkMultiple(n *big.Float, of spec.JSON) error {
	if of == "" {
		return nil
	}
	step, err := strconv.ParseFloat(string(of), 64)
	value, _ := n.Float64()
	if err != nil || step == 0 {
		return nil
	}
	_, rest := math.Modf(math.Abs(value / step))
	if rest > 1e-8 && rest < 1-1e-8 {
		return refuse("expected a multiple of %s", of)
	}
	return nil
}

func (d *decoder) stringLimits(text string, l spec.Limits) error {
	n := utf8.RuneCountInString(text)
	switch {
	case l.MinLength != nil && n < *l.MinLength:
		return refuse("expected at least %d characters, found %d", *l.MinLength, n)
	case l.MaxLength != nil && n > *l.MaxLength:
		return refuse("expected at most %d characters, found %d", *l.MaxLength, n)
	case l.Pattern != "" && !d.plan.patterns[l.Pattern].MatchString(text):
		return refuse("expected text like %s", l.Pattern)
	}
	return nil
}

// bigOf returns a number exactly; ok is false for other values and for NaN.
func bigOf(v pyjson.Value) (n *big.Float, ok bool) {
	switch {
	case v.Kind == pyjson.Int:
		// Enough bits for every digit, or large numbers would compare equal.
		return new(big.Float).SetPrec(uint(64 + 4*len(v.Text))).SetString(v.Text)
	case v.Kind == pyjson.Float && !math.IsNaN(v.Num):
		return new(big.Float).SetFloat64(v.Num), true
	}
	return nil, false
}
