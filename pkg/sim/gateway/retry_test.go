package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim"
)

// retryRecording is one entry of headers.json's retry: requests with one plan.
type retryRecording struct {
	Name, Plan string
	Gateway    json.RawMessage
	Batch      struct {
		RequestCounts openai.RequestCounts `json:"request_counts"`
	}
	Requests []struct {
		ID       string
		Statuses []any
		Delays   []float64 `json:"delays_ms"`
	}
	Output json.RawMessage `json:"output_first_line"`
	Error  json.RawMessage `json:"error_first_line"`
}

// waitBounds is the rule of the backoff written as an interval in ms: what the wait
// after the answer to an attempt may be.
func waitBounds(answer string, attempt int, initial, most float64) (low, high float64) {
	clamp := func(ms float64) float64 { return math.Min(math.Max(ms, initial), most) }
	base, ceiling := initial, most
	switch status, header, _ := strings.Cut(answer, "/"); status {
	case "429":
		var seconds float64
		if n, _ := fmt.Sscanf(header, "ra=%f", &seconds); n == 1 {
			return clamp(1000 * seconds), clamp(1000 * seconds)
		}
		if n, _ := fmt.Sscanf(header, "rad=%f", &seconds); n == 1 { // a date has whole seconds
			return clamp(1000*seconds - 1000), clamp(1000 * seconds)
		}
		base = 3 * initial
	case "502", "503", "504":
		ceiling = most / 2
	}
	for range attempt - 1 {
		base = math.Min(2*base, ceiling)
	}
	return clamp(base / 2), clamp(base * 3 / 2)
}

// TestRecordedRetries runs each recorded plan: the attempts must be the same, and
// every wait, recorded or ours, must lie in the interval that the rule allows.
func TestRecordedRetries(t *testing.T) {
	var file struct{ Retry []retryRecording }
	readRecording(t, "headers.json", &file)
	for _, rec := range file.Retry {
		t.Run(rec.Name, func(t *testing.T) {
			cfg := recordedConfig{Gateway: rec.Gateway}.config(t)
			cfg.Concurrency.PerEndpoint = 100
			if rec.Name == "connection_refused" {
				rec.Plan = "refused"
			}
			r := newRig(t, cfg, 20*time.Millisecond)
			var input strings.Builder
			n := int(rec.Batch.RequestCounts.Total)
			for i := range n {
				id := fmt.Sprintf("req-%04d", i)
				input.WriteString(lineFor(id, "m1", "id="+id+";plan="+rec.Plan, nil))
			}
			r.jobs = append(r.jobs, r.create(input.String(), "1h"))
			r.run(0)

			if got := r.jobs[0].RequestCounts; got != rec.Batch.RequestCounts {
				t.Errorf("counts %+v, recorded %+v", got, rec.Batch.RequestCounts)
			}
			plan := strings.Split(rec.Plan, ",")
			initial, most := float64(cfg.InitialBackoff.Std().Milliseconds()), float64(cfg.MaxBackoff.Std().Milliseconds())
			for i, request := range rec.Requests {
				statuses, delays := r.attempts(fmt.Sprintf("req-%04d", i))
				if want := recordedAnswers(request.Statuses); !slices.Equal(statuses, want) {
					t.Fatalf("%s: answers %v, recorded %v", request.ID, statuses, want)
				}
				for j := range request.Delays {
					low, high := waitBounds(plan[min(j, len(plan)-1)], j+1, initial, most)
					// Recorded waits include a few ms of the machine's own.
					if d := request.Delays[j]; d < low-2 || d > high+25 {
						t.Errorf("%s: recorded wait %d of %v ms is outside the rule's %v to %v", request.ID, j, d, low, high)
					}
					if d := delays[j]; d < low-0.001 || d > high+0.001 {
						t.Errorf("%s: wait %d of %v ms is outside the rule's %v to %v", request.ID, j, d, low, high)
					}
				}
			}
			compareFirstLine(t, "output", rec.Output, r.resultLines(r.jobs[0].OutputFileID))
			compareFirstLine(t, "error", rec.Error, r.resultLines(r.jobs[0].ErrorFileID))
		})
	}
}

// recordedAnswers gives the answers of a recorded request.
func recordedAnswers(statuses []any) (list []string) {
	for _, s := range statuses {
		list = append(list, fmt.Sprint(s))
	}
	return list
}

// attempts lists the answers to a request and the waits between them in ms.
func (r *rig) attempts(id string) (answers []string, delays []float64) {
	var last time.Duration
	for _, row := range r.backend.Log {
		if row.ID != id {
			continue
		}
		if len(answers) > 0 {
			delays = append(delays, float64(row.Arrived-last)/1e6)
		}
		answers = append(answers, statusOf(row.Answer))
		last = row.Done
	}
	return answers, delays
}

// statusOf is what the recorded backend logged for an answer of a plan.
func statusOf(answer string) string {
	switch status, _, _ := strings.Cut(answer, "/"); status {
	case "close":
		return "closed"
	case "empty", "array", "badjson":
		return "200"
	case "text":
		return "500"
	default:
		return status
	}
}

func compareFirstLine(t *testing.T, kind string, recorded json.RawMessage, lines []openai.BatchOutput) {
	t.Helper()
	if string(recorded) == "null" {
		if len(lines) > 0 {
			t.Errorf("%s file has %d lines, recorded none", kind, len(lines))
		}
		return
	}
	var short string
	if json.Unmarshal(recorded, &short) == nil { // "(200)": the status is all that was kept
		if len(lines) == 0 || lines[0].Response == nil || fmt.Sprintf("(%d)", lines[0].Response.StatusCode) != short {
			t.Errorf("%s file: %+v, recorded %s", kind, lines, short)
		}
		return
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, recorded); err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("http://<backend>", backendURL, "<backend>", "backend:8000").Replace(compact.String())
	want := parseResults(t, text)
	want[0].CustomID = ""
	var got []openai.BatchOutput
	if len(lines) > 0 {
		got = slices.Clone(lines[:1])
		got[0].CustomID = ""
	}
	hideName(want)
	hideName(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s file, first line (- recorded, + ours):\n%s", kind, diff)
	}
}

// hideName hides which of the requests an answer is for, and sorts its keys.
func hideName(lines []openai.BatchOutput) {
	for _, line := range lines {
		if line.Response == nil {
			continue
		}
		var body any
		json.Unmarshal(line.Response.Body, &body)
		text, _ := json.Marshal(body)
		for i := range 10 {
			text = []byte(strings.ReplaceAll(string(text), fmt.Sprintf("req-%04d", i), "req"))
		}
		line.Response.Body = text
	}
}

func TestWhatIsRetried(t *testing.T) {
	cases := map[string]struct {
		end  sim.End
		want bool
	}{
		"an answer":                               {sim.End{Status: 200}, false},
		"a refusal":                               {sim.End{Status: 400}, false},
		"a request timeout said by the server":    {sim.End{Status: 408}, false},
		"too many requests":                       {sim.End{Status: 429}, true},
		"any server error":                        {sim.End{Status: 501}, true},
		"a broken connection":                     {sim.End{Status: sim.StatusNoAnswer}, true},
		"what waited too long at the router":      {sim.End{Status: 429, DroppedReason: droppedTTLExpired}, false},
		"the same with its newer status":          {sim.End{Status: 503, DroppedReason: droppedTTLExpired}, false},
		"the same reason on an unusual status":    {sim.End{Status: 500, DroppedReason: droppedTTLExpired}, true},
		"what the router evicted for its betters": {sim.End{Status: 429, DroppedReason: "evicted"}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := retryable(c.end); got != c.want {
				t.Errorf("retried: %t, expected %t", got, c.want)
			}
		})
	}
}

// staleRequest is a request whose x-slo-ttft-ms was compared with the time that was
// really left.
type staleRequest struct {
	InFlight int     `json:"in_flight"`
	Arrival  float64 `json:"arrival_after_create_request_s"`
	Stale    float64 `json:"slo_minus_true_remaining_ms"`
}

// TestTheBudgetIsStampedWhenALineIsRead compares how stale x-slo-ttft-ms is when a
// request arrives: three lines are read before they have a slot.
func TestTheBudgetIsStampedWhenALineIsRead(t *testing.T) {
	var file struct {
		Upstream []struct {
			Name     string
			Window   string `json:"completion_window"`
			Config   recordedConfig
			Requests []staleRequest
		} `json:"upstream_headers"`
	}
	readRecording(t, "headers.json", &file)
	for _, rec := range file.Upstream {
		t.Run(rec.Name, func(t *testing.T) {
			cfg := rec.Config.config(t)
			cfg.Concurrency.PerEndpoint = 1
			for _, request := range rec.Requests {
				cfg.Concurrency.PerEndpoint = max(cfg.Concurrency.PerEndpoint, request.InFlight)
			}
			latency, plan, n := 20*time.Millisecond, "200", len(rec.Requests)
			if rec.Name == "slo_on_retries" {
				plan, n = "429,429,429,200", 1
			} else {
				later := rec.Requests[cfg.Concurrency.PerEndpoint].Arrival - rec.Requests[0].Arrival
				latency = time.Duration(later * float64(time.Second)).Round(100 * time.Millisecond)
			}
			r := newRig(t, cfg, latency)
			var input strings.Builder
			for i := range n {
				input.WriteString(lineFor(fmt.Sprint(i), "m1", fmt.Sprintf("id=%d;plan=%s", i, plan), nil))
			}
			r.jobs = append(r.jobs, r.create(input.String(), rec.Window))
			r.run(0)
			deadline := r.jobs[0].deadline
			var stales []float64
			for _, row := range r.backend.Log {
				stales = append(stales, float64((row.Call.TTFTBudget - (deadline - row.Arrived)).Milliseconds()))
			}
			// Requests that were sent together arrived in any order.
			slices.SortStableFunc(rec.Requests, func(a, b staleRequest) int { return int(a.Stale - b.Stale) })
			slices.Sort(stales)
			for i, row := range r.backend.Log {
				stale, want := stales[i], rec.Requests[i].Stale
				if rec.Name == "slo_on_retries" { // stale by all that passed since the first attempt
					want = float64((row.Arrived - r.backend.Log[0].Arrived).Milliseconds())
				}
				if math.Abs(stale-want) > 30 {
					t.Errorf("request %d: the budget is %v ms too large, recorded %v", i, stale, want)
				}
				if row.Call.Objective != cfg.InferenceObjective {
					t.Errorf("objective %q, configured %q", row.Call.Objective, cfg.InferenceObjective)
				}
				if want := map[bool]string{true: DefaultTenant}[cfg.SendFairnessHeader]; row.Call.FairnessID != want {
					t.Errorf("fairness id %q, expected %q", row.Call.FairnessID, want)
				}
			}
		})
	}
}
