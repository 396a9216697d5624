package document

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode"

	"github.com/parley-agents/parley/internal/lang/diagram"
	"github.com/parley-agents/parley/spec"
)

// HTML returns the page of a source: all its protocols, with drawings, and the
// text itself. It needs no other file and no script.
func HTML(s *Source) []byte {
	sections := s.sections()
	w := &htmlPage{}
	title := s.Name
	if len(sections) == 1 {
		title = sections[0].title
	}
	w.line(`<!doctype html><!-- %s -->`, s.header())
	w.line(`<html lang="en">`)
	w.line(`<head>`)
	w.line(`<meta charset="utf-8">`)
	w.line(`<meta name="viewport" content="width=device-width, initial-scale=1">`)
	w.line(`<meta name="color-scheme" content="light dark">`)
	w.line(`<title>%s</title>`, esc(title))
	w.line(`<style>%s</style>`, style)
	w.line(`<style>%s</style>`, diagram.Style)
	w.line(`</head>`)
	w.line(`<body>`)
	w.line(`<nav aria-label="Contents">`)
	for _, sec := range sections {
		w.contents(sec)
	}
	w.line(`<p><a href="#source">Source</a></p>`)
	w.line(`</nav>`)
	w.line(`<main>`)
	for _, sec := range sections {
		w.section(sec)
	}
	w.line(`<section id="source"><h2>Source</h2>`)
	w.line(`<p>%s, <span class="digest">%s</span></p>`, esc(s.Name), esc(s.digest()))
	w.line(`<pre class="source"><code>%s</code></pre></section>`, escLines(string(s.Text)))
	w.line(`</main>`)
	w.line(`</body>`)
	w.line(`</html>`)
	return []byte(w.String())
}

type htmlPage struct {
	strings.Builder
}

func (w *htmlPage) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// esc writes what comes from a protocol as text or as the value of an attribute.
func esc(s string) string { return html.EscapeString(visible(s)) }

// escLines does the same for text whose lines count.
func escLines(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r&0xfffe == 0xfffe) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "�")))
}

func (w *htmlPage) contents(s *section) {
	w.line(`<h2><a href="#%s">%s</a></h2>`, s.prefix+"top", esc(s.Name))
	w.line(`<ul>`)
	w.line(`<li><a href="#%sstates">What may follow what</a></li>`, s.prefix)
	if len(s.ways.Steps) > 0 {
		w.line(`<li><a href="#%sways">How exchanges go</a></li>`, s.prefix)
	}
	w.line(`<li><a href="#%smessages">Messages</a><ul>`, s.prefix)
	for i := range s.messages {
		w.line(`<li><a href="#%s"><code>%s</code></a></li>`, s.messageID(s.messages[i].Name), esc(s.messages[i].Name))
	}
	w.line(`</ul></li>`)
	if len(s.types) > 0 {
		w.line(`<li><a href="#%stypes">Types</a><ul>`, s.prefix)
		for i := range s.types {
			w.line(`<li><a href="#%s"><code>%s</code></a></li>`, s.typeID(s.types[i].name), esc(s.types[i].name))
		}
		w.line(`</ul></li>`)
	}
	w.line(`</ul>`)
}

func (w *htmlPage) section(s *section) {
	w.line(`<header id="%stop"><h1>%s`, s.prefix, esc(s.Name))
	if s.Version != "" {
		w.line(` <small>%s</small>`, esc(s.Version))
	}
	w.line(`</h1>`)
	for _, p := range s.doc {
		w.line(`<p class="lead">%s</p>`, esc(p))
	}
	w.line(`<p class="quiet"><code>%s</code><br><span class="digest">%s</span></p></header>`, esc(s.name), esc(s.digest))
	w.roles(s)
	w.states(s)
	w.ways(s)
	w.line(`<section id="%smessages"><h2>Messages</h2>`, s.prefix)
	w.overview(s)
	for i := range s.messages {
		w.message(s, &s.messages[i])
	}
	w.line(`</section>`)
	w.types(s)
}

func (w *htmlPage) roles(s *section) {
	if len(s.roles) == 0 {
		return
	}
	w.line(`<section><h2>Roles</h2><div class="wide"><table class="rows">`)
	w.line(`<thead><tr><th>Role</th><th>Sends</th><th>Handles</th><th>Digest for uAgents</th></tr></thead><tbody>`)
	for i, r := range s.roles {
		mark := ""
		if len(s.roles) > 1 && i < 4 {
			mark = fmt.Sprintf(`<i class="role r%d"></i>`, i)
		}
		count := ""
		if r.count != "" {
			count = " × " + esc(r.count)
		}
		digest := `<span class="quiet">` + esc(r.why) + `</span>`
		if r.digest != "" {
			digest = `<span class="digest">` + esc(r.digest) + `</span>`
		}
		w.line(`<tr><th scope="row">%s<code>%s</code>%s</th><td data-of="Sends">%s</td><td data-of="Handles">%s</td><td data-of="Digest">%s</td></tr>`,
			mark, esc(r.name), count, s.links(r.sends), s.links(r.handles), digest)
	}
	w.line(`</tbody></table></div></section>`)
}

func (w *htmlPage) states(s *section) {
	o := diagram.Options{Unstyled: true, Link: func(m string) string { return "#" + s.messageID(m) }}
	w.line(`<section id="%sstates"><h2>What may follow what</h2>`, s.prefix)
	w.line(`<figure class="wide">`)
	w.Write(s.graph.SVG(o))
	w.line(`</figure>`)
	for _, n := range s.notes {
		w.line(`<p class="quiet">%s</p>`, esc(n))
	}
	if len(s.ends) > 0 {
		w.line(`<div class="wide"><table><thead><tr><th>End state</th><th>Reached by</th></tr></thead><tbody>`)
		for _, e := range s.ends {
			how := `<span class="quiet">no outcome binds it to a message</span>`
			if len(e.how) > 0 {
				how = esc(strings.Join(e.how, "; "))
			}
			w.line(`<tr><th scope="row"><code>%s</code></th><td>%s</td></tr>`, esc(e.name), how)
		}
		w.line(`</tbody></table></div>`)
	}
	w.line(`</section>`)
}

func (w *htmlPage) ways(s *section) {
	if len(s.ways.Steps) == 0 {
		return
	}
	o := diagram.Options{Unstyled: true, Link: func(m string) string { return "#" + s.messageID(m) }}
	w.line(`<section id="%sways"><h2>How exchanges go</h2>`, s.prefix)
	if s.ways.Sides && len(s.roles) > 1 {
		var names []string
		for _, r := range s.roles {
			names = append(names, r.name)
		}
		w.line(`<p class="quiet">Initiator and responder: %s, either way.</p>`, esc(strings.Join(names, " and ")))
	}
	w.line(`<div class="ways">`)
	panels := s.ways.Panels()
	for _, p := range panels {
		w.line(`<figure>`)
		if len(panels) > 1 {
			w.line(`<figcaption>%s</figcaption>`, esc(p.Title))
		}
		w.Write(p.SVG(o))
		w.line(`</figure>`)
	}
	w.line(`</div></section>`)
}

func (w *htmlPage) overview(s *section) {
	classes := slices.ContainsFunc(s.messages, func(m message) bool { return m.Class != spec.Unclassified })
	head := ""
	if classes {
		head = `<th>Class</th>`
	}
	w.line(`<div class="wide"><table class="rows"><thead><tr><th>Message</th>%s<th>Sent by</th><th>May be answered by</th><th>Ends as</th></tr></thead><tbody>`, head)
	for i := range s.messages {
		m := &s.messages[i]
		opens := ""
		if m.opens {
			opens = ` <span class="tag">opens</span>`
		}
		column := ""
		if classes {
			column = `<td data-of="Class">` + class(m) + `</td>`
		}
		w.line(`<tr><th scope="row">%s%s</th>%s<td data-of="Sent by">%s</td><td data-of="Answered by">%s</td><td data-of="Ends as">%s</td></tr>`, s.links([]string{m.Name}), opens, column,
			esc(strings.Join(m.senders, " or ")), s.links(append(append([]string(nil), m.replies...), m.receipts...)), esc(strings.Join(m.ends, "; ")))
	}
	w.line(`</tbody></table></div>`)
}

func class(m *message) string {
	if m.Class == spec.Unclassified {
		return ""
	}
	return m.Class.String()
}

func (w *htmlPage) message(s *section, m *message) {
	w.line(`<article id="%s"><h3><code>%s</code>`, s.messageID(m.Name), esc(m.Name))
	if c := class(m); c != "" {
		w.line(` <span class="tag">%s</span>`, c)
	}
	w.line(`</h3>`)
	for _, p := range m.doc {
		w.line(`<p>%s</p>`, esc(p))
	}
	w.line(`<dl>`)
	w.fact("Sent by", esc(strings.Join(m.senders, " or ")))
	if m.opens {
		w.fact("Opens", "an exchange")
	}
	w.fact("Answers", s.links(m.answers))
	w.fact("Answered by", s.links(m.replies))
	w.fact("Confirmed by", s.links(m.receipts))
	w.fact("Time limit", esc(m.late))
	w.fact("Ends as", esc(strings.Join(m.ends, "; ")))
	if m.digest != "" {
		w.fact("Digest", `<span class="digest">`+esc(m.digest)+`</span>`)
	}
	w.line(`</dl>`)
	switch {
	case m.body != nil:
		w.line(`<p>Its content is %s.</p>`, s.typeWords(s.names.words(m.body, true)))
	case len(m.fields) == 0:
		w.line(`<p class="quiet">It has no fields.</p>`)
	default:
		w.fields(s, m.fields)
	}
	if m.example != "" {
		w.line(`<figure class="example"><figcaption>Example</figcaption><pre><code>%s</code></pre></figure>`, escLines(m.example))
	}
	if m.custom {
		w.line(`<p class="quiet">The example is the JSON form; custom types travel as protobuf.</p>`)
	}
	w.line(`</article>`)
}

// fact writes what is known, and nothing if it is not.
func (w *htmlPage) fact(name, value string) {
	if value != "" {
		w.line(`<dt>%s</dt><dd>%s</dd>`, name, value)
	}
}

func (w *htmlPage) fields(s *section, fields []field) {
	limits, docs := columnsOf(fields)
	w.WriteString(`<div class="wide"><table class="fields"><thead><tr><th>Field</th><th>Type</th><th></th>`)
	if limits {
		w.WriteString(`<th>Limits</th>`)
	}
	if docs {
		w.WriteString(`<th>Meaning</th>`)
	}
	w.line(`</tr></thead><tbody>`)
	for _, f := range fields {
		need := f.need
		if f.init != "" {
			need = `default <code>` + esc(f.init) + `</code>`
		}
		fmt.Fprintf(w, `<tr><th scope="row"><code>%s</code></th><td>%s</td><td class="quiet">%s</td>`, esc(f.name), s.typeWords(f.typ), need)
		if limits {
			var all []string
			for _, l := range f.limits {
				all = append(all, `<code>`+esc(l)+`</code>`)
			}
			fmt.Fprintf(w, `<td>%s</td>`, strings.Join(all, ", "))
		}
		if docs {
			fmt.Fprintf(w, `<td>%s</td>`, esc(strings.Join(f.doc, " ")))
		}
		w.line(`</tr>`)
	}
	w.line(`</tbody></table></div>`)
}

func (w *htmlPage) types(s *section) {
	if len(s.types) == 0 {
		return
	}
	w.line(`<section id="%stypes"><h2>Types</h2>`, s.prefix)
	for i := range s.types {
		t := &s.types[i]
		w.line(`<article id="%s"><h3><code>%s</code> <span class="tag">%s</span></h3>`, s.typeID(t.name), esc(t.name), t.kind)
		for _, p := range t.doc {
			w.line(`<p>%s</p>`, esc(p))
		}
		switch {
		case t.kind == "custom":
			w.line(`<pre><code>%s</code></pre>`, escLines(t.body))
		case len(t.values) > 0:
			w.line(`<div class="wide"><table><thead><tr><th>Value</th><th>On the wire</th></tr></thead><tbody>`)
			for _, v := range t.values {
				w.line(`<tr><th scope="row"><code>%s</code></th><td><code>%s</code></td></tr>`, esc(v[0]), esc(v[1]))
			}
			w.line(`</tbody></table></div>`)
		case t.words != nil:
			w.line(`<p>= %s</p>`, s.typeWords(t.words))
		case len(t.fields) == 0:
			w.line(`<p class="quiet">It has no fields.</p>`)
		default:
			w.fields(s, t.fields)
		}
		w.line(`</article>`)
	}
	w.line(`</section>`)
}

// typeWords writes a type, with links to those that are described.
func (s *section) typeWords(spans []span) string {
	var b strings.Builder
	b.WriteString(`<code class="type">`)
	for _, sp := range spans {
		if sp.ref != nil && s.listed[sp.ref] {
			fmt.Fprintf(&b, `<a href="#%s">%s</a>`, s.typeID(sp.text), esc(sp.text))
		} else {
			b.WriteString(esc(sp.text))
		}
	}
	return b.String() + `</code>`
}

// links names messages with links to where they are described.
func (s *section) links(names []string) string {
	var all []string
	for _, n := range names {
		all = append(all, fmt.Sprintf(`<a href="#%s"><code>%s</code></a>`, s.messageID(n), esc(n)))
	}
	return strings.Join(all, ", ")
}
