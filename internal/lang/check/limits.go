package check

import (
	"fmt"
	"math/big"
	"regexp/syntax"
	"slices"
	"strconv"

	"github.com/parley-agents/parley/internal/lang/diag"
	tree "github.com/parley-agents/parley/internal/lang/syntax"
	"github.com/parley-agents/parley/spec"
)

// constraintNames are all that can stand in parentheses behind a type.
var constraintNames = []string{"minLength", "maxLength", "pattern", "format", "min", "max", "above", "below", "multipleOf", "minItems", "maxItems"}

// appliesTo says what a constraint is for.
func appliesTo(constraint string) string {
	switch constraint {
	case "minLength", "maxLength", "pattern", "format":
		return "String"
	case "minItems", "maxItems":
		return "List and Set"
	}
	return "numbers"
}

// limited narrows a type by the constraints behind it.
func (s *scope) limited(t *tree.Named, typ spec.Type) spec.Type {
	if len(t.Args) == 0 {
		return typ
	}
	n := &narrowing{scope: s, typ: typ}
	switch base := typ.(type) {
	case spec.Kind:
		n.scalar = &spec.Scalar{Kind: base}
	case *spec.Scalar:
		copied := *base
		n.scalar = &copied
	case *spec.List:
		copied := *base
		n.list = &copied
	}
	for _, a := range t.Args {
		n.arg(a)
	}
	if n.failed {
		return wrong
	}
	switch {
	case n.list != nil:
		n.check(t.Span, &n.list.Limits)
		typ = n.list
	case n.scalar != nil:
		n.check(t.Span, &n.scalar.Limits)
		typ = n.scalar
	}
	if n.failed {
		return wrong
	}
	return typ
}

// A narrowing is a type to which constraints are added.
type narrowing struct {
	scope  *scope
	typ    spec.Type
	scalar *spec.Scalar
	list   *spec.List
	failed bool
	seen   []string
}

func (n *narrowing) report(code string, at tree.Span, hint, format string, args ...any) {
	n.failed = true
	n.scope.m.report(code, at, hint, format, args...)
}

func (n *narrowing) arg(a tree.Arg) {
	name := a.Name.Text
	if name == "" {
		n.report("PAR1013", a.Value.Span, "such as `min: 1` or `minLength: 1`", "a constraint needs a name")
		return
	}
	known := false
	for _, c := range constraintNames {
		known = known || c == name
	}
	if !known {
		hint := diag.DidYouMean(name, constraintNames)
		if other, ok := otherConstraints[name]; ok {
			hint = "did you mean '" + other + "'?"
		}
		n.report("PAR1011", a.Name.Span, hint, "unknown constraint '%s'", name)
		return
	}
	if slices.Contains(n.seen, name) {
		n.report("PAR1003", a.Name.Span, "", "duplicate constraint '%s'", name)
		return
	}
	n.seen = append(n.seen, name)
	if !n.applies(name) {
		n.report("PAR1007", a.Name.Span, "it applies to "+appliesTo(name), "constraint '%s' does not apply to %s", name, describe(n.typ))
		return
	}
	n.set(name, a.Value)
}

var otherConstraints = map[string]string{
	"ge": "min", "le": "max", "gt": "above", "lt": "below", "minimum": "min", "maximum": "max", "exclusiveMinimum": "above",
	"exclusiveMaximum": "below", "regex": "pattern", "min_length": "minLength", "max_length": "maxLength",
	"min_items": "minItems", "max_items": "maxItems", "multiple_of": "multipleOf",
}

func (n *narrowing) applies(name string) bool {
	switch appliesTo(name) {
	case "String":
		return n.scalar != nil && (n.scalar.Kind == spec.String || n.scalar.Kind == spec.URI)
	case "numbers":
		return n.scalar != nil && isNumber(n.scalar.Kind)
	}
	return n.list != nil
}

func (n *narrowing) set(name string, v *tree.Literal) {
	switch name {
	case "pattern", "format":
		if v.Kind != tree.String && v.Kind != tree.Text {
			n.report("PAR1013", v.Span, "", "'%s' must be a string", name)
			return
		}
		if name == "format" {
			n.scalar.Format = v.Value
			return
		}
		if _, err := syntax.Parse(v.Value, syntax.Perl); err != nil {
			n.report("PAR1013", v.Span, "patterns are RE2 expressions", "pattern %s is malformed: %v", tree.Quote(v.Value), err)
			return
		}
		n.scalar.Limits.Pattern = v.Value
	case "minLength", "maxLength", "minItems", "maxItems":
		count, err := strconv.ParseInt(v.Raw, 10, 32)
		if v.Kind != tree.Number || err != nil || count < 0 {
			n.report("PAR1013", v.Span, "", "'%s' must be a whole number from 0 to 2147483647", name)
			return
		}
		c := int(count)
		switch name {
		case "minLength":
			n.scalar.Limits.MinLength = &c
		case "maxLength":
			n.scalar.Limits.MaxLength = &c
		case "minItems":
			n.list.Limits.MinItems = &c
		default:
			n.list.Limits.MaxItems = &c
		}
	default:
		n.number(name, v)
	}
}

func (n *narrowing) number(name string, v *tree.Literal) {
	if v.Kind == tree.Duration && n.scalar.Kind == spec.Duration {
		d, ok := durationOf(v)
		if !ok {
			n.report("PAR0008", v.Span, "", "this duration is too long")
			return
		}
		v = &tree.Literal{Span: v.Span, Kind: tree.Number, Raw: secondsOf(d)}
	}
	r, ok := ratOf(v.Raw)
	if v.Kind != tree.Number || !ok {
		n.report("PAR1013", v.Span, "", "'%s' must be a number", name)
		return
	}
	if isInteger(n.scalar.Kind) && !r.IsInt() {
		n.report("PAR1013", v.Span, "", "'%s' must be a whole number, as the type is %s", name, kindNames[n.scalar.Kind])
		return
	}
	if name == "multipleOf" && r.Sign() <= 0 {
		n.report("PAR1013", v.Span, "", "'multipleOf' must be greater than 0")
		return
	}
	text, _ := jsonOf(v)
	l := &n.scalar.Limits
	switch name {
	case "min":
		l.Min = text
	case "max":
		l.Max = text
	case "above":
		l.Above = text
	case "below":
		l.Below = text
	default:
		l.MultipleOf = text
	}
}

// kindRanges are what integers hold.
var kindRanges = map[spec.Kind][2]string{
	spec.Int: {"-9223372036854775808", "9223372036854775807"}, spec.Int32: {"-2147483648", "2147483647"},
	spec.UInt32: {"0", "4294967295"}, spec.UInt64: {"0", "18446744073709551615"},
}

// check asks that the constraints leave something.
func (n *narrowing) check(at tree.Span, l *spec.Limits) {
	switch {
	case l.MinLength != nil && l.MaxLength != nil && *l.MinLength > *l.MaxLength:
		n.report("PAR1006", at, "", "no value satisfies minLength %d, maxLength %d", *l.MinLength, *l.MaxLength)
	case l.MinItems != nil && l.MaxItems != nil && *l.MinItems > *l.MaxItems:
		n.report("PAR1006", at, "", "no value satisfies minItems %d, maxItems %d", *l.MinItems, *l.MaxItems)
	case n.scalar != nil && isNumber(n.scalar.Kind):
		if said := empty(n.scalar.Kind, l); said != "" {
			n.report("PAR1006", at, "", "no value satisfies %s", said)
		}
	}
}

// empty names the limits of a number that leave nothing, "" if they do not.
func empty(kind spec.Kind, l *spec.Limits) string {
	var low, high bound
	kindRange, ranged := kindRanges[kind]
	if ranged {
		low.raise(kindRange[0], kindNames[kind], false)
		high.lower(kindRange[1], kindNames[kind], false)
	}
	low.raise(string(l.Min), "min "+string(l.Min), false)
	low.raise(string(l.Above), "above "+string(l.Above), true)
	high.lower(string(l.Max), "max "+string(l.Max), false)
	high.lower(string(l.Below), "below "+string(l.Below), true)
	if low.value == nil || high.value == nil {
		return ""
	}
	least, greatest := low.value, high.value
	step := new(big.Rat)
	if l.MultipleOf != "" {
		step, _ = ratOf(string(l.MultipleOf))
	} else if isInteger(kind) {
		step.SetInt64(1)
	}
	said := low.said + ", " + high.said
	if step.Sign() > 0 {
		first := new(big.Rat).SetInt(ceil(new(big.Rat).Quo(least, step)))
		first.Mul(first, step)
		if low.open && first.Cmp(least) == 0 {
			first.Add(first, step)
		}
		if l.MultipleOf != "" {
			said += ", multipleOf " + string(l.MultipleOf)
		}
		if c := first.Cmp(greatest); c > 0 || c == 0 && high.open {
			return said
		}
		return ""
	}
	if c := least.Cmp(greatest); c > 0 || c == 0 && (low.open || high.open) {
		return said
	}
	return ""
}

// A bound is one end of what numbers are allowed.
type bound struct {
	value *big.Rat
	open  bool // the value itself is not allowed
	said  string
}

func (b *bound) raise(text, said string, open bool) { b.move(text, said, open, 1) }

func (b *bound) lower(text, said string, open bool) { b.move(text, said, open, -1) }

func (b *bound) move(text, said string, open bool, direction int) {
	r, ok := ratOf(text)
	if !ok {
		return
	}
	if b.value != nil {
		if c := r.Cmp(b.value) * direction; c < 0 || c == 0 && !open {
			return
		}
	}
	b.value, b.open, b.said = r, open, said
}

func ceil(r *big.Rat) *big.Int {
	q, m := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	if m.Sign() != 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

func ratOf(text string) (*big.Rat, bool) {
	if text == "" {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// unfit names the first limit that a number does not keep, "" if it keeps all.
func unfit(r *big.Rat, l *spec.Limits) string {
	for _, c := range []struct {
		name  string
		limit spec.JSON
		bad   func(cmp int) bool
	}{
		{"min", l.Min, func(c int) bool { return c < 0 }}, {"max", l.Max, func(c int) bool { return c > 0 }},
		{"above", l.Above, func(c int) bool { return c <= 0 }}, {"below", l.Below, func(c int) bool { return c >= 0 }},
	} {
		if limit, ok := ratOf(string(c.limit)); ok && c.bad(r.Cmp(limit)) {
			return fmt.Sprintf("%s %s", c.name, c.limit)
		}
	}
	if step, ok := ratOf(string(l.MultipleOf)); ok && !new(big.Rat).Quo(r, step).IsInt() {
		return "multipleOf " + string(l.MultipleOf)
	}
	return ""
}

// withoutLimits returns the type for a schema that does not show constraints.
func withoutLimits(t spec.Type) spec.Type {
	switch t := t.(type) {
	case *spec.Scalar:
		if t.Format == "" {
			return t.Kind
		}
		return &spec.Scalar{Kind: t.Kind, Format: t.Format}
	case *spec.List:
		return &spec.List{Item: withoutLimits(t.Item), Set: t.Set}
	case *spec.Map:
		return &spec.Map{Key: withoutLimits(t.Key), Value: withoutLimits(t.Value)}
	}
	return t
}
