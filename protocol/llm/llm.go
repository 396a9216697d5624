package llm

import (
	"context"
	"encoding/json"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/spec"
)

// NewContextProtocol returns "LLM-Context-Response" for an agent that answers
// prompts with f. An error of f goes to the peer as an ErrorMessage.
func NewContextProtocol(f func(context.Context, *parley.Turn, ContextPrompt) (Response, error)) *parley.Protocol {
	return protocol(ContextRules, f)
}

// NewStructuredProtocol returns "LLM-Structured-Response" for an agent that
// answers prompts with f. An error of f goes to the peer as an ErrorMessage.
func NewStructuredProtocol(f func(context.Context, *parley.Turn, StructuredOutputPrompt) (StructuredOutputResponse, error)) *parley.Protocol {
	return protocol(StructuredRules, f)
}

func protocol[In, Out any](rules func() (*spec.Protocol, error), f func(context.Context, *parley.Turn, In) (Out, error)) *parley.Protocol {
	r, err := rules()
	if err != nil {
		panic(err) // the types are fixed
	}
	p := parley.NewProtocol(r)
	parley.Handle(p, f)
	return p
}

// Structured makes a prompt that asks for a T, which is a struct as for
// [spec.FromGo]. [StructuredOutputResponse.Into] reads the answer.
func Structured[T any](prompt string) (StructuredOutputPrompt, error) {
	record, err := spec.FromGo[T]()
	if err != nil {
		return StructuredOutputPrompt{}, err
	}
	text, err := spec.Schema(record)
	if err != nil {
		return StructuredOutputPrompt{}, err
	}
	p := StructuredOutputPrompt{Prompt: prompt}
	return p, json.Unmarshal(text, &p.OutputSchema)
}

// Into reads the answer into what v points to. A field that v does not have is
// left out; one of another type is an error.
func (r StructuredOutputResponse) Into(v any) error {
	text, err := json.Marshal(r.Output)
	if err != nil {
		return fault.Errorf(fault.Malformed, "output", "%w", err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fault.Errorf(fault.Malformed, "output", "the answer does not fit: %w", err)
	}
	return nil
}
