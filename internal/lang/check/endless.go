package check

import "github.com/parley-agents/parley/spec"

// grounded refuses records and aliases of which no value can be written down,
// because each holds another. Of a circle it names the first.
func (c *checker) grounded() {
	g := &grounding{finite: make(map[spec.Type]bool), waiting: make(map[spec.Type][]spec.Type)}
	for _, f := range c.fills {
		if f.broken {
			g.finite[f.record] = true
		}
	}
	for _, f := range c.fills {
		g.visit(f.record)
	}
	for _, d := range c.aliases {
		g.visit(d.alias)
	}
	told := make(map[spec.Type]bool) // what was told of, with all that hangs on it
	for _, f := range c.fills {
		r := f.record
		if g.finite[r] || !g.circular(r, told) {
			continue
		}
		at := f.source.Span
		if d := f.declaration(); d != nil {
			at = d.name.Span
		}
		f.scope.m.report("PAR1004", at, "make it `"+r.Name+"?` or `List<"+r.Name+">`", "record '%s' contains itself without a way to end", r.Name)
	}
	for _, d := range c.aliases {
		if d.typ == wrong || g.finite[d.alias] {
			continue
		}
		c.endless[d.alias] = true
		if g.circular(d.alias, told) {
			d.scope.m.report("PAR1004", d.name.Span, "", "type '%s' contains itself without a way to end", d.name.Text)
		}
	}
}

// declaration returns what declares the record, nil if it has no name.
func (f *filling) declaration() *definition {
	for _, d := range f.scope.types {
		if d.record == f.source {
			return d
		}
	}
	for _, d := range f.scope.messages {
		if d.record == f.source {
			return d
		}
	}
	return nil
}

// A grounding finds the named types that have a value which can be written down.
type grounding struct {
	finite  map[spec.Type]bool
	waiting map[spec.Type][]spec.Type // who may become finite when this does
}

func (g *grounding) visit(t spec.Type) {
	work := []spec.Type{t}
	for len(work) > 0 {
		t := work[len(work)-1]
		work = work[:len(work)-1]
		if g.finite[t] || !g.ground(t, t) {
			continue
		}
		g.finite[t] = true
		work = append(work, g.waiting[t]...)
		delete(g.waiting, t)
	}
}

// ground reports whether what is known makes the named type finite. If not, it
// waits for one that would help.
func (g *grounding) ground(t, waits spec.Type) bool {
	switch t := t.(type) {
	case *spec.Record:
		for i := range t.Fields {
			if f := &t.Fields[i]; f.Required() && !f.Nullable && !g.part(f.Type, waits) {
				return false
			}
		}
		return true
	case *spec.Alias:
		return g.part(t.Type, waits)
	}
	return true
}

func (g *grounding) part(t, waits spec.Type) bool {
	switch t := t.(type) {
	case *spec.Record:
		return g.named(t, waits)
	case *spec.Alias:
		return g.named(t, waits)
	case *spec.List:
		return t.Limits.MinItems == nil || *t.Limits.MinItems == 0 || g.part(t.Item, waits)
	case *spec.Tuple:
		for _, item := range t.Items {
			if !g.part(item, waits) {
				return false
			}
		}
	case *spec.Union:
		for _, v := range t.Variants {
			if g.part(v, waits) {
				return true
			}
		}
		return false
	}
	return true
}

func (g *grounding) named(t, waits spec.Type) bool {
	if g.finite[t] {
		return true
	}
	g.waiting[t] = append(g.waiting[t], waits)
	return false
}

// circular reports whether an endless type leads back to itself and was not told
// yet, and marks the circle as told.
func (g *grounding) circular(start spec.Type, told map[spec.Type]bool) bool {
	if told[start] {
		return false
	}
	seen := make(map[spec.Type]bool)
	way := []spec.Type{}
	found := false
	var walk func(t spec.Type) bool
	walk = func(t spec.Type) bool {
		for _, next := range g.needs(t) {
			if next == start {
				found = true
				return true
			}
			if !seen[next] && !told[next] && len(seen) < maxCircle {
				seen[next] = true
				if walk(next) {
					way = append(way, next)
					return true
				}
			}
		}
		return false
	}
	walk(start)
	if found {
		told[start] = true
		for _, t := range way {
			told[t] = true
		}
	}
	return found
}

// maxCircle bounds how far a circle is followed.
const maxCircle = 2000

// needs returns the endless types that the type holds.
func (g *grounding) needs(t spec.Type) []spec.Type {
	var all []spec.Type
	var part func(t spec.Type)
	part = func(t spec.Type) {
		switch t := t.(type) {
		case *spec.Record:
			if !g.finite[t] {
				all = append(all, t)
			}
		case *spec.Alias:
			if !g.finite[t] {
				all = append(all, t)
			}
		case *spec.List:
			if t.Limits.MinItems != nil && *t.Limits.MinItems > 0 {
				part(t.Item)
			}
		case *spec.Tuple:
			for _, item := range t.Items {
				part(item)
			}
		case *spec.Union:
			for _, v := range t.Variants {
				part(v)
			}
		}
	}
	switch t := t.(type) {
	case *spec.Record:
		for i := range t.Fields {
			if f := &t.Fields[i]; f.Required() && !f.Nullable {
				part(f.Type)
			}
		}
	case *spec.Alias:
		part(t.Type)
	}
	return all
}
