package analysis

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/analysis/analysistest"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// freeze lets job A complete nothing between two instants and catch up after them.
func freeze(c *analysistest.Cell, from, to float64) {
	var last int64
	for i := range c.Jobs {
		j := &c.Jobs[i]
		switch at := j.ObservedAt.Sub(analysistest.Start).Seconds(); {
		case j.Job != "A":
		case at <= from:
			last = j.Completed
		case at <= to:
			j.Completed = last
		}
	}
}

// A backlog says itself when its requests were in flight.
func TestPresenceOfABacklog(t *testing.T) {
	cell := analysistest.New(analysistest.S1, 1)
	cell.Requests = slices.DeleteFunc(cell.Requests, func(q record.Request) bool {
		at := q.SentAt.Sub(analysistest.Start).Seconds()
		return q.Class == record.ClassBatchEquivalent && at > 75 && at < 82
	})
	result := mustSummarize(t, cell)
	want := "idle of cycle 1 (70.0 s to 80.0 s) had batch work for"
	for _, check := range result.Checks {
		if check.Name == "batch work present" && (check.OK || !strings.HasPrefix(check.Evidence, want)) {
			t.Errorf("ok %v, %s; expected …%s…", check.OK, check.Evidence, want)
		}
	}
}

// The jobs of a gateway may say in_progress while nothing happens. Whether it stands
// still or is held back, its metrics tell.
func TestAGatewayThatStandsStillIsNoBatchWork(t *testing.T) {
	const lacks = "burst of cycle 1 (40.0 s to 70.0 s) had batch work for 66.6 % of its time"
	const still = "the processor had nothing in flight for 10.0 s of it, and no gate held it"
	for _, c := range []struct {
		name     string
		dispatch string
		change   func(*analysistest.Cell)
		ok       bool
		evidence string
	}{
		{"something is always in flight", spec.DispatchSync, func(c *analysistest.Cell) {
			c.Series("processor", metricProcessor, `{}`, always(3))
		}, true, ""},
		{"nothing is in flight for ten seconds", spec.DispatchSync, func(c *analysistest.Cell) {
			c.Series("processor", metricProcessor, `{}`, during(50, 61, 0, 3))
		}, false, lacks},
		{"it says for how long", spec.DispatchSync, func(c *analysistest.Cell) {
			c.Series("processor", metricProcessor, `{}`, during(50, 61, 0, 3))
		}, false, still},
		{"nothing is in flight in the warm-up", spec.DispatchSync, func(c *analysistest.Cell) {
			c.Series("processor", metricProcessor, `{}`, during(10, 30, 0, 3))
		}, true, ""},
		{"the async processor stands still with an open gate", spec.DispatchAsync, func(c *analysistest.Cell) {
			c.Series("processor", metricProcessor, `{}`, always(140))
			c.Series("async", metricAsync, `{"queue_id":"q"}`, during(50, 61, 0, 3))
			c.Series("async", metricBudget, `{"queue_id":"q"}`, always(0.3))
		}, false, lacks},
		{"the gate of the async processor is closed", spec.DispatchAsync, func(c *analysistest.Cell) {
			c.Series("processor", metricProcessor, `{}`, always(140))
			c.Series("async", metricAsync, `{"queue_id":"q"}`, during(50, 61, 0, 3))
			c.Series("async", metricBudget, `{"queue_id":"q"}`, during(49, 62, 0, 0.3))
		}, true, ""},
		{"the async processor has nothing between two polls", spec.DispatchAsync, func(c *analysistest.Cell) {
			c.Series("processor", metricProcessor, `{}`, always(140))
			c.Series("async", metricAsync, `{"queue_id":"q"}`, func(t float64) float64 { return math.Max(0, math.Mod(t+20, 5)-3) })
			c.Series("async", metricBudget, `{"queue_id":"q"}`, always(0.3))
		}, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cell := analysistest.New(analysistest.S2, 1)
			cell.Arm(func(a *spec.Arm) { a.Dispatch = c.dispatch })
			c.change(&cell)
			result := mustSummarize(t, cell)
			i := slices.IndexFunc(result.Checks, func(k Check) bool { return k.Name == "batch work present" })
			if got := result.Checks[i]; got.OK != c.ok || !strings.Contains(got.Evidence, c.evidence) {
				t.Errorf("ok %v, %s; expected ok %v, …%s…", got.OK, got.Evidence, c.ok, c.evidence)
			}
		})
	}
}

// A few jobs of a few lines behind one worker: each completes at once, and between
// them nothing moves.
func TestTinyJobsAreNoBatchWork(t *testing.T) {
	cell := analysistest.New(analysistest.S2, 1)
	ends := map[string]float64{"A": 45, "B": 95}
	cell.Jobs = nil
	for _, job := range cell.Metadata.Profile.Batch.Jobs {
		created := analysistest.Start.Add(-5 * time.Second)
		for s := -5.0; s <= ends[job.Name]; s++ {
			j := record.Job{
				Experiment: "toy", Arm: analysistest.S2, Trial: 1, Job: job.Name, Status: "in_progress", CreatedAt: &created,
				Total: int64(job.Requests), ObservedAt: analysistest.Start.Add(seconds(s)),
			}
			if job.Name == "B" && s < 94 {
				j.Status = "validating" // the worker still holds A
			}
			if s == ends[job.Name] {
				j.Status, j.Completed = "completed", j.Total
			}
			cell.Jobs = append(cell.Jobs, j)
		}
	}
	result := mustSummarize(t, cell)
	if result.Valid {
		t.Error("VALID, although nothing moved between 45 s and 94 s")
	}
	want := "batch work present (burst of cycle 1 (40.0 s to 70.0 s) had batch work for"
	if !strings.Contains(result.failures(), want) {
		t.Errorf("found %s, expected %s", result.failures(), want)
	}
}

// Each case breaks one thing and expects the one check that looks at it to fail.
func TestChecks(t *testing.T) {
	measuredRows := func(c *analysistest.Cell, change func(n int, q *record.Request)) {
		n := 0
		for i := range c.Requests {
			if q := &c.Requests[i]; q.DueAt != nil && !q.Warmup {
				change(n, q)
				n++
			}
		}
	}
	cases := []struct {
		name     string
		change   func(*analysistest.Cell)
		fails    string // name of the check; empty if all hold
		evidence string // of it
	}{
		{"a good cell", func(*analysistest.Cell) {}, "", ""},
		{"interrupted", func(c *analysistest.Cell) { c.Metadata.Interrupted = true },
			"run not interrupted", "run-metadata.json says interrupted"},
		{"never ended", func(c *analysistest.Cell) { c.Metadata.EndedAt = time.Time{} },
			"run not interrupted", "run-metadata.json has no ended_at"},
		{"twelve late requests of 260 are a hiccup", func(c *analysistest.Cell) {
			measuredRows(c, func(n int, q *record.Request) {
				if n < 12 {
					*q.LatenessS = 0.4
				}
			})
		}, "", ""},
		{"fifteen late requests of 260 are another schedule", func(c *analysistest.Cell) {
			measuredRows(c, func(n int, q *record.Request) {
				if n < 15 {
					*q.LatenessS = 0.4
				}
			})
		}, "load on time", "lateness p95 400.0 ms over 260 requests, limit 50 ms"},
		{"lateness in the warm-up does not matter", func(c *analysistest.Cell) {
			for i := range c.Requests {
				if q := &c.Requests[i]; q.Warmup && q.LatenessS != nil {
					*q.LatenessS = 5
				}
			}
		}, "", ""},
		{"due requests that were never sent", func(c *analysistest.Cell) {
			for i := range 8 {
				c.Requests[i].SentAt, c.Requests[i].Status = nil, record.StatusIncomplete
			}
		}, "schedule sent", "382 of 390 due requests sent (97.95 %), limit 99 %"},
		{"due requests that have no row", func(c *analysistest.Cell) { c.Metadata.Load.Due = 400 },
			"schedule sent", "390 of 400 due requests sent (97.50 %), limit 99 %"},
		{"rows that are there twice", func(c *analysistest.Cell) {
			for _, q := range c.Requests {
				if q.DueAt != nil {
					c.Requests = append(c.Requests, q)
				}
			}
		}, "schedule sent", "780 rows have a due time, 390 requests were due: rows are there more than once"},
		{"jobs that ran out during the measurement", func(c *analysistest.Cell) {
			for i := range c.Jobs {
				if j := &c.Jobs[i]; j.Job == "A" && j.ObservedAt.Sub(analysistest.Start) >= 115*time.Second {
					j.Completed, j.Status = 130, "completed"
				}
			}
		}, "batch work present", "idle of cycle 2 (110.0 s to 120.0 s) had batch work for 50.0 % of its time, limit 95 %; " +
			"a worker had lines without a result in 93.7 % of the measured time; lines completed in its bands: 15, 20, 15, 45; " +
			"longest stretch without one 5.0 s from 115.0 s"},
		{"jobs that began during the measurement", func(c *analysistest.Cell) {
			c.Jobs = slices.DeleteFunc(c.Jobs, func(j record.Job) bool { return j.ObservedAt.Sub(analysistest.Start) < 50*time.Second })
			for i := range c.Jobs {
				c.Jobs[i].CreatedAt = &c.Jobs[0].ObservedAt
			}
		}, "batch work present", "burst of cycle 1 (40.0 s to 70.0 s) had batch work for 66.6 % of its time, limit 95 %; " +
			"a worker had lines without a result in 87.5 % of the measured time; lines completed in its bands: 10, 20, 15, 20; " +
			"longest stretch without one 10.0 s from 40.0 s"},
		{"jobs that wait for a worker", func(c *analysistest.Cell) {
			freeze(c, 65, 80)
			for i := range c.Jobs {
				if at := c.Jobs[i].ObservedAt.Sub(analysistest.Start).Seconds(); at >= 65 && at < 80 {
					c.Jobs[i].Status = "validating"
				}
			}
		}, "batch work present", "burst of cycle 1 (40.0 s to 70.0 s) had batch work for 83.3 % of its time, limit 95 %; " +
			"a worker had lines without a result in 81.2 % of the measured time; lines completed in its bands: 12, 0, 38, 20; " +
			"longest stretch without one 15.0 s from 65.0 s"},
		{"a gate that holds lines back through a band", func(c *analysistest.Cell) { freeze(c, 65, 80) }, "", ""},
		{"a gate that let no line through", func(c *analysistest.Cell) { freeze(c, 35, 120) },
			"batch work present", "no line was completed in the measured time; " +
				"a worker had lines without a result in 100.0 % of the measured time; lines completed in its bands: 0, 0, 0, 0; " +
				"longest stretch without one 80.0 s from 40.0 s"},
		{"the gateway died before the measurement", func(c *analysistest.Cell) {
			c.Jobs = slices.DeleteFunc(c.Jobs, func(j record.Job) bool { return j.ObservedAt.After(analysistest.Start.Add(7 * time.Second)) })
		}, "batch work present", "the last observation of the jobs, with lines left, lies at 5.0 s, the measured phases last until 120.0 s"},
		{"the gateway died at the end of the measurement", func(c *analysistest.Cell) {
			c.Jobs = slices.DeleteFunc(c.Jobs, func(j record.Job) bool {
				return j.ObservedAt.After(analysistest.Start.Add(115 * time.Second))
			})
		}, "batch work present", "the last observation of the jobs, with lines left, lies at 115.0 s, the measured phases last until 120.0 s"},
		{"half a minute without a poll, with lines left on both sides", func(c *analysistest.Cell) {
			c.Jobs = slices.DeleteFunc(c.Jobs, func(j record.Job) bool {
				at := j.ObservedAt.Sub(analysistest.Start)
				return at > 70*time.Second && at < 100*time.Second
			})
		}, "", ""},
		{"jobs that the run outlived are present", func(c *analysistest.Cell) {
			c.Jobs = slices.DeleteFunc(c.Jobs, func(j record.Job) bool { return j.Status == "completed" })
		}, "", ""},
		{"no job was observed", func(c *analysistest.Cell) { c.Jobs = nil },
			"batch work present", "no job was ever observed"},
		{"a line was lost", func(c *analysistest.Cell) {
			c.Requests = slices.DeleteFunc(c.Requests, func(q record.Request) bool { return q.RequestID == "batch_req_A7" })
		}, "every batch line has one result", "150 lines: 139 ok, 10 failed, 0 unfinished, 1 lost, 0 duplicated"},
		{"a line came twice", func(c *analysistest.Cell) { c.Requests = append(c.Requests, c.Requests[len(c.Requests)-1]) },
			"every batch line has one result", "150 lines: 140 ok, 10 failed, 0 unfinished, 0 lost, 1 duplicated"},
		{"a request was too long", func(c *analysistest.Cell) {
			q := &c.Requests[5]
			message, status := "This model's maximum context length is 1024 tokens.", int32(400)
			q.Status, q.HTTPStatus, q.Error = record.StatusHTTPError, &status, &message
		}, "no context overflow", "1 requests were refused for their length, such as: This model's maximum context length is 1024 tokens."},
		{"all interactive requests failed", func(c *analysistest.Cell) {
			measuredRows(c, func(_ int, q *record.Request) { q.Status = record.StatusTransportError })
		}, "errors not total", "none of the 260 measured interactive requests ended ok"},
		{"one phase failed whole, which may be a finding", func(c *analysistest.Cell) {
			measuredRows(c, func(_ int, q *record.Request) {
				if *q.Phase == "burst" {
					q.Status = record.StatusRejected
				}
			})
		}, "", ""},
		{"all batch lines failed", func(c *analysistest.Cell) {
			for i := range c.Requests {
				if c.Requests[i].Class == record.ClassBatch {
					c.Requests[i].Status = record.StatusHTTPError
				}
			}
		}, "errors not total", "none of the 150 batch lines with a result ended ok"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cell := analysistest.New(analysistest.S2, 1)
			c.change(&cell)
			result := mustSummarize(t, cell)
			if result.Valid != (c.fails == "") {
				t.Errorf("valid: %v", result.Valid)
			}
			for _, check := range result.Checks {
				if check.OK == (check.Name == c.fails) {
					t.Errorf("%s: ok %v, %s", check.Name, check.OK, check.Evidence)
				}
				if check.Name == c.fails && check.Evidence != c.evidence {
					t.Errorf("evidence %q, expected %q", check.Evidence, c.evidence)
				}
			}
		})
	}
}
