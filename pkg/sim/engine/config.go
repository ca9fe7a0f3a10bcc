package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"bgbench/pkg/spec"
)

// Config is a Server.
type Config struct {
	Name      string // endpoint name, such as vllm-0
	Model     string // name under which the model is served
	Scheduler SchedulerConfig
	Cost      Cost
	// GPUMemoryUtilization is exposed in vllm:cache_config_info and changes nothing.
	GPUMemoryUtilization float64
	// RequestLatency passes before a request reaches the scheduler: HTTP, chat
	// template, tokenisation.
	RequestLatency time.Duration
	// TokenLatency passes between the end of a step and the delivery of its tokens:
	// detokenisation, SSE. It does not hold up the next step.
	TokenLatency time.Duration
}

// Latencies of vLLM's API server, from the same fit as the step time (BLIS,
// trained-physics: 15.6 ms a request, 0.046 ms a token).
const (
	requestLatency = 15 * time.Millisecond
	tokenLatency   = 50 * time.Microsecond
)

// defaultUtilization is vLLM's gpu-memory-utilization since 2026.
const defaultUtilization = 0.92

// ConfigOf resolves an arm's engine for a model. Zero values take vLLM's default;
// maxModelLen 0 takes the model's own limit.
func ConfigOf(arm spec.Engine, model string, maxModelLen int) (Config, error) {
	m, err := modelNamed(model)
	if err != nil {
		return Config{}, err
	}
	g, err := gpuNamed(arm.GPU)
	if err != nil {
		return Config{}, err
	}
	if err := check(arm, maxModelLen); err != nil {
		return Config{}, err
	}
	tp := orDefault(arm.TensorParallelSize, 1)
	shard, err := m.Shard(tp)
	if err != nil {
		return Config{}, fmt.Errorf("tensorParallelSize: %w", err)
	}
	cfg := Config{
		Name:  "vllm",
		Model: model,
		Scheduler: SchedulerConfig{
			MaxNumSeqs:           orDefault(arm.MaxNumSeqs, g.MaxNumSeqs),
			MaxNumBatchedTokens:  orDefault(arm.MaxNumBatchedTokens, g.MaxNumBatchedTokens),
			MaxModelLen:          orDefault(maxModelLen, m.MaxModelLen),
			BlockSize:            orDefault(arm.BlockSize, 16),
			NumGPUBlocks:         arm.NumGPUBlocks,
			EnablePrefixCaching:  arm.EnablePrefixCaching,
			EnableChunkedPrefill: arm.EnableChunkedPrefill,
			Priority:             arm.SchedulingPolicy == "priority",
			AsyncScheduling:      arm.AsyncScheduling,
			ReserveFullISL:       true, // vLLM's default
		},
		Cost:                 NewCost(shard, g, tp),
		GPUMemoryUtilization: orDefault(arm.GPUMemoryUtilization, defaultUtilization),
		RequestLatency:       requestLatency,
		TokenLatency:         tokenLatency,
	}
	if cfg.Scheduler.NumGPUBlocks == 0 {
		cfg.Scheduler.NumGPUBlocks, err = fit(cfg, shard, g, tp)
	}
	return cfg, err
}

// fit returns the number of KV blocks as vLLM finds it at start, which refuses to
// serve when one request of the greatest length would not fit.
func fit(cfg Config, shard Model, g GPU, tp int) (blocks int, err error) {
	tokens := kvTokens(shard, g, cfg.GPUMemoryUtilization)
	if tokens < float64(cfg.Scheduler.MaxModelLen) {
		return 0, fmt.Errorf("fitting %s on %d x %s at gpuMemoryUtilization %v: found room for %d tokens of KV cache, expected at least maxModelLen %d",
			cfg.Model, tp, g.Name, cfg.GPUMemoryUtilization, int(max(0, tokens)), cfg.Scheduler.MaxModelLen)
	}
	return int(tokens) / cfg.Scheduler.BlockSize, nil
}

func check(arm spec.Engine, maxModelLen int) error {
	for _, n := range []struct {
		name  string
		value int
	}{
		{"maxNumSeqs", arm.MaxNumSeqs},
		{"maxNumBatchedTokens", arm.MaxNumBatchedTokens},
		{"blockSize", arm.BlockSize},
		{"numGPUBlocks", arm.NumGPUBlocks},
		{"maxModelLen", maxModelLen},
	} {
		if n.value < 0 {
			return fmt.Errorf("%s: found %d, expected 0 (the default) or more", n.name, n.value)
		}
	}
	if tp := arm.TensorParallelSize; tp != 0 && !slices.Contains(spec.TensorParallelSizes(), tp) {
		return fmt.Errorf("tensorParallelSize: found %d, expected 0 (the default), 1, 2, 4 or 8", tp)
	}
	if u := arm.GPUMemoryUtilization; u < 0 || u > 1 {
		return fmt.Errorf("gpuMemoryUtilization: found %v, expected 0 (the default) to 1", u)
	}
	if p := arm.SchedulingPolicy; p != "" && p != "fcfs" && p != "priority" {
		return fmt.Errorf("schedulingPolicy: found %q, expected fcfs or priority", p)
	}
	return nil
}

func modelNamed(name string) (Model, error) {
	var known []string
	for _, m := range Models() {
		if slices.Contains(m.Names, name) {
			return m, nil
		}
		known = append(known, m.Names...)
	}
	return Model{}, fmt.Errorf("model: found %q, expected one of %s", name, strings.Join(known, ", "))
}

func gpuNamed(name string) (GPU, error) {
	var known []string
	for _, g := range GPUs() {
		if g.Name == name {
			return g, nil
		}
		known = append(known, g.Name)
	}
	return GPU{}, fmt.Errorf("gpu: found %q, expected one of %s", name, strings.Join(known, ", "))
}

func orDefault[T int | float64](value, otherwise T) T {
	if value == 0 {
		return otherwise
	}
	return value
}
