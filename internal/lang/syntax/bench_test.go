package syntax_test

import (
	"bytes"
	"testing"

	"github.com/parley-agents/parley/internal/lang/syntax"
)

func BenchmarkParse(b *testing.B) {
	src := []byte(seeds(b)[len(oddSources)+1]) // the chat protocol
	b.SetBytes(int64(len(src)))
	b.ReportMetric(float64(bytes.Count(src, []byte("\n"))), "lines/op")
	b.ReportAllocs()
	for b.Loop() {
		if _, found := syntax.Parse("x", src); len(found) > 0 {
			b.Fatal(found)
		}
	}
}

func BenchmarkFormat(b *testing.B) {
	src := []byte(seeds(b)[len(oddSources)+1])
	file, _ := syntax.Parse("x", src)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if len(syntax.Format(file)) == 0 {
			b.Fatal("nothing")
		}
	}
}
