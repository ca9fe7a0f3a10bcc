package record

import (
	"encoding/json"
	"time"

	"bgbench/pkg/spec"
)

// Metadata is run-metadata.json: what a cell was and how the run itself went. No
// secret ever goes in.
type Metadata struct {
	SchemaVersion int    `json:"schema_version"` // 1
	Experiment    string `json:"experiment"`
	Arm           string `json:"arm"`
	Trial         int    `json:"trial"`
	Seed          int64  `json:"seed"`
	Target        string `json:"target"`
	Clock         string `json:"clock"` // wall or virtual

	// RunStartedAt is when bg-load began, ScheduleStartedAt is schedule time 0 (after
	// the lead of the batch jobs), EndedAt is after the last row.
	RunStartedAt      time.Time `json:"run_started_at"`
	ScheduleStartedAt time.Time `json:"schedule_started_at"`
	EndedAt           time.Time `json:"ended_at"`
	Interrupted       bool      `json:"interrupted"`

	Shard *Shard `json:"shard,omitempty"` // of a cell that several generators played

	Profile  spec.Profile      `json:"profile"`
	Stack    json.RawMessage   `json:"stack"`  // stack.json as it was
	Inputs   map[string]string `json:"inputs"` // file name to SHA-256
	Host     Host              `json:"host"`
	Versions map[string]string `json:"versions"`         // tool or component to version
	Client   *ClientSettings   `json:"client,omitempty"` // of a run over HTTP
	Load     LoadHealth        `json:"load"`
	Warnings []string          `json:"warnings"`
}

// Host is the machine of the load generator.
type Host struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
}

// ClientSettings is how a run over HTTP reached its stack. A bound of 0 is none.
type ClientSettings struct {
	ConnectTimeoutS    float64  `json:"connect_timeout_s"`
	HeadersTimeoutS    float64  `json:"headers_timeout_s"`
	FirstTokenTimeoutS float64  `json:"first_token_timeout_s"`
	IdleTimeoutS       float64  `json:"idle_timeout_s"`
	MaxAnswerBytes     int64    `json:"max_answer_bytes"`
	HTTP               string   `json:"http"` // 1.1 or 2
	CAFile             string   `json:"ca_file,omitempty"`
	Proxy              string   `json:"proxy,omitempty"`
	APIKey             bool     `json:"api_key"` // whether there was one
	Tenant             string   `json:"tenant,omitempty"`
	Headers            []string `json:"headers,omitempty"` // their names
}
