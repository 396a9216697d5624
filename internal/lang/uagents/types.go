package uagents

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/internal/lang/syntax"
	"github.com/parley-agents/parley/spec"
)

// declarations are the named types of a protocol, each written once though every
// model of a manifest brings its own copy.
type declarations struct {
	names  map[spec.Type]string // the names under which types are declared
	types  map[string]spec.Type // and the other way round
	bodies []string             // the declarations; those that others need come first
	lost   []string             // what the language cannot say
}

func newDeclarations() *declarations {
	return &declarations{names: make(map[spec.Type]string), types: make(map[string]spec.Type)}
}

// lose notes that something cannot be said.
func (d *declarations) lose(format string, args ...any) {
	d.lost = append(d.lost, fmt.Sprintf(format, args...))
}

// name returns the name under which a type is declared, and declares it if
// needed. Of two types of one name that differ, the second is declared under
// another and keeps its own by an annotation.
func (d *declarations) name(t spec.Type) string {
	if name, known := d.names[t]; known {
		return name
	}
	base := typeName(spec.NameOf(t))
	name := base
	for n := 2; d.types[name] != nil; n++ {
		if reflect.DeepEqual(d.types[name], t) {
			d.names[t] = name
			return name
		}
		name = base + strconv.Itoa(n)
	}
	d.names[t], d.types[name] = name, t
	d.bodies = append(d.bodies, d.declaration(t, name))
	return name
}

// declaration writes a named type, with its annotations.
func (d *declarations) declaration(t spec.Type, name string) string {
	switch t := t.(type) {
	case *spec.Record:
		var annotations []string
		if t.Name != name {
			annotations = append(annotations, "@name("+syntax.Quote(t.Name)+")")
		}
		annotations = append(annotations, d.recordAnnotations(t)...)
		return join(annotations) + "type " + quoted(name) + " = " + d.record(t)
	case *spec.Enum:
		return d.enum(t, name)
	case *spec.Alias:
		d.lose("the type %s has a name of its own in the schema, though it is no record", t.Name)
		return "type " + quoted(name) + " = " + d.typ(t.Type)
	}
	return ""
}

func (d *declarations) recordAnnotations(t *spec.Record) []string {
	var annotations, args []string
	if t.Description != "" {
		annotations = append(annotations, "@description("+syntax.Quote(t.Description)+")")
	}
	if t.Title != "" {
		args = append(args, "title: "+syntax.Quote(t.Title))
	}
	if t.Key != "" {
		args = append(args, "key: "+syntax.Quote(t.Key))
	}
	if t.Closed {
		args = append(args, "closed: true")
	}
	return append(annotations, uagents(append(args, keywords(t.Keywords)...))...)
}

func uagents(args []string) []string {
	if len(args) == 0 {
		return nil
	}
	return []string{"@uagents(" + strings.Join(args, ", ") + ")"}
}

func join(annotations []string) string {
	if len(annotations) == 0 {
		return ""
	}
	return strings.Join(annotations, "\n") + "\n"
}

// keywords writes what a schema says beyond the language as an argument.
func keywords(list spec.Keywords) []string {
	var members []string
	for _, k := range list {
		members = append(members, syntax.Quote(k.Name)+": "+string(k.Value))
	}
	if members == nil {
		return nil
	}
	return []string{"keywords: {" + strings.Join(members, ", ") + "}"}
}

// loseKeywords notes those of a type that is written in place, which nothing can
// annotate.
func (d *declarations) loseKeywords(list spec.Keywords, of string) {
	for _, k := range list {
		d.lose("the keyword %q of %s", k.Name, of)
	}
}

func (d *declarations) record(r *spec.Record) string {
	var b strings.Builder
	b.WriteString("{")
	for i := range r.Fields {
		b.WriteString("\n" + d.field(&r.Fields[i]))
	}
	b.WriteString("\n}")
	return b.String()
}

func (d *declarations) field(f *spec.Field) string {
	text := d.typ(f.Type)
	union, isUnion := f.Type.(*spec.Union)
	values, isLiteral := f.Type.(*spec.Literal)
	several := isUnion && len(union.Variants) > 1 || isLiteral && len(values.Values) > 1
	switch {
	case f.Nullable && !f.Optional:
		text += " | Null"
	case f.Optional && several:
		text = "(" + text + ")?"
	case f.Optional:
		text += "?"
	}
	if f.Default != "" {
		text += " = " + literal(f.Default)
	}
	var args []string
	if f.Alias != "" {
		args = append(args, "alias: "+syntax.Quote(f.Alias))
	}
	if f.Title != "" {
		args = append(args, "title: "+syntax.Quote(f.Title))
	}
	if f.Untitled {
		args = append(args, "untitled: true")
	}
	if isUnion && union.Tag != "" {
		args = append(args, "tag: "+syntax.Quote(union.Tag))
	}
	args = append(args, keywords(f.Keywords)...)
	for _, a := range uagents(args) {
		text += " " + a
	}
	if f.Description != "" {
		text += " @description(" + syntax.Quote(f.Description) + ")"
	}
	return quoted(f.Name) + ": " + text
}

var kinds = map[spec.Kind]string{
	spec.Any: "Json", spec.Null: "Null", spec.Bool: "Bool", spec.String: "String", spec.Int: "Int", spec.Int32: "Int32",
	spec.UInt32: "UInt32", spec.UInt64: "UInt64", spec.Float: "Float", spec.Float32: "Float32", spec.Decimal: "Decimal",
	spec.Bytes: "Bytes", spec.DateTime: "DateTime", spec.Date: "Date", spec.Time: "Time", spec.Duration: "Duration",
	spec.UUID: "Uuid", spec.UUID4: "Uuid4", spec.URI: "Uri",
}

// typ writes a type where it is used.
func (d *declarations) typ(t spec.Type) string {
	switch t := t.(type) {
	case nil:
		return kinds[spec.Any]
	case spec.Kind:
		return kinds[t]
	case *spec.Scalar:
		d.loseKeywords(t.Keywords, kinds[t.Kind])
		return kinds[t.Kind] + limits(&t.Limits, t.Format)
	case *spec.List:
		d.loseKeywords(t.Keywords, "a list")
		if t.Set {
			return "Set<" + d.typ(t.Item) + ">" + limits(&t.Limits, "")
		}
		return "List<" + d.typ(t.Item) + ">" + limits(&t.Limits, "")
	case *spec.Map:
		d.loseKeywords(t.Keywords, "a map")
		key := kinds[spec.String]
		if t.Key != nil {
			key = d.typ(t.Key)
		}
		return "Map<" + key + ", " + d.typ(t.Value) + ">"
	case *spec.Tuple:
		d.loseKeywords(t.Keywords, "a tuple")
		return "Tuple<" + strings.Join(d.list(t.Items), ", ") + ">"
	case *spec.Union:
		d.loseKeywords(t.Keywords, "a union")
		return d.union(t.Variants)
	case *spec.Literal:
		d.loseKeywords(t.Keywords, "a literal")
		var values []string
		for _, v := range t.Values {
			values = append(values, literal(v))
		}
		return strings.Join(values, " | ")
	}
	return quoted(d.name(t))
}

func (d *declarations) list(types []spec.Type) []string {
	var all []string
	for _, t := range types {
		text := d.typ(t)
		if u, ok := t.(*spec.Union); ok {
			if u.Tag != "" {
				d.lose("the tag %q of a union within a type", u.Tag)
			}
			text = "(" + text + ")"
		}
		all = append(all, text)
	}
	return all
}

// union writes variants. Of two that look the same in the schema, one was a Decimal
// if they are numbers.
func (d *declarations) union(variants []spec.Type) string {
	all := d.list(variants)
	for i, text := range all {
		if !slices.Contains(all[:i], text) {
			continue
		}
		if text == kinds[spec.Float] && !slices.Contains(all, kinds[spec.Decimal]) {
			all[i] = kinds[spec.Decimal]
		} else {
			d.lose("the variant %s a second time", text)
		}
	}
	return strings.Join(all, " | ")
}

// limits writes what narrows a type.
func limits(l *spec.Limits, format string) string {
	args := check.Constraints(l, format)
	if len(args) == 0 {
		return ""
	}
	return "(" + strings.Join(args, ", ") + ")"
}

// enum writes an enum. A schema has its values only; the names are made of them.
func (d *declarations) enum(e *spec.Enum, name string) string {
	var annotations, args []string
	if e.Name != name {
		annotations = append(annotations, "@name("+syntax.Quote(e.Name)+")")
	}
	if e.Description != "" {
		annotations = append(annotations, "@description("+syntax.Quote(e.Description)+")")
	}
	mixins := map[spec.Kind]string{spec.String: "str", spec.Int: "int", spec.Float: "float"}
	if mixin := mixins[e.Base]; mixin != "" {
		args = append(args, "enum: "+syntax.Quote(mixin))
	}
	if e.Title != "" {
		args = append(args, "title: "+syntax.Quote(e.Title))
	}
	if e.Key != "" {
		args = append(args, "key: "+syntax.Quote(e.Key))
	}
	annotations = append(annotations, uagents(append(args, keywords(e.Keywords)...))...)
	taken := make(map[string]bool)
	var values []string
	for _, v := range e.Values {
		value := valueName(v)
		for base, n := value, 2; taken[value]; n++ {
			value = base + "_" + strconv.Itoa(n)
		}
		taken[value] = true
		if literal(v) == syntax.Quote(value) {
			values = append(values, value)
		} else {
			values = append(values, value+" = "+literal(v))
		}
	}
	return join(annotations) + "enum " + quoted(name) + " { " + strings.Join(values, ", ") + " }"
}

// literal writes a value of a schema as a person would: Python escapes what is not
// ASCII.
func literal(v spec.JSON) string {
	if text, ok := textOf(v); ok {
		return syntax.Quote(text)
	}
	return string(v)
}

// textOf returns what a JSON string means; ok is false for other values and for
// halves of characters, which no text can hold.
func textOf(v spec.JSON) (text string, ok bool) {
	if json.Unmarshal([]byte(v), &text) != nil || strings.ContainsRune(text, utf8.RuneError) {
		return "", false
	}
	return text, strings.HasPrefix(string(v), `"`)
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9]+`)

// valueName makes a name of the value of an enum.
func valueName(v spec.JSON) string {
	text, isText := textOf(v)
	if !isText {
		text = string(v)
	}
	if isText && plainName.MatchString(text) && strings.ToUpper(text) == text {
		return text
	}
	name := strings.Trim(notInName.ReplaceAllString(strings.ToUpper(text), "_"), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = strings.TrimSuffix("VALUE_"+name, "_")
	}
	return name
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// typeName makes a name for a declaration of the name of a Python class, which
// may have a generic part.
func typeName(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	var b strings.Builder
	for part := range strings.SplitSeq(notInName.ReplaceAllString(name, " "), " ") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	if made := b.String(); plainName.MatchString(made) {
		return made
	}
	return "Type" + b.String()
}

// builtin are the names that the language has given away; a declared type of such
// a name is written in backticks.
var builtin = []string{
	"Any", "Bool", "Bytes", "Date", "DateTime", "Decimal", "Duration", "Float", "Float32", "Float64", "Int", "Int32", "Int64", "Json",
	"List", "Map", "Null", "Set", "String", "Time", "Tuple", "UInt32", "UInt64", "Uri", "Uuid", "Uuid4",
}

// quoted returns a name as it stands in a source.
func quoted(name string) string {
	if plainName.MatchString(name) && !slices.Contains(builtin, name) {
		return name
	}
	return "`" + name + "`"
}
