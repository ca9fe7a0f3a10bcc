package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/inputs"
	"bgbench/pkg/inputs/draw"
	"bgbench/pkg/schedule"
)

// printLengths says how the lengths came out: what the bounds and the context cut
// off moves the moments away from what was asked for.
func printLengths(c *ucli.Context, lengths []inputs.Lengths) error {
	if cli.Quiet(c) {
		return nil
	}
	table := tabwriter.NewWriter(c.App.ErrWriter, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "class\ttokens\tmean asked\tdrawn\tsd asked\tdrawn\tmin\tmax\tclipped\tcut to context\t")
	for _, l := range lengths {
		fmt.Fprintf(table, "%s\t%s\t%.1f\t%.1f\t%.1f\t%.1f\t%d\t%d\t%.2f %%\t%.2f %%\t\n",
			l.Class, l.Quantity, l.RequestedMean, l.Mean, l.RequestedSD, l.SD, l.Min, l.Max, 100*l.ClippedShare, 100*l.JointCapShare)
	}
	return table.Flush()
}

// inputError marks what the user asked for, as against what went wrong on the way.
func inputError(err error) error {
	var conflict draw.Conflict
	var limit inputs.LimitError
	var trace schedule.TraceError
	if errors.As(err, &conflict) || errors.As(err, &limit) || errors.As(err, &trace) || draw.IsInput(err) {
		return cli.Usage(err)
	}
	return err
}
