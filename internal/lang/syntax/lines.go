package syntax

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/parley-agents/parley/internal/lang/diag"
)

func lineStarts(src string) []int32 {
	starts := make([]int32, 1, strings.Count(src, "\n")+1)
	for i := 0; ; {
		n := strings.IndexByte(src[i:], '\n')
		if n < 0 {
			return starts
		}
		i += n + 1
		starts = append(starts, int32(i))
	}
}

func (f *File) pos(offset int32) diag.Pos {
	if f.lines == nil {
		f.lines = lineStarts(f.src)
	}
	line := sort.Search(len(f.lines), func(i int) bool { return f.lines[i] > offset })
	from, column := f.lines[line-1], 1
	if f.last.Line == line && int32(f.last.Offset) <= offset { // lines can be long, and mistakes many
		from, column = int32(f.last.Offset), f.last.Column
	}
	if from == 0 && offset > 0 && strings.HasPrefix(f.src, string(byteOrderMark)) {
		column-- // nobody sees it
	}
	f.last = diag.Pos{Offset: int(offset), Line: line, Column: column + utf8.RuneCountInString(f.src[from:offset])}
	return f.last
}

// docOf returns what comments say about an item, without their marks.
func docOf(c *Comments) string {
	if c == nil {
		return ""
	}
	var lines []string
	for _, comment := range c.Before {
		if comment.Doc() {
			lines = append(lines, strings.TrimSpace(comment.Text[3:]))
		}
	}
	if lines == nil {
		for _, comment := range c.Behind {
			if strings.HasPrefix(comment.Text, "//") {
				lines = append(lines, strings.TrimSpace(strings.TrimLeft(comment.Text, "/")))
			}
		}
	}
	return strings.Join(lines, "\n")
}
