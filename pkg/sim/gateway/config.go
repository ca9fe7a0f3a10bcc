package gateway

import (
	"fmt"
	"time"

	"bgbench/pkg/batchfile"
	"bgbench/pkg/spec"
)

// Config is the configuration of apiserver and processor. The zero value of every
// field but Gateway means the upstream default.
type Config struct {
	spec.Gateway
	// EndpointURL is the URL of the inference gateway. It only appears in the label
	// endpoint of the AIMD metrics and in the text of transport errors.
	EndpointURL string
	// ModelGateways replaces the one inference gateway for all models by one for
	// each listed model: a line with another model ends as model_not_found.
	ModelGateways []ModelGateway
	// SendFairnessHeader adds the tenant as fairness id to each request.
	SendFairnessHeader bool
	TenantHeader       string // default X-MaaS-Username
	// PassThroughHeaders are the headers of the request that creates a batch which each
	// of its inference requests carries as well; nil means the default.
	PassThroughHeaders []string
	Limits             Limits
	// Async is the queue that lines go to with dispatch async; nil sends them to the
	// inference gateway.
	Async Queue
	// KeepBody gives each call the body of its line, for an inference gateway that is
	// reached over a socket.
	KeepBody bool
	Seed     int64 // of ids, retry jitter and the order of models
	// LimitChanged hears of every change of an endpoint's AIMD limit, as the
	// processor's log does; nil when nobody listens.
	LimitChanged func(url string, before, after int, signal string)
	// SlotFirst lets the request that waits for a slot have it before the limit
	// falls. Upstream returns the slot first, and at one of 17 recorded signals the
	// waiter was quick enough; where this is nil the limit always falls first.
	SlotFirst func() bool
	// NewID makes the ids of files (prefix file_), batches (batch_) and lines
	// (batch_req_). It is random UUIDs unless a replay needs the recorded ones.
	NewID func(prefix string) string
}

// ModelGateway is one entry of the processor's modelGateways. Entries with one URL
// share one client, and so one semaphore and one AIMD controller.
// Without a URL it is Config.EndpointURL.
type ModelGateway struct{ Model, URL string }

// Limits bound an upload.
type Limits struct {
	MaxSizeBytes int64 // default 200 MiB
	MaxLineCount int   // default 50,000
}

// Upstream defaults (llm-d batch gateway, apiserver and processor configuration).
const (
	DefaultTenant       = "default"
	defaultTenantHeader = "X-MaaS-Username"
	defaultEndpointURL  = "http://inference-gateway"
	// defaultRequestTimeout is the HTTP client's when requestTimeout is 0.
	defaultRequestTimeout = 5 * time.Minute
	defaultPollInterval   = 5 * time.Second
)

// defaultPassThrough is the apiserver's batch_api.pass_through_headers.
var defaultPassThrough = []string{"Authorization", "X-MaaS-Group"}

func (c *Config) fillDefaults() {
	if c.PassThroughHeaders == nil {
		c.PassThroughHeaders = defaultPassThrough
	}
	if c.TenantHeader == "" {
		c.TenantHeader = defaultTenantHeader
	}
	if c.EndpointURL == "" {
		c.EndpointURL = defaultEndpointURL
	}
	for i := range c.ModelGateways {
		if c.ModelGateways[i].URL == "" {
			c.ModelGateways[i].URL = c.EndpointURL
		}
	}
	if c.Limits.MaxSizeBytes == 0 {
		c.Limits.MaxSizeBytes = batchfile.MaxBytes
	}
	if c.Limits.MaxLineCount == 0 {
		c.Limits.MaxLineCount = batchfile.MaxLines
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = spec.Duration(defaultRequestTimeout)
	}
	if c.PollInterval == 0 {
		c.PollInterval = spec.Duration(defaultPollInterval)
	}
	if c.NumWorkers == 0 {
		c.NumWorkers = 1
	}
}

// Validate reports the first configuration that the processor refuses to start
// with, in its words.
func (c *Config) Validate() error {
	cc := c.Concurrency
	switch {
	case cc.Global <= 0:
		return fmt.Errorf("concurrency.global must be > 0, got %d", cc.Global)
	case cc.PerEndpoint <= 0:
		return fmt.Errorf("concurrency.per_endpoint must be > 0, got %d", cc.PerEndpoint)
	case cc.PerEndpoint > cc.Global:
		return fmt.Errorf("concurrency.per_endpoint (%d) must be <= concurrency.global (%d)", cc.PerEndpoint, cc.Global)
	case !cc.AIMD.Enabled:
		return nil
	case cc.AIMD.Min <= 0:
		return fmt.Errorf("concurrency.aimd.min must be > 0, got %d", cc.AIMD.Min)
	case cc.AIMD.Min > cc.PerEndpoint:
		return fmt.Errorf("concurrency.aimd.min (%d) must be <= concurrency.per_endpoint (%d)", cc.AIMD.Min, cc.PerEndpoint)
	case cc.AIMD.BackoffFactor <= 0 || cc.AIMD.BackoffFactor >= 1:
		return fmt.Errorf("concurrency.aimd.backoff_factor must be in (0, 1), got %f", cc.AIMD.BackoffFactor)
	case cc.AIMD.AdditiveIncrease <= 0:
		return fmt.Errorf("concurrency.aimd.additive_increase must be > 0, got %d", cc.AIMD.AdditiveIncrease)
	}
	return nil
}
