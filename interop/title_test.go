package interop

import (
	"slices"
	"strings"
	"testing"

	"github.com/parley-agents/parley/spec"
)

// TestTitlesAreThosePythonMakes puts every letter of the common scripts into the
// places of a name where its case depends on its neighbours. A title is part of
// the digest, and field names and aliases are free text.
func TestTitlesAreThosePythonMakes(t *testing.T) {
	o := startOracle(t)
	names := []string{
		"userName", "HTTPCode", "x1y2", "kind_2x", "__root__", "_", "don't_stop", "ΟΔΥΣΣΕΥΣ", "ΣΑΣ_ΣΑΣ", "aΣ.b", "aΣ.", "aΣ’", "Σ", "straße", "ǆungla", "ﬁeld",
		"e\u0301te\u0301", "ᾳ_ᾳ", "İstanbul", "ıI", "\U00010428\U00010400", "𝒜𝒷",
	}
	for r := ' '; r < 0x2c00; r++ {
		if r == 'ჼ' || r == '\u0ece' {
			continue // Unicode 15 changed them, which not every Python knows
		}
		for _, form := range []string{"@", "a@", "1@b", "A@B", "@σ b", "aΣ@", "aΣ@a", "@Σ", "a@Σ", "_@_"} {
			names = append(names, strings.ReplaceAll(form, "@", string(r)))
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)

	type titles struct{ Titles []string }
	want := ask[titles](o, map[string]any{"op": "titles", "names": names}).Titles
	got := titlesOf(t, names)

	for i, name := range names {
		if got[i] != want[i] {
			t.Errorf("the title of %+q is %+q, want %+q", name, got[i], want[i])
		}
	}
}

// titlesOf reads the titles from the schema of a record with these fields.
func titlesOf(t *testing.T, names []string) []string {
	t.Helper()
	r := &spec.Record{Name: "Names"}
	for _, name := range names {
		r.Fields = append(r.Fields, spec.Field{Name: name, Type: spec.String})
	}
	schema, err := spec.Schema(r)
	if err != nil {
		t.Fatal(err)
	}
	properties, _ := parseText(spec.JSON(schema)).Get("properties")
	var titles []string
	for _, m := range properties.Members {
		title, _ := m.Value.Get("title")
		titles = append(titles, title.Text)
	}
	return titles
}
