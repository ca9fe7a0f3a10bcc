package spec

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sweeping loads an experiment on the small profile with the lines of text in it.
func sweeping(t *testing.T, text string, sets ...string) (Experiment, error) {
	t.Helper()
	dir := write(t, map[string]string{"mine.yaml": "question: q\nprofile: ci\n" + text})
	return LoadExperiment(filepath.Join(dir, "mine.yaml"), sets)
}

func TestSweepMakesAnArmOfEachPoint(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		sets []string
		want []string
	}{
		"one key": {
			text: "arms: [s0-interactive-only, s3-admission-aimd]\nsweep: {router.maxConcurrency: [16, 32]}\n",
			want: []string{"s0-interactive-only", "s3-admission-aimd-maxConcurrency-16", "s3-admission-aimd-maxConcurrency-32"},
		},
		"a nested key and --set, which replaces the list": {
			text: "arms: [s0-interactive-only, s3-admission-aimd]\nsweep: {router: {maxConcurrency: [16, 32]}}\n",
			sets: []string{"sweep.router.maxConcurrency=[8]"},
			want: []string{"s0-interactive-only", "s3-admission-aimd-maxConcurrency-8"},
		},
		"a grid, the last key fastest": {
			text: "arms: [s0-interactive-only, h2-holdback]\nsweep: {router.holdback.minCeiling: [0.25, 0.5], router.eviction: [false, true]}\n",
			want: []string{
				"s0-interactive-only",
				"h2-holdback-minCeiling-0.25-eviction-false", "h2-holdback-minCeiling-0.25-eviction-true",
				"h2-holdback-minCeiling-0.5-eviction-false", "h2-holdback-minCeiling-0.5-eviction-true",
			},
		},
		"an arm that a key does not concern is not multiplied by it": {
			text: "arms: [s0-interactive-only, s1-no-gateway, s2-ungated]\nsweep: {gateway.maxRetries: [1, 2], engine.replicas: [1, 2]}\n",
			want: []string{
				"s0-interactive-only", "s1-no-gateway-replicas-1", "s1-no-gateway-replicas-2",
				"s2-ungated-maxRetries-1-replicas-1", "s2-ungated-maxRetries-1-replicas-2",
				"s2-ungated-maxRetries-2-replicas-1", "s2-ungated-maxRetries-2-replicas-2",
			},
		},
		"the baseline stays what the others are compared with": {
			text: "baseline: h0-realtime-only\narms: [h0-realtime-only, h1-unprotected]\nsweep: {router.maxConcurrency: [16, 32]}\n",
			want: []string{"h0-realtime-only", "h1-unprotected-maxConcurrency-16", "h1-unprotected-maxConcurrency-32"},
		},
		"a point may be the baseline": {
			text: "baseline: h1-unprotected-maxConcurrency-16\narms: [h1-unprotected]\nsweep: {router.maxConcurrency: [16, 32]}\n",
			want: []string{"h1-unprotected-maxConcurrency-16", "h1-unprotected-maxConcurrency-32"},
		},
		"values that are mappings": {
			text: "arms: [s0-interactive-only, h2-holdback]\nsweep: {router.holdback: [{minCeiling: 0.5}, {minCeiling: 0.5, maxCeiling: 0.9}]}\n",
			want: []string{"s0-interactive-only", "h2-holdback-holdback-0.5", "h2-holdback-holdback-0.5-0.9"},
		},
		"an item of a list that only some arms have, and negative values": {
			text: "arms: [s0-interactive-only, s2-ungated, s3-admission-aimd]\nsweep: {router.objectives.batch-sheddable.priority: [-1, -2]}\n",
			want: []string{"s0-interactive-only", "s2-ungated", "s3-admission-aimd-priority--1", "s3-admission-aimd-priority--2"},
		},
		"a name too long for a file loses its keys": {
			text: "arms: [s0-interactive-only, s4-flow-control-aimd]\nsweep: {gateway.concurrency.perEndpoint: [10], gateway.concurrency.aimd.backoffFactor: [0.5, 0.9], router.maxTokenConcurrency: [4096, 8192]}\n",
			sets: []string{"sweep.gateway.concurrency.perEndpoint=[10, 20]"},
			want: []string{
				"s0-interactive-only", "s4-flow-control-aimd-10-0.5-4096", "s4-flow-control-aimd-10-0.5-8192", "s4-flow-control-aimd-10-0.9-4096", "s4-flow-control-aimd-10-0.9-8192",
				"s4-flow-control-aimd-20-0.5-4096", "s4-flow-control-aimd-20-0.5-8192", "s4-flow-control-aimd-20-0.9-4096", "s4-flow-control-aimd-20-0.9-8192",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := sweeping(t, test.text, test.sets...)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, a := range e.Arms {
				names = append(names, a.Name)
			}
			if diff := cmp.Diff(test.want, names); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A profile is swept on a grid with the arms; each of its points is a workload with a
// baseline of its own.
func TestSweepOverTheProfileHasABaselineAtEachPoint(t *testing.T) {
	e, err := sweeping(t, `arms: [s0-interactive-only, s3-admission-aimd]
chains: [{name: value, arms: [s0-interactive-only, s3-admission-aimd-maxConcurrency-16]}]
trials: 2
sweep: {interactive.phases.burst.rate: [5, 10], router.maxConcurrency: [16, 32], profile.batch.lead: [1s]}
`)
	if err != nil {
		t.Fatal(err)
	}
	type place struct {
		Baseline, Inputs string
		Rate             float64
		Lead             string
	}
	got := map[string]place{}
	for _, a := range e.Arms {
		p := e.ProfileOf(a.Name)
		got[a.Name] = place{e.BaselineOf(a.Name), e.InputsOf(a.Name, 2), p.Interactive.Phases[0].Rate, p.Batch.Lead.String()}
	}
	five := place{"s0-interactive-only-rate-5-lead-1s", "inputs/rate-5-lead-1s/t2", 5, "1s"}
	ten := place{"s0-interactive-only-rate-10-lead-1s", "inputs/rate-10-lead-1s/t2", 10, "1s"}
	if diff := cmp.Diff(map[string]place{
		"s0-interactive-only-rate-5-lead-1s":                  five,
		"s3-admission-aimd-maxConcurrency-16-rate-5-lead-1s":  five,
		"s3-admission-aimd-maxConcurrency-32-rate-5-lead-1s":  five,
		"s0-interactive-only-rate-10-lead-1s":                 ten,
		"s3-admission-aimd-maxConcurrency-16-rate-10-lead-1s": ten,
		"s3-admission-aimd-maxConcurrency-32-rate-10-lead-1s": ten,
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := Swept{
		Arm: "s3-admission-aimd-maxConcurrency-16-rate-5-lead-1s", Of: "s3-admission-aimd", Point: "rate-5-lead-1s",
		Factors: []Factor{{"router.maxConcurrency", int64(16)}, {"profile.interactive.phases.burst.rate", int64(5)}, {"profile.batch.lead", "1s"}},
	}
	if diff := cmp.Diff(want, e.SweptOf(want.Arm)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Chain{
		{"value-rate-5-lead-1s", []string{"s0-interactive-only-rate-5-lead-1s", "s3-admission-aimd-maxConcurrency-16-rate-5-lead-1s"}},
		{"value-rate-10-lead-1s", []string{"s0-interactive-only-rate-10-lead-1s", "s3-admission-aimd-maxConcurrency-16-rate-10-lead-1s"}},
	}, e.Chains); diff != "" {
		t.Errorf("chains (-want +got):\n%s", diff)
	}
	for _, c := range e.Cells() {
		if c.Inputs != e.InputsOf(c.Arm, c.Trial) {
			t.Errorf("cell %s replays %s", c.Dir, c.Inputs)
		}
	}
	read, err := ReadExperiment(freeze(t, e))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, read); diff != "" {
		t.Errorf("(-frozen +read):\n%s", diff)
	}
	again, err := LoadExperiment(freeze(t, e), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, again); diff != "" {
		t.Errorf("(-frozen +loaded):\n%s", diff)
	}
	_, err = LoadExperiment(freeze(t, e), []string{"profile.batch.lead=3s"})
	wantError(t, err, "found points of a sweep over the profile, expected no --set of the profile")
}

func TestFactorsHaveTheKindOfTheirValues(t *testing.T) {
	e, err := sweeping(t, `arms: [s0-interactive-only, h2-holdback]
sweep:
  router.holdback: [{minCeiling: 0.4, maxCeiling: 1}]
  router.eviction: [true]
  engine.schedulingPolicy: [priority]
  batch.jobs: [[{name: X, requests: 9, window: 1m}]]
  prompt.isl.mean: [150.0]
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []Factor{
		{"router.holdback.minCeiling", 0.4}, {"router.holdback.maxCeiling", int64(1)}, {"router.eviction", true},
		{"engine.schedulingPolicy", "priority"},
		{"profile.batch.jobs", []any{map[string]any{"name": "X", "requests": int64(9), "window": "1m"}}},
		{"profile.prompt.isl.mean", 150.0},
	}
	if diff := cmp.Diff(want, e.SweptOf(e.Arms[1].Name).Factors); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	read, err := ReadExperiment(freeze(t, e))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, read); diff != "" {
		t.Errorf("(-frozen +read):\n%s", diff)
	}
}

// What a sweep wrote is a part of a frozen file, where a hand may change it.
func TestSweptExperimentThatDoesNotHoldTogetherIsRefused(t *testing.T) {
	e, err := sweeping(t, "arms: [s0-interactive-only, s2-ungated]\nsweep: {batch.lead: [1s, 3s]}\n")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*Experiment)
		want   string
	}{
		"a baseline at another point": {func(e *Experiment) { e.Points[0].Baseline = e.Points[1].Baseline }, `points.0.baseline: found "s0-interactive-only-lead-3s", expected an arm of point lead-1s`},
		"an arm that there is not":    {func(e *Experiment) { e.Swept[1].Arm = "x" }, `swept.1.arm: found "x", expected one of the arms`},
		"an arm twice":                {func(e *Experiment) { e.Swept = append(e.Swept, e.Swept[0]) }, `swept.4.arm: "s0-interactive-only-lead-1s" stands there twice`},
		"a point that there is not":   {func(e *Experiment) { e.Swept[1].Point = "x" }, `swept.1.point: found "x", expected one of the points`},
		"an arm at no point":          {func(e *Experiment) { e.Swept = e.Swept[:3] }, `arms.3: s2-ungated-lead-3s stands at none of the points`},
		"a profile of nothing":        {func(e *Experiment) { e.Points[1].Profile.Interactive.Cycles = 0 }, `interactive.cycles: found 0, expected 1 or more`},
	} {
		t.Run(name, func(t *testing.T) {
			changed := e
			changed.Points, changed.Swept = slices.Clone(e.Points), slices.Clone(e.Swept)
			test.change(&changed)
			wantError(t, changed.Validate(), test.want)
		})
	}
}

func TestKeysThatEndAlikeAreToldApart(t *testing.T) {
	axes := []axis{
		{path: []string{"backlog", "concurrency"}}, {path: []string{"async", "concurrency"}}, {path: []string{"engine", "replicas"}},
	}
	labelAxes(axes)
	for i, want := range []string{"backlog-concurrency", "async-concurrency", "replicas"} {
		if axes[i].label != want {
			t.Errorf("%s is called %s, want %s", axes[i].key(), axes[i].label, want)
		}
	}
}

func TestPointOfASweepIsItsArmWithTheValue(t *testing.T) {
	e, err := sweeping(t, "arms: [s0-interactive-only, s3-admission-aimd]\narmSet: {engine.replicas: 2}\nsweep: {router.maxConcurrency: [16, 32]}\n")
	if err != nil {
		t.Fatal(err)
	}
	want, err := LoadArm("s3-admission-aimd", []string{"engine.replicas=2", "router.maxConcurrency=32", "name=s3-admission-aimd-maxConcurrency-32"})
	if err != nil {
		t.Fatal(err)
	}
	want.Description += "; router.maxConcurrency 32"
	if diff := cmp.Diff(want, e.Arms[2]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSweepFaultsNameTheirPlace(t *testing.T) {
	for name, test := range map[string]struct{ sweep, want, hint string }{
		"a key that does not exist":        {"{router.maxConcurency: [16]}", "mine.yaml:4: sweep.router.maxConcurency: unknown key", "did you mean router.maxConcurrency?"},
		"a key below a value":              {"{engine.replicas.x: [16]}", "mine.yaml:4: sweep.engine.replicas.x: unknown key", "did you mean engine.replicas?"},
		"a key that no profile has":        {"{profile.batch.led: [1s]}", "mine.yaml:4: sweep.profile.batch.led: unknown key", "did you mean batch.lead?"},
		"a phase that the profile has not": {"{interactive.phases.peak.rate: [1]}", `sweep.profile.interactive.phases.peak.rate: found list index "peak", expected 0 to 1 or one of burst, idle`, ""},
		"a value that makes no profile":    {"{batch.lead: [1s, -1s]}", "mine.yaml:4: sweep.profile.batch.lead: found -1s, expected 0 or more", ""},
		"the seed":                         {"{profile.seed: [1, 2]}", "sweep.profile.seed: found the seed, expected another key", "set trials"},
		"the name of the profile":          {"{profile.name: [a, b]}", "sweep.profile.name: found name", ""},
		"no values":                        {"{router.maxConcurrency: []}", "mine.yaml:4: sweep.router.maxConcurrency: found no values", ""},
		"one value, not in a list":         {"{router.maxConcurrency: 16}", "sweep.router.maxConcurrency: found the single value 16, expected a list of values", "write [16]"},
		"nothing for a list":               {"{router.maxConcurrency: }", "sweep.router.maxConcurrency: found nothing, expected a list of values", ""},
		"a mapping of nothing":             {"{router: {}}", "sweep.router: found a mapping, expected a list of values", ""},
		"a value twice":                    {"{router.maxConcurrency: [16, 16]}", "sweep.router.maxConcurrency: found 16 twice", ""},
		"a number written in two ways":     {"{router.holdback.minCeiling: [0.6, 0.60]}", "sweep.router.holdback.minCeiling: found 0.6 and 0.60, which are the same value", ""},
		"a duration written in two ways":   {"{gateway.requestTimeout: [60s, 1m]}", "sweep.gateway.requestTimeout: found 60s and 1m, which are the same value", ""},
		"a mapping written in two ways":    {"{router.holdback: [{minCeiling: 0.5, maxCeiling: 1}, {maxCeiling: 1.0, minCeiling: 0.50}]}", "found 0.5-1 and 1.0-0.50, which are the same value", ""},
		"two values of one name":           {"{gateway.inferenceObjective: [a/b, a-b]}", "found two values that are both called a-b in the name of an arm", ""},
		"a key and one below it":           {"{router.holdback: [{minCeiling: 0.5}], router.holdback.minCeiling: [0.6]}", "sweep.router.holdback.minCeiling: found beside sweep.router.holdback, expected keys of which none lies below another", ""},
		"an element by number and by name": {"{interactive.phases.burst.rate: [4, 8], interactive.phases.0.rate: [8, 12]}", "sweep.profile.interactive.phases.0.rate: found beside sweep.profile.interactive.phases.burst.rate, expected elements of one list all by name or all by number: these may be the same", ""},
		"a fault inside a mapping":         {"{router.holdback: [{minCeiling: 2}]}", "mine.yaml:4: sweep.router.holdback.minCeiling: found 2, expected a share", ""},
		"a fault of a key beside it":       {"{gateway.concurrency.perEndpoint: [10, 3]}", "gateway.concurrency.aimd.min: found 5, expected perEndpoint 3 or less (with sweep.gateway.concurrency.perEndpoint 3)", ""},
		"an empty value":                   {"{router.maxConcurrency: [null]}", "sweep.router.maxConcurrency: found nothing, expected a value", ""},
		"a value that makes no arm":        {"{router.maxConcurrency: [16, 0]}", "mine.yaml:4: sweep.router.maxConcurrency", ""},
		"the place of such a value":        {"{router.maxConcurrency: [16, 0]}", "mine.yaml:4: sweep.router.maxConcurrency: found 0, expected 1 or more", ""},
		"a value of another kind":          {"{router.maxConcurrency: [16, many]}", `mine.yaml:4: sweep.router.maxConcurrency: found "many", expected a whole number`, ""},
		"the name":                         {"{name: [a, b]}", "sweep.name: found name, expected a key that changes the stack", ""},
		"a list":                           {"[router.maxConcurrency]", "mine.yaml:4: sweep: found a list, expected a mapping", ""},
		"a key that no arm reads":          {"{backlog.concurrency: [16, 32]}", "sweep.backlog.concurrency: found no arm that acts differently", "the baseline is not swept"},
		"an objective that no arm has":     {"{router.objectives.bulk.priority: [-1, -2]}", `found list index "bulk"`, ""},
		"a grid larger than anyone wants":  {"{engine.replicas: [" + numbers(40) + "], router.maxConcurrency: [" + numbers(40) + "]}", "found more than 1000", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sweeping(t, "arms: [s0-interactive-only, s3-admission-aimd]\nsweep: "+test.sweep+"\n")
			wantError(t, err, test.want)
			var hinted HintedError
			if errors.As(err, &hinted); !strings.Contains(hinted.Hint(), test.hint) {
				t.Errorf("found the hint %q, want %q", hinted.Hint(), test.hint)
			}
		})
	}
}

// numbers lists 1 to n.
func numbers(n int) string {
	var all []string
	for i := range n {
		all = append(all, strconv.Itoa(i+1))
	}
	return strings.Join(all, ", ")
}

func TestSweptExperimentIsFrozenAsItsPoints(t *testing.T) {
	e, err := sweeping(t, "arms: [s0-interactive-only, s3-admission-aimd]\nsweep: {router.maxConcurrency: [16, 32]}\n")
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadExperiment(freeze(t, e))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, got); diff != "" {
		t.Errorf("(-frozen +read):\n%s", diff)
	}
	if !slices.ContainsFunc(e.Cells(), func(c Cell) bool { return c.Dir == "cells/s3-admission-aimd-maxConcurrency-32/t3" }) {
		t.Errorf("found the cells %+v", e.Cells())
	}
}
