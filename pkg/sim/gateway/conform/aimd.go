package conform

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/gateway"
)

// experiment is one of aimd.json: a job or two on the real processor with what its log
// said of the limit and its backend of the requests.
type experiment struct {
	Name     string   `json:"name"`
	Question string   `json:"question"`
	Settings settings `json:"config"`
	Script   string   `json:"script"`
	Jobs     []struct {
		Status string               `json:"status"`
		Counts openai.RequestCounts `json:"request_counts"`
	} `json:"jobs"`
	Steps         []limitStep         `json:"limit_steps"`
	MetricChanges [][]json.RawMessage `json:"metric_changes"`
	MetricPolls   int                 `json:"metric_polls"`
	Columns       []string            `json:"backend_columns"`
	Backend       []row               `json:"backend"`
	MaxFlight     *int                `json:"max_in_flight"`
	StatusCodes   map[string]int      `json:"output_status_codes"`
	Observed      string              `json:"observed"`
	// Examples, for people.
	Line200    json.RawMessage `json:"output_line_200"`
	LineNot200 json.RawMessage `json:"output_line_not_200"`

	cfg      gateway.Config
	window   string
	capacity int // of the backend, 0 for no bound
	special  special
}

type limitStep struct {
	At     float64 `json:"t_s"`
	Kind   string  `json:"kind"`
	Old    int     `json:"old"`
	New    int     `json:"new"`
	Signal string  `json:"signal"`
	// For people: how many good answers the backend gave before it.
	Successes *int `json:"successes_since_the_decrease"`
}

func (s limitStep) String() string {
	text := fmt.Sprintf("%d to %d", s.Old, s.New)
	if s.Signal != "" {
		text += " by " + s.Signal
	}
	return text
}

func (s limitStep) is(other limitStep) bool {
	return s.Kind == other.Kind && s.Old == other.Old && s.New == other.New && s.Signal == other.Signal
}

// What an experiment says in words alone.
var (
	wordsCapacity = regexp.MustCompile(`429 (?:at once when more than|above) (\d+)`)
	wordsWindow   = regexp.MustCompile(`window ([0-9.]+) ?(ms|s)\b`)
	wordsDropped  = regexp.MustCompile(`x-llm-d-request-dropped-reason: ([\w-]+)`)
	wordsArray    = regexp.MustCompile(`(?i)JSON array`)
)

// special is what the status in a backend's row does not show.
type special struct {
	dropped string // the reason that comes with each 429
	array   bool   // a 200 has a JSON array for a body
}

func aimdCases(d document) ([]Case, error) {
	var file struct {
		Note        string        `json:"note"`
		Experiments []*experiment `json:"experiments"`
	}
	if err := d.decode(&file); err != nil {
		return nil, err
	}
	if len(file.Experiments) == 0 {
		return nil, d.fault([]any{"experiments"}, "found none, expected one or more")
	}
	var cases []Case
	for i, e := range file.Experiments {
		if e == nil {
			return nil, d.fault([]any{"experiments", i}, "found null, expected an experiment")
		}
		if err := e.check(d, i); err != nil {
			return nil, err
		}
		cases = append(cases, Case{Name: "aimd/" + e.Name, File: d.file, replay: e.replay})
	}
	return cases, nil
}

func (e *experiment) check(d document, i int) error {
	at := func(path ...any) []any { return append([]any{"experiments", i}, path...) }
	if e.Name == "" {
		return d.fault(at("name"), "found none, expected the name of the experiment")
	}
	if len(e.Jobs) == 0 || len(e.Jobs) > maxJobs {
		return d.fault(at("jobs"), "found %d, expected 1 to %d", len(e.Jobs), maxJobs)
	}
	for j, job := range e.Jobs {
		if err := d.requests(int(job.Counts.Total), at("jobs", j, "request_counts", "total")...); err != nil {
			return err
		}
	}
	for j, s := range e.Steps {
		if s.Kind != "increase" && s.Kind != "decrease" {
			return d.fault(at("limit_steps", j, "kind"), "found %q, expected increase or decrease", s.Kind)
		}
	}
	for j, r := range e.Backend {
		if r.done < r.arrived {
			return d.fault(at("backend", j), "found %v to %v, expected an end after the arrival", r.arrived, r.done)
		}
	}
	var err error
	if e.cfg, err = e.Settings.config(d, at("config")...); err != nil {
		return err
	}
	words := e.Question + "; " + e.Script
	e.window = "1h"
	if found := wordsWindow.FindStringSubmatch(words); found != nil {
		e.window = found[1] + found[2]
	} else if e.Jobs[0].Status == openai.BatchExpired {
		return d.fault(at("script"), "found %q, expected the completion window of a job that expired", e.Script)
	}
	if found := wordsCapacity.FindStringSubmatch(words); found != nil {
		e.capacity, _ = strconv.Atoi(found[1]) // digits; too many of them are no bound
	}
	if found := wordsDropped.FindStringSubmatch(words); found != nil {
		e.special.dropped = found[1]
	}
	e.special.array = wordsArray.MatchString(words)
	if len(e.Backend) == 0 && e.capacity == 0 {
		return d.fault(at("backend"), "found no rows, expected those of the backend")
	}
	return nil
}

// Two things were not recorded: the order in which the processor heard of requests that
// ended within a millisecond, and when a waiter took a slot before the limit fell. The
// replay looks for an order that gives the recorded changes: a volley with so many good
// answers before the bad ones, a race at such a signal.
const (
	volleys  = 9
	maxRaces = 16
)

func (e *experiment) replay(o *outcome) {
	var best *attemptAt
	for late := range volleys {
		races := []int{}
		for {
			a := e.drive(late, races)
			if best == nil || len(a.differences) == 0 || a.matched > best.matched {
				best = a
			}
			if len(a.differences) == 0 {
				return
			}
			// The race that the recording had was at the last signal before the first
			// change that differs.
			if e.capacity == 0 || a.signals == 0 || slices.Contains(races, a.signals-1) || len(races) == maxRaces {
				break
			}
			races = append(races, a.signals-1)
		}
	}
	o.differences = append(o.differences, best.differences...)
}

// volleyStep orders the requests of a volley without moving anything else.
const volleyStep = 10 * time.Microsecond

// attemptAt is one run of an experiment.
type attemptAt struct {
	outcome
	matched int // changes of the limit before the first that differs
	signals int // signals up to there
}

// drive runs the experiment once. races lists the signals at which a waiter is quicker
// than the limit.
func (e *experiment) drive(late int, races []int) *attemptAt {
	a := &attemptAt{}
	cfg := e.cfg
	signals, done := 0, false
	var steps []limitStep
	cfg.SlotFirst = func() bool {
		signals++
		return slices.Contains(races, signals-1)
	}
	cfg.LimitChanged = func(_ string, before, after int, cause string) {
		s := limitStep{Kind: "increase", Old: before, New: after}
		if after < before {
			s.Kind, s.Signal = "decrease", cause
		}
		if i := len(steps); !done && (i >= len(e.Steps) || !s.is(e.Steps[i])) {
			done, a.matched, a.signals = true, i, signals
		}
		steps = append(steps, s)
	}
	r := newRig(&a.outcome, cfg, 100*time.Millisecond)
	r.backend.Capacity, r.backend.RefusalTime = e.capacity, time.Duration(late)*volleyStep+volleyStep/2
	for _, input := range e.inputs(late) {
		r.submit(0, input, e.window)
	}
	r.run(0)
	if !done {
		a.matched, a.signals = len(steps), signals
	}
	e.compare(r, steps)
	return a
}

func (e *experiment) compare(r *rig, steps []limitStep) {
	for i := range max(len(steps), len(e.Steps)) {
		switch {
		case i >= len(steps):
			r.differ("change %d of the limit: got none, want %s", i, e.Steps[i])
		case i >= len(e.Steps):
			r.differ("change %d of the limit: got %s, want none", i, steps[i])
		case !steps[i].is(e.Steps[i]):
			r.differ("change %d of the limit: got %s, want %s", i, steps[i], e.Steps[i])
		default:
			continue
		}
		break
	}
	if e.MaxFlight != nil {
		flight := 0
		for _, row := range r.backend.Log {
			flight = max(flight, row.InFlight)
		}
		r.want("in flight at most", flight, *e.MaxFlight)
	}
	codes := map[string]int{}
	for i, recorded := range e.Jobs {
		got := r.job(i)
		what := fmt.Sprintf("job %d: ", i)
		r.want(what+"status", got.Status, recorded.Status)
		r.want(what+"counts", got.RequestCounts, recorded.Counts)
		for row := range strings.Lines(r.content(got.OutputFileID)) {
			var line openai.BatchOutput
			if json.Unmarshal([]byte(row), &line) == nil && line.Response != nil {
				codes[strconv.Itoa(line.Response.StatusCode)]++
			}
		}
	}
	if e.StatusCodes != nil {
		r.compareJSON("output_status_codes", counted(codes), counted(e.StatusCodes))
	}
	e.compareMetrics(r)
}

// compareMetrics compares the last values on /metrics that the recording has.
func (e *experiment) compareMetrics(r *rig) {
	if len(e.MetricChanges) == 0 {
		return
	}
	last := e.MetricChanges[len(e.MetricChanges)-1]
	var want map[string]float64
	if len(last) != 2 || json.Unmarshal(last[1], &want) != nil {
		r.differ("metric_changes: got %s, want [seconds, values]", compact(last))
		return
	}
	got := map[string]float64{}
	for _, family := range r.g.Processor().Gather() {
		for _, m := range family.Metric {
			switch family.GetName() {
			case "batch_processor_aimd_concurrency_limit":
				got["limit"] = m.Gauge.GetValue()
			case "batch_processor_aimd_increases_total":
				got["inc"] = m.Counter.GetValue()
			case "batch_processor_aimd_decreases_total":
				for _, l := range m.Label {
					if l.GetName() == "signal" {
						got["dec_"+l.GetValue()] = m.Counter.GetValue()
					}
				}
			}
		}
	}
	for _, name := range sortedKeys(want) {
		r.want("metric "+name, got[name], want[name])
	}
}
