package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/inputs"
	"bgbench/pkg/load"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

func runCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:  "run",
		Usage: "replay the schedule, submit and watch the jobs",
		Description: "Writes requests.parquet, jobs.parquet and run-metadata.json into the folder given\n" +
			"with -o. With -o - the rows go to standard output as Arrow IPC streams, which\n" +
			"bg-analyze cell - reads. On target model the run is on the virtual clock, and the\n" +
			"stack's metrics go to the file that BG_MODEL_SAMPLES names. Nothing has to be brought\n" +
			"up there: --experiment and --arm stand for the descriptor that bg-deploy would write,\n" +
			"and the cell's folder then gets stack.json and metrics.parquet, too.\n\n" +
			"With --shard several generators play one cell, from wherever they run: bg-analyze puts\n" +
			"the shards together. In an Indexed Job: --shard $((JOB_COMPLETION_INDEX + 1))/N.\n\n" +
			"With --target the run is on any OpenAI API, and --arm names it in results; with --batch-url\n" +
			"its jobs go to any OpenAI Batch API. Nothing is known of the stack, no descriptor is needed,\n" +
			"and without --inputs the inputs are drawn from a profile.\n\n" +
			"The first interrupt ends the run and keeps what was measured, the second one ends\n" +
			"at once.\n\n" +
			cli.Examples(
				"bg-load run --stack stack.json --inputs inputs/t1 -o cells/s2-ungated/t1",
				"bg-load run --experiment batch-gateway --arm s2-ungated --inputs inputs/t1 -o cells/s2-ungated/t1",
				"bg-load run --stack stack.json --inputs inputs/t1 -o - | bg-analyze cell -",
				"bg-load run --target http://127.0.0.1:8000 -o mine/cells/endpoint/t1"),
		Flags: append([]ucli.Flag{
			&ucli.StringFlag{Name: "stack", Usage: "`FILE` that describes the stack"},
			&ucli.StringFlag{Name: "experiment", Usage: "`NAME` or file of the experiment of target model, in place of --stack"},
			&ucli.StringFlag{Name: "arm", Usage: "`NAME` of its arm"},
			&ucli.StringFlag{Name: "inputs", Usage: "`FOLDER` with the inputs of the trial; with --target drawn where there are none"},
			&ucli.StringFlag{Name: "output", Aliases: []string{"o"}, Required: true, Usage: "`FOLDER` of the cell, or - for a pipe"},
			&ucli.BoolFlag{Name: "force", Usage: "measure a cell again that is finished"},
			&ucli.StringFlag{Name: "shard", Usage: "play the I-th of N parts of the cell: `I/N`, into a folder of its own below that of the cell"},
			&ucli.StringFlag{Name: "start-at", Usage: "`TIME` (RFC 3339) at which all shards begin"},
			&ucli.BoolFlag{Name: "cancel-jobs", Usage: "have the gateway cancel the batch jobs of a run that is interrupted"},
		}, append(endpointFlags(), connectionFlags()...)...),
		Action: func(c *ucli.Context) error { return replay(c, env) },
	}
}

func replay(c *ucli.Context, env cli.Env) error {
	if err := cli.NoArgs(c); err != nil {
		return err
	}
	o, clean, err := runOptions(c, env)
	if err != nil {
		return err
	}
	defer clean()
	id, err := load.IdentityOf(o.Stack, o.Inputs)
	if err != nil {
		return cli.Usage(err)
	}
	if err := load.PlannedFor(o.Stack, o.Inputs); err != nil {
		return cli.Usage(err)
	}
	if o.Shard, err = shard(c, env); err != nil {
		return err
	}
	if dir := c.String("output"); dir == "-" {
		o.Output = load.NewPipe(env.Stdout)
	} else if o.Output, err = load.CreateCell(o.Shard.Dir(dir), id, c.Bool("force")); err != nil {
		return cli.Usage(err)
	}
	o.CancelJobs = c.Bool("cancel-jobs")
	o.ModelSamples, _ = env.LookupEnv("BG_MODEL_SAMPLES")
	o.Versions = versions()
	if !cli.Quiet(c) {
		meter := load.NewMeter(env.Stderr, env.Terminal, o.Stack.Target == spec.TargetModel)
		defer meter.Close()
		o.Progress = meter.Report
		o.Verdict = func(h record.LoadHealth) {
			meter.Close()
			printVerdict(env.Stderr, h)
		}
	}
	if o.Stack.Target != spec.TargetModel {
		return load.Run(c.Context, o)
	}
	keepToOneCore(env)
	if c.String("stack") != "" || c.String("output") == "-" {
		return load.Run(c.Context, o)
	}
	return load.RunWhole(c.Context, o, c.String("output"))
}

// shard reads which part of the cell to play. Parts that do not begin together are
// no cell.
func shard(c *ucli.Context, env cli.Env) (load.Shard, error) {
	if c.String("shard") == "" {
		return load.Shard{}, nil
	}
	s, err := load.ParseShard(c.String("shard"))
	if err != nil {
		return s, cli.Usagef("--shard: %w", err)
	}
	if s.StartAt, err = time.Parse(time.RFC3339, c.String("start-at")); err != nil {
		return s, cli.Usagef("--start-at: found %q, expected when all shards begin, such as %s", c.String("start-at"), env.Now().Add(time.Minute).UTC().Format(time.RFC3339))
	}
	if until := s.StartAt.Sub(env.Now()); until < 2*time.Second {
		return s, cli.Usagef("--start-at: found %s, which is %s ahead, expected 2s or more", c.String("start-at"), until.Round(time.Second))
	}
	return s, nil
}

// printVerdict says how the generator did, below the last line of progress.
func printVerdict(w io.Writer, h record.LoadHealth) {
	fmt.Fprintf(w, "generator: %s\n", h)
	for _, fault := range h.Faults() {
		fmt.Fprintf(w, "generator: fell short of its schedule: %s\n", fault)
	}
}

// runOptions reads the stack, or reaches the endpoint, and the inputs; clean removes what was
// drawn.
func runOptions(c *ucli.Context, env cli.Env) (o load.Options, clean func(), err error) {
	if toEndpoint(c, env) {
		return endpointOptions(c.Context, c, env)
	}
	if err := onlyOfEndpoints(c, env); err != nil {
		return o, nil, cli.Usage(err)
	}
	if o, err = stackOptions(c); err != nil {
		return o, nil, cli.Usage(err)
	}
	o.Connection, err = connection(c, env)
	return o, func() {}, err
}

// stackOptions reads the stack and the inputs.
func stackOptions(c *ucli.Context) (load.Options, error) {
	var o load.Options
	var err error
	path, experiment, arm := c.String("stack"), c.String("experiment"), c.String("arm")
	switch {
	case path == "" && (experiment == "" || arm == ""):
		return o, cli.WithHint(errors.New("--stack: found none, expected a value"), "--help shows an example")
	case path != "" && experiment+arm != "":
		return o, errors.New("--stack: found --experiment or --arm too, expected either")
	case path != "":
		if o.Stack, o.StackJSON, err = readStack(path); err != nil {
			return o, err
		}
	}
	if c.String("inputs") == "" {
		return o, cli.WithHint(errors.New("--inputs: found none, expected a value"), "--help shows an example")
	}
	if o.Inputs, err = inputs.Open(c.String("inputs")); err != nil {
		return o, err
	}
	if path == "" {
		if o.Stack, o.StackJSON, err = planStack(experiment, arm, o.Inputs.Manifest.Trial); err != nil {
			return o, err
		}
	}
	o.Work, err = load.ReadWork(o.Inputs, o.Stack.Arm)
	return o, err
}
