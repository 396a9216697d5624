package screen

import (
	"html"
	"strconv"
	"strings"
	"sync"

	"charm.land/lipgloss/v2"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/parley-agents/parley/internal/talk"
)

// Markdown is read by a library and shown by this file: the libraries that also
// show it cost every command tens of milliseconds at its start, for highlighting
// that a conversation can do without.

var (
	bold      = lipgloss.NewStyle().Bold(true)
	italic    = lipgloss.NewStyle().Italic(true)
	struck    = lipgloss.NewStyle().Strikethrough(true)
	codeStyle = lipgloss.NewStyle().Foreground(lipgloss.Color("6"))
	linkStyle = lipgloss.NewStyle().Underline(true)
	faint     = lipgloss.NewStyle().Faint(true)
	heading   = lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Color("5"))
)

var reader = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify))
})

// maxNesting bounds how deep lists and quotes are shown; what is deeper is shown
// as it was written.
const maxNesting = 20

// Text that would take long to read as Markdown, such as thousands of brackets
// that never close, is shown as it was written.
const maxMarkdown = 32 << 10

var maxMarks = map[string]int{"[": 500, ">": 1000, "|": 2000, "*": 4000, "_": 4000, "~": 4000, "`": 4000, "<": 2000}

func isTooMuch(source string) bool {
	if len(source) > maxMarkdown {
		return true
	}
	for mark, most := range maxMarks {
		if strings.Count(source, mark) > most {
			return true
		}
	}
	return false
}

// markdown shows text as lines of at most width columns.
func markdown(source string, width int) []string {
	if isTooMuch(source) {
		return wrap(source, max(width, 10))
	}
	p := &page{source: []byte(source), width: max(width, 10)}
	p.blocks(reader().Parser().Parse(text.NewReader(p.source)), p.width, 0)
	for len(p.lines) > 0 && p.lines[len(p.lines)-1] == "" {
		p.lines = p.lines[:len(p.lines)-1]
	}
	return p.lines
}

type page struct {
	source []byte
	width  int
	lines  []string
}

// blocks shows the children of a node, with an empty line between them.
func (p *page) blocks(parent ast.Node, width, depth int) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if n != parent.FirstChild() && !isTight(parent) {
			p.lines = append(p.lines, "")
		}
		p.block(n, width, depth)
	}
}

func isTight(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.List:
		return n.IsTight
	case *ast.ListItem:
		return isTight(n.Parent())
	}
	return false
}

func (p *page) block(n ast.Node, width, depth int) {
	if depth > maxNesting {
		p.wrapped(clean(n.Lines().Value(p.source)), width)
		return
	}
	switch n := n.(type) {
	case *ast.Heading:
		p.wrapped(heading.Render(strings.Repeat("#", n.Level)+" ")+p.inline(n, heading, 0), width)
	case *ast.ThematicBreak:
		p.lines = append(p.lines, faint.Render(strings.Repeat("─", width)))
	case *ast.FencedCodeBlock:
		p.code(n.Lines().Value(p.source), width)
	case *ast.CodeBlock:
		p.code(n.Lines().Value(p.source), width)
	case *ast.Blockquote:
		p.indented(width, faint.Render("│ "), faint.Render("│ "), func(w int) { p.blocks(n, w, depth+1) })
	case *ast.List:
		p.list(n, width, depth)
	case *ast.HTMLBlock:
		raw := n.Lines().Value(p.source)
		if n.HasClosure() {
			raw = append(raw[:len(raw):len(raw)], n.ClosureLine.Value(p.source)...)
		}
		p.wrapped(clean(raw), width)
	case *east.Table:
		p.table(n, width)
	default:
		p.wrapped(p.inline(n, lipgloss.NewStyle(), 0), width)
	}
}

func (p *page) list(n *ast.List, width, depth int) {
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if n.IsOrdered() {
			mark = strconv.Itoa(number) + ". "
			number++
		}
		if item != n.FirstChild() && !n.IsTight {
			p.lines = append(p.lines, "")
		}
		p.indented(width, mark, strings.Repeat(" ", lipgloss.Width(mark)), func(w int) { p.blocks(item, w, depth+1) })
	}
}

// indented puts something before the lines that show writes.
func (p *page) indented(width int, first, rest string, show func(width int)) {
	inner := width - lipgloss.Width(first)
	if inner < 10 {
		show(width)
		return
	}
	from := len(p.lines)
	show(inner)
	if len(p.lines) == from {
		p.lines = append(p.lines, "")
	}
	for i := from; i < len(p.lines); i++ {
		before := rest
		if i == from {
			before = first
		}
		p.lines[i] = strings.TrimRight(before+p.lines[i], " ")
	}
}

// code is shown as it is, cut into pieces where it is too wide.
func (p *page) code(source []byte, width int) {
	for line := range strings.Lines(clean(source)) {
		line = strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "    ")
		for piece := range strings.SplitSeq(lipgloss.Wrap(line, max(1, width-2), ""), "\n") {
			p.lines = append(p.lines, "  "+codeStyle.Render(piece))
		}
	}
}

func (p *page) wrapped(text string, width int) {
	p.lines = append(p.lines, wrap(text, width)...)
}

// wrap breaks text into lines of at most width columns, styles intact.
func wrap(text string, width int) []string {
	text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\t", "    ")
	return strings.Split(lipgloss.Wrap(text, max(1, width), ""), "\n")
}

// inline shows the text in a node. Line breaks are kept: people who chat mean them.
func (p *page) inline(parent ast.Node, style lipgloss.Style, depth int) string {
	if depth > maxNesting {
		return ""
	}
	var b strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			b.WriteString(render(style, clean(unescape(n.Value(p.source), n.IsRaw()))))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte('\n')
			}
		case *ast.String:
			b.WriteString(render(style, clean(n.Value)))
		case *ast.CodeSpan:
			b.WriteString(p.inline(n, codeStyle, depth+1))
		case *ast.Emphasis:
			inner := italic
			if n.Level == 2 {
				inner = bold
			}
			b.WriteString(p.inline(n, inner.Inherit(style), depth+1))
		case *east.Strikethrough:
			b.WriteString(p.inline(n, struck.Inherit(style), depth+1))
		case *ast.Link:
			b.WriteString(link(p.inline(n, style, depth+1), n.Destination))
		case *ast.Image:
			b.WriteString(link("image: "+p.inline(n, style, depth+1), n.Destination))
		case *ast.AutoLink:
			b.WriteString(render(linkStyle, clean(n.URL(p.source))))
		case *ast.RawHTML:
			b.WriteString(render(style, clean(n.Segments.Value(p.source))))
		default:
			b.WriteString(p.inline(n, style, depth+1))
		}
	}
	return b.String()
}

// link always shows where it leads: text can say anything.
func link(text string, destination []byte) string {
	return text + " (" + render(linkStyle, talk.CleanLine(string(destination))) + ")"
}

// render styles text line by line, so that no style goes on in the next line.
func render(style lipgloss.Style, text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = style.Render(line)
		}
	}
	return strings.Join(lines, "\n")
}

// unescape reads character references and backslashes.
func unescape(source []byte, raw bool) []byte {
	if raw {
		return source
	}
	return []byte(html.UnescapeString(string(util.UnescapePunctuations(source))))
}

// clean is needed again after parsing: a character reference can stand for a
// control character.
func clean(source []byte) string { return talk.Clean(string(source)) }

func (p *page) table(n *east.Table, width int) {
	var rows [][]string
	var widths []int
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			style := lipgloss.NewStyle()
			if _, head := row.(*east.TableHeader); head {
				style = bold
			}
			cells = append(cells, strings.ReplaceAll(p.inline(cell, style, 0), "\n", " "))
			if len(cells) > len(widths) {
				widths = append(widths, 0)
			}
			widths[len(cells)-1] = max(widths[len(cells)-1], lipgloss.Width(cells[len(cells)-1]))
		}
		rows = append(rows, cells)
	}
	total := 3 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for i, cells := range rows {
		if total > width { // as a list of cells, where a table does not fit
			p.wrapped(strings.Join(cells, " │ "), width)
			continue
		}
		for j := range cells {
			cells[j] += strings.Repeat(" ", widths[j]-lipgloss.Width(cells[j]))
		}
		p.lines = append(p.lines, strings.TrimRight(strings.Join(cells, " │ "), " "))
		if i == 0 {
			var rule []string
			for _, w := range widths {
				rule = append(rule, strings.Repeat("─", w))
			}
			p.lines = append(p.lines, strings.Join(rule, "─┼─"))
		}
	}
}
