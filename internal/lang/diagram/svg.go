package diagram

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Style is the style sheet of the drawings, for pages that hold several. A page
// may set --parley-paper, the colour behind them.
const Style = `.parley-drawing{--paper:var(--parley-paper,#fff);--ink:#1f2733;--line:#5b6675;--soft:#667180;--plain:#f1f3f6;` +
	`--f0:#e6eefc;--s0:#2a5bb8;--f1:#fdeedd;--s1:#a8590b;--f2:#e2f4e8;--s2:#1c7a45;--f3:#f3e8fb;--s3:#7a3fae;` +
	`font-family:system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;max-width:100%;height:auto}` +
	`@media (prefers-color-scheme:dark){.parley-drawing{--paper:var(--parley-paper,#14181f);--ink:#e6e9ef;--line:#97a3b4;--soft:#a0abba;--plain:#232a35;` +
	`--f0:#1b2c4d;--s0:#8fb6ff;--f1:#42290f;--s1:#f2ad62;--f2:#14361f;--s2:#74d39a;--f3:#36214a;--s3:#cf9ff5}}` +
	`@media print{.parley-drawing{--paper:#fff;--ink:#000;--line:#333;--soft:#333;--plain:#fff;--f0:#fff;--s0:#000;--f1:#fff;--s1:#000;--f2:#fff;--s2:#000;--f3:#fff;--s3:#000}}` +
	`.parley-drawing .name{font:600 13px ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;fill:var(--ink);text-anchor:middle}` +
	`.parley-drawing .detail{font-size:11px;fill:var(--soft);text-anchor:middle}` +
	`.parley-drawing .label{font-size:12px;fill:var(--ink);text-anchor:middle}` +
	`.parley-drawing .key{font-size:12px;fill:var(--soft)}` +
	`.parley-drawing .under{fill:var(--paper)}` +
	`.parley-drawing .line{fill:none;stroke:var(--line);stroke-width:1.5}` +
	`.parley-drawing .late{stroke-dasharray:6 4}.parley-drawing .receipt{stroke-dasharray:1.5 3.5;stroke-linecap:round}` +
	`.parley-drawing .tip{fill:var(--line)}` +
	`.parley-drawing .box{fill:var(--plain);stroke:var(--line);stroke-width:1.3}.parley-drawing .bar{fill:var(--line)}` +
	`.parley-drawing .r0 .box{fill:var(--f0);stroke:var(--s0)}.parley-drawing .bar.r0{fill:var(--s0)}` +
	`.parley-drawing .r1 .box{fill:var(--f1);stroke:var(--s1)}.parley-drawing .bar.r1{fill:var(--s1)}` +
	`.parley-drawing .r2 .box{fill:var(--f2);stroke:var(--s2)}.parley-drawing .bar.r2{fill:var(--s2)}` +
	`.parley-drawing .r3 .box{fill:var(--f3);stroke:var(--s3)}.parley-drawing .bar.r3{fill:var(--s3)}` +
	`.parley-drawing .confirms .box{stroke-dasharray:1.5 3.5;stroke-linecap:round}` +
	`.parley-drawing .end .box{fill:var(--paper);stroke:var(--ink)}.parley-drawing .dot{fill:var(--ink)}` +
	`.parley-drawing .life{stroke:var(--soft);stroke-width:1;stroke-dasharray:3 4}` +
	`.parley-drawing .frame{fill:none;stroke:var(--soft);stroke-width:1}` +
	`.parley-drawing a:hover .box,.parley-drawing a:focus .box{stroke-width:2.6}`

// colours is how many roles have a colour of their own.
const colours = 4

// A canvas collects the elements of a drawing.
type canvas struct {
	strings.Builder
	options Options
}

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(c, format, args...) }

// text escapes what comes from a protocol.
func text(s string) string { return html.EscapeString(brief(s, math.MaxInt)) }

// px writes a length with at most one digit behind the point.
func px(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) }

func (c *canvas) open(width, height float64, title, description string) {
	c.add(`<svg class="parley-drawing" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="%s" width="%s" height="%s" viewBox="0 0 %[2]s %[3]s">`,
		text(title), px(width), px(height))
	c.add("\n<title>%s</title>\n<desc>%s</desc>\n", text(title), text(description))
	if !c.options.Unstyled {
		c.add("<style>%s</style>\n", Style)
		c.add("<rect class=\"under\" width=\"%s\" height=\"%s\"/>\n", px(width), px(height))
	}
}

// SVG draws the graph. A graph that is too large to be legible is drawn as a
// sentence that says so.
func (g *Graph) SVG(o Options) []byte {
	c := &canvas{options: o}
	l, ok := lay(g)
	if !ok {
		note := fmt.Sprintf("%d messages and ends with %d steps between them: too many to draw.", len(g.Nodes)-1, len(g.Edges))
		c.open(480, 48, g.Title, note)
		c.add("<text class=\"key\" x=\"16\" y=\"29\">%s</text>\n</svg>\n", note)
		return []byte(c.String())
	}
	keys, rows := g.key(max(l.width, 460))
	width := l.width
	for _, k := range keys {
		width = max(width, k.at.x+k.width+margin)
	}
	shift := math.Floor((width - l.width) / 2)
	c.open(width, l.height+float64(rows)*22+8, g.Title+": which message may follow which", g.Words())
	c.add("<g transform=\"translate(%s 0)\">\n", px(shift))
	for i := range g.Edges {
		c.edge(&g.Edges[i], &l.routes[i])
	}
	for i := range g.Nodes {
		c.node(g, &g.Nodes[i], l.boxes[i])
	}
	for i := range g.Edges {
		c.edgeLabel(&l.routes[i])
	}
	c.add("</g>\n")
	for _, k := range keys {
		k.at.y += l.height + 4
		c.key(g, k)
	}
	c.add("</svg>\n")
	return []byte(c.String())
}

// Words tells the graph in sentences, for those who do not see it.
func (g *Graph) Words() string {
	var b strings.Builder
	for i := range g.Nodes {
		var next []string
		for _, e := range g.Edges {
			if e.From != i {
				continue
			}
			to := g.Nodes[e.To].Name
			if to == "" {
				to = "the end"
			}
			if e.Label != "" {
				to += " (" + e.Label + ")"
			}
			next = append(next, to)
		}
		if len(next) == 0 {
			continue
		}
		if g.Nodes[i].Kind == Start {
			b.WriteString("It starts with " + strings.Join(next, ", ") + ".")
		} else {
			b.WriteString(" After " + g.Nodes[i].Name + ": " + strings.Join(next, ", ") + ".")
		}
	}
	return strings.TrimSpace(b.String())
}

func (c *canvas) edge(e *Edge, r *route) {
	class := "line"
	switch e.Reason {
	case TimeUp:
		class += " late"
	case Confirm:
		class += " receipt"
	}
	var d strings.Builder
	fmt.Fprintf(&d, "M%s %s", px(r.from.x), px(r.from.y))
	at := r.from
	for i, p := range r.parts {
		to := p.to
		if i == len(r.parts)-1 {
			switch r.angle {
			case down:
				to.y -= 6
			case up:
				to.y += 6
			case left:
				to.x += 5
			}
		}
		switch {
		case p.loop > 0:
			fmt.Fprintf(&d, "C%s %s %s %s %s %s", px(at.x+p.loop*1.3), px(at.y-6), px(at.x+p.loop*1.3), px(to.y+6), px(to.x), px(to.y))
		case p.bends && p.to.x != at.x:
			half := (to.y - at.y) / 2
			fmt.Fprintf(&d, "C%s %s %s %s %s %s", px(at.x), px(at.y+half), px(to.x), px(to.y-half), px(to.x), px(to.y))
		default:
			fmt.Fprintf(&d, "L%s %s", px(to.x), px(to.y))
		}
		at = p.to
	}
	c.add("<path class=\"%s\" d=\"%s\"/>", class, d.String())
	c.tip(r.tip, r.angle)
}

// tip draws the head of an arrow.
func (c *canvas) tip(at point, angle direction) {
	x, y := px(at.x), px(at.y)
	switch angle {
	case down:
		c.add("<path class=\"tip\" d=\"M%s %sl-4.5 -8h9z\"/>\n", x, y)
	case up:
		c.add("<path class=\"tip\" d=\"M%s %sl-4.5 8h9z\"/>\n", x, y)
	case left:
		c.add("<path class=\"tip\" d=\"M%s %sl8 -4.5v9z\"/>\n", x, y)
	}
}

func (c *canvas) edgeLabel(r *route) {
	if len(r.lines) == 0 {
		return
	}
	c.add("<rect class=\"under\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>", px(r.label.x), px(r.label.y), px(r.label.w), px(r.label.h))
	for i, line := range r.lines {
		c.add("<text class=\"label\" x=\"%s\" y=\"%s\">%s</text>", px(r.label.middle().x), px(r.label.y+labelLine*float64(i)+13), text(line))
	}
	c.add("\n")
}

func (c *canvas) node(g *Graph, n *Node, b box) {
	m := b.middle()
	switch {
	case n.Kind == Start:
		c.add("<g><title>start</title><circle class=\"dot\" cx=\"%s\" cy=\"%s\" r=\"%s\"/></g>\n", px(m.x), px(m.y), px(b.w/2))
		return
	case n.Kind == End && n.Name == "":
		c.add("<g class=\"end\"><title>end</title><circle class=\"box\" cx=\"%s\" cy=\"%s\" r=\"%s\"/><circle class=\"dot\" cx=\"%[1]s\" cy=\"%[2]s\" r=\"%[4]s\"/></g>\n",
			px(m.x), px(m.y), px(b.w/2-1), px(b.w/2-5))
		return
	case n.Kind == End:
		c.add("<g class=\"end\"><title>end state %s</title>", text(n.Name))
		c.rect(b, b.h/2)
		c.rect(box{b.x + 3, b.y + 3, b.w - 6, b.h - 6}, b.h/2-3)
		c.add("<text class=\"name\" x=\"%s\" y=\"%s\">%s</text></g>\n", px(m.x), px(m.y+4.5), text(brief(n.Name, nameChars)))
		return
	}
	class, detail := "message", n.detail()
	if len(n.Senders) == 1 && slices.Index(g.Roles, n.Senders[0]) < colours && len(g.Roles) > 1 {
		class += " r" + itoa(slices.Index(g.Roles, n.Senders[0]))
	}
	if n.Receipt {
		class += " confirms"
	}
	link := ""
	if c.options.Link != nil {
		link = c.options.Link(n.Name)
	}
	if link != "" {
		c.add("<a href=\"%s\">", text(link))
	}
	c.add("<g class=\"%s\"><title>%s</title>", class, text(strings.TrimSuffix(n.Name+": "+detail, ": ")))
	c.rect(b, 6)
	for i, role := range g.Roles {
		if len(g.Roles) > 1 && slices.Contains(n.Senders, role) {
			c.bar(b, i)
		}
	}
	if detail == "" {
		c.add("<text class=\"name\" x=\"%s\" y=\"%s\">%s</text>", px(m.x), px(m.y+4.5), text(brief(n.Name, nameChars)))
	} else {
		c.add("<text class=\"name\" x=\"%s\" y=\"%s\">%s</text>", px(m.x), px(b.y+19), text(brief(n.Name, nameChars)))
		c.add("<text class=\"detail\" x=\"%s\" y=\"%s\">%s</text>", px(m.x), px(b.y+35), text(brief(detail, nameChars)))
	}
	c.add("</g>")
	if link != "" {
		c.add("</a>")
	}
	c.add("\n")
}

func (c *canvas) rect(b box, round float64) {
	c.add("<rect class=\"box\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" rx=\"%s\"/>", px(b.x), px(b.y), px(b.w), px(b.h), px(round))
}

// bar marks the side of a box that stands for a role: left, right, top, bottom.
func (c *canvas) bar(b box, role int) {
	bar := [colours]box{
		{b.x + 3, b.y + 5, 4, b.h - 10}, {b.x + b.w - 7, b.y + 5, 4, b.h - 10},
		{b.x + 8, b.y + 2, b.w - 16, 3}, {b.x + 8, b.y + b.h - 5, b.w - 16, 3},
	}
	if role < colours {
		c.add("<rect class=\"bar r%d\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" rx=\"1.5\"/>", role, px(bar[role].x), px(bar[role].y), px(bar[role].w), px(bar[role].h))
	}
}

// A key explains a mark of the drawing.
type key struct {
	at    point
	width float64
	role  int // -1 for lines
	class string
	words string
}

// key returns what is to be explained, in rows of a width.
func (g *Graph) key(width float64) (keys []key, rows int) {
	if len(g.Roles) > 1 {
		for i, r := range g.Roles[:min(colours, len(g.Roles))] {
			keys = append(keys, key{role: i, words: "sent by " + brief(r, 24)})
		}
	}
	for _, line := range []struct {
		reason       Reason
		class, words string
	}{{TimeUp, "late", "time is up"}, {Confirm, "receipt", "receipt, changes nothing"}} {
		if slices.ContainsFunc(g.Edges, func(e Edge) bool { return e.Reason == line.reason }) {
			keys = append(keys, key{role: -1, class: line.class, words: line.words})
		}
	}
	x := margin
	for i := range keys {
		k := &keys[i]
		k.width = 38 + float64(columns(k.words))*labelChar
		if x > margin && x+k.width+margin > width {
			x = margin
			rows++
		}
		k.at = point{x, float64(rows) * 22}
		x += k.width + 14
	}
	if len(keys) > 0 {
		rows++
	}
	return keys, rows
}

func (c *canvas) key(g *Graph, k key) {
	if k.role >= 0 {
		b := box{k.at.x, k.at.y, 28, 16}
		c.add("<g class=\"r%d\">", k.role)
		c.rect(b, 4)
		c.bar(b, k.role)
		c.add("</g>")
	} else {
		c.add("<path class=\"line %s\" d=\"M%s %sh28\"/>", k.class, px(k.at.x), px(k.at.y+8))
	}
	c.add("<text class=\"key\" x=\"%s\" y=\"%s\">%s</text>\n", px(k.at.x+35), px(k.at.y+12), text(k.words))
}
