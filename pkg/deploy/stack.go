package deploy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"bgbench/pkg/cli"
	"bgbench/pkg/jsontext"
	"bgbench/pkg/spec"
)

// Stack is the descriptor of a running (or, on target model, imagined) stack.
type Stack struct {
	SchemaVersion int      `json:"schema_version"`  // 1
	RunID         string   `json:"run_id"`          // one for each stack that was brought up
	Target        string   `json:"target"`          // model, local or kube
	Experiment    string   `json:"experiment"`      // its name
	Point         string   `json:"point,omitempty"` // whose inputs the arm replays, in a sweep over the profile
	Arm           spec.Arm `json:"arm"`             // resolved
	// Model and MaxModelLen come from the profile: they configure the engine.
	Model       string `json:"model"`
	MaxModelLen int    `json:"max_model_len"` // tokens of prompt and answer together
	Seed        int64  `json:"seed"`          // of everything random inside an emulated stack

	// Of a stack of an experiment: the trial and the profile of the inputs that it is for, and
	// what the experiment had declared when it was planned.
	Trial         int               `json:"trial,omitempty"`
	ProfileSHA256 string            `json:"profile_sha256,omitempty"` // of the profile as JSON
	Declared      *spec.Declaration `json:"declared,omitempty"`       // what verdicts rest on

	InferenceURL string     `json:"inference_url,omitempty"` // base, without /v1
	BatchURL     string     `json:"batch_url,omitempty"`     // base, without /v1; empty without a batch gateway
	Metrics      []Endpoint `json:"metrics,omitempty"`       // pages that bg-scrape asks
	Process      *Process   `json:"process,omitempty"`       // that `up` started; nil under exec and serve
	Kube         *Kube      `json:"kube,omitempty"`          // on target kube
}

// Kube says where a stack on a cluster is and what was found there.
type Kube struct {
	Context   string `json:"context"`        // of the kubeconfig
	Namespace string `json:"namespace"`      // of the cell
	Mode      string `json:"mode"`           // sim or gpu
	Pool      string `json:"pool,omitempty"` // who makes the pods of the model servers: deployment, or kserve
	// Effective is the configuration as it was read back, component by component, and
	// Images what the pods really run, by container.
	Effective map[string]string `json:"effective,omitempty"`
	// References are the images as the pods name them, by container.
	References map[string]string `json:"references,omitempty"`
	Images     map[string]string `json:"images,omitempty"`   // digests by container
	Charts     map[string]string `json:"charts,omitempty"`   // versions
	Revision   string            `json:"revision,omitempty"` // of the model
	// Notes name the keys of the arm that have no counterpart on the cluster, and charts
	// whose values could not be checked.
	Notes []string `json:"notes,omitempty"`
}

// Endpoint is a /metrics page.
type Endpoint struct {
	Source string `json:"source"` // vllm-0, router, processor, apiserver, async
	URL    string `json:"url"`    // of the page
}

const stackSchemaVersion = 1

// ReadStack reads the descriptor at path; "-" is the process's standard input. What
// is wrong with one is named with its field.
func ReadStack(path string) (Stack, error) {
	var s Stack
	in, err := cli.OpenInput(os.Stdin, path)
	if err != nil {
		return s, fmt.Errorf("reading stack: %w", err)
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err != nil {
		return s, fmt.Errorf("reading stack %s: %w", path, err)
	}
	if err := jsontext.Decode(path, data, &s); err != nil {
		return s, fmt.Errorf("reading stack: %w", err)
	}
	if err := s.validate(); err != nil {
		return s, fmt.Errorf("reading stack %s: %w", path, err)
	}
	return s, nil
}

func (s Stack) validate() error {
	switch {
	case s.SchemaVersion != stackSchemaVersion:
		return fmt.Errorf("schema_version: found %d, expected %d", s.SchemaVersion, stackSchemaVersion)
	case s.Target != spec.TargetModel && s.InferenceURL == "":
		return fmt.Errorf("inference_url: found none, expected one on target %s", s.Target)
	case s.Arm.Name == "":
		return errors.New("arm.name: found none, expected the name of an arm")
	}
	return nil
}

// Write writes the descriptor to path in one piece, so that a reader that waits
// for the file never sees half of it; "-" is the process's standard output.
func (s Stack) Write(path string) error {
	data, err := s.JSON()
	if err != nil {
		return err
	}
	return cli.WriteFile(os.Stdout, path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// JSON returns the descriptor as it stands in stack.json.
func (s Stack) JSON() ([]byte, error) {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding stack: %w", err)
	}
	return append(data, '\n'), nil
}

// remove deletes a descriptor whose stack is gone; one that is gone already is fine.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
