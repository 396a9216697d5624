package diagram

import (
	"math"
	"slices"
)

const (
	orderSweeps = 24
	placeSweeps = 24
)

// order puts the vertices of each layer in a row, so that few lines cross: layer
// by layer after the middle of their neighbours, down and up again, keeping the
// best that was seen.
func (l *layouter) order() {
	l.layers = make([][]int, l.depth())
	seen := make([]bool, len(l.vertices))
	var visit func(int)
	visit = func(v int) {
		if seen[v] {
			return
		}
		seen[v] = true
		rank := l.vertices[v].rank
		l.layers[rank] = append(l.layers[rank], v)
		for _, k := range l.vertices[v].down {
			visit(l.links[k].lower)
		}
	}
	for v := range l.vertices {
		visit(v)
	}
	best, fewest := l.copyLayers(), l.crossings()
	for sweep := 0; sweep < orderSweeps && fewest > 0; sweep++ {
		l.sweep(sweep%2 == 0)
		l.transpose()
		if n := l.crossings(); n < fewest {
			best, fewest = l.copyLayers(), n
		}
	}
	l.layers = best
}

func (l *layouter) depth() int {
	deepest := 0
	for i := range l.vertices {
		deepest = max(deepest, l.vertices[i].rank)
	}
	return deepest + 1
}

func (l *layouter) copyLayers() [][]int {
	all := make([][]int, len(l.layers))
	for i := range all {
		all[i] = slices.Clone(l.layers[i])
	}
	return all
}

func (l *layouter) sweep(downwards bool) {
	at := l.positions()
	for i := range l.layers {
		rank := i
		if !downwards {
			rank = len(l.layers) - 1 - i
		}
		layer := l.layers[rank]
		middle := make(map[int]float64, len(layer))
		for k, v := range layer {
			sum, n := 0, 0
			if downwards {
				for _, link := range l.vertices[v].up {
					sum, n = sum+at[l.links[link].upper], n+1
				}
			} else {
				for _, link := range l.vertices[v].down {
					sum, n = sum+at[l.links[link].lower], n+1
				}
			}
			middle[v] = float64(k)
			if n > 0 {
				middle[v] = float64(sum) / float64(n)
			}
		}
		slices.SortStableFunc(layer, func(a, b int) int {
			switch d := middle[a] - middle[b]; {
			case d < 0:
				return -1
			case d > 0:
				return 1
			}
			return 0
		})
		for k, v := range layer {
			at[v] = k
		}
	}
}

func (l *layouter) positions() []int {
	at := make([]int, len(l.vertices))
	for _, layer := range l.layers {
		for i, v := range layer {
			at[v] = i
		}
	}
	return at
}

// transpose swaps neighbours as long as fewer lines cross then.
func (l *layouter) transpose() {
	at := l.positions()
	for range 8 {
		improved := false
		for _, layer := range l.layers {
			for i := 1; i < len(layer); i++ {
				a, b := layer[i-1], layer[i]
				if l.crossed(a, b, at) > l.crossed(b, a, at) {
					layer[i-1], layer[i] = b, a
					at[a], at[b] = i, i-1
					improved = true
				}
			}
		}
		if !improved {
			return
		}
	}
}

// crossed counts the lines of two vertices that cross if the first stands left of
// the second.
func (l *layouter) crossed(a, b int, at []int) int {
	n := 0
	for _, i := range l.vertices[a].up {
		for _, k := range l.vertices[b].up {
			if at[l.links[i].upper] > at[l.links[k].upper] {
				n++
			}
		}
	}
	for _, i := range l.vertices[a].down {
		for _, k := range l.vertices[b].down {
			if at[l.links[i].lower] > at[l.links[k].lower] {
				n++
			}
		}
	}
	return n
}

// crossings counts the pairs of lines that cross.
func (l *layouter) crossings() int {
	at, n := l.positions(), 0
	for _, layer := range l.layers {
		var ends []int // lower ends, in the order of the upper ones
		for _, v := range layer {
			var of []int
			for _, k := range l.vertices[v].down {
				of = append(of, at[l.links[k].lower])
			}
			slices.Sort(of)
			ends = append(ends, of...)
		}
		for i := range ends {
			for _, other := range ends[i+1:] {
				if ends[i] > other {
					n++
				}
			}
		}
	}
	return n
}

// place gives the vertices their columns: as near to where their neighbours want
// them as the order and the gaps allow, in turns from above and from below.
func (l *layouter) place() {
	for _, layer := range l.layers {
		x := 0.0
		for i, v := range layer {
			if i > 0 {
				x += l.gap(layer[i-1], v)
			}
			l.vertices[v].x = x
		}
	}
	for sweep := range placeSweeps {
		both := sweep >= placeSweeps-6
		for i := range l.layers {
			rank := i
			if sweep%2 == 1 {
				rank = len(l.layers) - 1 - i
			}
			l.placeLayer(l.layers[rank], both || sweep%2 == 0, both || sweep%2 == 1)
		}
	}
	leftmost := math.Inf(1)
	for i := range l.vertices {
		leftmost = min(leftmost, l.vertices[i].x-l.vertices[i].left)
	}
	for i := range l.vertices {
		l.vertices[i].x = math.Round(l.vertices[i].x - leftmost + margin)
	}
}

// gap is the least distance between the axes of two neighbours.
func (l *layouter) gap(a, b int) float64 {
	between := nodeGap
	if l.vertices[a].passes() || l.vertices[b].passes() {
		between = lineGap
	}
	return math.Ceil(l.vertices[a].right + l.vertices[b].left + between)
}

// placeLayer finds the places that are nearest, by the sum of squares, to what the
// neighbours above or below ask for: vertices that are in one another's way are
// moved as one block.
func (l *layouter) placeLayer(layer []int, above, below bool) {
	type block struct {
		sum, weight float64 // of what its members ask for, as places of the first
		members     int
	}
	var blocks []block
	offset := 0.0
	offsets := make([]float64, len(layer))
	for i, v := range layer {
		if i > 0 {
			offset += l.gap(layer[i-1], v)
		}
		offsets[i] = offset
		want, weight := l.wanted(v, above, below)
		b := block{(want - offset) * weight, weight, 1}
		for len(blocks) > 0 {
			last := blocks[len(blocks)-1]
			if last.sum/last.weight <= b.sum/b.weight {
				break
			}
			b = block{last.sum + b.sum, last.weight + b.weight, last.members + b.members}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	i := 0
	for _, b := range blocks {
		first := math.Round(b.sum / b.weight)
		for range b.members {
			l.vertices[layer[i]].x = first + offsets[i]
			i++
		}
	}
}

// wanted is where a vertex would stand if it were alone, and how much that counts.
// Long lines count most, so that they are straight.
func (l *layouter) wanted(v int, above, below bool) (x, weight float64) {
	sum, total := 0.0, 0.0
	add := func(k int, x float64) {
		w := 1.0
		if link := &l.links[k]; l.vertices[link.upper].node < 0 && l.vertices[link.lower].node < 0 {
			w = 6
		}
		sum, total = sum+x*w, total+w
	}
	if above {
		for _, k := range l.vertices[v].up {
			add(k, l.upperEnd(k)-l.links[k].lowerPort)
		}
	}
	if below {
		for _, k := range l.vertices[v].down {
			add(k, l.lowerEnd(k)-l.links[k].upperPort)
		}
	}
	if total == 0 {
		return l.vertices[v].x, 0.01
	}
	return sum / total, total
}
