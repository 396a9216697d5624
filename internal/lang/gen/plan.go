// Package gen turns checked protocols into code and documents.
//
// A [Plan] holds what is decided for all targets: which declarations there are,
// in which order, and what they are called. An emitter writes a plan down for one
// target, in a file of this package:
//
//	plan := gen.NewPlan(result, 0, text)
//	files, problems := gen.Emit("go", plan)
//
// What a target cannot express is a problem with a code and a place in the
// source, and then there are no files. The package is pure; the same source gives
// the same bytes each time.
package gen

import (
	"crypto/sha256"
	"encoding/hex"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/internal/lang/diag"
	"github.com/parley-agents/parley/internal/lang/document"
	"github.com/parley-agents/parley/internal/lang/syntax"
	"github.com/parley-agents/parley/spec"
)

// A Plan is one source, with all decisions that do not depend on a target.
type Plan struct {
	Source    string // the name of the file, without folders
	Digest    string // of its text
	Package   string // a lower-case name for what is generated
	Decls     []*Decl
	Protocols []*Protocol

	file     *syntax.File
	pages    *document.Source
	names    map[spec.Type]*Decl
	taken    map[string]bool
	declared map[spec.Type]string // what other files call their types
}

// A Decl is a type with a name: a record, an enum, a union, a tuple or a custom
// type.
type Decl struct {
	Name     string // in PascalCase, unique in the plan
	Type     spec.Type
	Doc      string
	Variants []Variant // of a union

	decl   syntax.Item    // nil if the source has no declaration for it
	source *syntax.Record // of a record, nil if it is not known
	at     diag.Span
}

// A Variant is one of the types that a union may hold.
type Variant struct {
	Name string // of the type, or of one made for the variant
	Type spec.Type
	Made bool // the type has no name elsewhere
}

// A Protocol is a protocol of the source.
type Protocol struct {
	*check.Protocol
	Prefix   string // of its names, if there are several protocols in the source
	Messages []*Message
}

// A Message is a message of a protocol.
type Message struct {
	*spec.Message
	Decl *Decl // nil if its body is no record
	at   diag.Span
}

// A File is what was generated. Its path is relative to the output folder.
type File struct {
	Path string
	Text []byte
}

// NewPlan decides on the names for one of the files of a result, which has the
// given text and must be without errors.
func NewPlan(result *check.Result, index int, text []byte) *Plan {
	file := result.Files[index]
	sum := sha256.Sum256(text)
	p := &Plan{
		Source: path.Base(file.Name), Digest: "sha256:" + hex.EncodeToString(sum[:]), file: file, pages: document.From(result, index, text),
		names: make(map[spec.Type]*Decl), taken: make(map[string]bool), declared: make(map[spec.Type]string),
	}
	for _, t := range slices.Concat(result.Types, result.Imported) {
		switch t.Spec.(type) {
		case *spec.Union, *spec.Tuple:
			p.declared[t.Spec] = t.Name
		}
	}
	p.Package = packageName(file)
	types := ofFile(result.Types, file)
	var protocols []*check.Protocol
	for _, c := range result.Protocols {
		if c.File == file {
			protocols = append(protocols, c)
			types = append(types, c.Types...)
		}
	}
	for _, t := range types {
		p.declare(t)
	}
	for _, c := range protocols {
		protocol := &Protocol{Protocol: c}
		if len(protocols) > 1 {
			protocol.Prefix = Pascal(c.Name)
		}
		for i := range c.Spec.Messages {
			protocol.Messages = append(protocol.Messages, p.message(protocol, &c.Spec.Messages[i]))
		}
		p.Protocols = append(p.Protocols, protocol)
	}
	for i := 0; i < len(p.Decls); i++ { // grows by what has no name of its own
		p.inside(p.Decls[i])
	}
	return p
}

func ofFile(types []*check.Type, file *syntax.File) []*check.Type {
	var own []*check.Type
	for _, t := range types {
		if t.File == file {
			own = append(own, t)
		}
	}
	return own
}

// packageName is the name of the file: those of packages are also taken by others.
func packageName(file *syntax.File) string {
	name := path.Base(file.Name)
	name, _, _ = strings.Cut(name, ".")
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' && b.Len() > 0 {
			b.WriteRune(r)
		}
	}
	if b.Len() == 0 || token.IsKeyword(b.String()) {
		return "protocol" + b.String()
	}
	return b.String()
}

// declare gives a declared type its name. Aliases of types that have no name in
// any target are written out where they are used.
func (p *Plan) declare(t *check.Type) {
	d := &Decl{Type: t.Spec, decl: t.Decl, at: t.File.At(nameOf(t.Decl))}
	switch s := t.Spec.(type) {
	case *spec.Record:
		d.Doc = s.Doc
		if item, ok := t.Decl.(*syntax.TypeDecl); ok {
			d.source = recordIn(item.Type)
		}
	case *spec.Enum:
		d.Doc = s.Doc
	case *spec.Custom:
		d.Doc = s.Doc
	case *spec.Union, *spec.Tuple:
		d.Doc = t.Decl.Base().Doc()
	default:
		return
	}
	p.add(d, Pascal(t.Name))
}

func (p *Plan) message(of *Protocol, m *spec.Message) *Message {
	message := &Message{Message: m, at: of.File.At(of.Decl.Name.Span)}
	var record *syntax.Record
	for _, item := range of.Decl.Items {
		if d, ok := item.(*syntax.MessageDecl); ok && d.Name.Text == m.Name {
			message.at = of.File.At(d.Name.Span)
			record = recordIn(d.Body)
		}
	}
	body, ok := m.Body.(*spec.Record)
	if !ok {
		return message
	}
	message.Decl = p.names[body]
	if message.Decl == nil {
		name := Pascal(m.Name)
		if p.taken[name] && of.Prefix != "" {
			name = of.Prefix + name
		} else if p.taken[name] {
			name += "Message"
		}
		doc := m.Doc
		if doc == "" {
			doc = body.Doc
		}
		message.Decl = &Decl{Type: body, Doc: doc, source: record, at: message.at}
		p.add(message.Decl, name)
	}
	return message
}

// add gives a declaration its name, or one like it.
func (p *Plan) add(d *Decl, name string) {
	if p.names[d.Type] != nil {
		return
	}
	unique := name
	for n := 2; p.taken[unique]; n++ {
		unique = name + strconv.Itoa(n)
	}
	p.taken[unique] = true
	d.Name = unique
	p.names[d.Type] = d
	p.Decls = append(p.Decls, d)
}

// inside names what a declaration contains and has no name.
func (p *Plan) inside(d *Decl) {
	switch t := d.Type.(type) {
	case *spec.Record:
		for i := range t.Fields {
			f := &t.Fields[i]
			at, source := d.field(p.file, f)
			p.nested(f.Type, d.Name+Pascal(localName(f)), at, source)
		}
	case *spec.Union:
		d.Variants = p.variants(d, t)
	case *spec.Tuple:
		for i, item := range t.Items {
			p.nested(item, d.Name+"Item"+strconv.Itoa(i+1), d.at, nil)
		}
	}
}

func (p *Plan) nested(t spec.Type, name string, at diag.Span, source *syntax.Record) {
	switch t := t.(type) {
	case *spec.Record:
		p.add(&Decl{Type: t, Doc: t.Doc, at: at, source: source}, Pascal(t.Name))
	case *spec.Enum:
		p.add(&Decl{Type: t, Doc: t.Doc, at: at}, Pascal(t.Name))
	case *spec.Custom:
		p.add(&Decl{Type: t, Doc: t.Doc, at: at}, Pascal(t.Name))
	case *spec.Tuple:
		p.add(&Decl{Type: t, at: at}, p.nameOr(t, name))
	case *spec.List:
		p.nested(t.Item, name, at, source)
	case *spec.Map:
		p.nested(t.Key, name+"Key", at, nil)
		p.nested(t.Value, name, at, source)
	case *spec.Union:
		if inner, ok := OrNull(t); ok {
			p.nested(inner, name, at, source)
			return
		}
		p.add(&Decl{Type: t, at: at}, p.nameOr(t, name))
	}
}

// nameOr is what another file calls a type, or the name of the place it stands in.
func (p *Plan) nameOr(t spec.Type, place string) string {
	if name := p.declared[t]; name != "" {
		return Pascal(name)
	}
	return place
}

// OrNull returns the other variant of a union of one type and null.
func OrNull(u *spec.Union) (spec.Type, bool) {
	if len(u.Variants) != 2 {
		return nil, false
	}
	for i, v := range u.Variants {
		if v == spec.Type(spec.Null) {
			return u.Variants[1-i], true
		}
	}
	return nil, false
}

func (p *Plan) variants(d *Decl, u *spec.Union) []Variant {
	var all []Variant
	for _, v := range u.Variants {
		switch v.(type) {
		case *spec.Record, *spec.Enum, *spec.Custom, *spec.Tuple:
			p.nested(v, d.Name+"Tuple", d.at, d.source)
			all = append(all, Variant{Name: p.names[v].Name, Type: v})
			continue
		}
		p.nested(v, d.Name+"Item", d.at, d.source)
		name := d.Name + shapeName(v)
		for n := 2; p.taken[name]; n++ {
			name = d.Name + shapeName(v) + strconv.Itoa(n)
		}
		p.taken[name] = true
		all = append(all, Variant{Name: name, Type: v, Made: true})
	}
	return all
}

// shapeName is a word for a type without a name.
func shapeName(t spec.Type) string {
	switch t := t.(type) {
	case *spec.List:
		if t.Set {
			return "Set"
		}
		return "List"
	case *spec.Map:
		return "Map"
	case *spec.Literal:
		return "Literal"
	case *spec.Union:
		return "Union"
	}
	s, _ := spec.AsScalar(t)
	return s.Kind.String()
}

// Name returns what a type is called, or "" if it has no name.
func (p *Plan) Name(t spec.Type) string {
	if d := p.names[t]; d != nil {
		return d.Name
	}
	return ""
}

// header is the first line of what is generated.
func (p *Plan) header() string {
	return "Code generated by parley from " + p.Source + " (" + p.Digest + "). DO NOT EDIT."
}

// localName is what code calls a field.
func localName(f *spec.Field) string {
	if f.Local != "" {
		return f.Local
	}
	return f.Name
}
