package check

import (
	"github.com/parley-agents/parley/internal/lang/diag"
	"github.com/parley-agents/parley/internal/lang/syntax"
	"github.com/parley-agents/parley/internal/lang/verify"
)

func nearest(written string, known []string) string { return diag.DidYouMean(written, known) }

// place finds where in the source a finding belongs: in the protocol itself or
// in one that it extends.
func (p *Protocol) place(at verify.Place) diag.Span {
	for from := p; from != nil; from = from.base {
		own := at
		if from.base != nil && from.base.Spec.Dialogue != nil {
			own.Index -= len(from.base.Spec.Dialogue.Outcomes) // those come first
		}
		if span, ok := from.find(own); ok {
			return from.File.At(span)
		}
	}
	return p.File.At(p.Decl.Name.Span)
}

func (p *Protocol) find(at verify.Place) (syntax.Span, bool) {
	for _, item := range p.Decl.Items {
		switch d := item.(type) {
		case *syntax.MessageDecl:
			if at.Element == verify.Message && d.Name.Text == at.Message {
				return d.Name.Span, true
			}
		case *syntax.Dialogue:
			if at.Element == verify.Dialogue {
				return syntax.Span{Start: d.Start, End: d.Start + int32(len("dialogue"))}, true
			}
			if span, ok := findIn(d, at); ok {
				return span, true
			}
		}
	}
	return syntax.Span{}, false
}

func findIn(d *syntax.Dialogue, at verify.Place) (syntax.Span, bool) {
	outcomes := 0
	for _, item := range d.Items {
		switch d := item.(type) {
		case *syntax.Initiates:
			if at.Element == verify.Initiates {
				if span, ok := nameIn(d.Messages, at.Message); ok {
					return span, true
				}
			}
		case *syntax.NameList:
			if at.Element == verify.Terminates && d.Word == "terminates" {
				if span, ok := nameIn(d.Names, at.Message); ok {
					return span, true
				}
			}
		case *syntax.Rule:
			if d.Message.Text == at.Message {
				if span, ok := findInRule(d, at); ok {
					return span, true
				}
			}
		case *syntax.Outcome:
			if d.Broken {
				continue
			}
			if at.Element == verify.Outcome && outcomes == at.Index {
				return d.State.Span, true
			}
			outcomes++
		}
	}
	return syntax.Span{}, false
}

func findInRule(d *syntax.Rule, at verify.Place) (syntax.Span, bool) {
	switch at.Element {
	case verify.Rule:
		return d.Message.Span, true
	case verify.Reply:
		if span, ok := nameIn(d.Replies, at.Reply); ok {
			return span, true
		}
		return d.Message.Span, true
	case verify.Within:
		if d.Within != nil {
			return d.Within.Span, true
		}
		return d.Message.Span, true
	case verify.Else:
		if d.Else.Text != "" {
			return d.Else.Span, true
		}
	}
	return syntax.Span{}, false
}

func nameIn(names []syntax.Name, name string) (syntax.Span, bool) {
	for _, n := range names {
		if n.Text == name {
			return n.Span, true
		}
	}
	return syntax.Span{}, false
}
