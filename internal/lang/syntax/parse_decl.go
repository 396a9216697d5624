package syntax

import (
	"strings"

	"github.com/parley-agents/parley/internal/lang/diag"
)

var (
	topWords      = []string{"package", "import", "type", "enum", "message", "custom", "protocol", "annotation", "open", "parley"}
	protocolWords = []string{"roles", "message", "type", "enum", "custom", "dialogue", "flow", "open", "annotation"}
)

// otherWords are how other languages say it.
var otherWords = map[string]string{
	"struct": "records are `type A = { … }`", "record": "records are `type A = { … }`", "class": "records are `type A = { … }`",
	"model": "records are `type A = { … }`", "interface": "records are `type A = { … }`", "alias": "aliases are `type A = B`",
	"union": "unions are `type A = B | C`", "service": "write `protocol A { … }`", "rpc": "write `message a: request { … }`",
	"version":  "versions belong to packages and protocols: `package acme.shop version \"1.0.0\"`",
	"dialogue": "it stands within `protocol A { … }`", "roles": "they stand within `protocol A { … }`", "flow": "it stands within `protocol A { … }`",
	"syntax": "the first line is `parley \"1\"`", "option": "options are annotations such as `@name(\"x\")`",
}

// declares reports whether the token n places ahead begins a declaration.
func (p *parser) startsDecl(n int) bool {
	t := p.peek(n)
	if t.kind != tokName || !isName(p.peek(n+1)) {
		return false
	}
	switch p.text(t) {
	case "type", "enum", "message", "custom", "protocol", "annotation":
		return true
	case "open":
		w := p.text(p.peek(n + 1))
		return w == "type" || w == "enum"
	}
	return false
}

// declares reports whether a whole head of a declaration stands n tokens ahead,
// such as `type A =`. No field, value or item of a dialogue looks like that.
func (p *parser) declares(n int) bool {
	if !p.startsDecl(n) {
		return false
	}
	third := p.peek(n + 2)
	switch p.text(p.peek(n)) {
	case "type":
		return third.kind == tokEqual
	case "enum":
		return third.kind == tokLBrace
	case "message":
		return third.kind == tokColon || third.kind == tokLBrace || third.kind == tokEqual
	case "custom":
		return third.kind == tokString || third.kind == tokText
	case "protocol":
		return third.kind == tokLBrace || third.kind == tokName && !third.newline
	case "annotation":
		return third.kind == tokLParen || third.kind == tokDot
	}
	return true
}

// leftOut tells that a declaration on a new line cannot belong to the record,
// enum, dialogue or flow that is being read: its closing brace was forgotten.
func (p *parser) leftOut() bool {
	if !p.tok().newline {
		return false
	}
	n := p.pastAnnotations()
	return p.declares(n) || p.startsProtocolItem(n) && !p.startsDecl(n)
}

// recordLeftOut tells the same of a record, of which no member looks like the head
// of a declaration.
func (p *parser) recordLeftOut() bool { return p.leftOut() || p.declares(p.pastAnnotations()) }

// protocolLeftOut tells the same of a protocol within another.
func (p *parser) protocolLeftOut() bool {
	if !p.tok().newline || !p.atMargin() {
		return false
	}
	n := p.pastAnnotations()
	return p.declares(n) && p.text(p.peek(n)) == "protocol"
}

// pastAnnotations returns how many tokens ahead the annotations end that begin
// here. It does not look far.
func (p *parser) pastAnnotations() int {
	const far = 100
	n, depth := 0, 0
	for n < far && (depth > 0 || p.peek(n).kind == tokAt) {
		if depth == 0 {
			n += 2 // @ and its name
			for p.peek(n).kind == tokDot {
				n += 2
			}
			if p.peek(n).kind != tokLParen {
				continue
			}
		}
		switch p.peek(n).kind {
		case tokLParen, tokLBrack, tokLBrace:
			depth++
		case tokRParen, tokRBrack, tokRBrace:
			depth--
		case tokEOF:
			return n
		}
		n++
	}
	return n
}

// atMargin reports whether the token is the first of its line, without spaces.
func (p *parser) atMargin() bool {
	start := p.tok().start
	return start == 0 || p.src[start-1] == '\n'
}

func (p *parser) top() {
	declared := false
	var pkg *Package
	for {
		for p.accept(tokComma) || p.accept(tokSemi) {
		}
		if p.is(tokEOF) {
			break
		}
		before := p.i
		item, ok := p.topItem()
		switch item := item.(type) {
		case nil:
		case *Edition:
			if len(p.file.Items) > 0 {
				p.add("PAR0009", item.Span, "make it the first line", "the edition must come before everything else")
			}
		case *Package:
			if pkg != nil {
				at := p.file.pos(pkg.Start)
				p.add("PAR0009", item.Span, "use a file per package", "a file has one package; the first is at %d:%d", at.Line, at.Column)
			} else if declared {
				p.add("PAR0009", item.Span, "move it up", "the package must come before the declarations")
			}
			pkg = item
		case *Import:
		default:
			declared = true
		}
		if item != nil {
			p.file.Items = append(p.file.Items, item)
		}
		if !ok && p.i == before {
			p.next()
		}
	}
	p.file.Tail = p.take(p.tok().comments)
}

// topItem parses one item of a file and recovers if it cannot.
func (p *parser) topItem() (Item, bool) {
	var n Node
	o := p.begin(&n)
	n.Annotations = p.annotations(true)
	var item Item
	ok := false
	switch {
	case p.word("parley"):
		p.next()
		e := &Edition{}
		if ok = p.is(tokString); ok {
			e.Value = p.literal()
		} else {
			p.unexpected("the edition in quotes", `write parley "1"`)
		}
		item = e
	case p.word("package"):
		item, ok = p.packageDecl()
	case p.word("import"):
		item, ok = p.importDecl()
	case p.is(tokRBrace) && len(p.found) > 0: // belongs to what was not understood before
		p.next()
		p.damage++
		ok = true
	default:
		item, ok = p.decl(topWords)
	}
	if item == nil {
		p.lose()
	}
	if !ok || p.damage != o.damage && !p.atBoundary() {
		p.recoverTop()
	}
	p.end(&n, o)
	return p.finish(item, n), ok
}

// lose notes the names at the start of what is not understood, since they may be
// those of declarations.
func (p *parser) lose() {
	for n := range 3 {
		if t := p.peek(n); isName(t) {
			p.file.lost = append(p.file.lost, strings.Trim(p.text(t), "`"))
		}
	}
}

// finish puts what was found about an item into it. Comments of an item that is
// not there belong to the file.
func (p *parser) finish(item Item, n Node) Item {
	if item == nil {
		return nil
	}
	*item.Base() = n
	return item
}

// recoverTop skips to the next declaration at the start of a line.
func (p *parser) recoverTop() {
	depth := 0
	for !p.is(tokEOF) {
		t := p.tok()
		if t.newline && depth <= 0 && (p.startsDecl(0) || t.kind == tokAt || p.word("package") || p.word("import")) {
			return
		}
		switch t.kind {
		case tokLBrace:
			depth++
		case tokRBrace:
			if depth--; depth == 0 {
				p.next()
				return
			}
		}
		p.next()
	}
}

func (p *parser) packageDecl() (Item, bool) {
	p.next()
	d := &Package{}
	var ok bool
	if d.Name, ok = p.qname("the package's name"); !ok {
		return d, false
	}
	d.Version, ok = p.version()
	return d, ok
}

func (p *parser) version() (*Literal, bool) {
	if !p.word("version") {
		return nil, true
	}
	p.next()
	if !p.is(tokString) {
		p.unexpected("a version in quotes", `such as version "1.0.0"`)
		if p.is(tokNumber) {
			p.next()
			return nil, true
		}
		return nil, false
	}
	return p.literal(), true
}

func (p *parser) importDecl() (Item, bool) {
	p.next()
	d := &Import{}
	if !p.is(tokString) {
		p.unexpected("a file in quotes", `such as import "common.parley"`)
		return d, false
	}
	d.Path = p.literal()
	if p.word("as") {
		p.next()
		var ok bool
		if d.Alias, ok = p.name("a name"); !ok {
			return d, false
		}
	}
	return d, true
}

// decl parses a declaration. The words are those that may stand here.
func (p *parser) decl(words []string) (Item, bool) {
	t := p.tok()
	if t.kind != tokName {
		p.unexpected("a declaration", "")
		return nil, false
	}
	open := p.word("open")
	if open {
		p.next()
	}
	switch w := p.text(p.tok()); {
	case w == "type":
		return p.typeDecl(open)
	case w == "enum":
		return p.enumDecl(open)
	case open:
		p.unexpected("'type' or 'enum'", "only types and enums are open")
		return nil, false
	case w == "message":
		return p.messageDecl()
	case w == "custom":
		return p.customDecl()
	case w == "annotation":
		return p.annotationDecl()
	case w == "protocol":
		return p.protocolDecl()
	default:
		p.unknown("declaration", w, words)
		return nil, false
	}
}

func (p *parser) unknown(what, word string, words []string) {
	hint := otherWords[word]
	if hint == "" {
		hint = diag.DidYouMean(word, words)
	}
	if hint == "" {
		hint = "one of " + strings.Join(words, ", ")
	}
	p.report("PAR0003", hint, "unknown %s '%s'", what, shorten(word))
}

func (p *parser) typeDecl(open bool) (Item, bool) {
	p.next()
	d := &TypeDecl{Open: open}
	var ok bool
	if d.Name, ok = p.name("the type's name"); !ok {
		p.file.hidden = true
		return d, false
	}
	if !p.accept(tokEqual) {
		hint := "write `type " + d.Name.Text + " = …`"
		if p.is(tokLBrace) {
			hint = "write `type " + d.Name.Text + " = { … }`"
		}
		p.unexpected("'='", hint)
		p.lose()
		if p.tok().newline || !p.startsType() {
			return d, false
		}
	}
	if isName(p.tok()) && p.peek(1).kind == tokColon {
		p.unexpected("'{'", "records are `type "+d.Name.Text+" = { … }`")
		d.Type, ok = p.record()
		return d, ok
	}
	d.Type, ok = p.typ(true)
	return d, ok
}

func (p *parser) enumDecl(open bool) (Item, bool) {
	p.next()
	d := &EnumDecl{Open: open}
	var ok bool
	if d.Name, ok = p.name("the enum's name"); !ok {
		p.file.hidden = true
		return d, false
	}
	if !p.is(tokLBrace) {
		p.unexpected("'{'", "write `enum "+d.Name.Text+" { A, B }`")
		p.lose()
	}
	d.Items, d.Tail, ok = p.items(block{item: p.enumItem, stop: p.leftOut, begin: func(int) bool { return false }})
	return d, ok
}

func (p *parser) enumItem() (Item, bool) {
	var n Node
	o := p.begin(&n)
	n.Annotations = p.annotations(true)
	var item Item
	var ok bool
	if p.startsReserved() {
		item, ok = p.reserved(tokEqual)
	} else {
		v := &EnumValue{}
		switch t := p.tok(); {
		case t.kind == tokPipe:
			p.unexpected("a value's name", "values stand one after the other: `A, B`")
		case t.kind == tokString:
			p.unexpected("a value's name", "write `NAME = "+shorten(p.text(t))+"`")
		case n.Annotations != nil && !isName(t):
			p.unexpected("a value's name", "annotations stand before the value")
		}
		if v.Name, ok = p.name("a value's name"); ok && p.accept(tokEqual) {
			v.Value = p.literal()
			ok = v.Value != nil
		}
		item = v
	}
	p.settle(ok, o, func(int) bool { return true })
	p.end(&n, o)
	return p.finish(item, n), ok
}

// startsReserved tells `reserved a, b` from a field or value of that name.
func (p *parser) startsReserved() bool {
	next := p.peek(1)
	return p.word("reserved") && (isName(next) && !next.newline || next.kind == tokNumber)
}

// reserved parses names and numbers. A name before the given token is not one
// of them but the next member.
func (p *parser) reserved(member kind) (Item, bool) {
	p.next()
	d := &Reserved{}
	for {
		var r ReservedRange
		if p.is(tokNumber) {
			r.From = p.integer()
			if p.accept(tokDotDot) {
				if !p.is(tokNumber) {
					p.unexpected("a number", "")
					return d, false
				}
				r.To = p.integer()
			}
		} else {
			var ok bool
			if r.Name, ok = p.name("a name or a number"); !ok {
				return d, false
			}
		}
		d.Ranges = append(d.Ranges, r)
		next := p.peek(1)
		if !p.is(tokComma) || !(isName(next) && p.peek(2).kind != member || next.kind == tokNumber) {
			return d, true
		}
		p.next()
	}
}

func (p *parser) messageDecl() (Item, bool) {
	p.next()
	d := &MessageDecl{}
	var ok bool
	if d.Name, ok = p.name("the message's name"); !ok {
		return d, false
	}
	if p.accept(tokColon) {
		if d.Class, ok = p.name("a class such as request or inform"); !ok {
			return d, false
		}
	}
	if p.word("from") {
		p.next()
		if d.From, ok = p.names(); !ok {
			return d, false
		}
	}
	switch {
	case p.accept(tokEqual):
		d.Alias = true
		d.Body, ok = p.typ(true)
	case p.is(tokLBrace):
		d.Body, ok = p.record()
	case isName(p.tok()) && !p.tok().newline && d.Class.Text == "" && p.peek(1).kind == tokLBrace:
		p.unexpected("':'", "write `message "+d.Name.Text+": "+p.text(p.tok())+"`")
		d.Class, _ = p.name("")
		d.Body, ok = p.record()
	case isName(p.tok()) && p.peek(1).kind == tokColon && isName(p.peek(2)) && p.peek(3).kind == tokLBrace:
		p.unexpected("':', '{' or '='", "a message has one name")
		p.lose()
		p.next()
		p.next()
		p.next()
		d.Body, ok = p.record()
		return d, ok
	case p.startsMember(0):
		p.unexpected("'{' or '='", "write `message "+d.Name.Text+" { … }`")
		d.Body, ok = p.record()
	default:
		head := d.Name.Text
		if d.Class.Text != "" {
			head += ": " + d.Class.Text
		}
		p.unexpected("'{' or '='", "a message without content is `message "+head+" {}`")
		return d, false
	}
	return d, ok
}

func (p *parser) customDecl() (Item, bool) {
	p.next()
	d := &CustomDecl{}
	var ok bool
	if d.Name, ok = p.name("the custom type's name"); !ok {
		p.file.hidden = true
		return d, false
	}
	if !p.is(tokString) && !p.is(tokText) {
		p.unexpected("the body of a proto3 message as a string", `it stands in """`)
		p.lose()
		return d, false
	}
	d.Body = p.literal()
	return d, true
}

func (p *parser) annotationDecl() (Item, bool) {
	p.next()
	d := &AnnotationDecl{}
	var ok bool
	if d.Name, ok = p.qname("the annotation's name"); !ok {
		return d, false
	}
	open := p.tok()
	if !p.expect(tokLParen, "") {
		return d, false
	}
	for !p.is(tokRParen) {
		var param Param
		if param, ok = p.param(); !ok {
			return d, false
		}
		d.Params = append(d.Params, param)
		if !p.accept(tokComma) && !p.accept(tokSemi) {
			break
		}
	}
	if !p.expectClose(tokRParen, open) {
		return d, false
	}
	if !p.acceptWord("on") {
		p.unexpected("'on'", "say what it may stand on: `on type, field`")
		return d, false
	}
	d.On, ok = p.names()
	return d, ok
}

func (p *parser) param() (param Param, ok bool) {
	if param.Name, ok = p.name("a parameter"); !ok {
		return param, false
	}
	if !p.expect(tokColon, "") {
		return param, false
	}
	if param.Type, ok = p.typ(false); !ok {
		return param, false
	}
	if p.accept(tokEqual) {
		param.Default = p.literal()
		ok = param.Default != nil
	}
	return param, ok
}

// annotations parses those that stand before an item, or with leading unset
// those that follow a field on its line.
func (p *parser) annotations(leading bool) []*Annotation {
	var list []*Annotation
	for p.is(tokAt) {
		if !leading && p.tok().newline {
			break
		}
		a := &Annotation{}
		if leading && len(list) > 0 {
			if before := p.take(p.tok().comments); before != nil {
				a.Comments = &Comments{Before: before}
			}
		}
		a.Start = p.tok().start
		damage := p.damage
		p.next()
		var ok bool
		if a.Name, ok = p.qname("an annotation's name"); !ok {
			break
		}
		if p.is(tokLParen) {
			a.Args = p.args()
		} else if p.is(tokString) && !p.tok().newline {
			p.unexpected("'('", "write `@"+a.Name.String()+"("+shorten(p.text(p.tok()))+")`")
			p.next()
		}
		a.End = p.toks[p.i-1].end
		a.Broken = p.damage != damage
		if leading && !p.is(tokAt) || leading && p.tok().newline {
			p.behindAnnotation(a)
		}
		list = append(list, a)
	}
	return list
}

// behindAnnotation takes the comments behind an annotation, if its line ends
// there and the item follows.
func (p *parser) behindAnnotation(a *Annotation) {
	switch t := p.tok(); t.kind {
	case tokRBrace, tokEOF, tokComma, tokSemi:
	default:
		p.stray = append(p.stray, p.take(p.toks[p.i-1].comments)...)
		p.behind(&a.Comments)
	}
}

// args parses what stands in parentheses behind a type or an annotation.
func (p *parser) args() []Arg {
	open := p.tok()
	p.next()
	list := []Arg{}
	for !p.is(tokRParen) && !p.is(tokEOF) {
		var a Arg
		if isName(p.tok()) && p.peek(1).kind == tokColon {
			a.Name, _ = p.name("")
			p.next()
		}
		if a.Value = p.literal(); a.Value == nil {
			p.recoverTo(tokRParen)
			return list
		}
		list = append(list, a)
		if !p.accept(tokComma) && !p.accept(tokSemi) && !p.is(tokRParen) {
			hint := ""
			if p.is(tokEqual) && a.Value.Kind == Word {
				hint = "write `" + a.Value.Value + ": " + p.text(p.peek(1)) + "`"
			}
			p.unexpected("',' or ')'", hint)
			p.recoverTo(tokRParen)
			return list
		}
	}
	p.expectClose(tokRParen, open)
	return list
}
