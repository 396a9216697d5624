package interop

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/lang/gen/everything"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/protocol/health"
	prompts "github.com/parley-agents/parley/protocol/llm"
	"github.com/parley-agents/parley/protocol/payment"
	"github.com/parley-agents/parley/protocol/subscriptions"
)

// digestOf lets the library compute the digests of manifests, one on each line.
const digestOf = `
import json, sys
from uagents_core.protocol import ProtocolSpecification
for line in sys.stdin:
    print(ProtocolSpecification.compute_digest(json.loads(line)))
`

// The manifests in generated code have the digests that the library gives them.
func TestTheLibraryAgreesOnGeneratedManifests(t *testing.T) {
	manifests := map[string]string{
		everything.AskerManifest: everything.AskerManifestDigest, everything.AnswererManifest: everything.AnswererManifestDigest,
		chat.AgentManifest: chat.AgentManifestDigest, health.AgentManifest: health.AgentManifestDigest, health.MonitorManifest: health.MonitorManifestDigest,
		prompts.LLMContextResponseLLMManifest: prompts.LLMContextResponseLLMManifestDigest, prompts.LLMStructuredResponseLLMManifest: prompts.LLMStructuredResponseLLMManifestDigest,
		payment.SellerManifest: payment.SellerManifestDigest, payment.BuyerManifest: payment.BuyerManifestDigest,
		subscriptions.AgentManifest: subscriptions.AgentManifestDigest, subscriptions.RequesterManifest: subscriptions.RequesterManifestDigest,
	}
	var lines, want []string
	for manifest, digest := range manifests {
		if !json.Valid([]byte(manifest)) {
			t.Errorf("%s is no JSON", manifest)
		}
		lines, want = append(lines, manifest), append(want, digest)
	}
	cmd := exec.CommandContext(t.Context(), python(t), "-c", digestOf)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range strings.Fields(string(out)) {
		if got != want[i] {
			t.Errorf("the library says %s, the constant %s of\n%s", got, want[i], lines[i])
		}
	}
	if n := len(strings.Fields(string(out))); n != len(want) {
		t.Errorf("%d digests of %d manifests", n, len(want))
	}
}
