package analysis

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"bgbench/pkg/record"
	"bgbench/pkg/spec"
	"bgbench/pkg/stats"
)

// Compare summarizes every cell of the experiment in dir, which holds
// experiment.yaml and cells/<arm>/t<k>, and compares the arms over the trials. Cells of endpoints
// need no experiment.yaml. A
// cell that is missing is a warning, one that cannot be read is INVALID, one that belongs
// to another experiment an error.
// reference is another run of the same inputs, a folder like dir or the results.json in it,
// whose outputs must be the same; none if empty.
func Compare(ctx context.Context, dir, reference string) (Results, error) {
	experiment, err := experimentIn(dir)
	if err != nil {
		return Results{}, err
	}
	r := Results{SchemaVersion: SchemaVersion, Experiment: experiment, Cells: []CellResult{}, Warnings: []Warning{}}
	slots, err := r.readCells(ctx, dir)
	if err != nil {
		return Results{}, err
	}
	if reference != "" {
		if err := r.compareWithReference(ctx, slots, reference); err != nil {
			return Results{}, err
		}
	}
	if err := r.holdToDeclared(slots); err != nil {
		return Results{}, err
	}
	r.listCells(slots)
	if err := anyRead(slots, dir, experiment.Name); err != nil {
		return Results{}, err
	}
	if err := r.strangers(dir); err != nil {
		return Results{}, err
	}
	r.warnOfCells()
	r.compareArms()
	r.secondOpinions(slots)
	r.compareSteps()
	r.summarizeSuite()
	r.tradeOff()
	return r, nil
}

// slot is the place of a cell in the experiment.
type slot struct {
	arm    spec.Arm
	trial  int
	point  string // of a sweep over the profile, else empty
	result *CellResult
	meta   record.Metadata
	// declared is what the experiment said when the cell ran; nil where that is not known.
	declared *spec.Declaration
	outputs  map[line]uint64
	cache    cacheHits
	ttft     []float64 // of the interactive requests in the burst, in order
	absent   error     // why there is no result
	faulty   error     // why the result has no numbers: the cell cannot be read
}

// workload is what cells share that replay the same files.
type workload struct {
	point string
	trial int
}

func (s *slot) workload() workload { return workload{s.point, s.trial} }

func (s *slot) warning(format string, args ...any) Warning {
	return Warning{Arm: s.arm.Name, Trial: s.trial, Message: fmt.Sprintf(format, args...)}
}

// readCells reads the cells side by side and lists them by arm, then trial.
func (r *Results) readCells(ctx context.Context, dir string) ([]*slot, error) {
	var slots []*slot
	for _, arm := range r.Experiment.Arms {
		for trial := 1; trial <= r.Experiment.Trials; trial++ {
			slots = append(slots, &slot{arm: arm, trial: trial, point: r.Experiment.SweptOf(arm.Name).Point})
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, s := range slots {
		group.Go(func() error { return s.read(ctx, dir, r.Experiment) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if err := sameInputs(slots); err != nil {
		return nil, err
	}
	compareOutputs(slots)
	comparePrefixCache(slots, r.Experiment)
	return slots, nil
}

// listCells fills Cells.
func (r *Results) listCells(slots []*slot) {
	for _, s := range slots {
		if s.absent != nil {
			r.Warnings = append(r.Warnings, s.warning("the cell is missing: %v", s.absent))
			continue
		}
		r.Cells = append(r.Cells, *s.result)
	}
}

// anyRead says why there is nothing to compare, where no cell could be read.
func anyRead(slots []*slot, dir, experiment string) error {
	var faulty []error
	for _, s := range slots {
		switch {
		case s.faulty != nil:
			faulty = append(faulty, s.faulty)
		case s.result != nil:
			return nil
		}
	}
	if len(faulty) > 0 {
		return errors.Join(append(faulty, fmt.Errorf("%s: none of the %s can be read", dir, Plural(len(faulty), "cell")))...)
	}
	return fmt.Errorf("%s: found no finished cell, expected cells/<arm>/t<k> of experiment %q", dir, experiment)
}

func (s *slot) read(ctx context.Context, dir string, experiment spec.Experiment) error {
	place := filepath.Join("cells", s.arm.Name, fmt.Sprintf("t%d", s.trial))
	path := filepath.Join(dir, place)
	c, err := readCell(ctx, path)
	var unfinished UnfinishedError
	var notThere *fs.PathError
	switch {
	case errors.As(err, &notThere) && errors.Is(err, fs.ErrNotExist):
		s.absent = fmt.Errorf("there is no %s", filepath.Base(notThere.Path))
		return nil
	case errors.As(err, &unfinished):
		s.absent = fmt.Errorf("its run did not finish, there is only %s", record.Partial(filepath.Base(unfinished.File)))
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		s.setFaulty(experiment, place, path, err)
		return nil
	}
	s.meta, s.declared = c.meta, c.declared
	if err := c.belongs(s, experiment); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	result, err := c.result(filepath.ToSlash(place))
	if err != nil {
		s.setFaulty(experiment, place, path, fmt.Errorf("%s: %w", path, err))
		return nil
	}
	s.result, s.outputs = &result, c.rows.outputs()
	s.cache = c.cacheHits()
	s.keepOpinion(c)
	return nil
}

// belongs holds the metadata of a cell against the experiment and the place where
// the cell lies: what was measured, not what experiment.yaml says today, is what the
// numbers are of.
func (c *cell) belongs(s *slot, experiment spec.Experiment) error {
	m := c.meta
	profile := experiment.ProfileOf(s.arm.Name)
	seed := profile.TrialSeed(s.trial)
	switch {
	case m.Experiment != experiment.Name:
		return fmt.Errorf("it was measured for experiment %q, experiment.yaml is of %q", m.Experiment, experiment.Name)
	case m.Arm != s.arm.Name:
		return fmt.Errorf("it was measured for arm %q, expected %q", m.Arm, s.arm.Name)
	case m.Trial != s.trial:
		return fmt.Errorf("it was measured for trial %d, expected %d", m.Trial, s.trial)
	case m.Target != experiment.Target:
		return fmt.Errorf("target: it was measured with %q, experiment.yaml has %q", m.Target, experiment.Target)
	}
	if m.Target == spec.TargetEndpoint {
		m.Profile = asServed(m.Profile, profile)
	}
	if err := sameSettings("profile", m.Profile, profile); err != nil {
		return err
	}
	if err := sameSettings("arm", c.arm, s.arm); err != nil {
		return err
	}
	if m.Seed != seed {
		return fmt.Errorf("seed: it was measured with %d, trial %d of experiment.yaml has %d", m.Seed, s.trial, seed)
	}
	return nil
}

// sameInputs: arms are compared in pairs because the cells of a trial replayed the
// same files. Other files make the pairs meaningless. Points of a sweep over the profile
// have files of their own and pairs of their own.
func sameInputs(slots []*slot) error {
	first := make(map[workload]*slot)
	for _, s := range slots {
		if s.result == nil || s.faulty != nil {
			continue
		}
		with, ok := first[s.workload()]
		if !ok {
			first[s.workload()] = s
			continue
		}
		if differs := otherInput(with.meta, s.meta); differs != "" {
			return fmt.Errorf("trial %d: arms %s and %s replayed different inputs: %s", s.trial, with.arm.Name, s.arm.Name, differs)
		}
	}
	return nil
}

// otherInput names the first file that two cells replayed and that is not the same.
func otherInput(a, b record.Metadata) string {
	for _, name := range slices.Sorted(maps.Keys(a.Inputs)) {
		if was, is := a.Inputs[name], b.Inputs[name]; is != "" && is != was {
			return fmt.Sprintf("%s has SHA-256 %.12s… and %.12s…", name, was, is)
		}
	}
	return ""
}

// strangers warns of folders that the experiment has no arm or no trial for.
func (r *Results) strangers(dir string) error {
	arms, err := os.ReadDir(filepath.Join(dir, "cells"))
	if err != nil {
		return err
	}
	for _, arm := range arms {
		if _, ok := r.Experiment.Arm(arm.Name()); !ok {
			r.Warnings = append(r.Warnings, Warning{Message: fmt.Sprintf("cells/%s is left out: the experiment has no such arm", arm.Name())})
			continue
		}
		trials, err := os.ReadDir(filepath.Join(dir, "cells", arm.Name()))
		if err != nil {
			return err
		}
		for _, trial := range trials {
			var k int
			if _, err := fmt.Sscanf(trial.Name(), "t%d", &k); err == nil && trial.Name() == fmt.Sprintf("t%d", k) && k >= 1 && k <= r.Experiment.Trials {
				continue
			}
			r.Warnings = append(r.Warnings, Warning{Arm: arm.Name(), Message: fmt.Sprintf("cells/%s/%s is left out: the experiment has trials 1 to %d",
				arm.Name(), trial.Name(), r.Experiment.Trials)})
		}
	}
	return nil
}

func (r *Results) warnOfCells() {
	without := 0
	for _, c := range r.Cells {
		r.Warnings = append(r.Warnings, c.Warnings()...)
		if c.readable() && !slices.ContainsFunc(c.Curves, func(c Curve) bool { return c.Source != jobsSource && c.Source != loadSource }) {
			without++
		}
	}
	if without > 0 && r.Experiment.Target != spec.TargetEndpoint { // which has none to give
		r.Warnings = append(r.Warnings, Warning{Message: fmt.Sprintf("%d of %s without metrics of the servers to draw", without, Plural(len(r.Cells), "cell"))})
	}
}

// compareArms fills Arms from the valid cells.
func (r *Results) compareArms() {
	r.Arms = []ArmResult{}
	for _, arm := range r.Experiment.Arms {
		r.Arms = append(r.Arms, r.summarizeArm(arm))
	}
	effects := make(detectable)
	for i := range r.Arms {
		if base, ok := r.BaselineOf(r.Arms[i]); ok && base.Name != r.Arms[i].Name {
			r.compareArm(&r.Arms[i], base, effects)
		}
	}
	r.adjustVerdicts()
}

// BaselineOf returns the arm that arm is compared with: the baseline of its point.
func (r Results) BaselineOf(arm ArmResult) (ArmResult, bool) {
	i := slices.IndexFunc(r.Arms, func(a ArmResult) bool { return a.Baseline && a.Point == arm.Point })
	if i < 0 {
		return ArmResult{}, false
	}
	return r.Arms[i], true
}

// adjustVerdicts makes one family of all comparisons that have a test for a verdict.
func (r *Results) adjustVerdicts() {
	type place struct {
		arm int
		key string
	}
	var places []place
	var p []float64
	for i, a := range r.Arms {
		for _, key := range slices.Sorted(maps.Keys(a.Against)) {
			if c := a.Against[key]; c.P != nil {
				places, p = append(places, place{i, key}), append(p, *c.P)
			}
		}
	}
	for i, adjusted := range stats.Holm(p) {
		at := places[i]
		c := r.Arms[at.arm].Against[at.key]
		c.adjust(adjusted, len(p))
		r.Arms[at.arm].Against[at.key] = c
	}
}

func (r *Results) compareArm(arm *ArmResult, base ArmResult, effects detectable) {
	verdicts := verdictMetrics(r.Experiment.ProfileOf(arm.Name).Interactive)
	for key, e := range arm.Metrics {
		other, ok := base.Metrics[key]
		if !ok {
			continue // batch work has no counterpart in a baseline without it
		}
		p, decides := verdicts[key]
		if !decides || r.Experiment.Target == spec.TargetEndpoint { // of which no margin was declared
			arm.Against[key] = effects.compare(other, e, nil)
			continue
		}
		c := effects.compare(other, e, &r.Experiment.Margin)
		c.undeclared(r.changed(verdictSettings))
		c.withhold(unbounded(r.failedByTrial(base.Name), p, other, e), unbounded(r.failedByTrial(arm.Name), p, other, e))
		arm.Against[key] = c
	}
}

// failedByTrial counts those of the requests that decide a verdict.
func (r *Results) failedByTrial(arm string) []failures {
	out := make([]failures, r.Experiment.Trials)
	burst := BurstPhase(r.Experiment.Profile.Interactive)
	for _, c := range r.Cells {
		for _, p := range c.Phases {
			if c.Arm == arm && c.Trial <= len(out) && p.Phase == burst && p.Class == record.ClassInteractive {
				out[c.Trial-1] = failures{p.Requests - p.ByStatus[record.StatusOK], p.Requests}
			}
		}
	}
	return out
}

// verdictMetrics are the keys of the metrics that decide whether interactive
// traffic was protected, each with the quantile that must not fall on a request that
// failed. They were chosen before any run; everything else is shown without a verdict.
func verdictMetrics(in spec.Interactive) map[string]float64 {
	key := func(metric, stat string) string {
		return MetricKey(BurstPhase(in), record.ClassInteractive, metric, stat)
	}
	return map[string]float64{key(MetricTTFT, StatP95): 0.95, key(MetricTTFT, StatP99): 0.99, key(MetricITL, StatP95): 0.95}
}

func (r *Results) summarizeArm(arm spec.Arm) ArmResult {
	swept := r.Experiment.SweptOf(arm.Name)
	a := ArmResult{
		Name: arm.Name, Description: arm.Description, Baseline: arm.Name == r.Experiment.BaselineOf(arm.Name),
		Point: swept.Point, SweptFrom: swept.Of, Factors: swept.Factors,
		Metrics: map[string]Estimate{}, Against: map[string]Comparison{}, Jobs: []ArmJob{},
	}
	units := make(map[string]string)
	trials := make(map[string][]*Value) // by key, then trial
	jobs := make(map[string][]*JobSummary)
	for _, c := range r.Cells {
		switch {
		case c.Arm != arm.Name:
			continue
		case !c.Valid:
			a.Invalid++
			continue
		}
		a.Trials++
		for _, m := range measures(c) {
			put(trials, m.key(), r.Experiment.Trials, c.Trial, &m.value)
			units[m.key()] = m.unit
		}
		for _, j := range c.Jobs {
			put(jobs, j.Job, r.Experiment.Trials, c.Trial, &j)
		}
	}
	for key, values := range trials {
		a.Metrics[key] = estimate(units[key], values)
	}
	for _, j := range r.Experiment.ProfileOf(arm.Name).Batch.Jobs {
		if observed, ok := jobs[j.Name]; ok {
			a.Jobs = append(a.Jobs, armJob(j, observed))
		}
	}
	a.Order = armOrder(slices.DeleteFunc(slices.Clone(r.Cells), func(c CellResult) bool { return c.Arm != arm.Name || !c.Valid }))
	return a
}

// put sets the value of a trial, counted from 1, in the list under key.
func put[V any](lists map[string][]*V, key string, trials, trial int, v *V) {
	if lists[key] == nil {
		lists[key] = make([]*V, trials)
	}
	lists[key][trial-1] = v
}

func armJob(j spec.Job, trials []*JobSummary) ArmJob {
	out := ArmJob{Job: j.Name, WindowS: j.Window.Seconds()}
	values := make([]*Value, len(trials))
	var completed []float64
	var left watched
	for i, s := range trials {
		if s == nil {
			continue
		}
		switch {
		case s.CompletionS.Value != nil:
			completed = append(completed, *s.CompletionS.Value)
		case ended(s.Status):
			left.never++
		case s.ObservedS.Value != nil:
			left.times = append(left.times, *s.ObservedS.Value)
		}
		values[i] = &s.CompletionS
		out.Trials++
		if s.Met {
			out.Met++
		}
	}
	out.CompletionS = estimate("s", values)
	out.MetShare = shareOfFew(out.Met, out.Trials, "no valid trial")
	out.Censored = censored(completed, left, time.Time{}, "no valid trial")
	return out
}
