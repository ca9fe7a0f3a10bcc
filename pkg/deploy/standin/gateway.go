package standin

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"time"

	"github.com/goccy/go-yaml"

	"bgbench/pkg/sim/gateway"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/serve"
	"bgbench/pkg/spec"
)

// Gateway is apiserver and processor in one process, from the processor's configuration
// file. The apiserver's pod is a Front before it.
type Gateway struct {
	ConfigFile  string
	QueueURL    string // of the async processor, with dispatch_mode async
	APIPort     int
	APIMetrics  int
	MetricsPort int // of the processor
}

// processorFile has the keys of the processor's configuration that the emulation knows
// (llm-d batch gateway v0.6); the others are about its stores.
type processorFile struct {
	NumWorkers   int    `yaml:"num_workers"`
	PollInterval string `yaml:"poll_interval"`
	TaskWaitTime string `yaml:"task_wait_time"`
	DispatchMode string `yaml:"dispatch_mode"`
	Concurrency  struct {
		Global      int `yaml:"global"`
		PerEndpoint int `yaml:"per_endpoint"`
		AIMD        struct {
			Enabled          bool    `yaml:"enabled"`
			Min              int     `yaml:"min"`
			BackoffFactor    float64 `yaml:"backoff_factor"`
			AdditiveIncrease int     `yaml:"additive_increase"`
		} `yaml:"aimd"`
	} `yaml:"concurrency"`
	Global        *gatewayFile           `yaml:"global_inference_gateway"`
	ModelGateways map[string]gatewayFile `yaml:"model_gateways"`
	Async         struct {
		Models map[string]struct {
			Objective string `yaml:"inference_objective"`
		} `yaml:"models"`
	} `yaml:"async_dispatch"`
}

type gatewayFile struct {
	URL            string `yaml:"url"`
	Objective      string `yaml:"inference_objective"`
	RequestTimeout string `yaml:"request_timeout"`
	MaxRetries     int    `yaml:"max_retries"`
	InitialBackoff string `yaml:"initial_backoff"`
	MaxBackoff     string `yaml:"max_backoff"`
}

// config reads the file.
func (o Gateway) config() (c gateway.Config, target string, err error) {
	text, err := os.ReadFile(o.ConfigFile)
	if err != nil {
		return c, "", fmt.Errorf("reading the processor's configuration: %w", err)
	}
	var f processorFile
	if err := yaml.Unmarshal(text, &f); err != nil {
		return c, "", fmt.Errorf("processor's configuration %s: %w", o.ConfigFile, err)
	}
	c.Quirks = spec.ObservedQuirks()
	c.KeepBody = true
	c.NumWorkers = f.NumWorkers
	c.Concurrency = spec.Concurrency{Global: f.Concurrency.Global, PerEndpoint: f.Concurrency.PerEndpoint, AIMD: spec.AIMD(f.Concurrency.AIMD)}
	read := durations{file: o.ConfigFile}
	c.PollInterval = read.of("poll_interval", f.PollInterval)
	c.TaskWaitTime = read.of("task_wait_time", f.TaskWaitTime)
	g := f.Global
	for model, m := range f.ModelGateways {
		c.ModelGateways = append(c.ModelGateways, gateway.ModelGateway{Model: model, URL: m.URL})
		g = &m
	}
	for model, m := range f.Async.Models {
		if f.DispatchMode == spec.DispatchAsync {
			c.ModelGateways = append(c.ModelGateways, gateway.ModelGateway{Model: model})
			c.InferenceObjective = m.Objective
		}
	}
	if g != nil {
		target = g.URL
		c.EndpointURL = g.URL
		c.InferenceObjective = g.Objective
		c.RequestTimeout = read.of("request_timeout", g.RequestTimeout)
		c.MaxRetries = g.MaxRetries
		c.InitialBackoff = read.of("initial_backoff", g.InitialBackoff)
		c.MaxBackoff = read.of("max_backoff", g.MaxBackoff)
	}
	if read.err != nil {
		return c, "", read.err
	}
	if g == nil && f.DispatchMode != spec.DispatchAsync {
		return c, "", fmt.Errorf("processor's configuration %s: found neither global_inference_gateway nor model_gateways", o.ConfigFile)
	}
	if f.DispatchMode == spec.DispatchAsync {
		c.Concurrency.AIMD.Enabled = false // the queue has neither semaphores nor AIMD
	}
	return c, target, c.Validate()
}

// durations reads durations and keeps the first error.
type durations struct {
	file string
	err  error
}

func (d *durations) of(key, text string) spec.Duration {
	v, err := time.ParseDuration(text)
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("processor's configuration %s: %s: %w", d.file, key, err)
	}
	return spec.Duration(v)
}

// Run serves until ctx ends.
func (o Gateway) Run(ctx context.Context) error {
	config, target, err := o.config()
	if err != nil {
		return err
	}
	k := kernel.NewWall()
	if target == "" {
		config.Async = newRemoteQueue(k, o.QueueURL)
	}
	config.Seed = time.Now().UnixNano()
	g := gateway.New(k, config, serve.Remote{K: k, URL: target, Client: client()})
	return process{k, []port{
		{o.APIPort, serve.BatchHandler(k, g)},
		{o.APIMetrics, serve.ObservabilityHandler(k, g.APIServer())},
		{o.MetricsPort, serve.ObservabilityHandler(k, g.Processor())},
	}}.run(ctx)
}

// Front stands in the apiserver's place and hands every request on to the Gateway.
type Front struct {
	Host                string // of the Gateway
	APIPort, APIMetrics int
}

// Run serves until ctx ends.
func (f Front) Run(ctx context.Context) error {
	to := func(port int) http.Handler {
		return httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: fmt.Sprintf("%s:%d", f.Host, port)})
	}
	return process{kernel.NewWall(), []port{{f.APIPort, to(f.APIPort)}, {f.APIMetrics, to(f.APIMetrics)}}}.run(ctx)
}
