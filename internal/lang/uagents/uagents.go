// Package uagents turns the manifests that Python agents publish into sources of
// the language.
//
// A manifest names the messages that an agent handles, with their schemas, and
// what it may reply. [Import] writes that down as a person would: types with the
// names of their classes, two roles where the agent only answers, a dialogue. The
// source has the same digest as the manifest, or the diagnostics say what could
// not be kept.
package uagents

import (
	"fmt"
	"strings"

	"github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/internal/lang/diag"
	"github.com/parley-agents/parley/internal/lang/syntax"
	"github.com/parley-agents/parley/spec"
)

// Import turns a manifest into a source. The name is that of the file, for
// diagnostics. An error is a manifest that cannot be read; diagnostics are of the
// source that was made: PAR5020 if its digest is another.
func Import(name string, manifest []byte) ([]byte, diag.List, error) {
	p, err := spec.ParseManifest(manifest)
	if err != nil {
		return nil, nil, err
	}
	want, err := p.Digest("")
	if err != nil {
		return nil, nil, err
	}
	d := newDeclarations()
	shape := shapeOf(p)
	source := write(p, shape, d)
	file, found := syntax.Parse(name+".parley", source)
	if len(found) == 0 {
		source = syntax.Format(file)
	}
	result := check.File(name+".parley", source, check.Options{})
	return source, append(result.Diagnostics, compare(name, result, shape.handler(), want, d.lost)...), nil
}

// compare says whether the source has the digest of the manifest. Of a source with
// other mistakes nothing is said.
func compare(name string, result *check.Result, role, want string, lost []string) diag.List {
	if result.Diagnostics.HasErrors() || len(result.Protocols) != 1 {
		return nil
	}
	got, err := result.Protocols[0].Spec.Digest(role)
	switch {
	case err != nil:
		got = "none: " + err.Error()
	case got == want:
		return nil
	}
	hint := ""
	if len(lost) > 0 {
		hint = "the language cannot say: " + strings.Join(lost[:min(len(lost), 5)], "; ")
	}
	return diag.List{diag.New("PAR5020", diag.Span{File: name}, hint, "the digest of the source is %s, that of the manifest %s", got, want)}
}

// write writes the source of a protocol.
func write(p *spec.Protocol, s *shape, d *declarations) []byte {
	var messages strings.Builder
	used := make(map[string]bool) // bodies that other types use
	for i := range p.Messages {
		findUsed(p.Messages[i].Body, used, make(map[spec.Type]bool))
	}
	for i := range p.Messages {
		messages.WriteString(d.message(&p.Messages[i], s, used) + "\n")
	}
	var b strings.Builder
	b.WriteString("parley \"1\"\n\n")
	for _, body := range d.bodies {
		b.WriteString(body + "\n\n")
	}
	name := typeName(p.Name)
	if name != p.Name {
		fmt.Fprintf(&b, "@name(%s)\n", syntax.Quote(p.Name))
	}
	fmt.Fprintf(&b, "protocol %s", quoted(name))
	if p.Version != "" {
		fmt.Fprintf(&b, " version %s", syntax.Quote(p.Version))
	}
	b.WriteString(" {\n" + s.roles() + messages.String() + s.dialogue() + "}\n")
	return []byte(b.String())
}

// findUsed collects the names of the records within a body, the body itself only
// if it contains itself.
func findUsed(body spec.Type, used map[string]bool, seen map[spec.Type]bool) {
	var visit func(t spec.Type)
	visit = func(t spec.Type) {
		if spec.NameOf(t) != "" {
			used[spec.NameOf(t)] = true
			if seen[t] {
				return
			}
			seen[t] = true
		}
		parts(t, visit)
	}
	parts(body, visit)
}

// parts calls visit for the types of which a type is made.
func parts(t spec.Type, visit func(spec.Type)) {
	switch t := t.(type) {
	case *spec.Record:
		for i := range t.Fields {
			visit(t.Fields[i].Type)
		}
	case *spec.Alias:
		visit(t.Type)
	case *spec.List:
		visit(t.Item)
	case *spec.Map:
		visit(t.Value)
	case *spec.Tuple:
		for _, item := range t.Items {
			visit(item)
		}
	case *spec.Union:
		for _, v := range t.Variants {
			visit(v)
		}
	}
}

// message writes a message: its body at once, or its name if other types use it.
func (d *declarations) message(m *spec.Message, s *shape, used map[string]bool) string {
	name := s.names[m.Name]
	head := "message " + quoted(name) + s.from(m.Name)
	switch body := m.Body.(type) {
	case *spec.Record:
		if used[body.Name] {
			return head + " = " + quoted(d.name(body))
		}
		annotations := d.recordAnnotations(body)
		if name != body.Name {
			annotations = append([]string{"@name(" + syntax.Quote(body.Name) + ")"}, annotations...)
		}
		return join(annotations) + head + " " + d.record(body)
	case *spec.Alias:
		var annotations []string
		if body.Description != "" {
			annotations = append(annotations, "@description("+syntax.Quote(body.Description)+")")
		}
		if name != body.Name {
			annotations = append(annotations, "@name("+syntax.Quote(body.Name)+")")
		}
		d.loseKeywords(body.Keywords, body.Name)
		return join(annotations) + head + " = " + d.typ(body.Type)
	}
	return head + " {}"
}
