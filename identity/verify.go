package identity

import (
	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"

	"github.com/parley-agents/parley/fault"
)

const (
	signatureBytes = 64 // r and s
	digestBytes    = 32
)

// What peers answer when a verification fails for one of these reasons.
const (
	textNoAgentAddress = "Unable to decode agent address"
	textNoSignature    = "Unable to decode signature"
	textMismatch       = "Signature verification failed"
)

// Verify checks that the owner of address signed digest. It accepts all that
// honest peers produce, which includes both values of s, and refuses what only
// a forger would try and the uAgents library nevertheless takes: upper case, and
// keys inside an address that are not in the compressed form.
//
// The error is [fault.Malformed], naming sender, signature or digest, if one of
// these is not what it should be, and [fault.Unverified] if the signature is
// well formed but not the sender's. Its text is the peers' where they have one.
// A digest of less than 32 bytes is taken as the number that it is, as there.
//
// Programs that verify many messages use a [Verifier].
func Verify(address Address, digest []byte, signature string) error {
	c, err := readClaim(nil, address, digest, signature, false)
	if err != nil {
		return err
	}
	return c.check(nil)
}

// SignatureR returns the r of a signature. Together with the sender and the
// digest it is what makes two signatures the same: s can be negated by anyone
// and the text can be written in upper case, r cannot be changed.
func SignatureR(signature string) ([32]byte, error) {
	prefix, raw, err := DecodeBech32Lenient(signature)
	switch {
	case err != nil:
	case prefix != signaturePrefix:
		err = malformed(textNoSignature)
	case len(raw) != signatureBytes:
		err = malformed("signature of %d bytes, want %d", len(raw), signatureBytes)
	}
	if err != nil {
		return [32]byte{}, fault.In("signature", err)
	}
	return [32]byte(raw[:signatureBytes/2]), nil
}

// A claim is what a verification is about, decoded: that the owner of key made
// the signature r, s of the number e.
type claim struct {
	key     *secp256k1.PublicKey
	r, s, e secp256k1.ModNScalar
	inRange bool // r and s were within 1 to n-1 as they came
}

// readClaim decodes the parts in the order in which the uAgents library looks
// at them, so that the first complaint is the same. A key that is known is the
// one of address, which is then not looked at again.
func readClaim(known *secp256k1.PublicKey, address Address, digest []byte, signature string, lenient bool) (*claim, error) {
	decode, parseKey := DecodeBech32, parsePublicKey
	if lenient {
		decode, parseKey = DecodeBech32Lenient, parseAnyPublicKey
	}
	prefix, data := agentPrefix, []byte(nil)
	if known == nil {
		var err error
		if prefix, data, err = decode(string(address)); err != nil {
			return nil, fault.In("sender", err)
		}
	}
	sigPrefix, raw, err := decode(signature)
	if err != nil {
		return nil, fault.In("signature", err)
	}
	if prefix != agentPrefix {
		return nil, fault.In("sender", malformed(textNoAgentAddress))
	}
	if sigPrefix != signaturePrefix {
		return nil, fault.In("signature", malformed(textNoSignature))
	}
	key := known
	if key == nil {
		if key, err = parseKey(data); err != nil {
			return nil, fault.In("sender", err)
		}
	}
	return newClaim(key, digest, raw)
}

func newClaim(key *secp256k1.PublicKey, digest, raw []byte) (*claim, error) {
	if len(digest) == 0 || len(digest) > digestBytes {
		return nil, fault.In("digest", malformed("digest of %d bytes, want %d", len(digest), digestBytes))
	}
	if len(raw) != signatureBytes {
		return nil, fault.In("signature", malformed("signature of %d bytes, want %d", len(raw), signatureBytes))
	}
	c := &claim{key: key}
	c.e.SetByteSlice(digest)
	rOver := c.r.SetByteSlice(raw[:signatureBytes/2])
	sOver := c.s.SetByteSlice(raw[signatureBytes/2:])
	c.inRange = !rOver && !sOver && !c.r.IsZero() && !c.s.IsZero()
	return c, nil
}

// check gives the verdict, by the table if there is one.
func (c *claim) check(t *table) error {
	holds := c.holds
	if t != nil {
		holds = func() bool { return t.holds(c) }
	}
	if c.inRange && holds() {
		return nil
	}
	return &fault.Error{Code: fault.Unverified, Field: "signature", Text: textMismatch}
}

// holds is the plain verification. It decides whenever nothing faster does, and
// the tests hold everything faster against it.
func (c *claim) holds() bool {
	e := c.e.Bytes()
	return ecdsa.NewSignature(&c.r, &c.s).Verify(e[:], c.key)
}
