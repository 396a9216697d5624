package check

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
)

// Digest returns the protocol's own digest, "parley:" and the SHA-256 of its
// [Protocol.Canonical] form. It does not depend on layout, comments, the order
// of declarations or the names of files.
func (p *Protocol) Digest() string {
	sum := sha256.Sum256(p.Canonical())
	return "parley:" + hex.EncodeToString(sum[:])
}

// ID returns the protocol's name for people: package/Name:version, as far as
// there are such.
func (p *Protocol) ID() string {
	id := p.Name
	if p.Spec.Package != "" {
		id = p.Spec.Package + "/" + id
	}
	if p.Spec.Version != "" {
		id += ":" + p.Spec.Version
	}
	return id
}

// Canonical returns the protocol as JSON with sorted keys: what its messages
// look like and what may follow what. Aliases are written out, lists whose order
// says nothing are sorted, and of annotations only those remain that change what
// travels.
func (p *Protocol) Canonical() []byte {
	w := &canonical{names: make(map[spec.Type]string), taken: make(map[string]bool), types: pyjson.OfMembers()}
	s := p.Spec
	messages := pyjson.OfMembers()
	for _, m := range s.Messages {
		if p.solved[m.Name] {
			m.From = nil
		}
		messages.Set(m.Name, w.object(
			"class", text1(m.Class.String()), "body", w.typ(m.Body), "from", sortedNames(m.From), "annotations", wireAnnotations(m.Annotations)))
	}
	rules := pyjson.OfMembers()
	for _, r := range s.Rules {
		rules.Set(r.Message, w.object("replies", always(sortedNames(r.Replies)), "may_rest", flag(r.MayRest), "by", sortedNames(r.By),
			"within_ms", milliseconds(r.Within.Milliseconds()), "else", text1(r.Else)))
	}
	roles := pyjson.Value{Kind: pyjson.Array}
	for _, r := range s.Roles {
		roles.Items = append(roles.Items, w.object("name", pyjson.Of(r.Name), "min", integer(r.Min), "max", integer(r.Max)))
	}
	v := w.object("parley", pyjson.Of("1"), "package", text1(s.Package), "name", pyjson.Of(p.Name), "version", text1(s.Version),
		"roles", roles, "messages", messages, "rules", rules, "dialogue", w.dialogue(s), "flow", w.flow(s.Flow))
	v.Set("types", w.types)
	return pyjson.Append(nil, v, pyjson.Sorted)
}

// absent marks what is left out of an object.
var absent = pyjson.Value{Kind: pyjson.Null}

type canonical struct {
	names map[spec.Type]string
	taken map[string]bool
	types pyjson.Value
}

// object makes an object of keys and values, without those that are absent.
func (w *canonical) object(pairs ...any) pyjson.Value {
	v := pyjson.OfMembers()
	for i := 0; i < len(pairs); i += 2 {
		if value := pairs[i+1].(pyjson.Value); value.Kind != pyjson.Null {
			v.Members = append(v.Members, pyjson.Member{Key: pairs[i].(string), Value: value})
		}
	}
	return v
}

func text1(s string) pyjson.Value {
	if s == "" {
		return absent
	}
	return pyjson.Of(s)
}

func flag(b bool) pyjson.Value {
	if !b {
		return absent
	}
	return pyjson.OfBool(true)
}

func integer(n int) pyjson.Value { return milliseconds(int64(n)) }

func milliseconds(n int64) pyjson.Value {
	if n == 0 {
		return absent
	}
	return pyjson.OfInt(strconv.FormatInt(n, 10))
}

func sortedNames(names []string) pyjson.Value {
	if len(names) == 0 {
		return absent
	}
	return listOf(slices.Sorted(slices.Values(names)))
}

func listOf(names []string) pyjson.Value {
	list := pyjson.Value{Kind: pyjson.Array}
	for _, n := range names {
		list.Items = append(list.Items, pyjson.Of(n))
	}
	return list
}

func always(v pyjson.Value) pyjson.Value {
	if v.Kind == pyjson.Null {
		return pyjson.Value{Kind: pyjson.Array}
	}
	return v
}

// wireAnnotations keeps what changes the bytes: how a value is written and which
// number it has.
func wireAnnotations(list []spec.Annotation) pyjson.Value {
	kept := pyjson.OfMembers()
	for _, a := range list {
		if (a.Name == "json" || a.Name == "tag" || a.Name == "wire") && len(a.Args) == 1 {
			kept.Set(a.Name, parsed(a.Args[0].Value))
		}
	}
	if len(kept.Members) == 0 {
		return absent
	}
	return kept
}

func parsed(text spec.JSON) pyjson.Value {
	if text == "" {
		return absent
	}
	v, err := pyjson.Parse([]byte(text), nil)
	if err != nil {
		return pyjson.Of(string(text))
	}
	if v.Kind == pyjson.Null {
		return pyjson.OfItems(v) // a null that is there
	}
	return v
}

func (w *canonical) dialogue(p *spec.Protocol) pyjson.Value {
	d := p.Dialogue
	if d == nil {
		return absent
	}
	var initiates, outcomes []pyjson.Value
	for _, i := range d.Initiates {
		if messages := effective(p, i.Messages); len(messages) > 0 {
			initiates = append(initiates, w.object("messages", sortedNames(messages), "by", sortedNames(i.By)))
		}
	}
	for _, o := range d.Outcomes {
		if messages := effective(p, o.Messages); len(messages) > 0 || len(o.Messages) == 0 {
			outcomes = append(outcomes, w.object("state", pyjson.Of(o.State), "on_timeout", flag(o.OnTimeout),
				"messages", always(sortedNames(messages)), "after", sortedNames(o.After)))
		}
	}
	return w.object("initiates", sortedValues(initiates), "terminates", sortedNames(terminal(p)), "end_states", sortedNames(d.EndStates),
		"keep_terminal", flag(d.KeepTerminal), "timeout_ms", milliseconds(d.Timeout.Milliseconds()), "outcomes", sortedValues(outcomes))
}

// effective leaves out receipts, which open and end nothing wherever they are named.
func effective(p *spec.Protocol, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		m := p.Message(name)
		return m != nil && m.Class == spec.Acknowledge
	})
}

// terminal returns what terminates by the rules. Receipts, and messages that only
// receipts answer, may be named there or not, which makes no difference; all
// others must be, or the dialogue is refused.
func terminal(p *spec.Protocol) []string {
	if len(p.Roles) > 2 {
		return p.Dialogue.Terminates // which nobody has compared
	}
	var names []string
	for _, r := range p.Rules {
		if len(r.Replies) == 0 || r.MayRest {
			names = append(names, r.Message)
		}
	}
	return names
}

func sortedValues(list []pyjson.Value) pyjson.Value {
	slices.SortFunc(list, func(a, b pyjson.Value) int {
		return strings.Compare(string(pyjson.Append(nil, a, pyjson.Sorted)), string(pyjson.Append(nil, b, pyjson.Sorted)))
	})
	return pyjson.OfItems(list...)
}

func (w *canonical) flow(f *spec.Flow) pyjson.Value {
	if f == nil {
		return absent
	}
	return w.steps(f.Steps)
}

func (w *canonical) steps(steps []spec.Step) pyjson.Value {
	list := pyjson.Value{Kind: pyjson.Array}
	for _, s := range steps {
		blocks := absent
		if s.Blocks != nil {
			blocks = pyjson.Value{Kind: pyjson.Array}
			for _, b := range s.Blocks {
				blocks.Items = append(blocks.Items, w.steps(b))
			}
		}
		list.Items = append(list.Items, w.object("from", text1(s.From), "to", sortedNames(s.To), "message", text1(s.Message),
			"within_ms", milliseconds(s.Within.Milliseconds()), "choice_at", text1(s.ChoiceAt), "loop", text1(s.Loop), "continue", text1(s.Continue),
			"parallel", flag(s.Parallel), "do", text1(s.Do), "roles", sortedInOrder(s.Roles), "end", text1(s.End), "ends", flag(s.Ends), "blocks", blocks))
	}
	return list
}

func sortedInOrder(names []string) pyjson.Value {
	if names == nil {
		return absent
	}
	return listOf(names)
}

// typ writes a type; those with names stand once among the types.
func (w *canonical) typ(t spec.Type) pyjson.Value {
	switch t := t.(type) {
	case nil:
		return absent
	case spec.Kind:
		return pyjson.Of(kindNames[t])
	case *spec.Scalar:
		return w.object("kind", pyjson.Of(kindNames[t.Kind]), "format", text1(t.Format), "limits", w.limits(&t.Limits))
	case *spec.List:
		key := "list"
		if t.Set {
			key = "set"
		}
		return w.object(key, w.typ(t.Item), "limits", w.limits(&t.Limits))
	case *spec.Map:
		return w.object("map", pyjson.OfItems(w.typ(t.Key), w.typ(t.Value)))
	case *spec.Tuple:
		return w.object("tuple", w.all(t.Items))
	case *spec.Union:
		return w.object("union", w.all(t.Variants), "tag", text1(t.Tag))
	case *spec.Literal:
		return w.object("literal", w.values(t.Values))
	}
	return w.object("type", pyjson.Of(w.named(t)))
}

func (w *canonical) all(types []spec.Type) pyjson.Value {
	list := pyjson.Value{Kind: pyjson.Array}
	for _, t := range types {
		list.Items = append(list.Items, w.typ(t))
	}
	return list
}

func (w *canonical) values(values []spec.JSON) pyjson.Value {
	list := pyjson.Value{Kind: pyjson.Array}
	for _, v := range values {
		list.Items = append(list.Items, parsed(v))
	}
	return list
}

func (w *canonical) limits(l *spec.Limits) pyjson.Value {
	count := func(n *int) pyjson.Value {
		if n == nil {
			return absent
		}
		return pyjson.OfInt(strconv.Itoa(*n))
	}
	v := w.object("min", parsed(l.Min), "max", parsed(l.Max), "above", parsed(l.Above), "below", parsed(l.Below), "multipleOf", parsed(l.MultipleOf),
		"minLength", count(l.MinLength), "maxLength", count(l.MaxLength), "pattern", text1(l.Pattern), "minItems", count(l.MinItems), "maxItems", count(l.MaxItems))
	if len(v.Members) == 0 {
		return absent
	}
	return v
}

func (w *canonical) named(t spec.Type) string {
	if name, done := w.names[t]; done {
		return name
	}
	name := spec.NameOf(t)
	for n := 2; w.taken[name]; n++ {
		name = spec.NameOf(t) + "#" + strconv.Itoa(n)
	}
	w.names[t], w.taken[name] = name, true
	var v pyjson.Value
	switch t := t.(type) {
	case *spec.Enum:
		v = w.object("enum", w.values(t.Values), "open", flag(t.Open))
	case *spec.Alias:
		v = w.object("alias", w.typ(t.Type))
	case *spec.Custom:
		v = w.object("custom", pyjson.Of(t.Body))
	case *spec.Record:
		fields := pyjson.Value{Kind: pyjson.Array}
		for i := range t.Fields {
			f := &t.Fields[i]
			fields.Items = append(fields.Items, w.object("name", pyjson.Of(f.Name), "type", w.typ(f.Type), "optional", flag(f.Optional),
				"nullable", flag(f.Nullable), "default", parsed(f.Default), "annotations", wireAnnotations(f.Annotations)))
		}
		v = w.object("record", fields, "open", flag(t.Open))
	}
	w.types.Members = append(w.types.Members, pyjson.Member{Key: name, Value: v})
	return name
}
