package cli

import (
	"context"
	"io"
	"testing"
	"time"
)

// A command that waits for its input ends when it is interrupted.
func TestWaitingForInputCanBeInterrupted(t *testing.T) {
	never, hold := io.Pipe()
	defer hold.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- Main(ctx, []string{"check", "-"}, never, io.Discard, io.Discard) }()
	time.Sleep(20 * time.Millisecond)

	interrupt()

	select {
	case code := <-ended:
		if code != exitFailed {
			t.Errorf("exit code %d, want %d", code, exitFailed)
		}
	case <-time.After(20 * time.Second):
		t.Error("it goes on reading")
	}
}
