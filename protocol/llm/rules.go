// Package llm holds the two protocols by which the AI agents of the uAgents
// examples are prompted: "LLM-Context-Response", text for text, and
// "LLM-Structured-Response", a JSON object for a schema, both version 0.1.0.
//
// It is about messages only. The model that answers them is in package llm at
// the root of the module; programs that need both import this one as prompts.
package llm

import (
	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/spec"
)

// ContextPrompt asks for text. It is answered by a [Response] or by a
// [parley.ErrorMessage].
type ContextPrompt struct {
	Context string `json:"context"` // what the model is told to be or do
	Text    string `json:"text"`
}

// Response answers a [ContextPrompt].
type Response struct {
	Text string `json:"text"`
}

// StructuredOutputPrompt asks for an object that fits a JSON schema. It is
// answered by a [StructuredOutputResponse] or by a [parley.ErrorMessage].
type StructuredOutputPrompt struct {
	Prompt       string         `json:"prompt"`
	OutputSchema map[string]any `json:"output_schema"`
}

// StructuredOutputResponse answers a [StructuredOutputPrompt].
type StructuredOutputResponse struct {
	Output map[string]any `json:"output"`
}

// ContextRules returns the protocol "LLM-Context-Response" as data.
func ContextRules() (*spec.Protocol, error) {
	return rules[ContextPrompt, Response]("LLM-Context-Response")
}

// StructuredRules returns the protocol "LLM-Structured-Response" as data.
func StructuredRules() (*spec.Protocol, error) {
	return rules[StructuredOutputPrompt, StructuredOutputResponse]("LLM-Structured-Response")
}

func rules[Prompt, Answer any](name string) (*spec.Protocol, error) {
	prompt, err := spec.FromGo[Prompt]()
	if err != nil {
		return nil, err
	}
	answer, err := spec.FromGo[Answer]()
	if err != nil {
		return nil, err
	}
	refusal, err := spec.FromGo[parley.ErrorMessage]()
	if err != nil {
		return nil, err
	}
	return &spec.Protocol{
		Name: name, Version: "0.1.0",
		Messages: []spec.Message{
			{Name: prompt.Name, Body: prompt}, {Name: answer.Name, Body: answer}, {Name: refusal.Name, Body: refusal},
		},
		Rules: []spec.Rule{{Message: prompt.Name, Replies: []string{answer.Name, refusal.Name}}},
	}, nil
}
