package uagents

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/pyjson"
)

// A Registration tells an Almanac where an agent is and what it speaks.
type Registration struct {
	Identifier string // "agent://" and the address
	Signature  string
	Timestamp  int64 // Unix seconds
	Protocols  []string
	Endpoints  []Endpoint
	Metadata   json.RawMessage // nil is null
}

// An Endpoint is a URL where an agent takes envelopes. Senders try endpoints in
// a random order in which weight counts.
type Endpoint struct {
	URL    string `json:"url"`
	Weight int64  `json:"weight"`
}

// A StatusUpdate tells an Almanac that an agent starts or stops.
type StatusUpdate struct {
	Identifier string
	Signature  string
	Timestamp  int64
	Active     bool
}

func member(key string, value pyjson.Value) pyjson.Member {
	return pyjson.Member{Key: key, Value: value}
}

func intValue(n int64) pyjson.Value { return pyjson.OfInt(strconv.FormatInt(n, 10)) }

func textList(texts []string) pyjson.Value {
	list := pyjson.Value{Kind: pyjson.Array}
	for _, t := range texts {
		list.Items = append(list.Items, pyjson.Of(t))
	}
	return list
}

func endpointList(endpoints []Endpoint) pyjson.Value {
	list := pyjson.Value{Kind: pyjson.Array}
	for _, e := range endpoints {
		list.Items = append(list.Items, pyjson.OfMembers(member("url", pyjson.Of(e.URL)), member("weight", intValue(e.Weight))))
	}
	return list
}

func (r *Registration) value() (pyjson.Value, error) {
	metadata := pyjson.Value{}
	if r.Metadata != nil {
		var err error
		if metadata, err = pyjson.Parse(r.Metadata, nil); err != nil {
			return metadata, fault.In("metadata", err)
		}
	}
	return pyjson.OfMembers(
		member("agent_identifier", pyjson.Of(r.Identifier)),
		member("signature", pyjson.Of(r.Signature)),
		member("timestamp", intValue(r.Timestamp)),
		member("protocols", textList(r.Protocols)),
		member("endpoints", endpointList(r.Endpoints)),
		member("metadata", metadata),
	), nil
}

func (s *StatusUpdate) value() (pyjson.Value, error) {
	return pyjson.OfMembers(
		member("agent_identifier", pyjson.Of(s.Identifier)),
		member("signature", pyjson.Of(s.Signature)),
		member("timestamp", intValue(s.Timestamp)),
		member("is_active", pyjson.OfBool(s.Active)),
	), nil
}

// An attestation is a document that carries the signature over its own other
// members.
type attestation interface{ value() (pyjson.Value, error) }

func encodeAttestation(a attestation) ([]byte, error) {
	v, err := a.value()
	return pyjson.Append(nil, v, pyjson.Compact), err
}

func attestationDigest(a attestation) ([32]byte, error) {
	v, err := a.value()
	for i, m := range v.Members {
		if m.Key == "signature" {
			v.Members = append(v.Members[:i:i], v.Members[i+1:]...)
			break
		}
	}
	return sha256.Sum256(pyjson.Append(nil, v, pyjson.CompactSorted)), err
}

func verifyAttestation(a attestation, identifier, signature string, v *identity.Verifier) error {
	digest, err := attestationDigest(a)
	if err != nil {
		return err
	}
	return v.Verify(identity.ParseIdentifier(identifier).Address, digest[:], signature)
}

func signAttestation(a attestation, key *identity.Key) (string, error) {
	digest, err := attestationDigest(a)
	if err != nil {
		return "", err
	}
	return key.SignDigest(digest), nil
}

// Sign signs the registration as of now.
func (r *Registration) Sign(key *identity.Key, now time.Time) (err error) {
	r.Timestamp = now.Unix()
	r.Signature, err = signAttestation(r, key)
	return err
}

// Verify checks that the agent itself signed.
func (r *Registration) Verify(v *identity.Verifier) error {
	return verifyAttestation(r, r.Identifier, r.Signature, v)
}

// Encode writes the registration as it is posted.
func (r *Registration) Encode() ([]byte, error) { return encodeAttestation(r) }

// Sign signs the update as of now.
func (s *StatusUpdate) Sign(key *identity.Key, now time.Time) (err error) {
	s.Timestamp = now.Unix()
	s.Signature, err = signAttestation(s, key)
	return err
}

// Verify checks that the agent itself signed.
func (s *StatusUpdate) Verify(v *identity.Verifier) error {
	return verifyAttestation(s, s.Identifier, s.Signature, v)
}

// Encode writes the update as it is posted.
func (s *StatusUpdate) Encode() ([]byte, error) { return encodeAttestation(s) }

// MaxRegistration is the size in bytes of the largest registration that is read.
const MaxRegistration = 1 << 20

// DecodeRegistration reads what an agent posts to register. It proves nothing;
// see [Registration.Verify].
func DecodeRegistration(data []byte) (*Registration, error) {
	v, err := parseDocument(data)
	if err != nil {
		return nil, err
	}
	r := fieldReader{object: v}
	reg := &Registration{
		Identifier: r.required("agent_identifier"),
		Signature:  deref(r.optional("signature")),
		Timestamp:  r.timestamp(),
	}
	protocols, _ := v.Get("protocols")
	for _, p := range protocols.Items {
		if p.Kind != pyjson.String {
			r.fail("protocols", "expected a list of digests, found %s in it", p.Kind)
		}
		reg.Protocols = append(reg.Protocols, p.Text)
	}
	endpoints, _ := v.Get("endpoints")
	if protocols.Kind != pyjson.Array || endpoints.Kind != pyjson.Array {
		r.fail("endpoints", "expected the lists protocols and endpoints")
	}
	for _, item := range endpoints.Items {
		url, _ := item.Get("url")
		weight, _ := item.Get("weight")
		n := integerOf(weight)
		if url.Kind != pyjson.String || n == nil || !n.IsInt64() {
			r.fail("endpoints", "expected a url and a weight")
			break
		}
		reg.Endpoints = append(reg.Endpoints, Endpoint{url.Text, n.Int64()})
	}
	if metadata, _ := v.Get("metadata"); metadata.Kind != pyjson.Null {
		reg.Metadata = pyjson.Append(nil, metadata, pyjson.Compact)
	}
	return reg, r.err
}

// DecodeStatusUpdate reads what an agent posts when it starts or stops.
func DecodeStatusUpdate(data []byte) (*StatusUpdate, error) {
	v, err := parseDocument(data)
	if err != nil {
		return nil, err
	}
	r := fieldReader{object: v}
	active, _ := v.Get("is_active")
	if active.Kind != pyjson.Bool {
		r.fail("is_active", "expected a boolean")
	}
	return &StatusUpdate{
		Identifier: r.required("agent_identifier"),
		Signature:  deref(r.optional("signature")),
		Timestamp:  r.timestamp(),
		Active:     active.Bool,
	}, r.err
}

func parseDocument(data []byte) (pyjson.Value, error) {
	if len(data) > MaxRegistration {
		return pyjson.Value{}, fault.Errorf(fault.TooLarge, "", "%d bytes, at most %d are read", len(data), MaxRegistration)
	}
	v, err := pyjson.Parse(data, nil)
	if err == nil && v.Kind != pyjson.Object {
		err = fault.Errorf(fault.Malformed, "", "expected an object, found %s", v.Kind)
	}
	return v, err
}

func (r *fieldReader) timestamp() int64 {
	v, _ := r.object.Get("timestamp")
	n := integerOf(v)
	if n == nil || !n.IsInt64() {
		r.fail("timestamp", "expected Unix seconds")
		return 0
	}
	return n.Int64()
}

// A Token is the proof by which an agent reads its mailbox: a key and the time
// for which it is valid, signed.
type Token struct {
	PublicKey   [33]byte
	From, Until time.Time
	Nonce       [32]byte
}

// SignToken writes a token for the key, valid in the given time.
func SignToken(key *identity.Key, from, until time.Time, nonce [32]byte) string {
	payload := append([]byte(nil), key.PublicKey()...)
	payload = binary.BigEndian.AppendUint64(payload, uint64(from.Unix()))
	payload = binary.BigEndian.AppendUint64(payload, uint64(until.Unix()))
	payload = append(payload, nonce[:]...)
	return "attr:" + base64.StdEncoding.EncodeToString(payload) + ":" + key.Sign(payload)
}

const tokenSize = 33 + 8 + 8 + 32

// OpenToken reads a token and checks its signature. Whether it is valid now is
// for the caller to say.
func OpenToken(text string, v *identity.Verifier) (*Token, error) {
	parts := strings.Split(text, ":")
	if len(text) > 512 || len(parts) != 3 || parts[0] != "attr" {
		return nil, fault.Errorf(fault.Malformed, "token", "expected attr:payload:signature")
	}
	payload, err := strictBase64.DecodeString(parts[1])
	if err != nil || len(payload) != tokenSize {
		return nil, fault.Errorf(fault.Malformed, "token", "expected a payload of %d bytes in base64", tokenSize)
	}
	t := &Token{
		PublicKey: [33]byte(payload[:33]),
		From:      time.Unix(int64(binary.BigEndian.Uint64(payload[33:])), 0),
		Until:     time.Unix(int64(binary.BigEndian.Uint64(payload[41:])), 0),
		Nonce:     [32]byte(payload[49:]),
	}
	digest := sha256.Sum256(payload)
	if err := v.Verify(t.Address(), digest[:], parts[2]); err != nil {
		return nil, err
	}
	return t, nil
}

// Address is the address of the agent that the token is for.
func (t *Token) Address() identity.Address {
	return identity.Address(identity.EncodeBech32("agent", t.PublicKey[:]))
}

// LedgerRegistrationDigest is what an agent signs to register on the ledger:
// the parts, each after its length.
func LedgerRegistrationDigest(contract string, agent identity.Address, timestamp uint64, wallet string) [32]byte {
	var b bytes.Buffer
	for _, part := range [][]byte{
		[]byte(contract), []byte(agent), binary.BigEndian.AppendUint64(nil, timestamp), []byte(wallet),
	} {
		b.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		b.Write(part)
	}
	return sha256.Sum256(b.Bytes())
}

// SignArbitrary signs data in the form that wallets of the ledger know: it
// returns the signed document and the signature, both in base64.
func SignArbitrary(key *identity.Key, data []byte) (document, signature string) {
	doc := pyjson.Append(nil, pyjson.OfMembers(
		member("account_number", pyjson.Of("0")),
		member("chain_id", pyjson.Of("")),
		member("fee", pyjson.OfMembers(member("amount", pyjson.OfItems()), member("gas", pyjson.Of("0")))),
		member("memo", pyjson.Of("")),
		member("msgs", pyjson.OfItems(pyjson.OfMembers(
			member("type", pyjson.Of("sign/MsgSignData")),
			member("value", pyjson.OfMembers(
				member("data", pyjson.Of(base64.StdEncoding.EncodeToString(data))),
				member("signer", pyjson.Of(string(key.Address()))),
			)),
		))),
		member("sequence", pyjson.Of("0")),
	), pyjson.CompactSorted)
	return base64.StdEncoding.EncodeToString(doc), key.SignBase64(doc)
}

// IdentityProof answers a challenge of Agentverse: the body to post.
func IdentityProof(key *identity.Key, challenge string) []byte {
	return pyjson.Append(nil, pyjson.OfMembers(
		member("address", pyjson.Of(string(key.Address()))),
		member("challenge", pyjson.Of(challenge)),
		member("challenge_response", pyjson.Of(key.Sign([]byte(challenge)))),
	), pyjson.Compact)
}

// A Profile is what Agentverse shows of an agent.
type Profile struct {
	Description, Readme, AvatarURL, BannerURL string
	StarterPrompts                            []string
}

// An AgentverseRequest connects an agent to Agentverse.
type AgentverseRequest struct {
	Address     identity.Address
	Name        string
	Handle, URL *string
	Profile     Profile
	Endpoints   []Endpoint
	Protocols   []string
	Metadata    json.RawMessage // nil is an empty object
}

// Encode writes the request as it is posted.
func (a *AgentverseRequest) Encode() ([]byte, error) {
	metadata := pyjson.OfMembers()
	if a.Metadata != nil {
		var err error
		if metadata, err = pyjson.Parse(a.Metadata, nil); err != nil {
			return nil, fault.In("metadata", err)
		}
	}
	optional := func(text *string) pyjson.Value {
		if text == nil {
			return pyjson.Value{}
		}
		return pyjson.Of(*text)
	}
	return pyjson.Append(nil, pyjson.OfMembers(
		member("address", pyjson.Of(string(a.Address))),
		member("name", pyjson.Of(a.Name)),
		member("handle", optional(a.Handle)),
		member("url", optional(a.URL)),
		member("agent_type", pyjson.Of("uagent")),
		member("profile", pyjson.OfMembers(
			member("description", pyjson.Of(a.Profile.Description)),
			member("readme", pyjson.Of(a.Profile.Readme)),
			member("avatar_url", pyjson.Of(a.Profile.AvatarURL)),
			member("banner_url", pyjson.Of(a.Profile.BannerURL)),
			member("starter_prompts", textList(a.Profile.StarterPrompts)),
		)),
		member("endpoints", endpointList(a.Endpoints)),
		member("protocols", textList(a.Protocols)),
		member("metadata", metadata),
	), pyjson.Compact), nil
}
