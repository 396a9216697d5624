package screen

import "slices"

// A history is what was typed, to be found again with the arrow keys. The line
// that is being typed comes last, and is kept while one looks at older ones.
type history struct {
	lines []string
	at    int    // how far back; 0 is the line being typed
	draft string // that line
}

func (h *history) add(line string) {
	h.at, h.draft = 0, ""
	if n := len(h.lines); line == "" || n > 0 && h.lines[n-1] == line {
		return
	}
	if len(h.lines) == maxHistory {
		h.lines = slices.Delete(h.lines, 0, 1)
	}
	h.lines = append(h.lines, line)
}

// older returns the line before; typed is what stands in the input now.
func (h *history) older(typed string) (string, bool) {
	if h.at == len(h.lines) {
		return "", false
	}
	if h.at == 0 {
		h.draft = typed
	}
	h.at++
	return h.lines[len(h.lines)-h.at], true
}

// newer goes the other way.
func (h *history) newer() (string, bool) {
	if h.at == 0 {
		return "", false
	}
	h.at--
	if h.at == 0 {
		return h.draft, true
	}
	return h.lines[len(h.lines)-h.at], true
}
