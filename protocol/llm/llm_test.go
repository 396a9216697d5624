package llm_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/vectors"
	prompts "github.com/parley-agents/parley/protocol/llm"
	"github.com/parley-agents/parley/spec"
)

func TestTheDigestsAreThoseOfTheExampleAgent(t *testing.T) {
	var agent struct {
		Protocols []struct{ Name, Version, Digest string }
	}
	programs := map[string]json.RawMessage{}
	if err := json.Unmarshal(vectors.Load(t, "digests.json")["programs"], &programs); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(programs["ai_agent"], &agent); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*spec.Protocol{prompts.LLMContextResponseRules(), prompts.LLMStructuredResponseRules()} {
		t.Run(p.Name, func(t *testing.T) {
			for _, want := range agent.Protocols {
				if want.Name != p.Name {
					continue
				}
				if got, err := p.Digest(prompts.LLM); err != nil || got != want.Digest || p.Version != want.Version {
					t.Errorf("%s %s (%v), want %s %s", got, p.Version, err, want.Digest, want.Version)
				}
				return
			}
			t.Errorf("the example agent has no protocol of this name")
		})
	}
}

type Location struct {
	City        string  `json:"city"`
	Country     string  `json:"country"`
	Temperature float64 `json:"temperature"`
}

// The client of the examples asks for a Location.
func ExampleStructured() {
	prompt, err := prompts.Structured[Location]("What is the weather like in Lisbon?")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(prompt.OutputSchema["title"], prompt.OutputSchema["required"])

	answer := prompts.StructuredOutputResponse{Output: map[string]any{"city": "Lisbon", "country": "Portugal", "temperature": 21.5}}
	var l Location
	fmt.Println(answer.Into(&l), l)
	// Output:
	// Location [city country temperature]
	// <nil> {Lisbon Portugal 21.5}
}

func TestAnAnswerThatDoesNotFitIsRefused(t *testing.T) {
	answer := prompts.StructuredOutputResponse{Output: map[string]any{"temperature": "warm"}}
	var l Location

	err := answer.Into(&l)

	if fault.CodeOf(err) != fault.Malformed || !strings.Contains(err.Error(), "temperature") {
		t.Errorf("Into = %v, want malformed and the field", err)
	}
}
