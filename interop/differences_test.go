package interop

import (
	"testing"

	"github.com/parley-agents/parley/spec"
)

// Rows of docs/differences.md that only a look at the real library can hold: the
// library does the one, Parley the other.
func TestPayloadsThatAreReadOtherwise(t *testing.T) {
	o := startOracle(t)
	for _, c := range []struct {
		name, python, payload string
		theirs, ours          string
	}{
		{
			"domains in other scripts", "AnyUrl", `{"x": "http://b\u00fccher.example/a"}`,
			`{"x": "http://xn--bcher-kva.example/a"}`, `{"x": "http://b\u00fccher.example/a"}`,
		},
		{"lists of unique items", "conlist(int, unique_items=True)", `{"x": [3, 1, 2]}`, `{"x": [3, 1, 2]}`, `{"x": [1, 2, 3]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			source := "from pydantic.v1 import AnyUrl, conlist\nclass Odd(Model):\n    x: " + c.python + "\n"
			python := ask[description](o, map[string]any{"op": "model", "source": source, "names": []string{"Odd"}})
			model, err := spec.ParseSchema([]byte(python.Schema))
			if err != nil {
				t.Fatal(err)
			}
			if got := parseInPython(o, "Odd", []string{c.payload})[0]; !got.OK || got.Result != c.theirs {
				t.Errorf("the library reads %s%s, want %s: is this still a difference?", got.Result, got.Error, c.theirs)
			}
			if got, err := newReader(t, model).strict.Normalize([]byte(c.payload)); err != nil || string(got) != c.ours {
				t.Errorf("read as %s (%v), want %s", got, err, c.ours)
			}
		})
	}
}
