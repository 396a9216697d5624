package diagram

import (
	"strings"
	"unicode"
)

// Widths of characters, in pixels. Names are in a monospaced font, whose width is
// known; for the rest the widest of the usual fonts counts.
const (
	nameChar   = 7.9 // 13px
	detailChar = 6.4 // 11px
	labelChar  = 6.9 // 12px
)

// columns counts characters, those of East Asian scripts and pictures twice.
func columns(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r >= 0x1100:
			n += 2
		default:
			n++
		}
	}
	return n
}

// brief cuts a name that is too long to be shown, and what would not be seen.
func brief(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar || r&0xfffe == 0xfffe {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if columns(s) <= limit {
		return s
	}
	n := 0
	for i, r := range s {
		if n += columns(string(r)); n >= limit {
			return s[:i] + "…"
		}
	}
	return s
}

// wrap breaks a label into lines, four at most.
func wrap(label string) []string {
	var lines []string
	for word := range strings.FieldsSeq(label) {
		word = brief(word, labelChars)
		if word == "" {
			continue
		}
		if n := len(lines); n > 0 && columns(lines[n-1])+1+columns(word) <= labelChars {
			lines[n-1] += " " + word
			continue
		}
		if len(lines) == 4 {
			lines[3] = brief(lines[3], labelChars-2) + " …"
			break
		}
		lines = append(lines, word)
	}
	return lines
}

func labelWidth(lines []string) float64 {
	w := 0
	for _, l := range lines {
		w = max(w, columns(l))
	}
	return float64(w) * labelChar
}

func nodeWidth(n *Node) float64 {
	w, _ := nodeSize(n)
	return w
}

// nodeSize returns the size of a node, in even pixels so that its middle is whole.
func nodeSize(n *Node) (w, h float64) {
	switch {
	case n.Kind == Start:
		return startSize, startSize
	case n.Kind == End && n.Name == "":
		return endSize, endSize
	}
	w, h = float64(columns(brief(n.Name, nameChars)))*nameChar, nameHeight
	if d := n.detail(); n.Kind == Message && d != "" {
		w, h = max(w, float64(columns(brief(d, nameChars)))*detailChar), boxHeight
	}
	return float64(int(max(56, w+28))/2*2 + 2), h
}
