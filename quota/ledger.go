package quota

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
)

// prefix is that of the keys under which an agent's store holds the ledgers.
const prefix = "quota/"

// maxTurns bounds the messages of a window that are remembered one by one, so
// that they are not counted twice when they are handled again. It is more than
// an agent handles at once.
const maxTurns = 256

// A Ledger is what one sender has used, by the name of the message.
type Ledger map[string]*Usage

// Usage is what one sender has used of one limit.
type Usage struct {
	WindowStart   int64 `json:"time_window_start"` // seconds since 1970
	WindowMinutes int   `json:"window_size_minutes"`
	Requests      int   `json:"requests"`
	MaxRequests   int   `json:"max_requests"`

	// Turns are the latest messages that were counted.
	Turns []string `json:"turns,omitempty"`
}

// Add counts a message and reports whether the limit allows it. One that it does
// not allow is not counted. Windows of other messages that are over are dropped.
//
// The rule is that of the Python library: whole seconds, and the last second
// belongs to the window.
func (l Ledger) Add(message string, limit Limit, now time.Time) bool {
	second := now.Unix()
	u := l[message]
	switch {
	case u == nil || second-u.WindowStart > int64(limit.WindowMinutes)*60:
		u = &Usage{WindowStart: second}
	case u.Requests >= limit.MaxRequests:
		return false
	}
	u.Requests++
	u.WindowMinutes, u.MaxRequests = limit.WindowMinutes, limit.MaxRequests
	l[message] = u
	l.drop(now)
	return true
}

// drop forgets the windows that are over.
func (l Ledger) drop(now time.Time) {
	for name, u := range l {
		if u == nil || now.Unix()-u.WindowStart > int64(u.WindowMinutes)*60 {
			delete(l, name)
		}
	}
}

// An Entry is what one sender has used of one limit, for those who look.
type Entry struct {
	Agent       identity.Address `json:"agent"`
	Sender      identity.Address `json:"sender"`
	Message     string           `json:"message"`
	Requests    int              `json:"requests"`
	MaxRequests int              `json:"max_requests"`
	Since       time.Time        `json:"since"`
	Until       time.Time        `json:"until"` // the window is open until then
}

// MaxEntries is how many senders [Read] looks at.
const MaxEntries = 1000

// Read returns what the senders of an agent have used in windows that are open
// at the given time, or one sender. More than MaxEntries senders are cut.
func Read(ctx context.Context, store parley.Store, agent, sender identity.Address, now time.Time) ([]Entry, error) {
	keys := []string{prefix + string(sender)}
	if sender == "" {
		var err error
		if keys, err = store.Keys(ctx, agent, prefix, "", MaxEntries); err != nil {
			return nil, err
		}
	}
	var entries []Entry
	for _, key := range keys {
		text, ok, err := store.Get(ctx, agent, key)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		var ledger Ledger
		if err := json.Unmarshal(text, &ledger); err != nil {
			return nil, fmt.Errorf("the value of %q is no ledger: %w", key, err)
		}
		for _, message := range slices.Sorted(maps.Keys(ledger)) {
			u := ledger[message]
			if u == nil {
				continue
			}
			e := Entry{
				Agent: agent, Sender: identity.Address(strings.TrimPrefix(key, prefix)), Message: message, Requests: u.Requests, MaxRequests: u.MaxRequests,
				Since: time.Unix(u.WindowStart, 0).UTC(), Until: time.Unix(u.WindowStart+int64(u.WindowMinutes)*60, 0).UTC(),
			}
			if !now.Truncate(time.Second).After(e.Until) {
				entries = append(entries, e)
			}
		}
	}
	return entries, nil
}
