// Package screen shows conversations in a terminal.
package screen

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"charm.land/bubbles/v2/textarea"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/talk"
	"github.com/parley-agents/parley/run"
)

// Options say what is shown.
type Options struct {
	Speaker *talk.Speaker
	Book    *talk.Book
	After   int64            // records of the log that are in the book
	Session string           // to begin in
	Peer    identity.Address // in that session
	Names   map[identity.Address]string
	In      io.Reader
	Out     io.Writer
}

// Run shows conversations until the person leaves or ctx ends. It returns those
// that were begun here, and what could not be said because the node was gone.
func Run(ctx context.Context, o Options) (begun []*talk.Conversation, unsaid []string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := newModel(ctx, o)
	program := tea.NewProgram(m, tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithoutSignalHandler())
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		o.Speaker.Attend(ctx, o.After, func(r parley.LogRecord) { program.Send(r) },
			func(error) { program.Send(lost{}) }, func() { program.Send(found{}) })
	}()
	stop := context.AfterFunc(ctx, program.Quit) // a signal, or the end below
	_, err = program.Run()
	stop()
	cancel()
	<-followed
	if errors.Is(err, tea.ErrProgramKilled) {
		err = nil
	}
	for _, u := range m.unsaid {
		unsaid = append(unsaid, u.message.Text())
	}
	return m.begun, unsaid, err
}

// lost says that the node is gone, and found that it is back.
type (
	lost  struct{}
	found struct{}
)

// done is the outcome of something that was asked of the node or the disk.
type done struct {
	session string
	reply   run.Reply
	said    string // to be shown
	err     error
	unsaid  *unsaid // what it was, if the node could not be asked
}

type tick time.Time

const (
	maxHistory   = 200
	deliveryWait = 20 * time.Second
	maxInput     = 6 // lines of input that are shown
)

// wholeScreen lets all lines of the terminal scroll, and leaves the cursor where
// it is. The renderer scrolls by margins and sets them back to the height that it
// knows: while the terminal grows that is the old one, in which all later pictures
// would be caught.
const wholeScreen = "\x1b7\x1b[r\x1b8"

// A model is the screen: what it shows follows from the book and the keys.
type model struct {
	ctx     context.Context
	o       Options
	current *talk.Conversation
	begun   []*talk.Conversation // sessions in which something was said first here

	input   textarea.Model
	view    viewport.Model
	width   int
	height  int
	now     time.Time
	shown   map[*talk.Entry]shownEntry
	status  string // the answer to the last key, until the next
	trouble bool   // status tells of something that went wrong
	notice  string // a text that covers the conversation until the next key
	history history
	stopped uuid.UUID // the stream that was interrupted
	leaving bool

	gone      bool     // the node is
	unsaid    []unsaid // what waits for it, in order
	repeating bool     // unsaid is being said
	spoken    int      // how often something was said
}

func newModel(ctx context.Context, o Options) *model {
	m := &model{ctx: ctx, o: o, now: time.Now(), shown: make(map[*talk.Entry]shownEntry)}
	m.input = textarea.New()
	m.input.Prompt = "> "
	m.input.ShowLineNumbers = false
	m.input.DynamicHeight = true
	m.input.MinHeight, m.input.MaxHeight, m.input.MaxContentHeight = 1, maxInput, 1000
	m.input.CharLimit = 64 << 10
	styles := m.input.Styles()
	styles.Focused.CursorLine = styles.Focused.Text
	styles.Cursor.Blink = false
	m.input.SetStyles(styles)
	m.input.KeyMap.InsertNewline.SetKeys("alt+enter", "ctrl+j")
	m.input.Focus()
	m.view = viewport.New()
	m.show(o.Book.Open(o.Session, o.Peer))
	return m
}

// show turns to a conversation.
func (m *model) show(c *talk.Conversation) {
	m.current = c
	c.Unread = 0
	m.history = history{}
	for _, e := range c.Entries {
		if e.Mine {
			m.history.add(e.Text)
		}
	}
	m.shown = make(map[*talk.Entry]shownEntry)
	m.layout()
	m.view.GotoBottom()
}

func (m *model) Init() tea.Cmd { return everySecond() }

func everySecond() tea.Cmd {
	return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tick(t) })
}

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if msg.Width != m.width {
			m.shown = make(map[*talk.Entry]shownEntry)
		}
		if msg.Width != m.width || msg.Height != m.height {
			cmd = tea.Sequence(tea.Raw(wholeScreen), tea.ClearScreen)
		}
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	case tea.PasteMsg:
		msg.Content = talk.Clean(msg.Content)
		m.input, cmd = m.input.Update(msg)
	case parley.LogRecord:
		m.apply(msg)
	case done:
		m.finish(msg)
	case lost:
		m.gone = true
	case found:
		m.gone = false
		m.say(false, "the node is back")
		cmd = m.sayAgain()
	case saidAgain:
		cmd = m.settle(msg)
	case tick:
		// The size is asked for as well: a signal of its change may get lost.
		m.now, cmd = time.Time(msg), tea.Batch(everySecond(), tea.RequestWindowSize, m.sayAgain())
	default:
		m.input, cmd = m.input.Update(msg)
	}
	m.layout()
	return m, cmd
}

func (m *model) apply(r parley.LogRecord) {
	m.now = time.Now()
	m.o.Book.Apply(r)
	if m.current.Unread > 0 {
		m.current.Unread = 0
	}
}

func (m *model) finish(d done) {
	if c := m.o.Book.Find(d.session); c != nil && d.reply.State == "delivered" {
		c.MarkDelivered(d.reply.ID)
	}
	switch {
	case d.unsaid != nil:
		m.keep(*d.unsaid)
	case d.err != nil && m.ctx.Err() == nil:
		m.say(true, "%v", d.err)
	case d.said != "":
		m.say(false, "%s", d.said)
	}
}

// speak says something in the current conversation.
func (m *model) speak(text string) tea.Cmd {
	c := m.current
	first := len(c.Entries) == 0 && !m.hasBegun(c)
	if first {
		m.begun = append(m.begun, c)
	}
	m.history.add(text)
	m.view.GotoBottom()
	m.spoken++
	u := unsaid{number: m.spoken, in: c, message: m.o.Speaker.Compose(text, first)}
	if m.gone || len(m.unsaid) > 0 { // after what waits already
		m.keep(u)
		return nil
	}
	return func() tea.Msg {
		reply, err := m.o.Speaker.Utter(m.ctx, c, u.message, deliveryWait)
		d := done{session: c.Session, reply: reply, err: err}
		if talk.IsGone(err) {
			d.unsaid = &u
		}
		return d
	}
}

func (m *model) hasBegun(c *talk.Conversation) bool {
	return slices.Contains(m.begun, c)
}

// interrupt asks the peer to end a stream.
func (m *model) interrupt(e *talk.Entry) tea.Cmd {
	c := m.current
	m.stopped = e.Stream
	m.say(false, "interrupted; Ctrl-C again leaves")
	return func() tea.Msg { return done{session: c.Session, err: m.o.Speaker.Interrupt(m.ctx, c, e.Stream)} }
}
