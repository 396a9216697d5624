package syntax

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// name takes a name; what says what was expected.
func (p *parser) name(what string) (Name, bool) {
	t := p.tok()
	switch t.kind {
	case tokName:
		p.next()
		return Name{Span: Span{t.start, t.end}, Text: p.src[t.start:t.end]}, true
	case tokQuoted:
		p.next()
		return Name{Span: Span{t.start, t.end}, Text: p.src[t.start+1 : t.end-1], Quoted: true}, true
	}
	p.unexpected(what, "")
	return Name{}, false
}

func (p *parser) qname(what string) (QName, bool) {
	first, ok := p.name(what)
	q := QName{First: first}
	for ok && p.accept(tokDot) {
		var n Name
		if n, ok = p.name("a name after the dot"); ok {
			q.Rest = append(q.Rest, n)
		}
	}
	return q, ok
}

// names parses `[a, b]` or `a, b`.
func (p *parser) names() ([]Name, bool) {
	open := p.tok()
	if !p.accept(tokLBrack) {
		if isName(open) && p.peek(1).kind == tokArrow {
			p.unexpected("a name or '['", "")
			return nil, false
		}
		if p.is(tokLBrace) {
			p.unexpected("a name or '['", "lists stand in brackets: `["+p.text(p.peek(1))+"]`")
		}
		n, ok := p.name("a name or '['")
		list := []Name{n}
		for ok && p.is(tokComma) && isName(p.peek(1)) && !p.startsItem(1) {
			p.next()
			n, ok = p.name("a name")
			list = append(list, n)
		}
		return list, ok
	}
	list := []Name{}
	for !p.is(tokRBrack) {
		n, ok := p.name("a name or ']'")
		if !ok {
			if p.is(tokEOF) || !p.recoverTo(tokRBrack) {
				return list, false
			}
			return list, true
		}
		list = append(list, n)
		for p.accept(tokComma) || p.accept(tokSemi) {
		}
	}
	return list, p.expectClose(tokRBrack, open)
}

// startsItem reports whether the token n places ahead begins an item rather
// than going on with a list of names.
func (p *parser) startsItem(n int) bool {
	return p.startsDialogueItem(n) || p.startsProtocolItem(n)
}

// startsDialogueItem reports whether an item of a dialogue stands n tokens ahead.
func (p *parser) startsDialogueItem(n int) bool {
	word, next := p.peek(n), p.peek(n+1)
	if next.kind == tokArrow {
		return isName(word)
	}
	if word.kind != tokName {
		return false
	}
	switch p.text(word) {
	case "initiates", "terminates", "end_states":
		return isName(next) || next.kind == tokLBrack
	case "outcome":
		return isName(next) && p.peek(n+2).kind == tokColon
	case "keep_terminal":
		return next.kind == tokName && (p.text(next) == "true" || p.text(next) == "false")
	case "timeout":
		return next.kind == tokDuration
	}
	return false
}

func (p *parser) startsType() bool {
	switch p.tok().kind {
	case tokName, tokQuoted, tokString, tokText, tokNumber, tokLBrace, tokLParen, tokPipe:
		return true
	}
	return false
}

// typ parses a type. In the type of an item the variants of a union have their
// own comments.
func (p *parser) typ(ofItem bool) (Type, bool) {
	if !p.enter() {
		p.leave()
		return nil, false
	}
	defer p.leave()
	start := p.tok().start
	var variants []Variant
	var before []Comment
	if p.is(tokPipe) {
		if ofItem {
			p.stray = append(p.stray, p.take(p.toks[max(0, p.i-1)].comments)...)
			before = p.take(p.tok().comments)
		}
		p.next()
		if ofItem {
			before = append(before[:len(before):len(before)], p.take(p.tok().comments)...)
		}
	}
	commented := false
	for {
		var v Variant
		if before != nil {
			v.Comments = &Comments{Before: before}
			before, commented = nil, true
		}
		var ok bool
		if v.Type, ok = p.postfix(); !ok {
			return nil, false
		}
		if !p.is(tokPipe) {
			if variants == nil {
				if v.Comments != nil {
					p.stray = append(p.stray, v.Comments.Before...)
				}
				return v.Type, true
			}
			if commented {
				p.behindVariant(&v)
			}
			variants = append(variants, v)
			return &Union{Span: Span{start, p.toks[p.i-1].end}, Variants: variants}, true
		}
		if ofItem {
			p.behindVariant(&v)
			commented = commented || v.Comments != nil
			before = p.take(p.tok().comments)
		}
		variants = append(variants, v)
		p.next()
		if ofItem {
			before = append(before[:len(before):len(before)], p.take(p.tok().comments)...)
		}
	}
}

// behindVariant takes the comments that end the line of a variant.
func (p *parser) behindVariant(v *Variant) {
	p.stray = append(p.stray, p.take(p.toks[p.i-1].comments)...)
	p.behind(&v.Comments)
}

func (p *parser) postfix() (Type, bool) {
	start := p.tok().start
	t, ok := p.primary()
	for ok && p.is(tokQuestion) {
		p.next()
		if _, already := t.(*Optional); already {
			continue
		}
		t = &Optional{Span: Span{start, p.toks[p.i-1].end}, Type: t}
	}
	return t, ok
}

func (p *parser) primary() (Type, bool) {
	if p.typeLeftOut() {
		p.unexpected("a type", "")
		return nil, false
	}
	switch t := p.tok(); t.kind {
	case tokLBrace:
		return p.record()
	case tokString, tokText, tokNumber:
		v := p.literal()
		return &LiteralType{v.Span, v}, true
	case tokLParen:
		p.next()
		inner, ok := p.typ(false)
		return inner, ok && p.expectClose(tokRParen, t)
	case tokName:
		if w := p.text(t); w == "true" || w == "false" {
			v := p.literal()
			return &LiteralType{v.Span, v}, true
		}
	case tokQuoted:
	case tokLBrack:
		p.unexpected("a type", "lists are written `List<"+p.text(p.peek(1))+">`")
		return nil, false
	default:
		p.unexpected("a type", "")
		return nil, false
	}
	return p.named()
}

// typeLeftOut tells that the next member or declaration stands where a type is
// missing.
func (p *parser) typeLeftOut() bool {
	t, next := p.tok(), p.peek(1)
	return isName(t) && next.kind == tokColon && !next.newline ||
		t.newline && (p.declares(0) || p.startsProtocolItem(0) && !p.startsDecl(0))
}

func (p *parser) named() (Type, bool) {
	n := &Named{Span: Span{Start: p.tok().start}}
	var ok bool
	if n.Name, ok = p.qname("a type"); !ok {
		return nil, false
	}
	if open := p.tok(); p.accept(tokLess) {
		for {
			of, ok := p.typ(false)
			if !ok {
				return nil, false
			}
			n.Of = append(n.Of, of)
			if !p.accept(tokComma) {
				break
			}
		}
		if !p.expectClose(tokGreater, open) {
			return nil, false
		}
	}
	if p.is(tokLBrack) && !p.tok().newline {
		p.brackets(n)
		return nil, false
	}
	if p.is(tokLParen) {
		n.Args = p.args()
	}
	n.End = p.toks[p.i-1].end
	return n, true
}

// brackets tells how lists are written here, and skips how other languages do it.
func (p *parser) brackets(n *Named) {
	hint := "write `List<" + n.Name.String() + ">`"
	if p.peek(1).kind != tokRBrack {
		hint = "write `" + n.Name.String() + "<" + p.text(p.peek(1)) + ">`"
		if p.peek(2).kind == tokComma {
			hint = "write `" + n.Name.String() + "<" + p.text(p.peek(1)) + ", " + p.text(p.peek(3)) + ">`"
		}
	}
	p.report("PAR0002", hint, "unexpected '[' behind a type")
	p.next()
	p.recoverTo(tokRBrack)
}

func (p *parser) record() (Type, bool) {
	r := &Record{Span: Span{Start: p.tok().start}}
	var last Item
	member := func() (Item, bool) {
		item, ok := p.member(last)
		if item != nil {
			last = item
		}
		return item, ok
	}
	var ok bool
	open := p.is(tokLBrace)
	r.Members, r.Tail, ok = p.items(block{item: member, stop: p.recordLeftOut, begin: p.startsMember, typed: true})
	r.Whole = open && p.toks[p.i-1].kind == tokRBrace
	r.End = p.toks[p.i-1].end
	return r, ok
}

// member parses a member of a record. Annotations that nothing follows belong
// to the member before, which is nil for the first.
func (p *parser) member(last Item) (item Item, ok bool) {
	var n Node
	o := p.begin(&n)
	n.Annotations = p.annotations(true)
	switch {
	case p.is(tokRBrace) && n.Annotations != nil && last != nil:
		p.end(&n, o)
		last.Base().adopt(&n)
		return nil, true
	case p.is(tokEllipsis):
		p.next()
		s := &Spread{}
		s.Name, ok = p.qname("the record to copy from")
		item = s
	case p.startsReserved():
		item, ok = p.reserved(tokColon)
	default:
		f := &Field{}
		ok = p.field(f, &n)
		item = f
	}
	p.settle(ok, o, p.startsMember)
	p.end(&n, o)
	return p.finish(item, n), ok
}

// startsMember reports whether a member of a record stands n tokens ahead.
func (p *parser) startsMember(n int) bool {
	t := p.peek(n)
	return isName(t) && p.peek(n+1).kind == tokColon || t.kind == tokEllipsis || t.kind == tokAt
}

// adopt takes over the annotations and comments of an item that is none.
func (n *Node) adopt(other *Node) {
	n.Annotations = append(n.Annotations, other.Annotations...)
	n.Broken = n.Broken || other.Broken
	if other.Comments != nil {
		n.Comments = cmp.Or(n.Comments, &Comments{})
		n.Comments.Before = slices.Concat(n.Comments.Before, other.Comments.Before, other.Comments.Behind)
	}
	for _, a := range other.Annotations {
		if a.Comments != nil {
			n.Comments = cmp.Or(n.Comments, &Comments{})
			n.Comments.Before = slices.Concat(n.Comments.Before, a.Comments.Before, a.Comments.Behind)
			a.Comments = nil
		}
	}
}

func (p *parser) field(f *Field, n *Node) bool {
	var ok bool
	if f.Name, ok = p.name("a field"); !ok {
		return false
	}
	if !p.accept(tokColon) {
		hint := "write `" + f.Name.Text + ": Type`"
		if t := p.tok(); isName(t) && !t.newline {
			hint = "write `" + f.Name.Text + ": " + p.text(t) + "`"
		} else if t.kind == tokQuestion && p.peek(1).kind == tokColon {
			hint = "the '?' stands behind the type: `" + f.Name.Text + ": Type?`"
			p.unexpected("':'", hint)
			p.next()
			p.next()
			f.Type, ok = p.typ(true)
			return ok
		}
		p.unexpected("':'", hint)
		if p.tok().newline || !p.startsType() {
			return false
		}
	}
	if f.Type, ok = p.typ(true); !ok {
		return false
	}
	if p.accept(tokEqual) {
		if f.Default = p.literal(); f.Default == nil {
			return false
		}
	}
	n.Annotations = append(n.Annotations, p.annotations(false)...)
	return true
}

// literal parses a value; it is nil if there is none.
func (p *parser) literal() *Literal {
	t := p.tok()
	l := &Literal{Span: Span{t.start, t.end}, Raw: p.text(t)}
	switch t.kind {
	case tokString:
		l.Kind, l.Value = String, unquote(l.Raw)
	case tokText:
		l.Raw = unixLines(l.Raw)
		l.Kind, l.Value = Text, textValue(l.Raw)
	case tokNumber:
		l.Kind = Number
	case tokDuration:
		l.Kind = Duration
	case tokName:
		l.Kind, l.Value = Word, l.Raw
	case tokQuoted:
		l.Kind, l.Value = Word, l.Raw[1:len(l.Raw)-1]
	case tokLBrack, tokLBrace:
		return p.composite(l)
	default:
		p.unexpected("a value", "")
		return nil
	}
	p.next()
	return l
}

func (p *parser) composite(l *Literal) *Literal {
	if !p.enter() {
		p.leave()
		return nil
	}
	defer p.leave()
	open := p.tok()
	l.Raw, l.Kind = "", List
	closing := tokRBrack
	if open.kind == tokLBrace {
		l.Kind, closing = Object, tokRBrace
	}
	p.next()
	for !p.is(closing) && !p.is(tokEOF) {
		var m LiteralMember
		if l.Kind == Object {
			if t := p.tok(); t.kind == tokString {
				m.Key = Name{Span: Span{t.start, t.end}, Text: unquote(p.text(t))}
				m.String = true
				p.next()
			} else {
				var ok bool
				if m.Key, ok = p.name("a key"); !ok {
					return nil
				}
			}
			if !p.expect(tokColon, "") {
				return nil
			}
		}
		if m.Value = p.literal(); m.Value == nil {
			return nil
		}
		if l.Kind == Object {
			l.Members = append(l.Members, m)
		} else {
			l.Items = append(l.Items, m.Value)
		}
		for p.accept(tokComma) || p.accept(tokSemi) {
		}
	}
	if !p.expectClose(closing, open) {
		return nil
	}
	l.End = p.toks[p.i-1].end
	return l
}

// integer parses a number that must be whole and small.
func (p *parser) integer() *Literal {
	if t := p.text(p.tok()); strings.ContainsAny(t, ".eE-") || len(t) > 9 {
		p.report("PAR0008", "", "expected a whole number below 1000000000, found '%s'", shorten(t))
	}
	return p.literal()
}

// unquote returns what a string means. The scanner has reported bad escapes.
func unquote(raw string) string {
	s := strings.TrimSuffix(strings.TrimPrefix(raw, `"`), `"`)
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		switch s[i] {
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u':
			r := hex4(s[i+1:])
			i += min(4, len(s)-i-1)
			if utf16.IsSurrogate(r) && strings.HasPrefix(s[i+1:], `\u`) {
				if pair := utf16.DecodeRune(r, hex4(s[i+3:])); pair != utf8.RuneError {
					r = pair
					i += 6
				}
			}
			b = utf8.AppendRune(b, r)
		default:
			b = append(b, s[i])
		}
	}
	return string(b)
}

func hex4(s string) rune {
	var r rune
	for i := 0; i < 4 && i < len(s) && isHex(s[i]); i++ {
		c := s[i] | 0x20
		if c >= 'a' {
			r = r<<4 | rune(c-'a'+10)
		} else {
			r = r<<4 | rune(c-'0')
		}
	}
	return r
}

// textValue returns what a text means: all between its marks, save a newline
// that follows the first of them.
func textValue(raw string) string {
	return strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(raw, `"""`), `"""`), "\n")
}

// unixLines ends lines as Unix does, so that a text means the same on all systems.
func unixLines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
