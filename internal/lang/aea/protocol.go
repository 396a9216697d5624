package aea

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/spec"
)

// A Problem is something in a protocol that the framework cannot have.
type Problem struct {
	Code    string // see package diag
	Message string // the message of the protocol in which it is, or ""
	Field   string // the field of that, or ""
	Text    string
	Hint    string
}

// FromProtocol returns the specification of a protocol. What its source does not
// say in annotations is derived: the author and the name from the package, the
// wire identity from these and the version. With problems there is no
// specification.
func FromProtocol(p *spec.Protocol) (*Specification, []Problem) {
	c := &converter{p: p, s: &Specification{}, types: make(map[string][2]string), custom: make(map[string]bool)}
	c.meta()
	for _, custom := range p.Customs {
		c.addCustom(custom)
	}
	for i := range p.Messages {
		c.message(&p.Messages[i])
	}
	if p.Dialogue != nil {
		c.dialogue(p.Dialogue)
	} else if len(p.Roles) > 2 { // told as a flow, which would be lost
		c.roles()
	}
	if len(c.problems) == 0 {
		c.accepted()
	}
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	return c.s, nil
}

// linePrefix is of no use where there is no file yet.
var linePrefix = regexp.MustCompile(`^line [0-9]+: `)

// accepted asks the reader whether the framework would take the file, which wants
// more than the language does: versions of three numbers, at least one end.
func (c *converter) accepted() {
	if _, err := Read(c.s.YAML()); err != nil {
		text := err.Error()
		if f, ok := errors.AsType[*fault.Error](err); ok {
			text = strings.TrimPrefix(f.Field+": "+linePrefix.ReplaceAllString(f.Text, ""), ": ")
		}
		c.problem("PAR5004", "", "AEA does not take it: %s", text)
	}
}

type converter struct {
	p        *spec.Protocol
	s        *Specification
	types    map[string][2]string // content → type, and the message that has it first
	custom   map[string]bool
	at       Problem // where it is
	problems []Problem
}

func (c *converter) problem(code, hint, format string, args ...any) {
	problem := c.at
	problem.Code, problem.Hint, problem.Text = code, hint, fmt.Sprintf(format, args...)
	c.problems = append(c.problems, problem)
}

func (c *converter) meta() {
	parts := strings.Split(c.p.Package, ".")
	s := c.s
	s.Author, s.Name, s.Version = parts[0], snake(c.p.Name), c.p.Version
	if s.Author == "" {
		s.Author = "parley"
	}
	s.License, s.AEAVersion, s.Description = "Apache-2.0", ">=2.0.0, <3.0.0", c.p.Doc
	for _, a := range c.p.Annotations {
		if a.Name == "description" && len(a.Args) == 1 {
			s.Description = text1(a.Args[0].Value)
		}
	}
	for _, list := range [][]spec.Annotation{c.p.PackageAnnotations, c.p.Annotations} {
		for _, a := range list {
			switch a.Name {
			case "aea":
				c.annotation(a.Args)
			case emptyTypesAnnotation:
				c.s.emptyTypes = true
			}
		}
	}
	if s.ID == "" {
		s.ID = s.Author + "/" + s.Name + ":" + s.Version
	}
}

// annotation takes over what an annotation says. One that holds the description
// also gives the order of the keys.
func (c *converter) annotation(args []spec.Arg) {
	s := c.s
	order := []string{"name", "author", "version"}
	described := false
	for _, arg := range args {
		key := arg.Name
		if key == "id" {
			key = "protocol_specification_id"
		}
		field := s.fields()[key]
		if field == nil {
			continue
		}
		*field = text1(arg.Value)
		if key != "author" && key != "name" && key != "version" {
			order = append(order, key)
		}
		described = described || key == "description"
	}
	if described && len(order) == len(metaKeys)-1 {
		s.order = append(order, "speech_acts")
	}
}

// text1 returns what a JSON string means.
func text1(v spec.JSON) string {
	var s string
	if json.Unmarshal([]byte(v), &s) != nil {
		return string(v)
	}
	return s
}

// snake writes a name as the framework likes it: "OefSearch" becomes "oef_search".
func snake(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			b.WriteByte('_')
		}
		lower = !unicode.IsUpper(r) && r != '_'
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func (c *converter) addCustom(custom *spec.Custom) {
	if !c.custom[custom.Name] {
		c.custom[custom.Name] = true
		c.s.CustomTypes = append(c.s.CustomTypes, CustomType{custom.Name, custom.Body})
	}
}

func (c *converter) message(m *spec.Message) {
	c.at = Problem{Message: m.Name}
	c.name(m.Name)
	act := SpeechAct{Name: m.Name}
	record, ok := unalias(m.Body).(*spec.Record)
	if m.Body != nil && !ok {
		c.problem("PAR5001", "make it a record", "the message '%s' is no record; AEA messages have contents", m.Name)
		return
	}
	if record != nil {
		for i := range record.Fields {
			act.Contents = append(act.Contents, c.content(m, &record.Fields[i]))
		}
	}
	c.s.SpeechActs = append(c.s.SpeechActs, act)
	c.at = Problem{}
}

// name refuses names that the framework does not take.
func (c *converter) name(name string) {
	if slices.Contains(reserved, name) {
		c.problem("PAR5004", "rename it", "AEA reserves the name '%s'", name)
		return
	}
	if !names.MatchString(name) {
		c.problem("PAR5004", nameHint, "AEA does not take the name '%s'", name)
	}
}

func (c *converter) content(m *spec.Message, f *spec.Field) Content {
	c.at.Field = f.Name
	c.name(f.Name)
	t, ok := c.typ(f.Type, true)
	if !ok {
		return Content{}
	}
	if f.Nullable {
		c.problem("PAR5001", "write '?' behind the type: the content can be left out", "Null has no AEA form")
		return Content{}
	}
	if f.Optional {
		t = typ{shape: optional, of: []typ{t}}
	}
	content := Content{Name: f.Name, Type: t.String()}
	for _, a := range f.Annotations {
		for _, arg := range a.Args {
			if spelled, ok := parseType(text1(arg.Value)); a.Name == "aea" && arg.Name == "type" && ok && spelled.String() == content.Type {
				content.Type = text1(arg.Value)
			}
		}
	}
	first, found := c.types[f.Name]
	if !found {
		c.types[f.Name] = [2]string{content.Type, m.Name}
	} else if first[0] != content.Type {
		c.problem("PAR5003", "rename one", "AEA: content '%s' has two types, one in '%s' and one in '%s'", f.Name, first[1], m.Name)
	}
	return content
}

func unalias(t spec.Type) spec.Type {
	for {
		a, ok := t.(*spec.Alias)
		if !ok {
			return t
		}
		t = a.Type
	}
}

var scalarTypes = map[spec.Kind]string{
	spec.Bytes: "bytes", spec.Bool: "bool", spec.String: "str", spec.Int: "int", spec.Int32: "int", spec.Float: "float", spec.Float32: "float",
}

// typ finds the framework's form of a type. Outer ones may be collections, unions
// and custom types.
func (c *converter) typ(t spec.Type, outer bool) (typ, bool) {
	t = unalias(t)
	if scalar, ok := spec.AsScalar(t); ok {
		name := scalarTypes[scalar.Kind]
		if name == "" {
			c.problem("PAR5001", "use String or a custom type", "%s has no AEA form", scalar.Kind)
			return typ{}, false
		}
		return typ{name: name}, true
	}
	if !outer {
		c.problem("PAR5002", "wrap it in a custom type", "AEA collections hold only pt: primitives")
		return typ{}, false
	}
	switch t := t.(type) {
	case *spec.Custom:
		c.addCustom(t)
		return typ{shape: custom, name: t.Name}, true
	case *spec.List:
		shape := listOf
		if t.Set {
			shape = setOf
		}
		return c.collection(shape, t.Item)
	case *spec.Map:
		key := t.Key
		if key == nil {
			key = spec.String
		}
		return c.collection(dictOf, key, t.Value)
	case *spec.Union:
		return c.union(t)
	}
	c.problem("PAR5001", "use a custom type", "%s has no AEA form", described(t))
	return typ{}, false
}

func (c *converter) collection(s shape, of ...spec.Type) (typ, bool) {
	t := typ{shape: s}
	for _, inner := range of {
		item, ok := c.typ(inner, false)
		if !ok {
			return t, false
		}
		t.of = append(t.of, item)
	}
	return t, true
}

func (c *converter) union(u *spec.Union) (typ, bool) {
	t := typ{shape: unionOf}
	for _, variant := range u.Variants {
		item, ok := c.typ(variant, true)
		if !ok {
			return t, false
		}
		if item.shape == unionOf {
			t.of = append(t.of, item.of...)
			continue
		}
		t.of = append(t.of, item)
	}
	return t, true
}

func described(t spec.Type) string {
	if name := spec.NameOf(t); name != "" {
		return "'" + name + "'"
	}
	switch t.(type) {
	case *spec.Literal:
		return "a literal"
	case *spec.Tuple:
		return "a tuple"
	}
	return "this type"
}

func (c *converter) dialogue(d *spec.Dialogue) {
	out := &Dialogue{Termination: d.Terminates, EndStates: d.EndStates, KeepTerminal: d.KeepTerminal}
	for _, i := range d.Initiates {
		out.Initiation = append(out.Initiation, i.Messages...)
	}
	for _, r := range c.p.Rules {
		if r.MayRest && len(r.Replies) > 0 {
			c.at = Problem{Message: r.Message}
			c.problem("PAR5005", "remove the '?'", "AEA terminal messages cannot have replies, but '%s' may rest and have some", r.Message)
			c.at = Problem{}
		}
		out.Reply = append(out.Reply, Reply{r.Message, r.Replies})
	}
	c.roles()
	for _, r := range c.p.Roles {
		out.Roles = append(out.Roles, r.Name)
	}
	c.s.Dialogue = out
}

func (c *converter) roles() {
	if n := len(c.p.Roles); n < 1 || n > 2 {
		c.problem("PAR5006", "", "AEA takes 1 or 2 roles, not %d", n)
	}
}
