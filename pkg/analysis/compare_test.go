package analysis

import (
	"context"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"bgbench/pkg/analysis/analysistest"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden holds text against testdata/name.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) == text {
		return
	}
	if filepath.Ext(name) == ".json" {
		var was, is any
		if json.Unmarshal(want, &was) == nil && json.Unmarshal([]byte(text), &is) == nil {
			t.Fatalf("%s differs (-update rewrites it):\n%s", path, cmp.Diff(was, is))
		}
	}
	t.Fatalf("%s differs (-update rewrites it):\n%s", path, cmp.Diff(string(want), text))
}

// written is the experiment with known answers, written once for all tests.
var written = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "experiment")
	if err != nil {
		return "", err
	}
	writtenTo = dir
	return dir, analysistest.Write(dir, nil)
})

var writtenTo string // for TestMain to remove

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if writtenTo != "" {
		os.RemoveAll(writtenTo)
	}
	os.Exit(code)
}

// experiment is a copy of it for one test.
func experiment(t *testing.T) string {
	t.Helper()
	from, err := written()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func mustCompare(t *testing.T, dir string) Results {
	t.Helper()
	r, err := Compare(context.Background(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResultsOfTheWholeExperiment(t *testing.T) {
	dir := experiment(t)
	text := encode(t, mustCompare(t, dir))
	golden(t, "results.json", text)
	if again := encode(t, mustCompare(t, dir)); again != text {
		t.Error("a second reading gives other bytes")
	}
	var back Results
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&back); err != nil {
		t.Fatalf("results.json does not read back: %v", err)
	}
	if encode(t, back) != text {
		t.Error("results.json loses something when it is read back")
	}
}

func TestArmsAgainstTheBaseline(t *testing.T) {
	r := mustCompare(t, experiment(t))
	arms := map[string]ArmResult{}
	for _, a := range r.Arms {
		arms[a.Name] = a
	}
	p95 := MetricKey("burst", record.ClassInteractive, MetricTTFT, StatP95)

	// R's known answer for these values; p95 is 1.95 times the base in every cell.
	s2 := arms[analysistest.S2].Against[p95]
	if math.Abs(*s2.Ratio-1.00395432682) > 1e-9 || math.Abs(*s2.Low-.968669372643) > 1e-9 || math.Abs(*s2.OneSidedHigh-1.02862967067) > 1e-9 {
		t.Errorf("s2: ratio %v, low %v, one-sided high %v", *s2.Ratio, *s2.Low, *s2.OneSidedHigh)
	}
	for arm, want := range map[string]string{
		analysistest.S1: VerdictDegraded, analysistest.S2: VerdictProtected, analysistest.S6: VerdictNoConclusion,
	} {
		if got := arms[arm].Against[p95].Verdict; got != want {
			t.Errorf("%s is %q, expected %q", arm, got, want)
		}
	}
	if got := arms[analysistest.S1].Against[MetricKey("idle", record.ClassInteractive, MetricTTFT, StatP50)].Verdict; got != "" {
		t.Errorf("an idle phase has the verdict %q", got)
	}
	if s0 := arms[analysistest.S0]; !s0.Baseline || len(s0.Against) != 0 {
		t.Errorf("the baseline is compared with itself: %v", s0.Against)
	}
	s6 := arms[analysistest.S6]
	if s6.Trials != 1 || s6.Invalid != 1 {
		t.Errorf("s6 has %d valid trials and %d invalid ones, expected 1 and 1", s6.Trials, s6.Invalid)
	}
	if got := s6.Metrics[p95].Values; got[0] == nil || got[1] != nil || got[2] != nil {
		t.Errorf("values %v, expected one of trial 1 only", got)
	}
	jobs := arms[analysistest.S2].Jobs
	if len(jobs) != 2 || jobs[0].Met != 3 || jobs[1].Met != 0 || jobs[1].Trials != 3 {
		t.Errorf("jobs of s2: %+v", jobs)
	}
	var messages []string
	for _, w := range r.Warnings {
		messages = append(messages, w.String())
	}
	want := []string{
		"s6-low-concurrency t3: the cell is missing: there is no requests.parquet",
		"s6-low-concurrency t2: INVALID: load on time (lateness p95 120.0 ms over 260 requests, limit 50 ms)",
		"6 of 11 cells without metrics of the servers to draw",
	}
	if diff := cmp.Diff(want, messages); diff != "" {
		t.Error(diff)
	}
}

func TestExperimentsThatDoNotBelongTogetherAreRefused(t *testing.T) {
	cell := func(arm string) string { return filepath.Join("cells", arm, "t1") }
	rewrite := func(t *testing.T, dir string, arm string, change func(*analysistest.Cell)) {
		t.Helper()
		c := analysistest.New(arm, 1)
		change(&c)
		if err := c.Write(filepath.Join(dir, cell(arm))); err != nil {
			t.Fatal(err)
		}
	}
	cases := []struct {
		name   string
		change func(t *testing.T, dir string)
		want   string
	}{
		{"a cell of another experiment", func(t *testing.T, dir string) {
			rewrite(t, dir, analysistest.S0, func(c *analysistest.Cell) {
				c.Metadata.Experiment = "other"
				for i := range c.Requests {
					c.Requests[i].Experiment = "other"
				}
			})
		}, `it was measured for experiment "other", experiment.yaml is of "toy"`},
		{"a cell in the place of another arm", func(t *testing.T, dir string) {
			if err := analysistest.New(analysistest.S2, 1).Write(filepath.Join(dir, cell(analysistest.S6))); err != nil {
				t.Fatal(err)
			}
		}, `it was measured for arm "s2-ungated", expected "s6-low-concurrency"`},
		{"a cell in the place of another trial", func(t *testing.T, dir string) {
			if err := analysistest.New(analysistest.S2, 2).Write(filepath.Join(dir, cell(analysistest.S2))); err != nil {
				t.Fatal(err)
			}
		}, "it was measured for trial 2, expected 1"},
		{"other phases", func(t *testing.T, dir string) {
			rewrite(t, dir, analysistest.S0, func(c *analysistest.Cell) { c.Metadata.Profile.Interactive.Phases[1].Duration *= 2 })
		}, `profile.interactive.phases.1.duration: it was measured with "20s", experiment.yaml has "10s"`},
		{"other jobs", func(t *testing.T, dir string) {
			rewrite(t, dir, analysistest.S0, func(c *analysistest.Cell) { c.Metadata.Profile.Batch.Jobs[1].Requests++ })
		}, "profile.batch.jobs.1.requests: it was measured with 21, experiment.yaml has 20"},
		{"another setting of the profile", func(t *testing.T, dir string) {
			rewrite(t, dir, analysistest.S0, func(c *analysistest.Cell) { c.Metadata.Profile.Prompt.OSL.Mean = 32 })
		}, "profile.prompt.osl.mean: it was measured with 32, experiment.yaml has 64"},
		{"another setting of the arm", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, "experiment.yaml"), "perEndpoint: 10\n", "perEndpoint: 11\n")
		}, "arm.gateway.concurrency.perEndpoint: it was measured with 10, experiment.yaml has 11"},
		{"another target", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, "experiment.yaml"), "target: model\n", "target: local\n")
		}, `target: it was measured with "model", experiment.yaml has "local"`},
		{"another seed", func(t *testing.T, dir string) {
			rewrite(t, dir, analysistest.S0, func(c *analysistest.Cell) { c.Metadata.Seed = 7 })
		}, "seed: it was measured with 7, trial 1 of experiment.yaml has 42"},
		{"other inputs", func(t *testing.T, dir string) {
			rewrite(t, dir, analysistest.S2, func(c *analysistest.Cell) { c.Metadata.Inputs["schedule.jsonl"] = strings.Repeat("f", 64) })
		}, "trial 1: arms s0-interactive-only and s2-ungated replayed different inputs: schedule.jsonl has SHA-256 000000000000… and ffffffffffff…"},
		{"no experiment.yaml", func(t *testing.T, dir string) { remove(t, dir, "experiment.yaml") }, "experiment.yaml"},
		{"no cell at all", func(t *testing.T, dir string) { remove(t, dir, "cells") }, `found no finished cell, expected cells/<arm>/t<k> of experiment "toy"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := experiment(t)
			for _, later := range []string{"t2", "t3"} { // one trial is enough, and faster
				for _, arm := range []string{analysistest.S0, analysistest.S1, analysistest.S2, analysistest.S6} {
					remove(t, dir, "cells", arm, later)
				}
			}
			c.change(t, dir)
			if _, err := Compare(context.Background(), dir, ""); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("found %v, expected …%s…", err, c.want)
			}
		})
	}
}

func edit(t *testing.T, path, from, to string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.ReplaceAll(string(text), from, to)
	if changed == string(text) {
		t.Fatalf("%s has no %q", path, from)
	}
	if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, elements ...string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(elements...)); err != nil {
		t.Fatal(err)
	}
}

func TestCellsThatCannotBeUsedAreWarnings(t *testing.T) {
	dir := experiment(t)
	s0 := filepath.Join(dir, "cells", analysistest.S0)
	if err := os.Rename(filepath.Join(s0, "t1", "requests.parquet"), filepath.Join(s0, "t1", "requests.parquet.partial")); err != nil {
		t.Fatal(err)
	}
	remove(t, s0, "t2", "run-metadata.json")
	for _, extra := range []string{"s9-unknown", "s0-interactive-only/t9", "s0-interactive-only/t01"} {
		if err := os.Mkdir(filepath.Join(dir, "cells", extra), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var all []string
	for _, w := range mustCompare(t, dir).Warnings {
		all = append(all, w.String())
	}
	for _, want := range []string{
		"s0-interactive-only t1: the cell is missing: its run did not finish, there is only requests.parquet.partial",
		"s0-interactive-only t2: the cell is missing: there is no run-metadata.json",
		"cells/s9-unknown is left out: the experiment has no such arm",
		"s0-interactive-only: cells/s0-interactive-only/t9 is left out: the experiment has trials 1 to 3",
		"s0-interactive-only: cells/s0-interactive-only/t01 is left out: the experiment has trials 1 to 3",
	} {
		if !strings.Contains(strings.Join(all, "\n"), want) {
			t.Errorf("no warning %q among %q", want, all)
		}
	}
}

// What the load generator saw go wrong must reach whoever reads the results.
func TestWarningsOfTheLoadGeneratorAreKept(t *testing.T) {
	const text = "job A: 3 questions to the Batch API failed, the last one with: connection refused"
	cell := analysistest.New(analysistest.S2, 1)
	cell.Metadata.Warnings = []string{text}
	result := mustSummarize(t, cell)
	if len(result.LoadWarnings) != 1 || result.LoadWarnings[0] != text {
		t.Errorf("the summary has %q, expected %q", result.LoadWarnings, text)
	}
	if w := result.Warnings(); len(w) != 1 || w[0].String() != "s2-ungated t1: "+text {
		t.Errorf("found %v, expected %q", w, text)
	}
	dir := experiment(t)
	if err := cell.Write(filepath.Join(dir, "cells", analysistest.S2, "t1")); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, w := range mustCompare(t, dir).Warnings {
		if w.String() == "s2-ungated t1: "+text {
			found++
		}
	}
	if found != 1 {
		t.Errorf("the results have the warning %d times, expected it once", found)
	}
}

func TestSummaryParquetHoldsEveryNumber(t *testing.T) {
	r := mustCompare(t, experiment(t))
	path := filepath.Join(t.TempDir(), "summary.parquet")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := WriteSummary(f, r); err != nil {
		t.Fatal(err)
	}
	rows, err := parquet.ReadFile[SummaryRow](path)
	if err != nil {
		t.Fatal(err)
	}
	var want []SummaryRow
	for _, c := range r.Cells {
		want = append(want, summaryRows("toy", c)...)
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("read back (-written +read):\n%s", diff)
	}
	nulls, jobs := 0, 0
	for _, row := range rows {
		if (row.Value == nil) == (row.Reason == nil) {
			t.Errorf("%+v: exactly one of value and reason must be null", row)
		}
		if row.Value == nil {
			nulls++
		}
		if row.Job != nil && row.Phase == nil {
			jobs++
		}
	}
	if nulls == 0 || jobs != 16 {
		t.Errorf("%d nulls, %d rows of jobs, expected some and 2 for each of 8 cells", nulls, jobs)
	}
}

func TestTable(t *testing.T) {
	cell := mustSummarize(t, analysistest.New(analysistest.S2, 1))
	var b strings.Builder
	if err := WriteTable(&b, cell); err != nil {
		t.Fatal(err)
	}
	golden(t, "table.txt", b.String())
}

// Under points of a sweep over the profile the cells of a trial replay other files: each
// is compared with the baseline of its point, and with nothing else.
func TestArmsOfAPointAreComparedWithItsBaseline(t *testing.T) {
	e := analysistest.Experiment()
	slow := e.Profile
	slow.Batch.Lead += spec.Duration(time.Second)
	var arms []spec.Arm
	for _, point := range []spec.Point{{Name: "lead-5s", Baseline: analysistest.S0 + "-a", Profile: e.Profile}, {Name: "lead-6s", Baseline: analysistest.S0 + "-b", Profile: slow}} {
		for _, of := range []string{analysistest.S0, analysistest.S2} {
			arm, _ := e.Arm(of)
			arm.Name += "-" + map[string]string{"lead-5s": "a", "lead-6s": "b"}[point.Name]
			arms = append(arms, arm)
			e.Swept = append(e.Swept, spec.Swept{Arm: arm.Name, Of: of, Point: point.Name, Factors: []spec.Factor{{Key: "profile.batch.lead", Value: point.Name}}})
		}
		e.Points = append(e.Points, point)
	}
	e.Arms = arms
	r := Results{Experiment: e}
	value := 1.0
	for _, arm := range e.Arms {
		value *= 2 // 2 and 4 at the first point, 8 and 16 at the second
		for trial := 1; trial <= e.Trials; trial++ {
			seconds := measured(value+float64(trial)/100, 100)
			r.Cells = append(r.Cells, CellResult{Arm: arm.Name, Trial: trial, Valid: true, Phases: []PhaseSummary{{
				Phase: "burst", Class: record.ClassInteractive,
				TTFT: Distribution{Unit: "s", N: 100, P50: seconds},
			}}})
		}
	}
	r.compareArms()
	for i, want := range []struct {
		baseline bool
		point    string
	}{{true, "lead-5s"}, {false, "lead-5s"}, {true, "lead-6s"}, {false, "lead-6s"}} {
		a := r.Arms[i]
		if a.Baseline != want.baseline || a.Point != want.point || a.SweptFrom != e.Swept[i].Of || len(a.Factors) != 1 {
			t.Errorf("arm %s: found baseline %t at point %q of %q with %v", a.Name, a.Baseline, a.Point, a.SweptFrom, a.Factors)
		}
		if want.baseline {
			if len(a.Against) > 0 {
				t.Errorf("baseline %s is compared", a.Name)
			}
			continue
		}
		c := a.Against[MetricKey("burst", record.ClassInteractive, MetricTTFT, StatP50)]
		if c.Ratio == nil || math.Abs(*c.Ratio-2) > 0.02 {
			t.Errorf("%s is compared as %+v, expected twice its baseline", a.Name, c)
		}
	}
	if err := coherent(r); err != nil {
		t.Errorf("a baseline a point is refused: %v", err)
	}
	slots := []*slot{{arm: e.Arms[0], trial: 1, point: "lead-5s", result: &r.Cells[0]}, {arm: e.Arms[2], trial: 1, point: "lead-6s", result: &r.Cells[6]}}
	slots[0].meta.Inputs, slots[1].meta.Inputs = map[string]string{"schedule.jsonl": "a"}, map[string]string{"schedule.jsonl": "b"}
	if err := sameInputs(slots); err != nil {
		t.Errorf("two points may replay other files: %v", err)
	}
	slots[1].point = "lead-5s"
	if sameInputs(slots) == nil {
		t.Error("one point replays one set of files")
	}
}
