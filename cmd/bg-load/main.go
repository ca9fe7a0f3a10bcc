// Bg-load replays the inputs of a cell against a stack and records every request.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"bgbench/pkg/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal ends the run, the second one the process.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, cli.OSEnv(), os.Args))
}
