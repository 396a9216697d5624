package syntax

import (
	"strings"

	"github.com/parley-agents/parley/internal/lang/diag"
)

// maxDepth bounds how deeply types, literals and blocks are nested.
const maxDepth = 100

// Parse reads a source. It returns a tree of what could be understood, with
// Broken set on the items in which mistakes were found, and all these mistakes.
// A name that ends in ".md" is that of a Markdown page, of which the code blocks
// are read.
func Parse(name string, src []byte) (*File, diag.List) {
	f := &File{Name: name, src: string(src)}
	if len(f.src) > maxSource {
		f.Broken = true
		f.src = ""
		return f, diag.List{diag.New("PAR0010", diag.Span{File: name}, "split it and import the parts",
			"the source has %d bytes; at most %d are read", len(src), maxSource)}
	}
	s := scanner{file: f, src: f.src}
	s.unreadable(f.src)
	if isMarkdown(name) {
		s.src, f.blocks = codeOf(f.src)
	}
	s.scan()
	p := parser{
		file: f, src: s.src, toks: s.tokens, comments: s.comments, marks: s.marks,
		found: s.found, swallowed: s.swallowed, reported: -1,
	}
	p.top()
	f.Broken = len(p.found) > 0
	return f, p.found.Tidy()
}

type parser struct {
	file     *File
	src      string
	toks     []token
	i        int
	comments []Comment
	marks    []mark
	found    diag.List

	taken     int32     // how many comments belong to an item already
	stray     []Comment // within the item in progress
	damage    int       // mistakes so far, those of the scanner included
	reported  int       // the token at which the last mistake was reported
	depth     int
	swallowed bool
}

func (p *parser) tok() token { return p.toks[p.i] }

// peek returns the token n places ahead.
func (p *parser) peek(n int) token { return p.toks[min(p.i+n, len(p.toks)-1)] }

func (p *parser) text(t token) string { return p.src[t.start:t.end] }

func (p *parser) next() {
	if p.toks[p.i].damaged {
		p.damage++
	}
	if p.i < len(p.toks)-1 {
		p.i++
	}
}

func (p *parser) is(k kind) bool { return p.toks[p.i].kind == k }

func (p *parser) accept(k kind) bool {
	if p.toks[p.i].kind == k {
		p.next()
		return true
	}
	return false
}

// word reports whether the token is the given word, outside backticks.
func (p *parser) word(w string) bool {
	t := p.toks[p.i]
	return t.kind == tokName && p.src[t.start:t.end] == w
}

func (p *parser) acceptWord(w string) bool {
	if p.word(w) {
		p.next()
		return true
	}
	return false
}

func isName(t token) bool { return t.kind == tokName || t.kind == tokQuoted }

// report adds a mistake at a token, unless one was reported there already.
func (p *parser) report(code, hint, format string, args ...any) {
	p.damage++
	if p.reported == p.i || p.is(tokEOF) && p.swallowed || p.tok().damaged {
		p.reported = p.i
		return
	}
	p.reported = p.i
	t := p.tok()
	p.add(code, Span{t.start, t.end}, hint, format, args...)
}

func (p *parser) add(code string, at Span, hint, format string, args ...any) {
	p.damage++
	if len(p.found) < 8*diag.MaxPerFile {
		p.found = append(p.found, diag.New(code, p.file.At(at), hint, format, args...))
	}
}

func (p *parser) unexpected(wanted, hint string) {
	p.report("PAR0002", hint, "expected %s, found %s", wanted, p.describe(p.tok()))
}

func (p *parser) describe(t token) string {
	switch t.kind {
	case tokEOF:
		return spelling[tokEOF]
	case tokString, tokText:
		return "the string " + shorten(strings.ReplaceAll(p.text(t), "\n", `\n`))
	}
	return "'" + shorten(p.text(t)) + "'"
}

func (p *parser) expect(k kind, hint string) bool {
	if p.accept(k) {
		return true
	}
	p.unexpected(spelling[k], hint)
	return false
}

// expectClose takes what closes a bracket.
func (p *parser) expectClose(k kind, open token) bool {
	if p.accept(k) {
		return true
	}
	at := p.file.pos(open.start)
	if p.is(tokEOF) {
		p.report("PAR0002", "add it", "expected %s, found end of file: '%s' was opened at %d:%d", spelling[k], p.text(open), at.Line, at.Column)
	} else {
		p.unexpected(spelling[k], "")
	}
	return false
}

func (p *parser) enter() bool {
	if p.depth++; p.depth > maxDepth {
		p.report("PAR0007", "give inner parts names of their own", "nested more than %d deep", maxDepth)
		return false
	}
	return true
}

func (p *parser) leave() { p.depth-- }

// opened is what end needs to know of begin.
type opened struct {
	stray  []Comment
	damage int
	token  int
}

// begin starts an item at the current token and gives it the comments before.
func (p *parser) begin(n *Node) opened {
	t := p.tok()
	o := opened{p.stray, p.damage, p.i}
	p.stray = nil
	if before := p.take(t.comments); before != nil {
		n.Comments = &Comments{Before: before}
	}
	n.Start, n.Blank = t.start, t.blank
	return o
}

// end closes an item after its last token, takes separators and the comments
// that stand behind it.
func (p *parser) end(n *Node, o opened) {
	if p.i > 0 {
		last := p.toks[p.i-1]
		n.End = max(n.Start, last.end)
		p.stray = append(p.stray, p.take(last.comments)...)
	}
	if len(p.stray) > 0 {
		if n.Comments == nil {
			n.Comments = &Comments{}
		}
		n.Comments.Before = append(n.Comments.Before[:len(n.Comments.Before):len(n.Comments.Before)], p.stray...)
	}
	p.stray = o.stray
	n.Broken = p.damage != o.damage
	p.behind(&n.Comments)
	for p.is(tokComma) || p.is(tokSemi) {
		p.next()
		p.behind(&n.Comments)
	}
}

// take returns the comments up to the n-th that no item has.
func (p *parser) take(n int32) []Comment {
	if p.taken >= n {
		return nil
	}
	c := p.comments[p.taken:n:n]
	p.taken = n
	return c
}

// sweep gives the comments before the current token to the item in progress,
// because what follows has items of its own.
func (p *parser) sweep() {
	if c := p.take(p.tok().comments); c != nil {
		p.stray = append(p.stray, c...)
	}
}

// behind takes the comments that follow on the same line. One that ends with
// the line is the last of them.
func (p *parser) behind(c **Comments) {
	t := p.tok()
	for p.taken < t.comments && !p.marks[p.taken].newline {
		if *c != nil && len((*c).Behind) > 0 && isLine((*c).Behind[len((*c).Behind)-1]) {
			return
		}
		if !p.lineEnds(p.taken, t) {
			return
		}
		if *c == nil {
			*c = &Comments{}
		}
		(*c).Behind = append((*c).Behind, p.comments[p.taken])
		p.taken++
	}
}

func isLine(c Comment) bool { return strings.HasPrefix(c.Text, "//") }

// lineEnds reports whether nothing but comments follows the given comment on its
// line, or only what ends an item.
func (p *parser) lineEnds(comment int32, t token) bool {
	for i := comment; i < t.comments; i++ {
		if i > comment && p.marks[i].newline || isLine(p.comments[i]) {
			return true
		}
	}
	switch t.kind {
	case tokEOF, tokRBrace, tokComma, tokSemi:
		return true
	}
	return t.newline
}

// A block is how the items between braces are parsed.
type block struct {
	item  func() (Item, bool)
	stop  func() bool      // the closing brace has been forgotten
	extra func() bool      // the closing brace is one too many; nil if that cannot be seen
	begin func(n int) bool // an item begins n tokens ahead
	typed bool             // it is a type, of which the depth is counted already
}

// items parses what stands between braces. The item function parses one and
// reports whether it could. A brace that was forgotten is reported, and reading
// goes on as if it were there.
func (p *parser) items(b block) (items []Item, tail []Comment, ok bool) {
	open := p.tok()
	p.sweep()
	if !b.typed {
		if !p.enter() {
			p.leave()
			return nil, nil, false
		}
		defer p.leave()
	}
	if !p.expect(tokLBrace, "") && !b.begin(0) {
		return nil, nil, false
	}
	if p.is(tokComma) || p.is(tokSemi) {
		p.unexpected("what stands between the braces", "remove it")
		p.next()
	}
	if p.is(tokLBrace) {
		p.unexpected("what stands between the braces", "remove one")
		p.next()
	}
	for !p.is(tokEOF) && !b.stop() {
		if p.is(tokRBrace) {
			if b.extra == nil || !b.extra() {
				break
			}
			p.unexpected("what stands between the braces", "remove it")
			p.next()
			continue
		}
		before := p.i
		it, ok := b.item()
		if it != nil {
			items = append(items, it)
		}
		if !ok && p.i == before {
			p.next()
		}
	}
	tail = p.take(p.tok().comments)
	if open.kind != tokLBrace { // told already
		p.accept(tokRBrace)
		return items, tail, true
	}
	if p.is(tokRBrace) || p.is(tokEOF) {
		return items, tail, p.expectClose(tokRBrace, open)
	}
	at := p.file.pos(open.start)
	p.report("PAR0002", "add it", "expected '}', found %s: '{' was opened at %d:%d", p.describe(p.tok()), at.Line, at.Column)
	return items, tail, true
}

// settle ends an item in which a mistake was found, so that the next one begins
// where one can. It skips to the end of the line, to a separator that an item
// follows, or to the brace that closes what it stands in.
func (p *parser) settle(ok bool, o opened, begin func(n int) bool) {
	start := o.token
	if ok && (p.damage == o.damage || p.atBoundary()) {
		return
	}
	depth := 0
	for !p.is(tokEOF) {
		t := p.tok()
		if depth == 0 {
			switch {
			case t.kind == tokRBrace, t.kind == tokSemi && p.i > start, t.newline && p.i > start:
				return
			case t.kind == tokComma && p.i > start && (p.peek(1).newline || p.peek(1).kind == tokRBrace || begin(1)):
				return
			}
		}
		switch t.kind {
		case tokLBrace, tokLBrack, tokLParen, tokLess:
			depth++
		case tokRBrace, tokRBrack, tokRParen, tokGreater:
			depth = max(0, depth-1)
		}
		p.next()
	}
}

// atBoundary reports whether an item can end here.
func (p *parser) atBoundary() bool {
	switch t := p.tok(); t.kind {
	case tokEOF, tokRBrace, tokComma, tokSemi:
		return true
	default:
		return t.newline
	}
}

// recoverTo skips to a bracket that closes a list and takes it.
func (p *parser) recoverTo(closing kind) bool {
	depth := 0
	for !p.is(tokEOF) {
		switch t := p.tok(); t.kind {
		case tokLBrace, tokLBrack, tokLParen, tokLess:
			depth++
		case tokRBrace, tokRBrack, tokRParen, tokGreater:
			if depth == 0 {
				return p.accept(closing)
			}
			depth--
		case tokSemi, tokArrow, tokEqual, tokColon:
			if depth == 0 && t.kind != tokColon {
				return false
			}
		}
		if p.tok().newline && depth == 0 && p.startsDecl(0) {
			return false
		}
		p.next()
	}
	return false
}
