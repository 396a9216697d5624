// Package spec holds a protocol as data: its types, its messages, who sends
// them and what may answer what.
//
// A [Protocol] has messages, and a [Message] has a body, which is a [Type]:
// mostly a [*Record] of fields. Three ways lead to the data. It is written by
// hand, or read from Go structs by [FromGo], or from what a Python agent
// publishes by [ParseSchema] and [ParseManifest]:
//
//	weather, err := spec.FromGo[Weather]()
//	theirs, err := spec.ParseManifest(text)
//
// Everything else is derived from it. For Python agents that is the JSON Schema
// of a message, its digest, the manifest of a protocol and the protocol's digest
// for a role:
//
//	digest, err := spec.Digest(weather)         // "model:…"
//	protocol, err := theirs.Digest("requester") // "proto:…"
//
// # What digests promise
//
// Two agents understand each other if their digests are equal, and a digest is
// the hash of a text. So the text must be the one that the Python library
// (pydantic v1) writes for the same model, with its quirks. Where a peer's
// schema could not be written again with the same digest, reading it is an error
// with the code [fault.Unsupported] that names the part; nothing is lost
// silently.
//
// # Where to read
//
// spec.go has protocols, type.go the types. schema.go and schema_type.go write
// a schema, schema_parse.go and schema_parse_type.go read one; manifest.go does
// both for manifests. gotype.go, gokind.go and tag.go read Go structs.
//
// The package is pure: no I/O, no clock, no goroutine.
package spec
