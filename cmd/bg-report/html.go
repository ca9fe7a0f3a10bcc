package main

import (
	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/report"
)

func htmlCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "html",
		Usage:     "write one self-contained page with tables and charts",
		ArgsUsage: "RESULTS",
		Description: "RESULTS is what `bg-analyze compare` wrote, - is standard input. The page carries its\n" +
			"scripts and data, loads nothing from the network and reads well without scripts.\n\n" +
			cli.Examples(
				"bg-report html results/batch-gateway-ci/results.json -o report.html",
				"bg-analyze compare results/batch-gateway-ci | bg-report html - -o report.html"),
		Flags: []ucli.Flag{outputFlag()},
		Action: func(c *ucli.Context) error {
			return convert(c, env, report.HTML)
		},
	}
}
