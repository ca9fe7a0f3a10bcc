package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bgbench/pkg/analysis"
	"bgbench/pkg/spec"
)

// everything is the fixture with what makes every figure and every table of the page.
func everything() (analysis.Results, Beside) {
	r := engaged()
	for i := range r.Cells {
		fillCell(&r.Cells[i])
	}
	burst := "burst/interactive/"
	for i := range r.Arms {
		a := &r.Arms[i]
		for key, unit := range map[string]string{burst + "tpot/p50": "s", burst + "e2e/p50": "s", burst + "goodput/ratio": "ratio", burst + "goodput/per_s": "requests/s",
			"all/batch/requests_per_s/value": "requests/s", "all/batch/evictions/value": "1"} {
			v := 0.3 + 0.11*float64(i)
			a.Metrics[key] = estimate(unit, []*float64{number(v), number(v * 1.05), number(v * 0.98)}, "")
		}
		e := a.Metrics[burst+"ttft/p95"]
		e.Bootstrap = &analysis.SecondOpinion{Low: number(0.31), High: number(0.37), Method: "hierarchical bootstrap"}
		if i == 1 {
			e.Bootstrap = &analysis.SecondOpinion{Reason: "it needs 5 trials, there are 3"}
		}
		e.MedianLow, e.MedianHigh, e.MedianCoverage = number(0.30), number(0.38), number(0.97)
		a.Metrics[burst+"ttft/p95"] = e
		rate := estimate("ratio", []*float64{number(0), number(0), number(0.01)}, "")
		rate.Mean, rate.MeanLow, rate.MeanHigh, rate.MeanMethod = number(0.0033), number(0), number(0.01), "BCa bootstrap"
		a.Metrics[burst+"error_rate/value"] = rate
		if i == 0 {
			continue
		}
		a.Order = analysis.ArmOrder{Jobs: 3, Trials: 3, Kept: 3, P: number(0.0046)}
		for j := range a.Jobs {
			a.Jobs[j].MetShare = analysis.Share{Count: a.Jobs[j].Met, N: a.Jobs[j].Trials, Value: number(1), Low: number(0.29), High: number(1)}
		}
		a.SweptFrom = "s2-ungated"
		a.Factors = []spec.Factor{{Key: "router.maxConcurrency", Value: []float64{16, 16, 32}[i-1]}, {Key: "profile.interactive.phases.0.rate", Value: []float64{10, 15, 10}[i-1]}}
		over := analysis.Repeats{N: 3, Median: number(0.4), Mean: number(0.41), Min: number(0.3), Max: number(0.5), Total: number(1.2)}
		r.Suite = append(r.Suite, analysis.SuiteRow{Arm: a.Name, Runs: 3, TTFTP50: over, TTFTP95: over, TTFTChange: measured(0.64, 3), Completed: over, Span: over,
			BatchE2E: analysis.Repeats{Reason: "the Batch API does not say when a line was sent"}, Evictions: over, Redone: over,
			OneResult: analysis.Share{Count: 4, N: 4, Value: number(1)}})
	}
	var beside Beside
	for i, rate := range []float64{8, 16, 24} {
		p := r.Cells[3].Phases[0]
		p.OfferedPerS, p.OKPerS = measured(rate, 300), measured(rate*(1-0.03*float64(i)), 300)
		p.TTFTFromDue = spread([3]float64{0.1 + 0.1*float64(i), 0.2 + 0.5*float64(i*i), 3}, 300)
		beside.Rates = append(beside.Rates, analysis.RatePoint{Arm: "s2-ungated", Trial: 1, Dir: "sweep", Valid: i != 2, Summary: p, Knee: i == 1},
			analysis.RatePoint{Arm: "another", Trial: 1, Dir: "sweep", Valid: true, Summary: p})
	}
	before, other := fixture(), fixture()
	other.Experiment.Profile.Interactive.Phases = slices.Clone(other.Experiment.Profile.Interactive.Phases)
	other.Experiment.Profile.Interactive.Phases[0].Rate = 10
	other.Experiment.Question = "What about fewer requests?"
	beside.Runs = []Run{{Name: "before", Results: before}, {Name: "other", Results: other}}
	return r, beside
}

// fillCell adds what fixtureCell leaves out.
func fillCell(c *analysis.CellResult) {
	c.TokenCounts = []analysis.TokenCounts{{Class: "interactive",
		Prompt: analysis.TokensPaired{Requested: measured(100_000, 50), Counted: measured(100_210, 50), Ratio: measured(1.0021, 50),
			Same: analysis.Share{Count: 41, N: 50, Value: number(0.82)}, Least: measured(-3, 50), Most: measured(12, 50)},
		Output: analysis.TokensPaired{Requested: missing("no request has both numbers"), Counted: missing("no request has both numbers"), Ratio: missing("no request has both numbers"),
			Same: analysis.Share{Reason: "no request has both numbers"}, Least: missing("no request has both numbers"), Most: missing("no request has both numbers")}}}
	for _, phase := range []string{"burst", "idle", "all"} {
		none := missing("it is a gauge")
		c.Infrastructure = append(c.Infrastructure,
			analysis.Infrastructure{Metric: "vllm:num_requests_running", Unit: "requests", Phase: phase, Of: "sum", Series: 2, Mean: measured(41, 90), Min: measured(3, 90), Max: measured(77, 90), Rise: none, PerS: none},
			analysis.Infrastructure{Metric: "vllm:kv_cache_usage_perc", Unit: "ratio", Phase: phase, Of: "mean", Series: 2, Mean: measured(0.41, 90), Min: measured(0.03, 90), Max: measured(0.77, 90), Rise: none, PerS: none},
			analysis.Infrastructure{Metric: "vllm:num_preemptions_total", Unit: "1", Phase: phase, Of: "sum", Series: 2, Mean: none, Min: none, Max: none, Rise: measured(27, 2), PerS: measured(0.1, 2)},
			analysis.Infrastructure{Metric: "x_total{priority=-1}", Unit: "1", Phase: phase, Of: "sum", Series: 1, Mean: none, Min: none, Max: none, Rise: missing("it was not sampled"), PerS: none})
	}
	for i := range c.Phases {
		p := &c.Phases[i]
		for cycle := range 4 {
			p.Cycles = append(p.Cycles, analysis.CycleSummary{Cycle: cycle, Warmup: cycle == 0, WindowS: 90, Requests: p.Requests / 3, Errors: p.Errors, Good: p.Goodput.Good,
				OKPerS: p.OKPerS, OutputTokensPerS: p.OutputTokensPerS, TTFT: p.TTFT, E2E: p.E2E, BatchPerS: c.Batch.PerPhase[p.Phase]})
		}
		p.Steadiness = analysis.Steadiness{Seconds: 360, DeclaredS: 90, MSERS: measured(40, 360), Correlation: measured(0.3, 270), EffectiveN: measured(145, 270),
			MeanLow: measured(0.2, 270), MeanHigh: measured(0.3, 270)}
	}
	g := &c.Agreement
	g.Clients, g.Servers, g.MeanDifferenceS = measured(4860, 1), measured(4860, 1), measured(0.0011, 1)
	g.Quantiles = []analysis.QuantileAgreement{{P: 0.5, ClientS: measured(0.11, 1), ServerLowS: measured(0.1, 1), ServerHighS: measured(0.25, 1)}}
	if len(c.Jobs) == 0 {
		return
	}
	times := analysis.HistogramTimes{N: measured(900, 900), MeanS: measured(0.21, 900), P50: analysis.BucketQuantile{LowS: number(0.1), HighS: number(0.25)},
		P95: analysis.BucketQuantile{LowS: number(1)}, P99: analysis.BucketQuantile{Reason: "none"}}
	for _, phase := range []string{"burst", "idle", "all"} {
		for _, priority := range []string{"100", "-1"} {
			c.QueueTimes = append(c.QueueTimes, analysis.QueueTimes{Phase: phase, Priority: priority, Times: times, Refused: measured(2, 1)})
		}
	}
	if c.Arm == "s6-low-concurrency" {
		c.Release = &analysis.ReleaseTimes{Times: times, Confirmed: measured(900, 1), TimedOut: measured(1, 1)}
	}
	yes := true
	c.Batch.Deadlines = analysis.Deadlines{Met: analysis.Share{Count: 2, N: 3, Value: number(0.67)},
		Lines: analysis.Share{Count: 2900, N: 3000, Value: number(0.967), Low: number(0.96), High: number(0.972)},
		Order: analysis.DeadlineOrder{Expected: []string{"A", "B", "C"}, Found: []string{"A", "B", "C"}, Kept: &yes, SpreadRatio: measured(0.5, 3)}}
	for i := range c.Jobs {
		c.Jobs[i].WaitS, c.Jobs[i].MarginS, c.Jobs[i].InWindow = measured(5, 1), measured(-62, 1), measured(0.97, 1000)
	}
	for i, name := range []string{aimdLimit, gateBudget, evictions, failedLoad} {
		c.Curves = append(c.Curves, analysis.Curve{Name: name, Source: "gateway", Unit: "requests", Points: [][2]float64{{0, 30}, {50, float64(5 * i)}, {100, 30}, {200, 0}, {250, 31}}})
	}
}

// attacks try to leave the place where they are shown.
var attacks = []string{
	`</script><script>document.title='PWNED'</script>`,
	`"'><img src=x onerror="document.title='PWNED'">{b} | *bold* [link](javascript:alert(1))` + "\u202eevil\u200f\u2028" + `<!--`,
	strings.Repeat("x", 10_000),
}

// attacked is a text of the data as somebody hostile would have it. One text always becomes
// the same, so that names still refer to each other.
func attacked(text string) string {
	n := len(text)
	for _, c := range text {
		n += int(c)
	}
	return text + attacks[n%len(attacks)]
}

// kept are the fields whose texts a reader of results.json goes by: they are written by
// bgbench alone, and another text in them is no such file.
var kept = []string{"SchemaVersion", "Dispatch", "Class", "Verdict", "Target", "Key", "Promised", "Type", "Arrival"}

// attack changes every text below v, names and phases alike, as far as it is free.
func attack(v reflect.Value, phases map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		if v.Kind() == reflect.Interface {
			inner := reflect.New(v.Elem().Type()).Elem()
			inner.Set(v.Elem())
			attack(inner, phases)
			v.Set(inner)
			return
		}
		attack(v.Elem(), phases)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.IsExported() && !slices.Contains(kept, f.Name) {
				attack(v.Field(i), phases)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			attack(v.Index(i), phases)
		}
	case reflect.Map:
		changed := reflect.MakeMap(v.Type())
		for _, key := range v.MapKeys() {
			inner := reflect.New(v.Type().Elem()).Elem()
			inner.Set(v.MapIndex(key))
			attack(inner, phases)
			changed.SetMapIndex(reflect.ValueOf(attackedKey(key.String(), phases)).Convert(v.Type().Key()), inner)
		}
		if v.Len() > 0 {
			v.Set(changed)
		}
	case reflect.String:
		v.SetString(attackedKey(v.String(), phases))
	}
}

// attackedKey changes a text, but of what bgbench puts together itself only the part that
// comes from outside: phase and job in burst/batch/completion_s/A.
func attackedKey(text string, phases map[string]bool) string {
	switch parts := strings.Split(text, "/"); {
	case text == "" || text == analysis.PhaseAll || strings.HasPrefix(text, "load:"):
		return text
	case len(parts) == 4:
		if phases[parts[0]] {
			parts[0] = attacked(parts[0])
		}
		return strings.Join(parts, "/")
	case slices.Contains([]string{"ttft", "itl", "tpot", "e2e", "versions", "s", "ratio", "1", "requests", "requests/s", "wall", "virtual", aimdLimit, gateBudget, evictions}, text):
		return text
	case strings.HasPrefix(text, jobPrefix):
		return jobPrefix + attacked(strings.TrimPrefix(text, jobPrefix))
	}
	return attacked(text)
}

// hostile is everything with texts that try to break out of the page.
func hostile(t *testing.T) (analysis.Results, Beside) {
	t.Helper()
	r, beside := everything()
	// A copy of its own: cells share the places of their texts.
	r = copied(t, r)
	phases := map[string]bool{"burst": true, "idle": true}
	attack(reflect.ValueOf(&r).Elem(), phases)
	for i := range beside.Runs {
		beside.Runs[i].Results = copied(t, beside.Runs[i].Results)
	}
	beside.Rates = copied(t, beside.Rates)
	attack(reflect.ValueOf(&beside).Elem(), phases)
	return r, beside
}

func copied[T any](t *testing.T, v T) T {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out T
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func htmlBeside(t *testing.T, results analysis.Results, beside Beside) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, results, beside); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What the tests below say of every figure is only worth as much as the figures there are.
func TestEverythingMakesEverySection(t *testing.T) {
	r, beside := everything()
	s := newStudy(r)
	s.Beside = beside
	for name, composers := range map[string][]composer{"verdicts": verdictSections, "latencies": latencySections, "progress": progressSections, "load": loadSections} {
		made, err := s.compose(composers)
		if err != nil {
			t.Fatal(err)
		}
		if len(made) != len(composers) {
			var have []string
			for _, one := range made {
				have = append(have, one.ID)
			}
			t.Errorf("%s: %d of %d sections: %v", name, len(made), len(composers), have)
		}
	}
	hostileResults, hostileBeside := hostile(t)
	plain, attacked := htmlBeside(t, r, beside), htmlBeside(t, hostileResults, hostileBeside)
	for _, mark := range []string{"<section", "<script type=\"application/json\" data-chart", "<table", "<figure"} {
		if a, b := strings.Count(plain, mark), strings.Count(attacked, mark); a != b {
			t.Errorf("%d times %s in the page, %d in that of hostile texts: a figure went missing", a, mark, b)
		}
	}
}

func TestRunsOfAnotherWorkloadHaveNoRatio(t *testing.T) {
	r, beside := everything()
	s := newStudy(r)
	s.Beside = beside
	one, err := runs(s)
	if err != nil {
		t.Fatal(err)
	}
	if want := "profile.interactive.phases.0.rate was 10 and is 15"; !strings.Contains(one.Note, "other has another workload, so that no ratio is given: "+want) ||
		!strings.Contains(one.Note, "another question, “What about fewer requests?”") || strings.Contains(one.Note, "before has") {
		t.Errorf("the note says %q", one.Note)
	}
	for _, table := range one.Tables {
		for _, row := range table.Rows {
			before, other := row.Cells[1], row.Cells[2]
			if strings.ContainsAny(other.Small, "%×") || other.Text != dash && !strings.Contains(other.Small, "other workload") {
				t.Errorf("%s: the run of another workload has %q", table.Title, other.Small)
			}
			if before.Text != dash && !strings.Contains(before.Small, "%") {
				t.Errorf("%s: the run of the same workload has no change: %q", table.Title, before.Small)
			}
		}
	}
	beside.Runs[1].Results.Experiment.Target = spec.TargetKube
	beside.Runs[1].Results.Arms = []analysis.ArmResult{{Name: "stranger"}}
	if said := fmt.Sprint(beside.Apart(r)); !strings.Contains(said, "other has no arm of the same name; another question") || !strings.Contains(said, "another target: kube") {
		t.Errorf("of a stranger it says %s", said)
	}
}
