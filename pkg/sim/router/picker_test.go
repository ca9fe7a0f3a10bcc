package router

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"bgbench/pkg/random"
	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
)

// pool makes endpoints with pages and requests in flight.
func pool(pages []Page, requests ...int64) []*endpoint {
	var list []*endpoint
	for i, p := range pages {
		e := newEndpoint(Endpoint{Name: fmt.Sprint(i)}, 1)
		e.read(p, 0)
		if i < len(requests) {
			e.loads[0].requests = requests[i]
			e.loads[0].tokens = 10 * requests[i]
		}
		list = append(list, e)
	}
	return list
}

func TestScores(t *testing.T) {
	pages := []Page{{Waiting: 0, Running: 4, KVUsage: 0.1}, {Waiting: 3, Running: 2, KVUsage: 0.9}, {Waiting: 6, Running: 2, KVUsage: 0}}
	for _, c := range []struct {
		name   string
		scorer scorer
		want   []float64
	}{
		{"queues relative to each other", queueScorer{}, []float64{1, 0.5, 0}},
		{"running requests relative to each other", runningScorer{}, []float64{0, 1, 1}},
		{"free KV cache", kvScorer{}, []float64{0.9, 0.1, 1}},
		{"queues against a threshold", loadAwareScorer(4), []float64{0.5, 0.125, 0}},
		{"requests in flight", activeRequestScorer{maxBusy: 1}, []float64{0, 0.75, 1}},
		{"requests in flight with idle ones and a limit", activeRequestScorer{idle: 1, maxBusy: 0.5}, []float64{0, 1, 1}},
		{"tokens in flight and this request's", tokenLoadScorer{threshold: 100}, []float64{0.55, 0.85, 0.95}},
	} {
		got := make([]float64, 3)
		c.scorer.score(pool(pages, 4, 1, 0), []int64{5}, got)
		for i := range got {
			if diff := got[i] - c.want[i]; diff > 1e-12 || diff < -1e-12 {
				t.Errorf("%s: got %v, want %v", c.name, got, c.want)
				break
			}
		}
	}
	got := make([]float64, 2)
	if (queueScorer{}).score(pool([]Page{{Waiting: 2}, {Waiting: 2}}), nil, got); !slices.Equal(got, []float64{1, 1}) {
		t.Errorf("equal queues: got %v, want 1 for all", got)
	}
}

func TestPicks(t *testing.T) {
	pages := []Page{{Waiting: 5}, {Waiting: 0}, {Waiting: 0}}
	counts := func(s profileSettings) (n [3]int, forced int) {
		p := profile{profileSettings: s, rng: rand.New(random.Stream(1, "test"))}
		endpoints := pool(pages)
		for range 3000 {
			e, f := p.pick(0, endpoints, nil)
			n[slices.Index(endpoints, e)]++
			if f {
				forced++
			}
		}
		return n, forced
	}
	queues := []weightedScorer{{queueScorer{}, 2}}
	if n, forced := counts(profileSettings{picker: maxScoreType, scorers: queues}); n[0] != 0 || n[1] < 1300 || n[2] < 1300 || forced != 0 {
		t.Errorf("max score: got %v, want a fair draw between the two best", n)
	}
	if n, _ := counts(profileSettings{picker: randomPickerType, scorers: queues}); min(n[0], n[1], n[2]) < 850 {
		t.Errorf("random: got %v, want a fair draw", n)
	}
	if n, _ := counts(profileSettings{picker: weightedRandomType, scorers: []weightedScorer{{kvScorer{}, 1}, {queueScorer{}, 3}}}); n[0] < 250 || n[0] > 450 {
		t.Errorf("weighted random: got %v, want one ninth for the first", n)
	}
	if n, _ := counts(profileSettings{picker: weightedRandomType}); min(n[0], n[1], n[2]) < 850 {
		t.Errorf("weighted random without scores: got %v, want a fair draw", n)
	}
	if n, forced := counts(profileSettings{picker: maxScoreType, scorers: []weightedScorer{{queueScorer{}, 1}, {loadAwareScorer(5), -4}}}); n[0] != 3000 || forced != 3000 {
		t.Errorf("a negative weight: got %v, forced %d, want the busiest", n, forced)
	}
}

func TestSaturation(t *testing.T) {
	full, idle := Page{Waiting: 5}, Page{}
	for _, c := range []struct {
		name     string
		detector detector
		pool     []*endpoint
		now      kernel.Time
		want     float64
	}{
		{"an empty pool is full", concurrencyDetector{mode: modeRequests, maxRequests: 4, maxTokens: 1}, nil, 0, 1},
		{"an empty pool is full by metrics, too", utilizationDetector{}, nil, 0, 1},
		{"requests over the pool", concurrencyDetector{mode: modeRequests, maxRequests: 4, maxTokens: 1}, pool([]Page{idle, idle}, 3, 1), 0, 0.5},
		{"more than full", concurrencyDetector{mode: modeRequests, maxRequests: 2, maxTokens: 1}, pool([]Page{idle}, 3), 0, 1.5},
		{"tokens over the pool", concurrencyDetector{mode: modeTokens, maxRequests: 1, maxTokens: 100}, pool([]Page{idle, idle}, 3, 1), 0, 0.2},
		{"the mean of the fuller dimensions", concurrencyDetector{mode: modeHybrid, maxRequests: 4, maxTokens: 20}, pool([]Page{idle, idle}, 3, 1), 0, (1.5 + 0.5) / 2},
		{"the mean of queue and KV ratios", utilizationDetector{queueDepth: 5, kvUsage: 0.8, staleAfter: 200 * ms}, pool([]Page{full, {KVUsage: 0.4}}), 0, 0.75},
		{"fresh at the threshold", utilizationDetector{queueDepth: 5, kvUsage: 0.8, staleAfter: 200 * ms}, pool([]Page{idle}), 200 * ms, 0},
		{"stale after it", utilizationDetector{queueDepth: 5, kvUsage: 0.8, staleAfter: 200 * ms}, pool([]Page{idle, idle}), 200*ms + 1, 1},
	} {
		if got := c.detector.saturation(c.now, c.pool); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestPagesThatLackFamiliesKeepWhatWasRead(t *testing.T) {
	e := newEndpoint(Endpoint{}, 0)
	e.read(Page{Failed: true}, 1)
	e.read(Page{Hung: true}, 2)
	e.read(Page{NoWaiting: true, NoRunning: true, NoKVUsage: true}, 3)
	if e.ever {
		t.Error("a page without anything counts as read")
	}
	e.read(Page{Waiting: 3, Running: 2, KVUsage: 0.5}, 4)
	e.read(Page{NoWaiting: true, NoRunning: true, KVUsage: 0.6}, 5)
	e.read(Page{NoKVUsage: true, Waiting: 4, Running: 1}, 6)
	if want := (Page{Waiting: 4, Running: 1, KVUsage: 0.6, NoKVUsage: true}); e.page != want || e.updated != 6 {
		t.Errorf("got %+v of %v, want %+v of 6", e.page, e.updated, want)
	}
}

// When nothing is in flight nothing changes, so the router looks at nothing.
func TestAnIdleRouterHasNoEvents(t *testing.T) {
	k := kernel.NewVirtual()
	s := &server{k: k}
	scrapes := 0
	r, err := New(k, Config{EndpointPicker: configHead + "featureGates: [flowControl]\nplugins:\n- type: queue-scorer\nschedulingProfiles:\n- name: default\n  plugins: [{pluginRef: queue-scorer}]\n"},
		[]Endpoint{{Name: "a", Backend: s, Scrape: func() Page { scrapes++; return Page{Waiting: 1} }}})
	if err != nil {
		t.Fatal(err)
	}
	client := &client{k: k, call: &sim.Call{ID: "x", Prompt: sim.PromptOf(make([]uint32, 4)), MaxTokens: 120}}
	k.At(10_000*ms+30*ms, func() {
		r.Submit(client.call, client)
		if e := r.live[0]; !e.ever || e.updated != 10_000*ms {
			t.Errorf("the page was read at %v, want as of the last scrape before, 10s", e.updated)
		}
	})
	if err := k.Run(context.Background()); !errors.Is(err, kernel.ErrDeadlock) {
		t.Fatal(err)
	}
	if client.ends != 1 || client.end.Status != 200 {
		t.Errorf("got %d ends, %+v", client.ends, client.end)
	}
	// One look on arrival, and one each 50 ms until the one that finds nobody left.
	if scrapes != 4 {
		t.Errorf("%d scrapes, want 4", scrapes)
	}
}
