package talk

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
)

// Lines is a conversation without a screen: what is read is said line by line,
// and what comes back is printed.
type Lines struct {
	Speaker      *Speaker
	Book         *Book
	Conversation *Conversation
	After        int64 // records of the log that are known already
	First        bool  // nothing was said in the session yet
	Out          io.Writer
	Dim          bool          // Out shows faint text
	JSON         bool          // print every event as a line of JSON
	Timeout      time.Duration // to wait for an answer
}

// errAnswered ends the following of the log.
var errAnswered = errors.New("answered")

// Once says one thing, prints the answer and returns; the error says why there is
// none.
func (l *Lines) Once(ctx context.Context, text string) error {
	if err := l.say(ctx, text); err != nil {
		return err
	}
	return l.await(ctx)
}

// maxLine bounds a line of input: an envelope could not carry much more.
const maxLine = 256 << 10

// Talk says each line of in and prints what comes, in whatever order. When the
// input has ended, it waits for an answer to each line that was said.
func (l *Lines) Talk(ctx context.Context, in io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers, followed := make(chan Event, 1000), make(chan error, 1)
	go func() { followed <- l.follow(ctx, func(e Event) error { return pass(ctx, answers, e) }) }()
	lines, ended := scan(ctx, in)
	waiting, unanswered := 0, 0
	var patience <-chan time.Time
	for {
		select {
		case line, open := <-lines:
			switch {
			case !open:
				lines = nil
				if err := <-ended; err != nil {
					return err
				}
				patience = time.After(l.Timeout)
			case strings.TrimSpace(line) != "":
				if err := l.say(ctx, line); err != nil {
					return err
				}
				waiting++
			}
		case e := <-answers:
			l.print(e)
			switch {
			case e.Event == EventFailed, e.Event == EventError:
				return l.failure(e)
			case e.Event == EventSaid && e.isAnswer():
				waiting--
			case l.isAll(e):
				waiting--
				unanswered++
			}
		case err := <-followed:
			if ctx.Err() != nil {
				return nil // interrupted
			}
			return err
		case <-patience:
			return fault.Errorf(fault.Unavailable, "", "no answer within %s", l.Timeout)
		}
		if lines == nil && waiting <= 0 {
			if unanswered > 0 {
				return errNoMore
			}
			return nil
		}
	}
}

var errNoMore = fault.Errorf(fault.Unavailable, "", "the agent has acknowledged it, and %s", noMore)

// isAll reports whether nothing can follow an event: users are answered on the
// connection only, and an acknowledgement was all that came.
func (l *Lines) isAll(e Event) bool { return e.Event == EventAcknowledged && l.Speaker.Own.IsUser() }

func pass(ctx context.Context, to chan<- Event, e Event) error {
	select {
	case to <- e:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// scan reads lines until the input or the context ends. The goroutine of an
// input that neither ends nor says anything goes with the process.
func scan(ctx context.Context, in io.Reader) (<-chan string, <-chan error) {
	lines, ended := make(chan string), make(chan error, 1)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, maxLine)
		for scanner.Scan() {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				ended <- nil
				return
			}
		}
		err := scanner.Err()
		if errors.Is(err, bufio.ErrTooLong) {
			err = fault.Errorf(fault.TooLarge, "line", "over %d bytes", maxLine)
		}
		ended <- err
	}()
	return lines, ended
}

func (l *Lines) say(ctx context.Context, text string) error {
	_, err := l.Speaker.Say(ctx, l.Conversation, text, l.First, 0)
	l.First = false
	return err
}

func (l *Lines) follow(ctx context.Context, take func(Event) error) error {
	return l.Speaker.Follow(ctx, l.Conversation.Session, l.After, func(r parley.LogRecord) error {
		l.After = r.Seq
		for _, e := range l.Book.Apply(r) {
			if err := take(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// await prints what comes until there is an answer.
func (l *Lines) await(ctx context.Context) error {
	timed, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	trouble := ""
	err := l.follow(timed, func(e Event) error {
		l.print(e)
		switch {
		case e.Event == EventRetried:
			trouble = "; last: " + e.Reason
		case e.Event == EventFailed, e.Event == EventError:
			return l.failure(e)
		case e.Event == EventSaid && e.isAnswer():
			return errAnswered
		case l.isAll(e):
			return errNoMore
		}
		return nil
	})
	switch {
	case errors.Is(err, errAnswered):
		return nil
	case ctx.Err() != nil:
		return fault.Errorf(fault.Unavailable, "", "interrupted before the answer")
	case timed.Err() != nil:
		return fault.Errorf(fault.Unavailable, "", "no answer within %s%s", l.Timeout, trouble)
	}
	return err
}

func (l *Lines) failure(e Event) error {
	if e.Event == EventError && l.Speaker.Own.IsUser() && e.Reason == signedOnly {
		return fault.Errorf(fault.Refused, "", "the agent takes only signed messages: speak without --user")
	}
	if e.Event == EventError {
		return fault.Errorf(fault.Refused, "", "the peer reports an error: %s", e.Reason)
	}
	return fault.Errorf(fault.Unavailable, "", "the message could not be delivered: %s", e.Reason)
}

// signedOnly is what agents tell users whom they do not listen to.
const signedOnly = "Message must be sent from verified agent address"

func (l *Lines) print(e Event) {
	if l.JSON {
		lines := json.NewEncoder(l.Out)
		lines.SetEscapeHTML(false)
		_ = lines.Encode(e) // nobody reads any more if this fails
		return
	}
	if e.Event != EventSaid {
		return
	}
	if e.Text != "" {
		fmt.Fprintln(l.Out, strings.TrimRight(e.Text, "\n"))
	}
	for _, r := range e.Resources {
		fmt.Fprintln(l.Out, r.Label())
		l.aside(r.About())
	}
	l.aside(MetadataLine(e.Metadata))
}

// aside prints what is said about something, less loud than the thing itself.
func (l *Lines) aside(text string) {
	switch {
	case text != "" && l.Dim:
		fmt.Fprintln(l.Out, "\x1b[2m"+text+"\x1b[m")
	case text != "":
		fmt.Fprintln(l.Out, text)
	}
}

// isAnswer tells what a person would call an answer from what only says
// something about the conversation. A card is metadata in form only.
func (e Event) isAnswer() bool {
	return e.Text != "" || len(e.Resources) > 0 || e.Metadata["card_kind"] != ""
}
