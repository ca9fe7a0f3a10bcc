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
		"a key that does not exist":       {"{router.maxConcurency: [16]}", "mine.yaml:4: sweep.router.maxConcurency: unknown key", "did you mean router.maxConcurrency?"},
		"a key below a value":             {"{engine.replicas.x: [16]}", "mine.yaml:4: sweep.engine.replicas.x: unknown key", "did you mean engine.replicas?"},
		"a key of the profile":            {"{profile.batch.jobs.0.requests: [16]}", "found a key of the profile, expected one of an arm", "--set profile.batch.jobs.0.requests=VALUE"},
		"a key of the profile, bare":      {"{batch.lead: [1s]}", "found a key of the profile, expected one of an arm", "--set profile.batch.lead=VALUE"},
		"no values":                       {"{router.maxConcurrency: []}", "mine.yaml:4: sweep.router.maxConcurrency: found no values", ""},
		"one value, not in a list":        {"{router.maxConcurrency: 16}", "sweep.router.maxConcurrency: found no values, expected a list of them", ""},
		"a value twice":                   {"{router.maxConcurrency: [16, 16]}", "sweep.router.maxConcurrency: found 16 twice", ""},
		"an empty value":                  {"{router.maxConcurrency: [null]}", "sweep.router.maxConcurrency: found nothing, expected a value", ""},
		"a value that makes no arm":       {"{router.maxConcurrency: [16, 0]}", "mine.yaml:4: router.maxConcurrency: found 0, expected 1 or more", ""},
		"a value of another kind":         {"{router.maxConcurrency: [16, many]}", `mine.yaml:4: arms.2.router.maxConcurrency: found "many", expected a whole number`, ""},
		"the name":                        {"{name: [a, b]}", "sweep.name: found name, expected a key that changes the stack", ""},
		"a list":                          {"[router.maxConcurrency]", "mine.yaml:4: sweep: found a list, expected a mapping", ""},
		"a key that no arm reads":         {"{backlog.concurrency: [16, 32]}", "sweep.backlog.concurrency: found no arm that acts differently", "the baseline is not swept"},
		"an objective that no arm has":    {"{router.objectives.bulk.priority: [-1, -2]}", `found list index "bulk"`, ""},
		"a grid larger than anyone wants": {"{engine.replicas: [" + numbers(40) + "], router.maxConcurrency: [" + numbers(40) + "]}", "found more than 1000", ""},
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
