package syntax

import "github.com/parley-agents/parley/internal/lang/diag"

var (
	dialogueWords = []string{"initiates", "terminates", "end_states", "keep_terminal", "timeout", "outcome"}
	// otherItems are how one may say it.
	otherItems = map[string]string{
		"starts": "did you mean 'initiates'?", "start": "did you mean 'initiates'?", "begins": "did you mean 'initiates'?", "initiation": "did you mean 'initiates'?",
		"ends": "did you mean 'terminates'?", "termination": "did you mean 'terminates'?", "final": "did you mean 'terminates'?", "states": "did you mean 'end_states'?",
		"from": "who sends is said by `by`", "or": "replies are a list: `[a, b]`", "reply": "write `message -> [replies]`", "replies": "write `message -> [replies]`",
	}
	flowWords = []string{"choice", "loop", "continue", "par", "do", "end"}
)

func (p *parser) protocolDecl() (Item, bool) {
	p.next()
	d := &ProtocolDecl{}
	var ok bool
	if d.Name, ok = p.name("the protocol's name"); !ok {
		return d, false
	}
	if d.Version, ok = p.version(); !ok {
		return d, false
	}
	if p.acceptWord("extends") {
		base, ok := p.qname("the protocol to extend")
		if !ok {
			return d, false
		}
		d.Extends = &base
	}
	lost := len(p.file.lost)
	d.Items, d.Tail, ok = p.items(block{item: p.protocolItem, stop: p.protocolLeftOut, extra: p.extraBrace, begin: p.startsProtocolItem})
	d.Lost = len(p.file.lost) > lost || p.file.hidden
	return d, ok
}

func (p *parser) protocolItem() (Item, bool) {
	var n Node
	o := p.begin(&n)
	n.Annotations = p.annotations(true)
	var item Item
	var ok bool
	switch {
	case p.word("roles"):
		item, ok = p.roles()
	case p.word("dialogue"):
		p.next()
		d := &Dialogue{}
		d.Items, d.Tail, ok = p.items(block{item: p.dialogueItem, stop: p.leftOut, begin: p.startsDialogueItem})
		item = d
	case p.word("flow"):
		p.next()
		f := &Flow{}
		f.Block, ok = p.block()
		item = f
	case p.word("protocol"):
		p.report("PAR0009", "move it out", "a protocol cannot stand inside another")
		item, ok = p.decl(protocolWords)
	default:
		item, ok = p.decl(protocolWords)
	}
	if item == nil {
		p.lose()
	}
	if !ok || p.damage != o.damage && !p.atBoundary() && !p.startsProtocolItem(0) {
		p.recoverProtocol()
	}
	p.end(&n, o)
	return p.finish(item, n), ok
}

// recoverProtocol skips to the next item of a protocol or to its end. A brace
// that an item follows belongs to what was not understood.
func (p *parser) recoverProtocol() {
	depth := 0
	for !p.is(tokEOF) {
		t := p.tok()
		if depth == 0 {
			if t.kind == tokRBrace && !p.closesItem() || p.reported != p.i && (t.kind == tokAt && t.newline || p.startsProtocolItem(0)) {
				return
			}
		}
		switch t.kind {
		case tokLBrace:
			depth++
		case tokRBrace:
			depth = max(0, depth-1)
		}
		p.next()
	}
}

// closesItem reports whether a brace closes an item of a protocol rather than
// the protocol.
func (p *parser) closesItem() bool {
	next := p.peek(1)
	if p.tok().newline && p.atMargin() {
		return false
	}
	return next.kind == tokRBrace || p.startsProtocolItem(1) && p.text(next) != "protocol" || next.kind == tokAt && !p.tok().newline
}

// extraBrace reports whether a brace at the end of a line would close the
// protocol although the next line, which is not at the margin, goes on with it.
func (p *parser) extraBrace() bool {
	next := p.peek(1)
	return !p.tok().newline && next.newline && p.src[next.start-1] != '\n' &&
		p.startsProtocolItem(1) && p.text(next) != "protocol"
}

// startsProtocolItem reports whether an item of a protocol stands n tokens ahead.
func (p *parser) startsProtocolItem(n int) bool {
	t, next := p.peek(n), p.peek(n+1)
	if t.kind != tokName {
		return false
	}
	switch p.text(t) {
	case "roles":
		return isName(next)
	case "dialogue", "flow":
		return next.kind == tokLBrace
	}
	return p.startsDecl(n)
}

func (p *parser) roles() (Item, bool) {
	p.next()
	d := &Roles{}
	for {
		var r Role
		var ok bool
		if p.is(tokLBrack) && len(d.Roles) == 0 {
			p.unexpected("a role", "write `roles a, b` without brackets")
		}
		if r.Name, ok = p.name("a role"); !ok {
			return d, false
		}
		if open := p.tok(); p.accept(tokLBrack) {
			if !p.is(tokNumber) {
				p.unexpected("a number", "such as agent[2] or bidder[1..*]")
				return d, false
			}
			r.Min = p.integer()
			if p.accept(tokDotDot) {
				switch {
				case p.accept(tokStar):
					r.Many = true
				case p.is(tokNumber):
					r.Max = p.integer()
				default:
					p.unexpected("a number or '*'", "")
					return d, false
				}
			}
			if !p.expectClose(tokRBrack, open) {
				return d, p.tok().newline
			}
		}
		d.Roles = append(d.Roles, r)
		if !p.is(tokComma) || !isName(p.peek(1)) || p.startsItem(1) {
			return d, true
		}
		p.next()
	}
}

func (p *parser) dialogueItem() (Item, bool) {
	var n Node
	o := p.begin(&n)
	n.Annotations = p.annotations(true)
	item, ok := p.dialogueBody()
	p.settle(ok, o, p.startsDialogueItem)
	p.end(&n, o)
	return p.finish(item, n), ok
}

func (p *parser) dialogueBody() (Item, bool) {
	if isName(p.tok()) && p.peek(1).kind == tokArrow {
		return p.rule()
	}
	t := p.tok()
	if t.kind != tokName {
		p.unexpected("a reply rule or another dialogue item", "a rule is `message -> [replies]`")
		return nil, false
	}
	var ok bool
	switch w := p.text(t); w {
	case "initiates":
		p.next()
		d := &Initiates{}
		if d.Messages, ok = p.names(); ok && p.acceptWord("by") {
			d.By, ok = p.names()
		}
		return d, ok
	case "terminates", "end_states":
		p.next()
		d := &NameList{Word: w}
		d.Names, ok = p.names()
		return d, ok
	case "keep_terminal":
		p.next()
		d := &KeepTerminal{}
		if !p.word("true") && !p.word("false") {
			p.unexpected("true or false", "")
			return d, false
		}
		d.Value = p.literal()
		return d, true
	case "timeout":
		p.next()
		d := &Timeout{}
		d.Value, ok = p.duration()
		return d, ok
	case "outcome":
		return p.outcome()
	default:
		if hint := otherItems[w]; hint != "" {
			p.report("PAR0003", hint, "unknown dialogue item '%s'", w)
			return nil, false
		}
		if next := p.peek(1); !isName(next) && diag.Nearest(w, dialogueWords) == "" {
			p.next()
			p.unexpected("'->'", "write `"+w+" -> […]`")
			return nil, false
		}
		if w == "else" {
			p.report("PAR0002", "write `within 30s else …`", "'else' says what happens when a time is up: `within` stands before it")
			return nil, false
		}
		p.unknown("dialogue item", w, dialogueWords)
		return nil, false
	}
}

func (p *parser) rule() (Item, bool) {
	d := &Rule{}
	d.Message, _ = p.name("a message")
	p.next() // ->
	var ok bool
	if d.Replies, ok = p.names(); !ok {
		return d, false
	}
	d.MayRest = p.accept(tokQuestion)
	if p.acceptWord("by") {
		if d.By, ok = p.names(); !ok {
			return d, false
		}
	}
	if p.acceptWord("within") {
		if d.Within, ok = p.duration(); !ok {
			return d, false
		}
		if p.acceptWord("else") {
			d.Else, ok = p.name("an end state or a message")
		}
	}
	return d, ok
}

func (p *parser) duration() (*Literal, bool) {
	if !p.is(tokDuration) {
		p.unexpected("a duration", "durations are whole numbers with ms, s, m, h or d, such as 30s")
		if p.is(tokNumber) {
			p.next()
			return nil, true
		}
		return nil, false
	}
	return p.literal(), true
}

func (p *parser) outcome() (Item, bool) {
	p.next()
	d := &Outcome{}
	var ok bool
	if d.State, ok = p.name("an end state"); !ok {
		return d, false
	}
	if !p.expect(tokColon, "write `outcome "+d.State.Text+": message`") {
		return d, false
	}
	if p.word("timeout") {
		next := p.peek(1)
		after := next.kind == tokName && p.text(next) == "after"
		if next.kind == tokLBrack || isName(next) && !after && !p.startsItem(1) {
			p.next()
			d.OnTimeout = true
		}
	}
	if d.Messages, ok = p.names(); !ok {
		return d, false
	}
	if !d.OnTimeout && p.acceptWord("after") {
		d.After, ok = p.names()
	}
	return d, ok
}

func (p *parser) block() (Block, bool) {
	b := Block{Span: Span{Start: p.tok().start}}
	var ok bool
	b.Steps, b.Tail, ok = p.items(block{item: p.step, stop: p.leftOut, begin: p.startsSend})
	b.End = p.toks[p.i-1].end
	return b, ok
}

func (p *parser) step() (Item, bool) {
	var n Node
	o := p.begin(&n)
	n.Annotations = p.annotations(true)
	item, ok := p.stepBody()
	p.settle(ok, o, p.startsSend)
	p.end(&n, o)
	return p.finish(item, n), ok
}

// startsSend reports whether a message is sent n tokens ahead.
func (p *parser) startsSend(n int) bool { return isName(p.peek(n)) && p.peek(n+1).kind == tokArrow }

func (p *parser) stepBody() (Item, bool) {
	if isName(p.tok()) && p.peek(1).kind == tokArrow {
		return p.send()
	}
	if !p.is(tokName) {
		p.unexpected("a step", "a message is sent by `sender -> receiver: message`")
		return nil, false
	}
	var ok bool
	switch w := p.text(p.tok()); w {
	case "choice":
		p.next()
		d := &Choice{}
		if !p.acceptWord("at") {
			p.unexpected("'at'", "write `choice at role { … } or { … }`")
			return d, false
		}
		if d.At, ok = p.name("a role"); !ok {
			return d, false
		}
		d.Blocks, ok = p.blocks("or")
		return d, ok
	case "loop":
		p.next()
		d := &Loop{}
		if d.Label, ok = p.name("the loop's name"); ok {
			d.Block, ok = p.block()
		}
		return d, ok
	case "continue":
		p.next()
		d := &Continue{}
		d.Label, ok = p.name("the loop's name")
		return d, ok
	case "par":
		p.next()
		d := &Parallel{}
		d.Blocks, ok = p.blocks("and")
		return d, ok
	case "do":
		p.next()
		d := &Do{}
		if d.Protocol, ok = p.name("a protocol"); !ok {
			return d, false
		}
		open := p.tok()
		if !p.expect(tokLParen, "") {
			return d, false
		}
		if d.Roles, ok = p.names(); !ok {
			return d, false
		}
		return d, p.expectClose(tokRParen, open)
	case "end":
		p.next()
		d := &End{}
		if isName(p.tok()) && !p.startsStep() {
			d.State, _ = p.name("")
		}
		return d, true
	default:
		if (w == "or" || w == "and") && p.peek(1).kind == tokLBrace && len(p.found) > 0 {
			p.damage++ // belongs to what was not understood before
			p.next()
			d := &Parallel{}
			d.Blocks, ok = p.blocks(w)
			return d, ok
		}
		if next := p.peek(1); !isName(next) && next.kind != tokLBrace && diag.Nearest(w, flowWords) == "" {
			p.next()
			p.unexpected("'->'", "write `"+w+" -> receiver: message`")
			return nil, false
		}
		p.unknown("step", w, flowWords)
		return nil, false
	}
}

// startsStep reports whether a name after `end` is a step and no end state.
func (p *parser) startsStep() bool {
	next := p.peek(1)
	if next.kind == tokArrow {
		return true
	}
	if !p.is(tokName) || !p.tok().newline {
		return false
	}
	switch p.text(p.tok()) {
	case "choice", "loop", "continue", "par", "do":
		return isName(next) || next.kind == tokLBrace
	case "end":
		return true
	}
	return false
}

func (p *parser) blocks(word string) ([]Block, bool) {
	var list []Block
	for {
		b, ok := p.block()
		list = append(list, b)
		if !ok {
			return list, false
		}
		if !p.word(word) || p.peek(1).kind != tokLBrace {
			return list, true
		}
		p.next()
	}
}

func (p *parser) send() (Item, bool) {
	d := &Send{}
	d.From, _ = p.name("a role")
	p.next() // ->
	var ok bool
	if d.To, ok = p.names(); !ok {
		return d, false
	}
	if !p.expect(tokColon, "write `"+d.From.Text+" -> receiver: message`") {
		return d, false
	}
	if d.Message, ok = p.name("a message"); ok && p.acceptWord("within") {
		d.Within, ok = p.duration()
	}
	return d, ok
}
