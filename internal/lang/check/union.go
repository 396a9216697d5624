package check

import (
	"slices"

	"github.com/parley-agents/parley/internal/lang/syntax"
	"github.com/parley-agents/parley/spec"
)

// union resolves the variants, lays unions in unions flat, drops repetitions and
// joins literals. Whether they can be told apart is asked later.
func (s *scope) union(t *syntax.Union, name string) spec.Type {
	m := s.m
	var variants []variant
	seen := make(map[spec.Type]bool)
	var literals *joined // the last variant, if it is made of literals
	failed := false
	for i, v := range t.Variants {
		inner := name
		if _, anonymous := v.Type.(*syntax.Record); anonymous {
			inner = name + "Variant"
		}
		if o, ok := v.Type.(*syntax.Optional); ok {
			m.report("PAR1009", syntax.Span{Start: o.End - 1, End: o.End}, "use `| Null` for a value that may be null, `( … )?` for a field that may be left out", "'?' only applies to a field, not to a variant")
			v.Type = o.Type
		}
		typ := s.typ(v.Type, inner)
		if typ == wrong {
			failed = true
			continue
		}
		for _, flat := range flatten(typ) {
			if l, ok := flat.(*spec.Literal); ok {
				if literals != nil {
					literals.add(l.Values)
					continue
				}
				literals = &joined{literal: &spec.Literal{}, seen: make(map[spec.JSON]bool)}
				literals.add(l.Values)
				flat = literals.literal
			} else {
				literals = nil
			}
			if seen[flat] || isCollection(flat) && slices.ContainsFunc(variants, func(o variant) bool { return same(o.typ, flat) }) {
				continue
			}
			seen[flat] = true
			variants = append(variants, variant{flat, i + 1})
			if len(variants) > maxVariants {
				m.report("PAR1012", t.Span, "give groups of them a literal field", "a union has at most %d variants", maxVariants)
				return wrong
			}
		}
	}
	if failed {
		return wrong
	}
	if len(variants) == 1 {
		return variants[0].typ
	}
	u := &spec.Union{}
	for _, v := range variants {
		u.Variants = append(u.Variants, v.typ)
	}
	if !s.aea {
		m.c.later = append(m.c.later, func() { s.tellApart(t, variants) })
	}
	return u
}

type variant struct {
	typ   spec.Type
	index int // among those written, from 1
}

func flatten(t spec.Type) []spec.Type {
	if u, ok := t.(*spec.Union); ok && u.Tag == "" {
		return u.Variants
	}
	return []spec.Type{t}
}

func isCollection(t spec.Type) bool {
	switch t.(type) {
	case *spec.List, *spec.Map:
		return true
	}
	return false
}

// same reports whether two types are one: the same name, kind or list of one.
func same(a, b spec.Type) bool {
	switch a := a.(type) {
	case spec.Kind:
		return a == b
	case *spec.List:
		l, ok := b.(*spec.List)
		return ok && a.Set == l.Set && a.Limits == l.Limits && same(a.Item, l.Item)
	case *spec.Map:
		m, ok := b.(*spec.Map)
		return ok && same(a.Key, m.Key) && same(a.Value, m.Value)
	}
	return a == b
}

// joined collects literals that stand side by side.
type joined struct {
	literal *spec.Literal
	seen    map[spec.JSON]bool
}

func (j *joined) add(values []spec.JSON) {
	for _, v := range values {
		if !j.seen[v] {
			j.seen[v] = true
			j.literal.Values = append(j.literal.Values, v)
		}
	}
}

// withoutNull takes null out of the type of a field, where it has a place of its
// own.
func withoutNull(u *spec.Union) (spec.Type, bool) {
	if u.Tag != "" || !slices.Contains(u.Variants, spec.Type(spec.Null)) {
		return u, false
	}
	rest := slices.DeleteFunc(slices.Clone(u.Variants), func(t spec.Type) bool { return t == spec.Null })
	if len(rest) == 1 {
		return rest[0], true
	}
	return &spec.Union{Variants: rest}, true
}

// maxPairs bounds how many variants are compared in a run.
const maxPairs = 2_000_000

// tellApart asks that a reader can see which variant a value is of.
func (s *scope) tellApart(t *syntax.Union, variants []variant) {
	for j := range variants {
		for i := range j {
			a, b := variants[i], variants[j]
			if a.index == b.index {
				continue // asked where that union stands
			}
			if s.m.c.pairs++; s.m.c.pairs > maxPairs {
				if s.m.c.pairs == maxPairs+1 {
					s.m.report("PAR2009", t.Span, "", "there are too many variants to compare all, so that they differ is not checked from here on")
				}
				return
			}
			if apart(a.typ, b.typ) {
				continue
			}
			hint := "add a literal field such as `type: \"x\"`"
			if kindsOf(a.typ)&jsonObject == 0 {
				hint = "put each into a record with a literal field such as `type: \"x\"`"
			}
			at := t.Variants[b.index-1].Type.At()
			s.m.report("PAR1010", at, hint, "variants %d and %d cannot be told apart", a.index, b.index)
			return
		}
	}
}

// jsonKinds are the kinds of JSON values that a type may have.
type jsonKinds uint8

const (
	jsonNull jsonKinds = 1 << iota
	jsonBool
	jsonNumber
	jsonString
	jsonArray
	jsonObject
	jsonAll = jsonObject<<1 - 1
)

func kindsOf(t spec.Type) jsonKinds {
	switch t := t.(type) {
	case *spec.List, *spec.Tuple:
		return jsonArray
	case *spec.Record, *spec.Map, *spec.Custom:
		return jsonObject
	case *spec.Literal:
		return kindsOfValues(t.Values)
	case *spec.Enum:
		if t.Open {
			return jsonString | kindsOfValues(t.Values)
		}
		return kindsOfValues(t.Values)
	case *spec.Union, *spec.Alias:
		return kindsOfParts(t, make(map[*spec.Alias]bool))
	}
	scalar, ok := spec.AsScalar(t)
	if !ok {
		return jsonAll
	}
	switch k := scalar.Kind; {
	case k == spec.Any:
		return jsonAll
	case k == spec.Null:
		return jsonNull
	case k == spec.Bool:
		return jsonBool
	case k == spec.Decimal:
		return jsonString
	case isNumber(k):
		return jsonNumber
	}
	return jsonString
}

// kindsOfParts looks through aliases, which may lead back to themselves.
func kindsOfParts(t spec.Type, seen map[*spec.Alias]bool) jsonKinds {
	switch t := t.(type) {
	case *spec.Union:
		var all jsonKinds
		for _, v := range t.Variants {
			all |= kindsOfParts(v, seen)
		}
		return all
	case *spec.Alias:
		if seen[t] {
			return 0
		}
		seen[t] = true
		return kindsOfParts(t.Type, seen)
	}
	return kindsOf(t)
}

func kindsOfValues(values []spec.JSON) jsonKinds {
	var all jsonKinds
	for _, v := range values {
		switch v[0] {
		case '"':
			all |= jsonString
		case 't', 'f':
			all |= jsonBool
		case 'n':
			all |= jsonNull
		default:
			all |= jsonNumber
		}
	}
	return all
}

// apart reports whether no value can be of both types, as far as a reader looks:
// at the kind of the value, at literals, at the fields of a record.
func apart(a, b spec.Type) bool {
	if kindsOf(a)&kindsOf(b) == 0 {
		return true
	}
	if x, ok := valuesOf(a); ok {
		y, ok := valuesOf(b)
		return ok && disjoint(x, y)
	}
	x, ok := a.(*spec.Record)
	if !ok {
		return false
	}
	y, ok := b.(*spec.Record)
	return ok && (requires(x, y) || requires(y, x) || literalsDiffer(x, y))
}

// valuesOf returns the values of a type that has only a few.
func valuesOf(t spec.Type) ([]spec.JSON, bool) {
	switch t := t.(type) {
	case *spec.Literal:
		return t.Values, true
	case *spec.Enum:
		return t.Values, !t.Open
	}
	return nil, false
}

func disjoint(a, b []spec.JSON) bool {
	return !slices.ContainsFunc(a, func(v spec.JSON) bool { return slices.Contains(b, v) })
}

// requires reports whether one record needs a field that the other does not have.
func requires(a, b *spec.Record) bool {
	for i := range a.Fields {
		if f := &a.Fields[i]; f.Required() && b.Field(f.Name) == nil {
			return true
		}
	}
	return false
}

// literalsDiffer reports whether the records have a field of distinct literals.
func literalsDiffer(a, b *spec.Record) bool {
	for i := range a.Fields {
		f := &a.Fields[i]
		x, ok := valuesOf(f.Type)
		other := b.Field(f.Name)
		if !ok || other == nil || f.Optional || other.Optional {
			continue
		}
		if y, ok := valuesOf(other.Type); ok && disjoint(x, y) {
			return true
		}
	}
	return false
}
