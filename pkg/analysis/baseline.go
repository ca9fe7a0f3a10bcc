package analysis

import (
	"fmt"
	"slices"

	"bgbench/pkg/record"
)

// BaselineMetrics are compared with a baseline unless others are named: what an interactive
// user feels in the middle, where few requests suffice, when each job is done, and how
// often the batch gateway was told to slow down and the router evicted, as far as any
// arm can tell.
func BaselineMetrics(baseline []Results, current Results) []string {
	var metrics, jobs []string
	add := func(to *[]string, key string) {
		if !slices.Contains(*to, key) {
			*to = append(*to, key)
		}
	}
	for _, p := range current.Experiment.Profiles() {
		burst := BurstPhase(p.Interactive)
		add(&metrics, MetricKey(burst, record.ClassInteractive, MetricTTFT, StatP50))
		add(&metrics, MetricKey(burst, record.ClassInteractive, MetricITL, StatP50))
		for _, j := range p.Batch.Jobs {
			add(&jobs, MetricKey(PhaseAll, record.ClassBatch, MetricCompletion, j.Name))
		}
	}
	metrics = append(append(metrics, jobs...),
		MetricKey(PhaseAll, record.ClassBatch, MetricAIMDDecreases, StatValue),
		MetricKey(PhaseAll, record.ClassBatch, MetricAIMDLimit, StatMean),
		MetricKey(PhaseAll, record.ClassBatch, MetricEvictions, StatValue),
	)
	all := append(slices.Clone(baseline), current)
	return slices.DeleteFunc(metrics, func(m string) bool { return !anyHas(all, m) })
}

func anyHas(results []Results, metric string) bool {
	return slices.ContainsFunc(results, func(r Results) bool {
		return slices.ContainsFunc(r.Arms, func(a ArmResult) bool { _, ok := a.Metrics[metric]; return ok })
	})
}

// Bound says which differences from a baseline fail.
type Bound struct {
	Within float64 // largest difference of medians, as a share of the baseline's
	// Regressions alone fail: not what is better than it was, and not what a test could
	// not tell from chance.
	Regressions bool
}

// CompareWithBaseline compares current with earlier results, one or more, arm by arm. A
// finding is OK when the medians differ by at most the bound, as a share of the older one, or
// by what chance explains where they are counts. What only one of them has is never OK; a
// metric that is null in both is skipped.
// A metric that an arm has in neither is left out, unless no arm has it; an arm whose trials
// are all INVALID is skipped by name. Of several earlier
// results each gives one value, its median.
func CompareWithBaseline(baseline []Results, current Results, metrics []string, bound Bound) []Finding {
	var findings []Finding
	all := append(slices.Clone(baseline), current)
	before := earlierArms(baseline)
	for _, old := range before {
		i := slices.IndexFunc(current.Arms, func(a ArmResult) bool { return a.Name == old.name })
		if i < 0 {
			findings = append(findings, Finding{Arm: old.name, Reason: "the arm is only in the baseline"})
			continue
		}
		if differs := old.otherWorkload(current); differs != "" {
			findings = append(findings, Finding{Arm: old.name, Reason: "not compared, another profile: " + differs})
			continue
		}
		compared := len(findings)
		for _, metric := range metrics {
			f := Finding{Arm: old.name, Metric: metric}
			was, inOld := old.estimate(metric)
			is, inNew := current.Arms[i].Metrics[metric]
			if !inOld && !inNew && anyHas(all, metric) {
				continue
			}
			if inOld && inNew && was.Median == nil && is.Median == nil {
				f.Unit, f.Skipped, f.Reason = was.Unit, true, "null in both"
				if was.Reason != "" {
					f.Reason += ": " + was.Reason
				}
			} else {
				f.compare(was, is, bound.Within)
				f.Test = old.test(was, is)
			}
			findings = append(findings, f)
		}
		if a := current.Arms[i]; len(findings) == compared && a.Trials == 0 && a.Invalid > 0 {
			findings = append(findings, Finding{Arm: old.name, Skipped: true, Reason: "no metric in both: INVALID in " + Plural(a.Invalid, "trial")})
		}
	}
	for _, a := range current.Arms {
		if !slices.ContainsFunc(before, func(e earlierArm) bool { return e.name == a.Name }) {
			findings = append(findings, Finding{Arm: a.Name, Reason: "the arm is not in the baseline"})
		}
	}
	judge(findings)
	if bound.Regressions {
		for i := range findings {
			findings[i].forgive(bound.Within)
		}
	}
	return findings
}

// earlierArm is an arm as one or more earlier results have it.
type earlierArm struct {
	name string
	in   []earlier
}

type earlier struct {
	results Results
	arm     ArmResult
}

// earlierArms lists them in the order in which they first appear.
func earlierArms(results []Results) []earlierArm {
	var out []earlierArm
	for _, r := range results {
		for _, a := range r.Arms {
			i := slices.IndexFunc(out, func(e earlierArm) bool { return e.name == a.Name })
			if i < 0 {
				i = len(out)
				out = append(out, earlierArm{name: a.Name})
			}
			out[i].in = append(out[i].in, earlier{r, a})
		}
	}
	return out
}

// estimate is that of the one result, or over the medians of several.
func (e earlierArm) estimate(metric string) (Estimate, bool) {
	if len(e.in) == 1 {
		one, ok := e.in[0].arm.Metrics[metric]
		return one, ok
	}
	var medians []*Value
	unit := ""
	for _, run := range e.in {
		if one, ok := run.arm.Metrics[metric]; ok {
			unit = one.Unit
			medians = append(medians, &Value{Value: one.Median, Reason: one.Reason})
		}
	}
	if medians == nil {
		return Estimate{}, false
	}
	return estimate(unit, medians), true
}

func (e earlierArm) test(was, is Estimate) Unpaired {
	switch {
	case was.Median == nil || is.Median == nil:
		return Unpaired{}
	case len(e.in) == 1:
		return unpaired(known(was.Values), known(is.Values))
	}
	return nextRun(known(was.Values), *is.Median)
}

// otherWorkload names the first key at which the profile of the arm is another than it was.
func (e earlierArm) otherWorkload(now Results) string {
	for _, run := range e.in {
		if differs := OtherWorkload(e.name, run.results, now); differs != "" {
			return differs
		}
	}
	return ""
}

// OtherWorkload names the first key at which the profile of an arm is another in one
// experiment than in an earlier one, with both values; empty where none is. A seed draws other
// requests of the same kind. What only one of two builds knows is not compared: KeysOfOne
// names it.
func OtherWorkload(arm string, earlier, now Results) string {
	of := func(x Results) any {
		p := x.Experiment.ProfileOf(arm)
		p.Name, p.Description, p.Seed = "", "", 0
		keys, err := tree(p)
		if err != nil {
			return err.Error()
		}
		for _, lacks := range [][]string{earlier.keys.lacking, now.keys.lacking} {
			for _, key := range ofProfile(lacks) {
				without(keys, key)
			}
		}
		return keys
	}
	if key, was, is := differing("profile", of(earlier), of(now)); key != "" {
		return fmt.Sprintf("%s was %s and is %s", key, inJSON(was), inJSON(is))
	}
	return ""
}
