package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"bgbench/pkg/cli"
	"bgbench/pkg/record"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"bg-scrape": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			os.Exit(run(ctx, cli.OSEnv(), os.Args))
		},
		"rows":      func() { exitOn(printRows(os.Args[1])) },
		"sim-model": func() { exitOn(writeModelSamples()) },
		// prometheus-fake runs a command with the URL of a server that has one series.
		"prometheus-fake": func() { exitOn(withPrometheus(os.Args[1:])) },
	})
}

// TestScripts gives each script two servers and descriptors of stacks with them:
// up.json, half.json of which one endpoint is down, down.json and model.json.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			s := newStack()
			env.Defer(s.close)
			env.Values["stack"] = s
			return s.describe(env.WorkDir)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// scraped waits until the servers were asked for a second round.
			"scraped": func(ts *testscript.TestScript, _ bool, _ []string) {
				<-ts.Value("stack").(*stack).second
			},
		},
	})
}

type stack struct {
	engine, router *httptest.Server
	closed         string // a URL at which nobody answers
	second         chan struct{}
}

func newStack() *stack {
	s := &stack{second: make(chan struct{})}
	var scrapes atomic.Int64
	s.engine = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		n := scrapes.Add(1)
		fmt.Fprintf(w, "# TYPE vllm:prompt_tokens counter\nvllm:prompt_tokens_total{engine=\"0\",model_name=\"m\"} %d\n", n)
		fmt.Fprintf(w, "# TYPE vllm:gpu_cache_usage_perc gauge\nvllm:gpu_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.5\n")
		if n == 2 {
			close(s.second)
		}
	}))
	s.router = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprint(w, "# TYPE llm_d_epp_ready_endpoints gauge\nllm_d_epp_ready_endpoints{name=\"pool\"} 1\n")
	}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	s.closed = "http://" + l.Addr().String()
	l.Close()
	return s
}

func (s *stack) close() {
	s.engine.Close()
	s.router.Close()
}

func (s *stack) describe(dir string) error {
	for name, urls := range map[string][]string{
		"up": {s.engine.URL, s.router.URL}, "half": {s.engine.URL, s.closed}, "down": {s.closed, s.closed}, "model": nil, "bare": nil,
	} {
		descriptor := map[string]any{
			"schema_version": 1, "target": "local", "experiment": "e", "arm": map[string]any{"name": "s2-ungated"},
			"inference_url": s.engine.URL,
		}
		if name == "model" {
			descriptor["target"] = "model"
		}
		var metrics []map[string]string
		for i, url := range urls {
			metrics = append(metrics, map[string]string{"source": []string{"vllm-0", "router"}[i], "url": url + "/metrics"})
		}
		descriptor["metrics"] = metrics
		text, err := json.Marshal(descriptor)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name+".json"), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// withPrometheus runs a command while the API of a Prometheus server is there.
func withPrometheus(args []string) error {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		result := ""
		if query := r.FormValue("query"); query == `{__name__=~"vllm:num_requests_running",namespace="n"}[1001ms]` {
			result = `{"metric":{"__name__":"vllm:num_requests_running","namespace":"n","pod":"p"},"values":[[1.5,"3"]]}`
		}
		if r.URL.Path == "/api/v1/metadata" {
			fmt.Fprint(w, `{"status":"success","data":{}}`)
			return
		}
		fmt.Fprintf(w, `{"status":"success","warnings":["some store is down"],"data":{"resultType":"matrix","result":[%s]}}`, result)
	}))
	defer server.Close()
	cmd := exec.Command(args[0], append(args[1:], "--prometheus", server.URL)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// printRows prints the columns of samples that a script can foresee.
func printRows(path string) error {
	in := os.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		in = f
	}
	r, err := record.NewReader[record.Sample](in)
	if err != nil {
		return err
	}
	for row, err := range r.All() {
		if err != nil {
			return err
		}
		if row.Metric == "scrape_duration_seconds" {
			row.Value = 0
		}
		fmt.Println(row.Experiment, row.Arm, row.Trial, row.Source, row.Canonical, row.Labels, row.Value)
	}
	return nil
}

// writeModelSamples does what bg-load run does on target model.
func writeModelSamples() error {
	f, err := os.Create(os.Getenv("BG_MODEL_SAMPLES"))
	if err != nil {
		return err
	}
	w, err := record.NewStreamWriter[record.Sample](f, nil)
	if err != nil {
		return err
	}
	for _, metric := range []string{"z", "a"} {
		if err := w.Write(record.Sample{Experiment: "e", Arm: "s2-ungated", Trial: 1, Source: "vllm-0", Canonical: metric, Metric: metric, Labels: "{}"}); err != nil {
			return err
		}
	}
	return w.Close()
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
