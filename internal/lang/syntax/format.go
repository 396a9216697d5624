package syntax

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// width is how long a line may be before what can be broken is broken.
const width = 100

// Format returns the source in the canonical layout: two spaces, one member per
// line where there are several, commas only in enums, every comment kept. The
// result has the same tree. Of a page only the code is formatted. A file with
// mistakes is returned as it is.
func Format(f *File) []byte {
	if f.Broken {
		return []byte(f.src)
	}
	if isMarkdown(f.Name) {
		return formatPage(f)
	}
	w := writer{buf: make([]byte, 0, len(f.src)+len(f.src)/4)}
	w.file(f)
	return w.assemble()
}

// formatPage formats each block of code that is a source of its own.
func formatPage(f *File) []byte {
	var out bytes.Buffer
	at := int32(0)
	for _, block := range f.blocks {
		out.WriteString(f.src[at:block.Start])
		at = block.End
		code := f.src[block.Start:block.End]
		part, found := Parse("", []byte(code))
		if len(found) > 0 || indented(f.src[:block.Start]) || code == "" {
			out.WriteString(code)
			continue
		}
		text := Format(part)
		if strings.HasSuffix(f.src[:block.Start], "\r\n") { // as the rest of the page
			text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
		}
		out.Write(text)
	}
	out.WriteString(f.src[at:])
	return out.Bytes()
}

// indented reports whether the last line of a page so far, which opens a block,
// does not begin at the margin.
func indented(page string) bool {
	page = strings.TrimSuffix(page, "\n")
	line := page[strings.LastIndexByte(page, '\n')+1:]
	return strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
}

// A writer collects lines, because comments behind lines are aligned and empty
// lines are settled only when what follows is known.
type writer struct {
	buf    []byte
	lines  []line
	indent int
}

type line struct {
	start   int // in buf
	comment int // where comments behind the line begin in buf, or 0
	blank   bool
}

func (w *writer) str(s string) { w.buf = append(w.buf, s...) }

// open starts a line.
func (w *writer) open() {
	w.lines = append(w.lines, line{start: len(w.buf)})
	w.spaces(2 * w.indent)
}

func (w *writer) spaces(n int) {
	for range n {
		w.buf = append(w.buf, ' ')
	}
}

// column returns how long the current line is.
func (w *writer) column() int {
	text := w.buf[w.lines[len(w.lines)-1].start:]
	return utf8.RuneCount(text[bytes.LastIndexByte(text, '\n')+1:])
}

// behind writes the comments behind the current line.
func (w *writer) behind(c *Comments) {
	if c == nil || len(c.Behind) == 0 {
		return
	}
	if l := &w.lines[len(w.lines)-1]; !bytes.ContainsRune(w.buf[l.start:], '\n') {
		l.comment = len(w.buf)
	}
	for _, comment := range c.Behind {
		w.str(" ")
		w.str(comment.Text)
	}
}

// assemble joins the lines, with the comments of neighbouring lines aligned.
func (w *writer) assemble() []byte {
	out := make([]byte, 0, len(w.buf)+len(w.lines)*2)
	for i := 0; i < len(w.lines); {
		end := i + 1
		for w.lines[i].comment > 0 && end < len(w.lines) && w.lines[end].comment > 0 && !w.lines[end].blank {
			end++
		}
		longest := 0
		for j := i; j < end && end > i+1; j++ {
			longest = max(longest, utf8.RuneCount(w.buf[w.lines[j].start:w.lines[j].comment]))
		}
		for ; i < end; i++ {
			l, until := w.lines[i], len(w.buf)
			if i+1 < len(w.lines) {
				until = w.lines[i+1].start
			}
			if l.blank && len(out) > 0 {
				out = append(out, '\n')
			}
			if l.comment == 0 {
				out = append(out, w.buf[l.start:until]...)
			} else {
				out = append(out, w.buf[l.start:l.comment]...)
				for range longest - utf8.RuneCount(w.buf[l.start:l.comment]) {
					out = append(out, ' ')
				}
				out = append(out, w.buf[l.comment:until]...)
			}
			out = append(out, '\n')
		}
	}
	return out
}

func (w *writer) blank(wanted bool) {
	if wanted {
		w.lines[len(w.lines)-1].blank = true
	}
}

func (w *writer) comments(list []Comment, first bool) {
	for i, c := range list {
		w.open()
		w.blank(c.Blank && !(first && i == 0))
		w.str(c.Text)
	}
}

// file separates declarations of several lines by empty ones, and the head of
// the file from the rest.
func (w *writer) file(f *File) {
	var header, tall bool // what the item before is
	for i, item := range f.Items {
		start := len(w.lines)
		w.item(item, i == 0, "")
		header, tall = w.separate(item, start, i == 0, header, tall)
	}
	w.comments(f.Tail, len(f.Items) == 0)
}

func (w *writer) separate(item Item, start int, first, wasHeader, wasTall bool) (header, tall bool) {
	switch item.(type) {
	case *Edition, *Package, *Import:
		header = true
	}
	own := len(w.lines) - start
	if c := item.Base().Comments; c != nil {
		own -= len(c.Before)
	}
	last := w.lines[len(w.lines)-1].start
	tall = !header && (own > 1 || bytes.IndexByte(w.buf[last:], '\n') >= 0)
	if !first && (header != wasHeader || tall || wasTall) {
		w.lines[start].blank = true
	}
	return header, tall
}

// items writes what stands between braces, on lines of its own.
func (w *writer) items(items []Item, tail []Comment, separator func(i int) string) {
	w.str("{")
	w.indent++
	for i, item := range items {
		sep := ""
		if separator != nil {
			sep = separator(i)
		}
		w.item(item, i == 0, sep)
	}
	w.comments(tail, len(items) == 0)
	w.indent--
	w.open()
	w.str("}")
}

// item writes one item: comments, annotations, itself, comments behind it.
func (w *writer) item(item Item, first bool, separator string) {
	n := item.Base()
	if n.Comments != nil {
		w.comments(n.Comments.Before, first)
		first = first && len(n.Comments.Before) == 0
	}
	begin := len(w.lines)
	if f, ok := item.(*Field); ok && w.fieldLine(f) {
		// all in one line
	} else {
		for _, a := range n.Annotations {
			if a.Comments != nil {
				w.comments(a.Comments.Before, false)
			}
			w.open()
			w.annotation(a)
			w.behind(a.Comments)
		}
		w.open()
		w.body(item)
	}
	w.lines[begin].blank = w.lines[begin].blank || n.Blank && !first
	w.str(separator)
	w.behind(n.Comments)
}

// fieldLine writes a field with its annotations in one line, if it fits.
func (w *writer) fieldLine(f *Field) bool {
	for _, a := range f.Annotations {
		if a.Comments != nil {
			return false
		}
	}
	flat := flattener{limit: width - 2*w.indent}
	if !flat.field(f) {
		return false
	}
	w.open()
	w.buf = append(w.buf, flat.buf...)
	return true
}

func (w *writer) body(item Item) {
	switch d := item.(type) {
	case *Edition:
		w.str("parley ")
		w.literal(d.Value)
	case *Package:
		w.str("package ")
		w.qname(&d.Name)
		w.version(d.Version)
	case *Import:
		w.str("import ")
		w.literal(d.Path)
		if d.Alias.Text != "" {
			w.str(" as ")
			w.name(d.Alias)
		}
	case *TypeDecl:
		w.openWord(d.Open)
		w.str("type ")
		w.name(d.Name)
		w.str(" =")
		w.itemType(d.Type)
	case *EnumDecl:
		w.openWord(d.Open)
		w.str("enum ")
		w.name(d.Name)
		w.str(" ")
		w.enumItems(d)
	case *EnumValue:
		w.name(d.Name)
		if d.Value != nil {
			w.str(" = ")
			w.literal(d.Value)
		}
	case *Reserved:
		w.reserved(d)
	case *MessageDecl:
		w.message(d)
	case *CustomDecl:
		w.str("custom ")
		w.name(d.Name)
		w.str(" ")
		w.literal(d.Body)
	case *AnnotationDecl:
		w.annotationDecl(d)
	case *Field:
		w.name(d.Name)
		w.str(":")
		w.itemType(d.Type)
		if d.Default != nil {
			w.str(" = ")
			w.literal(d.Default)
		}
	case *Spread:
		w.str("...")
		w.qname(&d.Name)
	default:
		w.protocolItem(item)
	}
}

func (w *writer) openWord(open bool) {
	if open {
		w.str("open ")
	}
}

func (w *writer) version(v *Literal) {
	if v != nil {
		w.str(" version ")
		w.literal(v)
	}
}

// enumItems separates values by commas. A list of reserved names would go on
// after a comma, so that ends with a semicolon.
func (w *writer) enumItems(d *EnumDecl) {
	if len(d.Items) == 0 && len(d.Tail) == 0 {
		w.str("{}")
		return
	}
	w.items(d.Items, d.Tail, func(i int) string {
		if i == len(d.Items)-1 {
			return ""
		}
		if _, ok := d.Items[i].(*Reserved); ok {
			return ";"
		}
		return ","
	})
}

func (w *writer) reserved(d *Reserved) {
	w.str("reserved ")
	for i, r := range d.Ranges {
		if i > 0 {
			w.str(", ")
		}
		if r.From == nil {
			w.name(r.Name)
			continue
		}
		w.literal(r.From)
		if r.To != nil {
			w.str("..")
			w.literal(r.To)
		}
	}
}

func (w *writer) message(d *MessageDecl) {
	w.str("message ")
	w.name(d.Name)
	if d.Class.Text != "" {
		w.str(": ")
		w.name(d.Class)
	}
	if d.From != nil {
		w.str(" from ")
		w.names(d.From)
	}
	if d.Alias {
		w.str(" =")
	}
	w.itemType(d.Body)
}

func (w *writer) annotationDecl(d *AnnotationDecl) {
	w.str("annotation ")
	w.qname(&d.Name)
	w.str("(")
	for i, p := range d.Params {
		if i > 0 {
			w.str(", ")
		}
		w.name(p.Name)
		w.str(": ")
		w.typ(p.Type, false)
		if p.Default != nil {
			w.str(" = ")
			w.literal(p.Default)
		}
	}
	w.str(") on ")
	w.names(d.On)
}

// itemType writes the type of an item after a space, or a union that does not
// fit with a line for each variant.
func (w *writer) itemType(t Type) {
	flat := flattener{limit: width - w.column() - 1}
	if flat.typ(t, false) {
		w.str(" ")
		w.buf = append(w.buf, flat.buf...)
		return
	}
	u, ok := t.(*Union)
	if !ok {
		w.str(" ")
		w.typ(t, false)
		return
	}
	w.indent++
	for _, v := range u.Variants {
		if v.Comments != nil {
			w.comments(v.Comments.Before, true)
		}
		w.open()
		w.str("| ")
		w.typ(v.Type, true)
		w.behind(v.Comments)
	}
	w.indent--
}

// typ writes a type in the current line, breaking records only. Within another
// type a union needs parentheses.
func (w *writer) typ(t Type, inner bool) {
	flat := flattener{limit: width - w.column()}
	if flat.typ(t, inner) {
		w.buf = append(w.buf, flat.buf...)
		return
	}
	switch t := t.(type) {
	case *Record:
		if len(t.Members) == 0 && len(t.Tail) == 0 {
			w.str("{}")
			return
		}
		w.items(t.Members, t.Tail, nil)
	case *Union:
		if inner {
			w.str("(")
		}
		for i, v := range t.Variants {
			if i > 0 {
				w.str(" | ")
			}
			w.typ(v.Type, true)
		}
		if inner {
			w.str(")")
		}
	case *Optional:
		w.typ(t.Type, true)
		w.str("?")
	case *LiteralType:
		w.literal(t.Value)
	case *Named:
		w.qname(&t.Name)
		for i, of := range t.Of {
			w.str(listMark(i, "<"))
			w.typ(of, false)
		}
		if t.Of != nil {
			w.str(">")
		}
		w.args(t.Args)
	}
}

func listMark(i int, first string) string {
	if i == 0 {
		return first
	}
	return ", "
}
