package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/analysis"
	"bgbench/pkg/cli"
	"bgbench/pkg/load"
	"bgbench/pkg/spec"
)

// calibrateOptions of bg-load calibrate.
type calibrateOptions struct {
	Calibration load.Calibration
	Times       float64
	Format      string
}

func calibrateCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:  "calibrate",
		Usage: "find the rate that saturates a stack",
		Description: "Climbs a ladder of closed loops with 1, 2, 4, … requests of the profile in flight,\n" +
			"without batch jobs, until the throughput does not grow any more, and prints the rate\n" +
			"of the profile's burst phase as --set takes it. Every rung must obey Little's law\n" +
			"(throughput x mean latency = requests in flight); where the plateau does not, or was\n" +
			"not reached, the exit code is 3.\n\n" +
			cli.Examples(
				"bg-load calibrate --stack stack.json -p default",
				"bg-gen inputs -p default --set \"$(bg-load calibrate --stack stack.json -p default)\" -o inputs/t1"),
		Flags: append([]ucli.Flag{
			&ucli.StringFlag{Name: "stack", Required: true, Usage: "`FILE` that describes the stack"},
			&ucli.StringFlag{Name: "profile", Aliases: []string{"p"}, Required: true, Usage: "`NAME` or file of the profile"},
			&ucli.StringSliceFlag{Name: "set", Usage: "`KEY=VALUE` over the profile; may be repeated"},
			&ucli.DurationFlag{Name: "rung", Value: 30 * time.Second, Usage: "`TIME` of one rung, of which the second half counts"},
			&ucli.IntFlag{Name: "max-in-flight", Value: 2048, Usage: "end the ladder at `N` requests in flight"},
			&ucli.Float64Flag{Name: "times", Value: 1, Usage: "print the saturating rate times `FACTOR`"},
			&ucli.StringFlag{Name: "format", Value: "set", Usage: "`FORMAT` of the result: set or json"},
		}, connectionFlags()...),
		Action: func(c *ucli.Context) error {
			o, err := readCalibrateOptions(c, env)
			if err != nil {
				return err
			}
			return calibrate(c.Context, env, o)
		},
	}
}

func readCalibrateOptions(c *ucli.Context, env cli.Env) (calibrateOptions, error) {
	o := calibrateOptions{Times: c.Float64("times"), Format: c.String("format")}
	if err := cli.NoArgs(c); err != nil {
		return o, err
	}
	switch {
	case o.Format != "set" && o.Format != "json":
		return o, cli.Usagef("--format: found %q, expected set or json", o.Format)
	case c.Duration("rung") < time.Second:
		return o, cli.Usagef("--rung: found %s, expected 1s or more", c.Duration("rung"))
	case c.Int("max-in-flight") < 1:
		return o, cli.Usagef("--max-in-flight: found %d, expected 1 or more", c.Int("max-in-flight"))
	case !(o.Times > 0):
		return o, cli.Usagef("--times: found %g, expected more than 0", o.Times)
	}
	stack, text, err := readStack(c.String("stack"))
	if err != nil {
		return o, cli.Usage(err)
	}
	profile, err := spec.LoadProfile(c.String("profile"), c.StringSlice("set"))
	if err != nil {
		return o, cli.Usage(err)
	}
	if err := serves(stack, profile); err != nil {
		return o, err
	}
	o.Calibration = load.Calibration{
		Stack: stack, StackJSON: text, Profile: profile,
		Rung: c.Duration("rung"), Most: c.Int("max-in-flight"), Versions: versions(),
	}
	if o.Calibration.Connection, err = connection(c, env); err != nil {
		return o, err
	}
	if !cli.Quiet(c) {
		o.Calibration.Progress = func(s load.Step) { printStep(env.Stderr, s) }
	}
	return o, nil
}

func calibrate(ctx context.Context, env cli.Env, o calibrateOptions) error {
	found, err := o.Calibration.Run(ctx)
	if err != nil {
		return err
	}
	if len(found.Faults) > 0 {
		err = cli.InvalidError{Err: fmt.Errorf("the saturating rate is not to be relied on: %s", strings.Join(found.Faults, "; "))}
	}
	if o.Format == "json" {
		encoder := json.NewEncoder(env.Stdout)
		encoder.SetIndent("", "  ")
		if encodeErr := encoder.Encode(found); encodeErr != nil {
			return encodeErr
		}
		return err
	}
	if found.RequestsPerS > 0 {
		fmt.Fprintf(env.Stderr, "saturated at %.3g requests/s (95 %% interval %.3g to %.3g), knee at %.3g in flight (%.3g to %.3g)\n",
			found.RequestsPerS, found.Interval.Low, found.Interval.High, found.KneeInFlight, found.KneeInterval.Low, found.KneeInterval.High)
		fmt.Fprintf(env.Stdout, "interactive.phases.%s.rate=%.3g\n", analysis.BurstPhase(o.Calibration.Profile.Interactive), o.Times*found.RequestsPerS)
	}
	return err
}

func printStep(w io.Writer, s load.Step) {
	fmt.Fprintf(w, "%4d in flight: %.3g requests/s (%.3g to %.3g), mean latency %.3g s, X·R/N %.2f, %d failed\n",
		s.InFlight, s.Throughput, s.Interval.Low, s.Interval.High, s.MeanE2ES, s.Little, s.Failed)
}
