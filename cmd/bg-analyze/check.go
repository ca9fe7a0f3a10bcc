package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"bgbench/pkg/analysis"
	"bgbench/pkg/cli"
	"bgbench/pkg/printable"
)

// checkOptions of bg-analyze check.
type checkOptions struct {
	Baseline string // results.json or a folder of earlier ones
	Current  string // results.json; - is standard input, of either
	Metrics  []string
	Bound    analysis.Bound
	FailOn   string // one of failures
	Output   string // one of findingFormats
	Quiet    bool
}

// failures are the differences that fail: all, or those that are regressions.
var failures = map[string]bool{"difference": false, "regression": true}

var findingFormats = map[string]func(io.Writer, []analysis.Finding) error{
	"table": analysis.WriteFindings, "junit": analysis.WriteJUnit, "github": analysis.WriteAnnotations,
}

func checkCommand(env cli.Env) *urfave.Command {
	return &urfave.Command{
		Name:      "check",
		Usage:     "compare results with a baseline; exit 3 when a metric differs by more than a bound",
		ArgsUsage: "RESULTS",
		Description: "Medians are held against a bound, and the trials tested against those of the baseline. Of a\n" +
			"folder of earlier results each counts as one value.\n\n" + cli.Examples(
			"bg-analyze check --baseline main/results.json --within 0.1 results.json",
			"bg-analyze check --baseline earlier --fail-on regression --within 0.1 results.json",
			"bg-analyze check --baseline a.json --metric burst/interactive/ttft/p95 b.json",
			"bg-analyze check --baseline main/results.json --output junit results.json >check.xml",
		),
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "baseline", Required: true, Usage: "results.json `FILE` to compare with, or a folder of earlier ones: *.json, */results.json"},
			&urfave.StringFlag{Name: "fail-on", Value: "difference", Usage: "`WHAT` fails: difference in any direction, or only regression, worse by more than chance explains"},
			&urfave.Float64Flag{Name: "within", Value: 0.05, Usage: "largest difference of medians, as a `SHARE` of the baseline's; counts may also differ as two Poisson counts do"},
			&urfave.StringSliceFlag{Name: "metric", Usage: "`KEY` of a metric, as docs/results.md names them (default: p50 of TTFT and ITL in bursts, completion of each job, AIMD decreases and mean limit, evictions)"},
			&urfave.StringFlag{Name: "output", Value: "table", Usage: "`FORM` of the findings on standard output: table, junit or github (annotations)"},
		},
		Action: func(c *urfave.Context) error {
			if err := cli.MaxArgs(c, 1); err != nil {
				return err
			}
			return check(env, checkOptions{
				Baseline: c.String("baseline"), Current: c.Args().First(),
				Metrics: c.StringSlice("metric"), Bound: analysis.Bound{Within: c.Float64("within")}, FailOn: c.String("fail-on"), Output: c.String("output"), Quiet: cli.Quiet(c),
			})
		},
	}
}

func check(env cli.Env, o checkOptions) error {
	write, ok := findingFormats[o.Output]
	regressions, known := failures[o.FailOn]
	switch {
	case !ok:
		return cli.Usagef("--output: found %q, expected table, junit or github", o.Output)
	case !known:
		return cli.Usagef("--fail-on: found %q, expected difference or regression", o.FailOn)
	case o.Current == "":
		return cli.Usagef("no RESULTS given")
	case !(o.Bound.Within >= 0) || math.IsInf(o.Bound.Within, 1):
		return cli.Usagef("--within: found %g, expected 0 or more", o.Bound.Within)
	case o.Baseline == "-" && o.Current == "-":
		return cli.Usagef("--baseline: found - for both, expected standard input to be one of them")
	}
	o.Bound.Regressions = regressions
	baseline, err := readBaseline(env.Stdin, o.Baseline)
	if err != nil {
		return err
	}
	current, err := readResults(env.Stdin, o.Current)
	if err != nil {
		return err
	}
	if len(o.Metrics) == 0 {
		o.Metrics = analysis.BaselineMetrics(baseline, current)
	}
	for _, text := range analysis.KeysOfOne(baseline, current) {
		fmt.Fprintf(env.Stderr, "bg-analyze: warning: %s\n", printable.Lines(text))
	}
	findings := analysis.CompareWithBaseline(baseline, current, o.Metrics, o.Bound)
	if err := write(env.Stdout, findings); err != nil {
		return err
	}
	compared, failed, skipped := analysis.Tally(findings)
	if skipped > 0 && !o.Quiet {
		fmt.Fprintf(env.Stderr, "%d of %s skipped: null in both\n", skipped, analysis.Plural(len(findings), "comparison"))
	}
	switch {
	case failed > 0:
		return cli.InvalidError{Err: fmt.Errorf("%d of %s not within %g %%", failed, analysis.Plural(compared, "comparison"), o.Bound.Within*100)}
	case compared == 0:
		return cli.InvalidError{Err: fmt.Errorf("nothing was compared: neither side has a value of %s", strings.Join(o.Metrics, ", "))}
	}
	return nil
}

func readBaseline(stdin io.Reader, path string) ([]analysis.Results, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		earlier, err := analysis.ReadEarlier(path)
		return earlier, cli.Usage(err)
	}
	one, err := readResults(stdin, path)
	return []analysis.Results{one}, err
}

func readResults(stdin io.Reader, path string) (analysis.Results, error) {
	in, err := cli.OpenInput(stdin, path)
	if err != nil {
		return analysis.Results{}, cli.Usage(err)
	}
	defer in.Close()
	results, err := analysis.ReadResults(in, path)
	return results, cli.Usage(err)
}
