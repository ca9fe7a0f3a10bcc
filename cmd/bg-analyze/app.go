package main

import (
	"context"
	"fmt"

	urfave "github.com/urfave/cli/v2"

	"bgbench/pkg/analysis"
	"bgbench/pkg/cli"
	"bgbench/pkg/printable"
)

// run is the tool; it returns the exit code.
func run(ctx context.Context, env cli.Env, args []string) int {
	app := &urfave.App{
		Name:  "bg-analyze",
		Usage: "turn the rows of cells into numbers",
		Description: cli.Examples(
			"bg-load run --stack stack.json --inputs DIR -o - | bg-analyze cell -",
			"bg-analyze compare -o results.json results/batch-gateway-ci",
		),
		Commands: []*urfave.Command{
			cellCommand(env), sweepCommand(env), compareCommand(env), explainCommand(env), armsCommand(env), checkCommand(env), importCommand(env), exportCommand(env),
		},
	}
	return cli.Run(ctx, env, app, args)
}

// inputError marks what is wrong with the files that were to be read, unless the
// user interrupted the reading.
func inputError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return cli.Usage(err)
}

func outputFlag() urfave.Flag {
	return &urfave.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "-", Usage: "`FILE` to write; - is standard output"}
}

func strictFlag() urfave.Flag {
	return &urfave.BoolFlag{Name: "strict", Usage: "exit 3 if a cell is INVALID"}
}

// warn prints warnings on standard error.
func warn(env cli.Env, warnings []analysis.Warning) {
	for _, w := range warnings {
		fmt.Fprintf(env.Stderr, "bg-analyze: warning: %s\n", printable.Lines(w.String()))
	}
}
