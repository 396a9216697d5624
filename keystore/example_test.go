package keystore_test

import (
	"fmt"
	"os"

	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/keystore"
)

// A program opens its store, and makes its key on the first start.
func Example() {
	dir, err := os.MkdirTemp("", "keystore")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store, err := keystore.Open(dir)
	if err != nil {
		panic(err)
	}

	key, err := identity.FromSeed("alice recovery phrase", 0) // or store.New for a random one
	if err != nil {
		panic(err)
	}
	if _, err := store.Put("alice", key, nil); err != nil {
		panic(err)
	}

	again, err := store.Get("alice", "")
	fmt.Println(again, err)
	entries, err := store.List()
	fmt.Println(entries[0].Name, entries[0].Encrypted, err)
	// Output:
	// agent1qww3ju3h6kfcuqf54gkghvt2pqe8qp97a7nzm2vp8plfxflc0epzcjsv79t <nil>
	// alice false <nil>
}

// Agents that ran with uAgents keep their addresses.
func ExampleParsePeerKeys() {
	keys, err := keystore.ParsePeerKeys([]byte(`{
	    "alice": {
	        "identity_key": "df1c5032717b61a1a0bc6b9ddc63dd6714264bc0988b9b33a9931c6b072a9636",
	        "wallet_key": "lXVjF1edq2CKl759ND1tcxWtspMdnoWxAa2ykRurhI0="
	    }
	}`))
	fmt.Println(keys[0].Name, keys[0].Identity, keys[0].Wallet.WalletAddress(), err)

	_, err = keystore.ParsePeerKeys([]byte(`{"alice": {"identity_key": "df1c50"}}`))
	fmt.Println(err)
	// Output:
	// alice agent1qww3ju3h6kfcuqf54gkghvt2pqe8qp97a7nzm2vp8plfxflc0epzcjsv79t fetch1454hu0n9eszzg8p7mvan3ep7484jxl5mkf9phg <nil>
	// malformed: "alice".identity_key: not a private key: want 64 hex digits
}
