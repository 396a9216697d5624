package check

import (
	"cmp"
	"strings"

	"github.com/parley-agents/parley/internal/lang/syntax"
	"github.com/parley-agents/parley/spec"
)

// A filling is a record that gets its fields.
type filling struct {
	scope  *scope
	record *spec.Record
	source *syntax.Record
	state  uint8
	broken bool
}

func (f *filling) fill() {
	if f.state != untouched {
		return
	}
	f.state = inProgress
	seen := make(map[string]bool)
	for _, item := range f.source.Members {
		if item.Base().Broken {
			f.broken = true
			continue
		}
		switch d := item.(type) {
		case *syntax.Field:
			f.field(d, seen)
		case *syntax.Spread:
			f.spread(d, seen)
		case *syntax.Reserved:
			f.scope.m.notYet(d, "reserved names are")
		}
	}
	f.state = resolved
}

// declare takes a name of a field in the source and on the wire, if no other has
// either.
func (f *filling) declare(at syntax.Span, local, wire string, seen map[string]bool) bool {
	for _, name := range []string{wire, "\x00" + local} {
		if seen[name] {
			f.broken = true
			f.scope.m.report("PAR1003", at, "", "duplicate field '%s'", strings.TrimPrefix(name, "\x00"))
			return false
		}
		seen[name] = true
	}
	return true
}

// tagged asks that no two fields have the same number.
func (f *filling) tagged(d *syntax.Field, seen map[string]bool) {
	for _, a := range d.Annotations {
		if a.Name.String() != "tag" || len(a.Args) != 1 {
			continue
		}
		number := a.Args[0].Value.Raw
		if seen["\x00@"+number] {
			f.scope.m.report("PAR1031", a.Span, "give it another", "two fields have the number %s", number)
		}
		seen["\x00@"+number] = true
	}
}

func (f *filling) field(d *syntax.Field, seen map[string]bool) {
	s, m := f.scope, f.scope.m
	a := m.annotations(d.Annotations, onField)
	field := spec.Field{Name: d.Name.Text, Annotations: a, Doc: d.Doc()}
	if wire, ok := text(a, "wire"); ok {
		field.Name, field.Local = wire, d.Name.Text
	}
	if !f.declare(d.Name.Span, d.Name.Text, field.Name, seen) {
		return
	}
	f.tagged(d, seen)
	field.Description, _ = text(a, "description")
	field.Alias, _ = argText(a, "uagents", "alias")
	field.Title, _ = argText(a, "uagents", "title")
	field.Untitled = argTrue(a, "uagents", "untitled")
	field.Keywords = keywords(a)
	typ := d.Type
	if o, ok := typ.(*syntax.Optional); ok {
		field.Optional = true
		typ = o.Type
	}
	name, named := text(a, "name")
	if !named {
		name = f.record.Name + pascal(d.Name.Text)
	}
	field.Type = s.typ(typ, name)
	if field.Type == wrong {
		f.broken = true
		f.record.Fields = append(f.record.Fields, field)
		return
	}
	if argTrue(a, "uagents", "omit_constraints") {
		field.Type = withoutLimits(field.Type)
	}
	if tag, ok := argText(a, "uagents", "tag"); ok {
		if u, is := field.Type.(*spec.Union); is {
			tagged := *u
			tagged.Tag = tag
			field.Type = &tagged
		}
	}
	if u, ok := field.Type.(*spec.Union); ok {
		field.Type, field.Nullable = withoutNull(u)
	}
	if d.Default != nil {
		field.Default = "null" // it has one, which is not known yet
	}
	f.record.Fields = append(f.record.Fields, field)
	if d.Default != nil {
		index := len(f.record.Fields) - 1
		m.c.later = append(m.c.later, func() { f.setDefault(index, d) })
	}
}

func (f *filling) setDefault(index int, d *syntax.Field) {
	field := &f.record.Fields[index]
	v, problem := f.scope.value(d.Default, field.Type, field.Optional || field.Nullable)
	if problem != "" {
		field.Default = ""
		hint := ""
		if scalar, ok := spec.AsScalar(field.Type); ok && d.Default.Kind == syntax.Word && scalar.Kind == spec.String {
			hint = "write `" + syntax.Quote(d.Default.Value) + "`"
		}
		f.scope.m.report("PAR1005", d.Default.Span, hint, "default %s %s", literalText(d.Default), problem)
		return
	}
	field.Default = v
}

func (f *filling) spread(d *syntax.Spread, seen map[string]bool) {
	m := f.scope.m
	def, ok := f.scope.lookup(&d.Name)
	if !ok {
		f.broken = true
		f.scope.unknown(&d.Name)
		return
	}
	t := m.c.settle(def)
	if t == wrong {
		f.broken = true
		return
	}
	r, ok := t.(*spec.Record)
	if !ok {
		f.broken = true
		m.report("PAR1014", d.Name.At(), "", "'%s' is no record, so it has no members to copy", d.Name.String())
		return
	}
	base := m.c.records[r]
	if base.state == inProgress {
		f.broken = true
		m.report("PAR1004", d.Name.At(), "remove one of the '...'", "record '%s' copies itself", r.Name)
		return
	}
	if m.c.depth++; m.c.depth > maxAliases {
		m.report("PAR0007", d.Name.At(), "", "records copy one another more than %d deep", maxAliases)
		f.broken = true
	} else {
		base.fill()
	}
	m.c.depth--
	if m.c.copied += len(r.Fields); m.c.copied > maxCopied {
		if m.c.copied-len(r.Fields) <= maxCopied {
			m.report("PAR1014", d.Name.At(), "", "more than %d members are copied in all", maxCopied)
		}
		f.broken = true
		return
	}
	f.broken = f.broken || base.broken
	for _, field := range r.Fields {
		if f.declare(d.Name.At(), cmp.Or(field.Local, field.Name), field.Name, seen) {
			f.record.Fields = append(f.record.Fields, field)
		}
	}
}

// pascal makes a part of a type's name of a field's name.
func pascal(name string) string {
	var b strings.Builder
	upper := true
	for _, r := range name {
		if r == '_' || r == '-' || r == ' ' || r == '.' {
			upper = true
			continue
		}
		if upper {
			b.WriteString(strings.ToUpper(string(r)))
		} else {
			b.WriteRune(r)
		}
		upper = false
	}
	return b.String()
}
