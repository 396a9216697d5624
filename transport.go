package parley

import (
	"context"
	"iter"

	"github.com/parley-agents/parley/identity"
)

// A Frame is one message as a transport carries it: bytes that only a dialect
// understands, and what the connection knows about them.
type Frame struct {
	Body []byte

	// Sync says that the sender waits on the connection for the reply.
	Sync bool

	// Peer names the other end, such as a network address. It is for limits and
	// logs; it proves nothing.
	Peer string

	// Deduplicates says that the other end drops what it has seen, so that
	// sending again after an ambiguous failure is safe.
	Deduplicates bool
}

// A Transport carries frames between nodes. It never opens, signs, retries or
// stores one.
//
// Implementations must pass transporttest.Run.
type Transport interface {
	// Send hands a frame to the endpoint and returns once the other end has
	// taken it over; for a Sync frame it returns the reply, with an empty Body
	// if there is none. Errors are [*DeliveryError]s: Unavailable if the frame was
	// certainly not taken, Unknown if that cannot be told, Refused if the other
	// end said no.
	Send(ctx context.Context, endpoint string, f Frame) (Frame, error)

	// Serve calls deliver, possibly concurrently, for each frame that arrives.
	// It returns nil once ctx ends and all deliver calls have returned.
	Serve(ctx context.Context, deliver Deliver) error

	// Reaches reports whether Send understands the endpoint.
	Reaches(endpoint string) bool
}

// Deliver takes over one frame: once it has returned without error, the message
// is stored. The returned frame is the reply to a Sync frame. An error is a
// [*Error], which the transport reports to the sender by the means it has.
type Deliver func(ctx context.Context, f Frame) (Frame, error)

// A Host is what a transport with a public face, such as HTTP, may tell and
// serve besides frames.
type Host interface {
	// Agent returns what may be told about an agent that is served here.
	Agent(address identity.Address) (AgentInfo, bool)

	// Agents lists all of them, in the order in which they were added.
	Agents() iter.Seq[AgentInfo]

	// Routes returns the HTTP routes that agents have for a method and a path.
	Routes(method, path string) []Route

	// Ready reports whether messages are taken: started, and not stopping.
	Ready() bool

	// Messages returns the latest messages of an agent, oldest first.
	Messages(ctx context.Context, agent identity.Address, limit int) ([]LogRecord, error)
}

// A HostedTransport wants to know its host before it serves.
type HostedTransport interface {
	Transport
	Attach(Host)
}

// AgentInfo is what may be told about an agent.
type AgentInfo struct {
	Name      string
	Address   identity.Address
	Endpoints []Endpoint
	Protocols []string // digests
}

// An Endpoint is where an agent can be reached. Of several, senders try the
// heavier ones first more often.
type Endpoint struct {
	URL    string
	Weight int
}

// A Route is a typed HTTP endpoint of an agent, beside the one for envelopes.
type Route struct {
	Agent  identity.Address
	Method string // GET or POST
	Path   string

	// Serve answers a request body with a response body, both JSON. A GET has
	// no request body. An error with code Malformed blames the request.
	Serve func(ctx context.Context, body []byte) ([]byte, error)
}

// A DeliveryError says why a frame did not get through.
type DeliveryError struct {
	Code     Code // Unavailable, Unknown or Refused
	Endpoint string
	Status   int    // of HTTP; 0 if there was no answer
	Text     string // what the other end said, or the failure of the connection
}

func (e *DeliveryError) Error() string {
	if e.Endpoint == "" {
		return string(e.Code) + ": " + e.Text
	}
	return string(e.Code) + ": " + e.Endpoint + ": " + e.Text
}
