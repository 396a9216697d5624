package spec_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/parley-agents/parley/internal/vectors"
	"github.com/parley-agents/parley/spec"
)

// TestSchemaVectors imports each recorded schema and writes it again: the text
// that is hashed and the digest must come out as the real library made them.
func TestSchemaVectors(t *testing.T) {
	vectors.Load(t, "schemas.json").Run(t, map[string]vectors.Check{"schemas": checkSchemas})
}

type schemaCase struct {
	ID         string          `json:"id"`
	Class      string          `json:"python_class_name"`
	Fields     json.RawMessage `json:"fields"`
	Hashed     string          `json:"schema_json_hashed"`
	FieldOrder string          `json:"schema_json_field_order"`
	Digest     string          `json:"digest"`
}

func checkSchemas(t *testing.T, text json.RawMessage) {
	vectors.Cases(t, text, func(c schemaCase) string { return c.ID }, func(t *testing.T, c schemaCase) {
		for form, source := range map[string]string{"sorted": c.Hashed, "in order": c.FieldOrder} {
			if source == "" {
				continue
			}
			model, err := spec.ParseSchema([]byte(source))
			if err != nil {
				t.Errorf("%s: %v\n%s", form, err, source)
				continue
			}
			if got := digestOf(t, model); got != c.Digest {
				t.Errorf("%s: digest = %s, want %s", form, got, c.Digest)
			}
		}
	})
}

func digestOf(t testing.TB, model spec.Type) string {
	t.Helper()
	digest, err := spec.Digest(model)
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// TestProtocolVectors rebuilds each recorded protocol from its interactions,
// roles and schemas, and from its manifest; both must have its digest.
func TestProtocolVectors(t *testing.T) {
	for _, name := range []string{"protocols.json", "mcp.json"} {
		t.Run(name, func(t *testing.T) {
			vectors.Load(t, name).Run(t, map[string]vectors.Check{
				"protocols":            checkProtocols,
				"schemas":              checkSchemas,
				"enum_default_failure": checkOutcomeHasDigest,
				"nested_default_ok":    checkOutcomeHasDigest,
			})
		})
	}
}

type protocolCase struct {
	ID           string `json:"id"`
	Role         string `json:"role"`
	Description  string `json:"description"`
	Name         string `json:"name"`
	Version      string `json:"version"`
	Interactions []struct {
		Request string   `json:"request"`
		Replies []string `json:"replies"`
	} `json:"interactions"`
	Roles     map[string][]string `json:"roles"`
	Models    map[string]string   `json:"models_in_manifest"`
	Canonical string              `json:"canonical_json_hashed"`
	Digest    string              `json:"digest"`
	Manifest  json.RawMessage     `json:"manifest"`
}

func checkProtocols(t *testing.T, text json.RawMessage) {
	bodies := bodiesByName(t, vectors.Decode[[]protocolCase](t, text))
	vectors.Cases(t, text, func(c protocolCase) string { return c.ID + " " + c.Role }, func(t *testing.T, c protocolCase) {
		imported, err := spec.ParseManifest(c.Manifest)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := imported.Digest(""); err != nil || got != c.Digest {
			t.Errorf("imported: digest = %s (%v), want %s", got, err, c.Digest)
		}
		if imported.Name != c.Name || imported.Version != c.Version {
			t.Errorf("imported %s %s, want %s %s", imported.Name, imported.Version, c.Name, c.Version)
		}
		again, err := imported.Manifest("")
		if err != nil {
			t.Fatal(err)
		}
		if digests, err := spec.ManifestDigests(again); err != nil || digests.Protocol != c.Digest || len(digests.Stale) > 0 {
			t.Errorf("written again: %+v (%v), want %s and nothing stale", digests, err, c.Digest)
		}
		for stated, name := range c.Models {
			if name != "" && digestOf(t, imported.Message(name).Body) != stated {
				t.Errorf("message %s does not have the digest %s", name, stated)
			}
		}
		built := buildProtocol(c, bodies)
		if got, err := built.Digest(c.Role); err != nil || got != c.Digest {
			t.Errorf("built from its parts: digest = %s (%v), want %s", got, err, c.Digest)
		}
	})
}

// bodiesByName collects the message bodies of all protocols: a role's manifest
// does not show those of the other role.
func bodiesByName(t *testing.T, cases []protocolCase) map[string]spec.Type {
	bodies := make(map[string]spec.Type)
	for _, c := range cases {
		p, err := spec.ParseManifest(c.Manifest)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range p.Messages {
			bodies[c.ID+"."+m.Name] = m.Body
		}
	}
	return bodies
}

func buildProtocol(c protocolCase, bodies map[string]spec.Type) *spec.Protocol {
	p := &spec.Protocol{Name: c.Name, Version: c.Version}
	add := func(name string) {
		if p.Message(name) == nil {
			p.Messages = append(p.Messages, spec.Message{Name: name, Body: bodies[c.ID+"."+name]})
		}
	}
	for _, in := range c.Interactions {
		add(in.Request)
		for _, reply := range in.Replies {
			add(reply)
		}
		p.Rules = append(p.Rules, spec.Rule{Message: in.Request, Replies: in.Replies})
	}
	for role, requests := range c.Roles {
		p.Roles = append(p.Roles, spec.Role{Name: role})
		for i := range p.Messages {
			m := &p.Messages[i]
			if m.To == nil {
				m.To = []string{}
			}
			if slices.Contains(requests, m.Name) {
				m.To = append(m.To, role)
			}
		}
	}
	return p
}

// checkOutcomeHasDigest only looks at the form: the models behind these two
// digests are checked among the schemas.
func checkOutcomeHasDigest(t *testing.T, text json.RawMessage) {
	c := vectors.Decode[struct {
		OK     bool   `json:"ok"`
		Result string `json:"result"`
	}](t, text)
	one := map[string]string{
		"proto:f1327c6a160c7d2f8d62a1e66504732a4789029b609910dcb70cb45ba1333902": "enum_more",
		"proto:2ec4440597c8e85bee0543f571f16d51d0c72b866154ba46e6308e30baead992": "nested_default",
	}[c.Result]
	if one == "" {
		t.Skipf("%s is of a model that this test does not know", c.Result)
	}
	for _, schema := range vectors.Decode[[]schemaCase](t, vectors.Load(t, "schemas.json")["schemas"]) {
		if schema.ID != one {
			continue
		}
		body, err := spec.ParseSchema([]byte(schema.FieldOrder))
		if err != nil {
			t.Fatal(err)
		}
		p := spec.Protocol{Messages: []spec.Message{{Name: "M", Body: body}}, Rules: []spec.Rule{{Message: "M"}}}
		if got, err := p.Digest(""); err != nil || got != c.Result {
			t.Errorf("a protocol of %s alone has the digest %s (%v), want %s", one, got, err, c.Result)
		}
		return
	}
	t.Skipf("the schemas lack %s", one)
}
