package router

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
)

// config writes an EndpointPickerConfig with flow control.
func config(detector string, more ...string) string {
	c := configHead + "featureGates: [flowControl]\nplugins:\n- type: max-score-picker\n- type: inflight-load-producer\n"
	if detector != "" {
		c += "- name: sat\n  type: concurrency-detector\n  parameters: {" + detector + "}\n"
	}
	flow := ""
	for _, m := range more {
		if strings.HasPrefix(m, "- ") {
			c += m + "\n"
		} else {
			flow += "  " + m + "\n"
		}
	}
	c += "schedulingProfiles:\n- name: default\n  plugins: [{pluginRef: max-score-picker}]\nflowControl:\n"
	if detector != "" {
		c += "  saturationDetector: {pluginRef: sat}\n"
	}
	return c + flow
}

const (
	twoBands     = "priorityBands: [{priority: 100}, {priority: -1}]"
	withEvict    = "enableEviction: true"
	withSLO      = "- type: slo-deadline-ordering-policy"
	withTurns    = "- type: round-robin-fairness-policy"
	experimental = "--allow-experimental-plugins=true"
)

func holdbackOf(params string) (plugin, section string) {
	return "- {name: lim, type: priority-holdback-policy, parameters: {" + params + "}}", "usageLimitPolicyPluginRef: lim"
}

// timeline is a recording without observations, written event by event.
type timeline struct{ recording }

func newTimeline(config string) *timeline {
	return &timeline{recording{
		Config: config, Endpoints: 1, EndMS: 1000, Flags: []string{experimental},
		Objectives: map[string]int{"interactive": 100, "standard": 0, "batch": -1, "low": -2},
	}}
}

func (l *timeline) arrive(ms float64, id, objective string, change ...func(*recordedEvent)) *timeline {
	e := recordedEvent{MS: ms, Op: "arrive", ID: id, Objective: objective}
	for _, c := range change {
		c(&e)
	}
	l.Events = append(l.Events, e)
	return l
}

func (l *timeline) do(ms float64, op, id string) *timeline {
	l.Events = append(l.Events, recordedEvent{MS: ms, Op: op, ID: id})
	return l
}

func withID(id string) func(*recordedEvent) { return func(e *recordedEvent) { e.RequestID = &id } }
func tenant(id string) func(*recordedEvent) { return func(e *recordedEvent) { e.Fairness = id } }
func promptOf(n int) func(*recordedEvent)   { return func(e *recordedEvent) { e.PromptBytes = &n } }
func slo(ms int64) func(*recordedEvent)     { return func(e *recordedEvent) { e.SLO = &ms } }
func sloText(text string) func(*recordedEvent) {
	return func(e *recordedEvent) { e.SLORaw = &text }
}
func streamed(e *recordedEvent) { e.Stream = true }

// outcomes lists what became of each request, as "id outcome", with the whole
// milliseconds of dispatches: "b1 dispatched@20".
func (l *timeline) outcomes(t *testing.T) (string, *replay) {
	t.Helper()
	p, err := play(&l.recording, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, q := range p.order {
		s := q.id + " " + q.outcome()
		switch o := q.outcome(); o {
		case "dispatched":
			s += fmt.Sprintf("@%.0f", p.ms(q.sentAt))
		case "evicted":
			s += fmt.Sprintf("@%.0f", p.ms(q.endAt))
		case "rejected":
			s += fmt.Sprintf("@%.0f %d %s", p.ms(q.endAt), q.end.Status, q.end.DroppedReason)
		}
		list = append(list, s)
	}
	return strings.Join(list, ", "), p
}

func TestRules(t *testing.T) {
	limit, useLimit := holdbackOf("minCeiling: 0")
	for _, c := range []struct {
		name     string
		timeline *timeline
		want     string
	}{
		{
			"a band whose ceiling is 0 never runs, not even on an idle pool",
			newTimeline(config("maxConcurrency: 4", twoBands, limit, useLimit)).
				arrive(0, "b", "batch").arrive(20, "s", "standard"),
			"b queued_at_end, s dispatched@20",
		},
		{
			"a deadline of 0 ms comes before one of 1 ms, an invalid one comes last",
			newTimeline(config("maxConcurrency: 1", withSLO, "priorityBands: [{priority: -1, orderingPolicyRef: slo-deadline-ordering-policy}]")).
				arrive(0, "h", "interactive").
				arrive(10, "odd", "batch", sloText("5s")).
				arrive(20, "negative", "batch", sloText("-5")).
				arrive(30, "one", "batch", slo(1)).
				arrive(30, "zero", "batch", slo(0)).
				do(100, "finish", "h").do(200, "finish", "zero").do(300, "finish", "one").do(400, "finish", "odd"),
			"h dispatched@0, odd dispatched@301, negative dispatched@401, one dispatched@201, zero dispatched@101",
		},
		{
			"round robin begins with the first id again after the band was found empty",
			newTimeline(config("maxConcurrency: 1", withTurns, "priorityBands: [{priority: -1, fairnessPolicyRef: round-robin-fairness-policy}]")).
				arrive(0, "h", "interactive").
				arrive(10, "a1", "batch", tenant("a")).arrive(20, "b1", "batch", tenant("b")).
				do(100, "finish", "h").do(150, "finish", "a1").
				do(200, "finish", "b1"). // an idle cycle with an open gate
				arrive(300, "h2", "interactive").
				arrive(310, "b2", "batch", tenant("b")).arrive(320, "a2", "batch", tenant("a")).
				do(400, "finish", "h2"),
			"h dispatched@0, a1 dispatched@101, b1 dispatched@151, h2 dispatched@300, b2 queued_at_end, a2 dispatched@401",
		},
		{
			"round robin goes on where it was while a backlog lasts",
			newTimeline(config("maxConcurrency: 1", withTurns, "priorityBands: [{priority: -1, fairnessPolicyRef: round-robin-fairness-policy}]")).
				arrive(0, "h", "interactive").
				arrive(10, "a1", "batch", tenant("a")).arrive(20, "c1", "batch", tenant("c")).
				do(100, "finish", "h").
				arrive(110, "a2", "batch", tenant("a")).arrive(120, "b1", "batch", tenant("b")).
				do(150, "finish", "a1").do(200, "finish", "b1"),
			"h dispatched@0, a1 dispatched@101, c1 dispatched@201, a2 queued_at_end, b1 dispatched@151",
		},
		{
			"dead requests keep their place until the sweep and cost a cycle each",
			newTimeline(config("maxConcurrency: 1", "defaultRequestTTL: 100ms", "priorityBands: [{priority: -1, maxRequests: 2}]")).
				arrive(0, "h", "batch").arrive(300, "b1", "batch").arrive(310, "b2", "batch").
				arrive(420, "b3", "batch"). // both have expired, the sweep is at 740 ms
				do(450, "finish", "h").arrive(500, "b4", "batch"),
			"h dispatched@0, b1 rejected@400 429 rejected-ttl-expired, b2 rejected@410 429 rejected-ttl-expired, b3 rejected@420 429 rejected-saturated, b4 dispatched@500",
		},
		{
			"without dispatches dead requests go with the sweep",
			newTimeline(config("maxConcurrency: 1", "defaultRequestTTL: 100ms", "priorityBands: [{priority: -1, maxRequests: 1}]")).
				arrive(0, "h", "batch").arrive(300, "b1", "batch").arrive(730, "b2", "batch").arrive(750, "b3", "batch"),
			"h dispatched@0, b1 rejected@400 429 rejected-ttl-expired, b2 rejected@730 429 rejected-saturated, b3 rejected@850 429 rejected-ttl-expired",
		},
		{
			"a dead request still demands evictions until the sweep",
			newTimeline(config("maxConcurrency: 1", "defaultRequestTTL: 100ms", withEvict, twoBands)).
				arrive(0, "s", "standard").
				arrive(400, "i", "interactive"). // expires at 500
				do(520, "finish", "s").
				arrive(530, "b", "batch"),
			"s dispatched@0, i rejected@500 429 rejected-ttl-expired, b dispatched@530",
		},
		{
			"the later of two running requests with one id was evicted: the earlier can't be any more",
			newTimeline(config("maxConcurrency: 2", withEvict, twoBands)).
				arrive(0, "b1", "batch", withID("dup")).arrive(20, "b2", "batch", withID("dup")).
				arrive(100, "i1", "interactive").arrive(200, "i2", "interactive"),
			"b1 dispatched@0, b2 evicted@100, i1 dispatched@101, i2 queued_at_end",
		},
		{
			"two running requests with one id leave one counted for good",
			newTimeline(config("maxConcurrency: 2", twoBands)).
				arrive(0, "b1", "batch", withID("dup")).arrive(20, "b2", "batch", withID("dup")).
				do(100, "finish", "b1").do(120, "finish", "b2").
				arrive(200, "b3", "batch").arrive(220, "b4", "batch"),
			"b1 dispatched@0, b2 dispatched@20, b3 dispatched@200, b4 queued_at_end",
		},
		{
			"of two running with one id on two endpoints the end of one ends the counts of both",
			func() *timeline {
				l := newTimeline(config("maxConcurrency: 1", twoBands))
				l.Endpoints = 2
				pin := func(i int) func(*recordedEvent) { return func(e *recordedEvent) { e.Pin = &i } }
				return l.arrive(0, "b1", "batch", withID("dup"), pin(0)).arrive(20, "b2", "batch", withID("dup"), pin(1)).
					do(100, "finish", "b1").
					arrive(200, "b3", "batch").arrive(220, "b4", "batch").arrive(240, "b5", "batch")
			}(),
			"b1 dispatched@0, b2 dispatched@20, b3 dispatched@200, b4 dispatched@220, b5 queued_at_end",
		},
		{
			"an evicted stream past its first chunk is cut, one before it gets 429",
			newTimeline(config("maxConcurrency: 2", withEvict, twoBands)).
				arrive(0, "b1", "batch", streamed).arrive(20, "b2", "batch", streamed).do(50, "first_chunk", "b2").
				arrive(100, "i1", "interactive").arrive(200, "i2", "interactive"),
			"b1 evicted@200, b2 evicted@100, i1 dispatched@101, i2 dispatched@201",
		},
		{
			"an objective that is not configured has priority 0",
			newTimeline(config("maxConcurrency: 1", "priorityBands: [{priority: 100}, {priority: -1}]")).
				arrive(0, "h", "interactive").arrive(10, "b", "batch").arrive(20, "u", "no-such-thing").
				do(100, "finish", "h").do(200, "finish", "u"),
			"h dispatched@0, b dispatched@201, u dispatched@101",
		},
		{
			"a producer under another name is not the default one: its estimate does not count",
			newTimeline(config("concurrencyMode: tokens, maxTokenConcurrency: 20",
				"- {name: mine, type: inflight-load-producer, parameters: {addEstimatedOutputTokens: true}}", twoBands)).
				arrive(0, "b1", "batch").arrive(20, "b2", "batch").arrive(40, "b3", "batch"),
			"b1 dispatched@0, b2 dispatched@20, b3 queued_at_end",
		},
		{
			"a producer that the detector names does count",
			newTimeline(config("concurrencyMode: tokens, maxTokenConcurrency: 20, inFlightLoadProducerName: mine",
				"- {name: mine, type: inflight-load-producer, parameters: {addEstimatedOutputTokens: true}}", twoBands)).
				arrive(0, "b1", "batch").arrive(20, "b2", "batch"),
			"b1 dispatched@0, b2 queued_at_end",
		},
		{
			"without data sources no metrics come in and the default detector keeps everything waiting",
			func() *timeline {
				l := newTimeline(config("", twoBands) + "dataLayer: {injectDefaults: false}\n")
				return l.arrive(300, "b", "batch")
			}(),
			"b queued_at_end",
		},
		{
			"an empty subset of candidates is a 503 without a reason",
			func() *timeline {
				one := 1
				return newTimeline(config("maxConcurrency: 1", twoBands)).arrive(0, "b", "batch", func(e *recordedEvent) { e.Pin = &one })
			}(),
			"b rejected@0 503 ",
		},
		{
			"time to live in an empty pool ends with 503",
			func() *timeline {
				l := newTimeline(config("maxConcurrency: 1", "defaultRequestTTL: 200ms", twoBands))
				l.Endpoints = 0
				return l.arrive(0, "b", "batch")
			}(),
			"b rejected@200 503 rejected-no-endpoints",
		},
		{
			"a time to live of centuries is none",
			newTimeline(config("maxConcurrency: 1", "defaultRequestTTL: 2562047h", twoBands)).
				arrive(0, "h", "batch").arrive(20, "b", "batch"),
			"h dispatched@0, b queued_at_end",
		},
		{
			"an empty prompt is a 400 before admission",
			newTimeline(config("maxConcurrency: 1", twoBands)).arrive(0, "b", "batch", promptOf(0)),
			"b rejected@0 400 ",
		},
		{
			"a soft ceiling lets the lower band in every third cycle at three quarters",
			newTimeline(config("maxConcurrency: 4", twoBands, "- {name: lim, type: soft-reflective-ceiling-policy}", "usageLimitPolicyPluginRef: lim")).
				arrive(0, "i1", "interactive").arrive(1, "i2", "interactive").arrive(2, "i3", "interactive").
				arrive(100, "b1", "batch").arrive(200, "b2", "batch"),
			"i1 dispatched@0, i2 dispatched@1, i3 dispatched@2, b1 dispatched@102, b2 queued_at_end",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, _ := c.timeline.outcomes(t); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestACutStreamEndsWithoutAnswer(t *testing.T) {
	l := newTimeline(config("maxConcurrency: 1", withEvict, twoBands)).
		arrive(0, "b", "batch", streamed).do(50, "first_chunk", "b").arrive(100, "i", "interactive")
	_, p := l.outcomes(t)
	end := p.runs["b"].end
	if end == nil || !end.Cut || end.Status != sim.StatusNoAnswer || end.DroppedReason != "" {
		t.Errorf("got %+v, want a cut connection that tells no reason", end)
	}
	if n := p.servers[0].running; n != 1 {
		t.Errorf("%d requests run on the model server, want 1: the victim is aborted there", n)
	}
}

// On Kubernetes every objective makes a band, which moves the ceilings by rank.
func TestObjectivesCreateBands(t *testing.T) {
	limit, useLimit := holdbackOf("minCeiling: 0.5")
	text := config("maxConcurrency: 12", limit, useLimit,
		"priorityBands: [{priority: 100, maxRequests: 7}]", "defaultNegativePriorityBand: {maxRequests: 3}")
	for _, c := range []struct {
		fixed bool
		want  []Ceiling
	}{
		{true, []Ceiling{{100, 1, 12}, {0, 0.5, 6}}},
		{false, []Ceiling{{100, 1, 12}, {0, 0.8333333333333334, 10}, {-1, 0.6666666666666667, 9}, {-2, 0.5, 6}}},
	} {
		r, err := New(kernel.NewVirtual(), Config{
			EndpointPicker: text,
			Flags:          Flags{AllowExperimentalPlugins: true},
			Objectives:     map[string]int{"a": 100, "b": -1, "c": -2, "d": -1},
			FixedBands:     c.fixed,
		}, []Endpoint{{Name: "e"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Ceilings(); !slices.Equal(got, c.want) {
			t.Errorf("fixed bands %v: got %v, want %v", c.fixed, got, c.want)
		}
		if !c.fixed && (r.flow.bands.find(-2).maxRequests != 3 || r.flow.bands.find(100).maxRequests != 7 || r.flow.bands.find(0).maxRequests != 5000) {
			t.Error("a band did not get the limits of its template")
		}
	}
}

// The caps of the README of the recordings: the comparison of floating-point
// numbers decides, not the ceiling of a product.
func TestCeilingsAreComparedAsFloatingPointNumbers(t *testing.T) {
	for _, c := range []struct {
		min        float64
		priorities []int
		byValue    bool
		capacity   int64
		want       []int64
	}{
		{0.3, []int{0, -1}, false, 10, []int64{10, 4}},
		{0.15, []int{0, -1}, false, 20, []int64{20, 4}},
		{0.4, []int{100, 10, 0, -1}, false, 20, []int64{20, 16, 13, 8}},
		{0.5, []int{100, 0, -1, -2}, false, 12, []int64{12, 10, 9, 6}},
		{0.5, []int{100, 0, -1, -2}, false, 6, []int64{6, 5, 5, 3}},
		{0.5, []int{100, 0, -1}, false, 32, []int64{32, 24, 16}},
		{0.75, []int{100, 0, -1}, false, 48, []int64{48, 42, 36}},
		{0.8, []int{100, 0, -1}, false, 32, []int64{32, 29, 26}},
		{0.9, []int{100, 0, -1}, false, 48, []int64{48, 46, 44}},
		{0.5, []int{100, 0, -10}, true, 20, []int64{20, 11, 10}},
		{0.25, []int{0}, false, 8, []int64{8}},
		{0, []int{0, -1}, false, 8, []int64{8, 0}},
	} {
		ceilings := make([]float64, len(c.priorities))
		holdback{byValue: c.byValue, low: c.min, high: 1}.ceilings(0, c.priorities, 0, ceilings)
		var got []int64
		for _, ceiling := range ceilings {
			got = append(got, requestsBelow(ceiling, c.capacity))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("min %v, bands %v, capacity %d: got %v, want %v", c.min, c.priorities, c.capacity, got, c.want)
		}
	}
}

func TestReclamationTakesWhatTheDeficitAsksForButTwoAtMost(t *testing.T) {
	for _, c := range []struct {
		name                string
		saturation, ceiling float64
		running, evictable  int
		want                int
	}{
		{"exactly full", 1, 1, 4, 4, 1},
		{"one over", 1.25, 1, 5, 5, 1},
		{"nine of ten small ones", 1.9, 1, 10, 9, 2},
		{"below full with a lower ceiling", 0.75, 0.75, 3, 2, 1},
		{"one evictable", 3, 1, 4, 1, 1},
		{"nothing evictable", 3, 1, 4, 0, 0},
		{"nothing counted", 0, 0, 4, 4, 0},
	} {
		if got, _ := newReclamation(leadingGrace).size(c.saturation, c.ceiling, c.running, c.evictable); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestReclamationStopsAndWaits(t *testing.T) {
	c := newReclamation(10 * ms)
	if !c.open(0) {
		t.Error("shut with nothing outstanding")
	}
	c.issued("a", 0.25, 0)
	c.issued("b", 0.25, 0)
	c.confirmed("a", 1*ms)
	if c.open(20 * ms) {
		t.Error("open while a confirmation is missing")
	}
	if issued, ok := c.confirmed("b", 30*ms); !ok || issued != 0 {
		t.Errorf("got %v, %v, want the eviction of 0", issued, ok)
	}
	if _, ok := c.confirmed("b", 31*ms); ok {
		t.Error("a confirmation counted twice")
	}
	if c.open(40*ms-1) || c.pending != 0.25 {
		t.Errorf("open before the grace is over, or pending %v, want 0.25", c.pending)
	}
	if !c.open(40*ms) || c.pending != 0 {
		t.Errorf("shut after the grace, or pending %v, want 0", c.pending)
	}
}

const ms = 1_000_000 * kernel.Time(1)

func TestTokenEstimates(t *testing.T) {
	for _, c := range []struct {
		name           string
		estimate       tokenEstimate
		prompt, client int64
		want           int64
	}{
		{"prompt alone", tokenEstimate{ratio: 1.5, maxOutput: 1 << 40}, 100, 50, 100},
		{"the ratio", tokenEstimate{true, 1.5, 1 << 40}, 11, -1, 11 + 17},
		{"the client's limit", tokenEstimate{true, 1.5, 1 << 40}, 4900, 1500, 6400},
		{"a limit of 0", tokenEstimate{true, 1.5, 1 << 40}, 10, 0, 10},
		{"the operator's limit", tokenEstimate{true, 2, 30}, 100, 50, 130},
		{"no prompt, no output", tokenEstimate{true, 2, 30}, 0, 50, 0},
	} {
		if got := c.estimate.of(c.prompt, c.client); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestHeadersUnderNewAndOldNames(t *testing.T) {
	read := func(h map[string]string) sim.Call {
		var call sim.Call
		ReadHeaders(&call, func(name string) (string, bool) { v, ok := h[name]; return v, ok })
		return call
	}
	old := map[string]string{"x-gateway-inference-objective": "o", "x-gateway-inference-fairness-id": "f", "x-slo-ttft-ms": "7"}
	if c := read(old); c.Objective != "o" || c.FairnessID != "f" || c.TTFTBudget != 7*ms {
		t.Errorf("old names: got %+v", c)
	}
	both := map[string]string{"x-llm-d-inference-objective": "O", "x-llm-d-inference-fairness-id": "F", "x-llm-d-slo-ttft-ms": " 9 "}
	maps.Copy(both, old)
	maps.Copy(both, map[string]string{"x-llm-d-inference-objective": "O"})
	if c := read(both); c.Objective != "O" || c.FairnessID != "F" || c.TTFTBudget != 9*ms {
		t.Errorf("both: got %+v, want the new names'", c)
	}
	for _, bad := range []string{"", "soon", "-1", "1.5", "9223372036854775807"} {
		if c := read(map[string]string{"x-llm-d-slo-ttft-ms": bad}); c.TTFTBudget != 0 {
			t.Errorf("%q: got %v, want no budget", bad, c.TTFTBudget)
		}
	}
}

func TestBodies(t *testing.T) {
	for _, c := range []struct {
		name, path, body string
		want             sim.Call
		fails            string
	}{
		{"a completion", "/v1/completions", `{"model":"m","prompt":"hello","max_tokens":3,"stream":true}`, sim.Call{Model: "m", PromptEstimate: 2, MaxTokens: 3, Stream: true}, ""},
		{"prompts are rounded up one by one", "/v1/completions", `{"prompt":["aaaaa","bbbbb"]}`, sim.Call{PromptEstimate: 4}, ""},
		{"token ids are counted", "/v1/completions", `{"prompt":[1,2,3]}`, sim.Call{Prompt: sim.PromptOf([]uint32{1, 2, 3})}, ""},
		{"max_tokens 0", "/v1/completions", `{"prompt":"a","max_tokens":0}`, sim.Call{PromptEstimate: 1, NoOutput: true}, ""},
		{"a limit that is none", "/v1/completions", `{"prompt":"a","max_tokens":-4}`, sim.Call{PromptEstimate: 1}, ""},
		{"chat", "/v1/chat/completions", `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text","text":"abc"}]}]}`, sim.Call{PromptEstimate: 5}, ""},
		{"chat with tools", "/v1/chat/completions", `{"messages":[{"role":"user"}],"tools":[{"a":1}]}`, sim.Call{PromptEstimate: 4}, ""},
		{"chat is the default", "", `{"messages":[{"role":"user","content":null}]}`, sim.Call{PromptEstimate: 1}, ""},
		{"the newer limit wins", "/v1/chat/completions", `{"messages":[{"role":"a"}],"max_completion_tokens":8,"max_tokens":3}`, sim.Call{PromptEstimate: 1, MaxTokens: 8}, ""},
		{"generate", "/inference/v1/generate", `{"token_ids":[1,2],"sampling_params":{"max_tokens":5}}`, sim.Call{Prompt: sim.PromptOf([]uint32{1, 2}), MaxTokens: 5}, ""},
		{"no JSON", "/v1/completions", `not json`, sim.Call{}, "error unmarshaling request bodyMap: invalid character 'o' in literal null (expecting 'u')"},
		{"no prompt", "/v1/completions", `{}`, sim.Call{}, "invalid completions request: must have prompt field"},
		{"an empty prompt", "/v1/completions", `{"prompt":""}`, sim.Call{}, "invalid completions request: must have prompt field"},
		{"mixed prompts", "/v1/completions", `{"prompt":["a",1]}`, sim.Call{}, "invalid completions request: must have prompt field"},
		{"no messages", "/v1/chat/completions", `{"messages":[]}`, sim.Call{}, "invalid chat completions request: must have valid messages field"},
		{"odd content", "/v1/chat/completions", `{"messages":[{"role":"user","content":5}]}`, sim.Call{}, "invalid chat completions request: must have valid messages field"},
		{"no ids", "/inference/v1/generate", `{"token_ids":[]}`, sim.Call{}, "invalid generate request: must have non-empty token_ids field"},
		{"ids that are none", "/inference/v1/generate", `{"token_ids":[1.5]}`, sim.Call{}, "invalid generate request: must have non-empty token_ids field"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := sim.Call{Path: c.path}
			err := ReadBody(&got, []byte(c.body))
			if c.fails != "" {
				if err == nil || err.Error() != c.fails {
					t.Errorf("got %v, want %s", err, c.fails)
				}
				return
			}
			c.want.Path, c.want.BodyBytes = c.path, len(c.body)
			if err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got  %+v, %v\nwant %+v", got, err, c.want)
			}
		})
	}
}

func FuzzReadBody(f *testing.F) {
	f.Add("/v1/completions", `{"prompt":["a"],"max_tokens":1e300}`)
	f.Add("/v1/chat/completions", `{"messages":[{"role":"user","content":[{"text":"a"}]}],"tools":[1]}`)
	f.Add("/inference/v1/generate", `{"token_ids":[4294967295],"sampling_params":{"max_tokens":0}}`)
	f.Fuzz(func(t *testing.T, path, body string) {
		call := sim.Call{Path: path}
		if err := ReadBody(&call, []byte(body)); err == nil && call.PromptEstimate == 0 && call.Prompt.Len() == 0 && call.Path == "/v1/completions" && !strings.Contains(body, `""`) {
			t.Errorf("a prompt of nothing was accepted: %s", body)
		}
		if call.PromptEstimate < 0 || call.MaxTokens < 0 {
			t.Errorf("negative counts: %+v", call)
		}
	})
}
