package uagents

import (
	"github.com/google/uuid"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

// A Draft is an envelope before it is sealed.
type Draft struct {
	Target         identity.Address
	Session        uuid.UUID
	SchemaDigest   string
	ProtocolDigest string // empty for none
	Payload        []byte // the message's JSON text
	Expires        uint64 // Unix seconds

	// Nonce makes the envelope unlike every other one that says the same. It
	// should be random, or derived from what is unlike: the receiver drops
	// what it has seen.
	Nonce uint64
}

// Seal makes a signed envelope of a draft. What it returns passes [Open] and is
// accepted by Python agents.
func Seal(key *identity.Key, d *Draft) (*Envelope, error) {
	e := &Envelope{
		Version:      1,
		Sender:       key.Address(),
		Target:       d.Target,
		Session:      d.Session,
		SchemaDigest: d.SchemaDigest,
		Expires:      new(d.Expires),
		Nonce:        new(d.Nonce),
	}
	if d.ProtocolDigest != "" {
		e.ProtocolDigest = new(d.ProtocolDigest)
	}
	e.SetPayload(d.Payload)
	if d.Session.Version() != 4 || d.Session.Variant() != uuid.RFC4122 {
		return nil, fault.Errorf(fault.Malformed, "session", "expected a UUID of version 4")
	}
	if err := e.Validate(); err != nil {
		return nil, err
	}
	e.Sign(key)
	return e, nil
}
