package keystore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

const (
	keyFolder  = "keys"
	keySuffix  = ".key"
	maxNameLen = 64
)

// A Store is a folder of key files. It holds nothing in memory, so any number
// of goroutines and processes may use one folder.
type Store struct {
	folder     string
	workFactor int // of new encrypted keys; tests take less
}

// Options say how a new key is stored; nil means the defaults.
type Options struct {
	// Passphrase encrypts the key. If it is empty the key is stored as it is,
	// readable for whoever can read the file.
	Passphrase string
}

// An Entry is what can be known of a stored key without its passphrase.
type Entry struct {
	Name      string
	Address   identity.Address
	Encrypted bool
	Path      string // of the file
}

// Open returns the store in the subfolder keys of dir. Folders that are missing
// are made, for the owner only; a folder that is open to others is refused.
func Open(dir string) (*Store, error) {
	folder := filepath.Join(dir, keyFolder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fault.In("", err)
	}
	info, err := os.Stat(folder)
	if err != nil {
		return nil, fault.In("", err)
	}
	if err := checkMode(folder, info, "700"); err != nil {
		return nil, err
	}
	if err := syncFolder(dir); err != nil {
		return nil, fault.In("", err)
	}
	return &Store{folder: folder, workFactor: maxWorkFactor}, nil
}

// New makes a random key and stores it.
func (s *Store) New(name string, options *Options) (Entry, error) {
	key, err := identity.Generate()
	if err != nil {
		return Entry{}, fault.In("", err)
	}
	return s.Put(name, key, options)
}

// Put stores a key under a new name. If the name is taken the error is
// [fault.Conflict] and nothing has changed.
func (s *Store) Put(name string, key *identity.Key, options *Options) (Entry, error) {
	if err := checkName(name); err != nil {
		return Entry{}, err
	}
	// Only creating the file decides; this spares the work of encrypting in vain.
	if _, err := os.Lstat(s.path(name)); err == nil {
		return Entry{}, s.conflict(name)
	}
	var passphrase string
	if options != nil {
		passphrase = options.Passphrase
	}
	file, err := newKeyFile(key, passphrase, s.workFactor)
	if err != nil {
		return Entry{}, fault.In("", err)
	}
	switch err := createFile(s.path(name), file.encode()); {
	case errors.Is(err, fs.ErrExist):
		return Entry{}, s.conflict(name)
	case err != nil:
		return Entry{}, fault.In("", err)
	}
	return s.entry(name, file), nil
}

// Get returns a stored key. The passphrase is not looked at if the key is not
// encrypted. The error is [fault.NotFound] for a name without a file,
// [fault.Unverified] for a wrong or missing passphrase, and [fault.Malformed]
// for a file that is damaged or open to others.
func (s *Store) Get(name, passphrase string) (*identity.Key, error) {
	file, err := s.read(name)
	if err != nil {
		return nil, err
	}
	key, err := file.open(passphrase)
	if err != nil {
		return nil, named(s.path(name), err)
	}
	return key, nil
}

// Find returns what can be known of a stored key without its passphrase. The
// errors are those of [Store.Get].
func (s *Store) Find(name string) (Entry, error) {
	file, err := s.read(name)
	if err != nil {
		return Entry{}, err
	}
	return s.entry(name, file), nil
}

// List returns all entries, sorted by name. Files that cannot be read do not
// hide the others: those are returned together with an error that names each.
func (s *Store) List() ([]Entry, error) {
	files, err := os.ReadDir(s.folder)
	if err != nil {
		return nil, fault.In("", err)
	}
	var entries []Entry
	var broken []error
	for _, file := range files {
		name, isKey := strings.CutSuffix(file.Name(), keySuffix)
		if !isKey || checkName(name) != nil {
			continue // such as what a crash left of a file being written
		}
		entry, err := s.Find(name)
		switch fault.CodeOf(err) {
		case "":
			entries = append(entries, entry)
		case fault.NotFound: // removed since the folder was read
		default:
			broken = append(broken, err)
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, errors.Join(broken...)
}

// Remove deletes a stored key for good. The error is [fault.NotFound] if there
// is none.
func (s *Store) Remove(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	switch err := os.Remove(s.path(name)); {
	case errors.Is(err, fs.ErrNotExist):
		return s.notFound(name)
	case err != nil:
		return fault.In("", err)
	}
	return fault.In("", syncFolder(s.folder))
}

// read returns the key file of a name, checked as far as is possible without a
// passphrase.
func (s *Store) read(name string) (*keyFile, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	content, err := readFile(s.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.notFound(name)
	}
	if err != nil {
		return nil, fault.In("", err)
	}
	file, err := decodeKeyFile(content)
	if err != nil {
		return nil, named(s.path(name), err)
	}
	return file, nil
}

func (s *Store) path(name string) string { return filepath.Join(s.folder, name+keySuffix) }

func (s *Store) entry(name string, file *keyFile) Entry {
	return Entry{Name: name, Address: file.Address, Encrypted: len(file.Encrypted) > 0, Path: s.path(name)}
}

func (s *Store) conflict(name string) error {
	return fault.Errorf(fault.Conflict, "name", "%s exists already", s.path(name))
}

func (s *Store) notFound(name string) error {
	return fault.Errorf(fault.NotFound, "name", "no key %q in %s", name, s.folder)
}

// named says in which file something was wrong.
func named(path string, err error) error {
	inner, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return fault.In("", err)
	}
	outer := *inner
	outer.Text = path + ": " + inner.Text
	return &outer
}

// checkName keeps names to what is one plain file on every system, and visible
// to people who look into the folder.
func checkName(name string) error {
	switch {
	case name == "":
		return badName(name, "it is empty")
	case len(name) > maxNameLen:
		return badName(strings.ToValidUTF8(name[:maxNameLen], "")+"…", "it has over 64 bytes")
	case name[0] == '.':
		return badName(name, "it starts with a dot")
	case strings.ContainsAny(name, `/\:`):
		return badName(name, "it contains a separator")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return badName(name, "it contains what cannot be printed")
	}
	return nil
}

func badName(name, why string) error {
	return fault.Errorf(fault.Malformed, "name", "%q cannot name a key: %s", name, why)
}
