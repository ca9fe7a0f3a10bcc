package main

import (
	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/record"
	"bgbench/pkg/scrape"
	"bgbench/pkg/spec"
)

func convertCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "convert",
		Usage:     "turn OpenMetrics text into Parquet and Parquet into OpenMetrics text",
		ArgsUsage: "FILE",
		Description: "FILE is OpenMetrics text with timestamps, or a file of samples, and becomes the other;\n" +
			"- is standard input.\n" +
			"With --wide either becomes a Parquet file with a column for each series, for notebooks.\n\n" +
			cli.Examples(
				"bg-scrape convert metrics.om -o metrics.parquet",
				"bg-scrape convert cell/metrics.parquet | grep num_requests_waiting",
				"bg-scrape convert cell/metrics.parquet -o metrics.om && promtool tsdb create-blocks-from openmetrics metrics.om data",
				"bg-scrape convert cell/metrics.parquet --wide --metric vllm:num_requests_running -o wide.parquet"),
		Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "-", Usage: "`FILE`, or - for standard output"},
			&ucli.BoolFlag{Name: "wide", Usage: "a column for each series"},
			&ucli.StringSliceFlag{Name: "metric", Usage: "only series of metric `NAME` in a wide file (default: all but buckets)"},
			&ucli.StringFlag{Name: "experiment", Usage: "`NAME` in the rows of text that has none"},
			&ucli.StringFlag{Name: "arm", Usage: "`NAME` in the rows of text that has none"},
			&ucli.IntFlag{Name: "trial", Value: 1, Usage: "trial `K` in the rows of text that has none"},
			&ucli.StringFlag{Name: "source", Value: "openmetrics", Usage: "component `NAME` in the rows of text that has none"},
		},
		Action: func(c *ucli.Context) error {
			if err := checkConvert(c); err != nil {
				return err
			}
			return scrape.Convert(scrape.Conversion{
				From: c.Args().First(), To: c.String("output"), Wide: c.Bool("wide"), Metrics: c.StringSlice("metric"),
				Base: record.Sample{
					Experiment: c.String("experiment"), Arm: c.String("arm"), Trial: int32(c.Int("trial")), Source: c.String("source"),
				},
			}, env.Stdin, env.Stdout)
		},
	}
}

func checkConvert(c *ucli.Context) error {
	switch {
	case !c.Args().Present():
		return cli.Usagef("found no FILE, expected OpenMetrics text or a file of samples")
	case c.NArg() > 1:
		return cli.MaxArgs(c, 1)
	case c.String("output") == "":
		return cli.Usagef("--output: found nothing, expected a file or -")
	case c.Int("trial") < 1 || c.Int("trial") > spec.MaxTrials:
		return cli.Usagef("--trial: found %d, expected 1 to %d", c.Int("trial"), spec.MaxTrials)
	case len(c.StringSlice("metric")) > 0 && !c.Bool("wide"):
		return cli.Usagef("--metric: found without --wide, expected with it")
	}
	return nil
}
