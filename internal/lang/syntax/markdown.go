package syntax

import "strings"

func isMarkdown(name string) bool {
	return strings.HasSuffix(name, ".md") || strings.HasSuffix(name, ".markdown")
}

// codeOf returns the page with spaces in place of everything that is not
// protocol code, so that every offset is that of the page, and where the code is.
// Code are the fenced blocks marked parley or dsl, and unmarked ones that begin
// with a type or an enum.
func codeOf(page string) (string, []Span) {
	var blocks []Span
	var fence string // that of the open block
	var start int
	var marked, unmarked bool
	for at := 0; at < len(page); {
		end := len(page)
		if n := strings.IndexByte(page[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		line := strings.TrimSpace(page[at:end])
		mark := fenceOf(line)
		switch {
		case fence == "" && mark != "":
			info := strings.TrimSpace(line[len(mark):])
			if mark[0] == '`' && strings.ContainsRune(info, '`') {
				break // code within a line
			}
			fence, start = mark, end
			word, _, _ := strings.Cut(info, " ")
			marked = word == "parley" || word == "dsl"
			unmarked = info == ""
		case fence != "" && mark != "" && mark[0] == fence[0] && len(mark) >= len(fence) && mark == line:
			if marked || unmarked && beginsWithType(page[start:at]) {
				blocks = append(blocks, Span{int32(start), int32(at)})
			}
			fence = ""
		}
		at = end
	}
	if fence != "" && (marked || unmarked && beginsWithType(page[start:])) {
		blocks = append(blocks, Span{int32(start), int32(len(page))})
	}
	return blank(page, blocks), blocks
}

func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

func beginsWithType(code string) bool {
	for line := range strings.Lines(code) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		word, _, _ := strings.Cut(line, " ")
		return word == "type" || word == "enum"
	}
	return false
}

// blank writes spaces over all that is outside the blocks, save line ends.
func blank(page string, blocks []Span) string {
	b := []byte(page)
	at := 0
	clear := func(end int) {
		for ; at < end; at++ {
			if b[at] != '\n' {
				b[at] = ' '
			}
		}
	}
	for _, block := range blocks {
		clear(int(block.Start))
		at = int(block.End)
	}
	clear(len(b))
	return string(b)
}
