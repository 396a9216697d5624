package uagents_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/internal/lang/diag"
	"github.com/parley-agents/parley/internal/lang/syntax"
	"github.com/parley-agents/parley/internal/lang/uagents"
	"github.com/parley-agents/parley/internal/vectors"
	"github.com/parley-agents/parley/spec"
)

type published struct {
	ID       string
	Role     *string
	Digest   string
	Manifest json.RawMessage
}

func (p *published) name() string {
	if p.Role == nil {
		return p.ID
	}
	return p.ID + "_" + *p.Role
}

func manifests(t testing.TB) []published {
	t.Helper()
	var all []published
	if err := json.Unmarshal(vectors.Load(t, "protocols.json")["protocols"], &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// Every manifest that the real library has published here becomes a source that
// checks clean and has its digest.
func TestPublishedManifests(t *testing.T) {
	for _, p := range manifests(t) {
		t.Run(p.name(), func(t *testing.T) {
			source, found, err := uagents.Import(p.name(), p.Manifest)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range found {
				if d.Severity != diag.Note {
					t.Errorf("%s\n%s\n%s", d, d.Hint, source)
				}
			}
			if got := digest(t, source); got != p.Digest {
				t.Errorf("digest %s, want %s\n%s", got, p.Digest, source)
			}
		})
	}
}

// digest is that of a source for the role that publishes the manifest.
func digest(t testing.TB, source []byte) string {
	t.Helper()
	result := check.File("x.parley", source, check.Options{})
	if len(result.Protocols) != 1 {
		t.Fatalf("%d protocols\n%s", len(result.Protocols), source)
	}
	d, err := result.Protocols[0].Spec.Digest("agent")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The recorded models, each as a protocol of its own. What Python does and the
// language does not allow is said with its code; nothing is lost in silence.
func TestRecordedModels(t *testing.T) {
	var all []struct {
		ID     string
		Schema string `json:"schema_json_field_order"`
		Digest string
	}
	if err := json.Unmarshal(vectors.Load(t, "schemas.json")["schemas"], &all); err != nil {
		t.Fatal(err)
	}
	clean := 0
	for _, s := range all {
		t.Run(s.ID, func(t *testing.T) {
			manifest := alone(s.Schema, s.Digest)
			want, err := spec.ManifestDigests(manifest, "")
			if err != nil {
				t.Fatal(err)
			}
			source, found, err := uagents.Import(s.ID, manifest)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range found {
				switch d.Code {
				case "PAR1005", "PAR1010", "PAR5020": // defaults and unions of Python, keywords
				default:
					t.Errorf("%s\n%s\n%s", d, d.Hint, source)
				}
			}
			if len(found) == 0 {
				clean++
				if got := digest(t, source); got != want.Protocol {
					t.Errorf("digest %s, want %s\n%s", got, want.Protocol, source)
				}
			}
		})
	}
	if clean < len(all)*9/10 {
		t.Errorf("only %d of %d came over", clean, len(all))
	}
}

// alone returns the manifest of an agent that handles one message.
func alone(schema, digest string) []byte {
	return fmt.Appendf(nil, `{"version": "1.0", "metadata": {"name": "P", "version": "1.0"}, "models": [{"digest": %q, "schema": %s}],
		"interactions": [{"type": "normal", "request": %q, "responses": []}]}`, digest, schema, digest)
}

// A source that a person would have written.
func TestSources(t *testing.T) {
	for _, p := range manifests(t) {
		path := "testdata/" + p.name() + ".parley"
		want, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		t.Run(p.name(), func(t *testing.T) {
			source, _, err := uagents.Import(p.name(), p.Manifest)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(source, want) {
				t.Errorf("got\n%s\nwant\n%s", source, want)
			}
		})
	}
}

// Two models bring types of the same name that differ: both are kept.
func TestTypesOfOneName(t *testing.T) {
	schema := func(title, inner string) string {
		return fmt.Sprintf(`{"title": %q, "type": "object", "properties": {"item": {"$ref": "#/definitions/Item"}}, "required": ["item"],
			"definitions": {"Item": {"title": "Item", "type": "object", "properties": {"v": {"title": "V", "type": %q}}, "required": ["v"]}}}`, title, inner)
	}
	manifest := fmt.Sprintf(`{"version": "1.0", "metadata": {"name": "P", "version": "1.0"},
		"models": [{"digest": "a", "schema": %s}, {"digest": "b", "schema": %s}, {"digest": "c", "schema": %s}],
		"interactions": [{"type": "normal", "request": "a", "responses": ["b", "c"]}]}`, schema("A", "string"), schema("B", "integer"), schema("C", "string"))
	source, found, err := uagents.Import("p", []byte(manifest))
	if err != nil || len(found) > 0 {
		t.Fatalf("%v %s\n%s", err, found, source)
	}
	for _, line := range []string{"type Item = { v: String }\n", "@name(\"Item\")\ntype Item2 = { v: Int }\n", "message B { item: Item2 }", "message C { item: Item }"} {
		if !strings.Contains(string(source), line) {
			t.Errorf("the source lacks %q:\n%s", line, source)
		}
	}
}

// Messages that only ever answer each other: an exchange may rest.
func TestNoEnd(t *testing.T) {
	model := func(name string) string {
		return fmt.Sprintf(`{"digest": %q, "schema": {"title": %q, "type": "object", "properties": {}}}`, name, name)
	}
	manifest := fmt.Sprintf(`{"version": "1.0", "metadata": {"name": "ping-pong", "version": "1.0"}, "models": [%s, %s],
		"interactions": [{"type": "normal", "request": "Ping", "responses": ["Pong"]}, {"type": "normal", "request": "Pong", "responses": ["Ping"]}]}`, model("Ping"), model("Pong"))
	source, found, err := uagents.Import("p", []byte(manifest))
	if err != nil || len(found) > 0 {
		t.Fatalf("%v %s\n%s", err, found, source)
	}
	for _, line := range []string{"@name(\"ping-pong\")\nprotocol PingPong", "initiates [Ping]\n", "Ping -> [Pong]?\n", "Pong -> [Ping]\n", "terminates [Ping]\n"} {
		if !strings.Contains(string(source), line) {
			t.Errorf("the source lacks %q:\n%s", line, source)
		}
	}
}

// What a schema says and the language cannot is named.
func TestLost(t *testing.T) {
	schema := `{"title": "A", "type": "object", "properties": {"l": {"title": "L", "type": "array", "items": {"type": "string", "writeOnly": true}}}, "required": ["l"]}`
	_, found, err := uagents.Import("a.json", alone(schema, "x"))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].Code != "PAR5020" || !strings.Contains(found[0].Hint, `"writeOnly"`) {
		t.Errorf("diagnostics %s, want PAR5020 that names writeOnly", found)
	}
}

func TestBadManifests(t *testing.T) {
	for _, tc := range []struct {
		name, manifest string
		want           fault.Code
	}{
		{"nothing", "", fault.Malformed},
		{"no manifest", "{}", fault.Malformed},
		{"another version", `{"version": "2.0", "models": [], "interactions": []}`, fault.Unsupported},
		{"too long", strings.Repeat(" ", spec.MaxSchema+1), fault.TooLarge},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, _, err := uagents.Import("x", []byte(tc.manifest)); fault.CodeOf(err) != tc.want {
				t.Errorf("error %v, want %s", err, tc.want)
			}
		})
	}
}

func FuzzImport(f *testing.F) {
	for _, p := range manifests(f) {
		f.Add([]byte(p.Manifest))
	}
	f.Fuzz(func(t *testing.T, manifest []byte) {
		source, found, err := uagents.Import("x", manifest)
		if err != nil {
			return
		}
		if file, wrong := syntax.Parse("x.parley", source); len(wrong) > 0 {
			t.Fatalf("%s\n%s", wrong, source)
		} else if !bytes.Equal(syntax.Format(file), source) {
			t.Fatalf("not formatted:\n%s", source)
		}
		if found.HasErrors() {
			return
		}
		want, err := spec.ManifestDigests(manifest, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := digest(t, source); got != want.Protocol {
			t.Fatalf("digest %s, want %s\n%s", got, want.Protocol, source)
		}
	})
}

// A role that only sends publishes models that nobody asks it for: there is no
// dialogue to write, and the source is sound.
func TestAManifestWithoutInteractions(t *testing.T) {
	source, found, err := uagents.Import("news", []byte(`{"version": "1.0", "metadata": {"name": "News", "version": "1.0.0"},
		"models": [{"digest": "a", "schema": {"title": "Headline", "type": "object", "properties": {}}}], "interactions": []}`))
	if err != nil || len(found) > 0 || strings.Contains(string(source), "dialogue") {
		t.Errorf("error %v, found %s\n%s", err, found, source)
	}
}
