package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/inputs"
	"bgbench/pkg/load"
	"bgbench/pkg/printable"
	"bgbench/pkg/spec"
)

// endpointFlags are those of a run without a descriptor.
func endpointFlags() []ucli.Flag {
	return []ucli.Flag{
		&ucli.StringFlag{Name: "target", Usage: "`URL` of an OpenAI API to measure as it is, in place of --stack; with or without /v1"},
		&ucli.StringFlag{Name: "batch-url", Usage: "`URL` of an OpenAI Batch API for the jobs of the profile, with --target or alone"},
		&ucli.StringFlag{Name: "model", Usage: "`NAME` of the model, where --target offers several"},
		&ucli.BoolFlag{Name: "plain", Usage: "send --target the keys of the OpenAI API alone; found out otherwise"},
		&ucli.StringFlag{Name: "profile", Aliases: []string{"p"}, Usage: "`NAME` or file of the profile that inputs are drawn from where there are no --inputs (default: quick, with --batch-url quick-batch)"},
		&ucli.StringSliceFlag{Name: "set", Usage: "`KEY=VALUE` over the profile; may be repeated"},
		&ucli.IntFlag{Name: "trial", Value: 1, Usage: "trial `K` to draw, from 1"},
	}
}

// toEndpoint says whether an endpoint is measured, not a stack. BG_TARGET is that of
// bg-deploy, too, where it is a name.
func toEndpoint(c *ucli.Context, env cli.Env) bool {
	name := slices.Contains([]string{spec.TargetModel, spec.TargetLocal, spec.TargetKube}, c.String("target"))
	return c.IsSet("batch-url") || c.IsSet("target") && (!name || cli.Typed(c, env, "target"))
}

// onlyOfEndpoints refuses flags that a stack has no use for.
func onlyOfEndpoints(c *ucli.Context, env cli.Env) error {
	for _, name := range []string{"model", "plain", "profile", "set", "trial"} {
		if cli.Typed(c, env, name) {
			return fmt.Errorf("--%s: found it without --target or --batch-url, expected it with one of them", name)
		}
	}
	return nil
}

// readEndpoint reads the flags, but for those of the connection.
func readEndpoint(c *ucli.Context, env cli.Env) (load.Endpoint, *inputs.Set, error) {
	e := load.Endpoint{Model: c.String("model"), Arm: c.String("arm")}
	if e.Arm == "" {
		e.Arm = "endpoint"
	}
	for _, u := range []struct {
		flag string
		to   *string
	}{{"target", &e.URL}, {"batch-url", &e.BatchURL}} {
		if !c.IsSet(u.flag) {
			continue
		}
		base, err := load.ParseEndpoint(c.String(u.flag))
		if err != nil {
			return e, nil, fmt.Errorf("--%s: %w", u.flag, err)
		}
		*u.to = base
	}
	switch {
	case cli.Typed(c, env, "stack") || cli.Typed(c, env, "experiment"):
		return e, nil, errors.New("--target: found --stack or --experiment too, expected either")
	case c.String("shard") != "":
		return e, nil, errors.New("--shard: found it with --target or --batch-url, expected it with --stack")
	case c.Int("trial") < 1 || c.Int("trial") > spec.MaxTrials:
		return e, nil, fmt.Errorf("--trial: found %d, expected 1 to %d", c.Int("trial"), spec.MaxTrials)
	}
	var err error
	if c.IsSet("inputs") {
		for _, name := range []string{"profile", "set", "trial"} {
			if cli.Typed(c, env, name) {
				return e, nil, fmt.Errorf("--inputs: found --%s too, expected either: inputs have a profile and a trial", name)
			}
		}
		set, err := inputs.Open(c.String("inputs"))
		if err != nil {
			return e, nil, err
		}
		e.Profile = set.Manifest.Profile
		if e.Model == "" {
			e.Model = e.Profile.Model
		}
		return e, set, nil
	}
	name := c.String("profile")
	switch {
	case name == "" && e.BatchURL != "":
		name = "quick-batch"
	case name == "":
		name = "quick"
	}
	if e.Profile, err = spec.LoadProfile(name, c.StringSlice("set")); err != nil {
		return e, nil, err
	}
	if e.BatchURL != "" && len(e.Profile.Batch.Jobs) == 0 {
		return e, nil, cli.WithHint(fmt.Errorf("--batch-url: profile %s has no job, expected one with jobs", name), "quick-batch has one")
	}
	return e, nil, nil
}

// endpointOptions reaches the endpoint and makes a run of what it is; clean removes what
// was drawn.
func endpointOptions(ctx context.Context, c *ucli.Context, env cli.Env) (o load.Options, clean func(), err error) {
	say := func(text string) { fmt.Fprintln(env.Stderr, printable.Line(text)) } // with words of the endpoint's
	e, set, err := readEndpoint(c, env)
	if err != nil {
		return o, nil, cli.Usage(err)
	}
	if o.Connection, err = connection(c, env); err != nil {
		return o, nil, err
	}
	o.Connection.Plain = c.Bool("plain")
	e.Connection = o.Connection
	if !cli.Quiet(c) {
		e.Waiting = func(what string) { say("waiting for " + what) }
	}
	o, clean, err = e.Options(ctx, set, c.Int("trial"))
	if err != nil {
		return o, nil, err
	}
	if !cli.Quiet(c) {
		say("measuring " + o.Stack.Arm.Description)
		for _, note := range o.Notes {
			say(note)
		}
	}
	return o, clean, nil
}
