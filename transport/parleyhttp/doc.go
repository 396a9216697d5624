// Package parleyhttp carries messages over HTTP as uAgents do, so that agents of
// either kind reach each other.
//
//	transport, err := parleyhttp.New(&parleyhttp.Options{Listen: "0.0.0.0:8000"})
//	…
//	err = transport.Serve(ctx, deliver) // a node does this
//
// # The server
//
// It answers like the peers' server: server.go makes the same checks in the same
// order with the same texts, and routes.go serves the same pages beside /submit.
// What the bytes of a message mean is not known here: the checks of the envelope
// come back from deliver as errors whose text is the peer's already.
//
// Where it differs, it is on purpose: sizes, times, connections and requests have
// limits ([Limits], [Timeouts]), nobody is believed who claims to be a proxy,
// pages that show messages answer this machine only, and every answer says
// "x-parley: 1", which promises that a repeated message is dropped. A refusal
// names its code in the header x-parley-error.
//
// # The client
//
// Send tells apart what failed before the first byte of the request was written
// (unavailable: safe to try again), what failed later (unknown) and what was
// answered. It follows no redirects.
package parleyhttp
