package interop

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// SchemaVersion of Document. It changes when a reader of the old one would be misled.
const SchemaVersion = "bgbench.import/1"

// Document is what result files say, in one form.
type Document struct {
	SchemaVersion string                `json:"schema_version"`
	Runs          []Run                 `json:"runs"`
	Definitions   map[Definition]string `json:"definitions"` // of the metrics in it, in words
	Warnings      []string              `json:"warnings"`
}

// Run is one measurement: a benchmark of guidellm, a stage of inference-perf, one run
// of vllm bench or aiperf, a phase of a cell of ours.
type Run struct {
	Tool        string `json:"tool"`
	ToolVersion string `json:"tool_version,omitempty"`
	Format      Format `json:"format"`
	Source      string `json:"source"` // file
	Name        string `json:"name"`
	// Labels are what tells runs apart: arm, trial, phase and class of ours, strategy,
	// rate and model of others.
	Labels    map[string]string `json:"labels,omitempty"`
	StartedAt *time.Time        `json:"started_at"`
	EndedAt   *time.Time        `json:"ended_at"`
	DurationS *float64          `json:"duration_s"`
	// Invalid says why a cell of ours must not be relied on. Other tools do not check.
	Invalid  string         `json:"invalid,omitempty"`
	Requests Counts         `json:"requests"`
	Errors   map[string]int `json:"errors,omitempty"` // failed requests by kind, as the file names it
	Metrics  []Metric       `json:"metrics"`
	Jobs     []Job          `json:"jobs,omitempty"` // batch jobs of the cell, of ours
	// Cell is what a run of ours was configured with; nil for others.
	Cell *Cell `json:"-"`
}

// Counts of requests; null where the file does not say.
type Counts struct {
	Total      *int `json:"total"`
	OK         *int `json:"ok"`
	Failed     *int `json:"failed"`
	Incomplete *int `json:"incomplete"` // still in flight at the end
}

// Job is the end of a batch job.
type Job struct {
	Job         string   `json:"job"`
	Status      string   `json:"status"`
	Total       int64    `json:"total"`
	Completed   int64    `json:"completed"`
	Failed      int64    `json:"failed"`
	CompletionS *float64 `json:"completion_s"`
	WindowS     float64  `json:"window_s"`
	Met         bool     `json:"met"`
}

// Metric is one quantity over the requests of a run. What the file does not give is
// null.
type Metric struct {
	Name       string     `json:"name"` // family of the definition
	Definition Definition `json:"definition"`
	Called     string     `json:"called"` // what the file calls it
	Of         string     `json:"of"`     // one of the Of constants
	From       string     `json:"from"`   // one of the From constants
	Unit       string     `json:"unit"`   // s, tokens, requests/s, tokens/s, ratio or the tool's own
	// N is how many values there are, and Counts what a value belongs to.
	N      *int   `json:"n"`
	Counts string `json:"counts,omitempty"` // requests, gaps or tokens
	// Quantiles is how percentiles were taken, one of the Quantiles constants.
	Quantiles   string             `json:"quantiles,omitempty"`
	Mean        *float64           `json:"mean"`
	SD          *float64           `json:"sd"`
	SDDivisor   string             `json:"sd_divisor,omitempty"` // n or n−1, where there is an SD
	Min         *float64           `json:"min"`
	Max         *float64           `json:"max"`
	Percentiles map[string]float64 `json:"percentiles,omitempty"` // p0.1, p50, …
	// Reasons say why a number is missing that one would expect, by its name.
	Reasons map[string]string `json:"reasons,omitempty"`
}

// Which requests a metric is of.
const (
	OfOK         = "ok"
	OfFailed     = "failed"
	OfIncomplete = "incomplete"
	OfAll        = "all"
)

// Where a metric comes from.
const (
	FromFile = "file" // as the file reports it
	FromRows = "rows" // computed here from its records of requests
)

// Ways to take a percentile.
const (
	QuantilesType7 = "type 7" // linear on n−1 steps, as numpy
	// QuantilesNearestRank is the smallest value whose share of the weight reaches p.
	QuantilesNearestRank = "nearest rank"
)

// Values a metric can count.
const (
	countRequests = "requests"
	countGaps     = "gaps"
	countTokens   = "tokens"
)

// Comparable says whether a and b measure the same thing in the same way; the error
// says what differs.
func (a Metric) Comparable(b Metric) error {
	for _, p := range []struct{ what, a, b string }{
		{"definition", string(a.Definition), string(b.Definition)},
		{"unit", a.Unit, b.Unit},
		{"requests", a.Of, b.Of},
		{"quantiles", a.Quantiles, b.Quantiles},
	} {
		if p.a != p.b {
			return fmt.Errorf("%s is %s of one and %s of the other", p.what, orNone(p.a), orNone(p.b))
		}
	}
	return nil
}

func orNone(s string) string {
	if s == "" {
		return "not known"
	}
	return s
}

// metric begins a metric of the file.
func metric(d Definition, called, unit string) Metric {
	return Metric{Name: d.Family(), Definition: d, Called: called, Of: OfOK, From: FromFile, Unit: unit}
}

// number is a metric that has one number.
func number(d Definition, called, unit string, value *float64) Metric {
	m := metric(d, called, unit)
	m.Mean = value
	return m
}

// percentile returns the number under a name such as p99, nil if there is none.
func (m Metric) percentile(name string) *float64 {
	if v, ok := m.Percentiles[name]; ok {
		return &v
	}
	return nil
}

func (m *Metric) setPercentile(name string, v *float64) {
	if v == nil {
		return
	}
	if m.Percentiles == nil {
		m.Percentiles = make(map[string]float64)
	}
	m.Percentiles[name] = *v
}

func (m *Metric) missing(name, reason string) {
	if m.Reasons == nil {
		m.Reasons = make(map[string]string)
	}
	m.Reasons[name] = reason
}

// empty says that the file had no number at all.
func (m Metric) empty() bool {
	return m.Mean == nil && m.Min == nil && m.Max == nil && len(m.Percentiles) == 0
}

// divided is m in a unit that is as many of the one it has. A division keeps decimals
// that a product would not: 36 ms are 0.036 s.
func (m Metric) divided(by float64, unit string) Metric {
	m.Unit = unit
	for _, p := range []**float64{&m.Mean, &m.SD, &m.Min, &m.Max} {
		if *p != nil {
			v := **p / by
			*p = &v
		}
	}
	if m.Percentiles != nil {
		percentiles := make(map[string]float64, len(m.Percentiles))
		for name, v := range m.Percentiles {
			percentiles[name] = v / by
		}
		m.Percentiles = percentiles
	}
	return m
}

// find returns the first metric of the successful requests with one of the
// definitions, in that order; one computed from rows goes before one of the file.
func (r Run) find(definitions ...Definition) (Metric, bool) {
	for _, d := range definitions {
		for _, from := range []string{FromRows, FromFile} {
			i := slices.IndexFunc(r.Metrics, func(m Metric) bool {
				return m.Definition == d && m.From == from && m.Of == OfOK
			})
			if i >= 0 {
				return r.Metrics[i], true
			}
		}
	}
	return Metric{}, false
}

// add appends a metric that has a number.
func (r *Run) add(metrics ...Metric) {
	for _, m := range metrics {
		if m.SD != nil && m.From == FromRows {
			m.SDDivisor = "n−1"
		} else if m.SD != nil {
			m.SDDivisor = "n" // as guidellm, vllm bench and aiperf have it
		}
		if !m.empty() {
			r.Metrics = append(r.Metrics, m)
		}
	}
}

// NewDocument collects runs and the meaning of what they measure.
func NewDocument(runs []Run, warnings []string) Document {
	d := Document{
		SchemaVersion: SchemaVersion, Runs: runs, Definitions: map[Definition]string{},
		Warnings: append([]string{}, warnings...),
	}
	for _, r := range runs {
		for _, m := range r.Metrics {
			d.Definitions[m.Definition] = m.Definition.Meaning()
		}
	}
	return d
}

// Merge puts documents together, in order.
func Merge(documents ...Document) Document {
	var runs []Run
	var warnings []string
	for _, d := range documents {
		runs, warnings = append(runs, d.Runs...), append(warnings, d.Warnings...)
	}
	return NewDocument(runs, warnings)
}

// WriteJSON writes the document, indented for the eyes.
func (d Document) WriteJSON(w io.Writer) error { return writeIndented(w, d) }

func writeIndented(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	return nil
}
