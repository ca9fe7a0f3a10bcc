package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Declaration is what verdicts rest on and what must be said before the first cell runs: a
// margin that is chosen, an arm that is dropped or trials that are added once the numbers
// are known can make any verdict come out. Every stack carries it, and with it every cell.
type Declaration struct {
	Trials    int               `json:"trials"`              // of each arm
	Baseline  string            `json:"baseline"`            // arm that the others are compared with
	Baselines map[string]string `json:"baselines,omitempty"` // by point, in a sweep over the profile
	Margin    float64           `json:"margin"`              // non-inferiority margin as a ratio
	Arms      []string          `json:"arms"`                // their comparisons are one family
	Chains    []Chain           `json:"chains,omitempty"`    // compared step by step
}

// Declaration is that of the experiment.
func (e Experiment) Declaration() Declaration {
	d := Declaration{Trials: e.Trials, Baseline: e.Baseline, Margin: e.Margin, Arms: []string{}, Chains: e.Chains}
	for _, a := range e.Arms {
		d.Arms = append(d.Arms, a.Name)
	}
	for _, p := range e.Points {
		if d.Baselines == nil {
			d.Baselines = map[string]string{}
		}
		d.Baselines[p.Name] = p.Baseline
	}
	return d
}

// Digest is the SHA-256 of the profile as JSON: two profiles with one digest ask for the
// same, but for the names of files that may have changed meanwhile.
func (p Profile) Digest() (string, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("profile %s: %w", p.Name, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
