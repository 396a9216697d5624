package fault_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/parley-agents/parley/fault"
)

func TestErrorNamesCodeFieldAndText(t *testing.T) {
	err := fault.Errorf(fault.Malformed, "session", "not a version 4 UUID: %w", io.EOF)

	if got, want := err.Error(), "malformed: session: not a version 4 UUID: EOF"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	if !errors.Is(err, io.EOF) {
		t.Error("Errorf must keep what %w wraps")
	}
}

func TestInBuildsThePath(t *testing.T) {
	leaf := fault.Errorf(fault.TooLarge, "", "over 3")

	err := fault.In("content", fault.In("[2]", fault.In("text", leaf)))

	if got, want := err.Error(), "too_large: content[2].text: over 3"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	if leaf.Field != "" {
		t.Error("In must not change the error it was given")
	}
}

func TestCodeOf(t *testing.T) {
	refused := fault.Errorf(fault.Unverified, "", "no")
	for _, tc := range []struct {
		name string
		err  error
		want fault.Code
	}{
		{"no error", nil, ""},
		{"coded", refused, fault.Unverified},
		{"coded and wrapped", fmt.Errorf("envelope 7: %w", refused), fault.Unverified},
		{"anything else", io.ErrUnexpectedEOF, fault.Internal},
		{"anything else, with a field", fault.In("x", io.ErrUnexpectedEOF), fault.Internal},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := fault.CodeOf(tc.err); got != tc.want {
				t.Errorf("CodeOf(%v) = %q, want %q", tc.err, got, tc.want)
			}
		})
	}
}
