package syntax

func (w *writer) protocolItem(item Item) {
	switch d := item.(type) {
	case *ProtocolDecl:
		w.str("protocol ")
		w.name(d.Name)
		w.version(d.Version)
		if d.Extends != nil {
			w.str(" extends ")
			w.qname(d.Extends)
		}
		w.str(" ")
		w.block(d.Items, d.Tail)
	case *Roles:
		w.roles(d)
	case *Dialogue:
		w.str("dialogue ")
		w.block(d.Items, d.Tail)
	case *Flow:
		w.str("flow ")
		w.block(d.Block.Steps, d.Block.Tail)
	case *Initiates:
		w.str("initiates ")
		w.list(d.Messages)
		w.by(d.By)
	case *Rule:
		w.rule(d)
	case *NameList:
		w.str(d.Word)
		w.str(" ")
		w.list(d.Names)
	case *KeepTerminal:
		w.str("keep_terminal ")
		w.literal(d.Value)
	case *Timeout:
		w.str("timeout ")
		w.literal(d.Value)
	case *Outcome:
		w.outcome(d)
	default:
		w.step(item)
	}
}

func (w *writer) block(items []Item, tail []Comment) {
	if len(items) == 0 && len(tail) == 0 {
		w.str("{}")
		return
	}
	w.items(items, tail, nil)
}

func (w *writer) roles(d *Roles) {
	w.str("roles ")
	for i, r := range d.Roles {
		if i > 0 {
			w.str(", ")
		}
		w.name(r.Name)
		if r.Min == nil {
			continue
		}
		w.str("[")
		w.literal(r.Min)
		switch {
		case r.Many:
			w.str("..*")
		case r.Max != nil:
			w.str("..")
			w.literal(r.Max)
		}
		w.str("]")
	}
}

func (w *writer) by(roles []Name) {
	if roles != nil {
		w.str(" by ")
		w.names(roles)
	}
}

func (w *writer) within(d *Literal) {
	if d != nil {
		w.str(" within ")
		w.literal(d)
	}
}

func (w *writer) rule(d *Rule) {
	w.name(d.Message)
	w.str(" -> ")
	w.list(d.Replies)
	if d.MayRest {
		w.str("?")
	}
	w.by(d.By)
	w.within(d.Within)
	if d.Else.Text != "" {
		w.str(" else ")
		w.name(d.Else)
	}
}

func (w *writer) outcome(d *Outcome) {
	w.str("outcome ")
	w.name(d.State)
	w.str(": ")
	if d.OnTimeout {
		w.str("timeout ")
	}
	if !d.OnTimeout && len(d.Messages) > 0 && d.Messages[0].Text == "timeout" {
		w.list(d.Messages) // without brackets it would be the word
	} else {
		w.names(d.Messages)
	}
	if d.After != nil {
		w.str(" after ")
		w.list(d.After)
	}
}

func (w *writer) step(item Item) {
	switch d := item.(type) {
	case *Send:
		w.name(d.From)
		w.str(" -> ")
		w.names(d.To)
		w.str(": ")
		w.name(d.Message)
		w.within(d.Within)
	case *Choice:
		w.str("choice at ")
		w.name(d.At)
		w.str(" ")
		w.blocks(d.Blocks, " or ")
	case *Loop:
		w.str("loop ")
		w.name(d.Label)
		w.str(" ")
		w.block(d.Block.Steps, d.Block.Tail)
	case *Continue:
		w.str("continue ")
		w.name(d.Label)
	case *Parallel:
		w.str("par ")
		w.blocks(d.Blocks, " and ")
	case *Do:
		w.str("do ")
		w.name(d.Protocol)
		w.str("(")
		w.names(d.Roles)
		w.str(")")
	case *End:
		w.str("end")
		if d.State.Text != "" {
			w.str(" ")
			w.name(d.State)
		}
	}
}

func (w *writer) blocks(blocks []Block, word string) {
	for i, b := range blocks {
		if i > 0 {
			w.str(word)
		}
		w.block(b.Steps, b.Tail)
	}
}

func (w *writer) name(n Name) { w.buf = appendName(w.buf, n) }

func (w *writer) qname(q *QName) { w.buf = appendQName(w.buf, q) }

func (w *writer) literal(l *Literal) { w.buf = appendLiteral(w.buf, l) }

func (w *writer) args(args []Arg) { w.buf = appendArgs(w.buf, args) }

func (w *writer) annotation(a *Annotation) { w.buf = appendAnnotation(w.buf, a) }

// names writes names without brackets; an empty list cannot do without.
func (w *writer) names(names []Name) {
	if len(names) == 0 {
		w.str("[]")
		return
	}
	for i, n := range names {
		w.str(listMark(i, ""))
		w.name(n)
	}
}

func (w *writer) list(names []Name) {
	w.str("[")
	if len(names) > 0 {
		w.names(names)
	}
	w.str("]")
}
