package main

import (
	"errors"
	"slices"
	"time"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/record"
	"bgbench/pkg/scrape"
	"bgbench/pkg/spec"
)

func rangeCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:  "range",
		Usage: "copy what a Prometheus server has of a range of time into a Parquet file",
		Description: "Takes raw samples, with the instants at which the server took them, of what the\n" +
			"report needs of the arm, and of every --match. The range and the arm are those of the\n" +
			"cell, unless --start, --end and --stack say otherwise.\n\n" +
			cli.Examples(
				"bg-scrape range --prometheus http://127.0.0.1:9090 --cell cell -o cell/metrics.parquet",
				"bg-scrape range --prometheus-service monitoring/prometheus:9090 --cell cell -o cell/metrics.parquet",
				"bg-scrape range --prometheus https://thanos --bearer-token-file token --namespace bench-7 --cell cell -o m.parquet",
				"bg-scrape range --prometheus http://127.0.0.1:9090 --start 2026-11-29T12:00:00Z --end 2026-11-29T12:10:00Z \\",
				"     --match 'up{job=\"vllm\"}' --query 'kv=avg(vllm:kv_cache_usage_perc)' -o m.parquet"),
		Flags: slices.Concat(prometheusFlags(), []ucli.Flag{
			&ucli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "Parquet `FILE`, or - for a pipe"},
			&ucli.StringFlag{Name: "cell", Usage: "`FOLDER` of a cell"},
			&ucli.StringFlag{Name: "stack", Usage: "`FILE` that describes the stack"},
			&ucli.StringFlag{Name: "start", Usage: "first `INSTANT`, such as 2026-11-29T12:00:00Z"},
			&ucli.StringFlag{Name: "end", Usage: "last `INSTANT`"},
			&ucli.StringFlag{Name: "namespace", Usage: "only series of the Kubernetes namespace `NAME`"},
			&ucli.StringFlag{Name: "pod", Usage: "only series of pods whose names match `REGEX`"},
			&ucli.StringSliceFlag{Name: "match", Usage: "raw samples of `SELECTOR`, too"},
			&ucli.StringSliceFlag{Name: "query", Usage: "`NAME=PROMQL`: values of an expression at every step"},
			&ucli.DurationFlag{Name: "step", Value: time.Second, Usage: "`STEP` of --query"},
			&ucli.DurationFlag{Name: "chunk", Value: 5 * time.Minute, Usage: "`TIME` that is asked for at once"},
			&ucli.StringFlag{Name: "experiment", Usage: "`NAME` in the rows (default: the cell's or stack's)"},
			&ucli.StringFlag{Name: "arm", Usage: "`NAME` in the rows (default: the cell's or stack's)"},
			&ucli.IntFlag{Name: "trial", Usage: "trial `K` in the rows (default: the cell's, or 1)"},
		}, accessFlags()),
		Action: func(c *ucli.Context) error {
			if err := cli.NoArgs(c); err != nil {
				return err
			}
			server, end, err := prometheus(c)
			if err != nil {
				return err
			}
			cfg, err := rangeConfig(c, server)
			if err != nil {
				return errors.Join(cli.Usage(err), end())
			}
			return errors.Join(scrapeRange(c, env, cfg), end())
		},
	}
}

func rangeConfig(c *ucli.Context, server string) (scrape.RangeConfig, error) {
	switch {
	case c.String("output") == "":
		return scrape.RangeConfig{}, cli.Usagef("--output: found none, expected a file, or - for a pipe")
	case c.Int("trial") < 0 || c.Int("trial") > spec.MaxTrials:
		return scrape.RangeConfig{}, cli.Usagef("--trial: found %d, expected 1 to %d", c.Int("trial"), spec.MaxTrials)
	}
	client, err := access(c).Client()
	if err != nil {
		return scrape.RangeConfig{}, err
	}
	options := scrape.RangeOptions{
		URL: server, Client: client,
		Cell: c.String("cell"), Stack: c.String("stack"), Start: c.String("start"), End: c.String("end"),
		Filter: scrape.Filter{Namespace: c.String("namespace"), Pod: c.String("pod")},
		Match:  c.StringSlice("match"), Query: c.StringSlice("query"),
		Step: c.Duration("step"), Chunk: c.Duration("chunk"),
		Rows: record.Sample{Experiment: c.String("experiment"), Arm: c.String("arm"), Trial: int32(c.Int("trial"))},
	}
	return options.Config()
}

func scrapeRange(c *ucli.Context, env cli.Env, cfg scrape.RangeConfig) error {
	log, err := cli.Logger(c)
	if err != nil {
		return err
	}
	var report scrape.RangeReport
	if output := c.String("output"); output == "-" {
		report, err = scrape.RangeToStream(c.Context, cfg, env.Stdout)
	} else {
		report, err = scrape.RangeToFile(c.Context, cfg, output)
	}
	for _, warning := range report.Warnings {
		log.Warn(warning)
	}
	return err
}
