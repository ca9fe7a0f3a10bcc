package analysis

import (
	"slices"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/analysis/analysistest"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// served makes the servers of a backlog count generated and prompt tokens, of which
// some came from the cache, from their first use to the end of the run.
func served(c *analysistest.Cell, generated, prompt, hits float64) {
	c.Series("vllm-0", metricGenerated, `{}`, during(-6, 0, 7, 7+generated))
	c.Series("vllm-0", metricPrompt, `{}`, during(-6, 0, 100, 100+prompt))
	c.Series("vllm-0", metricCached, `{}`, during(-6, 0, 0, hits))
}

// In a backlog 390 interactive requests and 150 lines have a prompt of 100 tokens, of
// which 64 were cached, and an output of 4.
const (
	needsOutput = 540 * 4
	prompts     = 540 * 100
	cached      = 540 * 64
)

func TestTokensThatWereComputedForNothing(t *testing.T) {
	cases := []struct {
		name   string
		change func(*analysistest.Cell)
		redone float64
		reason string // why there is none
	}{
		{"each token once", func(c *analysistest.Cell) { served(c, needsOutput, prompts, cached) }, 0, ""},
		{"tokens generated twice", func(c *analysistest.Cell) { served(c, needsOutput+50, prompts, cached) }, 50, ""},
		{"prompts computed twice", func(c *analysistest.Cell) { served(c, needsOutput, prompts+300, cached+64) }, 236, ""},
		{"a request that failed came back to nobody", func(c *analysistest.Cell) {
			served(c, needsOutput, prompts, cached)
			c.Requests[0].Status = record.StatusTimeout
		}, 40, ""},
		{"a line of two attempts needs its prompt once, whatever it finds cached the second time", func(c *analysistest.Cell) {
			served(c, needsOutput, prompts, cached)
			evict(c, 3, 96)
		}, 0, ""},
		{"a server that restarted", func(c *analysistest.Cell) {
			served(c, 0, prompts, cached)
			c.Samples = c.Samples[len(c.Samples)-2*141:] // all but what it generated
			c.Series("vllm-0", metricGenerated, `{}`, func(t float64) float64 {
				switch {
				case t < 0:
					return 0
				case t < 60:
					return 1500
				}
				return needsOutput - 1500
			})
		}, 0, ""},
		{"results that say nothing of their tokens", func(c *analysistest.Cell) {
			served(c, needsOutput, prompts, cached)
			c.Requests[0].OutputTokens = nil
		}, 0, "1 of 540 results do not say how many tokens they have"},
		{"results that say nothing of the cache", func(c *analysistest.Cell) {
			served(c, needsOutput, prompts, cached)
			c.Requests[0].CachedTokens = nil
		}, 0, "1 of 540 results do not say how much of the prompt was cached"},
		{"results that say nothing of a cache that is off", func(c *analysistest.Cell) {
			served(c, needsOutput, prompts, 0)
			c.Arm(func(a *spec.Arm) { a.Engine.EnablePrefixCaching = false })
			for i := range c.Requests {
				c.Requests[i].CachedTokens = nil
			}
		}, 0, ""},
		{"metrics that end before the run", func(c *analysistest.Cell) {
			served(c, needsOutput, prompts, cached)
			c.Metadata.EndedAt = analysistest.Start.Add(140 * time.Second)
		}, 0, "the metrics of vllm-0 end 5.0 s before the run"},
		{"servers that were not asked at the end", func(c *analysistest.Cell) { served(c, needsOutput-7, prompts, cached) },
			0, "the servers counted 7 tokens less than the results have: they were not asked at the end"},
		{"no metrics", func(*analysistest.Cell) {}, 0, "the cell has no metrics"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cell := analysistest.New(analysistest.S1, 1)
			c.change(&cell)
			got := mustSummarize(t, cell).Tokens.Redone
			if c.reason != "" {
				if got.Value != nil || got.Reason != c.reason {
					t.Errorf("found %v, %q, expected the reason %q", show(got), got.Reason, c.reason)
				}
				return
			}
			near(t, "redone", got, c.redone)
		})
	}
}

// evict gives the first n lines of job A an attempt that was evicted before the one
// that ended ok, which then found so many tokens cached.
func evict(c *analysistest.Cell, n int, found int64) {
	var attempts []record.Request
	for i := range c.Requests {
		q := &c.Requests[i]
		if n == 0 {
			break
		}
		if q.Class != record.ClassBatchEquivalent || *q.Job != "A" || q.Phase == nil || q.Warmup {
			continue
		}
		n--
		first := *q
		first.Status, first.RequestID = record.StatusEvicted, q.RequestID+"-1"
		first.PromptTokens, first.CachedTokens, first.OutputTokens = nil, nil, nil
		before := q.SentAt.Add(-6 * time.Second)
		first.SentAt = &before
		q.Attempt, q.CachedTokens = 2, &found
		attempts = append(attempts, first)
	}
	c.Requests = append(c.Requests, attempts...)
}

func TestEvictionsAreFollowedToOneResult(t *testing.T) {
	cell := analysistest.New(analysistest.S1, 1)
	cell.Arm(func(a *spec.Arm) {
		a.Router = promisingRouter()
	})
	evict(&cell, 3, 96)
	cell.Series("router", metricRouterRequests, `{"priority":"-10"}`, always(20))
	cell.Series("router", metricEvictions, `{"priority":"100"}`, climbs(50, 53))
	cell.Series("router", metricEvictions, `{"priority":"0"}`, climbs(10, 12))
	result := mustSummarize(t, cell)
	e := result.Batch.Evicted
	if e == nil {
		t.Fatal("nothing is said of evictions")
	}
	near(t, "issued over the run", e.Issued, 5)
	near(t, "issued in the measured time", result.Mechanisms.Eviction.Issued, 3)
	near(t, "per interactive request", result.Mechanisms.Eviction.PerInteractive, 3.0/260)
	near(t, "attempts", e.Attempts, 3)
	near(t, "lines", e.Lines, 3)
	near(t, "one result", e.OneResult, 3)
	if n := result.Batch.Lines.Retried; n == nil || *n != 3 {
		t.Errorf("%v lines retried, expected 3", n)
	}
	// 100 lines are sent in the measured time, for 4 s each, and three of them began
	// 6 s before.
	near(t, "longest line", result.Batch.E2E.Max, 10)
	near(t, "median line", result.Batch.E2E.P50, 4)
}

func TestResultsThatAJobStillHoldsLeaveRedoneTokensUnknown(t *testing.T) {
	cell := analysistest.New(analysistest.S2, 1)
	served(&cell, needsOutput, prompts, cached)
	var tokens int64 = 4
	cell.Requests = slices.DeleteFunc(cell.Requests, func(q record.Request) bool { return q.Job != nil && *q.Job == "A" })
	for i := range cell.Requests {
		q := &cell.Requests[i]
		q.PromptTokens, q.CachedTokens, q.OutputTokens = &tokens, &tokens, &tokens
	}
	cell.Jobs = slices.DeleteFunc(cell.Jobs, func(j record.Job) bool { return j.Status == "completed" })
	got := mustSummarize(t, cell).Tokens.Redone
	if want := "130 lines had no result when the run ended, which a server may have computed"; got.Reason != want {
		t.Errorf("found %v, %q, expected the reason %q", show(got), got.Reason, want)
	}
}

func TestAttemptsBehindTheBatchAPIAreUnknown(t *testing.T) {
	cell := promising(spec.PromiseEviction)
	cell.Series("router", metricRouterRequests, `{"priority":"-10"}`, always(20))
	cell.Series("router", metricEvictions, `{"priority":"100"}`, climbs(50, 53))
	e := mustSummarize(t, *cell).Batch.Evicted
	if e == nil || e.Issued.Value == nil || *e.Issued.Value != 3 {
		t.Fatalf("found %+v, expected 3 issued", e)
	}
	if e.Lines.Value != nil || !strings.Contains(e.Lines.Reason, "does not show attempts") {
		t.Errorf("found lines %v, %q", show(e.Lines), e.Lines.Reason)
	}
}
