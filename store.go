package parley

import (
	"context"
	"time"

	"github.com/parley-agents/parley/identity"
)

// A Store keeps what must survive a crash: messages that came in and are not
// handled yet, messages that must go out, what has been seen, dialogues,
// key-values, dead letters and the log.
//
// There are no open transactions. [Store.Commit] applies what one step of the
// node changes, atomically and durably; everything else reads what is committed.
// Implementations must pass storetest.Run and be safe for concurrent use.
type Store interface {
	// Commit applies the batches, each of another agent, or nothing of them. It
	// returns when they are on stable storage. If one of the marks exists, nothing
	// is changed and the error is a [*SeenError]. If a dialogue is not at the
	// version that a batch expects, or an inbox ID waits already, the error is an
	// [*Error] with code Conflict.
	Commit(ctx context.Context, batches ...*Batch) error

	// Inbox returns up to limit entries of an agent that are not done and have
	// a Seq greater than after, in order of Seq.
	Inbox(ctx context.Context, agent identity.Address, after int64, limit int) ([]InboxEntry, error)

	// Waiting returns the agents that have inbox entries which are not done.
	Waiting(ctx context.Context) ([]identity.Address, error)

	// Outbox returns up to limit pending entries to one target with a Seq greater
	// than after, in order of Seq.
	Outbox(ctx context.Context, target identity.Address, after int64, limit int) ([]OutboxEntry, error)

	// Targets returns the targets that have pending outbox entries.
	Targets(ctx context.Context) ([]identity.Address, error)

	// OutboxEntry returns an entry by its sender and ID, whatever its state; the
	// error is NotFound if there is none.
	OutboxEntry(ctx context.Context, agent identity.Address, id string) (OutboxEntry, error)

	// Replies returns the outbox entries that answer an inbox entry, whatever
	// their state, in order of Seq.
	Replies(ctx context.Context, agent identity.Address, inbox string) ([]OutboxEntry, error)

	// Dialogue returns a stored dialogue; one that was never stored has Version 0.
	Dialogue(ctx context.Context, agent identity.Address, id string) (DialogueRecord, error)

	// Due returns up to limit dialogues of all agents whose Next is not after the
	// given time, in order of Next.
	Due(ctx context.Context, at time.Time, limit int) ([]DueDialogue, error)

	// Get returns a value; ok is false if the key is not there.
	Get(ctx context.Context, agent identity.Address, key string) (value []byte, ok bool, err error)

	// Keys returns up to limit keys with a prefix that are greater than after, in
	// order of bytes.
	Keys(ctx context.Context, agent identity.Address, prefix, after string, limit int) ([]string, error)

	// Dead returns up to limit dead letters with a Seq greater than after, in
	// order of Seq.
	Dead(ctx context.Context, after int64, limit int) ([]DeadLetter, error)

	// Log returns log records that match the query, in order of Seq.
	Log(ctx context.Context, q LogQuery) ([]LogRecord, error)

	// Trim deletes marks and dialogues that have expired and log records, finished
	// entries and dead letters older than the given time, a bounded number per
	// call; more says that there is more to do.
	Trim(ctx context.Context, now, before time.Time) (more bool, err error)

	Close() error
}

// A Batch is a change of one agent's state. Its parts are applied together, in
// the order of the fields; empty parts and IDs that are not known mean nothing.
type Batch struct {
	Agent identity.Address

	Marks     []Mark           // must be new, or the batch fails with a *SeenError
	Inbox     []InboxEntry     // taken over; Seq is given by the store
	Done      []string         // IDs of inbox entries that are finished
	Retry     []Retry          // inbox entries to be run again later
	Outbox    []OutboxEntry    // to be sent; an ID that exists stays as it is
	Outcomes  []Outcome        // what became of outbox entries
	Bury      []DeadLetter     // dead letters; Seq is given by the store
	Unbury    []int64          // Seq of dead letters that are no longer
	Dialogues []DialogueRecord // at their new version; the stored one must be one less
	Set       []KeyValue
	Delete    []string // keys
	Log       []LogRecord
}

// A Mark remembers an envelope that was taken over, until it has expired.
type Mark struct {
	ID      string
	Inbox   string // the entry that the envelope became
	Expires time.Time
}

// A SeenError says that a batch's mark exists already.
type SeenError struct{ Mark Mark }

func (e *SeenError) Error() string { return "seen before, as " + e.Mark.Inbox }

// An InboxEntry is a message that was taken over and waits to be handled.
type InboxEntry struct {
	Seq      int64
	ID       string
	Dialogue string
	Message  Message
	Attempts int       // how often the handler asked to be run again
	Before   time.Time // not to be run before
}

// A Retry puts an inbox entry back.
type Retry struct {
	ID       string
	Attempts int
	Before   time.Time
}

// An OutboxEntry is a message on its way, sealed once and for all.
type OutboxEntry struct {
	Seq      int64
	ID       string
	InReply  string // ID of the inbox entry that it answers, if it does
	Dialogue string
	Message  Message
	Sealed   []byte // empty for a target in the same node
	Sync     bool   // sent on a connection that waits for the reply
	Repeats  bool   // sending it twice is harmless
	Deadline time.Time
	State    OutboxState
	Attempts int
	Next     time.Time // not to be tried before
	Reason   *DeliveryError
}

// OutboxState is where an outbox entry stands.
type OutboxState uint8

// The states. Pending entries are tried until their deadline; held ones wait for
// somebody to make them pending.
const (
	Pending OutboxState = iota
	Held
	Delivered
	Failed
)

// An Outcome changes the state of an outbox entry.
type Outcome struct {
	ID       string
	State    OutboxState
	Attempts int
	Next     time.Time
	Reason   *DeliveryError
}

// A DeadLetter is a message that was given up: one that could not be delivered,
// or one whose handler never succeeded.
type DeadLetter struct {
	Seq     int64
	Agent   identity.Address
	Time    time.Time
	Inbound bool
	ID      string // of the inbox or outbox entry
	Message Message
	Code    Code
	Reason  string
}

// A DialogueRecord is the state of a dialogue, as text that only the package
// dialogue reads.
type DialogueRecord struct {
	ID      string
	Version int64
	State   []byte
	Next    time.Time // when something is due in it; zero if never
	Expires time.Time // when it may be forgotten; zero if never
}

// A DueDialogue is a dialogue in which something is due.
type DueDialogue struct {
	Agent identity.Address
	ID    string
	Next  time.Time
}

// A KeyValue is one of an agent's own values.
type KeyValue struct {
	Key   string
	Value []byte
}

// A Message is a message with its addresses, as the store and the log keep it.
type Message struct {
	From, To identity.Address
	Session  string
	Schema   string // model digest
	Protocol string // protocol digest, if it was said
	Payload  []byte // JSON
	Proof    Proof
	Expires  time.Time // zero if it does not
	Sync     bool      // the sender waited on the connection
}

// Proof says who vouches for the sender of a message.
type Proof string

// The proofs, from the strongest to none.
const (
	Signed    Proof = "signed"  // the sender's own signature
	ByChannel Proof = "channel" // the connection: the same node, or the answer to our own request
	Unproved  Proof = "none"
)

// A LogRecord is one line of the message log.
type LogRecord struct {
	Seq     int64
	Time    time.Time
	Agent   identity.Address
	Event   string // received, refused, handled, failed, sent, delivered, retried, dead, …
	ID      string
	Message Message
	Detail  string
}

// A LogQuery selects log records: those after a Seq, or with Last the latest
// ones. Empty fields match all.
type LogQuery struct {
	Agent   identity.Address
	Session string
	After   int64
	Limit   int
	Last    bool
}
