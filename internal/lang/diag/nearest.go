package diag

import "unicode/utf8"

// DidYouMean returns the hint "did you mean 'x'?" for the known name that is
// nearest to the one written, or "" when none is near.
func DidYouMean(written string, known []string) string {
	if best := Nearest(written, known); best != "" {
		return "did you mean '" + best + "'?"
	}
	return ""
}

// Nearest returns the known name that the written one is most likely a slip
// for, or "". At most a third of its letters may be wrong. The first of equally
// near names wins.
func Nearest(written string, known []string) string {
	const longest = 64 // nobody means a name that is longer; keeps the cost bounded
	if len(written) > longest {
		return ""
	}
	best, distance := "", (utf8.RuneCountInString(written)+2)/3+1
	for _, name := range known {
		if len(name) > longest || name == "" {
			continue
		}
		if d := editDistance(written, name); d < distance {
			best, distance = name, d
		}
	}
	return best
}

// editDistance counts the letters to insert, remove, replace or swap with their
// neighbour; letters that differ only in case count nothing beside one in total.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if string(x) == string(y) {
		return 0
	}
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if fold(x[i-1]) == fold(y[j-1]) {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && fold(x[i-1]) == fold(y[j-2]) && fold(x[i-2]) == fold(y[j-1]) {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return max(last[len(y)], 1)
}

func fold(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}
