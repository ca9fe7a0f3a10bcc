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
	Experiment    string `json:"experiment"`     // its name
	Arm           string `json:"arm"`            // its name
	Trial         int    `json:"trial"`          // counted from 1
	Seed          int64  `json:"seed"`           // of the trial
	Target        string `json:"target"`         // model, local, kube or endpoint
	Clock         string `json:"clock"`          // wall or virtual

	// RunStartedAt is when bg-load began, ScheduleStartedAt is schedule time 0 (after
	// the lead of the batch jobs), EndedAt is after the last row.
	RunStartedAt      time.Time `json:"run_started_at"`
	ScheduleStartedAt time.Time `json:"schedule_started_at"` // schedule time 0
	EndedAt           time.Time `json:"ended_at"`            // after the last row
	Interrupted       bool      `json:"interrupted"`         // by a signal, before its end

	Shard *Shard `json:"shard,omitempty"` // of a cell that several generators played

	Profile  spec.Profile      `json:"profile"`          // resolved
	Stack    json.RawMessage   `json:"stack"`            // stack.json as it was
	Inputs   map[string]string `json:"inputs"`           // file name to SHA-256
	Host     Host              `json:"host"`             // of the load generator
	Versions map[string]string `json:"versions"`         // tool or component to version
	Client   *ClientSettings   `json:"client,omitempty"` // of a run over HTTP
	Load     LoadHealth        `json:"load"`             // the generator's verdict on itself
	Warnings []string          `json:"warnings"`         // what went wrong and did not end the run
}

// Host is the machine of the load generator.
type Host struct {
	OS   string `json:"os"`   // as Go names it
	Arch string `json:"arch"` // as Go names it
	CPUs int    `json:"cpus"` // that Go may use
}

// ClientSettings is how a run over HTTP reached its stack. A bound of 0 is none.
type ClientSettings struct {
	ConnectTimeoutS    float64  `json:"connect_timeout_s"`     // until the connection stands
	HeadersTimeoutS    float64  `json:"headers_timeout_s"`     // from the connection to the headers
	FirstTokenTimeoutS float64  `json:"first_token_timeout_s"` // from the connection to the first token
	IdleTimeoutS       float64  `json:"idle_timeout_s"`        // between two chunks with output
	MaxAnswerBytes     int64    `json:"max_answer_bytes"`      // a larger answer is a protocol error
	HTTP               string   `json:"http"`                  // 1.1 or 2
	CAFile             string   `json:"ca_file,omitempty"`     // roots beside those of the system
	Proxy              string   `json:"proxy,omitempty"`       // none unless asked for
	APIKey             bool     `json:"api_key"`               // whether there was one
	Tenant             string   `json:"tenant,omitempty"`      // that batch jobs named
	Headers            []string `json:"headers,omitempty"`     // their names
	Plain              bool     `json:"plain,omitempty"`       // whether requests had the keys of the OpenAI API alone
}
