// Package uagents is the dialect of Python's uAgents: a JSON message in a
// signed JSON envelope.
//
// An [Envelope] is opened with a verifier and sealed with a key:
//
//	envelope, err := uagents.Open(body, verifier)
//	payload, err := envelope.DecodePayload()
//	err = codec.Unmarshal(payload, &greet)
//
// A [Codec] reads and writes the payloads of one model, made from a
// [spec.Record]. What it writes is byte for byte what the Python library would
// write for the same value. What it reads must be of the kinds that the model
// says, unless [CodecOptions.Lax] asks for the library's own generosity.
//
// The package is pure: no I/O, no goroutine; the clock and the nonce are handed
// in by the caller.
package uagents
