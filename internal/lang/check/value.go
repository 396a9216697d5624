package check

import (
	"cmp"
	"encoding/base64"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/internal/lang/syntax"
	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
)

// jsonOf writes a literal as JSON in Python's spelling. Words other than true,
// false and null are text, durations are seconds.
func jsonOf(l *syntax.Literal) (spec.JSON, bool) {
	v, ok := valueOf(l)
	return spec.JSON(pyjson.Append(nil, v, pyjson.Spaced)), ok
}

func quoteJSON(s string) spec.JSON {
	return spec.JSON(pyjson.Append(nil, pyjson.Of(s), pyjson.Spaced))
}

func valueOf(l *syntax.Literal) (pyjson.Value, bool) {
	switch l.Kind {
	case syntax.String, syntax.Text:
		return pyjson.Of(l.Value), true
	case syntax.Number:
		v, err := pyjson.Parse([]byte(l.Raw), nil)
		return v, err == nil
	case syntax.Duration:
		d, ok := durationOf(l)
		if !ok {
			return pyjson.Value{}, false
		}
		v, err := pyjson.Parse([]byte(secondsOf(d)), nil)
		return v, err == nil
	case syntax.List:
		list := pyjson.Value{Kind: pyjson.Array}
		for _, item := range l.Items {
			v, ok := valueOf(item)
			if !ok {
				return v, false
			}
			list.Items = append(list.Items, v)
		}
		return list, true
	case syntax.Object:
		object := pyjson.OfMembers()
		for _, m := range l.Members {
			v, ok := valueOf(m.Value)
			if !ok {
				return v, false
			}
			object.Set(m.Key.Text, v)
		}
		return object, true
	}
	switch l.Value {
	case "true", "false":
		return pyjson.OfBool(l.Value == "true"), true
	case "null":
		return pyjson.Value{}, true
	}
	return pyjson.Of(l.Value), true
}

func durationOf(l *syntax.Literal) (time.Duration, bool) {
	digits := strings.TrimRight(l.Raw, "mshd")
	n, err := strconv.ParseInt(digits, 10, 64)
	unit := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}[l.Raw[len(digits):]]
	if err != nil || unit == 0 || n > int64(1<<63-1)/int64(unit) {
		return 0, false
	}
	return time.Duration(n) * unit, true
}

// secondsOf writes a duration as a number of seconds.
func secondsOf(d time.Duration) string {
	if d%time.Second == 0 {
		return strconv.FormatInt(int64(d/time.Second), 10)
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}

// literalText is how a literal is shown in a message.
func literalText(l *syntax.Literal) string {
	s := syntax.LiteralText(l)
	if r := []rune(strings.ReplaceAll(s, "\n", `\n`)); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

// value fits a literal to a type and returns it as it stands on the wire, or
// what is wrong with it.
func (s *scope) value(l *syntax.Literal, t spec.Type, nullable bool) (spec.JSON, string) {
	v, problem := s.fit(l, t, nullable)
	if problem != "" {
		return "", problem
	}
	return spec.JSON(pyjson.Append(nil, v, pyjson.Spaced)), ""
}

func isNull(l *syntax.Literal) bool { return l.Kind == syntax.Word && l.Value == "null" }

func (s *scope) fit(l *syntax.Literal, t spec.Type, nullable bool) (pyjson.Value, string) {
	if nullable && isNull(l) || t == wrong || s.m.c.endless[t] {
		return pyjson.Value{}, ""
	}
	v, ok := valueOf(l)
	if !ok {
		return v, "is too large"
	}
	not := "is not " + an(describe(t))
	switch t := t.(type) {
	case *spec.Alias:
		if s.m.c.depth++; s.m.c.depth > maxAliases {
			s.m.c.depth--
			return v, not
		}
		v, problem := s.fit(l, t.Type, nullable)
		s.m.c.depth--
		return v, problem
	case *spec.Enum:
		return fitEnum(l, v, t)
	case *spec.Literal:
		for _, want := range t.Values {
			if spec.JSON(pyjson.Append(nil, v, pyjson.Spaced)) == want {
				return v, ""
			}
		}
		if len(t.Values) == 1 {
			return v, "is not " + string(t.Values[0])
		}
		return v, "is none of the literals"
	case *spec.List:
		return s.fitList(l, t, not)
	case *spec.Tuple:
		if l.Kind != syntax.List || len(l.Items) != len(t.Items) {
			return v, not
		}
		list := pyjson.Value{Kind: pyjson.Array}
		for i, item := range l.Items {
			v, problem := s.fit(item, t.Items[i], false)
			if problem != "" {
				return v, within(item, problem)
			}
			list.Items = append(list.Items, v)
		}
		return list, ""
	case *spec.Map:
		return s.fitMap(l, t, not)
	case *spec.Record:
		return s.fitRecord(l, t, not)
	case *spec.Union:
		for _, variant := range t.Variants {
			if v, problem := s.fit(l, variant, false); problem == "" {
				return v, ""
			}
		}
		return v, "fits no variant of the union"
	case *spec.Custom:
		return v, "cannot be given for the custom type '" + t.Name + "'"
	}
	scalar, ok := spec.AsScalar(t)
	if !ok {
		return v, not
	}
	return s.fitScalar(l, v, &scalar, not)
}

// strayWord returns a word in a value that is neither true, false nor null.
func strayWord(l *syntax.Literal) string {
	if l.Kind == syntax.Word && l.Value != "true" && l.Value != "false" && l.Value != "null" {
		return l.Value
	}
	for _, item := range l.Items {
		if word := strayWord(item); word != "" {
			return word
		}
	}
	for _, m := range l.Members {
		if word := strayWord(m.Value); word != "" {
			return word
		}
	}
	return ""
}

func within(l *syntax.Literal, problem string) string {
	return "does not fit: " + literalText(l) + " " + problem
}

// fitEnum takes the name of a value or what stands for it on the wire.
func fitEnum(l *syntax.Literal, v pyjson.Value, t *spec.Enum) (pyjson.Value, string) {
	if l.Kind == syntax.Word {
		if i := slices.Index(t.Names, l.Value); i >= 0 {
			v, _ := pyjson.Parse([]byte(t.Values[i]), nil)
			return v, ""
		}
	} else if slices.Contains(t.Values, spec.JSON(pyjson.Append(nil, v, pyjson.Spaced))) {
		return v, ""
	}
	return v, "is no value of the enum '" + t.Name + "'"
}

func (s *scope) fitList(l *syntax.Literal, t *spec.List, not string) (pyjson.Value, string) {
	list := pyjson.Value{Kind: pyjson.Array}
	if l.Kind != syntax.List {
		return list, not
	}
	seen := make(map[string]bool)
	for _, item := range l.Items {
		v, problem := s.fit(item, t.Item, false)
		if problem != "" {
			return list, within(item, problem)
		}
		text := string(pyjson.Append(nil, v, pyjson.Sorted))
		if t.Set && seen[text] {
			return list, "has " + text + " twice"
		}
		seen[text] = true
		list.Items = append(list.Items, v)
	}
	switch n := len(l.Items); {
	case t.Limits.MinItems != nil && n < *t.Limits.MinItems:
		return list, "does not satisfy minItems " + strconv.Itoa(*t.Limits.MinItems)
	case t.Limits.MaxItems != nil && n > *t.Limits.MaxItems:
		return list, "does not satisfy maxItems " + strconv.Itoa(*t.Limits.MaxItems)
	}
	return list, ""
}

func (s *scope) fitMap(l *syntax.Literal, t *spec.Map, not string) (pyjson.Value, string) {
	object := pyjson.OfMembers()
	if l.Kind != syntax.Object {
		return object, not
	}
	for _, m := range l.Members {
		key, problem := s.fitKey(m, t.Key)
		if problem != "" {
			return object, "does not fit: key '" + m.Key.Text + "' " + problem
		}
		v, problem := s.fit(m.Value, t.Value, false)
		if problem != "" {
			return object, within(m.Value, problem)
		}
		if _, twice := object.Get(key); twice {
			return object, "has the key '" + key + "' twice"
		}
		object.Set(key, v)
	}
	return object, ""
}

// fitKey fits a key, which is text on JSON whatever its type, and returns it as it
// stands there.
func (s *scope) fitKey(m syntax.LiteralMember, t spec.Type) (string, string) {
	literals := []*syntax.Literal{{Kind: syntax.String, Value: m.Key.Text, Raw: syntax.Quote(m.Key.Text)}}
	if !m.String {
		literals = append(literals, &syntax.Literal{Kind: syntax.Word, Value: m.Key.Text, Raw: m.Key.Text})
	}
	if scalar, ok := spec.AsScalar(t); ok && isInteger(scalar.Kind) && isWhole(m.Key.Text) {
		literals = append(literals, &syntax.Literal{Kind: syntax.Number, Raw: m.Key.Text})
	} else if ok && scalar.Kind == spec.Bool {
		literals = append(literals, &syntax.Literal{Kind: syntax.Word, Value: m.Key.Text, Raw: m.Key.Text})
	}
	first := ""
	for _, l := range literals {
		v, problem := s.fit(l, t, false)
		switch {
		case problem != "":
			first = cmp.Or(first, problem)
		case v.Kind == pyjson.String:
			return v.Text, ""
		default:
			return m.Key.Text, ""
		}
	}
	return "", first
}

func (s *scope) fitRecord(l *syntax.Literal, t *spec.Record, not string) (pyjson.Value, string) {
	object := pyjson.OfMembers()
	if l.Kind != syntax.Object {
		return object, not
	}
	given := make(map[string]bool)
	for _, m := range l.Members {
		f := t.Field(m.Key.Text)
		if f == nil {
			if t.Open {
				continue
			}
			return object, "does not fit: " + describe(t) + " has no field '" + m.Key.Text + "'"
		}
		v, problem := s.fit(m.Value, f.Type, f.Optional || f.Nullable)
		if problem != "" {
			return object, within(m.Value, problem)
		}
		given[f.Name] = true
		object.Set(f.Name, v)
	}
	for i := range t.Fields {
		if f := &t.Fields[i]; f.Required() && !given[f.Name] {
			return object, "does not fit: " + describe(t) + " needs a field '" + f.Name + "'"
		}
	}
	return object, ""
}

func (s *scope) fitScalar(l *syntax.Literal, v pyjson.Value, t *spec.Scalar, not string) (pyjson.Value, string) {
	text := l.Kind == syntax.String || l.Kind == syntax.Text
	switch k := t.Kind; {
	case k == spec.Any:
		if word := strayWord(l); word != "" {
			return v, "is no JSON: " + word + " is not in quotes"
		}
		return v, ""
	case k == spec.Null:
		if isNull(l) {
			return v, ""
		}
	case k == spec.Bool:
		if v.Kind == pyjson.Bool {
			return v, ""
		}
	case k == spec.Decimal:
		if r, ok := ratOf(l.Raw); l.Kind == syntax.Number && ok {
			return pyjson.Of(l.Raw), notKept(unfit(r, &t.Limits))
		}
		if r, ok := ratOf(l.Value); text && ok && !strings.ContainsAny(l.Value, "/_xX") {
			return v, notKept(unfit(r, &t.Limits))
		}
	case isNumber(k):
		if l.Kind == syntax.Duration && k != spec.Duration {
			return v, not
		}
		if l.Kind == syntax.Number || l.Kind == syntax.Duration {
			return fitNumber(v, t, not)
		}
	case text:
		return v, s.fitText(l.Value, t, not)
	}
	return v, not
}

func notKept(limit string) string {
	if limit == "" {
		return ""
	}
	return "does not satisfy " + limit
}

func fitNumber(v pyjson.Value, t *spec.Scalar, not string) (pyjson.Value, string) {
	r, ok := ratOf(string(pyjson.Append(nil, v, pyjson.Spaced)))
	if !ok {
		return v, not // beyond what a float holds
	}
	if isInteger(t.Kind) {
		if v.Kind != pyjson.Int {
			return v, not
		}
		least, _ := ratOf(kindRanges[t.Kind][0])
		most, _ := ratOf(kindRanges[t.Kind][1])
		if r.Cmp(least) < 0 || r.Cmp(most) > 0 {
			return v, not
		}
	}
	if f, _ := r.Float32(); t.Kind == spec.Float32 && new(big.Rat).SetFloat64(float64(f)) == nil {
		return v, not
	}
	return v, notKept(unfit(r, &t.Limits))
}

func (sc *scope) fitText(s string, t *spec.Scalar, not string) string {
	ok := true
	switch t.Kind {
	case spec.String, spec.URI:
	case spec.Bytes:
		_, err := base64.StdEncoding.DecodeString(s)
		ok = err == nil
	case spec.DateTime:
		_, err := time.Parse(time.RFC3339Nano, s)
		ok = err == nil
	case spec.Date:
		_, err := time.Parse(time.DateOnly, s)
		ok = err == nil
	case spec.Time:
		_, err := time.Parse("15:04:05.999999999", strings.TrimSuffix(s, "Z"))
		ok = err == nil
	case spec.UUID, spec.UUID4:
		id, err := uuid.Parse(s)
		ok = err == nil && len(s) == 36 && (t.Kind == spec.UUID || id.Version() == 4)
	default:
		ok = false
	}
	if !ok {
		return not
	}
	n := utf8.RuneCountInString(s)
	switch l := &t.Limits; {
	case l.MinLength != nil && n < *l.MinLength:
		return "does not satisfy minLength " + strconv.Itoa(*l.MinLength)
	case l.MaxLength != nil && n > *l.MaxLength:
		return "does not satisfy maxLength " + strconv.Itoa(*l.MaxLength)
	case l.Pattern != "":
		if re := sc.m.c.pattern(l.Pattern); re != nil && !re.MatchString(s) {
			return "does not satisfy pattern " + syntax.Quote(l.Pattern)
		}
	}
	return ""
}

// maxPatterns bounds how many patterns are compiled, which costs more than all
// else that is done with a source.
const maxPatterns = 50

// pattern returns a compiled pattern, nil if there were too many.
func (c *checker) pattern(text string) *regexp.Regexp {
	re, known := c.patterns[text]
	if !known && len(c.patterns) < maxPatterns {
		re, _ = regexp.Compile(text)
		c.patterns[text] = re
	}
	return re
}
