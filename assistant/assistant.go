// Package assistant is the AI agent: an agent that chats, answers prompts with
// text or with JSON for a schema, and says whether it is well.
//
//	agent, err := assistant.New(&assistant.Options{Model: model})
//	if err != nil {
//		log.Fatal(err)
//	}
//	run.Main(agent)
//
// It speaks the protocols of the uAgents example of that kind, with their digests:
// chat in three versions, "LLM-Context-Response", "LLM-Structured-Response" and
// "HealthProtocol". Chat is without limit; prompts are limited per sender.
package assistant

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/llm"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/protocol/health"
	prompts "github.com/parley-agents/parley/protocol/llm"
	"github.com/parley-agents/parley/quota"
)

// Options say what the assistant is like. Nil means the defaults.
type Options struct {
	Name string        // default "assistant"
	Key  *identity.Key // default the one that the data folder keeps under the name

	// Model answers; default the built-in offline one.
	Model *llm.Model

	// Context tells the model what to be in chats; default none.
	Context string

	// Limit is how often one sender may send each kind of prompt; default 6 in
	// 60 minutes. Access says who may prompt.
	Limit  *quota.Limit
	Access *quota.Access

	// Checks are asked, besides the assistant's own, whether it is well.
	Checks []health.Check
}

// maxConcurrent is how many answers are being made at once. Most of the time of a
// handler is waiting for the model.
const maxConcurrent = 256

// New makes the agent.
func New(opts *Options) (*parley.Agent, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Name == "" {
		o.Name = "assistant"
	}
	if o.Model == nil {
		o.Model = llm.NewModel(llm.NewOffline(time.Now))
	}
	if o.Limit == nil {
		o.Limit = quota.PerHour(6)
	}
	limits, err := quota.New(quota.Rules{Messages: map[string]quota.Rule{
		"ContextPrompt":          {Limit: o.Limit, Access: o.Access},
		"StructuredOutputPrompt": {Limit: o.Limit, Access: o.Access},
	}})
	if err != nil {
		return nil, err
	}
	a := parley.NewAgent(o.Name, &parley.AgentOptions{Key: o.Key, MaxConcurrent: maxConcurrent})
	a.Use(limits.Middleware())
	m := &mind{model: o.Model, context: o.Context}
	chat.Handle(a, m.chat, &chat.Options{PublishManifest: true})
	a.Include(prompts.NewContextProtocol(m.answer), &parley.Include{Role: prompts.LLM, PublishManifest: true})
	a.Include(prompts.NewStructuredProtocol(m.fill), &parley.Include{Role: prompts.LLM, PublishManifest: true})
	checks := append([]health.Check{storeWritable, m.reachable}, o.Checks...)
	a.Include(health.NewProtocol(checks...), &parley.Include{Role: health.Agent, PublishManifest: true})
	return a, nil
}

// A mind is what the assistant answers with.
type mind struct {
	model   *llm.Model
	context string
}

// chat answers what a partner says, with all that was said before in mind.
func (m *mind) chat(ctx context.Context, c *chat.Turn) error {
	if strings.TrimSpace(c.Text()) == "" {
		return c.Say("I can only read text.")
	}
	var history []llm.Message
	for _, line := range c.Lines() {
		if line.Text == "" {
			continue
		}
		role := llm.User
		if line.Own {
			role = llm.Assistant
		}
		history = append(history, llm.Message{Role: role, Text: line.Text})
	}
	return c.Stream(ctx, func(ctx context.Context, say func(string) error) error {
		said := false
		stream := func(piece string) error { said = true; return say(piece) }
		for {
			_, err := m.model.Complete(ctx, m.context, c.Text(), &llm.Options{History: history, Stream: stream})
			if said || len(history) == 0 || !isTooLong(err) {
				return err
			}
			history = history[(len(history)+1)/2:] // the model has no room for all that was said
		}
	})
}

// isTooLong reports whether what was asked is too much for the model.
func isTooLong(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Code == fault.TooLarge && f.Field != "max_tokens" // which is about the answer
}

func (m *mind) answer(ctx context.Context, _ *parley.Turn, in prompts.ContextPrompt) (prompts.Response, error) {
	text, err := m.model.Complete(ctx, in.Context, in.Text, nil)
	return prompts.Response{Text: text}, err
}

func (m *mind) fill(ctx context.Context, _ *parley.Turn, in prompts.StructuredOutputPrompt) (prompts.StructuredOutputResponse, error) {
	schema, err := json.Marshal(in.OutputSchema)
	if err != nil {
		return prompts.StructuredOutputResponse{}, fault.Errorf(fault.Malformed, "output_schema", "%w", err)
	}
	text, err := m.model.Complete(ctx, "", in.Prompt, &llm.Options{Schema: schema})
	if err != nil {
		return prompts.StructuredOutputResponse{}, err
	}
	var out prompts.StructuredOutputResponse
	if err := json.Unmarshal([]byte(text), &out.Output); err != nil {
		return out, fault.Errorf(fault.Malformed, "output_schema", "the model answers with what is no JSON object: an output_schema of type object asks for one")
	}
	return out, nil
}

func (m *mind) reachable(ctx context.Context, _ *parley.Turn) error { return m.model.Check(ctx) }

// storeWritable proves it by writing.
func storeWritable(ctx context.Context, t *parley.Turn) error {
	if err := parley.Save(t, "health", time.Now().UTC()); err != nil {
		return err
	}
	return t.Flush(ctx)
}
