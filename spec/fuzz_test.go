package spec_test

import (
	"testing"

	"github.com/parley-agents/parley/internal/vectors"
	"github.com/parley-agents/parley/spec"
)

// FuzzParseSchema checks that no schema crashes the reader, and that one it
// accepts keeps its digest through a second import.
func FuzzParseSchema(f *testing.F) {
	seeds(f, func(schema schemaCase) { f.Add([]byte(schema.FieldOrder)) })
	f.Fuzz(func(t *testing.T, data []byte) {
		model, err := spec.ParseSchema(data)
		if err != nil {
			return
		}
		digest, err := spec.Digest(model)
		if err != nil {
			t.Fatalf("an accepted schema has no digest: %v\n%s", err, data)
		}
		text, err := spec.Schema(model)
		if err != nil {
			t.Fatal(err)
		}
		again, err := spec.ParseSchema(text)
		if err != nil {
			t.Fatalf("what was written is refused: %v\n%s\n%s", err, data, text)
		}
		if second := digestOf(t, again); second != digest {
			t.Fatalf("digest %s became %s\n%s", digest, second, data)
		}
	})
}

// FuzzParseManifest checks the same of manifests, and that the digests computed
// from the schemas as they stand agree with those of the import.
func FuzzParseManifest(f *testing.F) {
	for _, c := range vectors.Decode[[]protocolCase](f, vectors.Load(f, "protocols.json")["protocols"]) {
		f.Add([]byte(c.Manifest))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		digests, err := spec.ManifestDigests(data, "")
		p, parseErr := spec.ParseManifest(data)
		if parseErr != nil {
			return
		}
		if err != nil {
			t.Fatalf("imported, but without digests: %v\n%s", err, data)
		}
		if got, err := p.Digest(""); err != nil || got != digests.Protocol && !repeatsAMessage(p) {
			t.Fatalf("imported digest %s (%v), as it stands %s\n%s", got, err, digests.Protocol, data)
		}
	})
}

// repeatsAMessage reports whether the manifest listed models or replies that no
// library would list: unused ones, or one reply twice.
func repeatsAMessage(p *spec.Protocol) bool {
	used := make(map[string]bool)
	for _, r := range p.Rules {
		used[r.Message] = true
		replies := make(map[string]bool)
		for _, reply := range r.Replies {
			if replies[reply] {
				return true
			}
			used[reply], replies[reply] = true, true
		}
	}
	return len(used) != len(p.Messages)
}

func seeds(f *testing.F, add func(schemaCase)) {
	f.Helper()
	for _, c := range vectors.Decode[[]schemaCase](f, vectors.Load(f, "schemas.json")["schemas"]) {
		add(c)
	}
}
