package document

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/spec"
)

// Markdown returns the page of one of the source's protocols. Its diagrams are
// in the notation of Mermaid, which forges draw.
func Markdown(s *Source, p *check.Protocol) []byte {
	for _, sec := range s.sections() {
		if sec.Protocol == p.Spec {
			m := &markdown{section: sec}
			m.page(s)
			return []byte(m.String())
		}
	}
	return nil
}

type markdown struct {
	strings.Builder
	*section
}

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }

// row writes a row of a table.
func (m *markdown) row(cells ...string) {
	for _, c := range cells {
		m.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
	}
	m.WriteString("|\n")
}

func (m *markdown) page(s *Source) {
	m.line("<!-- %s -->\n", s.header())
	m.line("# %s\n", mdText(m.title))
	m.paragraphs(m.doc)
	m.line("Protocol %s with the digest %s.\n", code(m.name), code(m.digest))
	m.describeRoles()
	m.diagrams()
	m.overview()
	m.describeMessages()
	m.describeTypes()
}

func (m *markdown) paragraphs(texts []string) {
	for _, t := range texts {
		m.line("%s\n", mdText(t))
	}
}

func (m *markdown) describeRoles() {
	if len(m.roles) == 0 {
		return
	}
	m.line("## Roles\n")
	m.line("| role | sends | handles | uAgents digest |")
	m.line("|---|---|---|---|")
	for _, r := range m.roles {
		name := code(r.name)
		if r.count != "" {
			name += " × " + mdText(r.count)
		}
		digest := mdText(r.why)
		if r.digest != "" {
			digest = code(r.digest)
		}
		m.row(name, m.links(r.sends), m.links(r.handles), digest)
	}
	m.line("")
}

func (m *markdown) overview() {
	m.line("## Messages\n")
	m.line("| message | class | sent by | opens | may be answered by | ends as |")
	m.line("|---|---|---|---|---|---|")
	for i := range m.messages {
		msg := &m.messages[i]
		class := ""
		if msg.Class != spec.Unclassified {
			class = msg.Class.String()
		}
		opens := ""
		if msg.opens {
			opens = "yes"
		}
		m.row(m.links([]string{msg.Name}), class, mdText(strings.Join(msg.senders, " or ")), opens,
			m.links(append(append([]string(nil), msg.replies...), msg.receipts...)), mdText(strings.Join(msg.ends, "; ")))
	}
	m.line("")
}

func (m *markdown) diagrams() {
	m.line("## What may follow what\n")
	m.fence("mermaid", m.graph.Mermaid())
	for _, n := range m.notes {
		m.line("- %s", mdText(n))
	}
	if len(m.notes) > 0 {
		m.line("")
	}
	if len(m.ends) > 0 {
		m.line("| end state | reached by |")
		m.line("|---|---|")
		for _, e := range m.ends {
			how := "no outcome binds it to a message"
			if len(e.how) > 0 {
				how = strings.Join(e.how, "; ")
			}
			m.row(code(e.name), mdText(how))
		}
		m.line("")
	}
	if len(m.ways.Steps) > 0 {
		m.line("## How exchanges go\n")
		m.fence("mermaid", m.ways.Mermaid())
	}
}

func (m *markdown) describeMessages() {
	for i := range m.messages {
		msg := &m.messages[i]
		m.line("<a id=%q></a>\n", m.messageID(msg.Name))
		m.line("### %s\n", mdText(msg.Name))
		m.paragraphs(msg.doc)
		if len(msg.answers) > 0 {
			m.line("Answers %s.\n", m.links(msg.answers))
		}
		if msg.late != "" {
			m.line("Time limit: %s.\n", mdText(msg.late))
		}
		switch {
		case msg.body != nil:
			m.line("Its content is %s.\n", m.typeWords(m.names.words(msg.body, true)))
		case len(msg.fields) == 0:
			m.line("It has no fields.\n")
		default:
			m.fieldTable(msg.fields)
		}
		if msg.example != "" {
			m.fence("json", msg.example)
		}
		if msg.custom {
			m.line("The example is the JSON form; custom types travel as protobuf.\n")
		}
		if msg.digest != "" {
			m.line("Digest %s\n", code(msg.digest))
		}
	}
}

func (m *markdown) fieldTable(fields []field) {
	limited, explained := columnsOf(fields)
	row := func(name, typ, need, limits, doc string) {
		cells := []string{name, typ, need}
		if limited {
			cells = append(cells, limits)
		}
		if explained {
			cells = append(cells, doc)
		}
		m.row(cells...)
	}
	row("field", "type", "", "limits", "meaning")
	row("---", "---", "---", "---", "---")
	for _, f := range fields {
		need := f.need
		if f.init != "" {
			need = "default " + code(f.init)
		}
		limits := make([]string, len(f.limits))
		for i, l := range f.limits {
			limits[i] = code(l)
		}
		row(code(f.name), m.typeWords(f.typ), need, strings.Join(limits, ", "), mdText(strings.Join(f.doc, " ")))
	}
	m.line("")
}

// columnsOf tells whether any field has limits or a meaning to show.
func columnsOf(fields []field) (limits, docs bool) {
	for _, f := range fields {
		limits, docs = limits || len(f.limits) > 0, docs || len(f.doc) > 0
	}
	return limits, docs
}

// typeWords writes a type, with links to those that are described.
func (m *markdown) typeWords(spans []span) string {
	var b, text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			b.WriteString(code(text.String()))
			text.Reset()
		}
	}
	for _, s := range spans {
		if s.ref == nil || !m.listed[s.ref] {
			text.WriteString(s.text)
			continue
		}
		flush()
		b.WriteString("[" + code(s.text) + "](#" + m.typeID(s.text) + ")")
	}
	flush()
	return b.String()
}

func (m *markdown) describeTypes() {
	if len(m.types) == 0 {
		return
	}
	m.line("## Types\n")
	for i := range m.types {
		t := &m.types[i]
		m.line("<a id=%q></a>\n", m.typeID(t.name))
		m.line("### %s\n", mdText(t.name))
		m.paragraphs(t.doc)
		switch {
		case t.kind == "custom":
			m.line("A custom type: the body of a protobuf message.\n")
			m.fence("proto", t.body+"\n")
		case len(t.values) > 0:
			m.line("| value | on the wire |")
			m.line("|---|---|")
			for _, v := range t.values {
				m.row(code(v[0]), code(v[1]))
			}
			m.line("")
		case t.words != nil:
			m.line("= %s\n", m.typeWords(t.words))
		case len(t.fields) == 0:
			m.line("It has no fields.\n")
		default:
			m.fieldTable(t.fields)
		}
	}
}

// links names messages with links to where they are described.
func (m *markdown) links(names []string) string {
	var all []string
	for _, n := range names {
		all = append(all, "["+code(n)+"](#"+m.messageID(n)+")")
	}
	return strings.Join(all, ", ")
}

// fence writes a block of code between more backquotes than it has itself.
func (m *markdown) fence(language, text string) {
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	m.line("%s%s\n%s\n%s\n", mark, language, strings.TrimRight(text, "\n"), mark)
}

// mdText writes text that is nothing but text, wherever it stands.
func mdText(s string) string {
	var b strings.Builder
	for i, r := range visible(s) {
		switch {
		case strings.ContainsRune("&<>|", r):
			fmt.Fprintf(&b, "&#%d;", r)
		case strings.ContainsRune("\\`*_{}[]#+!~$", r), i == 0 && strings.ContainsRune("-=", r):
			b.WriteString("\\" + string(r))
		default:
			b.WriteRune(r)
		}
	}
	return numbered.ReplaceAllString(b.String(), `$1\$2`)
}

// numbered is how an item of a list begins.
var numbered = regexp.MustCompile(`^([0-9]+)([.)])`)

// code writes a code span.
func code(s string) string {
	s = visible(s)
	if strings.TrimSpace(s) == "" {
		return "` `"
	}
	mark := "`"
	for strings.Contains(s, mark) {
		mark += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return mark + s + mark
}

// visible returns text in one line, without what controls more than it shows.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar, r&0xfffe == 0xfffe:
			return -1
		}
		return r
	}, s)
}

func unquote(v spec.JSON) string {
	var text string
	if json.Unmarshal([]byte(v), &text) != nil {
		return string(v)
	}
	return text
}
