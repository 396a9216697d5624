// Package fault holds the one error type that crosses package and wire
// boundaries.
//
// It is a package of its own, below all others, because a refused signature, a
// payload that does not fit and a full disk all end up in the same place: an
// answer to a peer, a line in the log, the exit code of a command.
package fault

import (
	"errors"
	"fmt"
	"strings"
)

// A Code says in one word why something was refused. Codes travel on the wire
// and are the same in every language, so they are never renamed.
type Code string

const (
	Malformed   Code = "malformed"   // the bytes are not what they should be
	Unverified  Code = "unverified"  // the signature does not belong to the sender
	TooLarge    Code = "too_large"   // over a limit of size, nesting or count
	Unsupported Code = "unsupported" // well formed, but nothing here can hold or express it
	NotFound    Code = "not_found"   // no such key, file, name
	Conflict    Code = "conflict"    // it exists already, and differs
	Expired     Code = "expired"     // its time has passed
	OutOfTurn   Code = "out_of_turn" // the rules of the protocol do not allow it now
	Unhandled   Code = "unhandled"   // nobody here handles it
	Forbidden   Code = "forbidden"   // the sender may not do this
	Refused     Code = "refused"     // the peer took it and said no, for good
	Unavailable Code = "unavailable" // it was certainly not taken; worth a retry
	Unknown     Code = "unknown"     // it may or may not have been taken
	Internal    Code = "internal"    // a bug or a failed disk; details stay in the log
)

// Error is an error with a code. Text is shown to the remote agent: secrets
// stay out of it, and where a peer knows a text for the failure it is that text.
type Error struct {
	Code  Code   `json:"code"`
	Field string `json:"field,omitempty"` // what was wrong, such as "session" or "properties.name.default"; empty for the whole
	Text  string `json:"text"`            // what was found and what was expected
	Err   error  `json:"-"`               // the cause, if there is one; never shown to a peer
}

// Errorf builds an [Error] about a field. Like fmt.Errorf, it keeps an operand
// given to %w as the cause.
func Errorf(code Code, field, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Field: field, Text: err.Error(), Err: errors.Unwrap(err)}
}

func (e *Error) Error() string {
	parts := []string{string(e.Code)}
	if e.Field != "" {
		parts = append(parts, e.Field)
	}
	return strings.Join(append(parts, e.Text), ": ")
}

func (e *Error) Unwrap() error { return e.Err }

// In returns err as seen from one level further out: field is put before the
// field that err names. Errors of other types become [Internal].
func In(field string, err error) error {
	if err == nil {
		return nil
	}
	inner, ok := errors.AsType[*Error](err)
	if !ok {
		return &Error{Code: Internal, Field: field, Text: err.Error(), Err: err}
	}
	outer := *inner
	switch {
	case outer.Field == "":
		outer.Field = field
	case strings.HasPrefix(outer.Field, "["):
		outer.Field = field + outer.Field
	default:
		outer.Field = field + "." + outer.Field
	}
	return &outer
}

// CodeOf returns the code of the outermost [*Error] in err's chain, "" for nil
// and [Internal] for every other error.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}
