package gen

import (
	"strings"

	"github.com/parley-agents/parley/internal/lang/diag"
	"github.com/parley-agents/parley/spec"
)

const manifestSuffix = ".manifest.json"

// emitManifest writes what a Python agent publishes, for each role of each
// protocol. It has no line that says that it is generated: that would be another
// manifest.
func emitManifest(plan *Plan, found *problems) []File {
	var files []File
	for _, p := range plan.Protocols {
		if !jsonMessages(plan, p, found) {
			continue
		}
		if len(p.Spec.Roles) > 2 {
			found.add("PAR5006", p.place(plan, "", ""), "", "a uAgents protocol has one or two roles, not %d", len(p.Spec.Roles))
			continue
		}
		roles := []string{""}
		if len(p.Spec.Roles) > 0 {
			roles = nil
			for _, r := range p.Spec.Roles {
				roles = append(roles, r.Name)
			}
		}
		for _, role := range roles {
			text, err := p.Spec.Manifest(role)
			if err != nil {
				found.add("PAR5031", p.place(plan, "", ""), "", "there is no manifest: %v", err)
				continue
			}
			name := Pascal(p.Name) // a name in backticks may be any text, also a path
			if len(roles) > 1 {
				name += "." + snake(role)
			}
			files = append(files, File{Path: name + manifestSuffix, Text: append(text, '\n')})
		}
	}
	return files
}

// jsonMessages reports the parts of a protocol's messages that have no form in
// JSON.
func jsonMessages(plan *Plan, p *Protocol, found *problems) bool {
	before := len(found.list)
	for _, m := range p.Messages {
		if m.Decl == nil {
			continue
		}
		r := m.Decl.Type.(*spec.Record)
		for i := range r.Fields {
			at, _ := m.Decl.field(plan.file, &r.Fields[i])
			jsonField(p, r.Fields[i].Type, at, found, make(map[spec.Type]bool))
		}
	}
	return len(found.list) == before
}

func jsonField(p *Protocol, t spec.Type, at diag.Span, found *problems, seen map[spec.Type]bool) {
	if seen[t] {
		return
	}
	switch t := t.(type) {
	case *spec.Custom:
		found.add("PAR5031", at, "use a record, or generate proto or aea", "custom type '%s' has no JSON form", t.Name)
	case *spec.Record:
		seen[t] = true
		for i := range t.Fields {
			jsonField(p, t.Fields[i].Type, at, found, seen)
		}
	case *spec.List:
		jsonField(p, t.Item, at, found, seen)
	case *spec.Map:
		jsonField(p, t.Value, at, found, seen)
	case *spec.Tuple:
		for _, item := range t.Items {
			jsonField(p, item, at, found, seen)
		}
	case *spec.Alias:
		seen[t] = true
		jsonField(p, t.Type, at, found, seen)
	case *spec.Union:
		seen[t] = true
		if isAEA(p.Spec) && jsonKinds(t) == nil {
			if key, _ := tagged(t); key == "" {
				found.add("PAR5007", at, "add a literal field, or keep the protocol to AEA", "variants %s look alike in JSON", alikeNames(t))
			}
		}
		for _, v := range t.Variants {
			jsonField(p, v, at, found, seen)
		}
	}
}

// alikeNames names the variants that share a kind of JSON value.
func alikeNames(u *spec.Union) string {
	byKind := make(map[string][]string)
	for _, v := range u.Variants {
		name := spec.NameOf(v)
		if name == "" {
			name = shapeName(v)
		}
		kind := jsonKind(v)
		if byKind[kind] = append(byKind[kind], name); len(byKind[kind]) > 1 {
			return strings.Join(byKind[kind], " and ")
		}
	}
	return "of the union"
}
