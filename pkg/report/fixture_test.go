package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"bgbench/pkg/analysis"
	"bgbench/pkg/spec"
)

var update = flag.Bool("update", false, "rewrite fixtures and golden files")

// fixtureArm is how an arm of the fixture behaves: its latencies in bursts and
// the requests that its jobs complete per second.
type fixtureArm struct {
	spec                  spec.Arm
	ttft, itl             [3]float64 // p50, p95, p99 in bursts
	verdict               string
	perBurst, perIdle     float64
	running, waiting, use float64 // gauges in bursts
}

// fixture is a small experiment of four arms and three trials, made up but of the
// size that published runs have: one cell is INVALID, some values do not exist.
func fixture() analysis.Results {
	arms := []fixtureArm{
		{spec.Arm{Name: "s0-interactive-only", Description: "No batch work at all: the baseline.", Dispatch: spec.DispatchNone},
			[3]float64{0.112, 0.342, 0.512}, [3]float64{0.0102, 0.0151, 0.0212}, "", 0, 0, 34, 0, 0.31},
		{spec.Arm{Name: "s1-no-gateway", Description: "The batch prompts as ordinary requests, straight to the inference gateway.", Dispatch: spec.DispatchBacklog,
			Backlog: spec.Backlog{Concurrency: 200}},
			[3]float64{0.561, 1.798, 2.437}, [3]float64{0.0244, 0.0612, 0.0951}, analysis.VerdictDegraded, 3.1, 5.2, 128, 71, 0.97},
		{spec.Arm{Name: "s2-ungated", Description: "Batch gateway, 100 requests in flight per endpoint, nothing adapts.", Dispatch: spec.DispatchSync,
			Gateway: spec.Gateway{NumWorkers: 3, Concurrency: spec.Concurrency{Global: 200, PerEndpoint: 100}}},
			[3]float64{0.397, 1.350, 1.981}, [3]float64{0.0213, 0.0497, 0.0733}, analysis.VerdictDegraded, 2.7, 4.6, 121, 32, 0.88},
		{spec.Arm{Name: "s6-low-concurrency", Description: "Batch gateway, 20 requests in flight per endpoint.", Dispatch: spec.DispatchSync,
			Gateway: spec.Gateway{NumWorkers: 3, Concurrency: spec.Concurrency{Global: 200, PerEndpoint: 20}}},
			[3]float64{0.124, 0.357, 0.561}, [3]float64{0.0119, 0.0190, 0.0283}, analysis.VerdictNoConclusion, 1.1, 1.9, 54, 1, 0.52},
	}
	const trials = 3
	profile := spec.Profile{
		Name: "default", Description: "Bursts of 15 requests per second and idle phases of 1, 90 s each.",
		Seed: 42, Model: "Qwen/Qwen3-8B", MaxModelLen: 8448,
		Prompt: spec.Prompt{
			ISL:           spec.Distribution{Type: "lognormal", Mean: 1500, SD: 1200, Min: 10, Max: 4096},
			OSL:           spec.Distribution{Type: "lognormal", Mean: 500, SD: 400, Min: 10, Max: 2048},
			SystemPrompts: spec.SystemPrompts{Count: 32, Tokens: 2048}, IgnoreEOS: true,
		},
		Interactive: spec.Interactive{
			Arrival: "poisson", Cycles: 4, WarmupCycles: 1, RequestTimeout: spec.Duration(2 * time.Minute),
			Phases: []spec.Phase{{Name: "burst", Rate: 15, Duration: spec.Duration(90 * time.Second), Class: spec.ClassInteractive},
				{Name: "idle", Rate: 1, Duration: spec.Duration(90 * time.Second), Class: spec.ClassInteractive}},
		},
		Batch: spec.Batch{Lead: spec.Duration(30 * time.Second), Jobs: []spec.Job{
			{Name: "A", Requests: 1000, Window: spec.Duration(11 * time.Minute)},
			{Name: "B", Requests: 1000, Window: spec.Duration(2 * time.Hour)},
			{Name: "C", Requests: 1000, Window: spec.Duration(24 * time.Hour)}}},
	}
	r := analysis.Results{
		SchemaVersion: analysis.SchemaVersion,
		Experiment: spec.Experiment{
			Name: "batch-gateway", Description: "The scenarios of the batch gateway.",
			Question: "When batch inference shares model servers with interactive traffic, how much does it hurt, and which protection keeps both promises?",
			Target:   spec.TargetModel, Trials: trials, Baseline: "s0-interactive-only", Margin: 0.1, Profile: profile,
		},
		Warnings: []analysis.Warning{
			{Arm: "s1-no-gateway", Message: "1,204 of 9,720 interactive requests crossed from a burst into the idle phase after it"},
			{Arm: "s6-low-concurrency", Trial: 2, Message: "INVALID: load on time (lateness p99 41 ms, 5 ms allowed: the generator's host was busy from 212 s to 240 s)"},
			{Message: "prefix-cache hit rate differs by more than 10 points across arms: 61 % in s0-interactive-only, 47 % in s1-no-gateway"},
		},
	}
	for i, a := range arms {
		r.Experiment.Arms = append(r.Experiment.Arms, a.spec)
		for trial := 1; trial <= trials; trial++ {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(trial)))
			r.Cells = append(r.Cells, fixtureCell(a, trial, profile, rng))
		}
	}
	for i, a := range arms {
		r.Arms = append(r.Arms, fixtureSummary(a, i == 0, r.Cells, profile))
	}
	for i := range r.Arms[1:] {
		fixtureCompare(&r.Arms[i+1], r.Arms[0], arms[i+1].verdict)
	}
	for i, a := range r.Arms[1:] {
		p := analysis.TradePoint{Arm: a.Name, BatchPerS: measured(arms[i+1].perIdle, 3), Frontier: i != 1}
		p.TTFTP95 = analysis.Value{Value: a.Metrics["burst/interactive/ttft/p95"].Median, N: 3}
		r.TradeOff = append(r.TradeOff, p)
	}
	r.Steps = []analysis.Step{{Chain: "value", From: "s1-no-gateway", To: "s2-ungated", Change: []analysis.Change{
		{Key: "burst/interactive/ttft/p95", Unit: "s", Better: "lower", From: number(1.8), To: number(1.35), Word: analysis.WordBetter,
			Comparison: analysis.Comparison{Ratio: number(0.75), Low: number(0.7), High: number(0.8), Pairs: 3, PAdjusted: number(0.011)}},
		{Key: "all/batch/span_s/value", Unit: "s", Better: "lower", From: number(760), To: number(860), Word: analysis.WordNotShown},
	}}, {Chain: "value", From: "s2-ungated", To: "s9", Reason: "the experiment has no arm s9"}}
	return r
}

// number cuts v to six digits, so that the fixture is the same on every processor.
func number(v float64) *float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil {
		panic(err) // what FormatFloat writes ParseFloat reads
	}
	return &short
}

func measured(v float64, n int) analysis.Value { return analysis.Value{Value: number(v), N: n} }

func missing(reason string) analysis.Value { return analysis.Value{Reason: reason} }

func fixtureCell(a fixtureArm, trial int, profile spec.Profile, rng *rand.Rand) analysis.CellResult {
	wobble := func() float64 { return 1 + 0.06*(rng.Float64()-0.5) }
	start := time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC).Add(time.Duration(trial) * time.Hour)
	c := analysis.CellResult{
		Arm: a.spec.Name, Trial: trial, Seed: profile.Seed + int64(trial) - 1,
		Dir: fmt.Sprintf("cells/%s/t%d", a.spec.Name, trial), Valid: true, Clock: "virtual",
		StartedAt: start, EndedAt: start.Add(18 * time.Minute),
		Checks: []analysis.Check{
			{Name: "load on time", OK: true, Evidence: "lateness p99 0.9 ms of 5 ms allowed, 4,860 of 4,860 requests sent"},
			{Name: "context fits", OK: true, Evidence: "no request above 8,448 tokens"},
		},
		Versions: map[string]any{"versions": map[string]any{"bg-load": "(devel)", "model": "vllm-v1-roofline"},
			"host": map[string]any{"os": "linux", "cpus": 2.0}},
	}
	if a.spec.Dispatch != spec.DispatchNone {
		c.Checks = append(c.Checks, analysis.Check{Name: "batch work present", OK: true, Evidence: "lines left at every second of the measurement"})
	}
	if a.spec.Name == "s6-low-concurrency" && trial == 2 {
		c.Valid = false
		c.Checks[0] = analysis.Check{Name: "load on time", Evidence: "lateness p99 41 ms, 5 ms allowed: the generator's host was busy from 212 s to 240 s"}
	}
	at := 0.0
	for cycle := range profile.Interactive.Cycles {
		for _, p := range profile.Interactive.Phases {
			c.Bands = append(c.Bands, analysis.Band{Phase: p.Name, Cycle: cycle,
				Warmup: cycle < profile.Interactive.WarmupCycles, StartS: at, EndS: at + p.Duration.Seconds()})
			at += p.Duration.Seconds()
		}
	}
	for _, p := range profile.Interactive.Phases {
		window := 3 * p.Duration.Seconds()
		n := int(p.Rate * window)
		slow := 1.0
		if p.Name == "idle" {
			slow = 0.3 + 0.04*a.perIdle
		}
		failed := 0
		if a.spec.Name == "s1-no-gateway" && p.Name == "burst" {
			failed = 9
		}
		scaled := func(q [3]float64) [3]float64 {
			w := wobble()
			return [3]float64{q[0] * slow * w, q[1] * slow * w, q[2] * slow * w * wobble()}
		}
		ttft, itl := scaled(a.ttft), scaled(a.itl)
		s := analysis.PhaseSummary{
			Phase: p.Name, Class: "interactive", WindowS: window, Requests: n,
			ByStatus: map[string]int{"ok": n - failed}, ErrorRate: measured(float64(failed)/float64(n), n),
			OfferedPerS: measured(p.Rate, n), OKPerS: measured(float64(n-failed)/window, n),
			OutputTokensPerS: measured(p.Rate*487*wobble(), n), PromptTokensPerS: measured(p.Rate*3391*wobble(), n),
			CachedTokensRatio: measured(0.61-0.02*a.perIdle, n),
			CrossesPhaseCount: int(40 * slow), TTFT: spread(ttft, n-failed), TTFTFromDue: spread(ttft, n-failed),
			ITL: spread(itl, 480*n), TPOT: spread([3]float64{itl[0], itl[1] * 0.8, itl[2] * 0.7}, n-failed),
			E2E:          spread([3]float64{itl[0]*480 + ttft[0], itl[1]*900 + ttft[1], itl[2]*1200 + ttft[2]}, n-failed),
			TTFTAdjusted: spread(ttft, n), Lateness: spread([3]float64{0.00021, 0.00048, 0.0009}, n),
		}
		s.E2EFromDue = s.E2E
		s.CDFs = analysis.CDFs{analysis.MetricTTFT: cdfOf(s.TTFT, n), analysis.MetricITL: cdfOf(s.ITL, s.ITL.N), analysis.MetricE2E: cdfOf(s.E2E, n)}
		s.Errors = analysis.Share{Count: failed, N: n, Value: number(float64(failed) / float64(n)), Low: number(0), High: number(float64(failed+4) / float64(n)), Method: "Wilson"}
		s.Goodput = analysis.Goodput{TTFTS: number(0.45), Good: analysis.Share{Count: n - failed, N: n, Value: number(float64(n-failed) / float64(n))}}
		if failed > 0 {
			s.ByStatus["timeout"] = failed
			s.ErrorsByKind = map[string]analysis.Share{"timeout": s.Errors}
			s.TTFTAdjusted.Max = missing("the largest is a failed request, which counts as endless")
		}
		if n < 299 {
			few := missing(fmt.Sprintf("%d rows, a p99 needs 299", n))
			for _, d := range []*analysis.Distribution{&s.TTFT, &s.TTFTFromDue, &s.TTFTAdjusted, &s.TPOT, &s.E2E, &s.E2EFromDue, &s.Lateness} {
				d.P99 = few
			}
		}
		c.Phases = append(c.Phases, s)
	}
	if a.spec.Dispatch != spec.DispatchNone {
		fixtureJobs(&c, a, profile, wobble)
	} else {
		none := missing("this arm runs no batch work")
		c.Batch = analysis.BatchSummary{IdlePerS: none, BurstPerS: none, PerPhase: map[string]analysis.Value{},
			TTFT: analysis.Distribution{Unit: "s", Mean: none, P50: none, P90: none, P95: none, P99: none, Max: none}}
	}
	fixtureGauges(&c, a, rng)
	return c
}

// cdfOf joins the percentiles of a distribution.
func cdfOf(d analysis.Distribution, of int) [][2]float64 {
	var points [][2]float64
	for _, p := range []struct {
		share float64
		v     analysis.Value
	}{{0.5, d.P50}, {0.9, d.P90}, {0.95, d.P95}, {0.99, d.P99}, {1, d.Max}} {
		if p.v.Value != nil {
			points = append(points, [2]float64{*p.v.Value, *number(p.share * float64(d.N) / float64(of))})
		}
	}
	return points
}

func spread(q [3]float64, n int) analysis.Distribution {
	return analysis.Distribution{Unit: "s", N: n, Mean: measured(q[0]*1.2, n), P50: measured(q[0], n),
		P90: measured(q[0]+(q[1]-q[0])*0.8, n), P95: measured(q[1], n), P99: measured(q[2], n), Max: measured(q[2]*1.4, n)}
}

// fixtureJobs lets the jobs run one after the other, each polled every 10 s.
func fixtureJobs(c *analysis.CellResult, a fixtureArm, profile spec.Profile, wobble func() float64) {
	rate := wobble()
	speed := func(t float64) float64 {
		for _, b := range c.Bands {
			if t >= b.StartS && t < b.EndS && b.Phase == "burst" {
				return a.perBurst * rate
			}
		}
		return a.perIdle * rate
	}
	lead := profile.Batch.Lead.Seconds()
	done := make([]float64, len(profile.Batch.Jobs))
	curves := make([]analysis.Curve, len(done))
	ended := make([]float64, len(done))
	end := c.EndedAt.Sub(c.StartedAt).Seconds()
	for t := -lead; t <= end; t += 10 {
		left := 10 * speed(t)
		for i, j := range profile.Batch.Jobs {
			if ended[i] > 0 {
				continue
			}
			curves[i].Points = append(curves[i].Points, [2]float64{t, math.Floor(done[i])})
			// The job that is due first gets most of the work.
			part := math.Min(left*0.9, float64(j.Requests)-done[i])
			done[i], left = done[i]+part, left-part
			if done[i] >= float64(j.Requests) {
				ended[i] = t + 10
				curves[i].Points = append(curves[i].Points, [2]float64{t + 10, float64(j.Requests)})
			}
		}
	}
	lines := analysis.Accounting{Reason: "the Batch API does not show attempts"}
	if a.spec.Dispatch == spec.DispatchBacklog {
		lines = analysis.Accounting{Retried: new(int), Evicted: new(int)}
	}
	for i, j := range profile.Batch.Jobs {
		curves[i].Name, curves[i].Source, curves[i].Unit = "job:"+j.Name, "jobs.parquet", "requests"
		s := analysis.JobSummary{Job: j.Name, Status: "in_progress", Total: int64(j.Requests), Completed: int64(done[i]),
			WindowS: j.Window.Seconds(), CompletionS: missing(fmt.Sprintf("in_progress at the end, %d of %d lines", int(done[i]), j.Requests))}
		if ended[i] > 0 {
			s.Status, s.CompletionS = "completed", measured(ended[i]+lead, j.Requests)
			s.Met = ended[i]+lead <= s.WindowS
		}
		c.Jobs = append(c.Jobs, s)
		lines.Submitted += j.Requests
		lines.OK += int(done[i])
	}
	lines.Unfinished = lines.Submitted - lines.OK
	c.Curves = append(c.Curves, curves...)
	c.Batch = analysis.BatchSummary{
		IdlePerS: measured(a.perIdle*rate, 3), BurstPerS: measured(a.perBurst*rate, 3), Lines: lines,
		PerPhase: map[string]analysis.Value{"burst": measured(a.perBurst*rate, 3), "idle": measured(a.perIdle*rate, 3)},
	}
	if a.spec.Dispatch == spec.DispatchBacklog {
		c.Batch.TTFT = spread([3]float64{2.12 * rate, 6.4 * rate, 9.1 * rate}, lines.OK)
	} else {
		none := missing("the batch gateway does not report the TTFT of a line")
		c.Batch.TTFT = analysis.Distribution{Unit: "s", Mean: none, P50: none, P90: none, P95: none, P99: none, Max: none}
	}
}

func fixtureGauges(c *analysis.CellResult, a fixtureArm, rng *rand.Rand) {
	load := map[string][][2]float64{}
	for _, b := range c.Bands {
		rate := map[string]float64{"burst": 15, "idle": 1}[b.Phase]
		for at := b.StartS; at < b.EndS; at += 10 {
			load["load:offered"] = append(load["load:offered"], [2]float64{at, rate})
			load["load:sent"] = append(load["load:sent"], [2]float64{at, rate})
			load["load:lateness"] = append(load["load:lateness"], [2]float64{at, 0.0009})
		}
	}
	for _, name := range []string{"load:offered", "load:sent", "load:lateness"} {
		c.Curves = append(c.Curves, analysis.Curve{Name: name, Source: "requests", Unit: "requests/s", Points: load[name]})
	}
	for _, g := range []struct {
		name, unit  string
		burst, idle float64
	}{
		{"vllm:num_requests_running", "requests", a.running, 6 + 9*a.perIdle},
		{"vllm:num_requests_waiting", "requests", a.waiting, 0},
		{"vllm:kv_cache_usage_perc", "ratio", a.use, 0.05 + 0.1*a.perIdle},
	} {
		for replica := range 2 {
			curve := analysis.Curve{Name: g.name, Source: fmt.Sprintf("vllm-%d", replica), Unit: g.unit}
			level := 0.0
			for t := -30.0; t <= c.Bands[len(c.Bands)-1].EndS; t += 10 {
				target := g.idle
				for _, b := range c.Bands {
					if t >= b.StartS && t < b.EndS && b.Phase == "burst" {
						target = g.burst
					}
				}
				level += (target - level) * 0.6
				v := math.Max(0, level*(1+0.12*(rng.Float64()-0.5)))
				if g.unit == "ratio" {
					v = math.Min(v, 1)
				} else {
					v = math.Round(v / 2)
				}
				curve.Points = append(curve.Points, [2]float64{t, *number(v)})
			}
			c.Curves = append(c.Curves, curve)
		}
	}
}

// estimate summarises trials as pkg/analysis does; nil stands for a trial without
// a value.
func estimate(unit string, values []*float64, reason string) analysis.Estimate {
	e := analysis.Estimate{Unit: unit, Values: values, Level: 0.95}
	var known []float64
	for _, v := range values {
		if v != nil {
			known = append(known, *v)
		}
	}
	e.TrialsUse = len(known)
	if len(known) == 0 {
		e.Reason = reason
		return e
	}
	slices.Sort(known)
	middle := known[len(known)/2]
	if len(known)%2 == 0 {
		middle = (middle + known[len(known)/2-1]) / 2
	}
	e.Median, e.Min, e.Max = number(middle), number(known[0]), number(known[len(known)-1])
	if len(known) < 3 || known[0] <= 0 {
		e.Reason = fmt.Sprintf("%d trials allow no interval", len(known))
		return e
	}
	mean, low, high := spreadOf(known)
	e.GeoMean, e.Low, e.High, e.Method = number(mean), number(low), number(high), "Student t on logs"
	return e
}

// spreadOf is the geometric mean of three values with Student's t for two degrees
// of freedom.
func spreadOf(values []float64) (mean, low, high float64) {
	sum, squares := 0.0, 0.0
	for _, v := range values {
		sum += math.Log(v)
	}
	m := sum / float64(len(values))
	for _, v := range values {
		squares += (math.Log(v) - m) * (math.Log(v) - m)
	}
	half := 4.302652729749462 * math.Sqrt(squares/float64(len(values)-1)/float64(len(values)))
	return math.Exp(m), math.Exp(m - half), math.Exp(m + half)
}

func fixtureSummary(a fixtureArm, baseline bool, cells []analysis.CellResult, profile spec.Profile) analysis.ArmResult {
	arm := analysis.ArmResult{Name: a.spec.Name, Description: a.spec.Description, Baseline: baseline,
		Metrics: map[string]analysis.Estimate{}, Against: map[string]analysis.Comparison{}}
	var valid []analysis.CellResult
	for _, c := range cells {
		switch {
		case c.Arm != a.spec.Name:
		case c.Valid:
			valid = append(valid, c)
		default:
			arm.Invalid++
		}
	}
	arm.Trials = len(valid)
	collect := func(key, unit string, of func(analysis.CellResult) analysis.Value) {
		var values []*float64
		reason := ""
		for _, c := range valid {
			v := of(c)
			values = append(values, v.Value)
			if v.Reason != "" {
				reason = v.Reason
			}
		}
		arm.Metrics[key] = estimate(unit, values, reason)
	}
	for i, phase := range []string{"burst", "idle"} {
		for _, m := range []struct {
			name string
			of   func(analysis.PhaseSummary) analysis.Distribution
		}{
			{analysis.MetricTTFT, func(p analysis.PhaseSummary) analysis.Distribution { return p.TTFT }},
			{analysis.MetricITL, func(p analysis.PhaseSummary) analysis.Distribution { return p.ITL }},
		} {
			for _, stat := range []string{analysis.StatP50, analysis.StatP95, analysis.StatP99} {
				collect(analysis.MetricKey(phase, "interactive", m.name, stat), "s", func(c analysis.CellResult) analysis.Value {
					d := m.of(c.Phases[i])
					return map[string]analysis.Value{"p50": d.P50, "p95": d.P95, "p99": d.P99}[stat]
				})
			}
		}
	}
	collect("idle/batch/requests_per_s/value", "requests/s", func(c analysis.CellResult) analysis.Value { return c.Batch.IdlePerS })
	collect("all/batch/ttft/p50", "s", func(c analysis.CellResult) analysis.Value { return c.Batch.TTFT.P50 })
	if a.spec.Dispatch == spec.DispatchNone {
		return arm
	}
	for i, j := range profile.Batch.Jobs {
		job := analysis.ArmJob{Job: j.Name, WindowS: j.Window.Seconds(), Trials: len(valid)}
		var values []*float64
		reason := ""
		for _, c := range valid {
			values = append(values, c.Jobs[i].CompletionS.Value)
			if c.Jobs[i].Met {
				job.Met++
			}
			if c.Jobs[i].CompletionS.Reason != "" {
				reason = c.Jobs[i].CompletionS.Reason
			}
		}
		job.CompletionS = estimate("s", values, reason)
		arm.Jobs = append(arm.Jobs, job)
	}
	return arm
}

func fixtureCompare(arm *analysis.ArmResult, base analysis.ArmResult, verdict string) {
	for key, e := range arm.Metrics {
		if !strings.HasPrefix(key, "burst/") && !strings.HasPrefix(key, "idle/interactive") {
			continue
		}
		c := analysis.Comparison{Level: 0.95, Pairs: e.TrialsUse}
		var ratios []float64
		for i, v := range e.Values {
			if b := base.Metrics[key].Values[i]; v != nil && b != nil {
				ratios = append(ratios, *v / *b)
			}
		}
		switch {
		case len(ratios) == 0:
			c.Reason = "no trial has both values"
		case len(ratios) < 3:
			c.Ratio = number(math.Sqrt(ratios[0] * ratios[len(ratios)-1]))
			c.Reason = fmt.Sprintf("%d pairs allow no interval", len(ratios))
		default:
			mean, low, high := spreadOf(ratios)
			c.Ratio, c.Low, c.High = number(mean), number(low), number(high)
			// Of three pairs, 3.264 standard deviations of the logs.
			sd := math.Log(high/mean) * math.Sqrt(3) / 4.302652729749462
			c.MDE = number(math.Expm1(3.2640435496996 * sd))
		}
		if key == "burst/interactive/ttft/p95" || key == "burst/interactive/itl/p95" {
			c.Verdict, c.Margin = verdict, number(0.1)
			if c.Low != nil {
				// Student's t for two degrees of freedom, one-sided and two-sided.
				half := math.Log(*c.High / *c.Ratio) * 2.919985580353726 / 4.302652729749462
				c.OneSidedLow, c.OneSidedHigh = number(*c.Ratio*math.Exp(-half)), number(*c.Ratio*math.Exp(half))
			}
		}
		arm.Against[key] = c
	}
}

// TestFixture holds testdata/results.json, which other tests read, against its
// generator.
func TestFixture(t *testing.T) {
	const path = "testdata/results.json"
	if *update {
		text, err := json.Marshal(fixture())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	got, err := analysis.ReadResults(file, path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fixture(), got, cmpopts.IgnoreUnexported(analysis.Results{})); diff != "" {
		t.Errorf("%s differs from its generator (go test -update writes it):\n%s", path, diff)
	}
}

// golden compares got with the file called name in testdata, or writes it there
// with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if bytes.Equal(want, got) {
		return
	}
	at := 0
	for at < len(got) && at < len(want) && got[at] == want[at] {
		at++
	}
	t.Fatalf("%s:%d differs (go test -update accepts it)\n got …%s…\nwant …%s…",
		path, 1+bytes.Count(want[:at], []byte("\n")), around(got, at), around(want, at))
}

// around is the text at a place and before it.
func around(text []byte, at int) []byte {
	return text[max(0, at-80):min(len(text), at+120)]
}
