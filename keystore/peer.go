package keystore

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

const (
	maxPeerFile = 1 << 20
	maxPeerKeys = 1000
)

// A PeerKey is what uAgents stores for an agent without a seed.
type PeerKey struct {
	Name     string // as in the file; not every one can name a key of a [Store]
	Identity *identity.Key
	Wallet   *identity.Key // on the Fetch ledger; nil if the file has none
}

// ParsePeerKeys reads a private_keys.json, as uAgents writes it into the working
// directory, and returns the keys in the order of the file. The error is
// [fault.Malformed], or [fault.TooLarge] for over 1 MiB or 1000 agents.
//
// A name that comes twice is refused. Peers take the last one, but here it would
// mean that a key is lost without a word.
func ParsePeerKeys(data []byte) ([]PeerKey, error) {
	if len(data) > maxPeerFile {
		return nil, fault.Errorf(fault.TooLarge, "", "over %d bytes", maxPeerFile)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, notPeerKeys()
	}
	var keys []PeerKey
	seen := map[string]bool{}
	for decoder.More() {
		if len(keys) == maxPeerKeys {
			return nil, fault.Errorf(fault.TooLarge, "", "over %d agents", maxPeerKeys)
		}
		token, err := decoder.Token()
		name, isName := token.(string)
		if err != nil || !isName {
			return nil, notPeerKeys()
		}
		if seen[name] {
			return nil, fault.Errorf(fault.Malformed, quoted(name), "this name comes twice")
		}
		seen[name] = true
		key, err := parsePeerKey(decoder)
		if err != nil {
			return nil, fault.In(quoted(name), err)
		}
		key.Name = name
		keys = append(keys, key)
	}
	if _, err := decoder.Token(); err != nil { // the closing brace
		return nil, notPeerKeys()
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, notPeerKeys()
	}
	return keys, nil
}

func parsePeerKey(decoder *json.Decoder) (PeerKey, error) {
	var digits struct {
		Identity string `json:"identity_key"` // hex
		Wallet   string `json:"wallet_key"`   // base64
	}
	if err := decoder.Decode(&digits); err != nil {
		return PeerKey{}, notPeerKeys()
	}
	var key PeerKey
	var err error
	if key.Identity, err = identity.ParseKey(digits.Identity); err != nil {
		return PeerKey{}, fault.In("identity_key", err)
	}
	if digits.Wallet == "" {
		return key, nil
	}
	if key.Wallet, err = parseWallet(digits.Wallet); err != nil {
		return PeerKey{}, fault.In("wallet_key", err)
	}
	return key, nil
}

// parseWallet reads the key of a wallet, which the peers' ledger library writes
// in base64. Hex, as of the other key, cannot be mistaken for it.
func parseWallet(text string) (*identity.Key, error) {
	if secret, err := base64.StdEncoding.DecodeString(text); err == nil && len(secret) == 32 {
		text = hex.EncodeToString(secret)
	}
	return identity.ParseKey(text)
}

// notPeerKeys does not say what the JSON decoder complained about, which may
// quote the content.
func notPeerKeys() error {
	return damaged(`not a private_keys.json: want {"<name>": {"identity_key": "<hex>", "wallet_key": "<base64>"}}`)
}

// quoted makes a name that may be anything fit for an error.
func quoted(name string) string { return fmt.Sprintf("%.64q", name) }
