package spec_test

import (
	"strings"
	"testing"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/spec"
)

// pingManifest is a manifest without mistakes, for tests to put one in. The
// digests in it are only names: what counts are the schemas.
const pingManifest = `{"version": "1.0", "metadata": {"name": "ping", "version": "2"},
	"models": [{"digest": "i", "schema": {"title": "Ping", "type": "object", "properties": {}}},
		{"digest": "o", "schema": {"title": "Pong", "type": "object", "properties": {}}}],
	"interactions": [{"type": "normal", "request": "i", "responses": ["o"]}, {"type": "normal", "request": "o", "responses": []}],
	"roles": {"asker": ["Pong"], "answerer": ["i"], "broken": "Ping", "lost": ["Ping", "Pang"], "both": ["o", "Ping", "Ping"]}}`

func TestManifestsThatAreRefused(t *testing.T) {
	if _, err := spec.ParseManifest([]byte(pingManifest)); err != nil {
		t.Fatalf("a manifest without mistakes: %v", err)
	}
	for name, tc := range map[string]struct {
		old, new string
		code     fault.Code
		field    string
	}{
		"no JSON":                    {`{"version"`, `{version`, fault.Malformed, ""},
		"no object":                  {pingManifest, `[]`, fault.Malformed, ""},
		"too large":                  {`"2"`, `"` + strings.Repeat("2", spec.MaxSchema) + `"`, fault.TooLarge, ""},
		"nested too deep":            {`"2"`, strings.Repeat("[", 100) + strings.Repeat("]", 100), fault.TooLarge, ""},
		"another version":            {`"1.0"`, `"2.0"`, fault.Unsupported, "version"},
		"a version that is a number": {`"1.0"`, `1.0`, fault.Unsupported, "version"},
		"no models":                  {`"models"`, `"model"`, fault.Malformed, ""},
		"interactions by name":       {`"interactions": [`, `"interactions": {}, "x": [`, fault.Malformed, ""},
		"a model without a schema":   {`"schema": {"title": "Pong"`, `"scheme": {"title": "Pong"`, fault.Malformed, "models[1].schema"},
		"a schema that is text":      {`"schema": {"title": "Pong", "type": "object", "properties": {}}`, `"schema": "Pong"`, fault.Malformed, "models[1].schema"},
		"a model without a title":    {`"title": "Pong", `, ``, fault.Malformed, "models[1].schema.title"},
		"a reference to no title":    {`{"title": "Pong", "type": "object", "properties": {}}`, `{"$ref": "#/definitions/Pong"}`, fault.Malformed, "models[1].schema.title"},
		"a digest twice":             {`"digest": "o"`, `"digest": "i"`, fault.Malformed, "models[1]"},
		"an unknown request":         {`"request": "o"`, `"request": "x"`, fault.Malformed, "interactions[1]"},
		"an unknown response":        {`["o"]}`, `["o", "x"]}`, fault.Malformed, "interactions[0]"},
		"a response that is null":    {`["o"]}`, `[null]}`, fault.Malformed, "interactions[0]"},
		"responses that are no list": {`["o"]}`, `"o"}`, fault.Malformed, "interactions[0].responses"},
		"no responses":               {`, "responses": []`, ``, fault.Malformed, "interactions[1].responses"},
		"another interaction":        {`"normal", "request": "o"`, `"odd", "request": "o"`, fault.Unsupported, "interactions[1].type"},
		"an interaction as text":     {`{"type": "normal", "request": "o", "responses": []}`, `"o"`, fault.Malformed, "interactions[1].responses"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(pingManifest, tc.old, tc.new, 1)
			if text == pingManifest {
				t.Fatal("the case changes nothing")
			}

			_, err := spec.ManifestDigests([]byte(text), "")
			wantError(t, err, tc.code, tc.field)
			_, err = spec.ParseManifest([]byte(text))
			wantError(t, err, tc.code, tc.field)
		})
	}
}

// What has a digest but no place in the data is refused by the import alone.
func TestManifestsThatCannotBeImported(t *testing.T) {
	for name, tc := range map[string]struct {
		old, new string
		code     fault.Code
		field    string
	}{
		"two models of a name":  {`"title": "Pong"`, `"title": "Ping", "description": "another"`, fault.Conflict, "models[1]"},
		"an interaction twice":  {`"request": "o"`, `"request": "i"`, fault.Malformed, "rules[1]"},
		"a schema that says no": {`"properties": {}}}]`, `"properties": {"a": {"$ref": "elsewhere"}}}}]`, fault.Unsupported, "models.Pong.properties.a.$ref"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(pingManifest, tc.old, tc.new, 1)
			if text == pingManifest {
				t.Fatal("the case changes nothing")
			}

			_, err := spec.ParseManifest([]byte(text))
			wantError(t, err, tc.code, tc.field)
			if digests, err := spec.ManifestDigests([]byte(text), ""); err != nil || !strings.HasPrefix(digests.Protocol, "proto:") {
				t.Errorf("ManifestDigests = %+v, %v", digests, err)
			}
		})
	}
}

// A role lists its requests by title or digest; its digest is that of a
// protocol which has only these and the answers to them.
func TestManifestDigestsOfARole(t *testing.T) {
	p, err := spec.ParseManifest([]byte(pingManifest))
	if err != nil {
		t.Fatal(err)
	}
	p.Roles = []spec.Role{{Name: "asker"}, {Name: "answerer"}, {Name: "both"}}
	p.Message("Ping").To = []string{"answerer", "both"}
	p.Message("Pong").To = []string{"asker", "both"}
	for role, models := range map[string]string{"asker": "Pong", "answerer": "Ping Pong", "both": "Ping Pong", "": "Ping Pong"} {
		want, err := p.Digest(role)
		if err != nil {
			t.Fatal(err)
		}
		d, err := spec.ManifestDigests([]byte(pingManifest), role)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, m := range d.Models {
			names = append(names, m.Name)
		}
		if got := strings.Join(names, " "); d.Protocol != want || got != models {
			t.Errorf("role %q: %s of %s, want %s of %s", role, d.Protocol, got, want, models)
		}
	}
	for role, field := range map[string]string{"broken": "roles.broken", "lost": "roles.lost[1]"} {
		_, err := spec.ManifestDigests([]byte(pingManifest), role)
		wantError(t, err, fault.Malformed, field)
	}
	_, err = spec.ManifestDigests([]byte(pingManifest), "bystander")
	wantError(t, err, fault.NotFound, "role")
}

// What the manifest says of its own digests is compared, never believed.
func TestManifestDigestsReportsStaleOnes(t *testing.T) {
	text := strings.Replace(pingManifest, `"version": "2"`, `"version": "2", "digest": "proto:old"`, 1)
	d, err := spec.ManifestDigests([]byte(text), "")
	if err != nil {
		t.Fatal(err)
	}

	want := []spec.StaleDigest{
		{Of: "Ping", Stated: "i", Actual: d.Models[0].Digest}, {Of: "Pong", Stated: "o", Actual: d.Models[1].Digest},
		{Of: "protocol", Stated: "proto:old", Actual: d.Protocol},
	}
	if len(d.Stale) != 3 || d.Stale[0] != want[0] || d.Stale[1] != want[1] || d.Stale[2] != want[2] {
		t.Errorf("stale = %+v, want %+v", d.Stale, want)
	}
	if d.Name != "ping 2" {
		t.Errorf("name = %q, want \"ping 2\"", d.Name)
	}
}

// Keys that were numbers in Python are hashed in the order of numbers. Only the
// digest that the manifest states tells that they were.
func TestManifestDigestsKnowsNumbersAsKeysByTheStatedDigest(t *testing.T) {
	asNumbers := &spec.Record{Name: "Pong", Fields: []spec.Field{{
		Name: "a", Type: &spec.Map{Key: spec.Int, Value: spec.Int}, Default: `{"9": 1, "10": 2}`,
	}}}
	asText := &spec.Record{Name: "Pong", Fields: []spec.Field{{
		Name: "a", Type: &spec.Map{Key: spec.String, Value: spec.Int}, Default: `{"9": 1, "10": 2}`,
	}}}
	numbers, text := digestOf(t, asNumbers), digestOf(t, asText)
	if numbers == text {
		t.Fatal("the order of keys makes no difference")
	}
	schema := `{"title": "Pong", "type": "object", "properties": {"a": {"title": "A", "default": {"9": 1, "10": 2}, "type": "object", "additionalProperties": {"type": "integer"}}}}`
	for _, tc := range []struct {
		stated, want string
		stale        int
	}{{numbers, numbers, 1}, {text, text, 1}, {"model:other", text, 2}} {
		manifest := strings.ReplaceAll(pingManifest, `"o"`, `"`+tc.stated+`"`)
		manifest = strings.Replace(manifest, `{"title": "Pong", "type": "object", "properties": {}}`, schema, 1)

		d, err := spec.ManifestDigests([]byte(manifest), "")

		if err != nil || d.Models[1].Digest != tc.want || len(d.Stale) != tc.stale {
			t.Errorf("stated %s: %+v (%v), want %s", tc.stated, d, err, tc.want)
		}
	}
}
