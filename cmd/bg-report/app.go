package main

import (
	"context"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
)

func run(ctx context.Context, env cli.Env, args []string) int {
	app := &ucli.App{
		Name:     "bg-report",
		Usage:    "turn results.json into a page or a summary to read",
		Commands: []*ucli.Command{htmlCommand(env), mdCommand(env), openCommand(env)},
	}
	return cli.Run(ctx, env, app, args)
}
