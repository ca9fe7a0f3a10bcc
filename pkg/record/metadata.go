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

	Profile  spec.Profile      `json:"profile"`
	Stack    json.RawMessage   `json:"stack"`  // stack.json as it was
	Inputs   map[string]string `json:"inputs"` // file name to SHA-256
	Host     Host              `json:"host"`
	Versions map[string]string `json:"versions"` // tool or component to version
	Load     LoadHealth        `json:"load"`
	Warnings []string          `json:"warnings"`
}

// Host is the machine of the load generator.
type Host struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
}

// LoadHealth is the load generator's verdict on itself.
type LoadHealth struct {
	Due          int     `json:"due"`  // requests in the schedule
	Sent         int     `json:"sent"` // of those, sent
	LatenessP50S float64 `json:"lateness_p50_s"`
	LatenessP99S float64 `json:"lateness_p99_s"`
	LatenessMaxS float64 `json:"lateness_max_s"`
	CPUSeconds   float64 `json:"cpu_s"`
	WallSeconds  float64 `json:"wall_s"`
	// SimulatedSeconds is the length of the run on the virtual clock, 0 on the wall clock.
	SimulatedSeconds float64 `json:"simulated_s"`
}
