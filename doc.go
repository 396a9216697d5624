// Package parley lets programs hold signed, rule-bound conversations.
//
// An [Agent] is an identity with typed handlers; a [Node] hosts agents, takes
// over what is sent to them and delivers what they send:
//
//	hello := parley.NewAgent("hello", nil)
//	parley.Handle(hello, func(ctx context.Context, t *parley.Turn, in Greet) (Greeting, error) {
//		return Greeting{Text: "Hello, " + in.Name}, nil
//	})
//	run.Main(hello) // flags, data folder, key, SQLite, HTTP, signals
//
// Handlers of different dialogues run concurrently; [AgentOptions.Serial] is for
// those who want one message at a time.
//
// # The way of a message
//
// receive.go holds the way in, one function per step in the order in which they
// run; deliver.go holds the way out. A step passes the message on or refuses it
// with an [Error], whose [Code] and text the sender sees; a refusal leaves no
// trace but a line in the log.
//
// # Guarantees
//
// A message is stored before it is acknowledged. A handler runs at least once
// per message; what it sends and stores through its [Turn] happens once, in one
// step with the message being done. What it sends is tried until the peer has
// taken it over or its deadline has passed, across restarts, and becomes a dead
// letter if it cannot be delivered. Calls to the outside world are the author's
// to make idempotent, by [Turn.ID].
//
// Transports, stores and resolvers are plugged in by the interfaces
// [Transport], [Store] and [Resolver].
package parley
