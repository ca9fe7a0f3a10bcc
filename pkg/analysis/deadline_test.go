package analysis

import (
	"math"
	"slices"
	"testing"
	"time"

	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// ends makes a cell of jobs A, B and C with windows of 1, 2 and 3 minutes, of which each
// ended at a second, or not at all for a negative one.
func ends(at ...float64) *cell {
	c := &cell{rows: newRows()}
	for i, end := range at {
		name := string(rune('A' + i))
		window := spec.Duration(time.Duration(i+1) * time.Minute)
		c.meta.Profile.Batch.Jobs = append(c.meta.Profile.Batch.Jobs, spec.Job{Name: name, Requests: 10, Window: window})
		created := zero
		last := record.Job{Job: name, Status: "in_progress", ObservedAt: zero.Add(300 * time.Second), CreatedAt: &created, Total: 10, Completed: 5}
		if end >= 0 {
			done := zero.Add(seconds(end))
			last.Status, last.CompletedAt, last.Completed = "completed", &done, 10
		}
		h := &jobHistory{name: name}
		h.add(last)
		c.jobs = append(c.jobs, h)
	}
	return c
}

func TestJobsAreHeldAgainstTheOrderOfTheirDeadlines(t *testing.T) {
	yes, no := true, false
	cases := []struct {
		name   string
		at     []float64
		kept   *bool
		found  []string
		spread float64
		reason string
	}{
		{"in order", []float64{10, 20, 40}, &yes, []string{"A", "B", "C"}, 0.75, ""},
		{"out of order", []float64{20, 10, 40}, &no, []string{"B", "A", "C"}, 0.75, ""},
		{"all at once is no order", []float64{40, 40, 40}, &no, []string{"A", "B", "C"}, 0, ""},
		{"a job without an end is later than one with one", []float64{10, 20, -1}, &yes, []string{"A", "B"}, 0.5, ""},
		{"a job without an end before one with one", []float64{-1, 20, 40}, &no, []string{"B", "C"}, 0.5, ""},
		{"two without an end", []float64{10, -1, -1}, nil, []string{"A"}, nan, "neither of the jobs B and C completed"},
		{"one pair the wrong way decides", []float64{40, 20, -1}, &no, []string{"B", "A"}, 0.5, ""},
		{"one job", []float64{10}, nil, []string{}, nan, "an order needs two jobs, 1 were observed"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := ends(c.at...).deadlineOrder()
			if (got.Kept == nil) != (c.kept == nil) || got.Kept != nil && *got.Kept != *c.kept || got.Reason != c.reason {
				t.Errorf("kept %v because %q, expected %v because %q", got.Kept, got.Reason, c.kept, c.reason)
			}
			if !slices.Equal(got.Found, c.found) {
				t.Errorf("found %v, expected %v", got.Found, c.found)
			}
			if spread := got.SpreadRatio.Value; (spread == nil) != math.IsNaN(c.spread) || spread != nil && math.Abs(*spread-c.spread) > 1e-9 {
				t.Errorf("spread %s, expected %v", show(got.SpreadRatio), c.spread)
			}
		})
	}
}

// Three jobs stand in the right order once in six by chance: three times of three 1/216.
func TestOrdersOverTrialsAreTested(t *testing.T) {
	yes, no := true, false
	of := func(kept ...*bool) []CellResult {
		var cells []CellResult
		for _, k := range kept {
			var c CellResult
			c.Batch.Deadlines.Order = DeadlineOrder{Expected: []string{"A", "B", "C"}, Kept: k, Reason: "unknown"}
			cells = append(cells, c)
		}
		return cells
	}
	if o := armOrder(of(&yes, &yes, &yes)); o.Kept != 3 || math.Abs(*o.P-1.0/216) > 1e-12 {
		t.Errorf("found %+v, expected p = 1/216", o)
	}
	// 1 − (5/6)³ − 3·(1/6)(5/6)²
	if o := armOrder(of(&yes, &no, &yes)); o.Kept != 2 || math.Abs(*o.P-(1-125.0/216-75.0/216)) > 1e-12 {
		t.Errorf("found %+v, expected p = 16/216", o)
	}
	if o := armOrder(of(nil, nil)); o.P != nil || o.Trials != 0 || o.Reason != "unknown" {
		t.Errorf("found %+v, expected no test and why", o)
	}
}

func TestLinesInTheWindowAreCounted(t *testing.T) {
	c := ends(10)
	near(t, "of a job that completed", c.jobs[0].inWindow(60), 1)
	c = ends(-1)
	near(t, "of one that was watched beyond its window", c.jobs[0].inWindow(60), 0.5)
	if v := c.jobs[0].inWindow(1000); v.Value != nil || v.Reason != "the run ended before the window did, with lines left" {
		t.Errorf("found %s, expected none and why", show(v))
	}
}

func TestPartsOfAJobAreOneInTheOrderOfDeadlines(t *testing.T) {
	for name, c := range map[string]struct {
		at    []float64 // of and B
		kept  *bool
		found []string
	}{
		"the last part ends the job":                  {[]float64{10, 30, 20}, new(bool), []string{"B", "A"}},
		"both parts before the next":                  {[]float64{10, 15, 20}, func() *bool { yes := true; return &yes }(), []string{"A", "B"}},
		"a job whose part did not end did not either": {[]float64{10, -1, 20}, new(bool), []string{"B"}},
	} {
		cell := ends(c.at...)
		for i, as := range []spec.Job{{Name: "A-1", Of: "A"}, {Name: "A-2", Of: "A"}, {Name: "B"}} {
			as.Requests, as.Window = 10, spec.Duration(time.Minute)
			if i == 2 {
				as.Window *= 2
			}
			cell.meta.Profile.Batch.Jobs[i] = as
			cell.jobs[i].name = as.Name
		}
		got := cell.deadlineOrder()
		if !slices.Equal(got.Expected, []string{"A", "B"}) || !slices.Equal(got.Found, c.found) || got.Kept == nil || *got.Kept != *c.kept {
			t.Errorf("%s: found %+v, want kept %t, %v", name, got, *c.kept, c.found)
		}
	}
}
