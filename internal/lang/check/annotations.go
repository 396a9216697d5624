package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/parley-agents/parley/internal/lang/diag"
	"github.com/parley-agents/parley/internal/lang/syntax"
	"github.com/parley-agents/parley/spec"
)

// target is what an annotation stands on.
type target uint16

const (
	onPackage target = 1 << iota
	onProtocol
	onType
	onEnum
	onValue
	onMessage
	onField
	onCustom
	onRule
	onAll = onRule<<1 - 1
)

var targetNames = []struct {
	target target
	name   string
}{
	{onPackage, "package"}, {onProtocol, "protocol"}, {onType, "type"}, {onEnum, "enum"}, {onValue, "value"},
	{onMessage, "message"}, {onField, "field"}, {onCustom, "custom"}, {onRule, "rule"},
}

func (t target) String() string {
	var names []string
	for _, n := range targetNames {
		if t&n.target != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ", ")
}

// argKind is what an argument of a known annotation may be.
type argKind uint8

const (
	aString argKind = iota
	aWord
	aBool
	aInt
	aDuration
	anything
)

var argKinds = [...]string{"a string", "a word", "true or false", "a whole number", "a duration", "a value"}

// A trait says how a known annotation is used.
type trait struct {
	on    target
	alone *argKind           // kind of the only argument, which has no name
	words []string           // what that may be, if it is a word
	named map[string]argKind // arguments with names, all optional
	all   bool               // none of them may be left out
	fits  func(v *syntax.Literal, on target) string
}

// Numbers of fields in protobuf.
const (
	maxTag        = 1<<29 - 1
	firstReserved = 19000
	lastReserved  = 19999
)

// notEmpty asks for a name. Only protocols of Python agents go without one.
func notEmpty(v *syntax.Literal, on target) string {
	if v.Value == "" && on != onProtocol {
		return "a name that is not empty"
	}
	return ""
}

func tagFits(v *syntax.Literal, on target) string {
	n, err := strconv.Atoi(v.Raw)
	if err != nil || n > maxTag || n < 0 || n == 0 && on != onValue {
		return "a number from 1 to " + strconv.Itoa(maxTag)
	}
	if n >= firstReserved && n <= lastReserved && on != onValue {
		return "a number that protobuf does not keep for itself, as it does 19000 to 19999"
	}
	return ""
}

func precisionFits(v *syntax.Literal, _ target) string {
	if n, err := strconv.Atoi(v.Raw); err != nil || n < 0 || n > 9 {
		return "a number of digits from 0 to 9"
	}
	return ""
}

var traits = map[string]trait{
	"name":        {on: onProtocol | onType | onEnum | onMessage | onField, alone: new(aString), fits: notEmpty},
	"description": {on: onAll, alone: new(aString)},
	"deprecated":  {on: onAll, alone: new(aString), named: map[string]argKind{"since": aString, "use": aString}},
	"wire":        {on: onField | onValue, alone: new(aString), fits: notEmpty},
	"json":        {on: onField | onType, alone: new(aWord), words: []string{"string", "number", "iso8601"}},
	"tag":         {on: onField | onMessage | onValue, alone: new(aInt), fits: tagFits},
	"precision":   {on: onField | onType, alone: new(aInt), fits: precisionFits},
	"newtype":     {on: onType},
	"in":          {on: onField},
	"out":         {on: onField},
	"key":         {on: onField},
	"race":        {on: onProtocol | onMessage | onRule, alone: new(aWord), words: []string{"ok"}},
	"quota":       {on: onProtocol | onMessage, named: map[string]argKind{"window": aDuration, "max": aInt}, all: true},
	"aea": {on: onPackage | onProtocol | onMessage | onField | onCustom | onType, named: map[string]argKind{
		"author": aString, "license": aString, "aea_version": aString, "id": aString, "name": aString, "version": aString,
		"description": aString, "type": aString, "flavour": anything}},
	"uagents": {on: onPackage | onProtocol | onType | onEnum | onMessage | onField | onValue, named: map[string]argKind{
		"enum": aString, "omit_constraints": aBool, "title": aString, "alias": aString, "key": aString, "closed": aBool,
		"untitled": aBool, "tag": aString, "keywords": anything, "name": aString, "digest": aString}},
}

var traitNames = func() (names []string) {
	for name := range traits {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}()

// annotations checks a list of annotations and returns them as data.
func (m *module) annotations(list []*syntax.Annotation, on target) []spec.Annotation {
	if len(list) == 0 {
		return nil
	}
	var out []spec.Annotation
	seen := make(map[string]bool)
	for _, a := range list {
		name := a.Name.String()
		if a.Broken || !m.annotation(a, name, on) {
			continue
		}
		if seen[name] && !strings.HasPrefix(name, "x_") {
			m.report("PAR1031", a.Span, "join them", "annotation '%s' is there twice", name)
			continue
		}
		seen[name] = true
		data := spec.Annotation{Name: name}
		for _, arg := range a.Args {
			v, ok := jsonOf(arg.Value)
			if !ok {
				m.report("PAR0008", arg.Value.Span, "", "this duration is too long")
			}
			data.Args = append(data.Args, spec.Arg{Name: arg.Name.Text, Value: v})
		}
		out = append(out, data)
	}
	return out
}

func (m *module) annotation(a *syntax.Annotation, name string, on target) bool {
	if strings.HasPrefix(name, "x_") {
		return true
	}
	if d := m.declaredTrait(name); d != nil {
		return m.fitsTrait(a, d, name, on)
	}
	t, known := traits[name]
	if !known {
		hint := "vendor ones start with x_"
		if near := diag.DidYouMean(name, append(traitNames, m.declaredTraits()...)); near != "" {
			hint = near + " " + hint
		}
		m.report("PAR1030", a.Name.At(), hint, "unknown annotation '%s'", name)
		return false
	}
	if t.on&on == 0 {
		m.report("PAR1031", a.Span, "it stands on: "+t.on.String(), "annotation '%s' does not apply to a %s", name, on)
		return false
	}
	args := a.Args
	if t.alone != nil && len(args) > 0 && args[0].Name.Text == "" && (len(args) == 1 || t.named != nil) {
		v := args[0].Value
		if !isKind(v, *t.alone) {
			m.report("PAR1031", v.Span, "", "annotation '%s' takes %s, found %s", name, argKinds[*t.alone], literalText(v))
			return false
		}
		if t.words != nil && !slices.Contains(t.words, v.Value) {
			m.report("PAR1031", v.Span, "one of "+strings.Join(t.words, ", "), "annotation '%s' does not know '%s'", name, v.Value)
			return false
		}
		if t.fits != nil {
			if want := t.fits(v, on); want != "" {
				m.report("PAR1031", v.Span, "", "annotation '%s' takes %s, found %s", name, want, literalText(v))
				return false
			}
		}
		if args = args[1:]; len(args) == 0 {
			return true
		}
	}
	if t.alone != nil && t.named == nil || len(args) > 0 && t.alone == nil && t.named == nil {
		want := "no argument"
		if t.alone != nil {
			want = "one argument, " + argKinds[*t.alone]
		}
		m.report("PAR1031", a.Span, "", "annotation '%s' takes %s", name, want)
		return false
	}
	return m.namedArgs(a, args, name, t)
}

func (m *module) namedArgs(a *syntax.Annotation, args []syntax.Arg, name string, t trait) bool {
	var names []string
	for n := range t.named {
		names = append(names, n)
	}
	slices.Sort(names)
	ok := true
	seen := make(map[string]bool)
	for _, arg := range args {
		kind, known := t.named[arg.Name.Text]
		switch {
		case arg.Name.Text == "":
			m.report("PAR1031", arg.Value.Span, "one of "+strings.Join(names, ", "), "arguments of '%s' have names", name)
		case !known:
			hint := diag.DidYouMean(arg.Name.Text, names)
			if hint == "" {
				hint = "one of " + strings.Join(names, ", ")
			}
			m.report("PAR1031", arg.Name.Span, hint, "annotation '%s' has no argument '%s'", name, arg.Name.Text)
		case seen[arg.Name.Text]:
			m.report("PAR1031", arg.Name.Span, "", "argument '%s' is there twice", arg.Name.Text)
		case !isKind(arg.Value, kind):
			m.report("PAR1031", arg.Value.Span, "", "argument '%s' of '%s' is %s, found %s", arg.Name.Text, name, argKinds[kind], literalText(arg.Value))
		default:
			seen[arg.Name.Text] = true
			continue
		}
		ok = false
	}
	for _, n := range names {
		if ok && t.all && !seen[n] {
			m.report("PAR1031", a.Span, "", "annotation '%s' needs the argument '%s'", name, n)
			return false
		}
	}
	return ok
}

func isKind(v *syntax.Literal, k argKind) bool {
	switch k {
	case aString:
		return v.Kind == syntax.String || v.Kind == syntax.Text
	case aWord:
		return v.Kind == syntax.Word
	case aBool:
		return v.Kind == syntax.Word && (v.Value == "true" || v.Value == "false")
	case aInt:
		return v.Kind == syntax.Number && isWhole(v.Raw)
	case aDuration:
		return v.Kind == syntax.Duration
	}
	return true
}

// declaredTrait finds the declaration of an annotation here or in an import.
func (m *module) declaredTrait(name string) *syntax.AnnotationDecl {
	if d := m.traits[name]; d != nil {
		return d
	}
	for _, im := range m.imports {
		own := name
		if alias := im.decl.Alias.Text; alias != "" {
			var ok bool
			if own, ok = strings.CutPrefix(name, alias+"."); !ok {
				continue
			}
		}
		if d := im.module.traits[own]; d != nil {
			return d
		}
	}
	return nil
}

func (m *module) declaredTraits() []string {
	var names []string
	for name := range m.traits {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// trait checks the declaration of an annotation.
func (m *module) trait(d *syntax.AnnotationDecl) {
	if d.Broken {
		return
	}
	seen := make(map[string]bool)
	for _, p := range d.Params {
		if seen[p.Name.Text] {
			m.report("PAR1003", p.Name.Span, "", "duplicate parameter '%s'", p.Name.Text)
			continue
		}
		seen[p.Name.Text] = true
		t := m.top.typ(p.Type, d.Name.String()+pascal(p.Name.Text))
		if p.Default != nil && t != wrong {
			m.c.later = append(m.c.later, func() {
				if _, problem := m.top.value(p.Default, t, false); problem != "" {
					m.report("PAR1005", p.Default.Span, "", "default %s %s", literalText(p.Default), problem)
				}
			})
		}
	}
	for _, on := range d.On {
		if !slices.ContainsFunc(targetNames, func(n struct {
			target target
			name   string
		}) bool {
			return n.name == on.Text
		}) {
			m.report("PAR1031", on.Span, "one of "+onAll.String(), "annotations cannot stand on '%s'", on.Text)
		}
	}
}

// fitsTrait checks the use of a declared annotation.
func (m *module) fitsTrait(a *syntax.Annotation, d *syntax.AnnotationDecl, name string, on target) bool {
	if d.Broken {
		return true
	}
	allowed := slices.ContainsFunc(d.On, func(n syntax.Name) bool { return n.Text == on.String() })
	if !allowed {
		m.report("PAR1031", a.Span, "", "annotation '%s' does not apply to a %s", name, on)
		return false
	}
	given := make(map[string]bool)
	for i, arg := range a.Args {
		at := -1
		if arg.Name.Text == "" && i < len(d.Params) {
			at = i
		} else {
			at = slices.IndexFunc(d.Params, func(p syntax.Param) bool { return p.Name.Text == arg.Name.Text && arg.Name.Text != "" })
		}
		if at < 0 || given[d.Params[at].Name.Text] {
			m.report("PAR1031", arg.Value.Span, "", "annotation '%s' has no such argument", name)
			return false
		}
		p := d.Params[at]
		given[p.Name.Text] = true
		before := len(m.c.found)
		t := m.top.typ(p.Type, "")
		m.c.found = m.c.found[:before] // its declaration is where this is told
		m.c.later = append(m.c.later, func() {
			if _, problem := m.top.value(arg.Value, t, false); problem != "" {
				m.report("PAR1031", arg.Value.Span, "", "argument '%s' of '%s': %s %s", p.Name.Text, name, literalText(arg.Value), problem)
			}
		})
	}
	for _, p := range d.Params {
		if p.Default == nil && !given[p.Name.Text] {
			if _, optional := p.Type.(*syntax.Optional); !optional {
				m.report("PAR1031", a.Span, "", "annotation '%s' needs the argument '%s'", name, p.Name.Text)
				return false
			}
		}
	}
	return true
}
