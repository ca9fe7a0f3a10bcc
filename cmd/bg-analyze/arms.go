package main

import (
	"bytes"

	urfave "github.com/urfave/cli/v2"

	"bgbench/pkg/analysis"
	"bgbench/pkg/cli"
)

func armsCommand(env cli.Env) *urfave.Command {
	return &urfave.Command{
		Name:      "arms",
		Usage:     "print metrics of the arms as tab-separated values, for pipelines",
		ArgsUsage: "RESULTS",
		Description: "A line an arm: what a sweep set in it, and of each metric the median, the smallest and the largest\n" +
			"trial, and the ratio to the baseline with its interval and verdict.\n\n" + cli.Examples(
			"bg-analyze arms --metric burst/interactive/ttft/p95 results.json | column -t -s \"$(printf '\\t')\"",
			"bg-analyze arms --metric all/batch/requests_per_s/value results.json | awk -F '\\t' '$2 == \"false\" { print $1, $7 }'",
		),
		Flags: []urfave.Flag{
			&urfave.StringSliceFlag{Name: "metric", Required: true, Usage: "`KEY` of a metric, as docs/results.md names them"},
		},
		Action: func(c *urfave.Context) error {
			if err := cli.MaxArgs(c, 1); err != nil {
				return err
			}
			return arms(env, c.Args().First(), c.StringSlice("metric"))
		},
	}
}

func arms(env cli.Env, path string, keys []string) error {
	if path == "" {
		return cli.Usagef("no RESULTS given")
	}
	results, err := readResults(env.Stdin, path)
	if err != nil {
		return err
	}
	var out bytes.Buffer // a metric that nobody has is known before the first line
	if err := analysis.WriteArms(&out, results, keys); err != nil {
		return cli.Usage(err)
	}
	_, err = out.WriteTo(env.Stdout)
	return err
}
