package identity

import (
	"crypto/rand"
	"strings"
	"unicode/utf8"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"

	"github.com/parley-agents/parley/fault"
)

// Prefixes of bech32 with a meaning.
const (
	agentPrefix     = "agent"
	userPrefix      = "user"
	walletPrefix    = "fetch"
	signaturePrefix = "sig"
)

const (
	agentAddressLength = 65 // letters
	userAddressBytes   = 32
)

// An Address names an agent ("agent1q…", which is its public key) or a user
// ("user1…", which is random and proves nothing). It is a plain string: one that
// came from outside is only known to be right after [ParseAddress].
type Address string

// ParseAddress accepts addresses as honest peers write them: lower case, right
// checksum, and a compressed key that is a point of the curve, or 32 bytes for a
// user. The error is a fault.Malformed, with the text peers have for it.
func ParseAddress(s string) (Address, error) {
	prefix, data, err := DecodeBech32(s)
	if err != nil {
		return "", err
	}
	switch prefix {
	case agentPrefix:
		if _, err := parsePublicKey(data); err != nil {
			return "", err
		}
	case userPrefix:
		if len(data) != userAddressBytes {
			return "", malformed("user address of %d bytes, want %d", len(data), userAddressBytes)
		}
	default:
		return "", malformed("address with prefix %q, want agent or user", prefix)
	}
	return Address(s), nil
}

// NewUserAddress returns a random user address. Nobody can sign for it.
func NewUserAddress() (Address, error) {
	var id [userAddressBytes]byte
	if _, err := rand.Read(id[:]); err != nil {
		return "", err
	}
	return Address(EncodeBech32(userPrefix, id[:])), nil
}

// IsUser reports whether a counts as a user's, whose messages carry no
// signature. As with all peers, the first four letters decide.
func (a Address) IsUser() bool { return strings.HasPrefix(string(a), userPrefix) }

// LooksLikeAddress is the test by which peers tell an address from a name: it
// starts with "user", or with "agent" and has 65 characters. It checks no
// checksum, and "username" passes; see [ParseAddress] for the real check.
func LooksLikeAddress(s string) bool {
	return strings.HasPrefix(s, userPrefix) ||
		strings.HasPrefix(s, agentPrefix) && utf8.RuneCountInString(s) == agentAddressLength
}

// An Identifier is how people and programs write down an agent:
// [prefix://][name/]address, or [prefix://]name. The prefix is the network
// ("agent", "test-agent" or none).
type Identifier struct {
	Prefix, Name string
	Address      Address
}

// ParseIdentifier splits s by the rule of the uAgents library, which refuses
// nothing: what stands last and does not look like an address becomes the name,
// even in place of one that was given ("name/other" has the name "other").
func ParseIdentifier(s string) Identifier {
	var id Identifier
	rest := s
	if prefix, after, found := strings.Cut(rest, "://"); found {
		id.Prefix, rest = prefix, after
	}
	if name, after, found := strings.Cut(rest, "/"); found {
		id.Name, rest = name, after
	}
	if LooksLikeAddress(rest) {
		id.Address = Address(rest)
	} else {
		id.Name = rest
	}
	return id
}

// String writes id so that [ParseIdentifier] gives it back. An odd name or
// address with a slash in it needs a leading slash for that.
func (id Identifier) String() string {
	last := string(id.Address)
	if last == "" {
		last = id.Name
	}
	text := last
	switch {
	case id.Name != "" && id.Address != "":
		text = id.Name + "/" + last
	case strings.Contains(last, "/"):
		text = "/" + last
	}
	if id.Prefix != "" || strings.Contains(text, "://") {
		text = id.Prefix + "://" + text
	}
	return text
}

// parsePublicKey reads the one form of a key that honest peers put into an
// address: 33 bytes, compressed.
func parsePublicKey(data []byte) (*secp256k1.PublicKey, error) {
	if len(data) != secp256k1.PubKeyBytesLenCompressed {
		return nil, malformed("address carries a key of %d bytes, want %d: the compressed form",
			len(data), secp256k1.PubKeyBytesLenCompressed)
	}
	return parseAnyPublicKey(data)
}

// parseAnyPublicKey also reads the other forms that the uAgents library takes:
// 64 bytes (x and y), 65 bytes (uncompressed or hybrid).
func parseAnyPublicKey(data []byte) (*secp256k1.PublicKey, error) {
	if len(data) == secp256k1.PubKeyBytesLenUncompressed-1 {
		data = append([]byte{secp256k1.PubKeyFormatUncompressed}, data...)
	}
	key, err := secp256k1.ParsePubKey(data)
	if err != nil {
		return nil, &fault.Error{Code: fault.Malformed, Text: "address carries no point of the curve", Err: err}
	}
	return key, nil
}
