package main

import (
	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/report"
)

func mdCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "md",
		Usage:     "write a Markdown summary for a pull request",
		ArgsUsage: "RESULTS",
		Description: "RESULTS is what `bg-analyze compare` wrote, - is standard input. Warnings come first,\n" +
			"then the answer and the summary table.\n\n" +
			cli.Examples(
				"bg-report md results/batch-gateway-ci/results.json",
				"bg-report md results/batch-gateway-ci/results.json -o report.md"),
		Flags: []ucli.Flag{outputFlag()},
		Action: func(c *ucli.Context) error {
			if err := cli.MaxArgs(c, 1); err != nil {
				return err
			}
			return convert(c, env, c.String("output"), report.Markdown)
		},
	}
}
