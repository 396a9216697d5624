package screen

import (
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/google/uuid"

	"github.com/parley-agents/parley/internal/talk"
)

const help = `Enter        say it                    Up, Down       what you said before
Alt-Enter    a new line (so does a     PgUp, PgDown   scroll
             backslash before Enter)   Ctrl-N, Ctrl-P next, previous session
Esc, Ctrl-C  stop an answer that is    Ctrl-D         leave (so does Ctrl-C
             coming                                   where there is no answer)

/new             begin a new session with the same agent
/sessions        list the sessions
/switch N        go to a session of that list
/save N [FILE]   save the attachment with that number
/help            this page (so does F1)
/quit            leave
//text           say a text that begins with a slash

· stored   ✓ delivered   ✓✓ acknowledged   ✓? not acknowledged   ✗ failed`

// key answers a key.
func (m *model) key(msg tea.KeyPressMsg) (cmd tea.Cmd) {
	m.status, m.trouble = "", false
	if m.notice != "" && msg.String() != "pgup" && msg.String() != "pgdown" {
		m.notice = ""
		m.layout()
		m.view.GotoBottom()
		return nil
	}
	switch msg.String() {
	case "enter":
		return m.enter()
	case "ctrl+c":
		return m.ctrlC()
	case "esc":
		if e := m.current.Streaming(); e != nil && m.stopped != e.Stream {
			return m.interrupt(e)
		}
		return nil
	case "ctrl+d":
		if m.input.Value() == "" {
			return m.leave()
		}
	case "f1":
		m.cover(help)
		return nil
	case "pgup":
		m.view.PageUp()
		return nil
	case "pgdown":
		m.view.PageDown()
		return nil
	case "ctrl+n":
		return m.turn(1)
	case "ctrl+p":
		return m.turn(-1)
	case "up":
		if m.input.Line() == 0 && m.input.LineInfo().RowOffset == 0 {
			m.recall(m.history.older(m.input.Value()))
			return nil
		}
	case "down":
		if m.input.Line() == m.input.LineCount()-1 {
			m.recall(m.history.newer())
			return nil
		}
	}
	m.input, cmd = m.input.Update(msg)
	return cmd
}

// cover shows a page instead of the conversation, until the next key.
func (m *model) cover(page string) {
	m.notice = page
	m.layout()
	m.view.GotoTop()
}

func (m *model) recall(line string, ok bool) {
	if ok {
		m.input.SetValue(line)
		m.input.MoveToEnd()
	}
}

func (m *model) ctrlC() tea.Cmd {
	if e := m.current.Streaming(); e != nil && m.stopped != e.Stream {
		return m.interrupt(e)
	}
	if m.input.Value() != "" {
		m.input.Reset()
		return nil
	}
	return m.leave()
}

func (m *model) leave() tea.Cmd {
	m.leaving = true
	return tea.Quit
}

// enter says what was typed, or does what it asks for.
func (m *model) enter() tea.Cmd {
	typed := m.input.Value()
	if rest, ok := strings.CutSuffix(typed, `\`); ok {
		m.input.SetValue(rest + "\n")
		m.input.MoveToEnd()
		return nil
	}
	text := strings.TrimSpace(typed)
	m.input.Reset()
	switch {
	case text == "":
		return nil
	case strings.HasPrefix(text, "//"):
		return m.speak(text[1:])
	case strings.HasPrefix(text, "/"):
		m.history.add(text)
		return m.command(strings.Fields(text[1:]))
	}
	return m.speak(text)
}

func (m *model) command(words []string) tea.Cmd {
	words = append(words, "")
	switch words[0] {
	case "new":
		m.show(m.o.Book.Open(uuid.NewString(), m.current.Peer))
		m.say(false, "a new session")
	case "sessions":
		m.cover(m.sessions())
	case "switch":
		return m.switchTo(words[1])
	case "save":
		return m.save(words[1:])
	case "help":
		m.cover(help)
	case "quit", "exit":
		return m.leave()
	default:
		m.say(true, "there is no /%s: see /help", talk.CleanLine(words[0]))
	}
	return nil
}

func (m *model) sessions() string {
	var b strings.Builder
	for i, c := range m.o.Book.Conversations() {
		mark := " "
		if c == m.current {
			mark = "*"
		}
		fmt.Fprintf(&b, "%s %2d  %s  %s", mark, i+1, c.Session, m.name(c.Peer))
		if c.Unread > 0 {
			fmt.Fprintf(&b, " (%d unread)", c.Unread)
		}
		if first := firstText(c); first != "" {
			fmt.Fprintf(&b, "  %s", first)
		}
		b.WriteByte('\n')
	}
	return b.String() + "\n/switch N goes to one of them"
}

func firstText(c *talk.Conversation) string {
	for _, e := range c.Entries {
		if e.Mine && e.Text != "" {
			return cut(talk.CleanLine(e.Text), 40)
		}
	}
	return ""
}

func (m *model) switchTo(number string) tea.Cmd {
	all := m.o.Book.Conversations()
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(all) {
		m.say(true, "there is no such session: /switch takes a number from 1 to %d, see /sessions", len(all))
		return nil
	}
	m.show(all[n-1])
	return nil
}

// turn goes some sessions further.
func (m *model) turn(by int) tea.Cmd {
	all := m.o.Book.Conversations()
	for i, c := range all {
		if c == m.current {
			m.show(all[(i+by+len(all))%len(all)])
			return nil
		}
	}
	return nil
}

func (m *model) save(words []string) tea.Cmd {
	n, err := strconv.Atoi(words[0])
	resource, ok := m.current.Resource(n)
	if err != nil || !ok {
		m.say(true, "there is no such attachment: /save N [FILE] takes the number in brackets")
		return nil
	}
	file := ""
	if len(words) > 1 {
		file = strings.TrimSpace(strings.Join(words[1:], " "))
	}
	m.say(false, "saving …")
	session := m.current.Session
	return func() tea.Msg {
		name, size, err := talk.Save(m.ctx, resource, file)
		return done{session: session, said: fmt.Sprintf("saved %s, %d bytes", name, size), err: err}
	}
}

func (m *model) say(trouble bool, format string, args ...any) {
	m.status, m.trouble = talk.CleanLine(fmt.Sprintf(format, args...)), trouble
}
