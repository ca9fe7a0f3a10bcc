package analysis

import (
	"slices"
	"testing"
	"time"

	"bgbench/pkg/analysis/analysistest"
	"bgbench/pkg/record"
)

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
		{"jobs that ran out during the measurement", func(c *analysistest.Cell) {
			for i := range c.Jobs {
				if j := &c.Jobs[i]; j.Job == "A" && j.ObservedAt.Sub(analysistest.Start) >= 115*time.Second {
					j.Completed, j.Status = 130, "completed"
				}
			}
		}, "batch work present", "the jobs began at -5.0 s and ended at 115.0 s, the measured phases last from 40.0 s to 120.0 s"},
		{"jobs that began during the measurement", func(c *analysistest.Cell) {
			c.Jobs = slices.DeleteFunc(c.Jobs, func(j record.Job) bool { return j.ObservedAt.Sub(analysistest.Start) < 50*time.Second })
			for i := range c.Jobs {
				c.Jobs[i].CreatedAt = &c.Jobs[0].ObservedAt
			}
		}, "batch work present", "the jobs began at 50.0 s and ended at 135.0 s, the measured phases last from 40.0 s to 120.0 s"},
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
