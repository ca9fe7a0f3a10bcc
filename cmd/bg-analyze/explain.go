package main

import (
	urfave "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/report"
)

// explainWidth is that of the text where standard output is no terminal.
const explainWidth = 80

func explainCommand(env cli.Env) *urfave.Command {
	return &urfave.Command{
		Name:      "explain",
		Usage:     "tell the story of a run: asked, measured, engaged, concluded, left out, and what would change it",
		ArgsUsage: "RESULTS",
		Description: "Lines are as long as the terminal is wide, 80 characters elsewhere. A terminal gets colours unless\n" +
			"NO_COLOR is set.\n\n" + cli.Examples(
			"bg-analyze explain results/batch-gateway-ci/results.json",
			"bg-analyze compare results/batch-gateway-ci | bg-analyze explain -",
		),
		Action: func(c *urfave.Context) error {
			if err := cli.MaxArgs(c, 1); err != nil {
				return err
			}
			return explain(env, c.Args().First())
		},
	}
}

func explain(env cli.Env, path string) error {
	if path == "" {
		return cli.WithHint(cli.Usagef("no RESULTS given"), "bg-analyze explain RESULTS, results.json of an experiment, or - for standard input")
	}
	results, err := readResults(env.Stdin, path)
	if err != nil {
		return err
	}
	width, terminal := env.Columns()
	if !terminal {
		width = explainWidth
	}
	return report.Explain(env.Stdout, results, width, env.Colour())
}
