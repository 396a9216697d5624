// Package identity is who an agent is: a key, the address made from it, and
// signatures that anyone who knows the address can check.
//
//	key, err := identity.Generate()
//	signature := key.Sign([]byte("hello"))
//	digest := sha256.Sum256([]byte("hello"))
//	err = identity.Verify(key.Address(), digest[:], signature)
//
// Keys, addresses and signatures are those of uAgents: secp256k1, SHA-256 and
// bech32. What this package signs, real peers accept, and the other way round.
//
// # Where to read
//
// address.go has the forms in which agents are named, bech32.go their letters,
// key.go the private key. verify.go is one verification from strings to verdict;
// [Verifier] in verifier.go is the same with a memory: by the tables of table.go
// a message of a frequent sender costs less than half.
//
// # Guarantees
//
// A [Key] shows its address however it is printed, logged or encoded; only
// [Key.Expose] gives the secret away. An envelope that does not verify changes
// nothing in a Verifier, and a Verifier never holds more than its limit. The
// verdict of a Verifier is that of the plain verification, always.
//
// The package is pure: no files, no clock, no goroutines, and randomness only
// where a new key or user address is made.
package identity
