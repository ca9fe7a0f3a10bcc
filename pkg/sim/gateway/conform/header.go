package conform

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/gateway"
)

// headerFile is headers.json.
type headerFile struct {
	Upstream []*upstreamHeaders `json:"upstream_headers"`
	Retry    []*retryPlan       `json:"retry"`
}

func headerCases(d document) ([]Case, error) {
	var file headerFile
	if err := d.decode(&file); err != nil {
		return nil, err
	}
	var cases []Case
	for i, rec := range file.Upstream {
		p := place{d, []any{"upstream_headers", i}}
		if rec == nil || rec.Name == "" {
			return nil, p.fault("name", "found none, expected the name of the case")
		}
		if err := rec.check(p); err != nil {
			return nil, err
		}
		cases = append(cases, Case{Name: "headers/" + rec.Name, File: d.file, replay: rec.replay})
	}
	for i, rec := range file.Retry {
		p := place{d, []any{"retry", i}}
		if rec == nil || rec.Name == "" {
			return nil, p.fault("name", "found none, expected the name of the case")
		}
		if err := rec.check(p); err != nil {
			return nil, err
		}
		cases = append(cases, Case{Name: "retry/" + rec.Name, File: d.file, replay: rec.replay})
	}
	return cases, nil
}

// upstreamHeaders are the headers of the inference requests of one job.
type upstreamHeaders struct {
	Name     string            `json:"name"`
	Note     string            `json:"note"`
	Create   headers           `json:"batch_create_headers"`
	Window   string            `json:"completion_window"`
	Settings settings          `json:"config"`
	First    map[string]string `json:"first_request_headers"`
	Names    []string          `json:"header_names"`
	Requests []staleRequest    `json:"requests"`
	Batch    struct {
		Status string               `json:"status"`
		Counts openai.RequestCounts `json:"request_counts"`
	} `json:"batch"`

	cfg    gateway.Config
	window time.Duration
}

// staleRequest is a request whose x-slo-ttft-ms was compared with the time that was
// really left.
type staleRequest struct {
	ID       string  `json:"id"`
	Attempt  int     `json:"attempt"`
	InFlight int     `json:"in_flight"`
	Arrival  float64 `json:"arrival_after_create_request_s"`
	Budget   int64   `json:"x_slo_ttft_ms"`
	Stale    float64 `json:"slo_minus_true_remaining_ms"`
}

func (rec *upstreamHeaders) check(p place) error {
	var err error
	if rec.cfg, err = rec.Settings.config(p.document, append(slices.Clone(p.path), "config")...); err != nil {
		return err
	}
	if rec.window, err = p.window(rec.Window, append(slices.Clone(p.path), "completion_window")...); err != nil {
		return err
	}
	if len(rec.Requests) == 0 || len(rec.Requests) > maxRequests {
		return p.fault("requests", "found %d, expected 1 to %d", len(rec.Requests), maxRequests)
	}
	// The settings leave out how many were in flight at most; the backend saw it.
	rec.cfg.Concurrency.PerEndpoint = 1
	for _, request := range rec.Requests {
		rec.cfg.Concurrency.PerEndpoint = min(max(rec.cfg.Concurrency.PerEndpoint, request.InFlight), rec.cfg.Concurrency.Global)
	}
	return nil
}

// attempts are those of the request that was sent most often.
func (rec *upstreamHeaders) attempts() (most int) {
	for _, request := range rec.Requests {
		most = max(most, request.Attempt)
	}
	return max(most, 1)
}

func (rec *upstreamHeaders) replay(o *outcome) {
	n, latency, plan := int(rec.Batch.Counts.Total), 20*time.Millisecond, "200"
	attempts, flight := rec.attempts(), rec.cfg.Concurrency.PerEndpoint
	switch {
	case attempts > 1: // what is retried is a 429
		plan = strings.Repeat("429,", min(attempts-1, maxRetries)) + "200"
	case len(rec.Requests) > flight:
		latency = seconds(rec.Requests[flight].Arrival - rec.Requests[0].Arrival).Round(100 * time.Millisecond)
	}
	r := newRig(o, rec.cfg, latency)
	var input strings.Builder
	for i := range min(n, maxRequests) {
		id := fmt.Sprintf("req-%04d", i)
		input.WriteString(lineFor(id, "m1", "id="+id+";plan="+plan, nil))
	}
	client := http.Header{}
	for _, pair := range rec.Create {
		client.Add(pair[0], pair[1])
	}
	r.create(input.String(), rec.Window, client)
	r.run(0)
	r.want("status", r.job(0).Status, rec.Batch.Status)
	r.want("counts", r.job(0).RequestCounts, rec.Batch.Counts)
	if len(r.backend.Log) != len(rec.Requests) {
		r.differ("requests: got %d, want %d", len(r.backend.Log), len(rec.Requests))
		return
	}
	rec.compareHeader(o, gateway.UpstreamHeader(r.backend.Log[0].Call))
	rec.compareBudgets(r)
}

// compareHeader compares the headers of the first request; what differs from one to
// the next is the business of others.
func (rec *upstreamHeaders) compareHeader(o *outcome, got http.Header) {
	const addressed, sized, named, stamped = "Host", "Content-Length", "X-Request-Id", "X-Slo-Ttft-Ms"
	want := map[string]any{}
	for name, value := range rec.First {
		want[name] = value
	}
	have := map[string]any{}
	for name := range got {
		have[name] = got.Get(name)
	}
	for _, values := range []map[string]any{want, have} {
		delete(values, addressed) // neither is there where no socket is
		delete(values, sized)
		for _, name := range []string{named, stamped} {
			if _, ok := values[name]; ok {
				values[name] = "set"
			}
		}
	}
	o.compareJSON("first_request_headers", have, want)
	names := sortedKeys(have)
	wantNames := slices.DeleteFunc(slices.Clone(rec.Names), func(name string) bool { return name == addressed || name == sized })
	slices.Sort(wantNames)
	if !slices.Equal(names, wantNames) {
		o.differ("header_names: got %v, want %v", names, wantNames)
	}
}

// compareBudgets compares how stale x-slo-ttft-ms is when a request arrives: three
// lines are read before they have a slot, and retries repeat it.
func (rec *upstreamHeaders) compareBudgets(r *rig) {
	const tolerance = 30 // ms; the machine's own
	retried := rec.attempts() > 1
	var got, want []float64
	first := r.backend.Log[0].Arrived
	for _, row := range r.backend.Log {
		left := rec.window - row.Arrived // the job was created at 0
		got = append(got, float64((row.Call.TTFTBudget - left).Milliseconds()))
		if retried { // stale by all that passed since the first attempt
			want = append(want, float64((row.Arrived - first).Milliseconds()))
		}
	}
	if !retried {
		for _, request := range rec.Requests {
			want = append(want, request.Stale)
		}
		// Requests that were sent together arrived in any order.
		slices.Sort(got)
		slices.Sort(want)
	}
	for i := range got {
		if math.Abs(got[i]-want[i]) > tolerance {
			r.differ("x-slo-ttft-ms of request %d: got %v ms too large, want %v", i, got[i], want[i])
		}
	}
	if retried {
		rec.compareRepeats(r)
	}
}

// compareRepeats holds the recording against the rule: one budget for all attempts.
func (rec *upstreamHeaders) compareRepeats(r *rig) {
	budgets := map[string]int64{}
	for _, request := range rec.Requests {
		if known, ok := budgets[request.ID]; ok && known != request.Budget {
			r.differ("x-slo-ttft-ms of %s, attempt %d: got %d as before, want %d", request.ID, request.Attempt, known, request.Budget)
		}
		budgets[request.ID] = request.Budget
	}
}
