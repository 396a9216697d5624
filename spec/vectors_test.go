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
		if digests, err := spec.ManifestDigests(again, ""); err != nil || digests.Protocol != c.Digest || len(digests.Stale) > 0 {
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

func recordedSchema(t *testing.T, id string) schemaCase {
	t.Helper()
	cases := vectors.Decode[[]schemaCase](t, vectors.Load(t, "schemas.json")["schemas"])
	i := slices.IndexFunc(cases, func(c schemaCase) bool { return c.ID == id })
	if i < 0 {
		t.Skipf("the schemas lack %s", id)
	}
	return cases[i]
}

type modelGroups map[string]map[string]struct {
	Digest string `json:"digest"`
	Schema string `json:"schema"`
}

func recordedModel(t *testing.T, group, name string) string {
	t.Helper()
	groups := vectors.Decode[modelGroups](t, vectors.Load(t, "digests.json")["models"])
	model, ok := groups[group][name]
	if !ok {
		t.Skipf("the digests lack %s of %s", name, group)
	}
	return model.Digest
}

// TestDigestVectors rebuilds the protocols of the example programs from their
// models. A program says which models by name only, and the examples know three
// versions of chat, so one of them must fit.
func TestDigestVectors(t *testing.T) {
	file := vectors.Load(t, "digests.json")
	groups := vectors.Decode[modelGroups](t, file["models"])
	file.Run(t, map[string]vectors.Check{
		"models": func(t *testing.T, _ json.RawMessage) {
			for group, models := range groups {
				for name, model := range models {
					parsed, err := spec.ParseSchema([]byte(model.Schema))
					if err != nil {
						t.Errorf("%s, %s: %v", group, name, err)
					} else if got := digestOf(t, parsed); got != model.Digest {
						t.Errorf("%s, %s: digest = %s, want %s", group, name, got, model.Digest)
					}
				}
			}
		},
		"chat variants": func(t *testing.T, text json.RawMessage) {
			for name, p := range vectors.Decode[map[string]programProtocol](t, text) {
				p.check(t, name, groups)
			}
		},
		"programs": func(t *testing.T, text json.RawMessage) {
			for name, raw := range vectors.Decode[map[string]json.RawMessage](t, text) {
				var programs []program
				if err := json.Unmarshal(raw, &programs); err != nil {
					programs = []program{vectors.Decode[program](t, raw)}
				}
				for _, p := range programs {
					for _, protocol := range p.Protocols {
						protocol.check(t, name, groups)
					}
				}
			}
		},
		"health specification per role": func(t *testing.T, text json.RawMessage) {
			p := healthProtocol(t, groups)
			for role, want := range vectors.Decode[map[string]string](t, text) {
				if role == "None" {
					role = ""
				}
				if got, err := p.Digest(role); err != nil || got != want {
					t.Errorf("role %q: digest = %s (%v), want %s", role, got, err, want)
				}
			}
		},
	}, "library", "addresses")
}

type program struct {
	Name, Address, Implicit string
	Protocols               []programProtocol
}

type programProtocol struct {
	Name, Version, Role, Variant, Digest string
	Interactions                         map[string][]string
}

func (p programProtocol) check(t *testing.T, where string, groups modelGroups) {
	t.Helper()
	for chat := range groups {
		body := func(name string) (spec.Type, error) {
			model, ok := groups[chat][name]
			for _, group := range []string{"common", "ai_agent", "client", "echo", "rest_agent"} {
				if !ok {
					model, ok = groups[group][name]
				}
			}
			return spec.ParseSchema([]byte(model.Schema))
		}
		built := spec.Protocol{Name: p.Name, Version: p.Version}
		complete := true
		add := func(name string) {
			if built.Message(name) != nil {
				return
			}
			b, err := body(name)
			complete = complete && err == nil
			built.Messages = append(built.Messages, spec.Message{Name: name, Body: b})
		}
		for request, replies := range p.Interactions {
			add(request)
			for _, r := range replies {
				add(r)
			}
			built.Rules = append(built.Rules, spec.Rule{Message: request, Replies: replies})
		}
		if got, err := built.Digest(""); complete && err == nil && got == p.Digest {
			return
		}
	}
	t.Errorf("%s: no version of the models gives %s %s the digest %s", where, p.Name, p.Version, p.Digest)
}

// The health protocol of the library: the agent's role handles the check, the
// monitor's the answer. Here the receivers follow from the senders.
func healthProtocol(t *testing.T, groups modelGroups) *spec.Protocol {
	p := &spec.Protocol{
		Name: "HealthProtocol", Version: "0.1.0",
		Roles: []spec.Role{{Name: "agent"}, {Name: "monitor"}},
		Rules: []spec.Rule{{Message: "HealthCheck", Replies: []string{"AgentHealth"}}, {Message: "AgentHealth"}},
	}
	for name, sender := range map[string]string{"HealthCheck": "monitor", "AgentHealth": "agent"} {
		body, err := spec.ParseSchema([]byte(groups["ai_agent"][name].Schema))
		if err != nil {
			t.Fatal(err)
		}
		p.Messages = append(p.Messages, spec.Message{Name: name, Body: body, From: []string{sender}})
	}
	return p
}
