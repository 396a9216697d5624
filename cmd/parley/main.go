// Command parley works with agents, their keys, envelopes and protocols. Run it
// without arguments to see what it can do.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/parley-agents/parley/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
