package llm

import (
	"cmp"
	"encoding/json"
	"errors"
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

var errEndless = errors.New("it would be too large, or without end")

// Example writes a value that fits the schema: the plainest guess, or else the first
// that fits of many made by chance, which is always the same. Dates are as of now.
func (s *Schema) Example(now time.Time) (string, error) {
	const maxSteps, price = 1000, 2000
	var unfit error
	patterns := make(map[string]*pattern)
	for try, work := uint64(0), 4*maxWork; try < 1000 && work > 0; try++ {
		g := &guess{s.root, now.UTC(), maxSteps, rand.New(rand.NewPCG(try, 0)), min(1, float64(try)), patterns}
		value := g.value(0, s.root)
		work -= (maxSteps - g.left) * price
		err := errEndless
		if g.left > 0 {
			err = s.check(value, &work)
		}
		if err == nil {
			text, err := json.Marshal(value)
			return string(text), err
		}
		unfit = cmp.Or(unfit, err)
	}
	return "", fault.Errorf(fault.Unsupported, "schema", "no example that fits was found: %s", shorten(reason(unfit)))
}

// A guess makes one value. Without luck it takes the first choice everywhere.
type guess struct {
	root any
	now  time.Time
	left int // steps
	rand *rand.Rand
	luck float64

	patterns map[string]*pattern // of the schema, for all guesses
}

type pattern struct {
	*regexp.Regexp
	program *syntax.Prog
}

// pattern returns nil for one that cannot be used.
func (g *guess) pattern(text string) *pattern {
	p, ok := g.patterns[text]
	if ok {
		return p
	}
	if re, err := regexp.Compile(text); err == nil {
		tree, _ := syntax.Parse(text, syntax.Perl)    // which has just been done
		program, _ := syntax.Compile(tree.Simplify()) // has no errors
		p = &pattern{re, program}
	}
	g.patterns[text] = p
	return p
}

// matches takes as many steps as the name and the pattern are long.
func (g *guess) matches(text, name string) bool {
	p := g.pattern(text)
	if p == nil || g.left <= 0 {
		return false
	}
	g.left -= len(name) * len(p.program.Inst) / 2000
	return p.MatchString(name)
}

func (g *guess) pick(n int) int { return int(g.luck * g.rand.Float64() * float64(n)) }

// one returns one item of a list that has any.
func (g *guess) one(of []any) []any { return of[g.pick(len(of)):][:min(1, len(of))] }

// flatten adds the keywords of schemas, of what they refer to and of one of their
// alternatives, deep down one that refers to nothing. Of two that contradict the last
// stays.
func (g *guess) flatten(depth int, into map[string]any, schemas ...any) map[string]any {
	for _, schema := range schemas {
		s := object(schema)
		if g.left--; g.left <= 0 {
			break
		}
		required, props := slices.Concat(list(into["required"]), list(s["required"])), map[string]any{}
		maps.Copy(props, object(into["properties"]))
		maps.Copy(props, object(s["properties"]))
		maps.Copy(into, s)
		into["required"], into["properties"] = required, props
		parts := slices.Clone(list(s["allOf"]))
		for _, choices := range [][]any{list(s["anyOf"]), list(s["oneOf"])} {
			ends := slices.DeleteFunc(slices.Clone(choices), func(c any) bool { return object(c)["$ref"] != nil })
			if depth < 3 || len(ends) == 0 {
				ends = choices
			}
			parts = append(parts, g.one(ends)...)
		}
		if ref, ok := s["$ref"].(string); ok {
			parts = append(parts, resolve(g.root, ref))
		}
		if s["if"] != nil {
			parts = append(parts, [][]any{{s["if"], s["then"]}, {s["else"]}}[g.pick(2)]...)
		}
		g.flatten(depth, into, parts...)
	}
	return into
}

func (g *guess) value(depth int, schemas ...any) any {
	s := g.flatten(depth, map[string]any{}, schemas...)
	if v, ok := s["const"]; ok {
		return v
	} else if enum := g.one(list(s["enum"])); len(enum) > 0 {
		return enum[0]
	}
	kind := s["type"]
	if kinds := g.one(list(kind)); len(kinds) > 0 {
		kind = kinds[0]
	} else if isObject := depth == 0 || len(object(s["properties"]))+len(list(s["required"])) > 0; kind == nil && isObject && g.pick(2) == 0 {
		kind = "object"
	} else if kind == nil {
		kind = g.one([]any{"string", "object", "number", "array", "null"})[0]
	}
	switch kind {
	case "object":
		return g.object(s, depth+1)
	case "array":
		return g.array(s, depth+1)
	case "integer", "number":
		return g.number(s, kind == "integer")
	case "boolean":
		return g.pick(2) == 0
	case "null":
		return nil
	}
	return g.text(s)
}

func (g *guess) object(s map[string]any, depth int) any {
	out, names, props, patterns := map[string]any{}, list(s["required"]), object(s["properties"]), object(s["patternProperties"])
	for _, name := range slices.Sorted(maps.Keys(props)) {
		if depth < 3 && g.pick(2) == 0 {
			names = append(names, name)
		}
	}
	invented := []any{s["propertyNames"]}
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		invented = append(invented, map[string]any{"pattern": pattern})
	}
	for i := 0; g.left > 0 && (i < len(names) || float64(len(out)) < number(s["minProperties"], 0)); i++ {
		if i == len(names) {
			names = append(names, g.value(depth, map[string]any{"type": "string"}, g.one(invented)[0]))
		}
		name, parts := fmt.Sprint(names[i]), []any{}
		for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
			if g.matches(pattern, name) {
				parts = append(parts, patterns[pattern])
			}
		}
		if p, known := props[name]; known {
			parts = append(parts, p)
		} else if len(parts) == 0 {
			parts = append(parts, s["additionalProperties"])
		}
		if _, done := out[name]; !done {
			out[name] = g.value(depth, parts...)
			names = append(names, list(object(s["dependentRequired"])[name])...)
		}
	}
	return out
}

func (g *guess) array(s map[string]any, depth int) any {
	out, items, least := []any{}, slices.Concat(list(s["prefixItems"]), []any{s["items"]}), number(s["minItems"], 0)
	if tuple := list(s["items"]); tuple != nil {
		items = slices.Concat(tuple, []any{s["additionalItems"]})
	}
	if s["contains"] != nil {
		least = max(least, number(s["minContains"], 1))
	} else if least == 0 && depth < 4 {
		least = min(float64(1-g.pick(2)), number(s["maxItems"], 1))
	}
	for tries := 0.0; g.left > 0 && tries < 20*least && float64(len(out)) < least; tries++ {
		v := g.value(depth, items[min(len(out), len(items)-1)], s["contains"])
		if s["uniqueItems"] != true || !slices.ContainsFunc(out, func(o any) bool { return jsonschema.Equal(o, v) }) {
			out = append(out, v)
		}
	}
	return out
}

// number takes the multiple that is next to one, or by chance another near it.
func (g *guess) number(s map[string]any, whole bool) any {
	low := max(number(s["minimum"], math.Inf(-1)), number(s["exclusiveMinimum"], math.Inf(-1)))
	high := min(number(s["maximum"], math.Inf(1)), number(s["exclusiveMaximum"], math.Inf(1)))
	step := number(s["multipleOf"], 1)
	if s["multipleOf"] == nil && !whole && low < high {
		step = min(1, (high-low)/100)
	}
	first, last := math.Ceil(low/step), math.Floor(high/step)
	if first > last {
		return low
	}
	n := min(max(1, first), last) + float64(g.pick(100)*(1-2*g.pick(2)))
	return min(max(n, first), last) * step
}

func (g *guess) text(s map[string]any) any {
	least, most := int(min(1e5, number(s["minLength"], 0))), int(min(1e5, number(s["maxLength"], 1e5)))
	if pattern, ok := s["pattern"].(string); ok {
		text := g.match(pattern, least)
		missing := max(0, least-len(text))
		g.left -= missing / 100
		return text + strings.Repeat("x", missing)
	}
	g.left -= least / 100
	uuid, format := "00000000-0000-4000-8000-000000000000", fmt.Sprint(s["format"])
	text := map[string]string{
		"date-time": g.now.Format(time.RFC3339), "date": g.now.Format(time.DateOnly), "time": g.now.Format("15:04:05Z"), "uuid": uuid, "uuid4": uuid,
		"email": "someone@example.com", "uri": "http://example.com/", "hostname": "localhost", "ipv4": "127.0.0.1", "ipv6": "::1",
	}[format]
	if text == "" {
		text = "text" + strings.Repeat("x", max(least-4, g.pick(50)))
		text = text[:min(len(text), most)]
	}
	return text
}

// match walks through the program of a pattern; more than least letters are chance.
func (g *guess) match(pattern string, least int) string {
	p := g.pattern(pattern)
	if p == nil {
		return ""
	}
	program := p.program
	var text strings.Builder
	for at, steps := program.Start, 0; g.left > 0; steps++ {
		if steps >= 100 {
			g.left, steps = g.left-steps/100, 0
		}
		i := program.Inst[at]
		if i.Op == syntax.InstMatch || i.Op == syntax.InstFail {
			break
		}
		at = int(i.Out)
		switch n := len(i.Rune); {
		case i.Op == syntax.InstAlt && text.Len() >= least && g.pick(2) == 0:
			at = int(i.Arg)
		case n > 0:
			from := g.pick((n+1)/2) * 2
			text.WriteRune(i.Rune[from] + rune(g.pick(int(i.Rune[min(from+1, n-1)]-i.Rune[from])+1)))
		case i.Op == syntax.InstRuneAny || i.Op == syntax.InstRuneAnyNotNL:
			text.WriteByte('x')
		}
	}
	return text.String()
}

func number(v any, otherwise float64) float64 {
	if f, ok := v.(float64); ok {
		return f
	}
	return otherwise
}
