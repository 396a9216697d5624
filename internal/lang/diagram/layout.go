package diagram

import (
	"cmp"
	"math"
	"slices"
)

// The largest graph that is laid out. What is larger is legible in a table only.
const (
	maxNodes    = 120
	maxEdges    = 500
	maxVertices = 4000
)

// Measures of the drawing, in pixels.
const (
	margin     = 16.0
	nodeGap    = 22.0 // between boxes of a layer
	lineGap    = 14.0 // between lines that pass a layer
	portGap    = 16.0 // between lines at a box
	loopSize   = 26.0
	nameHeight = 30.0
	boxHeight  = 44.0
	startSize  = 16.0
	endSize    = 20.0
	labelLine  = 15.0
	labelChars = 26 // in a line of a label
	nameChars  = 44 // of a name that is shown
)

type point struct{ x, y float64 }

// A box is a rectangle by its upper left corner.
type box struct{ x, y, w, h float64 }

func (b box) middle() point { return point{b.x + b.w/2, b.y + b.h/2} }

// A route is a drawn edge.
type route struct {
	from  point
	parts []part
	tip   point // of the arrow
	angle direction
	label box
	lines []string // of the label
}

// A part of a route is a line or, if it bends, a curve that starts and ends
// upright.
type part struct {
	to    point
	bends bool
	loop  float64 // of an edge from a box to itself: how far out it goes
}

type direction uint8

const (
	down direction = iota
	up
	left
)

type layout struct {
	width, height float64
	boxes         []box   // of the nodes
	routes        []route // of the edges
}

// A vertex is a node, or the place of an edge in a layer that it passes.
type vertex struct {
	node, edge  int // one of them is -1
	rank        int
	left, right float64 // how far it reaches from its axis
	height      float64
	lines       []string // of the label that stands here
	x           float64  // of its axis
	up, down    []int    // links
}

func (v *vertex) passes() bool { return v.node < 0 && len(v.lines) == 0 }

// A link joins vertices of neighbouring layers.
type link struct {
	upper, lower         int
	upperPort, lowerPort float64 // where it ends, from the axes
}

type layouter struct {
	g        *Graph
	vertices []vertex
	links    []link
	layers   [][]int
	chains   [][]int // of each edge: its vertices from top to bottom; nil for loops
	reversed []bool  // of each edge
	top      []float64
	bottom   []float64
}

// lay returns where everything goes; false if there is too much of it.
func lay(g *Graph) (*layout, bool) {
	if len(g.Nodes) > maxNodes || len(g.Edges) > maxEdges {
		return nil, false
	}
	l := &layouter{g: g, reversed: make([]bool, len(g.Edges)), chains: make([][]int, len(g.Edges))}
	ranks := l.rank()
	for i := range g.Nodes {
		w, h := nodeSize(&g.Nodes[i])
		l.vertices = append(l.vertices, vertex{node: i, edge: -1, rank: ranks[i], left: w / 2, right: w/2 + l.loops(i), height: h})
	}
	if !l.chain() {
		return nil, false
	}
	l.order()
	l.ports()
	l.place()
	l.stack()
	return l.result(), true
}

// loops returns the room that edges from a node to itself need beside it.
func (l *layouter) loops(node int) float64 {
	room := 0.0
	for _, e := range l.g.Edges {
		if e.From == node && e.To == node {
			room += loopSize + labelWidth(wrap(e.Label))
		}
	}
	return room
}

// rank gives every node a layer: nodes have even ones, odd ones are for labels.
// Edges that lead back are turned round until everything is drawn.
func (l *layouter) rank() []int {
	n := len(l.g.Nodes)
	out := make([][]int, n)
	for i, e := range l.g.Edges {
		if e.From != e.To {
			out[e.From] = append(out[e.From], i)
		}
	}
	const (
		unseen = iota
		open
		done
	)
	state := make([]int, n)
	var finished []int
	var visit func(int)
	visit = func(v int) {
		state[v] = open
		for _, i := range out[v] {
			switch to := l.g.Edges[i].To; state[to] {
			case open:
				l.reversed[i] = true
			case unseen:
				visit(to)
			}
		}
		state[v] = done
		finished = append(finished, v)
	}
	for v := range n {
		if state[v] == unseen {
			visit(v)
		}
	}
	slices.Reverse(finished)
	ranks := make([]int, n)
	for _, v := range finished {
		for i := range l.g.Edges {
			if a, b := l.ends(i); a == v && a != b {
				ranks[b] = max(ranks[b], ranks[a]+2)
			}
		}
	}
	l.settle(ranks)
	return ranks
}

// settle moves what nothing leads to, other than the start, next to what it leads
// to.
func (l *layouter) settle(ranks []int) {
	for v := range ranks {
		if l.g.Nodes[v].Kind == Start {
			continue
		}
		lowest, leadsHere := math.MaxInt, false
		for i := range l.g.Edges {
			a, b := l.ends(i)
			if b == v && a != v {
				leadsHere = true
			}
			if a == v && b != v {
				lowest = min(lowest, ranks[b])
			}
		}
		switch {
		case leadsHere:
		case lowest == math.MaxInt:
			ranks[v] = min(2, slices.Max(ranks))
		default:
			ranks[v] = lowest - 2
		}
	}
}

// ends returns the upper and the lower node of an edge.
func (l *layouter) ends(edge int) (upper, lower int) {
	e := &l.g.Edges[edge]
	if l.reversed[edge] {
		return e.To, e.From
	}
	return e.From, e.To
}

// chain gives every edge a vertex in each layer between its ends. The one next to
// where the edge starts holds its label.
func (l *layouter) chain() bool {
	for i := range l.g.Edges {
		upper, lower := l.ends(i)
		if upper == lower {
			continue
		}
		first, last := l.vertices[upper].rank+1, l.vertices[lower].rank-1
		labelled := first
		if l.reversed[i] {
			labelled = last
		}
		chain := []int{upper}
		for rank := first; rank <= last; rank++ {
			v := vertex{node: -1, edge: i, rank: rank}
			if label := l.g.Edges[i].Label; rank == labelled && label != "" {
				v.lines = wrap(label)
				v.left = labelWidth(v.lines)/2 + 4
				v.right, v.height = v.left, labelLine*float64(len(v.lines))+4
			}
			chain = append(chain, len(l.vertices))
			l.vertices = append(l.vertices, v)
		}
		chain = append(chain, lower)
		if len(l.vertices) > maxVertices {
			return false
		}
		for k := 1; k < len(chain); k++ {
			l.vertices[chain[k-1]].down = append(l.vertices[chain[k-1]].down, len(l.links))
			l.vertices[chain[k]].up = append(l.vertices[chain[k]].up, len(l.links))
			l.links = append(l.links, link{upper: chain[k-1], lower: chain[k]})
		}
		l.chains[i] = chain
	}
	return true
}

// ports spreads the lines at each box in the order of their other ends.
func (l *layouter) ports() {
	at := make([]int, len(l.vertices))
	for _, layer := range l.layers {
		for i, v := range layer {
			at[v] = i
		}
	}
	for i := range l.vertices {
		v := &l.vertices[i]
		if v.node < 0 {
			continue
		}
		room := nodeWidth(&l.g.Nodes[v.node]) - 24
		spread := func(links []int, other func(int) int, set func(int, float64)) {
			links = slices.Clone(links)
			slices.SortStableFunc(links, func(a, b int) int { return cmp.Compare(at[other(a)], at[other(b)]) })
			step := portGap
			if n := len(links); n > 1 {
				step = math.Floor(max(0, min(step, room/float64(n-1))))
			}
			for k, link := range links {
				set(link, math.Round((float64(k)-float64(len(links)-1)/2)*step))
			}
		}
		spread(v.down, func(k int) int { return l.links[k].lower }, func(k int, x float64) { l.links[k].upperPort = x })
		spread(v.up, func(k int) int { return l.links[k].upper }, func(k int, x float64) { l.links[k].lowerPort = x })
	}
}

// stack gives the layers their heights. Between two layers there is the more room
// the farther lines go aside there.
func (l *layouter) stack() {
	l.top, l.bottom = make([]float64, len(l.layers)), make([]float64, len(l.layers))
	y := margin
	for rank, layer := range l.layers {
		height, aside := 0.0, 0.0
		for _, v := range layer {
			height = max(height, l.vertices[v].height)
			for _, k := range l.vertices[v].up {
				aside = max(aside, math.Abs(l.upperEnd(k)-l.lowerEnd(k)))
			}
		}
		if rank > 0 {
			y += math.Round(min(34, 15+aside/12))
		}
		l.top[rank], l.bottom[rank] = y, y+height
		y += height
	}
}

func (l *layouter) upperEnd(k int) float64 {
	return l.vertices[l.links[k].upper].x + l.links[k].upperPort
}
func (l *layouter) lowerEnd(k int) float64 {
	return l.vertices[l.links[k].lower].x + l.links[k].lowerPort
}

func (l *layouter) result() *layout {
	out := &layout{boxes: make([]box, len(l.g.Nodes)), routes: make([]route, len(l.g.Edges))}
	for i := range l.g.Nodes {
		v := &l.vertices[i]
		w, h := nodeSize(&l.g.Nodes[i])
		y := l.top[v.rank] + math.Round((l.bottom[v.rank]-l.top[v.rank]-h)/2)
		out.boxes[i] = box{v.x - w/2, y, w, h}
	}
	for i := range l.vertices {
		v := &l.vertices[i]
		out.width = max(out.width, v.x+v.right+margin)
		if len(v.lines) > 0 {
			r := &out.routes[v.edge]
			r.lines, r.label = v.lines, box{v.x - v.left, l.top[v.rank], v.left + v.right, v.height}
		}
	}
	out.height = l.bottom[len(l.bottom)-1] + margin
	out.width = math.Ceil(out.width)
	loops := make(map[int]float64)
	for i, chain := range l.chains {
		if chain == nil {
			l.loop(out, i, loops)
		} else {
			l.route(out, i, chain)
		}
	}
	return out
}

// route draws an edge through its places: upright within layers, bent between
// them, so that it meets no box.
func (l *layouter) route(out *layout, edge int, chain []int) {
	r := &out.routes[edge]
	var points []point // pairs: where the edge enters a layer and leaves it
	for k, v := range chain {
		vert := &l.vertices[v]
		x, top, bottom := vert.x, l.top[vert.rank], l.bottom[vert.rank]
		switch {
		case k == 0:
			x = l.upperEnd(l.linkOf(chain, 0))
			top = out.boxes[vert.node].y + out.boxes[vert.node].h
		case k == len(chain)-1:
			x = l.lowerEnd(l.linkOf(chain, k-1))
			bottom = out.boxes[vert.node].y
		case top == bottom && len(chain) > 2:
			continue // nothing is in this layer: no need to stand upright
		}
		points = append(points, point{x, top}, point{x, bottom})
	}
	upper, lower := l.ends(edge)
	straighten(points, out.boxes[upper].w > endSize, out.boxes[lower].w > endSize)
	if l.reversed[edge] {
		slices.Reverse(points)
		r.angle = up
	}
	r.from = points[0]
	for k := 1; k < len(points); k++ {
		if points[k] != points[k-1] {
			r.parts = append(r.parts, part{to: points[k], bends: k%2 == 0})
		}
	}
	r.tip = points[len(points)-1]
}

// straighten moves the ends of a route a little where that saves a bend and the
// boxes there are wide enough.
func straighten(points []point, upper, lower bool) {
	const little = 6
	last := len(points) - 1
	if upper && math.Abs(points[1].x-points[2].x) <= little {
		points[0].x, points[1].x = points[2].x, points[2].x
	}
	if lower && math.Abs(points[last-2].x-points[last-1].x) <= little {
		points[last].x, points[last-1].x = points[last-2].x, points[last-2].x
	}
}

// linkOf returns the link between two vertices of a chain.
func (l *layouter) linkOf(chain []int, k int) int {
	for _, i := range l.vertices[chain[k]].down {
		if l.links[i].lower == chain[k+1] {
			return i
		}
	}
	return 0
}

// loop draws an edge from a box to itself, to the right of it.
func (l *layouter) loop(out *layout, edge int, used map[int]float64) {
	e := &l.g.Edges[edge]
	b, r := out.boxes[e.From], &out.routes[edge]
	away := used[e.From]
	x, y := b.x+b.w, b.y+b.h/2
	half := min(b.h/2-3, 9+away/6)
	r.from, r.tip, r.angle = point{x, y - half}, point{x, y + half}, left
	r.parts = []part{{to: r.tip, loop: away + loopSize - 6}}
	if r.lines = wrap(e.Label); len(r.lines) > 0 {
		h := labelLine*float64(len(r.lines)) + 4
		r.label = box{x + away + loopSize - 4, y - h/2, labelWidth(r.lines), h}
	}
	used[e.From] = away + loopSize + labelWidth(r.lines)
}
