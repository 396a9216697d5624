package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strconv"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"golang.org/x/crypto/ripemd160" //lint:ignore SA1019 the ledger's addresses are made with it

	"github.com/parley-agents/parley/fault"
)

// A Key is a private key of secp256k1: what signs for one [Address]. It comes
// from [Generate], [FromSeed], [WalletFromSeed] or [ParseKey], never changes and
// may be used by many goroutines. The zero Key signs nothing: it panics.
//
// However a Key is printed, logged or encoded, alone or inside other values,
// its address is all that can be seen. [Key.Expose] is the one way to the
// secret, so that a search for that word finds every place where it is read.
type Key struct {
	address Address
	public  [secp256k1.PubKeyBytesLenCompressed]byte

	// secret is a function because fmt and other printers that work by
	// reflection do not call the methods of unexported fields, but print what
	// they find there; of a function they can only print where it is.
	secret func() *secp256k1.PrivateKey
}

// Generate returns a new random key.
func Generate() (*Key, error) {
	private, err := secp256k1.GeneratePrivateKeyFromRand(rand.Reader)
	if err != nil {
		return nil, err
	}
	return newKey(private.Serialize())
}

// FromSeed derives an agent's key from a phrase, as uAgents does: the same
// phrase and index give the same address there. The phrase is taken as it is,
// byte for byte. The index is 0 to 255; an agent made from a seed has 0.
func FromSeed(seed string, index int) (*Key, error) { return derive(agentPrefix, seed, index) }

// WalletFromSeed derives the key of the wallet on the Fetch ledger that belongs
// to a phrase; see [Key.WalletAddress].
func WalletFromSeed(seed string, index int) (*Key, error) { return derive(walletPrefix, seed, index) }

func derive(purpose, seed string, index int) (*Key, error) {
	if index < 0 || index > 255 {
		return nil, fault.Errorf(fault.Malformed, "index", "%d is not within 0 to 255", index)
	}
	path := sha256.Sum256(append([]byte(purpose), byte(index)))
	phrase := sha256.Sum256([]byte(seed))
	secret := sha256.Sum256(append(path[:], phrase[:]...))
	return newKey(secret[:])
}

// ParseKey reads a private key of 64 hex digits, as [Key.Expose] writes it.
// Its error does not show the digits.
func ParseKey(digits string) (*Key, error) {
	secret, err := hex.DecodeString(digits)
	if err != nil || len(secret) != secp256k1.PrivKeyBytesLen {
		return nil, malformed("not a private key: want %d hex digits", 2*secp256k1.PrivKeyBytesLen)
	}
	return newKey(secret)
}

func newKey(secret []byte) (*Key, error) {
	var scalar secp256k1.ModNScalar
	if overflow := scalar.SetByteSlice(secret); overflow || scalar.IsZero() {
		return nil, malformed("not a private key: zero, or not below the order of the group")
	}
	private := secp256k1.NewPrivateKey(&scalar)
	key := &Key{secret: func() *secp256k1.PrivateKey { return private }}
	key.public = [secp256k1.PubKeyBytesLenCompressed]byte(private.PubKey().SerializeCompressed())
	key.address = Address(EncodeBech32(agentPrefix, key.public[:]))
	return key, nil
}

// Address returns the address that others know the key by.
func (k Key) Address() Address { return k.address }

// PublicKey returns the public key in its compressed form, 33 bytes.
func (k Key) PublicKey() []byte { return k.public[:] }

// WalletAddress returns the address of the key on the Fetch ledger ("fetch1…").
func (k Key) WalletAddress() string {
	sum := sha256.Sum256(k.public[:])
	hash := ripemd160.New()
	hash.Write(sum[:])
	return EncodeBech32(walletPrefix, hash.Sum(nil))
}

// SignDigest signs a digest. Signatures are deterministic (RFC 6979), and s is
// the lower of the two values that are valid.
func (k Key) SignDigest(digest [sha256.Size]byte) string {
	return EncodeBech32(signaturePrefix, k.sign(digest))
}

// Sign signs the SHA-256 of data, in the form of [Key.SignDigest].
func (k Key) Sign(data []byte) string { return k.SignDigest(sha256.Sum256(data)) }

// SignBase64 signs the SHA-256 of data and writes r and s in standard base64,
// as the services of the Fetch ledger want it.
func (k Key) SignBase64(data []byte) string {
	return base64.StdEncoding.EncodeToString(k.sign(sha256.Sum256(data)))
}

// sign returns r and s, 32 bytes each.
func (k Key) sign(digest [sha256.Size]byte) []byte {
	var e secp256k1.ModNScalar
	e.SetBytes(&digest) // RFC 6979 takes the digest modulo n, the library as it is
	reduced := e.Bytes()
	signature := ecdsa.Sign(k.secret(), reduced[:])
	r, s := signature.R(), signature.S()
	var raw [signatureBytes]byte
	r.PutBytesUnchecked(raw[:signatureBytes/2])
	s.PutBytesUnchecked(raw[signatureBytes/2:])
	return raw[:]
}

// Expose returns the private key as 64 hex digits. Whoever has them is the agent.
func (k Key) Expose() string { return hex.EncodeToString(k.secret().Serialize()) }

// String returns the address.
func (k Key) String() string { return string(k.address) }

// GoString returns the address.
func (k Key) GoString() string { return string(k.address) }

// Format writes the address for every verb, in quotes for %q. Flags and width
// are ignored.
func (k Key) Format(f fmt.State, verb rune) {
	text := string(k.address)
	if verb == 'q' {
		text = strconv.Quote(text)
	}
	io.WriteString(f, text)
}

// MarshalText returns the address; a key cannot be read back from it.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.address), nil }

// MarshalJSON returns the address; a key cannot be read back from it.
func (k Key) MarshalJSON() ([]byte, error) { return json.Marshal(string(k.address)) }

// LogValue logs the address.
func (k Key) LogValue() slog.Value { return slog.StringValue(string(k.address)) }
