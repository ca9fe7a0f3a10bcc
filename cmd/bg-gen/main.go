// Bg-gen declares experiments and draws their inputs.
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
	os.Exit(run(ctx, cli.OSEnv(), os.Args))
}
