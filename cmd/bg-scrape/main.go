// Bg-scrape records the metrics of a stack while it is under load.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"bgbench/pkg/cli"
	"bgbench/pkg/scrape"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	scrape.LimitMemory()
	os.Exit(run(ctx, cli.OSEnv(), os.Args))
}
