package main

import (
	"context"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
)

func run(ctx context.Context, env cli.Env, args []string) int {
	app := &ucli.App{
		Name:     "bg-scrape",
		Usage:    "record the metrics of a stack",
		Commands: []*ucli.Command{runCommand(env), rangeCommand(env), convertCommand(env)},
		// PromQL has commas.
		DisableSliceFlagSeparator: true,
	}
	return cli.Run(ctx, env, app, args)
}
