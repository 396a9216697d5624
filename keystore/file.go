package keystore

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"filippo.io/age"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

const (
	fileVersion = 1

	// maxWorkFactor is the exponent of scrypt's cost, for writing and the most
	// that is accepted: about a second and 256 MB. A file that asks for more was
	// not written here and would only burn time and memory.
	maxWorkFactor = 18
)

// A keyFile is the content of a file. It has a private key either as it is or
// encrypted.
type keyFile struct {
	Version    int              `json:"version"`
	Address    identity.Address `json:"address"`
	PrivateKey string           `json:"private_key,omitempty"` // 64 hex digits
	Encrypted  []byte           `json:"encrypted,omitempty"`   // an age file with these digits, in base64
}

func newKeyFile(key *identity.Key, passphrase string, workFactor int) (*keyFile, error) {
	file := &keyFile{Version: fileVersion, Address: key.Address()}
	if passphrase == "" {
		file.PrivateKey = key.Expose()
		return file, nil
	}
	recipient, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return nil, err
	}
	recipient.SetWorkFactor(workFactor)
	var encrypted bytes.Buffer
	w, err := age.Encrypt(&encrypted, recipient)
	if err != nil {
		return nil, err
	}
	_, err = io.WriteString(w, key.Expose())
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	file.Encrypted = encrypted.Bytes()
	return file, nil
}

func (f *keyFile) encode() []byte {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		panic(err) // strings, bytes and a number: nothing that can fail
	}
	return append(text, '\n')
}

// decodeKeyFile reads a file as far as is possible without a passphrase. What
// the JSON decoder complains about is not passed on: it may quote the content.
func decodeKeyFile(content []byte) (*keyFile, error) {
	var header struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(content, &header); err != nil || header.Version < 1 {
		return nil, damaged("this is no key file")
	}
	if header.Version > fileVersion {
		return nil, fault.Errorf(fault.Unsupported, "version", "version %d is of a newer Parley, this one reads %d",
			header.Version, fileVersion)
	}
	var file keyFile
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return nil, damaged("this is no key file of version %d", fileVersion)
	}
	if _, err := identity.ParseAddress(string(file.Address)); err != nil || file.Address.IsUser() {
		return nil, damaged("the address in it is not one of an agent")
	}
	if (file.PrivateKey == "") == (len(file.Encrypted) == 0) {
		return nil, damaged("it must have either private_key or encrypted")
	}
	return &file, nil
}

// open returns the key in the file.
func (f *keyFile) open(passphrase string) (*identity.Key, error) {
	digits := f.PrivateKey
	if len(f.Encrypted) > 0 {
		var err error
		if digits, err = decrypt(f.Encrypted, passphrase); err != nil {
			return nil, err
		}
	}
	key, err := identity.ParseKey(digits)
	if err != nil {
		return nil, damaged("what it holds is no private key")
	}
	if key.Address() != f.Address {
		return nil, damaged("the key in it is not that of its address %s", f.Address)
	}
	return key, nil
}

func decrypt(encrypted []byte, passphrase string) (string, error) {
	if passphrase == "" {
		return "", fault.Errorf(fault.Unverified, "passphrase", "the key is encrypted and needs a passphrase")
	}
	id, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return "", err
	}
	id.SetMaxWorkFactor(maxWorkFactor)
	r, err := age.Decrypt(bytes.NewReader(encrypted), id)
	if other, ok := errors.AsType[*age.NoIdentityMatchError](err); ok && slices.Contains(other.StanzaTypes, "scrypt") {
		return "", fault.Errorf(fault.Unverified, "passphrase", "the passphrase is wrong")
	}
	if err != nil {
		return "", damaged("the encrypted key cannot be read: %v", err)
	}
	digits, err := io.ReadAll(io.LimitReader(r, maxFileSize))
	if err != nil {
		return "", damaged("the encrypted key cannot be read: %v", err)
	}
	return string(digits), nil
}

func damaged(format string, args ...any) error {
	return fault.Errorf(fault.Malformed, "", format, args...)
}
