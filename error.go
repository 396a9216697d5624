package parley

import (
	"errors"
	"time"

	"github.com/parley-agents/parley/fault"
)

// Error is an error with a code that a peer may see. A handler that returns one
// sends it to the peer; every other error goes out as "internal error", with
// the details in the log only.
type Error = fault.Error

// Code says in one word why something failed.
type Code = fault.Code

// Errorf builds an [Error] for a peer. Like fmt.Errorf, it keeps what %w wraps.
func Errorf(code Code, format string, args ...any) *Error {
	return fault.Errorf(code, "", format, args...)
}

// RetryAfter is returned by a handler that wants to be run again with the same
// message, after a while. After five times the message becomes a dead letter.
func RetryAfter(d time.Duration) error { return &retryError{after: d} }

type retryError struct{ after time.Duration }

func (e *retryError) Error() string {
	return "the handler asks to be run again after " + e.after.String()
}

// IsRetry reports whether an error asks to run the handler again, for those who
// handle the errors of others.
func IsRetry(err error) bool {
	_, ok := asRetry(err)
	return ok
}

func asRetry(err error) (*retryError, bool) { return errors.AsType[*retryError](err) }
