package main

import (
	"context"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
)

func run(ctx context.Context, env cli.Env, args []string) int {
	app := &ucli.App{
		Name:     "bg-load",
		Usage:    "fire the load of a cell and record every request",
		Commands: []*ucli.Command{runCommand(env), cellsCommand(env), calibrateCommand(env), sweepCommand(env), selfTestCommand(env), recoverCommand(), conformCommand()},
	}
	return cli.Run(ctx, env, app, args)
}
