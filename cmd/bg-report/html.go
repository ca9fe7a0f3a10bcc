package main

import (
	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
)

func htmlCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "html",
		Usage:     "write one self-contained page with tables and charts",
		ArgsUsage: "RESULTS [OTHER...]",
		Description: "RESULTS is what `bg-analyze compare` wrote, - is standard input. The page carries its\n" +
			"scripts and data, loads nothing from the network and reads well without scripts. The\n" +
			"medians of OTHER results are laid beside those of RESULTS, arm by arm.\n\n" +
			cli.Examples(
				"bg-report html results/batch-gateway-ci/results.json -o report.html",
				"bg-report html new/results.json old/results.json -o report.html",
				"bg-analyze sweep --format json sweeps/s2-ungated -o rates.json && bg-report html --rates rates.json results.json -o report.html",
				"bg-analyze compare results/batch-gateway-ci | bg-report html - -o report.html"),
		Flags: append(besideFlags(), outputFlag()),
		Action: func(c *ucli.Context) error {
			beside, err := readBeside(c)
			if err != nil {
				return err
			}
			return convertBeside(c, env, c.String("output"), beside)
		},
	}
}
