package diagram

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Mermaid returns the graph as a state diagram in the notation of Mermaid.
func (g *Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	id := func(i int) string {
		switch n := &g.Nodes[i]; n.Kind {
		case Start:
			return "[*]"
		case End:
			if n.Name == "" {
				return "[*]"
			}
			return "e" + itoa(i)
		}
		return "m" + itoa(i)
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		switch {
		case n.Kind == Message && n.detail() != "":
			fmt.Fprintf(&b, "  state \"%s (%s)\" as %s\n", mermaidText(n.Name), mermaidText(n.detail()), id(i))
		case n.Name != "":
			fmt.Fprintf(&b, "  state \"%s\" as %s\n", mermaidText(n.Name), id(i))
		}
	}
	for _, e := range g.Edges {
		fmt.Fprintf(&b, "  %s --> %s", id(e.From), id(e.To))
		if e.Label != "" {
			b.WriteString(" : " + mermaidText(e.Label))
		}
		b.WriteString("\n")
	}
	for i := range g.Nodes {
		if g.Nodes[i].Kind == End && g.Nodes[i].Name != "" {
			fmt.Fprintf(&b, "  %s --> [*]\n", id(i))
		}
	}
	return b.String()
}

// detail is what is said of a message under its name.
func (n *Node) detail() string {
	var words []string
	if len(n.Senders) > 0 {
		words = append(words, strings.Join(n.Senders, " or "))
	}
	if n.Class != "" {
		words = append(words, n.Class)
	}
	return strings.Join(words, " · ")
}

// mermaidText writes text so that it is only ever text: no quotes, no markup, no
// line ends, nothing that the notation reads as its own.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), strings.ContainsRune(" _-.,·()/", r):
			b.WriteRune(r)
		case unicode.IsSpace(r), unicode.IsControl(r):
			b.WriteByte(' ')
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}

// Mermaid returns the ways as a sequence diagram in the notation of Mermaid, one
// alternative each.
func (w *Sequence) Mermaid() string {
	var b strings.Builder
	b.WriteString("sequenceDiagram\n")
	for i, p := range w.Parties {
		fmt.Fprintf(&b, "  participant p%d as %s\n", i, mermaidText(p))
	}
	w.mermaidSteps(&b, w.Steps, 1)
	return b.String()
}

func (w *Sequence) mermaidSteps(b *strings.Builder, steps []SequenceStep, depth int) {
	indent := strings.Repeat("  ", depth)
	for _, s := range steps {
		switch {
		case len(s.Blocks) > 0:
			words := map[Frame][2]string{Alternatives: {"alt", "else"}, Parallel: {"par", "and"}, Loop: {"loop", ""}}[s.Frame]
			for i, block := range s.Blocks {
				fmt.Fprintf(b, "%s%s %s\n", indent, words[min(i, 1)], mermaidText(block.Title))
				w.mermaidSteps(b, block.Steps, depth+1)
			}
			b.WriteString(indent + "end\n")
		case s.Message == "":
			fmt.Fprintf(b, "%sNote over %s: %s\n", indent, w.span(s), mermaidText(s.Note))
		default:
			arrow := "->>"
			if s.Receipt {
				arrow = "-->>"
			}
			for _, to := range s.To {
				fmt.Fprintf(b, "%sp%d%sp%d: %s\n", indent, s.From, arrow, to, mermaidText(s.Message))
			}
			if s.Note != "" {
				fmt.Fprintf(b, "%sNote over %s: %s\n", indent, w.span(s), mermaidText(s.Note))
			}
		}
	}
}

// span names the parties over which a note stands.
func (w *Sequence) span(s SequenceStep) string {
	if len(w.Parties) == 1 {
		return "p0"
	}
	low, high := 0, len(w.Parties)-1
	if s.Message != "" && len(s.To) > 0 {
		low, high = min(s.From, slices.Min(s.To)), max(s.From, slices.Max(s.To))
	}
	if low == high {
		return "p" + itoa(low)
	}
	return fmt.Sprintf("p%d,p%d", low, high)
}
