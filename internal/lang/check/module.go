package check

import (
	"path"
	"strings"

	"github.com/parley-agents/parley/internal/lang/diag"
	"github.com/parley-agents/parley/internal/lang/syntax"
	"github.com/parley-agents/parley/spec"
)

// A module is one file.
type module struct {
	c       *checker
	path    string
	file    *syntax.File
	pkg     *syntax.Package
	imports []importOf
	missing []*syntax.Import // not found
	top     *scope
	traits  map[string]*syntax.AnnotationDecl

	protocols []*Protocol
	anonymous map[string]int     // names of records without one
	said      [diag.Note + 1]int // how much, by severity
}

type importOf struct {
	decl   *syntax.Import
	module *module
}

// A scope holds the declarations of a file or of a protocol in it.
type scope struct {
	m        *module
	outer    *scope
	protocol *syntax.ProtocolDecl
	types    map[string]*definition
	messages map[string]*definition
	inOrder  []*definition // types only
	visible  []string      // names for hints, once they are needed
	aea      bool
}

// A definition is a type that was declared.
type definition struct {
	scope  *scope
	name   syntax.Name
	item   syntax.Item
	typ    spec.Type
	alias  *spec.Alias // made when the type refers to itself
	state  uint8
	size   int            // how many parts it has when written out
	record *syntax.Record // of a record
}

const (
	untouched uint8 = iota
	inProgress
	resolved
)

func (d *definition) export() *Type {
	return &Type{Name: d.name.Text, File: d.scope.m.file, Decl: d.item, Spec: d.typ}
}

// imported loads what the file imports.
func (m *module) imported() {
	aliases := make(map[string]syntax.Span)
	seen := make(map[*module]bool)
	for _, item := range m.file.Items {
		switch item := item.(type) {
		case *syntax.Edition:
			if item.Value != nil && item.Value.Value != "1" {
				m.report("PAR0009", item.Value.Span, `write parley "1"`, "edition %q is not known; this is a tool for edition \"1\"", item.Value.Value)
			}
		case *syntax.Package:
			m.pkg = item
		case *syntax.Import:
			if item.Path == nil || item.Broken {
				continue
			}
			other := m.find(item)
			switch {
			case other == nil:
				m.missing = append(m.missing, item)
				continue
			case seen[other] && item.Alias.Text == "":
				m.report("PAR1002", item.Span, "remove one", "'%s' is imported twice", item.Path.Value)
				continue
			case item.Alias.Text != "" && aliases[item.Alias.Text] != (syntax.Span{}):
				m.report("PAR1002", item.Alias.Span, "choose another name", "'%s' names two imports", item.Alias.Text)
				continue
			}
			aliases[item.Alias.Text] = item.Alias.Span
			seen[other] = true
			m.imports = append(m.imports, importOf{item, other})
		}
	}
}

// find returns the module that an import names.
func (m *module) find(item *syntax.Import) *module {
	named := item.Path.Value
	if named == "" || path.IsAbs(named) || strings.Contains(named, "://") || strings.Contains(named, `\`) {
		m.report("PAR1020", item.Path.Span, "paths are relative and have slashes", "cannot import '%s'", named)
		return nil
	}
	candidates := []string{path.Join(path.Dir(m.path), named)}
	for _, root := range m.c.options.Roots {
		candidates = append(candidates, path.Join(root, named))
	}
	for _, candidate := range candidates {
		if known := m.c.modules[candidate]; known != nil {
			return known
		}
		if m.c.options.Load == nil {
			continue
		}
		if text, err := m.c.options.Load(candidate); err == nil {
			return m.c.add(candidate, candidate, text)
		}
	}
	m.report("PAR1020", item.Path.Span, "looked for "+strings.Join(candidates, ", "), "there is no file '%s'", named)
	return nil
}

// cycles refuses imports that lead back, and packages in two major versions.
func (c *checker) cycles() {
	state := make(map[*module]uint8)
	var walk func(m *module, trail []string)
	walk = func(m *module, trail []string) {
		state[m] = inProgress
		trail = append(trail, m.file.Name)
		for _, im := range m.imports {
			switch {
			case state[im.module] == inProgress:
				m.report("PAR1022", im.decl.Path.Span, "move what both need to a third file",
					"import cycle: %s", strings.Join(append(trail, im.module.file.Name), " -> "))
			case state[im.module] == untouched && len(trail) < maxImportDepth:
				walk(im.module, trail)
			}
		}
		state[m] = resolved
	}
	for _, m := range c.order {
		if state[m] == untouched {
			walk(m, nil)
		}
	}
	for _, m := range c.order {
		m.versions()
	}
}

const maxImportDepth = 500

// versions asks that all files which a file sees agree on the major version of
// each package.
func (m *module) versions() {
	if len(m.imports) == 0 {
		return
	}
	type origin struct{ major, file string }
	first := make(map[string]origin)
	for _, im := range m.imports {
		seen := make(map[*module]bool)
		var walk func(o *module)
		walk = func(o *module) {
			if seen[o] {
				return
			}
			seen[o] = true
			if name, version := o.identity(); name != "" && version != "" {
				major, _, _ := strings.Cut(version, ".")
				if before, ok := first[name]; !ok {
					first[name] = origin{major, o.file.Name}
				} else if before.major != major {
					m.report("PAR1021", im.decl.Path.Span, "let all files import the same one",
						"two major versions of '%s': %s in %s, %s in %s", name, before.major, before.file, major, o.file.Name)
					first[name] = origin{major, o.file.Name}
				}
			}
			for _, next := range o.imports {
				walk(next.module)
			}
		}
		walk(im.module)
	}
}

// identity returns the name and version of the file's package.
func (m *module) identity() (name, version string) {
	if m.pkg == nil {
		return "", ""
	}
	if m.pkg.Version != nil {
		version = m.pkg.Version.Value
	}
	return m.pkg.Name.String(), version
}

// declare notes the names of all declarations.
func (m *module) declare() {
	m.anonymous = make(map[string]int)
	m.traits = make(map[string]*syntax.AnnotationDecl)
	m.top = m.newScope(nil, nil)
	for _, item := range m.file.Items {
		m.top.declare(item)
	}
	for _, item := range m.file.Items {
		if d, ok := item.(*syntax.ProtocolDecl); ok && d.Name.Text != "" {
			m.declareProtocol(d)
		}
	}
	m.top.aea = m.allAEA()
}

// allAEA reports whether all that the file declares travels as protobuf.
func (m *module) allAEA() bool {
	if m.pkg != nil && has(m.pkg.Annotations, "aea") {
		return true
	}
	for _, p := range m.protocols {
		if !has(p.Decl.Annotations, "aea") {
			return false
		}
	}
	return len(m.protocols) > 0
}

func has(list []*syntax.Annotation, name string) bool {
	for _, a := range list {
		if len(a.Name.Rest) == 0 && a.Name.First.Text == name {
			return true
		}
	}
	return false
}

func (m *module) newScope(outer *scope, protocol *syntax.ProtocolDecl) *scope {
	return &scope{m: m, outer: outer, protocol: protocol, types: make(map[string]*definition), messages: make(map[string]*definition)}
}

func (m *module) declareProtocol(d *syntax.ProtocolDecl) {
	for _, other := range m.protocols {
		if other.Name == d.Name.Text {
			m.twice(d.Name, other.Decl.Name, "")
			return
		}
	}
	s := m.newScope(m.top, d)
	for _, item := range d.Items {
		s.declare(item)
	}
	s.aea = has(d.Annotations, "aea") || m.pkg != nil && has(m.pkg.Annotations, "aea")
	m.protocols = append(m.protocols, &Protocol{Name: d.Name.Text, File: m.file, Decl: d, converter: s})
}

// declare notes one declaration.
func (s *scope) declare(item syntax.Item) {
	var name syntax.Name
	var record *syntax.Record
	names := s.types
	switch d := item.(type) {
	case *syntax.TypeDecl:
		name = d.Name
		record, _ = d.Type.(*syntax.Record)
	case *syntax.EnumDecl:
		name = d.Name
	case *syntax.CustomDecl:
		name = d.Name
	case *syntax.MessageDecl:
		name, names = d.Name, s.messages
		record, _ = d.Body.(*syntax.Record)
	case *syntax.AnnotationDecl:
		if first := s.m.traits[d.Name.String()]; first != nil {
			at := s.m.file.At(first.Name.At()).Start
			s.m.report("PAR1002", d.Name.At(), "rename one", "annotation '%s' is declared twice; first at %d:%d", d.Name.String(), at.Line, at.Column)
			return
		}
		s.m.traits[d.Name.String()] = d
		return
	default:
		return
	}
	if name.Text == "" {
		return
	}
	if first := names[name.Text]; first != nil {
		s.m.twice(name, first.name, "rename one or move it to another package")
		return
	}
	if _, builtin := builtins[name.Text]; builtin && !name.Quoted {
		if _, message := item.(*syntax.MessageDecl); !message {
			s.m.report("PAR1002", name.Span, "rename it", "'%s' is a built-in type", name.Text)
			return
		}
	}
	def := &definition{scope: s, name: name, item: item, record: record}
	names[name.Text] = def
	if _, message := item.(*syntax.MessageDecl); !message {
		s.inOrder = append(s.inOrder, def)
	}
}

func (m *module) twice(again, first syntax.Name, hint string) {
	at := m.file.At(first.Span).Start
	m.report("PAR1002", again.Span, hint, "'%s' is declared twice; first at %d:%d", again.Text, at.Line, at.Column)
}

// lookup finds a declared type. A message stands for its content where no type
// has the name.
func (s *scope) lookup(q *syntax.QName) (*definition, bool) {
	if len(q.Rest) == 0 {
		name := q.First.Text
		for at := s; at != nil; at = at.outer {
			if d := at.types[name]; d != nil {
				return d, true
			}
		}
		if d := s.imported(q, func(top *scope) *definition { return top.types[name] }); d != nil {
			return d, true
		}
		for at := s; at != nil; at = at.outer {
			if d := at.messages[name]; d != nil {
				return d, true
			}
		}
		d := s.imported(q, func(top *scope) *definition { return top.messages[name] })
		return d, d != nil
	}
	last := q.Rest[len(q.Rest)-1].Text
	for _, im := range s.m.imports {
		if im.names(q) {
			d := im.module.top.types[last]
			if d == nil {
				d = im.module.top.messages[last]
			}
			if d != nil {
				return d, true
			}
		}
	}
	return nil, false
}

// imported finds what a plain name means in the imports. If it means two things,
// that is told, and the first of them counts.
func (s *scope) imported(q *syntax.QName, find func(top *scope) *definition) *definition {
	var first *definition
	for _, im := range s.m.imports {
		if im.decl.Alias.Text != "" {
			continue
		}
		d := find(im.module.top)
		switch {
		case d == nil:
		case first == nil:
			first = d
		default:
			s.m.report("PAR1002", q.At(), "give one of the imports a name: `import … as x`, and write `x."+q.String()+"`",
				"'%s' is declared in %s and in %s", q.String(), first.scope.m.file.Name, d.scope.m.file.Name)
			return first
		}
	}
	return first
}

// names reports whether the qualifier of a name is that of the import: its
// alias, or its package where it has none.
func (im importOf) names(q *syntax.QName) bool {
	text := q.String()
	qualifier := text[:strings.LastIndexByte(text, '.')]
	if im.decl.Alias.Text != "" {
		return im.decl.Alias.Text == qualifier
	}
	pkg, _ := im.module.identity()
	return pkg == qualifier
}

// unknown reports a type that is not known, unless it may be one that was not
// understood.
func (s *scope) unknown(q *syntax.QName) {
	last := q.First.Text
	if len(q.Rest) > 0 {
		last = q.Rest[len(q.Rest)-1].Text
	}
	if s.m.file.Lost(last) {
		return
	}
	for _, im := range s.m.missing {
		if im.Alias.Text == "" || len(q.Rest) > 0 && im.Alias.Text == q.First.Text {
			return // it may be there
		}
	}
	for _, im := range s.m.imports {
		if im.module.file.Lost(last) {
			return
		}
	}
	s.m.report("PAR1001", q.At(), s.nearName(q.String()), "unknown type '%s'", q.String())
}

// nearName returns a hint for a type that is not known.
func (s *scope) nearName(name string) string {
	if s.m.said[diag.Error] > diag.MaxPerFile {
		return "" // nobody will see it
	}
	if strings.EqualFold(name, "optional") || strings.EqualFold(name, "maybe") {
		return "a field that may be left out is `name: Type?`"
	}
	if other := otherNames[strings.ToLower(name)]; other != "" {
		return "did you mean '" + other + "'?"
	}
	if s.visible == nil {
		s.visible = s.visibleNames()
	}
	return diag.DidYouMean(name, s.visible)
}

// visibleNames lists the types that can be named in a scope.
func (s *scope) visibleNames() []string {
	known := append([]string(nil), builtinNames...)
	for at := s; at != nil; at = at.outer {
		for _, d := range at.inOrder {
			known = append(known, d.name.Text)
		}
	}
	for _, im := range s.m.imports {
		for _, d := range im.module.top.inOrder {
			if im.decl.Alias.Text != "" {
				known = append(known, im.decl.Alias.Text+"."+d.name.Text)
			} else {
				known = append(known, d.name.Text)
			}
		}
	}
	return known
}

// resolve settles all types of the file.
func (m *module) resolve() {
	if m.pkg != nil {
		m.annotations(m.pkg.Annotations, onPackage)
	}
	scopes := []*scope{m.top}
	for _, p := range m.protocols {
		scopes = append(scopes, p.converter)
	}
	for _, s := range scopes {
		for _, d := range s.inOrder {
			s.m.c.settle(d)
		}
		for _, item := range s.items() {
			if d, ok := item.(*syntax.MessageDecl); ok {
				if def := s.messages[d.Name.Text]; def != nil && def.item == item {
					s.m.c.settle(def)
				}
			}
		}
	}
	for _, s := range scopes {
		for _, item := range s.items() {
			switch d := item.(type) {
			case *syntax.AnnotationDecl:
				m.trait(d)
			case *syntax.MessageDecl:
				if s == m.top { // those of protocols are looked at with them
					m.class(d)
				}
			}
		}
	}
}

func (s *scope) items() []syntax.Item {
	if s.protocol != nil {
		return s.protocol.Items
	}
	return s.m.file.Items
}
