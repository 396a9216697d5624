package gen

import (
	"github.com/parley-agents/parley/internal/lang/diag"
	"github.com/parley-agents/parley/internal/lang/syntax"
	"github.com/parley-agents/parley/spec"
)

// nameOf is where the name of a declaration stands.
func nameOf(item syntax.Item) syntax.Span {
	switch d := item.(type) {
	case *syntax.TypeDecl:
		return d.Name.Span
	case *syntax.EnumDecl:
		return d.Name.Span
	case *syntax.MessageDecl:
		return d.Name.Span
	case *syntax.CustomDecl:
		return d.Name.Span
	}
	return item.Base().Span
}

// recordIn finds the record that a type is made of.
func recordIn(t syntax.Type) *syntax.Record {
	switch t := t.(type) {
	case *syntax.Record:
		return t
	case *syntax.Optional:
		return recordIn(t.Type)
	case *syntax.Named:
		for _, of := range t.Of {
			if r := recordIn(of); r != nil {
				return r
			}
		}
	case *syntax.Union:
		for _, v := range t.Variants {
			if r := recordIn(v.Type); r != nil {
				return r
			}
		}
	}
	return nil
}

// field finds where a field of a record stands, and the record inside its type.
func (d *Decl) field(file *syntax.File, f *spec.Field) (diag.Span, *syntax.Record) {
	if d.source == nil {
		return d.at, nil
	}
	for _, item := range d.source.Members {
		if m, ok := item.(*syntax.Field); ok && m.Name.Text == localName(f) {
			return file.At(m.Name.Span), recordIn(m.Type)
		}
	}
	return d.at, nil
}

// place finds where a message or one of its fields stands.
func (p *Protocol) place(plan *Plan, message, field string) diag.Span {
	for _, m := range p.Messages {
		if m.Name != message {
			continue
		}
		if m.Decl != nil && field != "" {
			if f := m.Decl.Type.(*spec.Record).Field(field); f != nil {
				at, _ := m.Decl.field(plan.file, f)
				return at
			}
		}
		return m.at
	}
	return p.File.At(p.Decl.Name.Span)
}
