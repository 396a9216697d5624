package diag

import (
	"strings"
	"unicode/utf8"
)

// DidYouMean returns the hint "did you mean 'x'?" for the known name that is
// nearest to the one written, or "" when none is near.
func DidYouMean(written string, known []string) string {
	if best := Nearest(written, known); best != "" {
		return "did you mean '" + best + "'?"
	}
	return ""
}

// longest is how many letters of a name are compared. Nobody means a name that
// is longer, and it keeps the cost bounded.
const longest = 64

// Nearest returns the known name that the written one is most likely a slip
// for, or "". At most a third of its letters may be wrong. The first of equally
// near names wins.
func Nearest(written string, known []string) string {
	if len(written) > longest {
		return ""
	}
	best, distance := "", (utf8.RuneCountInString(written)+2)/3+1
	for _, name := range known {
		if len(name) > longest || name == "" || len(name)-len(written) > 3*distance || len(written)-len(name) > 3*distance {
			continue
		}
		if len(written) == 1 && !strings.EqualFold(written, name) {
			continue // any other letter would be as near
		}
		if d := editDistance(written, name); d < distance {
			best, distance = name, d
		}
	}
	return best
}

// editDistance counts the letters to insert, remove, replace or swap with their
// neighbour. Letters that differ only in case count as one mistake in all.
func editDistance(a, b string) int {
	if a == b {
		return 0
	}
	var rows [3][longest + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if fold(a[i-1]) == fold(b[j-1]) {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && fold(a[i-1]) == fold(b[j-2]) && fold(a[i-2]) == fold(b[j-1]) {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return max(last[len(b)], 1)
}

func fold(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
