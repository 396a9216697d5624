package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/parley-agents/parley/fault"
)

const maxSteps = 1000 // of one guess

// Example writes a value that fits the schema: the plainest, or else the first
// that fits of many put together by chance, which is always the same chance.
// Dates in it are those of now.
func (s *Schema) Example(now time.Time) (string, error) {
	work, steps := 4*maxWork, 200*maxSteps
	for try := uint64(0); try < 1000 && steps > 0; try++ {
		g := &guess{root: s.root, now: now, plain: try == 0, left: maxSteps, rand: rand.New(rand.NewPCG(try, 0))}
		value := g.value(s.root, 0)
		steps -= maxSteps - g.left
		if g.left <= 0 {
			continue
		}
		switch err := s.check(value, &work); fault.CodeOf(err) {
		case "":
			text, err := json.Marshal(value)
			return string(text), err
		case fault.Unsupported:
			return "", err
		}
	}
	return "", fault.Errorf(fault.Unsupported, "schema", "no example that fits the schema was found")
}

// A guess puts together one value for a schema.
type guess struct {
	root  any
	now   time.Time
	plain bool // the first choice everywhere
	left  int  // steps
	rand  *rand.Rand
}

func (g *guess) pick(n int) int {
	if g.plain || n < 2 {
		return 0
	}
	return g.rand.IntN(n)
}

// flatten puts the keywords of a schema, of what it refers to and of one of its
// alternatives into one schema. Where two contradict, chance decides.
func (g *guess) flatten(schema any, into map[string]any, depth int) {
	s := object(schema)
	for _, key := range slices.Sorted(maps.Keys(s)) {
		inner, old := list(s[key]), into[key]
		switch {
		case key == "$ref":
			inner = []any{resolve(g.root, s[key].(string))}
		case key == "then" || key == "else" && g.pick(2) == 1:
			inner = []any{s[key]}
		case key == "anyOf" || key == "oneOf":
			if free := slices.DeleteFunc(slices.Clone(inner), func(c any) bool { return object(c)["$ref"] != nil }); depth > 2 && len(free) > 0 {
				inner = free // where nothing is referred to, it ends
			}
			at := g.pick(len(inner))
			inner = inner[at : at+1]
		case key == "required":
			into[key], inner = slices.Concat(list(old), inner), nil
		case key == "properties":
			all := maps.Clone(object(s[key]))
			maps.Copy(all, object(old))
			into[key] = all
		case key != "allOf" && (old == nil || g.pick(2) == 1):
			into[key], inner = s[key], nil
		}
		for _, sub := range inner {
			if g.left--; g.left > 0 {
				g.flatten(sub, into, depth)
			}
		}
	}
}

var hints = map[string]string{
	"properties": "object", "required": "object", "additionalProperties": "object", "minProperties": "object", "items": "array", "contains": "array",
	"minItems": "array", "minimum": "number", "maximum": "number", "exclusiveMinimum": "number", "exclusiveMaximum": "number", "multipleOf": "number",
}

func (g *guess) value(schema any, depth int) any {
	s := map[string]any{}
	if g.flatten(map[string]any{"allOf": []any{schema}}, s, depth); g.left <= 0 {
		return nil
	}
	if v, ok := s["const"]; ok {
		return v
	} else if v, ok := s["default"]; ok && g.plain {
		return v
	} else if enum := list(s["enum"]); len(enum) > 0 {
		return enum[g.pick(len(enum))]
	}
	kinds := append(list(s["type"]), s["type"])[:max(1, len(list(s["type"])))]
	kind, _ := kinds[g.pick(len(kinds))].(string)
	for _, key := range slices.Sorted(maps.Keys(s)) {
		kind = cmp.Or(kind, hints[key])
	}
	switch {
	case kind == "object" || kind == "" && depth == 0 && g.pick(2) == 0:
		return g.object(s, depth)
	case kind == "array":
		return g.array(s, depth)
	case kind == "integer" || kind == "number":
		return g.number(s, kind == "integer")
	case kind == "boolean":
		return g.pick(2) == 0
	case kind == "null":
		return nil
	}
	return g.text(s)
}

func (g *guess) object(s map[string]any, depth int) any {
	out, props, patterns := map[string]any{}, object(s["properties"]), slices.Sorted(maps.Keys(object(s["patternProperties"])))
	names := list(s["required"])
	for _, name := range slices.Sorted(maps.Keys(props)) {
		if depth < 2 && g.pick(2) == 0 {
			names = append(names, name)
		}
	}
	for i := 0; g.left > 0 && (i < len(names) || float64(len(out)) < number(s["minProperties"], 0)); i++ {
		if i == len(names) {
			names = append(names, g.value(map[string]any{"type": "string", "allOf": []any{s["propertyNames"]}, "default": fmt.Sprint("key", i)}, depth+1))
		}
		name, parts := fmt.Sprint(names[i]), []any{}
		if p, ok := props[name]; ok {
			parts = append(parts, p)
		}
		for _, pattern := range patterns {
			if ok, err := regexp.MatchString(pattern, name); ok && err == nil {
				parts = append(parts, object(s["patternProperties"])[pattern])
			}
		}
		if len(parts) == 0 {
			parts = append(parts, s["additionalProperties"])
		}
		if _, done := out[name]; !done {
			out[name] = g.value(map[string]any{"allOf": parts}, depth+1)
			names = append(names, list(object(s["dependentRequired"])[name])...)
		}
	}
	return out
}

func (g *guess) array(s map[string]any, depth int) any {
	out, fixed, rest, need := []any{}, list(s["prefixItems"]), s["items"], 0.0
	if tuple := list(s["items"]); tuple != nil {
		fixed, rest = tuple, s["additionalItems"]
	}
	if s["contains"] != nil {
		need = number(s["minContains"], 1)
	}
	n := max(number(s["minItems"], 0), need)
	if n == 0 && depth < 3 {
		n = min(float64(1-g.pick(2)), number(s["maxItems"], 1))
	}
	for i := 0; g.left > 0 && float64(i) < n; i++ {
		parts := []any{rest}
		if i < len(fixed) {
			parts = []any{fixed[i]}
		}
		if float64(i) >= n-need {
			parts = append(parts, s["contains"])
		}
		v := g.value(map[string]any{"allOf": parts}, depth+1)
		for try := 0; try < 20 && s["uniqueItems"] == true && slices.ContainsFunc(out, func(o any) bool { return jsonschema.Equal(o, v) }); try++ {
			g.plain = false
			v = g.value(map[string]any{"allOf": parts}, depth+1)
		}
		out = append(out, v)
	}
	return out
}

func (g *guess) number(s map[string]any, whole bool) any {
	step := number(s["multipleOf"], 0)
	if whole && step != math.Trunc(step) || whole && step == 0 {
		step = max(1, math.Ceil(step))
	}
	low := max(number(s["minimum"], -1e6), number(s["exclusiveMinimum"], -1e6))
	high := min(number(s["maximum"], max(low, 1)+1e6), number(s["exclusiveMaximum"], max(low, 1)+1e6))
	v := min(max(1, low), high)
	if !g.plain || v == s["exclusiveMinimum"] || v == s["exclusiveMaximum"] {
		v = low + (high-low)*float64(1+g.pick(999))/1000
	}
	if step > 0 {
		v = math.Floor(v/step) * step
		if v < low || v == s["exclusiveMinimum"] {
			v += step
		}
	}
	return v
}

func (g *guess) text(s map[string]any) any {
	format, _ := s["format"].(string)
	text := map[string]string{
		"date-time": g.now.UTC().Format(time.RFC3339), "date": g.now.UTC().Format(time.DateOnly), "time": g.now.UTC().Format("15:04:05Z"),
		"uuid": "00000000-0000-4000-8000-000000000000", "uuid4": "00000000-0000-4000-8000-000000000000", "email": "someone@example.com",
		"uri": "http://example.com/", "hostname": "localhost", "ipv4": "127.0.0.1", "ipv6": "::1",
	}[format]
	if pattern, ok := s["pattern"].(string); ok && pattern != "" {
		if re, err := syntax.Parse(pattern, syntax.Perl); err == nil {
			text = g.match(re)
		}
	} else if text == "" {
		text = fmt.Sprint("text", strings.Repeat("x", g.pick(9)), strings.TrimLeft(fmt.Sprint(g.pick(1000)), "0"))
		text += strings.Repeat("x", int(max(0, min(1e5, number(s["minLength"], 0)-float64(len(text))))))
		text = text[:int(min(float64(len(text)), number(s["maxLength"], 1e6)))]
	}
	return text
}

// match writes a text that a pattern matches.
func (g *guess) match(re *syntax.Regexp) (text string) {
	least, most := 1, 1
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		at := 2 * g.pick(len(re.Rune)/2)
		return string(re.Rune[at] + rune(g.pick(int(min(re.Rune[at+1]-re.Rune[at], 25))+1)))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "x"
	case syntax.OpAlternate:
		return g.match(re.Sub[g.pick(len(re.Sub))])
	case syntax.OpStar, syntax.OpQuest, syntax.OpPlus, syntax.OpRepeat:
		least, most = map[syntax.Op]int{syntax.OpPlus: 1, syntax.OpRepeat: re.Min}[re.Op], map[syntax.Op]int{syntax.OpQuest: 1, syntax.OpRepeat: re.Max}[re.Op]
		if re.Op != syntax.OpQuest && most <= 0 {
			most = least + 20
		}
	}
	for range least + g.pick(most-least+1) {
		for _, sub := range re.Sub {
			text += g.match(sub)
		}
	}
	return text
}

func number(v any, otherwise float64) float64 {
	if f, ok := v.(float64); ok {
		return f
	}
	return otherwise
}
