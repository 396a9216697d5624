package syntax

import (
	"strconv"
	"unicode/utf8"
)

// A flattener writes a type in one line and gives up as soon as it does not fit
// or has a comment, so that trying costs little.
type flattener struct {
	buf   []byte
	limit int
}

func (f *flattener) fits() bool {
	return len(f.buf) <= f.limit || len(f.buf) <= 4*f.limit && utf8.RuneCount(f.buf) <= f.limit
}

func (f *flattener) str(s string) bool {
	f.buf = append(f.buf, s...)
	return f.fits()
}

func (f *flattener) typ(t Type, inner bool) bool {
	switch t := t.(type) {
	case *Record:
		return f.record(t)
	case *Union:
		return f.union(t, inner)
	case *Optional:
		return f.typ(t.Type, true) && f.str("?")
	case *LiteralType:
		f.buf = appendLiteral(f.buf, t.Value)
	case *Named:
		f.buf = appendQName(f.buf, &t.Name)
		for i, of := range t.Of {
			if !f.str(listMark(i, "<")) || !f.typ(of, false) {
				return false
			}
		}
		if t.Of != nil {
			f.buf = append(f.buf, '>')
		}
		f.buf = appendArgs(f.buf, t.Args)
	}
	return f.fits()
}

func (f *flattener) record(r *Record) bool {
	if len(r.Tail) > 0 || len(r.Members) > 1 {
		return false
	}
	if len(r.Members) == 0 {
		return f.str("{}")
	}
	member, ok := r.Members[0].(*Field)
	if !ok || member.Comments != nil {
		return false
	}
	for _, a := range member.Annotations {
		if a.Comments != nil {
			return false
		}
	}
	return f.str("{ ") && f.field(member) && f.str(" }")
}

func (f *flattener) field(d *Field) bool {
	f.buf = append(appendName(f.buf, d.Name), ": "...)
	if !f.typ(d.Type, false) {
		return false
	}
	if d.Default != nil {
		f.buf = appendLiteral(append(f.buf, " = "...), d.Default)
	}
	for _, a := range d.Annotations {
		f.buf = appendAnnotation(append(f.buf, ' '), a)
	}
	return f.fits()
}

func (f *flattener) union(u *Union, inner bool) bool {
	if inner {
		f.buf = append(f.buf, '(')
	}
	for i, v := range u.Variants {
		if v.Comments != nil {
			return false
		}
		if i > 0 {
			f.buf = append(f.buf, " | "...)
		}
		if !f.typ(v.Type, true) {
			return false
		}
	}
	if inner {
		f.buf = append(f.buf, ')')
	}
	return f.fits()
}

func appendName(b []byte, n Name) []byte {
	if n.Quoted {
		b = append(b, '`')
		b = append(b, n.Text...)
		return append(b, '`')
	}
	return append(b, n.Text...)
}

func appendQName(b []byte, q *QName) []byte {
	b = appendName(b, q.First)
	for _, n := range q.Rest {
		b = appendName(append(b, '.'), n)
	}
	return b
}

func appendAnnotation(b []byte, a *Annotation) []byte {
	return appendArgs(appendQName(append(b, '@'), &a.Name), a.Args)
}

func appendArgs(b []byte, args []Arg) []byte {
	if args == nil {
		return b
	}
	b = append(b, '(')
	for i, a := range args {
		b = append(b, listMark(i, "")...)
		if a.Name.Text != "" {
			b = append(appendName(b, a.Name), ": "...)
		}
		b = appendLiteral(b, a.Value)
	}
	return append(b, ')')
}

func appendLiteral(b []byte, l *Literal) []byte {
	switch {
	case l.Kind == List:
		b = append(b, '[')
		for i, item := range l.Items {
			b = appendLiteral(append(b, listMark(i, "")...), item)
		}
		return append(b, ']')
	case l.Kind == Object:
		b = append(b, '{')
		for i, m := range l.Members {
			b = append(b, listMark(i, "")...)
			if m.String {
				b = append(b, Quote(m.Key.Text)...)
			} else {
				b = appendName(b, m.Key)
			}
			b = appendLiteral(append(b, ": "...), m.Value)
		}
		return append(b, '}')
	case l.Raw != "":
		return append(b, l.Raw...)
	case l.Kind == String:
		return append(b, Quote(l.Value)...)
	case l.Kind == Text:
		return append(append(append(b, "\"\"\"\n"...), l.Value...), `"""`...)
	}
	return append(b, l.Value...)
}

// Quote returns the string literal that means s.
func Quote(s string) string {
	b := []byte{'"'}
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r < ' ':
			b = append(b, `\u`...)
			b = append(b, ("0000" + strconv.FormatInt(int64(r), 16))[len(strconv.FormatInt(int64(r), 16)):]...)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return string(append(b, '"'))
}

// TypeText returns a type in one line, without its comments.
func TypeText(t Type) string {
	f := flattener{limit: 1 << 20}
	f.typ(t, true)
	return string(f.buf)
}

// LiteralText returns a literal as it is written.
func LiteralText(l *Literal) string { return string(appendLiteral(nil, l)) }
