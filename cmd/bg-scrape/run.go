package main

import (
	"context"
	"time"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/command"
	"bgbench/pkg/deploy"
	"bgbench/pkg/record"
	"bgbench/pkg/scrape"
	"bgbench/pkg/spec"
)

func runCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "run",
		Usage:     "scrape the /metrics pages of a stack into a Parquet file",
		ArgsUsage: "[-- COMMAND [ARGUMENT ...]]",
		Description: "Scrapes until it is interrupted, or as long as the command after -- runs, whose exit\n" +
			"code is then its own. Endpoints that the stack's descriptor names later join in.\n" +
			"With -o - the rows go to standard output as an Arrow IPC stream. On target\n" +
			"model there is nothing to scrape: the command must be one that writes the model's\n" +
			"samples to the file that " + scrape.SamplesVariable + " names, as bg-load run does.\n\n" +
			cli.Examples(
				"bg-scrape run --stack stack.json -o metrics.parquet",
				"bg-scrape run --stack stack.json -o cell/metrics.parquet -- bg-load run --stack stack.json --inputs inputs/t1 -o cell"),
		Flags: append([]ucli.Flag{
			&ucli.StringFlag{Name: "stack", Usage: "`FILE` that describes the stack"},
			&ucli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "Parquet `FILE`, or - for a pipe"},
			&ucli.DurationFlag{Name: "interval", Value: time.Second, Usage: "time between two scrapes"},
			&ucli.DurationFlag{Name: "timeout", DefaultText: "the interval", Usage: "time that an endpoint has to answer"},
			&ucli.StringFlag{Name: "experiment", Usage: "`NAME` in the rows (default: the stack's)"},
			&ucli.StringFlag{Name: "arm", Usage: "`NAME` in the rows (default: the stack's)"},
			&ucli.IntFlag{Name: "trial", Value: 1, Usage: "trial `K` in the rows"},
		}, accessFlags()...),
		Action: func(c *ucli.Context) error {
			if c.String("stack") == "" {
				return cli.Usagef("--stack: found none, expected the descriptor of a stack")
			}
			stack, err := deploy.ReadStack(c.String("stack"))
			if err != nil {
				return cli.Usage(err)
			}
			if err := checkRun(c, stack); err != nil {
				return err
			}
			program := command.Command{Args: c.Args().Slice(), Stdin: env.Stdin, Stdout: env.Stdout, Stderr: env.Stderr}
			if stack.Target == spec.TargetModel {
				return scrape.FromModel(c.Context, c.String("output"), program)
			}
			cfg, err := config(c, stack)
			if err != nil {
				return cli.Usage(err)
			}
			return scrapeStack(c, env, cfg, program)
		},
	}
}

// checkRun refuses what cannot be recorded.
func checkRun(c *ucli.Context, stack deploy.Stack) error {
	model, pipe := stack.Target == spec.TargetModel, c.String("output") == "-"
	switch {
	case c.String("output") == "":
		return cli.Usagef("--output: found none, expected a file, or - for a pipe")
	case c.Duration("interval") <= 0:
		return cli.Usagef("--interval: found %s, expected more than 0", c.Duration("interval"))
	case c.Duration("timeout") < 0 || c.Duration("timeout") > c.Duration("interval"):
		return cli.Usagef("--timeout: found %s, expected at most the interval of %s", c.Duration("timeout"), c.Duration("interval"))
	case c.Int("trial") < 1 || c.Int("trial") > spec.MaxTrials:
		return cli.Usagef("--trial: found %d, expected 1 to %d", c.Int("trial"), spec.MaxTrials)
	case model && !c.Args().Present():
		return cli.WithHint(cli.Usagef("target model: found no command, expected one after --: there is nothing to scrape"),
			"bg-scrape run --stack %s -o %s -- bg-load run ...", c.String("stack"), c.String("output"))
	case pipe && c.Args().Present():
		return cli.Usagef("--output: found - with a command, expected a file: standard output is the command's")
	case !model && len(stack.Metrics) == 0:
		return cli.Usagef("stack %s: metrics: found none, expected at least one endpoint", c.String("stack"))
	}
	return nil
}

func config(c *ucli.Context, stack deploy.Stack) (scrape.Config, error) {
	client, err := access(c).Client()
	if err != nil {
		return scrape.Config{}, err
	}
	cfg := scrape.Config{
		Interval: c.Duration("interval"),
		Timeout:  c.Duration("timeout"),
		Client:   client,
		Base:     record.Sample{Experiment: stack.Experiment, Arm: stack.Arm.Name, Trial: int32(c.Int("trial"))},
	}
	if name := c.String("experiment"); name != "" {
		cfg.Base.Experiment = name
	}
	if name := c.String("arm"); name != "" {
		cfg.Base.Arm = name
	}
	cfg.Endpoints = endpoints(stack)
	if path := c.String("stack"); path != "-" {
		cfg.Refresh = scrape.Watched(path, func(path string) ([]scrape.Endpoint, error) {
			stack, err := deploy.ReadStack(path)
			return endpoints(stack), err
		})
	}
	return cfg, nil
}

func endpoints(stack deploy.Stack) []scrape.Endpoint {
	var out []scrape.Endpoint
	for _, e := range stack.Metrics {
		out = append(out, scrape.Endpoint{Source: e.Source, URL: e.URL})
	}
	return out
}

// scrapeStack ends when ctx is done or the command has ended.
func scrapeStack(c *ucli.Context, env cli.Env, cfg scrape.Config, program command.Command) error {
	log, err := cli.Logger(c)
	if err != nil {
		return err
	}
	healths, err := scrapeTo(c.Context, c.String("output"), env, cfg, program)
	for _, h := range healths {
		for _, warning := range h.Warnings() {
			log.Warn(warning)
		}
	}
	return err
}

func scrapeTo(ctx context.Context, output string, env cli.Env, cfg scrape.Config, program command.Command) ([]scrape.Health, error) {
	if len(program.Args) > 0 {
		return scrape.During(ctx, cfg, output, program)
	}
	cfg.MustAnswer = true
	if output == "-" {
		return scrape.ToStream(ctx, cfg, env.Stdout)
	}
	return scrape.ToFile(ctx, cfg, output)
}
