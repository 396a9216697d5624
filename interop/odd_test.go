package interop

import (
	"testing"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/spec"
)

// refusedModels are the odd models whose schemas cannot be imported.
var refusedModels = map[string]struct {
	code   fault.Code
	reason string
}{
	"ExtrasRemoved":      {fault.Unsupported, "the class took \"type\" out of its own schema"},
	"NumberKeys":         {fault.Unsupported, "the text that is hashed has keys in the order of numbers, and a schema does not say that they were some"},
	"NamedTupleOfModels": {fault.Malformed, "the library forgets the definitions of what is in a named tuple"},
}

type namedDescription struct {
	Name string
	description
}

// modelsOf has Python describe all models in a file.
func modelsOf(t *testing.T, path string) []namedDescription {
	t.Helper()
	type answer struct{ Models []namedDescription }
	return ask[answer](startOracle(t), map[string]any{"op": "models_of", "path": path}).Models
}

// TestOddModels imports the schemas of hand-written Python classes with the
// quirks that random models do not reach. Each keeps its digest or is refused
// for a reason that stands above. Those that a Go author can write down too have
// the digest from there as well.
func TestOddModels(t *testing.T) {
	byHand := make(map[string]spec.Type)
	for _, model := range handWritten() {
		byHand[spec.NameOf(model)] = model
	}
	for _, m := range modelsOf(t, "testdata/odd_models.py") {
		t.Run(m.Name, func(t *testing.T) {
			for form, text := range map[string]string{"in order": m.Schema, "sorted": m.Sorted} {
				imported, err := spec.ParseSchema([]byte(text))
				if want := refusedModels[m.Name].code; fault.CodeOf(err) != want {
					t.Errorf("%s: %v, want code %q\n%s", form, err, want, text)
				}
				if err != nil {
					continue
				}
				if got := digest(t, imported); got != m.Digest {
					t.Errorf("%s: digest = %s, want %s", form, got, m.Digest)
				}
			}
			if model, ok := byHand[m.Name]; ok && digest(t, model) != m.Digest {
				ours, _ := spec.Schema(model)
				t.Errorf("by hand: digest = %s, want %s\n  ours %s\ntheirs %s", digest(t, model), m.Digest, ours, m.Schema)
			}
			delete(byHand, m.Name)
		})
	}
	for name := range byHand {
		t.Errorf("%s is written by hand, but not in Python", name)
	}
}
