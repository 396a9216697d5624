package document_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/internal/lang/document"
	"github.com/parley-agents/parley/internal/lang/syntax"
)

// sources returns this project's protocols, the examples of the language and one
// with all there is.
func sources(t testing.TB) []*document.Source {
	t.Helper()
	var all []*document.Source
	for _, pattern := range []string{"../../../protocol/*/*.parley", "../check/testdata/examples/*.parley", "testdata/everything.parley"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, checked(t, filepath.ToSlash(name), text))
		}
	}
	return all
}

func checked(t testing.TB, name string, text []byte) *document.Source {
	t.Helper()
	result := check.File(name, text, check.Options{})
	if result.Diagnostics.HasErrors() {
		t.Fatalf("%s", result.Diagnostics)
	}
	return document.From(result, 0, text)
}

func TestGolden(t *testing.T) {
	for _, s := range sources(t) {
		if s.Name != "everything.parley" && s.Name != "payment.parley" {
			continue
		}
		base := strings.TrimSuffix(s.Name, ".parley")
		golden(t, base+".html", document.HTML(s))
		golden(t, base+".md", document.Markdown(s, s.Protocols[0]))
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := "testdata/" + name
	if os.Getenv("PARLEY_UPDATE") != "" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s has changed; look at it, and write it with PARLEY_UPDATE=1", path)
	}
}

// A page names everything that a protocol has: messages, fields, roles, end
// states, types, time limits, defaults, digests, comments, and the source itself.
func TestNothingIsLeftOut(t *testing.T) {
	for _, s := range sources(t) {
		words := read(t, document.HTML(s)).text
		if !strings.Contains(words, flat(string(s.Text))) {
			t.Errorf("%s: the page does not have the source", s.Name)
		}
		for _, p := range s.Protocols {
			page := read(t, rendered(t, document.Markdown(s, p))).text
			for _, want := range facts(t, p) {
				if !strings.Contains(words, want) {
					t.Errorf("%s: the HTML does not say %q", s.Name, want)
				}
				if !strings.Contains(page, want) {
					t.Errorf("%s: the Markdown does not say %q", s.Name, want)
				}
			}
		}
	}
}

// facts is what a page of a protocol must say.
func facts(t *testing.T, p *check.Protocol) []string {
	all := []string{p.Spec.Name, p.Spec.Version, p.Digest(), p.ID(), flat(p.Spec.Doc)}
	for _, r := range p.Spec.Roles {
		all = append(all, r.Name)
		if digest, err := p.Spec.Digest(r.Name); err == nil {
			all = append(all, digest)
		}
	}
	for _, m := range p.Spec.Messages {
		all = append(all, m.Name, flat(m.Doc))
		if example := document.Example(m.Body); example != nil {
			all = append(all, flat(string(example)))
		} else {
			t.Errorf("there is no example of %s", m.Name)
		}
	}
	if d := p.Spec.Dialogue; d != nil {
		all = append(all, d.EndStates...)
	}
	for _, item := range p.File.Items {
		if d, ok := item.(*syntax.TypeDecl); ok && len(d.Doc()) > 0 && len(p.Spec.Messages) > 2 {
			all = append(all, d.Name.Text)
		}
	}
	return all
}

func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

// rendered turns Markdown into HTML, as a forge would that takes all HTML.
func rendered(t testing.TB, markdown []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	m := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough), goldmark.WithRendererOptions(html.WithUnsafe(), html.WithXHTML()))
	if err := m.Convert(markdown, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A seen is what a browser would make of a page.
type seen struct {
	text     string // in one line
	ids      []string
	links    []string
	elements map[string]int
}

var elements = strings.Fields("html head meta title style body nav main header section article h1 h2 h3 small p ul li a code pre span " +
	"table thead tbody tr th td dl dt dd div figure figcaption i br svg desc g rect circle line path text")

// attributes that this package writes, with all that their values may be.
var attributes = map[string]*regexp.Regexp{
	"id": identifier, "href": regexp.MustCompile(`^#[A-Za-z0-9_.-]+$`), "scope": word, "lang": word, "charset": word, "name": word, "role": word,
	"data-of": regexp.MustCompile(`^(Class|Sends|Handles|Digest|Sent by|Answered by|Ends as)$`),
	"class":   regexp.MustCompile(`^[a-z0-9 -]+$`), "content": regexp.MustCompile(`^[a-z0-9=,. -]+$`), "aria-label": regexp.MustCompile(``),
	"xmlns": regexp.MustCompile(`^http://www.w3.org/2000/svg$`), "d": number, "x": number, "y": number, "width": number, "height": number, "rx": number, "r": number, "cx": number,
	"cy": number, "x1": number, "x2": number, "y1": number, "y2": number, "viewBox": number, "transform": regexp.MustCompile(`^translate\([0-9. -]+\)$`),
	"stroke-dasharray": number, "style": regexp.MustCompile(`^text-(anchor|align):\s?[a-z]+;?$`),
}

var (
	identifier = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
	word       = regexp.MustCompile(`^[A-Za-z0-9-]+$`)
	number     = regexp.MustCompile(`^[0-9A-Za-z. -]+$`)
)

// read takes a page apart and refuses what this package does not write.
func read(t testing.TB, page []byte) seen {
	t.Helper()
	out := seen{elements: make(map[string]int)}
	var text strings.Builder
	d := xml.NewDecoder(bytes.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	comments, styled := 0, false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, page)
		}
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			if !slices.Contains(elements, name) {
				t.Errorf("an element <%s>", name)
			}
			out.elements[name]++
			styled = name == "style"
			for _, a := range token.Attr {
				allowed := attributes[a.Name.Local]
				if allowed == nil || !allowed.MatchString(a.Value) {
					t.Errorf("an attribute %s=%q of <%s>", a.Name.Local, a.Value, name)
				}
				switch a.Name.Local {
				case "id":
					out.ids = append(out.ids, a.Value)
				case "href":
					out.links = append(out.links, strings.TrimPrefix(a.Value, "#"))
				}
			}
		case xml.CharData:
			if !styled {
				text.Write(token)
				text.WriteByte(' ')
			}
		case xml.EndElement:
			styled = false
		case xml.Comment:
			comments++
			if !strings.Contains(string(token), "Generated by parley from ") {
				t.Errorf("a comment %s", token)
			}
		case xml.ProcInst:
			t.Errorf("an instruction %s", token.Target)
		}
	}
	if comments != 1 {
		t.Errorf("%d comments", comments)
	}
	out.text = flat(text.String())
	return out
}

func TestLinksLeadSomewhere(t *testing.T) {
	for _, s := range sources(t) {
		pages := map[string][]byte{"HTML": document.HTML(s)}
		for _, p := range s.Protocols {
			pages[p.Name] = rendered(t, document.Markdown(s, p))
		}
		for name, page := range pages {
			got := read(t, page)
			for _, l := range got.links {
				if !slices.Contains(got.ids, l) {
					t.Errorf("%s, %s: #%s leads nowhere", s.Name, name, l)
				}
			}
			slices.Sort(got.ids)
			if n := len(got.ids); n != len(slices.Compact(got.ids)) || n == 0 {
				t.Errorf("%s, %s: %d places, and some have the same name", s.Name, name, n)
			}
		}
	}
}

func TestAPageNeedsNothingElse(t *testing.T) {
	for _, s := range sources(t) {
		page := string(document.HTML(s))
		for _, never := range []string{"<script", "<link", "<img", "src=", "url(", "@import", "<iframe"} {
			if strings.Contains(page, never) {
				t.Errorf("%s: the page has %s", s.Name, never)
			}
		}
		if strings.Count(page, "<svg") < 2 && s.Name != "http.parley" {
			t.Errorf("%s: there are no drawings", s.Name)
		}
		if len(page) > 120_000 {
			t.Errorf("%s: the page has %d bytes", s.Name, len(page))
		}
	}
}

func TestTheSameSourceGivesTheSameBytes(t *testing.T) {
	first, second := sources(t), sources(t)
	for i := range first {
		if !bytes.Equal(document.HTML(first[i]), document.HTML(second[i])) {
			t.Errorf("%s has two pages", first[i].Name)
		}
		for k, p := range first[i].Protocols {
			if !bytes.Equal(document.Markdown(first[i], p), document.Markdown(second[i], second[i].Protocols[k])) {
				t.Errorf("%s has two pages of Markdown", first[i].Name)
			}
		}
		line, _, _ := bytes.Cut(document.HTML(first[i]), []byte("\n"))
		if !bytes.Contains(line, []byte("Generated by parley from "+first[i].Name+" (sha256:")) {
			t.Errorf("the first line is %s", line)
		}
	}
}

var hostileTexts = []string{
	"", `"><script>alert(1)</script>`, "a`<b>c`", "</style><b>", "-->x", "<!-- y", "a|b|c", "]]>", "](javascript:x)", "![i](x)", "**b** _i_", "</code></pre>",
	"&lt;", "\\", "1. x", "- x", "# h", "```", "~~~", "$x$", "{{x}}", "\u202eabc", "日本", "' onclick='x", "<a id=\"z\"></a>", "https://x.y/z?a=b&c=d", "\t\t", "=====",
}

// The checker takes such names, so the pages meet them.
func TestHostileTextsReachThePages(t *testing.T) {
	for _, text := range hostileTexts {
		checked(t, "hostile.parley", hostile(text))
	}
}

// hostile writes a source in which names, comments and values are the given text.
func hostile(text string) []byte {
	name := strings.Map(func(r rune) rune {
		if r == '`' || r < ' ' {
			return -1
		}
		return r
	}, text)
	quoted, _ := json.Marshal(text)
	line := strings.Join(strings.Fields(name), " ")
	return fmt.Appendf(nil, "package a.b version %[2]s\n\n/// %[3]s\ntype `T%[1]s` = { `f%[1]s`: String = %[2]s // %[3]s\n g: %[2]s\n}\n"+
		"enum `E%[1]s` { `V%[1]s` = %[2]s }\n"+
		"/// %[3]s\n@description(%[2]s)\nprotocol `P%[1]s` version %[2]s {\n  roles `a%[1]s`, `b%[1]s`\n"+
		"  /// %[3]s\n  message `m%[1]s`: request { t: `T%[1]s`, e: `E%[1]s`, `h%[1]s`: String?, l: List<`T%[1]s`> }\n  message `n%[1]s`: response {}\n"+
		"  dialogue {\n    initiates [`m%[1]s`] by `a%[1]s`\n    `m%[1]s` -> [`n%[1]s`] within 3s else `x%[1]s`\n    `n%[1]s` -> []\n"+
		"    terminates [`n%[1]s`]\n    end_states [`x%[1]s`, `y%[1]s`]\n    outcome `y%[1]s`: `n%[1]s` after [`m%[1]s`]\n  }\n}\n", name, quoted, line)
}

// Whatever names, comments and values are, they stay text: a page has the elements
// and attributes that this package writes, and shows what the source says.
func FuzzTextStaysText(f *testing.F) {
	for _, s := range hostileTexts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 300 {
			return
		}
		source := hostile(text)
		result := check.File(text+".parley", source, check.Options{})
		if result.Diagnostics.HasErrors() {
			return // names that are none
		}
		s := document.From(result, 0, source)
		page := read(t, document.HTML(s))
		for _, l := range page.links {
			if !slices.Contains(page.ids, l) {
				t.Errorf("#%s leads nowhere", l)
			}
		}
		md := read(t, rendered(t, document.Markdown(s, s.Protocols[0])))
		for _, e := range []string{"h1", "h2", "h3", "table", "ul", "pre"} {
			if want := map[string]int{"h1": 1, "h2": 5, "h3": 4, "table": 6, "pre": 4}[e]; md.elements[e] != want {
				t.Errorf("%d times <%s> in the Markdown, want %d", md.elements[e], e, want)
			}
		}
	})
}
