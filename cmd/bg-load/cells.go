package main

import (
	"fmt"
	"path/filepath"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/load"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

func cellsCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "cells",
		Usage:     "make the missing cells of an experiment of target model",
		ArgsUsage: "DIR",
		Description: "DIR is the folder of the experiment, with experiment.yaml and inputs in it. One process\n" +
			"makes one cell after the other, each as bg-load run --experiment would, into\n" +
			"DIR/cells/ARM/tK, which appears when it is whole. What an earlier run left that was cut\n" +
			"is kept beside it as tK.cut. A cell that fails costs no other one.\n\n" +
			cli.Examples(
				"bg-load cells results/batch-gateway",
				"bg-load cells results/batch-gateway --trial 2 --arm s2-ungated --arm s5-async"),
		Flags: []ucli.Flag{
			&ucli.IntFlag{Name: "trial", Usage: "trial `K` alone"},
			&ucli.StringSliceFlag{Name: "arm", Usage: "the arm called `NAME` alone; may be repeated"},
		},
		Action: func(c *ucli.Context) error { return makeCells(c, env) },
	}
}

func makeCells(c *ucli.Context, env cli.Env) error {
	if err := cli.MaxArgs(c, 1); err != nil {
		return err
	}
	if !c.Args().Present() {
		return cli.Usagef("found no argument, expected the folder of an experiment")
	}
	if c.IsSet("trial") && c.Int("trial") < 1 {
		return cli.Usagef("--trial: found %d, expected 1 or more", c.Int("trial"))
	}
	m := load.Matrix{Dir: c.Args().First(), Trial: c.Int("trial"), Arms: c.StringSlice("arm"), Versions: versions()}
	var err error
	if m.Experiment, err = spec.LoadExperiment(filepath.Join(m.Dir, "experiment.yaml"), nil); err != nil {
		return cli.Usage(err)
	}
	if !cli.Quiet(c) {
		m.Began = func(cell load.MatrixCell) load.Watch { return watchCell(env, cell) }
	}
	keepToOneCore(env)
	return m.Run(c.Context)
}

// watchCell shows which cell runs and how.
func watchCell(env cli.Env, cell load.MatrixCell) load.Watch {
	text := fmt.Sprintf("cell %d of %d: %s trial %d", cell.Index, cell.Total, cell.Arm, cell.Trial)
	if left := int(cell.Left.Seconds()); left >= 1 {
		text += fmt.Sprintf(", about %d min %02d s left", left/60, left%60)
	}
	fmt.Fprintln(env.Stderr, text)
	meter := load.NewMeter(env.Stderr, env.Terminal, true)
	return load.Watch{
		Progress: meter.Report,
		Verdict: func(h record.LoadHealth) {
			meter.Close()
			printVerdict(env.Stderr, h)
		},
		Kept: func(dir string) { fmt.Fprintf(env.Stderr, "what an earlier run measured is kept in %s\n", dir) },
		End:  meter.Close,
	}
}
