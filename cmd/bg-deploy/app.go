package main

import (
	"context"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy"
)

func run(ctx context.Context, env cli.Env, args []string) int {
	app := &ucli.App{
		Name:  "bg-deploy",
		Usage: "bring the stack under test up and down",
		Commands: []*ucli.Command{
			upCommand(), downCommand(), statusCommand(), verifyCommand(), execCommand(env), loadCommand(), forwardCommand(env),
			renderCommand(), serveCommand(), conformCommand(), rbacCommand(), filesCommand(env),
		},
	}
	return cli.Run(ctx, env, app, args)
}

// requestFlags say which stack is wanted; request reads them back.
func requestFlags() []ucli.Flag {
	return []ucli.Flag{
		&ucli.StringFlag{Name: "arm", Usage: "`NAME` of the arm, or a file"},
		&ucli.StringFlag{Name: "experiment", Aliases: []string{"e"}, Usage: "`NAME` or file of the experiment that the arm belongs to"},
		&ucli.StringFlag{Name: "profile", Aliases: []string{"p"}, Value: "ci", Usage: "`NAME` or file of the profile, for an arm without an experiment"},
		&ucli.StringFlag{Name: "target", Usage: "model, local or kube (default: the experiment's, else local)"},
		&ucli.IntFlag{Name: "trial", Value: 1, Usage: "trial `K`, which seeds what is random in an emulated stack"},
		&ucli.StringSliceFlag{Name: "set", Usage: "change a key of the arm: `KEY=VALUE`"},
	}
}

func request(c *ucli.Context) deploy.Request {
	return deploy.Request{
		Experiment: c.String("experiment"),
		Profile:    c.String("profile"),
		Arm:        c.String("arm"),
		Target:     c.String("target"),
		Trial:      c.Int("trial"),
		Sets:       c.StringSlice("set"),
	}
}

// listenFlags say where a local stack listens.
func listenFlags() []ucli.Flag {
	return []ucli.Flag{
		&ucli.StringFlag{Name: "host", Value: "127.0.0.1", Usage: "`ADDRESS` to listen on"},
		&ucli.IntFlag{Name: "port", Usage: "`PORT` of the inference gateway (default: a free one)"},
	}
}
