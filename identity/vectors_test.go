package identity_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/vectors"
)

// TestIdentityVectors holds keys, addresses and identifiers against those of
// the uAgents library.
func TestIdentityVectors(t *testing.T) {
	vectors.Load(t, "identities.json").Run(t, map[string]vectors.Check{
		"identities":       checkIdentities,
		"wallets":          checkWallets,
		"index_errors":     checkIndexErrors,
		"parse_identifier": checkIdentifiers,
	})
}

func checkIdentities(t *testing.T, text json.RawMessage) {
	type vector struct {
		Seed       string
		SeedHex    string `json:"seed_utf8_hex"`
		Index      int
		PrivateKey string `json:"private_key_hex"`
		PublicKey  string `json:"public_key_compressed_hex"`
		Address    string
		Mainnet    string `json:"agent_identifier_mainnet"`
		Testnet    string `json:"agent_identifier_testnet"`
	}
	vectors.Cases(t, text, func(v vector) string { return v.Address }, func(t *testing.T, v vector) {
		if got := hex.EncodeToString([]byte(v.Seed)); got != v.SeedHex {
			t.Fatalf("the vector's own seed is %s, want %s", got, v.SeedHex)
		}

		key, err := identity.FromSeed(v.Seed, v.Index)

		if err != nil {
			t.Fatal(err)
		}
		compare(t, "private key", key.Expose(), v.PrivateKey)
		compare(t, "public key", hex.EncodeToString(key.PublicKey()), v.PublicKey)
		compare(t, "address", string(key.Address()), v.Address)
		compare(t, "mainnet", identity.Identifier{Prefix: "agent", Address: key.Address()}.String(), v.Mainnet)
		compare(t, "testnet", identity.Identifier{Prefix: "test-agent", Address: key.Address()}.String(), v.Testnet)
		if _, err := identity.ParseAddress(v.Address); err != nil {
			t.Errorf("ParseAddress: %v", err)
		}
	})
}

func checkWallets(t *testing.T, text json.RawMessage) {
	type vector struct {
		Seed       string
		Index      int
		PrivateKey string `json:"private_key_hex"`
		Wallet     string `json:"wallet_address"`
	}
	vectors.Cases(t, text, func(v vector) string { return v.Wallet }, func(t *testing.T, v vector) {
		key, err := identity.WalletFromSeed(v.Seed, v.Index)

		if err != nil {
			t.Fatal(err)
		}
		compare(t, "private key", key.Expose(), v.PrivateKey)
		compare(t, "wallet address", key.WalletAddress(), v.Wallet)
	})
}

func checkIndexErrors(t *testing.T, text json.RawMessage) {
	type vector struct {
		Index              int
		OK                 bool
		Exception, Message string
	}
	for _, v := range vectors.Decode[[]vector](t, text) {
		if _, err := identity.FromSeed("x", v.Index); (err == nil) != v.OK {
			t.Errorf("FromSeed with index %d: %v, want ok = %v", v.Index, err, v.OK)
		}
	}
}

func checkIdentifiers(t *testing.T, text json.RawMessage) {
	type vector struct {
		Identifier, Prefix, Name string
		Address                  identity.Address
		Valid                    bool `json:"is_valid_address(whole)"`
		User                     bool `json:"is_user_address(whole)"`
	}
	vectors.Cases(t, text, func(v vector) string { return v.Identifier }, func(t *testing.T, v vector) {
		id := identity.ParseIdentifier(v.Identifier)

		if want := (identity.Identifier{Prefix: v.Prefix, Name: v.Name, Address: v.Address}); id != want {
			t.Errorf("ParseIdentifier = %#v, want %#v", id, want)
		}
		if got := identity.LooksLikeAddress(v.Identifier); got != v.Valid {
			t.Errorf("LooksLikeAddress = %v, want %v", got, v.Valid)
		}
		if got := identity.Address(v.Identifier).IsUser(); got != v.User {
			t.Errorf("IsUser = %v, want %v", got, v.User)
		}
	})
}

// TestSignatureVectors holds signing and verifying against the uAgents library.
func TestSignatureVectors(t *testing.T) {
	vectors.Load(t, "signatures.json").Run(t, map[string]vectors.Check{
		"sign_digest":  checkSignDigest,
		"sign_data":    checkSignData,
		"verify_cases": checkVerify,
	})
}

func checkSignDigest(t *testing.T, text json.RawMessage) {
	type vector struct {
		Seed          string
		Index         int
		Address       identity.Address
		Digest        string `json:"digest_hex"`
		Signature     string
		Raw           string          `json:"signature_raw_hex_r_s"`
		LowS          bool            `json:"s_is_low"`
		Second        string          `json:"second_signature_same_input"`
		Deterministic bool            `json:"library_is_deterministic"`
		Negated       string          `json:"same_signature_with_s_negated"`
		RFC6979       string          `json:"rfc6979_sha256_signature_for_reference"`
		Verify        map[string]bool `json:"verify"`
	}
	vectors.Cases(t, text, func(v vector) string { return v.Digest }, func(t *testing.T, v vector) {
		key, err := identity.FromSeed(v.Seed, v.Index)
		if err != nil {
			t.Fatal(err)
		}
		digest := unhex(t, v.Digest)

		for name, signature := range map[string]string{
			"signature": v.Signature, "second": v.Second, "s_negated": v.Negated, "rfc6979": v.RFC6979,
		} {
			if err := verifyAllWays(t, v.Address, digest, signature); (err == nil) != v.Verify[name] {
				t.Errorf("%s: %v, want ok = %v", name, err, v.Verify[name])
			}
		}
		raw := rawSignature(t, v.Signature)
		compare(t, "r and s", hex.EncodeToString(raw), v.Raw)
		compare(t, "r and s written again", identity.EncodeBech32("sig", raw), v.Signature)
		if got := bytes.Equal(raw, lowS(raw)); got != v.LowS {
			t.Errorf("s is low: %v, want %v", got, v.LowS)
		}
		negated := rawSignature(t, v.Negated)
		if r, err := identity.SignatureR(v.Negated); err != nil || !bytes.Equal(r[:], raw[:32]) {
			t.Errorf("SignatureR = %x, %v, want %x", r, err, raw[:32])
		}
		if bytes.Equal(negated[32:], raw[32:]) || !bytes.Equal(lowS(negated), lowS(raw)) {
			t.Error("negating s must give the other s")
		}
		ours := rawSignature(t, key.SignDigest([32]byte(digest)))
		compare(t, "our signature", hex.EncodeToString(ours), hex.EncodeToString(lowS(rawSignature(t, v.RFC6979))))
	})
}

func checkSignData(t *testing.T, text json.RawMessage) {
	type vector struct {
		Seed     string
		Index    int
		Address  identity.Address
		Data     string `json:"data_hex"`
		Sum      string `json:"sha256_of_data_hex"`
		Sign     string
		Verifies bool   `json:"verify_against_sha256"`
		Base64   string `json:"sign_b64"`
		LowS     bool   `json:"sign_b64_is_low_s"`
	}
	vectors.Cases(t, text, func(v vector) string { return v.Sum }, func(t *testing.T, v vector) {
		key, err := identity.FromSeed(v.Seed, v.Index)
		if err != nil {
			t.Fatal(err)
		}
		data, sum := unhex(t, v.Data), unhex(t, v.Sum)
		theirs := unbase64(t, v.Base64)
		if got := bytes.Equal(theirs, lowS(theirs)); got != v.LowS {
			t.Errorf("s of the library is low: %v, want %v", got, v.LowS)
		}

		ours := unbase64(t, key.SignBase64(data))

		for name, signature := range map[string]string{
			"their Sign":       v.Sign,
			"their SignBase64": identity.EncodeBech32("sig", theirs),
			"our Sign":         key.Sign(data),
			"our SignBase64":   identity.EncodeBech32("sig", ours),
		} {
			if err := verifyAllWays(t, v.Address, sum, signature); (err == nil) != v.Verifies {
				t.Errorf("%s: %v, want ok = %v", name, err, v.Verifies)
			}
		}
		if !bytes.Equal(ours, lowS(ours)) {
			t.Error("our SignBase64 has a high s")
		}
	})
}

// peerTexts are the texts of the uAgents library that our errors repeat, with
// our code. Its other texts show the insides of Python.
var peerTexts = map[string]fault.Code{
	"Unable to decode value":         fault.Malformed,
	"Unable to convert value":        fault.Malformed,
	"Unable to decode agent address": fault.Malformed,
	"Unable to decode signature":     fault.Malformed,
	"Signature verification failed":  fault.Unverified,
}

// checkVerify: the lenient verifier agrees with the library on everything, the
// strict one on everything but the named leniencies, which it refuses.
func checkVerify(t *testing.T, text json.RawMessage) {
	type vector struct {
		Case      string
		Address   identity.Address
		Digest    string `json:"digest_hex"`
		Signature string
		Outcome   struct {
			OK, Result         bool
			Exception, Message string
		}
	}
	lenient := identity.NewVerifier(&identity.VerifierOptions{Lenient: true, After: 1})
	vectors.Cases(t, text, func(v vector) string { return v.Case }, func(t *testing.T, v vector) {
		digest := unhex(t, v.Digest)
		if v.Outcome.OK != v.Outcome.Result {
			t.Fatal("the library never answers false")
		}

		for range 3 { // new, known, by table
			err := lenient.Verify(v.Address, digest, v.Signature)
			judge(t, "lenient", err, v.Outcome.OK, v.Outcome.Message)
		}
		err := verifyAllWays(t, v.Address, digest, v.Signature)
		if isLeniency(string(v.Address), v.Signature) {
			judge(t, "strict on a leniency", err, false, "")
		} else {
			judge(t, "strict", err, v.Outcome.OK, v.Outcome.Message)
		}
	})
}

// isLeniency names what the library takes and strict verification does not.
func isLeniency(address, signature string) bool {
	if address != strings.ToLower(address) || signature != strings.ToLower(signature) {
		_, _, errA := identity.DecodeBech32Lenient(address)
		_, _, errS := identity.DecodeBech32Lenient(signature)
		return errA == nil && errS == nil
	}
	prefix, key, err := identity.DecodeBech32(address)
	return err == nil && prefix == "agent" && (len(key) == 64 || len(key) == 65)
}

// judge compares an error with the library's verdict, code and text.
func judge(t *testing.T, who string, err error, ok bool, text string) {
	t.Helper()
	if (err == nil) != ok {
		t.Errorf("%s: %v, want ok = %v (%s)", who, err, ok, text)
		return
	}
	if ok {
		return
	}
	got, isFault := errors.AsType[*fault.Error](err)
	if !isFault {
		t.Fatalf("%s: %v is no *fault.Error", who, err)
	}
	code, known := peerTexts[text]
	if !known {
		code, text = fault.Malformed, got.Text
	}
	if got.Code != code || got.Text != text {
		t.Errorf("%s: %s %q, want %s %q", who, got.Code, got.Text, code, text)
	}
}

// TestDigestVectors checks the addresses of the example programs, which are made
// from seeds of the same name.
func TestDigestVectors(t *testing.T) {
	file := vectors.Load(t, "digests.json")
	text, present := file["addresses"]
	if !present {
		t.Skip("the file has no addresses")
	}
	for seed, want := range vectors.Decode[map[string]identity.Address](t, text) {
		key, err := identity.FromSeed(seed, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := key.Address(); got != want {
			t.Errorf("seed %q has the address %s, want %s", seed, got, want)
		}
	}
}
