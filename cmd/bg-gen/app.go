package main

import (
	"context"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
)

func run(ctx context.Context, env cli.Env, args []string) int {
	app := &ucli.App{
		Name:  "bg-gen",
		Usage: "declare experiments and draw their inputs",
		Commands: []*ucli.Command{
			profileCommand(), profilesCommand(), armsCommand(), experimentsCommand(), planCommand(), inputsCommand(),
			validateCommand(env), convertCommand(env),
		},
	}
	return cli.Run(ctx, env, app, args)
}

func setFlag(of string) ucli.Flag {
	return &ucli.StringSliceFlag{Name: "set", Usage: "change a key of the " + of + ": `KEY=VALUE`, where KEY is as in prompt.isl.mean or interactive.phases.0.rate"}
}
