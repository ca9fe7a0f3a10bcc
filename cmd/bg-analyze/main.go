// Command bg-analyze turns the rows of cells into numbers: a cell into its summary,
// an experiment into results.json.
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
	// The first signal ends the reading, the second one the process.
	context.AfterFunc(ctx, stop)
	limitMemory()
	os.Exit(run(ctx, cli.OSEnv(), os.Args))
}
