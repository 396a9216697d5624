package check_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/internal/lang/diag"
	"github.com/parley-agents/parley/internal/lang/syntax"
)

// corpus are all sources at hand, right and wrong.
func corpus(tb testing.TB) []string {
	tb.Helper()
	var all []string
	for _, pattern := range []string{"testdata/*/*.parley", protocolFolder + "/*/*.parley"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			tb.Fatalf("%s: %v, %d files", pattern, err, len(files))
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				tb.Fatal(err)
			}
			all = append(all, string(text))
		}
	}
	for _, info := range diag.Codes() {
		all = append(all, info.Wrong)
	}
	return all
}

// survive checks a source, and all that may be done with the result.
func survive(tb testing.TB, src []byte) {
	tb.Helper()
	for _, name := range []string{"x.parley", "x.md"} {
		result := check.File(name, src, check.Options{Bounds: true, Load: explained})
		for _, p := range result.Protocols {
			if result.Diagnostics.HasErrors() {
				continue
			}
			if p.Broken {
				tb.Fatalf("%s is broken, but nothing was said of it:\n%s", p.Name, src)
			}
			p.Digest()
			for _, r := range p.Spec.Roles {
				_, _ = p.Spec.Manifest(r.Name)
			}
			sameDigestFormatted(tb, result.Files[0], p, name)
		}
	}
}

// Formatting a source does not change what it means.
func sameDigestFormatted(tb testing.TB, file *syntax.File, p *check.Protocol, name string) {
	formatted := syntax.Format(file)
	again := check.File(name, formatted, check.Options{Load: explained})
	for _, q := range again.Protocols {
		if q.Name == p.Name && q.Digest() != p.Digest() {
			tb.Fatalf("formatting changes the digest of %s:\n%s", p.Name, formatted)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range corpus(f) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 1<<14 {
			t.Skip()
		}
		survive(t, src)
	})
}

// Sources with random damage: pieces removed, doubled, swapped, replaced.
func TestDamagedSources(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	rounds := 3
	if os.Getenv("PARLEY_LONG") != "" {
		rounds = 300
	}
	all := corpus(t)
	words := strings.Fields(strings.Join(all[:20], " "))
	for range rounds {
		for _, src := range all {
			survive(t, damage(random, src, words))
		}
	}
}

func damage(random *rand.Rand, src string, words []string) []byte {
	text := []byte(src)
	for range 1 + random.IntN(3) {
		if len(text) < 2 {
			break
		}
		from := random.IntN(len(text))
		to := min(len(text), from+1+random.IntN(12))
		piece := string(text[from:to])
		switch random.IntN(5) {
		case 0:
			piece = ""
		case 1:
			piece += piece
		case 2:
			piece = words[random.IntN(len(words))]
		case 3:
			piece = string([]byte{byte(random.IntN(256))})
		case 4:
			other := random.IntN(len(text))
			piece = string(text[other:min(len(text), other+12)])
		}
		text = []byte(string(text[:from]) + piece + string(text[to:]))
	}
	return text
}

// Inputs of 64 KiB that are made to be hard. Each may take ten times what a
// normal source of that size takes, and a second of grace for a busy machine.
func TestNoSourceExplodes(t *testing.T) {
	const size = 64 << 10
	fill := func(piece func(i int) string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			b.WriteString(piece(i))
		}
		return b.String()
	}
	normal := fill(func(i int) string {
		return strings.ReplaceAll(string(read(t, "testdata/examples/3_llm.parley")[70:]), "protocol ", fmt.Sprintf("protocol P%d", i))
	})
	start := time.Now()
	check.File("x", []byte(normal), check.Options{})
	bound := 10*time.Since(start) + 5*time.Second // an explosion takes minutes

	for name, src := range map[string]string{
		"aliases of aliases":     fill(func(i int) string { return fmt.Sprintf("type A%d = A%d\n", i, i+1) }),
		"tuples of two":          fill(func(i int) string { return fmt.Sprintf("type A%d = Tuple<A%d, A%d>\n", i, i+1, i+1) }),
		"unions of two":          fill(func(i int) string { return fmt.Sprintf("type A%d = List<A%d> | Map<String, A%d>\n", i, i+1, i+1) }),
		"records of two":         fill(func(i int) string { return fmt.Sprintf("type A%d = { x: A%d, y: A%d }\n", i, i+1, i+1) }),
		"copies of copies":       fill(func(i int) string { return fmt.Sprintf("type A%d = { ...A%d, f%d: Int }\n", i, i+1, i) }),
		"copies of those before": "type A0 = {}\n" + fill(func(i int) string { return fmt.Sprintf("type A%d = { ...A%d, f%d: Int }\n", i+1, i, i) }),
		"one union of records":   "type U = " + fill(func(i int) string { return fmt.Sprintf("{ a%d: Int } | ", i) }) + "Int",
		"unions of unions": "type U = " + strings.TrimSuffix(strings.Repeat("R | ", 1), " | ") + "\n" + fill(func(i int) string {
			return fmt.Sprintf("type R%d = { a%d: Int } type U%d = R%d | U%d\n", i, i, i, i, max(0, i-1))
		}),
		"literals":                   "type U = " + fill(func(i int) string { return fmt.Sprintf("%d | ", i) }) + "true",
		"enum values":                "enum E { " + fill(func(i int) string { return fmt.Sprintf("V%d,", i) }) + "}",
		"enum defaults":              "enum E { A, B }\ntype R = { " + fill(func(i int) string { return fmt.Sprintf("f%d: E = B\n", i) }) + "}",
		"endless records":            fill(func(i int) string { return fmt.Sprintf("type A%d = { a: A%d }\n", i, i/2) }),
		"lists":                      "type A = " + strings.Repeat("List<", size/5),
		"brackets":                   "type A = " + strings.Repeat("(", size),
		"braces":                     strings.Repeat("{", size),
		"closing braces":             strings.Repeat("}", size),
		"at signs":                   strings.Repeat("@", size),
		"annotations":                strings.Repeat("@x_a ", size/5) + "type A = Int",
		"strings not closed":         strings.Repeat("\"\n", size/2),
		"quotes":                     strings.Repeat("\"", size),
		"comments not closed":        strings.Repeat("/*", size/2),
		"one line of mistakes":       strings.Repeat("# $ ", size/4),
		"not UTF-8":                  strings.Repeat("\xff", size),
		"one word":                   strings.Repeat("a", size),
		"unknown types":              "type A = { " + fill(func(i int) string { return fmt.Sprintf("f%d: Typ%d\n", i, i) }) + "}",
		"messages":                   "protocol P { roles a, b " + fill(func(i int) string { return fmt.Sprintf("message m%d {} ", i) }) + " dialogue { initiates m0 } }",
		"replies":                    "protocol P { roles a, b message m {} dialogue { initiates m; m -> [" + strings.Repeat("m,", size/2) + "] } }",
		"unknown replies":            "protocol P { roles a, b message m {} dialogue { initiates m; m -> [" + fill(func(i int) string { return fmt.Sprintf("x%d ", i) }) + "] } }",
		"unknown types among many":   fill(func(i int) string { return fmt.Sprintf("type Some%d = { f: Soma%d }\n", i, i) }),
		"unknown replies among many": "protocol P { roles a, b " + fill(func(i int) string { return fmt.Sprintf("message some%d {} dialogue { some%d -> [soma%d] } ", i, i, i) }) + "}",
		"rules of all by all":        dense(90),
		"a chain":                    chain(1200),
		"nested flow":                "protocol P { roles a, b message m {} flow { " + strings.Repeat("loop L { ", size/9),
		"protocols that extend":      fill(func(i int) string { return fmt.Sprintf("protocol P%d extends P%d { message m%d {} }\n", i, i+1, i) }),
		"protocols that extend more": fill(func(i int) string {
			return fmt.Sprintf("protocol P%d extends P%d { message m%d {} }\n", i, max(0, i-1), i)
		}),
		"patterns": "type A = { " + fill(func(i int) string { return fmt.Sprintf("f%d: String(pattern: \"(a{1,30}){1,30}\") = \"b\"\n", i) }) + "}",
		"big numbers": "type A = { " + fill(func(i int) string {
			return fmt.Sprintf("f%d: Float(min: 1e999, max: 1e1000, multipleOf: 1e-1000)\n", i)
		}) + "}",
		"imports": fill(func(i int) string { return fmt.Sprintf("import \"f%d.parley\"\n", i) }),
	} {
		took := time.Duration(math.MaxInt64)
		for try := 0; try < 3 && took > bound; try++ { // a busy machine is not an explosion
			start := time.Now()
			_ = syntax.Format(check.File("x", []byte(src), check.Options{Bounds: true}).Files[0])
			took = min(took, time.Since(start))
		}
		if took > bound {
			t.Errorf("%s: %v, at most %v expected", name, took, bound)
		}
	}
}

// dense is a protocol in which every message answers every other.
func dense(n int) string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("m%d", i))
	}
	all := strings.Join(names, ",")
	var b strings.Builder
	b.WriteString("protocol P { roles a, b ")
	for _, name := range names {
		b.WriteString("message " + name + " {} ")
	}
	b.WriteString("dialogue { initiates m0; ")
	for _, name := range names {
		b.WriteString(name + " -> [" + all + "]; ")
	}
	return b.String() + "} }"
}

// chain is a protocol in which each message is answered by the next.
func chain(n int) string {
	var b strings.Builder
	b.WriteString("protocol P { roles a, b ")
	for i := range n {
		fmt.Fprintf(&b, "message m%d {} ", i)
	}
	b.WriteString("dialogue { initiates m0 by a; ")
	for i := range n {
		fmt.Fprintf(&b, "m%d -> [m%d]; ", i, i+1)
	}
	return b.String() + "} }"
}
