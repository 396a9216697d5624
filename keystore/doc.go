// Package keystore keeps the private keys of agents in files that only their
// owner can read.
//
//	store, err := keystore.Open("data")
//	entry, err := store.New("hello", &keystore.Options{Passphrase: passphrase})
//	key, err := store.Get("hello", passphrase)
//
// Each key is one small JSON file, data/keys/hello.key, with its address and
// the private key. With a passphrase the private key is encrypted with age, and
// the address can still be read without it.
//
// # Where to read
//
// store.go is what callers use, file.go the form of a key file, disk.go the way
// to and from the disk. peer.go reads the key file of uAgents.
//
// # Guarantees
//
// A key is on the disk when New or Put returns. No crash leaves half a key file,
// and no call ever overwrites one: of two processes that create the same name,
// one succeeds and the other gets a conflict. Files that others may read
// are refused. No error shows a secret.
package keystore
