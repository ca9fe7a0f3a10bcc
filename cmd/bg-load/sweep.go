package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/load"
	"bgbench/pkg/spec"
)

func sweepCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:  "sweep",
		Usage: "measure a stack at a range of rates",
		Description: "Writes a cell for each rate into DIR/rate-R/tK, with the prompts, the arrival\n" +
			"process and the batch jobs of the profile. Cells that are finished are left as they\n" +
			"are. bg-analyze sweep DIR makes throughput and latency over the rate of them.\n\n" +
			cli.Examples(
				"bg-load sweep --stack stack.json -p default -o sweeps/s2-ungated",
				"bg-load sweep --stack stack.json -p ci --rates 2,4,8-12 --duration 20s -o sweeps/ci"),
		Flags: append([]ucli.Flag{
			&ucli.StringFlag{Name: "stack", Required: true, Usage: "`FILE` that describes the stack"},
			&ucli.StringFlag{Name: "profile", Aliases: []string{"p"}, Required: true, Usage: "`NAME` or file of the profile"},
			&ucli.StringSliceFlag{Name: "set", Usage: "`KEY=VALUE` over the profile; may be repeated"},
			&ucli.StringFlag{Name: "rates", Value: "1-30", Usage: "`LIST` of requests per second, such as 1-30 or 0.5,1,2-8"},
			&ucli.DurationFlag{Name: "duration", Value: time.Minute, Usage: "`TIME` that is measured, after a warm-up as long"},
			&ucli.IntFlag{Name: "trial", Value: 1, Usage: "trial `K`, from 1"},
			&ucli.StringFlag{Name: "output", Aliases: []string{"o"}, Required: true, Usage: "`DIR` for the cells"},
			&ucli.BoolFlag{Name: "force", Usage: "measure cells again that are finished"},
		}, connectionFlags()...),
		Action: func(c *ucli.Context) error {
			s, err := readSweep(c, env)
			if err != nil {
				return err
			}
			return s.Run(c.Context)
		},
	}
}

func readSweep(c *ucli.Context, env cli.Env) (load.Sweep, error) {
	s := load.Sweep{
		Duration: c.Duration("duration"), Trial: c.Int("trial"), Dir: c.String("output"), Force: c.Bool("force"), Versions: versions(),
	}
	if err := cli.NoArgs(c); err != nil {
		return s, err
	}
	if s.Trial < 1 || s.Trial > spec.MaxTrials {
		return s, cli.Usagef("--trial: found %d, expected 1 to %d", s.Trial, spec.MaxTrials)
	}
	if s.Duration <= 0 {
		return s, cli.Usagef("--duration: found %s, expected more than 0", s.Duration)
	}
	var err error
	if s.Rates, err = parseRates(c.String("rates")); err != nil {
		return s, cli.Usage(err)
	}
	if s.Stack, s.StackJSON, err = readStack(c.String("stack")); err != nil {
		return s, cli.Usage(err)
	}
	if s.Profile, err = spec.LoadProfile(c.String("profile"), c.StringSlice("set")); err != nil {
		return s, cli.Usage(err)
	}
	if err := serves(s.Stack, s.Profile); err != nil {
		return s, err
	}
	if s.Connection, err = connection(c, env); err != nil {
		return s, err
	}
	if !cli.Quiet(c) {
		s.Began = func(rate float64, dir string, finished bool) {
			state := "measuring"
			if finished {
				state = "finished already"
			}
			fmt.Fprintf(env.Stderr, "%g requests/s: %s %s\n", rate, state, dir)
		}
	}
	return s, nil
}

// maxRates keeps a slip of the pen from filling the disk.
const maxRates = 1000

// parseRates reads a list of rates and of ranges of whole ones.
func parseRates(text string) ([]float64, error) {
	var rates []float64
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		if from, to, ok := strings.Cut(part, "-"); ok {
			a, errA := strconv.Atoi(from)
			b, errB := strconv.Atoi(to)
			if errA != nil || errB != nil || a < 1 || b < a || b-a >= maxRates {
				return nil, fmt.Errorf("--rates: found %q, expected a range such as 1-30", part)
			}
			for r := a; r <= b; r++ {
				rates = append(rates, float64(r))
			}
			continue
		}
		r, err := strconv.ParseFloat(part, 64)
		if err != nil || !(r > 0) || r > 1e9 {
			return nil, fmt.Errorf("--rates: found %q, expected requests per second above 0", part)
		}
		rates = append(rates, r)
	}
	if len(rates) > maxRates {
		return nil, fmt.Errorf("--rates: found %d rates, expected %d at most", len(rates), maxRates)
	}
	return rates, nil
}
