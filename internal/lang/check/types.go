package check

import (
	"strconv"
	"strings"

	"github.com/parley-agents/parley/internal/lang/syntax"
	"github.com/parley-agents/parley/spec"
)

// wrong stands for a type about which something was reported. Nothing more is
// said about what contains it.
var wrong spec.Type = &spec.Custom{Name: "?"}

const (
	maxAliases  = 200    // that lead to one another
	maxCopied   = 20_000 // members in all, by spreads
	maxVariants = 500    // of one union
	maxWritten  = 10_000 // parts of a type without a name, all aliases written out
)

// settle resolves a definition once. Records are filled later, so that they may
// contain one another.
func (c *checker) settle(d *definition) spec.Type {
	switch d.state {
	case resolved:
		c.size += d.size
		return d.typ
	case inProgress:
		return d.itself()
	}
	m := d.scope.m
	size := c.size
	if d.item.Base().Broken {
		d.state, d.typ = resolved, wrong
		if d.record != nil && d.record.Whole { // of which the other members can be judged
			d.scope.record(d.record, &spec.Record{Name: d.name.Text}, nil)
		}
		return wrong
	}
	if c.depth++; c.depth > maxAliases {
		m.report("PAR0007", d.name.Span, "", "types refer to one another more than %d deep", maxAliases)
		d.state, d.typ = resolved, wrong
	} else {
		d.state = inProgress
		d.typ = d.make()
		d.state = resolved
		if d.alias != nil && d.typ != wrong {
			d.alias.Type = d.typ
			d.typ = d.alias
		}
		if d.size = c.size - size; d.size > maxWritten {
			m.report("PAR0007", d.name.Span, "make parts of it records", "type '%s' has more than %d parts when all its names are written out", d.name.Text, maxWritten)
			d.size, d.typ = 0, wrong
		}
		switch d.typ.(type) {
		case *spec.Record, *spec.Enum, *spec.Alias, *spec.Custom:
			d.size = 1
		}
	}
	c.size = size
	c.depth--
	return d.typ
}

// itself is what an alias that is being resolved is called inside itself.
func (d *definition) itself() spec.Type {
	if d.alias == nil {
		d.alias = &spec.Alias{Name: d.name.Text}
		d.scope.m.c.aliases = append(d.scope.m.c.aliases, d)
	}
	return d.alias
}

func (d *definition) make() spec.Type {
	s := d.scope
	switch item := d.item.(type) {
	case *syntax.TypeDecl:
		a := s.m.annotations(item.Annotations, onType)
		if d.record != nil {
			return s.record(d.record, &spec.Record{Name: d.name.Text, Open: item.Open, Doc: item.Doc()}, a)
		}
		if item.Open {
			s.m.report("PAR0009", item.Name.Span, "remove 'open'", "only a record or an enum can be open")
		}
		return s.typ(item.Type, d.name.Text)
	case *syntax.EnumDecl:
		return s.enum(item)
	case *syntax.CustomDecl:
		s.m.annotations(item.Annotations, onCustom)
		return &spec.Custom{Name: d.name.Text, Body: item.Body.Value, Doc: item.Doc()}
	case *syntax.MessageDecl:
		a := s.m.annotations(item.Annotations, onMessage)
		if !item.Alias {
			return s.record(d.record, &spec.Record{Name: d.name.Text, Doc: item.Doc()}, a)
		}
		t := s.typ(item.Body, d.name.Text)
		switch t := t.(type) {
		case *spec.Record, *spec.Alias:
			return t
		}
		if t == wrong {
			return wrong
		}
		alias := &spec.Alias{Name: d.name.Text, Type: t, Doc: item.Doc()}
		alias.Description, _ = text(a, "description")
		if name, ok := text(a, "name"); ok {
			alias.Name = name
		}
		return alias
	}
	return wrong
}

// typ resolves a type. The name is that of records without one.
func (s *scope) typ(t syntax.Type, name string) spec.Type {
	s.m.c.size++
	switch t := t.(type) {
	case *syntax.Named:
		return s.named(t, name)
	case *syntax.Record:
		return s.record(t, &spec.Record{Name: s.m.anonymousName(name)}, nil)
	case *syntax.LiteralType:
		v, ok := jsonOf(t.Value)
		if !ok {
			return wrong
		}
		return &spec.Literal{Values: []spec.JSON{v}}
	case *syntax.Union:
		return s.union(t, name)
	case *syntax.Optional:
		inner := s.typ(t.Type, name)
		s.m.report("PAR1009", syntax.Span{Start: t.End - 1, End: t.End}, "use `"+syntax.TypeText(t.Type)+" | Null`", "'?' only applies to a field")
		return inner
	}
	return wrong
}

func (m *module) anonymousName(name string) string {
	m.anonymous[name]++
	if n := m.anonymous[name]; n > 1 {
		return name + strconv.Itoa(n)
	}
	return name
}

func (s *scope) named(t *syntax.Named, name string) spec.Type {
	id := t.Name.First.Text
	kind, builtin := builtins[id]
	if builtin && len(t.Name.Rest) == 0 && !t.Name.First.Quoted {
		want, generic := generics[id]
		if len(t.Of) != want && (want >= 0 || len(t.Of) == 0) {
			s.m.report("PAR1012", t.Span, arityHint(id), "%s takes %s, found %d", id, count(want), len(t.Of))
			return wrong
		}
		var typ spec.Type = kind
		if generic {
			if typ = s.generic(id, t, name); typ == wrong {
				return wrong
			}
		}
		return s.limited(t, typ)
	}
	def, ok := s.lookup(&t.Name)
	if !ok || isItself(def) {
		s.unknown(&t.Name)
		return wrong
	}
	typ := s.m.c.settle(def)
	if len(t.Of) > 0 && typ != wrong {
		s.m.report("PAR1012", t.Span, "", "'%s' takes no types", t.Name.String())
		return wrong
	}
	if len(t.Args) > 0 && typ != wrong {
		return s.limited(t, typ)
	}
	return typ
}

// isItself reports whether what was found is the message that is being resolved:
// `message a = a` names a type that is not there.
func isItself(d *definition) bool {
	_, message := d.item.(*syntax.MessageDecl)
	return message && d.state == inProgress
}

func count(n int) string {
	switch n {
	case 0:
		return "no types"
	case 1:
		return "one type"
	case -1:
		return "one or more types"
	}
	return "two types"
}

func arityHint(id string) string {
	switch id {
	case "List", "Set":
		return "write `" + id + "<String>`"
	case "Map":
		return "write `Map<String, Int>`"
	case "Tuple":
		return "write `Tuple<String, Int>`"
	}
	return "remove the types"
}

func (s *scope) generic(id string, t *syntax.Named, name string) spec.Type {
	items := make([]spec.Type, len(t.Of))
	sound := true
	for i, of := range t.Of {
		inner := name
		if _, anonymous := of.(*syntax.Record); anonymous {
			inner = name + "Item"
		}
		items[i] = s.typ(of, inner)
		sound = sound && items[i] != wrong
	}
	if id == "Map" && items[0] != wrong {
		s.m.c.later = append(s.m.c.later, func() { s.mapKey(t.Of[0], items[0]) })
	}
	if !sound {
		return wrong
	}
	switch id {
	case "Map":
		return &spec.Map{Key: items[0], Value: items[1]}
	case "Tuple":
		return &spec.Tuple{Items: items}
	}
	return &spec.List{Item: items[0], Set: id == "Set"}
}

func (s *scope) mapKey(at syntax.Type, key spec.Type) {
	if s.m.c.endless[key] {
		return
	}
	switch k := key.(type) {
	case *spec.Enum:
		return
	case *spec.Literal:
		for _, v := range k.Values {
			if !strings.HasPrefix(string(v), `"`) {
				s.m.report("PAR1008", at.At(), "", "map key must be String, an integer, Bool, Uuid or an enum")
				return
			}
		}
		return
	}
	if scalar, ok := spec.AsScalar(key); ok {
		switch k := scalar.Kind; {
		case isInteger(k), k == spec.String, k == spec.Bool, k == spec.UUID, k == spec.UUID4:
			return
		}
	}
	s.m.report("PAR1008", at.At(), "", "map key must be String, an integer, Bool, Uuid or an enum")
}

// record makes a record whose fields are filled when all names are known.
func (s *scope) record(t *syntax.Record, r *spec.Record, a []spec.Annotation) spec.Type {
	r.Annotations = a
	r.Description, _ = text(a, "description")
	if name, ok := text(a, "name"); ok {
		r.Name = name
	}
	r.Title, _ = argText(a, "uagents", "title")
	r.Key, _ = argText(a, "uagents", "key")
	r.Closed = argTrue(a, "uagents", "closed")
	r.Keywords = keywords(a)
	f := &filling{scope: s, record: r, source: t}
	s.m.c.records[r] = f
	s.m.c.fills = append(s.m.c.fills, f)
	return r
}

func (s *scope) enum(d *syntax.EnumDecl) spec.Type {
	a := s.m.annotations(d.Annotations, onEnum)
	e := &spec.Enum{Name: d.Name.Text, Open: d.Open, Doc: d.Doc()}
	e.Description, _ = text(a, "description")
	if name, ok := text(a, "name"); ok {
		e.Name = name
	}
	e.Title, _ = argText(a, "uagents", "title")
	e.Key, _ = argText(a, "uagents", "key")
	e.Keywords = keywords(a)
	mixin, _ := argText(a, "uagents", "enum")
	switch mixin {
	case "str":
		e.Base = spec.String
	case "int":
		e.Base = spec.Int
	case "float":
		e.Base = spec.Float
	}
	names, values := make(map[string]bool), make(map[spec.JSON]string)
	for _, item := range d.Items {
		v, ok := item.(*syntax.EnumValue)
		if !ok {
			s.m.notYet(item, "reserved names are")
			continue
		}
		of := s.m.annotations(v.Annotations, onValue)
		if names[v.Name.Text] {
			s.m.report("PAR1003", v.Name.Span, "", "duplicate value '%s'", v.Name.Text)
			continue
		}
		names[v.Name.Text] = true
		value := quoteJSON(v.Name.Text)
		if wire, ok := text(of, "wire"); ok && v.Value == nil {
			value = quoteJSON(wire)
		}
		if v.Value != nil {
			if value, ok = jsonOf(v.Value); !ok || v.Value.Kind == syntax.List || v.Value.Kind == syntax.Object || v.Value.Kind == syntax.Word && v.Value.Value != "true" && v.Value.Value != "false" {
				s.m.report("PAR1015", v.Value.Span, `such as = "value"`, "an enum value is a string, a number, true or false")
				continue
			}
		}
		if other, taken := values[value]; taken {
			s.m.report("PAR1015", v.Name.Span, "give it another", "'%s' and '%s' have the same value %s", other, v.Name.Text, value)
			continue
		}
		if fits := map[string]bool{"str": value[0] == '"', "int": isWhole(string(value)), "float": value[0] != '"' && value[0] != 't' && value[0] != 'f'}; mixin != "" && !fits[mixin] {
			s.m.report("PAR1015", v.Name.Span, "", "value %s of '%s' does not fit @uagents(enum: %q)", value, v.Name.Text, mixin)
			continue
		}
		values[value] = v.Name.Text
		e.Values = append(e.Values, value)
		e.Names = append(e.Names, v.Name.Text)
	}
	if len(e.Values) == 0 && len(names) == 0 {
		s.m.report("PAR1015", d.Name.Span, "add one", "enum '%s' has no values", d.Name.Text)
	}
	return e
}

func isWhole(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

func (m *module) notYet(item syntax.Item, what string) {
	m.report("PAR2009", item.Base().Span, "", "%s read but not yet checked", what)
}
