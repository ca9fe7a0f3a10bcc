package main

import (
	"fmt"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/inputs/draw"
	"bgbench/pkg/spec"
)

func inputsCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "inputs",
		Usage: "draw the prompts, the schedule and the batch jobs of a trial",
		Description: cli.Examples(
			"bg-gen inputs -e batch-gateway-ci --trial 1 -o inputs/t1",
			"bg-gen inputs -p default --trial 1 -o - | wc -l"),
		Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "experiment", Aliases: []string{"e"}, Usage: "`NAME` or file of the experiment"},
			&ucli.StringFlag{Name: "profile", Aliases: []string{"p"}, Usage: "`NAME` or file of a profile, in place of an experiment"},
			&ucli.IntFlag{Name: "trial", Value: 1, Usage: "trial `K`, from 1"},
			&ucli.StringFlag{Name: "point", Usage: "`NAME` of the point, in an experiment that sweeps keys of its profile"},
			&ucli.StringFlag{Name: "tokenizer", Usage: "`FILE` tokenizer.json of the model, by which tokens are counted (with the chat template beside it), as tokenizer of the profile"},
			&ucli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`DIR` to write; - prints the lines of prompts.jsonl"},
			setFlag("experiment or the profile"),
		},
		Action: func(c *ucli.Context) error {
			if err := cli.NoArgs(c); err != nil {
				return err
			}
			trial, err := trialOf(c)
			if err != nil {
				return err
			}
			return drawInputs(c, trial)
		},
	}
}

// trialOf reads which trial is wanted.
func trialOf(c *ucli.Context) (draw.Trial, error) {
	t := draw.Trial{Number: c.Int("trial")}
	switch {
	case t.Number < 1 || t.Number > spec.MaxTrials:
		return t, cli.Usagef("--trial: found %d, expected 1 to %d", t.Number, spec.MaxTrials)
	case c.String("output") == "":
		return t, cli.Usagef("--output: found nothing, expected a folder or -")
	case c.String("experiment") != "" && c.String("profile") != "":
		return t, cli.Usagef("found --experiment and --profile, expected one of them")
	case c.String("point") != "" && c.String("experiment") == "":
		return t, cli.Usagef("--point: found %q without --experiment, expected an experiment that sweeps its profile", c.String("point"))
	case c.String("experiment") != "":
		e, err := spec.LoadExperiment(c.String("experiment"), c.StringSlice("set"))
		if err != nil {
			return t, cli.Usage(err)
		}
		if t.Number > e.Trials {
			return t, cli.Usagef("--trial: found %d, expected 1 to %d, the trials of experiment %s", t.Number, e.Trials, e.Name)
		}
		point, err := e.Workload(c.String("point"))
		if err != nil {
			return t, cli.Usagef("--point: %w", err)
		}
		t.Experiment, t.Point, t.Profile = e.Name, point.Name, point.Profile
	case c.String("profile") != "":
		p, err := spec.LoadProfile(c.String("profile"), c.StringSlice("set"))
		if err != nil {
			return t, cli.Usage(err)
		}
		t.Experiment, t.Profile = p.Name, p
	default:
		return t, cli.Usagef("found neither --experiment nor --profile, expected one of them")
	}
	if c.IsSet("tokenizer") {
		t.Profile.Tokenizer = c.String("tokenizer")
	}
	return t, nil
}

func drawInputs(c *ucli.Context, t draw.Trial) error {
	dir := c.String("output")
	if dir == "-" {
		lengths, err := t.Prompts(c.App.Writer)
		if err != nil {
			return inputError(err)
		}
		return printLengths(c, lengths)
	}
	m, drawn, err := t.Write(dir)
	if err != nil {
		return inputError(err)
	}
	if !drawn && !cli.Quiet(c) {
		fmt.Fprintf(c.App.ErrWriter, "%s holds trial %d of %s already\n", dir, m.Trial, m.Experiment)
	}
	if m.Tokenizer != nil && m.Tokenizer.Template == "" && !cli.Quiet(c) {
		fmt.Fprintf(c.App.ErrWriter, "%s: found no chat template beside it: texts are counted, and ChatML's tokens added to them\n", m.Tokenizer.File)
	}
	for _, s := range m.Sources {
		if s.Repeats() && !cli.Quiet(c) {
			fmt.Fprintf(c.App.ErrWriter, "%s: warning: %d conversations have %d texts (of %d rows, %d without a text, %d too short or too long): each is sent more than once, and the prefix cache finds it\n",
				s.File, s.Dealt, s.Rows-s.LeftOut, s.Rows+s.WithoutText, s.WithoutText, s.LeftOut)
		}
	}
	return printLengths(c, m.Lengths)
}
