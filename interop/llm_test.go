package interop

import (
	"testing"
	"time"

	"github.com/parley-agents/parley/llm"
)

// TestExamplesFitTheLibrary has the offline model make an example for the schema
// of each of many random models, which the real library must accept as a payload.
func TestExamplesFitTheLibrary(t *testing.T) {
	o := startOracle(t)
	m := &maker{Rand: newRand(t)}
	for i := range count(150, 2000) {
		model := m.model()
		python := describe(o, m)
		schema, err := llm.ParseSchema([]byte(python.Schema))
		if err != nil {
			t.Fatalf("model %d: %v\n%s", i, err, python.Schema)
		}
		example, err := schema.Example(time.Unix(1_700_000_000, 0))
		if err != nil {
			t.Fatalf("model %d: %v\n%s", i, err, python.Schema)
		}
		if verdict := parseInPython(o, model.Name, []string{example})[0]; !verdict.OK {
			t.Fatalf("model %d: %s\n%s\n%s\n%s", i, verdict.Error, example, python.Schema, m.source.String())
		}
	}
}
