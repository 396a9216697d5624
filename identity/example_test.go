package identity_test

import (
	"crypto/sha256"
	"fmt"

	"github.com/parley-agents/parley/identity"
)

// The same phrase gives the same agent, here and with uAgents.
func ExampleFromSeed() {
	key, err := identity.FromSeed("alice recovery phrase", 0)
	if err != nil {
		panic(err)
	}
	fmt.Println(key.Address())
	fmt.Printf("a key shows no secret: %+v\n", struct{ Owner *identity.Key }{key})

	_, err = identity.FromSeed("alice recovery phrase", 256)
	fmt.Println(err)
	// Output:
	// agent1qww3ju3h6kfcuqf54gkghvt2pqe8qp97a7nzm2vp8plfxflc0epzcjsv79t
	// a key shows no secret: {Owner:agent1qww3ju3h6kfcuqf54gkghvt2pqe8qp97a7nzm2vp8plfxflc0epzcjsv79t}
	// malformed: index: 256 is not within 0 to 255
}

// Whoever knows the address can check the signature.
func ExampleVerify() {
	key, err := identity.FromSeed("alice recovery phrase", 0)
	if err != nil {
		panic(err)
	}
	signature := key.Sign([]byte("pay 5 to Bob"))

	right := sha256.Sum256([]byte("pay 5 to Bob"))
	fmt.Println(identity.Verify(key.Address(), right[:], signature))

	wrong := sha256.Sum256([]byte("pay 500 to Bob"))
	fmt.Println(identity.Verify(key.Address(), wrong[:], signature))
	// Output:
	// <nil>
	// unverified: signature: Signature verification failed
}

// A node has one verifier for all that arrives. It becomes faster for those who
// write often.
func ExampleVerifier() {
	verifier := identity.NewVerifier(nil)
	key, err := identity.FromSeed("alice recovery phrase", 0)
	if err != nil {
		panic(err)
	}
	for i := range 100 {
		digest := sha256.Sum256(fmt.Appendf(nil, "message %d", i))
		if err := verifier.Verify(key.Address(), digest[:], key.SignDigest(digest)); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(verifier.Verify("agent1qtypo", nil, ""))
	// Output: malformed: sender: Unable to decode value
}

func ExampleParseAddress() {
	address, err := identity.ParseAddress("agent1qww3ju3h6kfcuqf54gkghvt2pqe8qp97a7nzm2vp8plfxflc0epzcjsv79t")
	fmt.Println(address.IsUser(), err)

	_, err = identity.ParseAddress("agent1qww3ju3h6kfcuqf54gkghvt2pqe8qp97a7nzm2vp8plfxflc0epzcjsv79q")
	fmt.Println(err)
	// Output:
	// false <nil>
	// malformed: Unable to decode value
}

func ExampleParseIdentifier() {
	for _, text := range []string{
		"test-agent://weather/agent1qww3ju3h6kfcuqf54gkghvt2pqe8qp97a7nzm2vp8plfxflc0epzcjsv79t",
		"agent://weather.agent",
	} {
		id := identity.ParseIdentifier(text)
		fmt.Printf("network %q, name %q, address %q\n", id.Prefix, id.Name, id.Address)
	}
	// Output:
	// network "test-agent", name "weather", address "agent1qww3ju3h6kfcuqf54gkghvt2pqe8qp97a7nzm2vp8plfxflc0epzcjsv79t"
	// network "agent", name "weather.agent", address ""
}
