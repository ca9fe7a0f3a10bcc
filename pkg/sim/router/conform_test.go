package router

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The cases were recorded from llm-d's endpoint picker v0.10.0 (commit 71f4f0999)
// driven over ext_proc, at least three runs each. The model matches all of them.
func eachCase(t *testing.T, test func(t *testing.T, text []byte)) {
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 239 {
		t.Fatalf("found %d cases, expected 239 and more", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			test(t, text)
		})
	}
}

func TestTheModelBehavesAsTheRecordedRouter(t *testing.T) {
	eachCase(t, func(t *testing.T, text []byte) {
		diffs, err := Conform(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range diffs {
			t.Error(d)
		}
	})
}

// With the lag one freed slot lets in two requests now and then, as it does in the
// real router: later times shift and the last waiters may run, but the order stays.
func TestTheDispatchLagDoesNotChangeTheOrder(t *testing.T) {
	eachCase(t, func(t *testing.T, text []byte) {
		c, err := decodeRecording(text)
		if err != nil {
			t.Fatal(err)
		}
		if c.Startup != nil || len(c.Ranges) > 0 {
			return
		}
		for seed := range int64(5) {
			p, err := play(c, DefaultDispatchLag, seed)
			if err != nil {
				t.Fatal(err)
			}
			recorded := slices.Concat(c.DispatchOrder...)
			var got []*run
			for _, q := range p.dispatches() {
				if slices.Contains(recorded, q.id) {
					got = append(got, q)
				}
			}
			v := comparison{c: c, p: p}
			v.order("dispatch_order", c.DispatchOrder, got)
			for _, d := range v.diffs {
				t.Errorf("seed %d: %s", seed, d)
			}
		}
	})
}

func TestBurstsOvershootUnderEverySeedAsRecorded(t *testing.T) {
	overshot := 0
	eachCase(t, func(t *testing.T, text []byte) {
		c, err := decodeRecording(text)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Ranges) == 0 {
			return
		}
		for seed := range int64(40) {
			p, err := play(c, DefaultDispatchLag, seed)
			if err != nil {
				t.Fatal(err)
			}
			v := comparison{c: c, p: p}
			v.burst()
			for _, d := range v.diffs {
				t.Errorf("seed %d: %s", seed, d)
			}
			if strings.HasPrefix(c.Name, "burst-cap") && p.r.settings.detector.saturation(p.k.Now(), p.r.candidates) > 1 {
				overshot++
			}
		}
	})
	if overshot == 0 {
		t.Error("no burst went over its limit, which every other one does")
	}
}

func TestWithoutLagABurstFillsItsLimitExactly(t *testing.T) {
	text, err := os.ReadFile("testdata/cases/burst-cap4-n32-ep1.json")
	if err != nil {
		t.Fatal(err)
	}
	c, err := decodeRecording(text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := play(c, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(p.dispatches()); n != 4 {
		t.Errorf("%d of a limit of 4 were dispatched", n)
	}
}

// A mistake in any field must be noticed where it was made.
func TestConformFindsWhatDiffers(t *testing.T) {
	for _, c := range []struct{ file, old, new, want string }{
		{"req-cap2-ep2", `{"id": "b5", "outcome": "queued_at_end"`, `{"id": "b5", "outcome": "dispatched"`, "b5: outcome"},
		{"req-cap2-ep2", `"outcome": "dispatched", "t_ms": 63.1`, `"outcome": "dispatched", "t_ms": 93.1`, "b4: dispatched"},
		{"req-cap2-ep2", `[["b1"], ["b2"], `, `[["b2"], ["b1"], `, "dispatch_order"},
		{"req-cap2-ep2", `[["b1"], ["b2"], ["b3"], ["b4"]]`, `[["b1"], ["b2"], ["b3"]]`, "dispatch_order"},
		{"req-cap2-ep2", `{"id": "b3", "outcome": "dispatched", "t_ms": 42.6},`, ``, "b3"},
		{"req-cap2-ep2", `"label": "full", "metrics": {"flow_control_pool_saturation": 1,`, `"label": "full", "metrics": {"flow_control_pool_saturation": 0.5,`, "sample at 120 ms: flow_control_pool_saturation{}"},
		{"req-cap2-ep2", `"inflight_requests": {"e0": [1, 2], "e1": [2, 3]}`, `"inflight_requests": {"e0": [1, 2], "e1": [1, 1]}`, "inflight_requests{}"},
		{"maxreq-band", `"http_status": 429`, `"http_status": 503`, "b4: status"},
		{"maxreq-band", `"dropped_reason": "rejected-saturated"`, `"dropped_reason": ""`, "b4: dropped reason"},
		{"maxreq-band", `queue at capacity`, `queue is full`, "b4: body"},
		{"ev-exactly-full", `"evict_order": [["b4"]]`, `"evict_order": [["b3"]]`, "evict_order"},
		{"ev-exactly-full", `"flow_control_revocations_issued_total": {"100": 1}`, `"flow_control_revocations_issued_total": {"0": 1}`, "flow_control_revocations_issued_total{0}"},
		{"ev-tokens-useless-victim", `"after_first_chunk": true`, `"after_first_chunk": false`, "after the first chunk"},
		{"filter-util-avoids-busy", `"endpoint": "e1"`, `"endpoint": "e0"`, "endpoint"},
		{"abort-queued", `"outcome": "aborted", "t_ms": 120.5`, `"outcome": "aborted", "t_ms": 12.5`, "b2: aborted"},
		{"prio-4bands", `[["h"], ["i1"]`, `[["i1"], ["h"]`, "dispatch_order"},
		{"burst-cap4-n32-ep1", `"dispatched": [4, 18]`, `"dispatched": [20, 32]`, "seed 1: dispatched"},
		{"ev-pacing-8-demands", `"evict_gap_ms": [0.5, 11.7]`, `"evict_gap_ms": [0.5, 1.5]`, "gap to the eviction before"},
		{"legacy-burst-batch-32", `system saturated`, `system busy`, "answer"},
		{"start-valid", `"exits": false`, `"exits": true`, "start"},
		{"start-maxconc-0", `"exits": true`, `"exits": false`, "start"},
	} {
		t.Run(c.file+" "+c.want, func(t *testing.T) {
			text, err := os.ReadFile("testdata/cases/" + c.file + ".json")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), c.old) {
				t.Fatalf("the case does not hold %s", c.old)
			}
			diffs, err := Conform([]byte(strings.ReplaceAll(string(text), c.old, c.new)))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(diffs, func(d Difference) bool { return strings.Contains(d.What, c.want) }) {
				t.Errorf("got %v, want something about %q", diffs, c.want)
			}
		})
	}
}

func TestWhatIsNoCaseIsAnError(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                               "cannot unmarshal array",
		`{"name": "x"}`:                    `reading router case "x": config: found none`,
		`{"config": "c", "foo": 1}`:        `unknown field "foo"`,
		`{"config": "c", "endpoints": -1}`: "endpoints: found -1, expected 0 to 64",
		`{"config": "c", "end_ms": 1e99}`:  "end_ms: found 1e+99",
		`{"config": "c", "epp_flags": ["--refresh-metrics-interval=soon"]}`: "epp_flags: --refresh-metrics-interval=soon",
		`{"config": "c", "epp_flags": ["--refresh-metrics-interval=1ns"]}`:  "expected 1ms or more",
		`{"config": "c", "events": [{"op": "metrics", "mode": "odd"}]}`:     `events[0]: mode: found "odd"`,
		`{"config": "c", "events": [{"op": "arrive", "t_ms": 1e9}]}`:        "events[0]: t_ms",
		`{"config": "c", "events": [{"op": "endpoints"}]}`:                  "events[0]: n: expected 0 to 64",
		`{"config": "c", "events": [{"op": "arrive", "count": 100001}]}`:    "events[0]: more than 10000 requests",
		`{"config": "c", "events": [{"op": "arrive", "prompt_bytes": -1}]}`: "events[0]: count, prompt_tokens, prompt_bytes",
		`{"config": "c", "events": [{"op": "arrive", "pin": -1}]}`:          "events[0]: pin, endpoint",
		`{"config": "c", "observed": [{"id": "a", "outcome": "lost"}]}`:     `observed[0]: outcome: found "lost"`,
		`{"config": "c", "ranges": {"dispatched": [1]}}`:                    "ranges: dispatched: found 1 numbers, expected 2",
	} {
		if _, err := Conform([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func FuzzConform(f *testing.F) {
	for _, name := range []string{"req-cap2-ep2", "ev-exactly-full", "ut-stale-hang", "start-valid", "burst-cap4-n32-ep1"} {
		text, err := os.ReadFile("testdata/cases/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if diffs, err := Conform(text); err != nil && diffs != nil {
			t.Errorf("both differences and an error: %v", err)
		}
	})
}
