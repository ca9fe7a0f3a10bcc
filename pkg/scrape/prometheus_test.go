package scrape

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bgbench/pkg/deploy"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// startPrometheus runs a real server that scrapes the given pages every 200 ms and
// returns its URL.
func startPrometheus(t *testing.T, pages []deploy.Endpoint) string {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("there is no prometheus on the PATH: install Debian's package prometheus")
	}
	dir := t.TempDir()
	var targets []string
	for _, p := range pages {
		targets = append(targets, strings.TrimSuffix(strings.TrimPrefix(p.URL, "http://"), "/metrics"))
	}
	config := fmt.Sprintf("global: {scrape_interval: 200ms, scrape_timeout: 200ms}\nscrape_configs:\n"+
		"- job_name: stack\n  static_configs:\n  - targets: ['%s']\n    labels: {namespace: bench}\n", strings.Join(targets, "', '"))
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	cmd := exec.Command(program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--web.console.templates="+dir, "--web.console.libraries="+dir,
		"--enable-feature=native-histograms", "--log.level=warn")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Log(stderr.String())
		}
	})
	// It finds its targets some 5 seconds after it began.
	up := fmt.Sprintf("http://%s/api/v1/query?query=count(up==1)==%d", address, len(pages))
	eventually(t, "Prometheus scrapes the stack", func() bool { return strings.Contains(getText(up), `"value":`) })
	return "http://" + address
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// getText returns the body of an answer, empty if there is none.
func getText(url string) string {
	answer, err := http.Get(url)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body) // half a body does not hold what is looked for
	return string(text)
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline, tick := time.After(30*time.Second), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("after 30 s still not: %s", what)
		case <-tick.C:
		}
	}
}

// startLocal serves an emulated stack with everything in it on loopback.
func startLocal(t *testing.T) deploy.Stack {
	t.Helper()
	plan, err := deploy.Plan(deploy.Request{Experiment: "batch-gateway-ci", Arm: "s4-flow-control-aimd", Target: spec.TargetLocal, Trial: 1})
	if err != nil {
		t.Fatal(err)
	}
	local, err := deploy.ListenLocal(plan, "127.0.0.1", 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- local.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return local.Stack()
}

// chat sends requests until ctx is done.
func chat(ctx context.Context, stack deploy.Stack) {
	body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"one two three"}],"max_tokens":20,"stream":true}`, stack.Model)
	for ctx.Err() == nil {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, stack.InferenceURL+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			return
		}
		request.Header.Set("Content-Type", "application/json")
		if answer, err := http.DefaultClient.Do(request); err == nil {
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
	}
}

// seriesOfRun is a series without what a server adds.
type seriesOfRun struct{ source, metric, labels string }

// bySeriesOf groups rows and drops the labels that Prometheus gives its targets.
func bySeriesOf(t *testing.T, rows []record.Sample) map[seriesOfRun][]record.Sample {
	t.Helper()
	out := make(map[seriesOfRun][]record.Sample)
	for _, row := range rows {
		var labels map[string]string
		if err := json.Unmarshal([]byte(row.Labels), &labels); err != nil {
			t.Fatal(err)
		}
		for name, value := range labels {
			switch { // a label without a value is none to a server
			case name == "job" || name == "instance" || name == "namespace" || name == "exported_namespace" || value == "":
				delete(labels, name)
			}
		}
		key := seriesOfRun{row.Source, row.Metric, fmt.Sprint(labels)}
		out[key] = append(out[key], row)
	}
	return out
}

func TestRunAndRangeAgreeOnTheSameWindow(t *testing.T) {
	stack := startLocal(t)
	server := startPrometheus(t, stack.Metrics)

	loading, stopLoad := context.WithCancel(t.Context())
	var load sync.WaitGroup
	for range 3 {
		load.Go(func() { chat(loading, stack) })
	}
	scraping, stop := context.WithCancel(t.Context())
	rounds := make(map[string]int)
	var ours []record.Sample
	base := record.Sample{Experiment: "e", Arm: stack.Arm.Name, Trial: 1}
	var endpoints []Endpoint
	for _, e := range stack.Metrics {
		endpoints = append(endpoints, Endpoint{e.Source, e.URL})
	}
	start := time.Now()
	_, err := Run(scraping, Config{
		Endpoints: endpoints, Interval: 200 * time.Millisecond, Client: http.DefaultClient, Base: base, MustAnswer: true,
		Write: func(rows []record.Sample) error {
			for _, row := range rows {
				if row.Metric == "up" {
					rounds[row.Source]++
				}
			}
			ours = append(ours, rows...)
			switch rounds["vllm-0"] {
			case 15:
				stopLoad()
				load.Wait()
			case 25: // both have seen the stack at rest
				stop()
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	end := time.Now()

	filter := Filter{Namespace: "bench"}
	all, err := filter.Match(`{job="stack"}`)
	if err != nil {
		t.Fatal(err)
	}
	cfg := RangeConfig{
		URL: server, Client: http.DefaultClient, Start: start, End: end,
		Step: time.Second, Chunk: 900 * time.Millisecond, Base: base, Sources: sources(stack),
	}
	ask := func(selectors []Selector, queries ...Query) (rows []record.Sample) {
		cfg.Selectors, cfg.Queries = selectors, queries
		cfg.Write = func(some []record.Sample) error { rows = append(rows, some...); return nil }
		report, err := Range(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, warning := range report.Warnings {
			t.Errorf("warning: %s", warning)
		}
		return rows
	}
	theirs := ask([]Selector{all})
	var wanted []Selector
	for _, q := range Wanted(stack.Arm) {
		wanted = append(wanted, filter.Selector(q))
	}
	agree(t, bySeriesOf(t, ours), bySeriesOf(t, theirs))
	if rows := ask(wanted); len(rows) < 1000 || len(rows) >= len(theirs) {
		t.Errorf("found %d rows of what the report needs, expected less than all %d", len(rows), len(theirs))
	}
	for _, row := range ask(nil, Query{"running", "sum(vllm:num_requests_running)"}) {
		if row.Metric != "running" || row.Type != "derived" || row.At.Sub(start.Truncate(time.Millisecond))%time.Second != 0 {
			t.Errorf("found %+v", row)
		}
	}
	nobody := Filter{Namespace: "another"}
	cfg.Selectors, cfg.Queries = []Selector{nobody.Selector(Quantity{"vllm:num_requests_running", true})}, nil
	cfg.Write = func([]record.Sample) error { t.Error("samples of another namespace"); return nil }
	if report, err := Range(t.Context(), cfg); err != nil || len(report.Warnings) != 1 || !strings.Contains(report.Warnings[0], "no samples of vllm:num_requests_running") {
		t.Errorf("found %v and %v, expected a warning that there is none", report, err)
	}
}

// agree holds what a scraper of ours saw against what a Prometheus server has: the same
// series under the same names and types, the same at rest, and counters at no instant
// outside what the scrapes around it say.
func agree(t *testing.T, ours, theirs map[seriesOfRun][]record.Sample) {
	t.Helper()
	compared, counters := 0, 0
	for key, our := range ours {
		their := theirs[key]
		if strings.HasPrefix(key.metric, "bg_scrape_") || key.metric == "up" || strings.HasPrefix(key.metric, "scrape_") {
			continue
		}
		if len(their) == 0 {
			t.Errorf("%v: the server has none", key)
			continue
		}
		compared++
		a, b := our[len(our)-1], their[len(their)-1]
		if a.Value != b.Value || a.Canonical != b.Canonical || a.Type != b.Type {
			t.Errorf("%v at rest: found %s %s %v and at the server %s %s %v", key, a.Canonical, a.Type, a.Value, b.Canonical, b.Type, b.Value)
		}
		if a.Type != "counter" {
			continue
		}
		for _, s := range their {
			counters++
			before, after := bracket(our, s.At)
			if s.Value < before || s.Value > after {
				t.Errorf("%v: the server has %v, the scrapes around it %v and %v", key, s.Value, before, after)
			}
		}
	}
	if compared < 100 || counters < 100 {
		t.Errorf("compared %d series and %d samples of counters, expected more", compared, counters)
	}
}

// bracket returns the values that were known a moment before and after an instant. A
// scrape takes a moment on either side.
func bracket(rows []record.Sample, at time.Time) (before, after float64) {
	const moment = 100 * time.Millisecond
	before, after = 0, rows[len(rows)-1].Value
	for _, row := range rows {
		if row.At.Before(at.Add(-moment)) {
			before = row.Value
		}
	}
	for _, row := range slices.Backward(rows) {
		if row.At.After(at.Add(moment)) {
			after = row.Value
		}
	}
	return before, after
}
