// Package quota limits how often each sender may send each kind of message, and
// who may send at all. It is middleware of an agent:
//
//	limits, err := quota.New(quota.Rules{Messages: map[string]quota.Rule{
//		"ContextPrompt": {Limit: quota.PerHour(6)},
//	}})
//	agent.Use(limits.Middleware())
//
// The rule of the window and the texts that a sender gets are those of the
// QuotaProtocol of the Python library.
//
// # Guarantees
//
// A message is counted before its handler runs, in the agent's store, so a
// handler that fails has been paid for, one that takes long does not hold up the
// counting, and the count survives a restart. A message that is handled again,
// after a crash or because of a conflict, is not counted again. Refused messages
// are not counted.
package quota

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/spec"
)

// A Quota enforces rules. It is made by [New].
type Quota struct {
	// Now tells the time, which is time.Now unless somebody sets it before use.
	Now func() time.Time

	rules  atomic.Pointer[Rules]
	names  sync.Map               // reflect.Type → messageName
	cursor atomic.Pointer[string] // the key after which to tidy next
}

type messageName struct{ name, title string }

// New makes a quota. Rules that would have no effect are errors.
func New(r Rules) (*Quota, error) {
	q := &Quota{Now: time.Now}
	q.cursor.Store(new(string))
	return q, q.SetRules(r)
}

// SetRules replaces the rules, also while messages are being handled. If they
// have a mistake, the old ones stay.
func (q *Quota) SetRules(r Rules) error {
	if err := r.check(); err != nil {
		return fault.In("quota", err)
	}
	q.rules.Store(&r)
	return nil
}

// Middleware returns what an agent uses. It belongs before other middleware that
// sends or stores, because the count is committed at once.
func (q *Quota) Middleware() parley.Middleware {
	return func(next parley.HandlerFunc) parley.HandlerFunc {
		return func(ctx context.Context, t *parley.Turn, in any) (any, error) {
			if err := q.admit(ctx, t, in); err != nil {
				return nil, err
			}
			return next(ctx, t, in)
		}
	}
}

func (q *Quota) admit(ctx context.Context, t *parley.Turn, in any) error {
	if _, refusal := in.(parley.ErrorMessage); refusal {
		return nil // it is the answer to something, and is never answered
	}
	message, err := q.nameOf(in)
	if err != nil {
		return err
	}
	rule := q.rules.Load().of(message.name)
	if rule.Access.denies(t.Sender) {
		return parley.Errorf(fault.Forbidden, "You are not allowed to access this handler.")
	}
	if rule.Limit == nil || rule.Access.bypasses(t.Sender) {
		return nil
	}
	key := prefix + string(t.Sender)
	ledger, _, err := parley.Load[Ledger](ctx, t, key)
	if err != nil {
		return err
	}
	if ledger == nil {
		ledger = make(Ledger)
		if err := q.tidy(ctx, t); err != nil {
			return err
		}
	}
	turn := t.ID[:min(len(t.ID), 16)]
	if u := ledger[message.name]; u != nil && slices.Contains(u.Turns, turn) {
		return nil // it is handled again
	}
	if !ledger.Add(message.name, *rule.Limit, q.Now()) {
		return parley.Errorf(fault.Unavailable, "Rate limit exceeded for %s. This handler allows for %d calls per %d minutes. Try again later.",
			message.title, rule.Limit.MaxRequests, rule.Limit.WindowMinutes)
	}
	if u := ledger[message.name]; u != nil {
		u.Turns = append(u.Turns[max(0, len(u.Turns)+1-maxTurns):], turn)
	}
	if err := parley.Save(t, key, ledger); err != nil {
		return err
	}
	// A conflict with another message of the same sender is an error here, and
	// the node runs this message again.
	return t.Flush(ctx)
}

// keep is for how long the ledgers of those who do not come back are kept, in case the
// clock is set back.
const keep = 24 * time.Hour

// tidy drops ledgers of which nothing is valid any more: two at most for each new
// one, so that strangers who come once do not fill the store.
func (q *Quota) tidy(ctx context.Context, t *parley.Turn) error {
	const most = 2
	keys, err := t.Keys(ctx, prefix, *q.cursor.Load(), most)
	if err != nil {
		return err
	}
	next := ""
	if len(keys) == most {
		next = keys[most-1]
	}
	q.cursor.Store(&next)
	for _, key := range keys {
		ledger, _, err := parley.Load[Ledger](ctx, t, key)
		if err != nil {
			return err
		}
		if ledger.drop(q.Now().Add(-keep)); len(ledger) == 0 {
			t.Delete(key)
		}
	}
	return nil
}

func (q *Quota) nameOf(in any) (messageName, error) {
	typ := reflect.TypeOf(in)
	if known, ok := q.names.Load(typ); ok {
		return known.(messageName), nil
	}
	record, err := spec.FromGoType(typ)
	if err != nil {
		return messageName{}, fmt.Errorf("quota: %w", err)
	}
	m := messageName{name: record.Name, title: record.Name}
	if record.Title != "" {
		m.title = record.Title
	}
	q.names.Store(typ, m)
	return m, nil
}
