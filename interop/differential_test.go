package interop

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/wire/uagents"
)

// TestRandomModels has the real library and Parley describe the same random
// models. The digests must agree, the library's schema must survive an import,
// and every payload must be read and written alike, in both directions, also
// where it does not fit the model.
func TestRandomModels(t *testing.T) {
	o := startOracle(t)
	m := &maker{Rand: newRand(t)}
	payloads, refused := 0, 0
	for i := range count(150, 2000) {
		model := m.model()
		python := describe(o, m)
		if got := digest(t, model); got != python.Digest {
			ours, _ := spec.Schema(model)
			t.Fatalf("model %d: digest = %s, want %s\n ours %s\ntheirs %s\n%s", i, got, python.Digest, ours, python.Schema, m.source.String())
		}
		for _, text := range []string{python.Schema, python.Sorted} {
			imported, err := spec.ParseSchema([]byte(text))
			if hasUnknownOrder(err) {
				continue
			}
			if err != nil {
				t.Fatalf("model %d: %v\n%s", i, err, text)
			}
			if got := digest(t, imported); got != python.Digest {
				t.Fatalf("model %d: imported digest = %s, want %s", i, got, python.Digest)
			}
		}
		var texts []string
		for range 4 {
			m.depth = 0
			value := m.value(model)
			texts = append(texts, text(value), text(m.spoil(value)))
		}
		r := newReader(t, model)
		for j, verdict := range parseInPython(o, model.Name, texts) {
			payloads++
			if !verdict.OK {
				refused++
			}
			r.compare(t, texts[j], verdict, m.source.String())
		}
	}
	t.Logf("%d payloads read and written alike, %d of them refused by both", payloads, refused)
	if refused == 0 || refused == payloads {
		t.Errorf("%d of %d payloads refused: the mixture shows nothing", refused, payloads)
	}
}

// hasUnknownOrder reports whether a schema was refused because it does not say
// whether the keys of a default were numbers.
func hasUnknownOrder(err error) bool {
	return fault.CodeOf(err) == fault.Unsupported && strings.Contains(err.Error(), "whether the keys were numbers")
}

type description struct{ Digest, Sorted, Schema string }

func describe(o *oracle, m *maker) description {
	return ask[description](o, map[string]any{"op": "model", "source": m.source.String(), "names": m.classes})
}

func parseInPython(o *oracle, name string, texts []string) []verdict[string] {
	type results struct{ Results []verdict[string] }
	return ask[results](o, map[string]any{"op": "parse", "name": name, "texts": texts}).Results
}

func text(v pyjson.Value) string { return string(pyjson.Append(nil, v, pyjson.Spaced)) }

func digest(t *testing.T, model spec.Type) string {
	t.Helper()
	d, err := spec.Digest(model)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A reader reads the payloads of a model in both ways.
type reader struct {
	model       spec.Type
	lax, strict *uagents.Codec
}

func newReader(t *testing.T, model spec.Type) *reader {
	t.Helper()
	codec := func(opts *uagents.CodecOptions) *uagents.Codec {
		c, err := uagents.NewCodec(model, opts)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	return &reader{model, codec(&uagents.CodecOptions{Lax: true}), codec(nil)}
}

// compare holds a lax reading against Python's and then reads strictly what
// Python wrote: what an honest agent sends must pass.
func (r *reader) compare(t *testing.T, input string, python verdict[string], source string) {
	t.Helper()
	ours, err := r.lax.Normalize([]byte(input))
	if !python.OK && !strings.HasPrefix(python.Error, "ValidationError") {
		return // the library did not refuse the payload, it fell over
	}
	if (err == nil) != python.OK {
		t.Fatalf("%s: %s %v\nthe library: %v %s%s\n%s", input, ours, err, python.OK, python.Result, python.Error, source)
	}
	if err != nil {
		return
	}
	if !sameText(string(ours), python.Result, r.model) {
		t.Fatalf("%s\n ours %s\ntheirs %s\n%s", input, ours, python.Result, source)
	}
	if hasAlias(r.model) {
		return // a Python agent cannot read its own words either
	}
	again, err := r.strict.Normalize(ours)
	if err != nil && !beyondStrict(parseText(spec.JSON(ours))) {
		t.Fatalf("strict reading of what Python wrote: %v\n%s\n%s", err, ours, source)
	}
	if err == nil && !sameText(string(again), python.Result, r.model) && string(again) != rereading(r.lax, ours) && !beyondStrict(parseText(spec.JSON(ours))) {
		t.Fatalf("strict reading of what Python wrote changes it:\n from %s\n to %s\n%s", python.Result, again, source)
	}
}

// rereading is what a Python agent makes of its own words: the variant of a union
// that comes first may take what a later one wrote.
func rereading(lax *uagents.Codec, written []byte) string {
	text, err := lax.Normalize(written)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// beyondStrict knows what strict reading refuses although Python writes it:
// integers beyond 64 bits.
func beyondStrict(v pyjson.Value) bool {
	if v.Kind == pyjson.Int {
		_, err := strconv.ParseInt(v.Text, 10, 64)
		return err != nil
	}
	return slices.ContainsFunc(v.Items, beyondStrict) ||
		slices.ContainsFunc(v.Members, func(m pyjson.Member) bool { return beyondStrict(m.Value) })
}

// sameText compares payloads byte for byte. Python writes sets, and fields that a
// record keeps without knowing them, in the order of its hash tables: a model
// with one of these is compared without regard to order.
func sameText(ours, theirs string, model spec.Type) bool {
	isUnordered := func(t spec.Type) bool {
		list, isList := t.(*spec.List)
		r, isRecord := t.(*spec.Record)
		return isList && list.Set || isRecord && r.Open
	}
	if !contains(model, isUnordered) {
		return ours == theirs
	}
	return text(sorted(parseText(spec.JSON(ours)))) == text(sorted(parseText(spec.JSON(theirs))))
}

func sorted(v pyjson.Value) pyjson.Value {
	for i := range v.Items {
		v.Items[i] = sorted(v.Items[i])
	}
	for i := range v.Members {
		v.Members[i].Value = sorted(v.Members[i].Value)
	}
	slices.SortFunc(v.Items, func(a, b pyjson.Value) int { return strings.Compare(text(a), text(b)) })
	slices.SortFunc(v.Members, func(a, b pyjson.Member) int { return strings.Compare(a.Key, b.Key) })
	return v
}

func hasAlias(model spec.Type) bool {
	return contains(model, func(t spec.Type) bool {
		r, ok := t.(*spec.Record)
		return ok && slices.ContainsFunc(r.Fields, func(f spec.Field) bool { return f.Alias != "" })
	})
}

// contains reports whether a type, or one that it is made of, is what is sought.
func contains(t spec.Type, sought func(spec.Type) bool) bool {
	seen := make(map[spec.Type]bool)
	var within func(spec.Type) bool
	within = func(t spec.Type) bool {
		if seen[t] {
			return false
		}
		seen[t] = true
		if sought(t) {
			return true
		}
		switch t := t.(type) {
		case *spec.Record:
			return slices.ContainsFunc(t.Fields, func(f spec.Field) bool { return within(f.Type) })
		case *spec.List:
			return within(t.Item)
		case *spec.Map:
			return within(t.Value)
		case *spec.Tuple:
			return slices.ContainsFunc(t.Items, within)
		case *spec.Union:
			return slices.ContainsFunc(t.Variants, within)
		}
		return false
	}
	return within(t)
}

// TestRandomProtocols compares manifests and digests, per role.
func TestRandomProtocols(t *testing.T) {
	o := startOracle(t)
	m := &maker{Rand: newRand(t), plain: true}
	for i := range count(40, 500) {
		p := m.protocol(o)
		type answer struct{ Manifests map[string]json.RawMessage }
		python := ask[answer](o, p.question)
		for role, manifest := range python.Manifests {
			want := statedDigest(t, manifest)
			if got, err := p.Digest(role); err != nil || got != want {
				t.Fatalf("protocol %d, role %q: digest = %s (%v), want %s\n%v", i, role, got, err, want, p.question)
			}
			if d, err := spec.ManifestDigests(manifest, ""); err != nil || d.Protocol != want || len(d.Stale) > 0 {
				t.Fatalf("protocol %d, role %q: as it stands %+v (%v), want %s\n%s", i, role, d, err, want, manifest)
			}
			imported, err := spec.ParseManifest(manifest)
			if hasUnknownOrder(err) {
				continue
			}
			if err != nil {
				t.Fatalf("protocol %d, role %q: %v\n%s", i, role, err, manifest)
			}
			if got, err := imported.Digest(""); err != nil || got != want {
				t.Fatalf("protocol %d, role %q: imported digest = %s (%v), want %s", i, role, got, err, want)
			}
		}
	}
}

func statedDigest(t *testing.T, manifest []byte) string {
	t.Helper()
	var m struct{ Metadata struct{ Digest string } }
	if err := json.Unmarshal(manifest, &m); err != nil {
		t.Fatal(err)
	}
	return m.Metadata.Digest
}

type randomProtocol struct {
	*spec.Protocol
	question map[string]any
}

// protocol makes a protocol of up to five messages and two roles, in Parley and
// in Python.
func (m *maker) protocol(o *oracle) randomProtocol {
	p := &spec.Protocol{Name: m.name("Protocol"), Version: "0.1.0"}
	for range 1 + m.IntN(5) {
		body := m.model()
		describe(o, m)
		p.Messages = append(p.Messages, spec.Message{Name: body.Name, Body: body})
	}
	interactions := make(map[string][]string)
	for _, i := range m.Perm(len(p.Messages))[:1+m.IntN(len(p.Messages))] {
		rule := spec.Rule{Message: p.Messages[i].Name}
		for _, j := range m.Perm(len(p.Messages))[:m.IntN(3)%len(p.Messages)] {
			rule.Replies = append(rule.Replies, p.Messages[j].Name)
		}
		p.Rules = append(p.Rules, rule)
		interactions[rule.Message] = append([]string{}, rule.Replies...)
	}
	roles := make(map[string][]string)
	if m.chance(60) {
		p.Roles = []spec.Role{{Name: "asker"}, {Name: "answerer"}}
		roles["asker"], roles["answerer"] = []string{}, []string{}
		for i := range p.Messages {
			msg := &p.Messages[i]
			if p.Rule(msg.Name) == nil {
				continue
			}
			msg.To = []string{pick(m, "asker", "answerer")}
			roles[msg.To[0]] = append(roles[msg.To[0]], msg.Name)
		}
	}
	return randomProtocol{p, map[string]any{
		"op": "protocol", "name": p.Name, "version": p.Version, "interactions": interactions, "roles": roles,
	}}
}

// TestRandomEnvelopes has each side verify what the other signed.
func TestRandomEnvelopes(t *testing.T) {
	o := startOracle(t)
	m := &maker{Rand: newRand(t)}
	verifier := identity.NewVerifier(nil)
	for i := range count(60, 2000) {
		seed := "seed " + strconv.Itoa(m.IntN(20))
		key, err := identity.FromSeed(seed, 0)
		if err != nil {
			t.Fatal(err)
		}
		target, err := identity.FromSeed("target "+strconv.Itoa(i), 0)
		if err != nil {
			t.Fatal(err)
		}
		payload := text(m.anything(3))
		schema := "model:" + strings.Repeat(strconv.Itoa(i%10), 64)
		session := uuid.New()

		sealed, err := uagents.Seal(key, &uagents.Draft{
			Target: target.Address(), Session: session, SchemaDigest: schema, Payload: []byte(payload),
			Expires: uint64(time.Now().Unix()) + uint64(m.IntN(1000)), Nonce: m.Uint64(),
		})
		if err != nil {
			t.Fatal(err)
		}
		type opened struct {
			Verified      verdict[bool]
			Payload, JSON string
		}
		got := ask[opened](o, map[string]any{"op": "verify", "envelope": string(sealed.Encode())})
		if !got.Verified.OK || got.Payload != payload || got.JSON != string(sealed.Encode()) {
			t.Fatalf("the library opens %s\nas %+v", sealed.Encode(), got)
		}

		fields := map[string]any{"target": target.Address(), "session": session, "schema_digest": schema}
		if m.chance(50) {
			fields["expires"] = 1893456000
		}
		type signed struct{ Envelope string }
		theirs := ask[signed](o, map[string]any{"op": "sign", "seed": seed, "fields": fields, "payload": payload}).Envelope
		e, err := uagents.Open([]byte(theirs), verifier)
		if err != nil {
			t.Fatalf("%v\n%s", err, theirs)
		}
		if body, err := e.DecodePayload(); err != nil || string(body) != payload || string(e.Encode()) != theirs {
			t.Fatalf("opened %s (%v) from %s", body, err, theirs)
		}
	}
}
