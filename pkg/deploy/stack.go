package deploy

import (
	"time"

	"bgbench/pkg/spec"
)

// Stack is the descriptor of a running (or, on target model, imagined) stack.
type Stack struct {
	SchemaVersion int      `json:"schema_version"` // 1
	RunID         string   `json:"run_id"`
	Target        string   `json:"target"`
	Experiment    string   `json:"experiment"`
	Arm           spec.Arm `json:"arm"` // resolved
	// Model and MaxModelLen come from the profile: they configure the engine.
	Model       string `json:"model"`
	MaxModelLen int    `json:"max_model_len"`

	InferenceURL string     `json:"inference_url,omitempty"` // base, without /v1
	BatchURL     string     `json:"batch_url,omitempty"`     // base, without /v1; empty without a batch gateway
	Metrics      []Endpoint `json:"metrics,omitempty"`
	Process      *Process   `json:"process,omitempty"`
}

// Endpoint is a /metrics page.
type Endpoint struct {
	Source string `json:"source"` // vllm-0, router, processor, apiserver
	URL    string `json:"url"`
}

// Process identifies a process beyond its number, which the system reuses.
type Process struct {
	PID int `json:"pid"`
	// StartTicks is the kernel's start time of the process (field 22 of
	// /proc/PID/stat), so that down never ends a stranger.
	StartTicks uint64    `json:"start_ticks"`
	StartedAt  time.Time `json:"started_at"`
	LogFile    string    `json:"log_file"`
}
