package document_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/lang/document"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/wire/uagents"
)

// The codec takes every example of a message that has a JSON form.
func TestExamplesAreTaken(t *testing.T) {
	taken := 0
	for _, s := range sources(t) {
		for _, p := range s.Protocols {
			for _, m := range p.Spec.Messages {
				example := document.Example(m.Body)
				if !json.Valid(example) {
					t.Errorf("%s: the example of %s is no JSON: %s", s.Name, m.Name, example)
				}
				codec, err := uagents.NewCodec(m.Body, nil)
				if err != nil {
					if !strings.Contains(string(s.Text), "custom ") {
						t.Errorf("%s: %s: %v", s.Name, m.Name, err)
					}
					continue
				}
				if _, err := codec.Normalize(example); err != nil {
					if strings.Contains(err.Error(), "no JSON form") {
						continue
					}
					t.Errorf("%s: the example of %s is refused: %v\n%s", s.Name, m.Name, err, example)
				}
				taken++
			}
		}
	}
	if taken < 60 {
		t.Errorf("only %d examples were tried", taken)
	}
}

// Types of any shape have examples that the codec takes.
func TestExamplesOfRandomTypes(t *testing.T) {
	n, missing := 1000, 0
	if os.Getenv("PARLEY_LONG") != "" {
		n = 100_000
	}
	for seed := range n {
		g := &types{Rand: rand.New(rand.NewPCG(uint64(seed), 9))}
		model := g.record(3)
		codec, err := uagents.NewCodec(model, nil)
		if err != nil {
			continue
		}
		example := document.Example(model)
		if example == nil {
			missing++
			continue
		}
		if _, err := codec.Normalize(example); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, example)
		}
	}
	if missing > n/20 {
		t.Errorf("%d of %d have no example", missing, n)
	}
}

type types struct {
	*rand.Rand
	names int
}

func (g *types) record(depth int) *spec.Record {
	g.names++
	r := &spec.Record{Name: fmt.Sprint("R", g.names)}
	for i := range 1 + g.IntN(4) {
		f := spec.Field{Name: fmt.Sprint("f", i), Type: g.typ(depth - 1), Optional: g.IntN(4) == 0}
		if g.IntN(8) == 0 {
			f.Alias = fmt.Sprint("other", i)
		}
		if g.IntN(12) == 0 { // itself
			f.Type, f.Optional = spec.Type(r), true
		}
		r.Fields = append(r.Fields, f)
	}
	return r
}

func (g *types) typ(depth int) spec.Type {
	n := 12
	if depth <= 0 {
		n = 6
	}
	few := func() *int { n := g.IntN(4); return &n }
	switch g.IntN(n) {
	case 0:
		low := g.IntN(100) - 50
		return spec.Int.With(spec.Limits{Min: spec.JSON(fmt.Sprint(low)), Max: spec.JSON(fmt.Sprint(low + 3 + g.IntN(9))), MultipleOf: spec.JSON([]string{"", "2", "3"}[g.IntN(3)])})
	case 1:
		return spec.String.With(spec.Limits{MinLength: few(), Pattern: []string{"", "^[a-f]+$", "x|y", "^(ab)*c?$", `\d{3}-\w`}[g.IntN(5)]})
	case 2:
		return spec.Float.With(spec.Limits{Above: spec.JSON(fmt.Sprint(g.IntN(9)-4) + ".25"), Below: []spec.JSON{"", "20", "6"}[g.IntN(3)]})
	case 3:
		return &spec.Literal{Values: []spec.JSON{`"a"`, "2", "true"}[g.IntN(3):]}
	case 4:
		return &spec.Enum{Name: "E", Base: spec.String, Values: []spec.JSON{`"u"`, `"v"`}}
	case 5, 6:
		return spec.Kind(g.IntN(int(spec.URI) + 1))
	case 7:
		return &spec.List{Item: g.typ(depth - 1), Set: g.IntN(3) == 0, Limits: spec.Limits{MinItems: few()}}
	case 8:
		return &spec.Map{Key: []spec.Type{nil, spec.Int, spec.Bool, spec.UUID}[g.IntN(4)], Value: g.typ(depth - 1)}
	case 9:
		return &spec.Tuple{Items: []spec.Type{g.typ(depth - 1), g.typ(depth - 1)}}
	case 10:
		return &spec.Union{Variants: []spec.Type{g.typ(depth - 1), g.typ(depth - 1)}}
	}
	return g.record(depth)
}

func ExampleExample() {
	fmt.Println(string(document.Example(&spec.Record{Name: "Order", Fields: []spec.Field{
		{Name: "id", Type: spec.UUID4},
		{Name: "items", Type: &spec.List{Item: spec.String.With(spec.Limits{Pattern: "^[A-Z]{3}-[0-9]+$"})}},
		{Name: "amount", Type: spec.Int.With(spec.Limits{Min: "10", MultipleOf: "4"})},
		{Name: "currency", Type: spec.String, Default: `"FET"`},
	}})))
	// Output:
	// {
	//   "id": "3f2b8c1e-7a4d-4c6b-9e2f-5d1c0b8a7e10",
	//   "items": [
	//     "AAA-0"
	//   ],
	//   "amount": 12,
	//   "currency": "FET"
	// }
}

// Nothing that a source can say makes an example grow without end.
func TestExamplesHaveBounds(t *testing.T) {
	large, huge := 300, 1_000_000
	deep := spec.Type(spec.String)
	for i := range 40 { // twice as many values in each level
		deep = &spec.Record{Name: fmt.Sprint("D", i), Fields: []spec.Field{{Name: "a", Type: deep}, {Name: "b", Type: deep}}}
	}
	itself := &spec.Record{Name: "Itself"}
	itself.Fields = []spec.Field{{Name: "again", Type: itself}}
	for name, typ := range map[string]spec.Type{
		"deep":           deep,
		"endless":        itself,
		"long text":      spec.String.With(spec.Limits{MinLength: &huge}),
		"many items":     &spec.List{Item: spec.String, Limits: spec.Limits{MinItems: &huge}},
		"long pattern":   spec.String.With(spec.Limits{Pattern: "^((a{50}){50}){50}$"}),
		"no such number": spec.Int.With(spec.Limits{Above: "1", Below: "2"}),
	} {
		if example := document.Example(typ); example != nil {
			t.Errorf("%s: %d bytes", name, len(example))
		}
	}
	if example := document.Example(spec.String.With(spec.Limits{MinLength: &large})); len(example) != large+2 {
		t.Errorf("%d bytes of a text of %d", len(example), large)
	}
}
