package diagram

import (
	"slices"
	"strings"
)

// Measures of sequences, in pixels.
const (
	headHeight = 28.0
	stepHeight = 36.0
	noteHeight = 30.0
	titleLine  = 24.0
	inset      = 10.0 // of a frame in a frame
)

// SVG draws the sequence: parties side by side, time going down.
func (s *Sequence) SVG(o Options) []byte {
	c := &canvas{options: o}
	d := &sequenceDrawing{Sequence: s, canvas: &canvas{options: o}}
	d.columns()
	bottom := d.steps(s.Steps, margin+headHeight+14, 0) + 6
	width := d.at[len(d.at)-1] + d.half[len(d.half)-1] + d.side + margin
	c.open(width, bottom+margin, s.Title, s.Words())
	for i, party := range s.Parties {
		class := "r" + itoa(i)
		if i >= colours || s.Sides {
			class = "message"
		}
		c.add("<line class=\"life\" x1=\"%s\" x2=\"%[1]s\" y1=\"%s\" y2=\"%s\"/>", px(d.at[i]), px(margin+headHeight), px(bottom))
		b := box{d.at[i] - d.half[i], margin, d.half[i] * 2, headHeight}
		c.add("<g class=\"%s\"><title>%s</title>", class, text(party))
		c.rect(b, 6)
		if !s.Sides {
			c.bar(b, i)
		}
		c.add("<text class=\"name\" x=\"%s\" y=\"%s\">%s</text></g>\n", px(d.at[i]), px(margin+headHeight/2+4.5), text(brief(party, nameChars)))
	}
	c.WriteString(d.canvas.String())
	c.add("</svg>\n")
	return []byte(c.String())
}

// Words tells the sequence in sentences.
func (s *Sequence) Words() string { return strings.TrimSpace(s.words(s.Steps)) }

func (s *Sequence) words(steps []SequenceStep) string {
	var b strings.Builder
	for _, step := range steps {
		if step.Message != "" {
			var to []string
			for _, i := range step.To {
				to = append(to, s.Parties[i])
			}
			b.WriteString(s.Parties[step.From] + " sends " + step.Message + " to " + strings.Join(to, " and ") + ". ")
		}
		if step.Note != "" {
			b.WriteString(step.Note + ". ")
		}
		for _, block := range step.Blocks {
			b.WriteString(block.Title + ": " + s.words(block.Steps))
		}
	}
	return b.String()
}

type sequenceDrawing struct {
	*Sequence
	canvas *canvas
	at     []float64 // axes of the parties
	half   []float64 // of the widths of their heads
	side   float64   // room for frames at both sides
}

// columns gives each party its place: far enough from the one before for the
// heads and for what is written between them.
func (d *sequenceDrawing) columns() {
	if len(d.Parties) == 0 {
		d.Parties = []string{""}
	}
	d.side = inset*float64(depth(d.Steps)) + 8
	between := make([]float64, len(d.Parties))
	var measure func([]SequenceStep)
	measure = func(steps []SequenceStep) {
		for _, s := range steps {
			words := float64(columns(brief(s.Message, nameChars)))*nameChar + 28
			for _, to := range s.To {
				if low, high := min(s.From, to), max(s.From, to); low < high {
					for i := low + 1; i <= high; i++ {
						between[i] = max(between[i], words/float64(high-low))
					}
				}
			}
			if n := len(d.Parties); s.Note != "" && n > 1 {
				between[1] = max(between[1], (noteWidth(s.Note)+8)/float64(n-1))
			}
			for _, b := range s.Blocks {
				if n := len(d.Parties); n > 1 {
					between[1] = max(between[1], (noteWidth(b.Title)+30)/float64(n-1))
				}
				measure(b.Steps)
			}
		}
	}
	measure(d.Steps)
	x := margin + d.side
	for i, p := range d.Parties {
		half := float64(int(float64(columns(brief(p, nameChars)))*nameChar/2)) + 19
		if i == 0 {
			x += half
		} else {
			x += max(110, between[i], d.half[i-1]+half+nodeGap)
		}
		d.at, d.half = append(d.at, float64(int(x))), append(d.half, half)
	}
	if len(d.Parties) == 1 {
		for _, s := range d.Steps {
			d.side = max(d.side, noteWidth(s.Note)/2, float64(columns(brief(s.Message, nameChars)))*nameChar)
		}
	}
}

func noteWidth(note string) float64 { return float64(columns(brief(note, 60)))*labelChar + 20 }

// depth returns how many frames are in one another.
func depth(steps []SequenceStep) int {
	n := 0
	for _, s := range steps {
		for _, b := range s.Blocks {
			n = max(n, 1+depth(b.Steps))
		}
	}
	return n
}

func (d *sequenceDrawing) steps(steps []SequenceStep, y float64, level int) float64 {
	for i := range steps {
		s := &steps[i]
		if len(s.Blocks) > 0 {
			y = d.frame(s, y, level)
			continue
		}
		if s.Message != "" {
			for _, to := range s.To {
				d.arrow(s, to, y)
				y += stepHeight
			}
		}
		if s.Note != "" {
			d.note(s, y)
			y += noteHeight
		}
	}
	return y
}

func (d *sequenceDrawing) arrow(s *SequenceStep, to int, y float64) {
	c, from, at := d.canvas, d.at[s.From], d.at[to]
	class := "line"
	if s.Receipt {
		class += " receipt"
	}
	link := ""
	if c.options.Link != nil {
		link = c.options.Link(s.Message)
	}
	if link != "" {
		c.add("<a href=\"%s\">", text(link))
	}
	name := brief(s.Message, nameChars)
	half := float64(columns(name))*nameChar/2 + 3
	line := y + 23
	if s.From == to { // to others of its own role
		c.add("<text class=\"name\" x=\"%s\" y=\"%s\" style=\"text-anchor:start\">%s</text>", px(from+8), px(line-8), text(name))
		c.add("<path class=\"%s\" d=\"M%s %sh34v8h-26\"/><path class=\"tip\" d=\"M%s %sl8 -4.5v9z\"/>", class, px(from), px(line-4), px(from+1), px(line+4))
	} else {
		middle := (from + at) / 2
		c.add("<rect class=\"under\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"16\"/>", px(middle-half), px(line-19), px(half*2))
		c.add("<text class=\"name\" x=\"%s\" y=\"%s\">%s</text>", px(middle), px(line-7), text(name))
		if at > from {
			c.add("<path class=\"%s\" d=\"M%s %sH%s\"/><path class=\"tip\" d=\"M%s %[3]sl-8 -4.5v9z\"/>", class, px(from), px(line), px(at-6), px(at))
		} else {
			c.add("<path class=\"%s\" d=\"M%s %sH%s\"/><path class=\"tip\" d=\"M%s %[3]sl8 -4.5v9z\"/>", class, px(from), px(line), px(at+6), px(at))
		}
	}
	if link != "" {
		c.add("</a>")
	}
	c.add("\n")
}

// note writes what happens, across the parties that it is about.
func (d *sequenceDrawing) note(s *SequenceStep, y float64) {
	low, high := 0, len(d.at)-1
	if s.Message != "" && len(s.To) > 0 {
		low, high = min(s.From, slices.Min(s.To)), max(s.From, slices.Max(s.To))
	}
	middle, w := (d.at[low]+d.at[high])/2, noteWidth(s.Note)
	c := d.canvas
	c.add("<g class=\"end\">")
	c.rect(box{middle - w/2, y + 3, w, 22}, 11)
	c.add("<text class=\"label\" x=\"%s\" y=\"%s\">%s</text></g>\n", px(middle), px(y+18), text(brief(s.Note, 60)))
}

func (d *sequenceDrawing) frame(s *SequenceStep, y float64, level int) float64 {
	c := d.canvas
	x := d.at[0] - d.half[0] - d.side + inset*float64(level) + 4
	right := d.at[len(d.at)-1] + d.half[len(d.half)-1] + d.side - inset*float64(level) - 4
	top := y
	for i, b := range s.Blocks {
		if i > 0 {
			c.add("<path class=\"frame\" stroke-dasharray=\"5 4\" d=\"M%s %sH%s\"/>", px(x), px(y), px(right))
		}
		title := brief(b.Title, 60)
		c.add("<rect class=\"under\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"18\"/>", px(x+2), px(y+2), px(float64(columns(title))*labelChar+10))
		c.add("<text class=\"key\" x=\"%s\" y=\"%s\">%s</text>\n", px(x+7), px(y+15), text(title))
		y = d.steps(b.Steps, y+titleLine, level+1) + 6
	}
	c.add("<rect class=\"frame\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" rx=\"4\"/>\n", px(x), px(top), px(right-x), px(y-top))
	return y + 8
}
