package conform

import (
	"strings"

	"bgbench/pkg/spec"
)

// configCheck is a configuration that the processor refused.
type configCheck struct {
	Name   string `json:"name"`
	Config struct {
		Per  int       `json:"per"`
		Glob int       `json:"glob"`
		AIMD []float64 `json:"aimd"` // min, factor, increase
	} `json:"config"`
	Exit    int    `json:"exit"`
	Message string `json:"message"`
}

func (rec configCheck) check(p place) error {
	if n := len(rec.Config.AIMD); n != 0 && n != 3 {
		return p.fault("config", "found %d numbers of aimd, expected min, factor and increase", n)
	}
	return nil
}

func (rec configCheck) replay(o *outcome) {
	cfg := plainConfig(1, 100, 1)
	cfg.Concurrency.PerEndpoint = rec.Config.Per
	if rec.Config.Glob != 0 {
		cfg.Concurrency.Global = rec.Config.Glob
	}
	if a := rec.Config.AIMD; a != nil {
		cfg.Concurrency.AIMD = spec.AIMD{Enabled: true, Min: int(a[0]), BackoffFactor: a[1], AdditiveIncrease: int(a[2])}
	}
	if strings.Contains(rec.Message, "model_gateways") {
		o.notRun = "the model has one key for both kinds of gateways, so it cannot have both"
		return
	}
	got := ""
	if err := cfg.Validate(); err != nil {
		got = err.Error()
	}
	o.want("message", got, rec.Message)
	o.want("refused", got != "", rec.Exit != 0)
}
