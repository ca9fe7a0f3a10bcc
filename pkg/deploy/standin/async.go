package standin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/goccy/go-yaml"

	"bgbench/pkg/sim/async"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/serve"
	"bgbench/pkg/spec"
)

// Async is the async processor with one queue, from the list of its queues.
type Async struct {
	QueuesFile   string
	Concurrency  int
	PollInterval time.Duration
	BatchSize    int
	CacheTTL     time.Duration
	MetricsPort  int
	HealthPort   int
	QueuePort    int // in the place of Redis
}

// queueFile is an entry of the list of queues (llm-d-async v0.10).
type queueFile struct {
	Name       string            `yaml:"queue_name"`
	URL        string            `yaml:"igw_base_url"`
	Objective  string            `yaml:"inference_objective"`
	GateType   string            `yaml:"gate_type"`
	GateParams map[string]string `yaml:"gate_params"`
}

// defaultRequestTimeout is llm-d-async's.
const defaultRequestTimeout = 5 * time.Minute

func (o Async) queue() (queueFile, error) {
	text, err := os.ReadFile(o.QueuesFile)
	if err != nil {
		return queueFile{}, fmt.Errorf("reading the queues: %w", err)
	}
	var list []queueFile
	if err := yaml.Unmarshal(text, &list); err != nil {
		return queueFile{}, fmt.Errorf("queues %s: %w", o.QueuesFile, err)
	}
	if len(list) != 1 {
		return queueFile{}, fmt.Errorf("queues %s: found %d, expected one", o.QueuesFile, len(list))
	}
	return list[0], nil
}

// gate reads the parameters of the queue's gate and names the page that it asks. A
// prometheus-budget asks the endpoint picker's page where upstream asks a server that
// has scraped it.
func (q queueFile) gate(ttl time.Duration) (g spec.Gate, page string, err error) {
	g = spec.Gate{Type: spec.GateConstant, CacheTTL: spec.Duration(ttl), ScrapeInterval: spec.Duration(time.Second)}
	if q.GateType == "" {
		return g, "", nil
	}
	g.Type = q.GateType
	number := func(key string) float64 {
		text, ok := q.GateParams[key]
		if !ok {
			return 0
		}
		v, parseErr := strconv.ParseFloat(text, 64)
		if parseErr != nil && err == nil {
			err = fmt.Errorf("gate_params.%s: found %q, expected a number", key, text)
		}
		return v
	}
	g.Baseline, g.Fallback = number("baseline"), number("fallback")
	g.MaxConcurrency = int(number("max_concurrency"))
	g.MaxCountPerPod = number("max_count_per_pod")
	g.Metric = q.GateParams["metric"]
	g.Endpoint = spec.EndpointRouter
	switch g.Type {
	case spec.GatePrometheusBudget:
		u, parseErr := url.Parse(q.URL)
		if parseErr != nil {
			return g, "", fmt.Errorf("igw_base_url: %w", parseErr)
		}
		page = fmt.Sprintf("http://%s:9090", u.Hostname())
	case spec.GateEndpointScrape:
		page = q.GateParams["url"]
		page = page[:max(0, len(page)-len("/metrics"))]
	default:
		return g, "", fmt.Errorf("gate_type: found %q, expected %s or %s", g.Type, spec.GatePrometheusBudget, spec.GateEndpointScrape)
	}
	return g, page, err
}

// Run serves until ctx ends.
func (o Async) Run(ctx context.Context) error {
	queue, err := o.queue()
	if err != nil {
		return err
	}
	gate, from, err := queue.gate(o.CacheTTL)
	if err != nil {
		return fmt.Errorf("queues %s: %w", o.QueuesFile, err)
	}
	k := kernel.NewWall()
	config := async.Config{
		Async: spec.Async{
			Concurrency: o.Concurrency, PollInterval: spec.Duration(o.PollInterval), BatchSize: o.BatchSize,
			RequestTimeout: spec.Duration(defaultRequestTimeout), Gate: gate,
		},
		Objective: queue.Objective,
		Pool:      queue.GateParams["pool"],
		Seed:      time.Now().UnixNano(),
	}
	if from != "" {
		config.Targets = []async.Target{{Name: spec.EndpointRouter, Registry: newPages(ctx).of(from)}}
	}
	p := async.New(k, config, serve.Remote{K: k, URL: queue.URL, Client: client()})
	mux := http.NewServeMux()
	mux.Handle("POST /messages", queueHandler(k, p))
	health := http.NewServeMux()
	health.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	health.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	return process{k, []port{
		{o.QueuePort, mux}, {o.MetricsPort, serve.MetricsHandler(k, p.Metrics())}, {o.HealthPort, health},
	}}.run(ctx)
}
