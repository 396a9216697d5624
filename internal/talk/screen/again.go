package screen

import (
	"cmp"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/parley-agents/parley/internal/talk"
)

// An unsaid is something that the person said and of which is not known that the
// node has it. It is said again when the node is back, unless it is in the log.
type unsaid struct {
	number  int // in the order in which all was said
	in      *talk.Conversation
	message talk.Utterance
	tries   int
}

const (
	maxUnsaid = 100
	maxTries  = 10 // while the node can be asked
)

// saidAgain is what became of the oldest of what was unsaid.
type saidAgain struct {
	number int
	err    error
}

func (m *model) keep(u unsaid) {
	if len(m.unsaid) == maxUnsaid {
		m.say(true, "too much waits for the node: this was not said")
		return
	}
	m.unsaid = append(m.unsaid, u)
	slices.SortStableFunc(m.unsaid, func(a, b unsaid) int { return cmp.Compare(a.number, b.number) })
}

// sayAgain says the oldest of what waits for the node, if the node is there.
func (m *model) sayAgain() tea.Cmd {
	if m.gone || m.repeating || len(m.unsaid) == 0 {
		return nil
	}
	m.repeating = true
	m.unsaid[0].tries++
	u := m.unsaid[0]
	return func() tea.Msg {
		_, err := m.o.Speaker.UtterAgain(m.ctx, u.in, u.message, 0)
		return saidAgain{u.number, err}
	}
}

// settle takes what became of it, and goes on with the next.
func (m *model) settle(s saidAgain) tea.Cmd {
	m.repeating = false
	i := slices.IndexFunc(m.unsaid, func(u unsaid) bool { return u.number == s.number })
	if i < 0 || talk.IsGone(s.err) && m.unsaid[i].tries < maxTries {
		return nil // the next tick tries again
	}
	m.unsaid = slices.Delete(m.unsaid, i, i+1)
	if s.err != nil && m.ctx.Err() == nil {
		m.say(true, "not said: %v", s.err)
	}
	return m.sayAgain()
}

// waiting shows what waits for the node in the current conversation.
func (m *model) waiting() (lines []string) {
	for _, u := range m.unsaid {
		if u.in == m.current {
			lines = append(lines, mineStyle.Render("you")+" "+faint.Render("· waits for the node"))
			lines = append(append(lines, indent(wrap(u.message.Text(), m.width-2), "  ")...), "")
		}
	}
	return lines
}
