package check_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/lang/aea"
	"github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/internal/lang/syntax"
	"github.com/parley-agents/parley/internal/vectors"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/spec"
)

const protocolFolder = "../../../protocol"

// sources returns the protocols that this project speaks, by their folders.
func sources(t *testing.T) map[string]*check.Result {
	t.Helper()
	files, err := filepath.Glob(protocolFolder + "/*/*.parley")
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]*check.Result)
	for _, name := range files {
		all[filepath.Base(filepath.Dir(name))] = check.File(filepath.ToSlash(name), read(t, name), check.Options{})
	}
	return all
}

func TestTheProtocolsOfThisProjectAreCleanAndFormatted(t *testing.T) {
	all := sources(t)
	for name := range strings.FieldsSeq("chat llm health payment subscriptions messaging aeadefault fipa oefsearch state_update signing tac http") {
		result := all[name]
		if result == nil {
			t.Errorf("there is no protocol/%s/%s.parley", name, name)
			continue
		}
		if len(result.Diagnostics) > 0 || len(result.Protocols) == 0 {
			t.Errorf("%d protocols\n%s", len(result.Protocols), result.Diagnostics)
		}
		file := result.Files[0]
		text, formatted := read(t, file.Name), syntax.Format(file)
		if string(text) != string(formatted) {
			if os.Getenv("PARLEY_UPDATE") != "" {
				if err := os.WriteFile(file.Name, formatted, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			t.Errorf("%s is not in the canonical layout; with PARLEY_UPDATE=1 this test writes it", file.Name)
		}
	}
}

// Python agents publish the digests of the roles that handle the requests, or of
// all messages where they know no roles.
func TestDigestsAreThoseOfThePythonLibrary(t *testing.T) {
	all := sources(t)
	handlers := map[string][2]string{ // the vectors without roles, and who publishes them
		"llm_context":    {"llm", "llm"},
		"llm_structured": {"llm", "llm"},
		"health_example": {"health", "agent"},
	}
	folders := map[string]string{"chat": "chat", "payment": "payment", "subscriptions": "subscriptions", "health_library": "health"}
	type protocolCase struct {
		ID, Role, Name, Version, Digest string
		Models                          map[string]string `json:"models_in_manifest"`
	}
	var cases []protocolCase
	if err := json.Unmarshal(vectors.Load(t, "protocols.json")["protocols"], &cases); err != nil {
		t.Fatal(err)
	}
	proven := 0
	for _, c := range cases {
		folder, role := folders[c.ID], c.Role
		if by, ok := handlers[c.ID]; ok {
			folder, role = by[0], by[1]
		}
		if folder == "" {
			continue
		}
		t.Run(c.ID+" "+c.Role, func(t *testing.T) {
			i := slices.IndexFunc(all[folder].Protocols, func(p *check.Protocol) bool { return p.Spec.Name == c.Name })
			if i < 0 {
				t.Fatalf("protocol/%s has no protocol %q", folder, c.Name)
			}
			p := all[folder].Protocols[i].Spec
			if got, err := p.Digest(role); err != nil || got != c.Digest || p.Version != c.Version {
				t.Errorf("%s %s as %q: digest %s (%v), want %s and version %s", p.Name, p.Version, role, got, err, c.Digest, c.Version)
			}
			for digest, name := range c.Models {
				if got, err := spec.Digest(p.Message(name).Body); err != nil || got != digest {
					t.Errorf("%s: digest %s (%v), want %s", name, got, err, digest)
				}
			}
			proven++
		})
	}
	if os.Getenv(vectors.Env) == "" && proven != 13 {
		t.Errorf("%d vectors were compared, want 13", proven)
	}
}

func TestChatIsTheSameInGo(t *testing.T) {
	p := sources(t)["chat"].Protocols[0].Spec
	for name, read := range map[string]func() (*spec.Record, error){
		"ChatMessage": spec.FromGo[chat.ChatMessage], "ChatAcknowledgement": spec.FromGo[chat.ChatAcknowledgement],
	} {
		inGo, err := read()
		if err != nil {
			t.Fatal(err)
		}
		want, _ := spec.Digest(inGo)
		if got, err := spec.Digest(p.Message(name).Body); err != nil || got != want {
			t.Errorf("%s: digest %s (%v), in Go %s", name, got, err, want)
		}
	}
}

// The AEA protocols are those of the framework, written back as data.
func TestAEASpecificationsAreThoseOfTheFramework(t *testing.T) {
	all := sources(t)
	for folder, file := range map[string]string{
		"aeadefault": "default_0__300e01", "fipa": "fipa_0__7db82f", "oefsearch": "oef_search_0__2cdeba", "http": "http_0__7412cc",
		"state_update": "state_update_0__283012", "signing": "signing_0__8c2122", "tac": "tac_0__e51e0e",
	} {
		want, err := aea.Read(read(t, "../aea/testdata/specs/open-aea__md__"+file+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		written, problems := aea.FromProtocol(all[folder].Protocols[0].Spec)
		if len(problems) > 0 {
			t.Errorf("%s: %v", folder, problems)
			continue
		}
		got, err := aea.Read(written.YAML())
		if err != nil {
			t.Fatal(err)
		}
		if string(got.YAML()) != string(want.YAML()) {
			t.Errorf("%s\n%s\nwant\n%s", folder, got.YAML(), want.YAML())
		}
	}
}

// Manifests can be read back.
func TestManifestsAreWhatPythonReads(t *testing.T) {
	p := sources(t)["llm"].Protocols[0].Spec
	text, err := p.Manifest("llm")
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Metadata     map[string]string
		Interactions []any
	}
	if err := json.Unmarshal(text, &manifest); err != nil || manifest.Metadata["name"] != "LLM-Context-Response" || len(manifest.Interactions) != 1 {
		t.Errorf("manifest %s (%v)", text, err)
	}
}
