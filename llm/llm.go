// Package llm lets agents ask a language model.
//
// A [Model] completes prompts. Where its answers come from is a [Backend]: any
// server that speaks the OpenAI API, or the small model that is built in and
// needs no server.
//
//	config, err := llm.FromEnv(os.Getenv)
//	model, err := llm.New(config)
//	answer, err := model.Complete(ctx, "Be brief.", "Which river flows through Lisbon?", nil)
//
// llm.go holds what all backends share: the conversation, answers that must fit
// a schema, limits of time. openai.go and offline.go are the backends.
//
// # Errors
//
// All errors have a code and a text that is safe to show to a peer: it names
// neither the server nor the key. Unavailable means that it is worth trying
// again later: nobody listens, the server is busy or slow, the answer broke off.
// Malformed means that the server or the model answers what cannot be used,
// Forbidden that the key is not accepted, Refused that the request is not.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/parley-agents/parley/fault"
)

// A Role says whose words a message holds.
type Role string

// The roles of a conversation.
const (
	System    Role = "system"    // what the model is told to be or do
	User      Role = "user"      // the one who asks
	Assistant Role = "assistant" // the model
)

// A Message is one thing said in a conversation.
type Message struct {
	Role Role
	Text string
}

// Options change one completion. Nil means the defaults.
type Options struct {
	// History is what was said before, oldest first. It stands between the
	// context and the prompt.
	History []Message

	// Schema is a JSON schema that the answer must fit, draft-07 or 2020-12. The
	// answer is then JSON and was checked.
	Schema json.RawMessage

	// Stream is called with each piece of the answer as it comes, in order. An
	// error of it ends the completion and is returned as it is. Answers with a
	// schema cannot be streamed: they are checked when they are whole.
	Stream func(piece string) error

	MaxTokens   int           // of the answer; 0 is the model's default
	Temperature *float64      // nil leaves it to the server
	Timeout     time.Duration // for the answer or, while streaming, for the next piece; 0 is the model's default

	// Usage, if not nil, is set to what the completion has cost, also when it
	// fails.
	Usage *Usage
}

// Usage is what a completion has cost, in tokens.
type Usage struct {
	Prompt, Completion, Total int

	// Cut says that the answer ended only because it had MaxTokens.
	Cut bool
}

func (u *Usage) add(other Usage) {
	u.Prompt += other.Prompt
	u.Completion += other.Completion
	u.Total += other.Total
	u.Cut = other.Cut
}

// A Backend is where answers come from. It must be safe for concurrent use.
type Backend interface {
	// Generate answers a conversation, once. With stream it hands over each piece
	// as it comes; an error of stream ends it and is returned as it is.
	Generate(ctx context.Context, r *Request, stream func(piece string) error) (*Answer, error)

	// Check reports whether answers can be had, without asking for one.
	Check(ctx context.Context) error

	// String says in a few words what the backend is.
	String() string
}

// A Request is what a backend is asked.
type Request struct {
	Messages    []Message // with the context first, if there is one
	Schema      *Schema   // nil for free text
	MaxTokens   int
	Temperature *float64
}

// An Answer is what a backend says.
type Answer struct {
	Text  string
	Usage Usage
}

// A Model completes prompts. It is safe for concurrent use.
type Model struct {
	backend   Backend
	maxTokens int
	timeout   time.Duration
}

const (
	defaultMaxTokens = 1024
	defaultTimeout   = 60 * time.Second
)

// NewModel makes a model of a backend. Most programs use [New].
func NewModel(b Backend) *Model {
	return &Model{backend: b, maxTokens: defaultMaxTokens, timeout: defaultTimeout}
}

// String says in a few words what the model is.
func (m *Model) String() string { return m.backend.String() }

// Check reports whether answers can be had, without asking for one.
func (m *Model) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	return m.backend.Check(ctx)
}

// Complete answers a prompt. The context tells the model what to be or do; ""
// tells it nothing.
//
// An answer that does not fit the schema is sent back once with what is wrong
// with it; if the second does not fit either, the error is Malformed.
func (m *Model) Complete(ctx context.Context, context, prompt string, opts *Options) (string, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Usage != nil {
		*o.Usage = Usage{}
	}
	if prompt == "" {
		return "", fault.Errorf(fault.Malformed, "prompt", "there is no prompt")
	}
	r := &Request{MaxTokens: o.MaxTokens, Temperature: o.Temperature}
	if r.MaxTokens <= 0 {
		r.MaxTokens = m.maxTokens
	}
	if o.Timeout <= 0 {
		o.Timeout = m.timeout
	}
	if context != "" {
		r.Messages = append(r.Messages, Message{System, context})
	}
	r.Messages = append(slices.Concat(r.Messages, o.History), Message{User, prompt})
	if o.Schema == nil {
		answer, err := m.generate(ctx, r, &o)
		switch {
		case err != nil:
			return "", err
		case answer.Text == "" && answer.Usage.Cut: // such as one that thinks first
			return "", fault.Errorf(fault.TooLarge, "max_tokens", "the model used up its %d tokens before it said anything", r.MaxTokens)
		case answer.Text == "":
			return "", fault.Errorf(fault.Malformed, "output", "the model answers with nothing")
		}
		return answer.Text, nil
	}
	if o.Stream != nil {
		return "", fault.Errorf(fault.Unsupported, "stream", "an answer that must fit a schema cannot be streamed")
	}
	var err error
	if r.Schema, err = ParseSchema(o.Schema); err != nil {
		return "", err
	}
	return m.structured(ctx, r, &o)
}

// structured asks for an answer that fits the schema, twice at most.
func (m *Model) structured(ctx context.Context, r *Request, o *Options) (string, error) {
	var problem error
	for range 2 {
		answer, err := m.generate(ctx, r, o)
		if err != nil {
			return "", err
		}
		text, err := r.Schema.Read(answer.Text)
		if err == nil {
			return text, nil
		}
		problem = err
		if answer.Usage.Cut { // a second answer would be as long
			return "", &fault.Error{Code: fault.TooLarge, Field: "max_tokens", Err: err,
				Text: fmt.Sprintf("the model's answer was cut off at %d tokens and does not fit the schema", r.MaxTokens)}
		}
		r.Messages = append(r.Messages,
			Message{Assistant, answer.Text},
			Message{User, "That does not fit the schema: " + shorten(reason(err)) + ". Answer again, with nothing but JSON that fits."})
	}
	return "", &fault.Error{Code: fault.Malformed, Field: "output", Err: problem,
		Text: "the model's answer does not fit the schema: " + shorten(reason(problem))}
}

var errSilent = errors.New("no answer in time")

// generate asks the backend once, under the limit of time.
func (m *Model) generate(ctx context.Context, r *Request, o *Options) (*Answer, error) {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(o.Timeout, func() { cancel(errSilent) })
	defer silence.Stop()
	stream := o.Stream
	if stream != nil {
		stream = func(piece string) error {
			silence.Stop() // the time that the caller takes is not the model's
			defer silence.Reset(o.Timeout)
			return o.Stream(piece)
		}
	}
	answer, err := m.backend.Generate(limited, r, stream)
	switch {
	case err == nil:
		if o.Usage != nil {
			o.Usage.add(answer.Usage)
		}
		return answer, nil
	case ctx.Err() != nil:
		return nil, &fault.Error{Code: fault.Unavailable, Text: "the completion was given up by its caller", Err: context.Cause(ctx)}
	case errors.Is(context.Cause(limited), errSilent):
		return nil, &fault.Error{Code: fault.Unavailable, Text: fmt.Sprintf("the model did not answer within %s", o.Timeout), Err: err}
	}
	return nil, err
}

// reason is the text of an error without its code.
func reason(err error) string {
	if coded, ok := errors.AsType[*fault.Error](err); ok {
		return coded.Text
	}
	return err.Error()
}

// shorten keeps what others say from filling the log.
func shorten(text string) string {
	const most = 400
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + "…"
}
