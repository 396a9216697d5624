package interop

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/llamatest"
)

// The AI agent and its client, each with the program of the uAgents examples on
// the other side.

const assistantAddress identity.Address = "agent1q09xe6rk6lqcnchdrkcn92ma4wlmjyty3v2yzxlxdx4jylq2fcfa2rv458x"

// modelEnv lets a program use the server.
func modelEnv(url string) []string {
	return []string{"OPENAI_BASE_URL=" + url, "MODEL_ENGINE=tiny", "MAX_TOKENS=120"}
}

// startUp runs parley up with the key of the examples and returns the node's URL.
func startUp(t *testing.T, binary string, env []string) string {
	t.Helper()
	up := startProgram(t, binary, append(env, "AGENT_SEED=openai-test-agent"), "up", "--data", t.TempDir(), "--listen", "127.0.0.1:0")
	if address := up.expect(`^assistant +(agent1q\S+)$`); identity.Address(address) != assistantAddress {
		t.Errorf("the assistant is %s", address)
	}
	return up.expect(`^listening on (http://[0-9.:]+)`)
}

// startAssistant runs the example and returns the node's URL.
func startAssistant(t *testing.T, binary string, env []string) string {
	t.Helper()
	e := startProgram(t, binary, env, "-listen", "127.0.0.1:0", "-data", t.TempDir())
	e.expect(`^OpenAI Agent +` + string(assistantAddress) + `$`)
	return e.expect(`^listening on (http://[0-9.:]+)`)
}

// The unmodified client gets all that it expects, and says so by its exit code.
func TestThePythonClientIsContent(t *testing.T) {
	parley, example := build(t, "cmd/parley"), build(t, "examples/assistant")
	for models, start := range map[string]func(*testing.T) string{
		"printed": func(t *testing.T) string { return startAssistant(t, example, nil) },
		"core":    func(t *testing.T) string { return startUp(t, parley, nil) },
	} {
		t.Run(models, func(t *testing.T) {
			client := startPeer(t, "client.py", start(t), "CHAT="+models, "STOP_WHEN_DONE=1")
			e := client.wait("the end", func(e event) bool { return e.Event == "stopped" || e.Event == "error" })
			if e.Event == "error" || e.Code != 0 {
				t.Errorf("the client says %+v", e)
			}
		})
	}
}

// The unmodified client sends three prompts in every period. The seventh of each
// kind is over the limit, but chat is without one.
func TestThePythonClientMeetsTheLimit(t *testing.T) {
	model := modelEnv(llamatest.Start(t))
	parley, example := build(t, "cmd/parley"), build(t, "examples/assistant")
	for models, start := range map[string]func(*testing.T) string{
		"printed": func(t *testing.T) string { return startUp(t, parley, model) },
		"core":    func(t *testing.T) string { return startAssistant(t, example, model) },
	} {
		t.Run(models, func(t *testing.T) {
			client := startPeer(t, "client.py", start(t), "CHAT="+models, "PERIOD=1")
			counts, said := map[string]int{}, map[string]int{}
			limit := func(kind string) string {
				return "Rate limit exceeded for " + kind + ". This handler allows for 6 calls per 60 minutes. Try again later."
			}
			hear := func(e event) bool {
				switch e.Event {
				case "received":
					counts[e.Model]++
					if e.Model == "ChatMessage" && e.Text == "" || e.Model == "Response" && e.Body["text"] == "" {
						t.Errorf("an empty answer: %+v", e)
					}
					if _, ok := e.Place["city"].(string); e.Model == "StructuredOutputResponse" && !ok {
						t.Errorf("no place: %+v", e)
					}
				case "ack":
					counts["acknowledged"]++
				case "error":
					said[unfit.ReplaceAllString(e.Text, unfitText)]++
				}
				return counts["Response"] >= 6 && counts["StructuredOutputResponse"]+said[unfitText] >= 6 && counts["ChatMessage"] >= 7 && counts["acknowledged"] >= 7 &&
					said[limit("ContextPrompt")] > 0 && said[limit("StructuredOutputPrompt")] > 0
			}
			client.wait("six answers of each kind, and then the limit", hear)
			client.stop()
			client.wait("stopped", func(e event) bool { hear(e); return e.Event == "stopped" })

			if counts["Response"] != 6 || counts["StructuredOutputResponse"]+said[unfitText] != 6 {
				t.Errorf("the client got %v and was told %v, want six answers of each kind", counts, said)
			}
			if len(said) > 3 || len(said) > 2 && said[unfitText] == 0 {
				t.Errorf("the client was told %v", said)
			}
		})
	}
}

// A place of the random model may have a name without end, or 9E99999 degrees.
var unfit = regexp.MustCompile(`^the model's answer (was cut off at 120 tokens and )?does not fit the schema.*`)

const unfitText = "unfit"

// The Go client finds the unmodified AI agent in its own node's directory.
func TestTheGoClientAsksThePythonAgent(t *testing.T) {
	binary := build(t, "examples/client")
	for _, models := range []string{"printed", "core"} {
		t.Run(models, func(t *testing.T) {
			client := startProgram(t, binary, []string{"PERIOD=1s", "CHAT=" + models}, "-listen", "127.0.0.1:0", "-data", t.TempDir())
			url := client.expect(`^listening on (http://\S+)$`)
			agent := startPeer(t, "ai_agent.py", url, "CHAT="+models)
			if address := agent.started().Address; address != assistantAddress {
				t.Errorf("the agent is %s", address)
			}

			client.expectAll("response: .", `weather: {City:\S+ Country:\S+ Temperature:[0-9.]+}$`, "acknowledged: [0-9a-f-]{36}$", "chat: .",
				"error: Rate limit exceeded for ContextPrompt", "error: Rate limit exceeded for StructuredOutputPrompt")
		})
	}
}

// HealthCheck and the manifests of all protocols, by the library.
func TestTheLibraryLooksAtTheAssistant(t *testing.T) {
	url := startUp(t, build(t, "cmd/parley"), modelEnv(llamatest.Start(t)))

	out, err := exec.CommandContext(t.Context(), python(t), "python/visit.py", string(assistantAddress), url).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var got struct {
		Health    struct{ AgentName, Status string }
		Manifests map[string]struct {
			Verified bool
			Models   []string
		}
		Unpublished int
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got.Health.AgentName != "assistant" || got.Health.Status != "healthy" {
		t.Errorf("health %+v", got.Health)
	}
	for name, models := range map[string]string{
		"AgentChatProtocol:0.3.0":       "ChatAcknowledgement ChatMessage",
		"AgentChatProtocol:0.2.1":       "ChatAcknowledgement ChatMessage",
		"AgentChatProtcol:0.2.1":        "ChatAcknowledgement ChatMessage",
		"LLM-Context-Response:0.1.0":    "ContextPrompt ErrorMessage Response",
		"LLM-Structured-Response:0.1.0": "ErrorMessage StructuredOutputPrompt StructuredOutputResponse",
		"HealthProtocol:0.1.0":          "AgentHealth HealthCheck",
	} {
		m := got.Manifests[name]
		slices.Sort(m.Models)
		if !m.Verified || strings.Join(m.Models, " ") != models {
			t.Errorf("%s: %+v, want verified and %s", name, m, models)
		}
	}
	if len(got.Manifests) != 6 || got.Unpublished > 1 {
		t.Errorf("%d protocols, and %d more without a manifest: %v", len(got.Manifests), got.Unpublished, got.Manifests)
	}
}
