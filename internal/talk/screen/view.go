package screen

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/talk"
)

var (
	headStyle = lipgloss.NewStyle().Reverse(true)
	mineStyle = lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Color("4"))
	peerStyle = lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Color("2"))
	badStyle  = lipgloss.NewStyle().Foreground(lipgloss.Color("1"))
)

// minName is what the name of the peer needs at least, in columns.
const minName = 8

// layout fits everything into the window. Who looks at the end stays there.
func (m *model) layout() {
	if m.width == 0 {
		return
	}
	follow := m.notice == "" && m.view.AtBottom()
	m.input.MaxHeight = max(1, min(maxInput, m.height-4))
	m.input.SetWidth(m.width)
	m.view.SetWidth(m.width)
	m.view.SetHeight(max(1, m.height-2-m.input.Height()))
	m.view.SetContentLines(m.transcript())
	if follow {
		m.view.GotoBottom()
	}
}

func (m *model) View() tea.View {
	if m.width == 0 {
		return tea.NewView("")
	}
	v := tea.NewView(strings.Join([]string{m.head(), m.view.View(), m.foot(), m.input.View()}, "\n"))
	v.AltScreen = true
	return v
}

func (m *model) head() string {
	all := m.o.Book.Conversations()
	left := " " + m.name(m.current.Peer)
	if m.o.Speaker.Own.IsUser() {
		left += "  (you are a user)"
	}
	right := fmt.Sprintf("session %d of %d  %s ", slices.Index(all, m.current)+1, len(all), m.current.Session[:min(8, len(m.current.Session))])
	unread := 0
	for _, c := range all {
		unread += c.Unread
	}
	if unread > 0 {
		right = fmt.Sprintf("%d unread  ", unread) + right
	}
	if m.width-lipgloss.Width(right) < minName { // who it is counts for more
		right = ""
	}
	left = cut(left, max(0, m.width-lipgloss.Width(right)-1))
	gap := m.width - lipgloss.Width(left) - lipgloss.Width(right)
	return headStyle.Render(cut(left+strings.Repeat(" ", max(1, gap))+right, m.width))
}

func (m *model) foot() string {
	switch {
	case m.gone:
		return badStyle.Render(cut("the node is gone, trying again; Ctrl-D leaves", m.width))
	case m.status != "" && m.trouble:
		return badStyle.Render(cut(m.status, m.width))
	case m.status != "":
		return faint.Render(cut(m.status, m.width))
	case m.notice != "":
		return faint.Render(cut("PgUp and PgDown scroll, any other key goes back", m.width))
	case !m.view.AtBottom():
		return faint.Render(cut("↓ there is more below: PgDown", m.width))
	case m.current.Streaming() != nil:
		return faint.Render(cut("an answer is coming: Esc stops it", m.width))
	}
	for _, hint := range []string{"Enter says it, Alt-Enter is a new line, F1 helps, Ctrl-D leaves", "Enter says it, F1 helps, Ctrl-D leaves", "F1 helps"} {
		if len(hint) <= m.width {
			return faint.Render(hint)
		}
	}
	return ""
}

// name is how a peer is called here.
func (m *model) name(a identity.Address) string {
	if name := m.o.Names[a]; name != "" {
		return talk.CleanLine(name)
	}
	if len(a) < 20 {
		return talk.CleanLine(string(a))
	}
	return string(a[:12]) + "…" + string(a[len(a)-4:])
}

// shownEntry is an entry as lines, and what they were made from.
type shownEntry struct {
	state talk.State
	size  int
	open  bool
	why   string
	lines []string
}

// transcript is the conversation, or what covers it, as lines; those of entries
// that have not changed are kept.
func (m *model) transcript() (all []string) {
	if m.notice != "" {
		for line := range strings.Lines(m.notice) {
			all = append(all, cut(strings.TrimRight(line, "\n"), m.width))
		}
		return all
	}
	kept := make(map[*talk.Entry]shownEntry, len(m.current.Entries))
	for _, e := range m.current.Entries {
		s, ok := m.shown[e]
		now := shownEntry{state: e.State(m.now), size: len(e.Text) + len(e.Resources), open: e.Open, why: e.Reason}
		if !ok || s.state != now.state || s.size != now.size || s.open != now.open || s.why != now.why {
			now.lines = m.entry(e)
			s = now
		}
		kept[e] = s
		all = append(all, s.lines...)
	}
	m.shown = kept
	return append(all, m.waiting()...)
}

// entry shows who said it, what, and what came of it.
func (m *model) entry(e *talk.Entry) []string {
	if e.Note {
		return append(indent(wrap(badStyle.Render(e.Text), m.width-2), "• "), "")
	}
	who, body := peerStyle.Render(m.name(m.current.Peer)), []string(nil)
	switch {
	case e.Mine:
		who = mineStyle.Render("you") + " " + m.ticks(e)
		body = wrap(e.Text, m.width-2)
	case e.Text != "":
		body = markdown(e.Text, m.width-2)
	}
	if e.Open {
		body = append(body, faint.Render("…"))
	} else if !e.Mine && e.Reason != "" {
		body = append(body, faint.Render("("+e.Reason+")"))
	}
	for _, r := range e.Resources {
		body = append(body, wrap(linkStyle.Render(r.Label()), m.width-2)...)
		body = append(body, m.aside(r.About())...)
	}
	body = append(body, m.aside(talk.MetadataLine(e.Metadata))...)
	lines := []string{who}
	if e.Mine && e.Reason != "" {
		lines = append(lines, indent(wrap(badStyle.Render(e.Reason), m.width-2), "  ")...)
	}
	return append(append(lines, indent(body, "  ")...), "")
}

// aside is a faint line, cut where it is too long.
func (m *model) aside(text string) []string {
	if text == "" {
		return nil
	}
	return []string{faint.Render(cut(text, m.width-2))}
}

func (m *model) ticks(e *talk.Entry) string {
	switch e.State(m.now) {
	case talk.Delivered:
		return faint.Render("✓")
	case talk.Acknowledged:
		return faint.Render("✓✓")
	case talk.Late:
		return faint.Render("✓?")
	case talk.Failed:
		return badStyle.Render("✗")
	}
	return faint.Render("·")
}

func indent(lines []string, first string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = "  " + line
		if i == 0 {
			out[i] = first + line
		}
	}
	return out
}

// cut shortens a line to a number of columns.
func cut(line string, width int) string {
	return lipgloss.NewStyle().MaxWidth(max(1, width)).Render(line)
}
