package check

import (
	"slices"

	"github.com/parley-agents/parley/internal/lang/syntax"
	"github.com/parley-agents/parley/spec"
)

// maxBases bounds how many protocols extend one another.
const maxBases = 20

// inherit begins a protocol with what the one that it extends has.
func (w *protocolWriter) inherit() {
	name := w.Decl.Extends
	if name == nil {
		return
	}
	w.report("PAR2009", name.At(), "", "what '%s' changes of '%s' is not yet checked", w.Name, name.String())
	base, from := w.findProtocol(name)
	if base == nil {
		w.unclear = true
		var known []string
		for _, p := range w.protocols {
			if p != w.Protocol {
				known = append(known, p.Name)
			}
		}
		w.report("PAR1001", name.At(), nearest(name.String(), known), "unknown protocol '%s'", name.String())
		return
	}
	if w.c.depth++; w.c.depth > maxBases {
		w.unclear = true
		w.report("PAR0007", name.At(), "", "protocols extend one another more than %d deep", maxBases)
	} else {
		from.protocol(base)
	}
	w.c.depth--
	for p, n := base, 0; p != nil; p, n = p.base, n+1 {
		if p == w.Protocol {
			w.unclear = true
			w.report("PAR1004", name.At(), "", "protocol '%s' extends itself", w.Name)
			return
		}
		if n == maxBases {
			w.unclear = true
			w.report("PAR0007", name.At(), "", "protocols extend one another more than %d deep", maxBases)
			return
		}
	}
	if base.Spec == nil {
		return
	}
	w.base = base
	w.vague, w.unclear, w.strangers = w.vague || base.vague, w.unclear || base.unclear, w.strangers || base.strangers
	b := base.Spec
	w.Spec.Roles = slices.Clone(b.Roles)
	w.Spec.Messages = slices.Clone(b.Messages)
	for _, m := range b.Messages {
		w.declared[m.Name] = true
	}
	w.Spec.Rules = slices.Clone(b.Rules)
	w.Spec.Customs = slices.Clone(b.Customs)
	if b.Dialogue != nil {
		d := *b.Dialogue
		w.Spec.Dialogue = &d
	}
}

func (w *protocolWriter) findProtocol(q *syntax.QName) (*Protocol, *module) {
	last := q.First.Text
	if len(q.Rest) > 0 {
		last = q.Rest[len(q.Rest)-1].Text
	} else {
		for _, p := range w.protocols {
			if p.Name == last {
				return p, w.module
			}
		}
	}
	for _, im := range w.imports {
		if len(q.Rest) > 0 && !im.names(q) || len(q.Rest) == 0 && im.decl.Alias.Text != "" {
			continue
		}
		for _, p := range im.module.protocols {
			if p.Name == last {
				return p, im.module
			}
		}
	}
	return nil, nil
}

func (w *protocolWriter) addDialogue(d *syntax.Dialogue) {
	w.Spec.Annotations = append(w.Spec.Annotations, w.annotations(d.Annotations, onProtocol)...)
	if w.Spec.Dialogue == nil {
		w.Spec.Dialogue = &spec.Dialogue{}
	}
	out := w.Spec.Dialogue
	ruled := make(map[string]bool)
	single := make(map[string]bool)
	for _, item := range d.Items {
		if item.Base().Broken {
			continue
		}
		if _, rule := item.(*syntax.Rule); !rule {
			w.annotations(item.Base().Annotations, onRule)
		}
		switch d := item.(type) {
		case *syntax.Initiates:
			out.Initiates = append(out.Initiates, spec.Initiation{Messages: w.messagesNamed(d.Messages, ""), By: w.rolesNamed(d.By)})
		case *syntax.Rule:
			w.rule(d, ruled)
		case *syntax.NameList:
			if d.Word == "terminates" {
				for _, n := range d.Names {
					w.messageNamed(n, "", "PAR2106")
				}
				out.Terminates = union(out.Terminates, w.distinct(d.Names))
				continue
			}
			out.EndStates = union(out.EndStates, w.distinct(d.Names))
		case *syntax.KeepTerminal:
			if w.one(single, "keep_terminal", item) {
				out.KeepTerminal = d.Value.Value == "true"
			}
		case *syntax.Timeout:
			if w.one(single, "timeout", item) {
				out.Timeout = w.duration(d.Value)
			}
		case *syntax.Outcome:
			o := spec.Outcome{State: d.State.Text, OnTimeout: d.OnTimeout, Messages: w.messagesNamed(d.Messages, "")}
			if d.After != nil {
				o.After = w.messagesNamed(d.After, "")
			}
			out.Outcomes = append(out.Outcomes, o)
		}
	}
	if len(out.Initiates) == 0 && !d.Broken {
		w.unclear = true
		w.report("PAR2003", syntax.Span{Start: d.Start, End: d.Start + int32(len("dialogue"))}, "add `initiates [...]`", "dialogue has no initiating message")
	}
}

func (w *protocolWriter) one(seen map[string]bool, word string, item syntax.Item) bool {
	if seen[word] {
		w.report("PAR2006", item.Base().Span, "remove one", "a dialogue has one '%s'", word)
		return false
	}
	seen[word] = true
	return true
}

// union adds names to a list that has each once.
func union(list []string, names []syntax.Name) []string {
	seen := make(map[string]bool, len(list))
	for _, n := range list {
		seen[n] = true
	}
	for _, n := range names {
		if !seen[n.Text] {
			list = append(list, n.Text)
		}
	}
	return list
}

func (w *protocolWriter) rule(d *syntax.Rule, ruled map[string]bool) {
	name := d.Message.Text
	if ruled[name] {
		w.unclear = true
		w.report("PAR2010", d.Message.Span, "merge the lists", "duplicate reply rule for '%s'", name)
		return
	}
	ruled[name] = true
	w.messageNamed(d.Message, "", "PAR2104")
	if m := w.Spec.Message(name); m != nil && len(d.Annotations) > 0 {
		m.Annotations = append(slices.Clone(m.Annotations), w.annotations(d.Annotations, onRule)...)
	}
	r := spec.Rule{
		Message: name, Replies: w.messagesNamed(d.Replies, "reply "), MayRest: d.MayRest,
		By: w.rolesNamed(d.By), Within: w.duration(d.Within), Else: d.Else.Text,
	}
	if w.base != nil {
		w.Spec.Rules = slices.DeleteFunc(w.Spec.Rules, func(old spec.Rule) bool { return old.Message == name })
	}
	w.Spec.Rules = append(w.Spec.Rules, r)
}

func (w *protocolWriter) finish() {
	d := w.Spec.Dialogue
	if d == nil {
		return
	}
	if w.guessed && len(w.Spec.Rules) < len(w.Spec.Messages) {
		w.unclear = true // of what is not there a guess says nothing
	}
	for _, i := range d.Initiates {
		if len(i.Messages) > 0 {
			return
		}
	}
	if len(d.Initiates) > 0 && !w.unclear {
		w.unclear = true
		w.report("PAR2003", w.dialogueSpan(), "name a message", "dialogue has no initiating message")
	}
}

func (w *protocolWriter) dialogueSpan() syntax.Span {
	if w.dialogue == nil {
		return w.Decl.Name.Span
	}
	return syntax.Span{Start: w.dialogue.Start, End: w.dialogue.Start + int32(len("dialogue"))}
}

// steps converts a flow. Names in it are resolved, the rest is for later checks.
func (w *protocolWriter) steps(items []syntax.Item, loops []string) []spec.Step {
	var out []spec.Step
	blocks := func(list []syntax.Block) (all [][]spec.Step) {
		for _, b := range list {
			all = append(all, w.steps(b.Steps, loops))
		}
		return all
	}
	for _, item := range items {
		if item.Base().Broken && !hasBlocks(item) {
			continue
		}
		w.annotations(item.Base().Annotations, onRule)
		switch d := item.(type) {
		case *syntax.Send:
			w.rolesNamed([]syntax.Name{d.From})
			w.messageNamed(d.Message, "", "")
			out = append(out, spec.Step{From: d.From.Text, To: w.rolesNamed(d.To), Message: d.Message.Text, Within: w.duration(d.Within)})
		case *syntax.Choice:
			w.rolesNamed([]syntax.Name{d.At})
			out = append(out, spec.Step{ChoiceAt: d.At.Text, Blocks: blocks(d.Blocks)})
		case *syntax.Loop:
			inner := append(slices.Clip(loops), d.Label.Text)
			out = append(out, spec.Step{Loop: d.Label.Text, Blocks: [][]spec.Step{w.steps(d.Block.Steps, inner)}})
		case *syntax.Continue:
			if !slices.Contains(loops, d.Label.Text) {
				w.report("PAR2002", d.Label.Span, nearest(d.Label.Text, loops), "'%s' is not a loop around this", d.Label.Text)
			}
			out = append(out, spec.Step{Continue: d.Label.Text})
		case *syntax.Parallel:
			out = append(out, spec.Step{Parallel: true, Blocks: blocks(d.Blocks)})
		case *syntax.Do:
			out = append(out, spec.Step{Do: d.Protocol.Text, Roles: w.rolesNamed(d.Roles)})
		case *syntax.End:
			out = append(out, spec.Step{End: d.State.Text, Ends: true})
		}
	}
	return out
}

func hasBlocks(item syntax.Item) bool {
	switch item.(type) {
	case *syntax.Choice, *syntax.Loop, *syntax.Parallel:
		return true
	}
	return false
}
