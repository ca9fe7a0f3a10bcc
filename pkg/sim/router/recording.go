package router

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// recording is one case recorded from the real endpoint picker: a configuration, a
// timeline of events, and what was seen.
type recording struct {
	Name          string               `json:"name"`
	Topic         string               `json:"topic"`
	Why           string               `json:"why"`
	Config        string               `json:"config"`
	Flags         []string             `json:"epp_flags"`
	Objectives    map[string]int       `json:"objectives"`
	Endpoints     int                  `json:"endpoints"`
	ModelServer   string               `json:"model_server"`
	Events        []recordedEvent      `json:"events"`
	EndMS         float64              `json:"end_ms"`
	Observed      []observation        `json:"observed"`
	DispatchOrder [][]string           `json:"dispatch_order"`
	EvictOrder    [][]string           `json:"evict_order"`
	Samples       []recordedSample     `json:"samples"`
	Metrics       recordedMetrics      `json:"metrics"`
	Deterministic bool                 `json:"deterministic"`
	ToleranceMS   float64              `json:"tolerance_ms"`
	Ranges        map[string][]float64 `json:"ranges"`
	Answers       []observation        `json:"answers"`
	OtherRuns     []otherRun           `json:"other_runs"`
	Startup       *recordedStartup     `json:"startup"`

	// For people.
	Note      string          `json:"note"`
	Runs      int             `json:"runs"`
	ModalRuns int             `json:"modal_runs"`
	Agreement json.RawMessage `json:"agreement"`
	PerRun    json.RawMessage `json:"per_run"`
}

type recordedEvent struct {
	MS float64 `json:"t_ms"`
	Op string  `json:"op"`

	ID           string            `json:"id"`
	Objective    string            `json:"objective"`
	Fairness     string            `json:"fairness"`
	SLO          *int64            `json:"slo_ttft_ms"`
	SLORaw       *string           `json:"slo_ttft_raw"`
	PromptBytes  *int              `json:"prompt_bytes"`
	PromptTokens int               `json:"prompt_tokens"`
	MaxTokens    *int              `json:"max_tokens"`
	Stream       bool              `json:"stream"`
	RequestID    *string           `json:"request_id"`
	HeaderNames  string            `json:"header_names"`
	Headers      map[string]string `json:"headers"`
	Path         string            `json:"path"`
	Body         *string           `json:"body"`
	BodyBytes    int               `json:"body_bytes"`
	Pin          *int              `json:"pin"`
	Count        int               `json:"count"`

	Status   int      `json:"status"`
	Endpoint *int     `json:"endpoint"`
	Waiting  *int     `json:"waiting"`
	KV       *float64 `json:"kv"`
	Mode     string   `json:"mode"`
	Slots    *int     `json:"slots"`
	N        *int     `json:"n"`
	Label    string   `json:"label"`
}

type observation struct {
	ID              string    `json:"id"`
	Outcome         string    `json:"outcome"`
	MS              float64   `json:"t_ms"`
	RangeMS         []float64 `json:"t_range_ms"`
	HTTPStatus      int       `json:"http_status"`
	DroppedReason   *string   `json:"dropped_reason"`
	BodyPrefix      *string   `json:"body_prefix"`
	Endpoint        string    `json:"endpoint"`
	DispatchedMS    *float64  `json:"dispatched_ms"`
	FinishedMS      *float64  `json:"finished_ms"`
	AbortedMS       *float64  `json:"aborted_ms"`
	AfterFirstChunk bool      `json:"after_first_chunk"`
}

// otherRun is what differed in a run that did not agree with most.
type otherRun struct {
	MS       map[string]float64 `json:"t_ms"`
	Outcomes map[string]string  `json:"outcomes_changed"`
}

type recordedSample struct {
	MS      float64         `json:"t_ms"`
	Label   string          `json:"label"`
	Metrics recordedMetrics `json:"metrics"`
}

// recordedMetrics are sums over the labels that are left out: a number, a range of
// two, or either by a label's value.
type recordedMetrics map[string]json.RawMessage

type recordedStartup struct {
	Exits    bool   `json:"exits"`
	ExitCode int    `json:"exit_code"`
	Message  string `json:"message"`
	Serving  bool   `json:"serving"`
}

var (
	recordedOps      = []string{"arrive", "first_chunk", "finish", "abort", "metrics", "endpoints", "sample"}
	recordedOutcomes = []string{"dispatched", "rejected", "evicted", "queued_at_end", "aborted"}
	recordedModes    = []string{"", "ok", "error", "hang", "no_kv", "no_waiting", "empty"}
)

// Bounds of a case, so that no file can keep the replay busy for ever.
const (
	maxCaseMS        = 1e6
	maxCaseEndpoints = 64
	maxCaseRequests  = 10_000
	maxCasePrompt    = 1 << 20
)

func decodeRecording(text []byte) (*recording, error) {
	c := &recording{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return nil, fmt.Errorf("reading a router case: %w", err)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("reading router case %q: %w", c.Name, err)
	}
	return c, nil
}

// check refuses what would make the replay meaningless or endless.
func (c *recording) check() error {
	if c.Config == "" {
		return fmt.Errorf("config: found none, expected an EndpointPickerConfig")
	}
	if c.Endpoints < 0 || c.Endpoints > maxCaseEndpoints {
		return fmt.Errorf("endpoints: found %d, expected 0 to %d", c.Endpoints, maxCaseEndpoints)
	}
	if c.EndMS < 0 || c.EndMS > maxCaseMS {
		return fmt.Errorf("end_ms: found %v, expected 0 to %v", c.EndMS, float64(maxCaseMS))
	}
	if _, err := caseFlags(c.Flags); err != nil {
		return err
	}
	requests := 0
	for i, e := range c.Events {
		if err := e.check(); err != nil {
			return fmt.Errorf("events[%d]: %w", i, err)
		}
		if requests += max(1, e.Count); requests > maxCaseRequests {
			return fmt.Errorf("events[%d]: more than %d requests", i, maxCaseRequests)
		}
	}
	for i, o := range c.Observed {
		if !slices.Contains(recordedOutcomes, o.Outcome) {
			return fmt.Errorf("observed[%d]: outcome: found %q, expected one of %s", i, o.Outcome, strings.Join(recordedOutcomes, ", "))
		}
	}
	for name, r := range c.Ranges {
		if len(r) != 2 {
			return fmt.Errorf("ranges: %s: found %d numbers, expected 2", name, len(r))
		}
	}
	return nil
}

func (e recordedEvent) check() error {
	switch {
	case !slices.Contains(recordedOps, e.Op):
		return fmt.Errorf("op: found %q, expected one of %s", e.Op, strings.Join(recordedOps, ", "))
	case !slices.Contains(recordedModes, e.Mode):
		return fmt.Errorf("mode: found %q, expected one of %s", e.Mode, strings.Join(recordedModes[1:], ", "))
	case e.MS < -maxCaseMS || e.MS > maxCaseMS:
		return fmt.Errorf("t_ms: found %v, expected up to %v", e.MS, float64(maxCaseMS))
	case e.Op == "endpoints" && (e.N == nil || *e.N < 0 || *e.N > maxCaseEndpoints):
		return fmt.Errorf("n: expected 0 to %d", maxCaseEndpoints)
	case e.Count < 0, e.PromptTokens < 0, e.PromptTokens > maxCasePrompt, or(e.PromptBytes, 0) < 0, or(e.PromptBytes, 0) > maxCasePrompt:
		return fmt.Errorf("count, prompt_tokens, prompt_bytes: expected 0 to %d", maxCasePrompt)
	case or(e.Pin, 0) < 0 || or(e.Endpoint, 0) < 0:
		return fmt.Errorf("pin, endpoint: expected 0 or more")
	}
	return nil
}

// caseFlags reads the command-line flags of a case; those that the model has no use
// for are accepted.
func caseFlags(args []string) (Flags, error) {
	var f Flags
	for _, arg := range args {
		name, text, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		var err error
		switch name {
		case "allow-experimental-plugins":
			f.AllowExperimentalPlugins = text != "false"
		case "refresh-metrics-interval":
			f.RefreshMetricsInterval, err = time.ParseDuration(text)
		case "metrics-staleness-threshold":
			f.MetricsStalenessThreshold, err = time.ParseDuration(text)
		}
		if err != nil {
			return f, fmt.Errorf("epp_flags: %s: %w", arg, err)
		}
		// A period of nothing is a replay without end.
		if f.RefreshMetricsInterval != 0 && f.RefreshMetricsInterval < time.Millisecond {
			return f, fmt.Errorf("epp_flags: %s: expected 1ms or more", arg)
		}
	}
	return f, nil
}
