package spec

import (
	"slices"
	"strconv"
	"strings"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
)

const manifestVersion = "1.0"

// Manifest returns the manifest that an agent in the given role publishes: the
// messages it handles, the replies to them and their schemas. The empty role
// gives that of an agent that handles all messages.
func (p *Protocol) Manifest(role string) ([]byte, error) {
	m, err := p.manifest(role)
	if err != nil {
		return nil, err
	}
	digest := manifestDigest(m)
	m.Set("metadata", pyjson.OfMembers(
		pyjson.Member{Key: "name", Value: pyjson.Of(p.Name)},
		pyjson.Member{Key: "version", Value: pyjson.Of(p.Version)},
		pyjson.Member{Key: "digest", Value: pyjson.Of(digest)},
	))
	return pyjson.Append(nil, m, pyjson.Spaced), nil
}

// Digest returns the protocol's digest for a role, "proto:" and 64 hexadecimal
// digits. The protocol's name and version are not part of it.
func (p *Protocol) Digest(role string) (string, error) {
	m, err := p.manifest(role)
	if err != nil {
		return "", err
	}
	return manifestDigest(m), nil
}

// manifest writes the manifest with empty metadata.
func (p *Protocol) manifest(role string) (pyjson.Value, error) {
	if err := p.Check(); err != nil {
		return pyjson.Value{}, err
	}
	if role != "" && p.Role(role) == nil {
		return pyjson.Value{}, fault.Errorf(fault.NotFound, "role", "protocol %s has no role %q; it has %s", p.Name, role, p.roleNames())
	}
	b := manifestBuilder{bodies: make(map[string]Type), digests: make(map[string]string), models: pyjson.Value{Kind: pyjson.Array}}
	handled := make(names)
	for i := range p.Messages {
		m := &p.Messages[i]
		b.bodies[m.Name] = m.Body
		handled[m.Name] = p.HandledBy(m, role)
	}
	interactions := pyjson.Value{Kind: pyjson.Array}
	for i := range p.Rules {
		rule := &p.Rules[i]
		if !handled[rule.Message] {
			continue
		}
		request := b.model(rule.Message)
		var responses []string
		for _, reply := range rule.Replies {
			responses = append(responses, b.model(reply))
		}
		slices.Sort(responses)
		interactions.Items = append(interactions.Items, interaction(request, slices.Compact(responses)))
	}
	if b.err != nil {
		return pyjson.Value{}, b.err
	}
	return pyjson.OfMembers(
		pyjson.Member{Key: "version", Value: pyjson.Of(manifestVersion)},
		pyjson.Member{Key: "metadata", Value: pyjson.OfMembers()},
		pyjson.Member{Key: "models", Value: b.models},
		pyjson.Member{Key: "interactions", Value: interactions},
	), nil
}

func (p *Protocol) roleNames() string {
	if len(p.Roles) == 0 {
		return "none"
	}
	var names []string
	for _, r := range p.Roles {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

func interaction(request string, responses []string) pyjson.Value {
	list := pyjson.Value{Kind: pyjson.Array}
	for _, r := range responses {
		list.Items = append(list.Items, pyjson.Of(r))
	}
	return pyjson.OfMembers(
		pyjson.Member{Key: "type", Value: pyjson.Of("normal")},
		pyjson.Member{Key: "request", Value: pyjson.Of(request)},
		pyjson.Member{Key: "responses", Value: list},
	)
}

type manifestBuilder struct {
	bodies  map[string]Type   // by message name
	digests map[string]string // of those that are listed
	models  pyjson.Value
	err     error
}

// model returns the digest of a message and lists its schema once.
func (b *manifestBuilder) model(message string) string {
	if digest, listed := b.digests[message]; listed {
		return digest
	}
	schema, err := schemaOf(b.bodies[message])
	if err != nil {
		if b.err == nil {
			b.err = fault.In("messages."+message, err)
		}
		return ""
	}
	digest := modelDigest(schema)
	b.digests[message] = digest
	b.models.Items = append(b.models.Items, pyjson.OfMembers(
		pyjson.Member{Key: "digest", Value: pyjson.Of(digest)},
		pyjson.Member{Key: "schema", Value: schema},
	))
	return digest
}

// manifestDigest hashes a manifest without its metadata, with its lists sorted.
func manifestDigest(m pyjson.Value) string {
	version, _ := m.Get("version")
	models, _ := m.Get("models")
	interactions, _ := m.Get("interactions")
	return "proto:" + hashSorted(pyjson.OfMembers(
		pyjson.Member{Key: "version", Value: version},
		pyjson.Member{Key: "metadata", Value: pyjson.OfMembers()},
		pyjson.Member{Key: "models", Value: sortedBy(models, "digest")},
		pyjson.Member{Key: "interactions", Value: sortedBy(interactions, "request")},
	))
}

func sortedBy(list pyjson.Value, key string) pyjson.Value {
	items := slices.Clone(list.Items)
	slices.SortStableFunc(items, func(a, b pyjson.Value) int {
		left, _ := a.Get(key)
		right, _ := b.Get(key)
		return strings.Compare(left.Text, right.Text)
	})
	return pyjson.OfItems(items...)
}

// ParseManifest reads the manifest of a Python agent. Its messages are named by
// the titles of their schemas; a manifest says nothing of roles. The result has
// the same digest, or the error says what could not be kept.
func ParseManifest(text []byte) (*Protocol, error) {
	m, err := readManifest(text)
	if err != nil {
		return nil, err
	}
	p := &Protocol{Name: m.name, Version: m.version}
	titles := make(map[string]string) // by the digest that the manifest states
	known := make(names)
	for i, model := range m.models {
		body, err := typeFromSchema(model.schema)
		if err != nil {
			return nil, fault.In("models."+model.name, err)
		}
		if known.declare(model.name) != nil {
			return nil, fault.Errorf(fault.Conflict, indexed("models", i), "there are two models of the name %q", model.name)
		}
		titles[model.stated] = model.name
		p.Messages = append(p.Messages, Message{Name: model.name, Body: body})
	}
	for _, in := range m.interactions {
		rule := Rule{Message: titles[in.request]}
		for _, reply := range in.responses {
			rule.Replies = append(rule.Replies, titles[reply])
		}
		p.Rules = append(p.Rules, rule)
	}
	return p, p.Check()
}

// Digests are the digests of a published manifest, computed from its schemas.
type Digests struct {
	Name     string // of the protocol, with its version
	Protocol string
	Models   []ModelDigest // in the order of the manifest
	Stale    []StaleDigest
}

// A ModelDigest is the digest of one model.
type ModelDigest struct{ Name, Digest string }

// A StaleDigest is one that the manifest states wrongly.
type StaleDigest struct {
	Of             string // "protocol" or the model's name
	Stated, Actual string
}

// ManifestDigests computes the digests of a manifest from the schemas as they
// stand, also where [ParseManifest] could not hold them. What the manifest
// itself says of its digests is only compared.
//
// The library publishes a manifest per role. For a manifest of several, which
// lists the messages of each under "roles" by title or digest, role chooses
// one; the empty role stands for all.
func ManifestDigests(text []byte, role string) (*Digests, error) {
	m, err := readManifest(text)
	if err != nil {
		return nil, err
	}
	if role != "" {
		if err := m.restrict(role); err != nil {
			return nil, err
		}
	}
	d := Digests{Name: strings.TrimSpace(m.name + " " + m.version)}
	actual := make(map[string]string)
	models := pyjson.Value{Kind: pyjson.Array}
	for _, model := range m.models {
		digest, schema := asStated(model.schema, model.stated)
		actual[model.stated] = digest
		d.Models = append(d.Models, ModelDigest{model.name, digest})
		if model.stated != digest {
			d.Stale = append(d.Stale, StaleDigest{model.name, model.stated, digest})
		}
		models.Items = append(models.Items, pyjson.OfMembers(
			pyjson.Member{Key: "digest", Value: pyjson.Of(digest)},
			pyjson.Member{Key: "schema", Value: schema},
		))
	}
	interactions := pyjson.Value{Kind: pyjson.Array}
	for _, in := range m.interactions {
		var responses []string
		for _, r := range in.responses {
			responses = append(responses, actual[r])
		}
		slices.Sort(responses)
		interactions.Items = append(interactions.Items, interaction(actual[in.request], responses))
	}
	d.Protocol = manifestDigest(pyjson.OfMembers(
		pyjson.Member{Key: "version", Value: pyjson.Of(manifestVersion)},
		pyjson.Member{Key: "models", Value: models},
		pyjson.Member{Key: "interactions", Value: interactions},
	))
	if m.digest != "" && m.digest != d.Protocol && role == "" {
		d.Stale = append(d.Stale, StaleDigest{"protocol", m.digest, d.Protocol})
	}
	return &d, nil
}

type rawManifest struct {
	name, version, digest string
	roles                 pyjson.Value
	models                []rawModel
	interactions          []rawInteraction
}

type rawModel struct {
	name   string
	stated string // the digest that the manifest gives it
	schema pyjson.Value
}

type rawInteraction struct {
	request   string
	responses []string
}

func (in *rawInteraction) digests() []string { return append([]string{in.request}, in.responses...) }

func readManifest(text []byte) (*rawManifest, error) {
	v, err := parseLimited(text)
	if err != nil {
		return nil, err
	}
	models, hasModels := v.Get("models")
	interactions, hasInteractions := v.Get("interactions")
	if !hasModels || !hasInteractions || models.Kind != pyjson.Array || interactions.Kind != pyjson.Array {
		return nil, fault.Errorf(fault.Malformed, "", "a manifest is an object with the lists \"models\" and \"interactions\"")
	}
	if textOf(v, "version") != manifestVersion {
		version, _ := v.Get("version")
		return nil, fault.Errorf(fault.Unsupported, "version", "manifest version %s, only %q is known", jsonOf(version), manifestVersion)
	}
	m := &rawManifest{}
	if metadata, ok := v.Get("metadata"); ok {
		m.name, m.version, m.digest = textOf(metadata, "name"), textOf(metadata, "version"), textOf(metadata, "digest")
	}
	m.roles, _ = v.Get("roles")
	stated := make(map[string]bool)
	for i, item := range models.Items {
		model, err := readModel(item)
		if err != nil {
			return nil, fault.In(indexed("models", i), err)
		}
		if stated[model.stated] {
			return nil, fault.Errorf(fault.Malformed, indexed("models", i), "the digest %s is there twice", model.stated)
		}
		stated[model.stated] = true
		m.models = append(m.models, model)
	}
	for i, item := range interactions.Items {
		in, err := readInteraction(item, stated)
		if err != nil {
			return nil, fault.In(indexed("interactions", i), err)
		}
		m.interactions = append(m.interactions, in)
	}
	return m, nil
}

// restrict leaves what a role handles, and the models that this needs.
func (m *rawManifest) restrict(role string) error {
	listed, ok := m.roles.Get(role)
	if !ok {
		var known []string
		for _, r := range m.roles.Members {
			known = append(known, r.Key)
		}
		return fault.Errorf(fault.NotFound, "role", "the manifest says nothing of a role %q; it knows %q", role, known)
	}
	handled, err := m.handled(listed)
	if err != nil {
		return fault.In("roles."+role, err)
	}
	needed := make(map[string]bool)
	m.interactions = slices.DeleteFunc(m.interactions, func(in rawInteraction) bool {
		for _, digest := range in.digests() {
			needed[digest] = needed[digest] || handled[in.request]
		}
		return !handled[in.request]
	})
	m.models = slices.DeleteFunc(m.models, func(model rawModel) bool { return !needed[model.stated] })
	return nil
}

// handled returns the digests of the requests that a role lists by their digest
// or title.
func (m *rawManifest) handled(listed pyjson.Value) (map[string]bool, error) {
	if listed.Kind != pyjson.Array {
		return nil, fault.Errorf(fault.Malformed, "", "expected a list of titles or digests, found %s", listed.Kind)
	}
	requests := make(map[string]bool)
	for _, in := range m.interactions {
		requests[in.request] = true
	}
	byName := make(map[string][]string)
	for _, model := range m.models {
		byName[model.name] = append(byName[model.name], model.stated)
	}
	handled := make(map[string]bool)
	for i, item := range listed.Items {
		found := false
		for _, digest := range append(byName[item.Text], item.Text) {
			if requests[digest] {
				handled[digest], found = true, true
			}
		}
		if !found {
			return nil, fault.Errorf(fault.Malformed, "["+strconv.Itoa(i)+"]", "no interaction begins with %s", jsonOf(item))
		}
	}
	return handled, nil
}

func readModel(v pyjson.Value) (rawModel, error) {
	schema, ok := v.Get("schema")
	if !ok || schema.Kind != pyjson.Object {
		return rawModel{}, fault.Errorf(fault.Malformed, "schema", "a model needs a schema, which is an object")
	}
	model := rawModel{stated: textOf(v, "digest"), schema: schema, name: textOf(schema, "title")}
	if ref := textOf(schema, "$ref"); ref != "" { // a model that contains itself
		definitions, _ := schema.Get("definitions")
		body, _ := definitions.Get(strings.TrimPrefix(ref, referencePrefix))
		model.name = textOf(body, "title")
	}
	if model.name == "" {
		return rawModel{}, fault.Errorf(fault.Malformed, "schema.title", "a model needs a title: it is its name")
	}
	if model.stated == "" {
		model.stated = modelDigest(schema)
	}
	return model, nil
}

func readInteraction(v pyjson.Value, known map[string]bool) (rawInteraction, error) {
	in := rawInteraction{request: textOf(v, "request")}
	responses, _ := v.Get("responses")
	if responses.Kind != pyjson.Array {
		return in, fault.Errorf(fault.Malformed, "responses", "expected a list of digests, found %s", responses.Kind)
	}
	for _, r := range responses.Items {
		in.responses = append(in.responses, r.Text)
	}
	if typ := textOf(v, "type"); typ != "normal" {
		return in, fault.Errorf(fault.Unsupported, "type", "interaction type %q, only \"normal\" is known", typ)
	}
	for _, digest := range in.digests() {
		if !known[digest] {
			return in, fault.Errorf(fault.Malformed, "", "no model has the digest %q", digest)
		}
	}
	return in, nil
}

func textOf(v pyjson.Value, key string) string {
	member, _ := v.Get(key)
	if member.Kind != pyjson.String {
		return ""
	}
	return member.Text
}

func indexed(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }
