// Bg-deploy brings the stack under test up and down.
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
	os.Exit(run(ctx, cli.OSEnv(), standInArgs(os.Args)))
}
