package uagents

import (
	"regexp"
	"slices"
	"strings"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
)

// A plan is what a codec works out once of a model, so that reading a payload
// neither parses the model's own texts nor searches its lists.
type plan struct {
	patterns map[string]*regexp.Regexp
	records  map[*spec.Record]*recordPlan
	choices  map[spec.Type]*choicePlan // of literals and enums
}

type recordPlan struct {
	fields      []fieldPlan
	byKey       map[string]int
	closed      bool
	constructed bool
}

type fieldPlan struct {
	*spec.Field
	filled   bool
	fallback *pyjson.Value // the default
	constant *pyjson.Value // the only value that is taken
}

type choicePlan struct {
	values  []pyjson.Value
	byText  map[string]int
	byEqual map[string]int // by what is equal in Python
	listed  string         // for error messages
}

// Annotations of models whose Python class has a constructor of its own. None
// of them shows in the schema.
const (
	// Constructed marks a record whose constructor knows its arguments: a field
	// it does not know is refused, a literal of one value may be left out.
	Constructed = "uagents.constructed"

	// Filled marks a field that the constructor fills in when it is left out or
	// null. It is then read as null, a zero value in Go: the caller fills it in.
	Filled = "uagents.filled"
)

func hasAnnotation(list []spec.Annotation, name string) bool {
	return slices.ContainsFunc(list, func(a spec.Annotation) bool { return a.Name == name })
}

func newPlan(model spec.Type) (*plan, error) {
	b := planBuilder{
		plan: plan{
			patterns: make(map[string]*regexp.Regexp),
			records:  make(map[*spec.Record]*recordPlan),
			choices:  make(map[spec.Type]*choicePlan),
		},
		seen:  make(map[spec.Type]bool),
		loops: make(map[spec.Type]bool),
	}
	return &b.plan, b.add(model)
}

type planBuilder struct {
	plan
	seen    map[spec.Type]bool
	loops   map[spec.Type]bool // of aliases and unions: true while it is looked into
	located bool               // the error names the record and field it is in
}

// add works out a type and the types that it is made of.
func (b *planBuilder) add(t spec.Type) error {
	if t == nil || b.seen[t] {
		return nil
	}
	b.seen[t] = true
	if err := b.checkLoop(t); err != nil {
		return err
	}
	if s, ok := spec.AsScalar(t); ok {
		return b.pattern(s.Limits.Pattern)
	}
	switch t := t.(type) {
	case *spec.Literal:
		return b.choice(t, t.Values)
	case *spec.Enum:
		return b.choice(t, t.Values)
	case *spec.Record:
		return b.record(t)
	}
	for _, part := range parts(t) {
		if err := b.add(part); err != nil {
			return err
		}
	}
	return nil
}

// parts lists the types that a type without fields is made of.
func parts(t spec.Type) []spec.Type {
	switch t := t.(type) {
	case *spec.List:
		return []spec.Type{t.Item}
	case *spec.Map:
		return []spec.Type{t.Key, t.Value}
	case *spec.Alias:
		return []spec.Type{t.Type}
	case *spec.Tuple:
		return t.Items
	case *spec.Union:
		return t.Variants
	}
	return nil
}

// behind is what an alias stands for, in the end.
func behind(t spec.Type) spec.Type {
	for {
		alias, ok := t.(*spec.Alias)
		if !ok {
			return t
		}
		t = alias.Type
	}
}

// checkLoop refuses an alias or union that stands for itself with nothing in
// between: reading a value of it would have no end.
func (b *planBuilder) checkLoop(t spec.Type) error {
	switch t.(type) {
	case *spec.Alias, *spec.Union:
	default:
		return nil
	}
	if open, known := b.loops[t]; open {
		return fault.Errorf(fault.Unsupported, spec.NameOf(t), "the type stands for itself")
	} else if known {
		return nil
	}
	b.loops[t] = true
	for _, part := range parts(t) {
		if err := b.checkLoop(part); err != nil {
			return err
		}
	}
	b.loops[t] = false
	return nil
}

func (b *planBuilder) pattern(text string) error {
	if text == "" || b.patterns[text] != nil {
		return nil
	}
	re, err := compilePattern(text)
	if err != nil {
		return fault.Errorf(fault.Unsupported, "pattern", "%w", err)
	}
	b.patterns[text] = re
	return nil
}

// choice works out a literal or an enum. Of values that are equal in Python a
// literal takes the last one, since the library looks it up in a dict, and an enum
// the first one.
func (b *planBuilder) choice(t spec.Type, texts []spec.JSON) error {
	c := &choicePlan{byText: make(map[string]int, len(texts)), byEqual: make(map[string]int, len(texts))}
	_, isLiteral := t.(*spec.Literal)
	var listed []string
	for i, text := range texts {
		v, err := pyjson.Parse([]byte(text), nil)
		if err != nil {
			return fault.In(spec.NameOf(t), err)
		}
		c.values = append(c.values, v)
		if v.Kind == pyjson.Null && len(texts) > 1 {
			continue // the library lists it in the class and refuses it in messages
		}
		c.byText[sortedText(v)] = i
		if _, twice := c.byEqual[equalText(v)]; isLiteral || !twice {
			c.byEqual[equalText(v)] = i
		}
		if i <= maxListed {
			listed = append(listed, pyjson.Brief(string(text)))
		}
	}
	if len(listed) > maxListed {
		listed[maxListed] = "…"
	}
	c.listed = strings.Join(listed, ", ")
	b.choices[t] = c
	return nil
}

// maxListed is how many choices an error message lists.
const maxListed = 12

func (b *planBuilder) record(r *spec.Record) error {
	constructed := hasAnnotation(r.Annotations, Constructed)
	p := &recordPlan{byKey: make(map[string]int, len(r.Fields)), closed: r.Closed || constructed, constructed: constructed}
	b.records[r] = p
	for i := range r.Fields {
		f, err := b.field(&r.Fields[i])
		if err != nil && !b.located {
			b.located = true
			err = fault.In(r.Name, fault.In(f.Name, err))
		}
		if err != nil {
			return err
		}
		p.byKey[f.Key()] = i
		p.fields = append(p.fields, f)
	}
	return nil
}

func (b *planBuilder) field(field *spec.Field) (fieldPlan, error) {
	f := fieldPlan{Field: field, filled: hasAnnotation(field.Annotations, Filled)}
	var err error
	if f.fallback, err = valueOf(f.Default); err != nil {
		return f, fault.In("default", err)
	}
	for _, k := range f.Keywords {
		if k.Name == "const" {
			f.constant, err = valueOf(k.Value)
		}
	}
	if err != nil {
		return f, fault.In("const", err)
	}
	return f, b.add(f.Type)
}

func valueOf(text spec.JSON) (*pyjson.Value, error) {
	if text == "" {
		return nil, nil
	}
	v, err := pyjson.Parse([]byte(text), nil)
	return &v, err
}
