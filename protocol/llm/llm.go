// Package llm holds the two protocols by which the AI agents of the uAgents
// examples are prompted: "LLM-Context-Response", text for text, and
// "LLM-Structured-Response", a JSON object for a schema, both version 0.1.0.
//
// It is about messages only. The model that answers them is in package llm at
// the root of the module; programs that need both import this one as prompts.
package llm

import (
	"context"
	"encoding/json"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/spec"
)

// LLM is the role of an agent that answers prompts, in both protocols.
const LLM = LLMContextResponseRoleLLM

// NewContextProtocol returns "LLM-Context-Response" for an agent that answers
// prompts with f, to be included in the role [LLM]. An error of f goes to the peer
// as an ErrorMessage.
func NewContextProtocol(f func(context.Context, *parley.Turn, ContextPrompt) (Response, error)) *parley.Protocol {
	return protocol(LLMContextResponseRules(), f)
}

// NewStructuredProtocol returns "LLM-Structured-Response" for an agent that
// answers prompts with f, to be included in the role [LLM]. An error of f goes to
// the peer as an ErrorMessage.
func NewStructuredProtocol(f func(context.Context, *parley.Turn, StructuredOutputPrompt) (StructuredOutputResponse, error)) *parley.Protocol {
	return protocol(LLMStructuredResponseRules(), f)
}

func protocol[In, Out any](rules *spec.Protocol, f func(context.Context, *parley.Turn, In) (Out, error)) *parley.Protocol {
	p := parley.NewProtocol(rules)
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
