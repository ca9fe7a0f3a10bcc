package gateway

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/metric"
	"bgbench/pkg/spec"
)

func TestAIMDController(t *testing.T) {
	cases := map[string]struct {
		cfg    spec.AIMD
		max    int
		events string // s: success, d: decrease
		want   []int  // the limit after each event
	}{
		"a window of successes as long as the limit adds one": {
			spec.AIMD{Min: 1, BackoffFactor: 0.5, AdditiveIncrease: 1}, 4, "dssss" + "sss", []int{2, 2, 3, 3, 3, 4, 4, 4},
		},
		"the limit never leaves the bounds": {
			spec.AIMD{Min: 2, BackoffFactor: 0.5, AdditiveIncrease: 3}, 4, "ddsss", []int{2, 2, 2, 4, 4},
		},
		"the product is cut to an integer": {
			spec.AIMD{Min: 1, BackoffFactor: 0.7, AdditiveIncrease: 1}, 10, "dddd", []int{7, 4, 2, 1},
		},
		"a decrease at the floor starts the window anew": {
			spec.AIMD{Min: 2, BackoffFactor: 0.5, AdditiveIncrease: 1}, 8, "ddsdss", []int{4, 2, 2, 2, 2, 3},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAIMD(c.cfg, c.max)
			for i, event := range c.events {
				if event == 's' {
					a.success()
				} else {
					a.decrease()
				}
				if a.limit != c.want[i] {
					t.Fatalf("limit %d after event %d of %q, expected %d", a.limit, i, c.events, c.want[i])
				}
			}
		})
	}
}

// experiment is one of aimd.json: a job or two on the real processor with what its
// log said of the limit and its backend of the requests.
type experiment struct {
	Name   string
	Config recordedConfig
	Jobs   []struct {
		Status        string
		RequestCounts openai.RequestCounts `json:"request_counts"`
	}
	LimitSteps []limitStep         `json:"limit_steps"`
	Backend    [][]json.RawMessage // t_ms, done_ms, id, attempt, in flight, status
	MaxFlight  int                 `json:"max_in_flight"`
}

type limitStep struct {
	Kind, Signal string
	Old, New     int
}

func experiments(t *testing.T) []experiment {
	t.Helper()
	var file struct{ Experiments []experiment }
	readRecording(t, "aimd.json", &file)
	if len(file.Experiments) == 0 {
		t.Fatal("no experiments")
	}
	return file.Experiments
}

// row is one row of an experiment's backend.
type row struct {
	id       string
	attempt  int
	status   string
	duration float64 // ms
	inFlight int
}

func (e experiment) rows(t *testing.T) (rows []row) {
	t.Helper()
	for _, raw := range e.Backend {
		var r row
		var from, to float64
		for i, into := range []any{&from, &to, &r.id, &r.attempt, &r.inFlight} {
			decode(t, raw[i], into)
		}
		r.status = strings.Trim(string(raw[5]), `"`)
		r.duration = to - from
		rows = append(rows, r)
	}
	return rows
}

// answers says what the status in a row does not show.
var answers = map[string]func(r row) string{
	"ttl_expired_drop_429_no_signal": func(r row) string { return strings.Replace(r.status, "429", "429/drop=rejected-ttl-expired", 1) },
	"evicted_drop_429_signal":        func(r row) string { return strings.Replace(r.status, "429", "429/drop=evicted", 1) },
	"success_array_body":             func(r row) string { return strings.Replace(r.status, "200", "array", 1) },
	"capacity_limited_backend":       func(row) string { return "200" },
}

// inputs rebuilds the jobs' input files from what the backend saw: the lines in the
// order of their ids, each with its answers and its duration. Many requests of an
// experiment end within a millisecond, and the order in which the processor heard
// of them was not recorded: late is how many good answers of such a volley come
// before the bad ones.
func (e experiment) inputs(t *testing.T, late int) []string {
	jobs := len(e.Jobs)
	plans := map[string][]row{}
	for _, r := range e.rows(t) {
		plans[r.id] = append(plans[r.id], r)
	}
	if e.Jobs[0].Status == openai.BatchExpired { // the rest was never sent
		for i := range int(e.Jobs[0].RequestCounts.Total) {
			if id := fmt.Sprintf("req-%04d", i); plans[id] == nil {
				plans[id] = []row{{id: id, status: "client_gone", duration: 5000}}
			}
		}
	}
	texts := make([]strings.Builder, jobs)
	usual := e.usualDuration(t)
	good := 0
	for _, id := range sortedKeys(plans) {
		rows := plans[id]
		rows = rows[:max(len(rows)/jobs, 1)] // jobs with the same ids share their rows
		var plan []string
		for _, r := range rows {
			plan = append(plan, e.answer(r))
		}
		// A hundredth of a millisecond orders a volley without moving anything else.
		latency := math.Round(rows[0].duration)
		if math.Abs(latency-usual) <= 3 { // the machine's noise
			latency = usual
		}
		if plan[0] == "200" || plan[0] == "201" {
			good++
			latency += 0.01 * float64(good%8)
		} else {
			latency += 0.01*float64(late) + 0.005
		}
		for j := range texts {
			texts[j].WriteString(lineFor(id, "m1", fmt.Sprintf("id=%s;lat=%.3f;plan=%s", id, latency, strings.Join(plan, ",")), nil))
		}
	}
	inputs := make([]string, jobs)
	for j := range texts {
		inputs[j] = texts[j].String()
	}
	return inputs
}

// usualDuration is the median of the durations.
func (e experiment) usualDuration(t *testing.T) float64 {
	var durations []float64
	for _, r := range e.rows(t) {
		durations = append(durations, math.Round(r.duration))
	}
	slices.Sort(durations)
	return durations[len(durations)/2]
}

func (e experiment) answer(r row) string {
	if special := answers[e.Name]; special != nil {
		return special(r)
	}
	switch r.status {
	case "client_gone":
		return "hang/5000"
	case "closed":
		return "close"
	}
	return r.status
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, cmp.Compare)
	return keys
}

// notDriven lists experiments that this package cannot repeat, with the reason.
var notDriven = map[string]string{
	"sim_queue_full_no_retries": "its backend is llm-d-inference-sim, whose rows were not recorded",
}

// raced is how many steps of a recording come before a request slipped in between
// the return of a slot and the fall of the limit. The model has no such race.
var raced = map[string]int{"capacity_limited_backend": 14}

// TestRecordedLimitSteps drives each experiment and compares every change of the
// limit with the processor's log.
func TestRecordedLimitSteps(t *testing.T) {
	for _, e := range experiments(t) {
		if notDriven[e.Name] != "" {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			var diff string
			for late := range 9 {
				steps := e.drive(t, late)
				if n := raced[e.Name]; n > 0 {
					steps, e.LimitSteps = steps[:min(n, len(steps))], e.LimitSteps[:n]
				}
				if diff = gocmp.Diff(e.LimitSteps, steps, cmpopts.EquateEmpty()); diff == "" {
					return
				}
			}
			t.Errorf("limit, in no order of a volley (- recorded, + ours):\n%s", diff)
		})
	}
}

// drive runs the experiment and returns the changes of the limit.
func (e experiment) drive(t *testing.T, late int) (steps []limitStep) {
	t.Helper()
	cfg := e.Config.config(t)
	cfg.LimitChanged = func(_ string, before, after int, cause string) {
		s := limitStep{Kind: "increase", Old: before, New: after}
		if after < before {
			s.Kind, s.Signal = "decrease", cause
		}
		steps = append(steps, s)
	}
	r := newRig(t, cfg, 0)
	window := "1h"
	if e.Jobs[0].Status == openai.BatchExpired {
		window = "1500ms"
	}
	if e.Name == "capacity_limited_backend" {
		r.backend.Capacity = 6
	}
	for _, input := range e.inputs(t, late) {
		r.submit(0, input, window)
	}
	r.run(0)
	flight := 0
	for _, row := range r.backend.Log {
		flight = max(flight, row.InFlight)
	}
	if flight != e.MaxFlight {
		t.Errorf("%d in flight, recorded %d", flight, e.MaxFlight)
	}
	for i, b := range r.jobs {
		if raced[e.Name] == 0 && b.RequestCounts != e.Jobs[i].RequestCounts {
			t.Errorf("job %d: %+v, recorded %+v", i, b.RequestCounts, e.Jobs[i].RequestCounts)
		}
	}
	return steps
}

func TestAIMDMetrics(t *testing.T) {
	cfg := Config{EndpointURL: backendURL}
	cfg.Concurrency = spec.Concurrency{Global: 8, PerEndpoint: 4, AIMD: spec.AIMD{Enabled: true, Min: 3, BackoffFactor: 0.5, AdditiveIncrease: 1}}
	cfg.Quirks = spec.ObservedQuirks()
	m := newProcessorMetrics(&cfg, &metric.Registry{})
	ep := newEndpoint(&cfg, backendURL, m)
	for _, s := range []signal{signal429, signal429, signalNone, signalSuccess, signalSuccess, signalSuccess, signal5xx} {
		ep.semaphore.acquire(nil)
		ep.done(s, true, 0, 0)
	}
	url := metric.Label{Name: "endpoint", Value: backendURL}
	for name, want := range map[string]float64{
		"limit": 3, "decreases by 429 (one of them at the floor)": 2, "decreases by 5xx": 1, "increases": 1,
	} {
		got := map[string]float64{
			"limit": ep.metrics.limit.Value(),
			"decreases by 429 (one of them at the floor)": m.registry.Counter("batch_processor_aimd_decreases_total", "", url, metric.Label{Name: "signal", Value: "429"}).Value(),
			"decreases by 5xx":                            m.registry.Counter("batch_processor_aimd_decreases_total", "", url, metric.Label{Name: "signal", Value: "5xx"}).Value(),
			"increases":                                   m.registry.Counter("batch_processor_aimd_increases_total", "", url).Value(),
		}[name]
		if got != want {
			t.Errorf("%s: %v, expected %v", name, got, want)
		}
	}
}
