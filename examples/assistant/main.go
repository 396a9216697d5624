// Assistant is the AI agent of the uAgents examples: the same address and the same
// protocols. It answers with the model that the environment names (OPENAI_API_KEY,
// OPENAI_BASE_URL, MODEL_ENGINE), or else with the small one that is built in.
//
//	go run ./examples/assistant
package main

import (
	"cmp"
	"log"
	"os"

	"github.com/parley-agents/parley/assistant"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/llm"
	"github.com/parley-agents/parley/run"
)

func main() {
	config, err := llm.FromEnv(os.Getenv)
	check(err)
	model, err := llm.New(config)
	check(err)
	key, err := identity.FromSeed(cmp.Or(os.Getenv("AGENT_SEED"), "openai-test-agent"), 0)
	check(err)
	agent, err := assistant.New(&assistant.Options{Name: cmp.Or(os.Getenv("AGENT_NAME"), "OpenAI Agent"), Key: key, Model: model})
	check(err)
	run.Main(agent)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
