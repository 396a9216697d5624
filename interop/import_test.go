package interop

import (
	"math/rand/v2"
	"testing"

	"github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/internal/lang/uagents"
	"github.com/parley-agents/parley/spec"
)

// Manifests of random models become sources with the same digest. What Python
// allows and the language does not is said: unions whose variants look alike,
// defaults that their type does not have, titles within a type.
func TestImportOfRandomProtocols(t *testing.T) {
	said := make(map[string]int)
	clean := 0
	total := count(300, 10_000)
	for seed := range total {
		m := &maker{Rand: rand.New(rand.NewPCG(uint64(seed), 5)), plain: true}
		p := m.talk()
		manifest, err := p.Manifest("")
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want, err := p.Digest("")
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		source, found, err := uagents.Import("x", manifest)
		if hasUnknownOrder(err) {
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, manifest)
		}
		for _, d := range found {
			said[d.Code]++
			switch {
			case d.Code == "PAR1005" || d.Code == "PAR1010" || d.Code == "PAR2121":
			case d.Code == "PAR5020": // it says what was lost, such as a keyword or how literals were grouped
			default:
				t.Fatalf("seed %d: %s\n%s\n%s\n%s", seed, d, d.Hint, source, manifest)
			}
		}
		if found.HasErrors() {
			continue
		}
		clean++
		result := check.File("x.parley", source, check.Options{})
		if got, err := result.Protocols[0].Spec.Digest("agent"); err != nil || got != want {
			t.Fatalf("seed %d: digest %s (%v), want %s\n%s", seed, got, err, want, source)
		}
	}
	t.Logf("%d of %d came over; otherwise %v", clean, total, said)
	if clean < total*3/4 || said["PAR5020"] > total/20 {
		t.Error("too few came over to prove anything")
	}
}

// talk makes a protocol of up to five messages without roles.
func (m *maker) talk() *spec.Protocol {
	p := &spec.Protocol{Name: m.name("Protocol"), Version: "0.1.0"}
	for range 1 + m.IntN(5) {
		body := m.model()
		p.Messages = append(p.Messages, spec.Message{Name: body.Name, Body: body})
	}
	for _, i := range m.Perm(len(p.Messages))[:1+m.IntN(len(p.Messages))] {
		rule := spec.Rule{Message: p.Messages[i].Name}
		for _, j := range m.Perm(len(p.Messages))[:m.IntN(3)%len(p.Messages)] {
			rule.Replies = append(rule.Replies, p.Messages[j].Name)
		}
		p.Rules = append(p.Rules, rule)
	}
	return p
}
