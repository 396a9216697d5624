package check_test

import (
	"bytes"
	"testing"

	"github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/internal/lang/syntax"
)

// One source of some hundred lines, as in a tree of a thousand of them.
func BenchmarkCheck(b *testing.B) {
	var src []byte
	for _, text := range corpus(b)[1:3] { // chat, llm and health
		src = append(src, bytes.Replace([]byte(text), []byte("parley \"1\"\npackage"), []byte("//"), 1)...)
	}
	b.SetBytes(int64(len(src)))
	b.ReportMetric(float64(bytes.Count(src, []byte("\n"))), "lines/op")
	b.ReportAllocs()
	for b.Loop() {
		result := check.File("x.parley", src, check.Options{})
		if len(result.Diagnostics) > 0 {
			b.Fatal(result.Diagnostics)
		}
	}
}

func BenchmarkFormat(b *testing.B) {
	src := []byte(corpus(b)[2])
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		file, _ := syntax.Parse("x.parley", src)
		if len(syntax.Format(file)) == 0 {
			b.Fatal("nothing")
		}
	}
}
