package replay

import (
	"fmt"
	"net/http"
	"strings"
)

// Deliberate are all answers that differ from the peers' on purpose, with the
// numbers of the faults that they answer. What they stand for is in
// docs/differences.md.
//
// Of a reply in an envelope, the tests compare what it says.
var Deliberate = Differences{
	"valid async already expired (accepted)": expired,
	"sync expired in the past":               expired,
	"sync after malformed payload": {
		Fault: "U1, U2", Why: "a payload that does not fit harms nobody",
		Check: contains(`{"text": "pong:`),
	},
	"sync unknown schema, expires in 2s": {
		Fault: "U14", Why: "the caller hears at once that nobody handles it",
		Check: contains(`{"error": "no handler for the schema model:`),
	},
	"payload not base64 characters": {
		Fault: "U8", Why: "a payload has one spelling",
		Status: http.StatusBadRequest, Check: contains(`{"error": "expected base64 with padding`),
	},
	"payload bad padding": {
		Fault: "U21", Why: "the request is to blame, not the server",
		Status: http.StatusBadRequest, ContentType: jsonType, Check: contains(`{"error": "expected base64 with padding`),
	},
	"payload base64 of non-utf8": {
		Fault: "U1, U21", Why: "a payload that cannot be read is answered by an ErrorMessage, as one that does not fit",
		Status: http.StatusOK, ContentType: jsonType, Body: "{}",
	},
	"sync sender 'user' literal": {
		Fault: "U8", Why: "an address has a fixed form",
		Status: http.StatusBadRequest, Check: contains(`{"error": "expected an address: `),
	},
	"63-byte signature": {
		Why:  "what is wrong, without the insides of the server",
		Body: `{"error": "signature of 63 bytes, want 64"}`,
	},
	"negative expires": {
		Why:  "no such envelope exists",
		Body: `{"error": "contents do not match envelope schema"}`,
	},

	// Quotas are a protocol of the peer's library, which these agents lack.
	"sync quota 1":                      noQuota,
	"sync quota 2":                      noQuota,
	"sync quota 3 exceeds 2 per minute": noQuota,
	"sync acl default False":            noQuota,

	"REST post invalid json": {
		Why: "the place and the expectation in our words, and without an echo of the request",
		Check: func(body string) error {
			if !strings.HasPrefix(body, `{"loc": ["__root__"], "msg": "expected `) || !strings.HasSuffix(body, `", "type": "value_error.jsondecode"}`) {
				return fmt.Errorf("want a value_error.jsondecode at __root__")
			}
			return nil
		},
	},
	"REST post two errors (last one reported)": {
		Why:  "the first error is reported, as for messages",
		Body: `{"loc": ["name"], "msg": "field required", "type": "value_error.missing"}`,
	},
	"REST datetime in response": allTypes,
	"bureau REST single owner":  allTypes,

	"connect without body":      notConnected,
	"connect missing fields":    notConnected,
	"disconnect missing fields": notConnected,
	"connect from non-loopback": notConnected,
	"messages with X-Forwarded-For": {
		Fault: "U21", Why: "nobody is believed who claims to be a proxy",
		Status: http.StatusForbidden, Body: `{"error": "forbidden"}`,
	},
}

const jsonType = "application/json"

var (
	expired = Difference{
		Fault: "U6", Why: "an expired envelope is no longer meant",
		Status: http.StatusBadRequest, Check: contains(`{"error": "the envelope expired at `),
	}
	noQuota      = Difference{Why: "nobody here handles it", Check: contains(`{"error": "no handler for the schema model:`)}
	allTypes     = Difference{Fault: "U21", Why: "all types encode", Body: `{"at": "2026-01-01T00:00:00+00:00"}`}
	notConnected = Difference{
		Why:    "a page that signs an agent in elsewhere with somebody's token has no place on a public port",
		Status: http.StatusNotFound, Body: `{"error": "not found"}`,
	}
)

func contains(part string) func(string) error {
	return func(body string) error {
		if !strings.Contains(body, part) {
			return fmt.Errorf("want %s…", part)
		}
		return nil
	}
}
