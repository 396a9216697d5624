package gen

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-agents/parley/internal/lang/aea"
	"github.com/parley-agents/parley/internal/lang/diag"
)

// An emitter writes a plan for one target. What the target cannot express it
// reports.
type emitter func(*Plan, *problems) []File

var emitters = map[string]emitter{
	"aea":           emitAEA,
	"docs":          emitDocs,
	"go":            emitGo,
	"jsonschema":    emitJSONSchema,
	"manifest":      emitManifest,
	"proto":         emitProto(aea.Open),
	"proto-classic": emitProto(aea.Classic),
}

// Targets returns the names of the targets, in order.
func Targets() []string { return slices.Sorted(maps.Keys(emitters)) }

// Emit writes a plan for a target. If there are errors among the problems, there
// are no files.
func Emit(target string, plan *Plan) ([]File, diag.List) {
	emit, ok := emitters[target]
	if !ok {
		panic("gen: no target " + target)
	}
	found := &problems{}
	files := emit(plan, found)
	list := found.list.Tidy()
	if list.HasErrors() {
		return nil, list
	}
	setApart(files)
	return files, list
}

// setApart gives files whose names are the same, or differ only in capitals, which
// not every system tells apart, names of their own.
func setApart(files []File) {
	taken := make(map[string]bool)
	for i := range files {
		kind := path.Ext(files[i].Path)
		if strings.HasSuffix(files[i].Path, manifestSuffix) {
			kind = manifestSuffix
		}
		name := strings.TrimSuffix(files[i].Path, kind)
		for n := 2; taken[strings.ToLower(files[i].Path)]; n++ {
			files[i].Path = name + "-" + strconv.Itoa(n) + kind
		}
		taken[strings.ToLower(files[i].Path)] = true
	}
}

type problems struct{ list diag.List }

func (p *problems) add(code string, at diag.Span, hint, format string, args ...any) {
	p.list = append(p.list, diag.New(code, at, hint, format, args...))
}

// A printer writes lines with an indentation.
type printer struct {
	buf    bytes.Buffer
	unit   string
	indent int
}

func (p *printer) line(format string, args ...any) {
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	for part := range strings.SplitSeq(text, "\n") {
		if part != "" {
			p.buf.WriteString(strings.Repeat(p.unit, p.indent) + part)
		}
		p.buf.WriteByte('\n')
	}
}

// block writes an opening line, an indented body and a closing line.
func (p *printer) block(open string, body func(), end string) {
	p.line("%s", open)
	p.indent++
	body()
	p.indent--
	p.line("%s", end)
}

// columns is how long lines of code become where it is easy to say.
const columns = 100

// wrapped breaks text that stands in one line, for a comment.
func wrapped(text string) string {
	var b strings.Builder
	length := len("// ")
	for i, word := range strings.Fields(text) {
		switch {
		case i > 0 && length+1+len(word) > columns:
			b.WriteByte('\n')
			length = len("// ")
		case i > 0:
			b.WriteByte(' ')
			length++
		}
		b.WriteString(word)
		length += len(word)
	}
	return b.String()
}

// comment writes text for people, each line after a mark.
func (p *printer) comment(mark, text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		p.line("%s", strings.TrimRight(mark+" "+line, " "))
	}
}
