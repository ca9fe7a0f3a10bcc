package conform

import (
	"math"
)

// modelOrder is which model came first in jobs with two.
type modelOrder struct {
	Note  string   `json:"note"`
	First []string `json:"first_model"`
}

func (rec *modelOrder) check(p place) error {
	for i, model := range rec.First {
		if model != "m1" && model != "m2" {
			return p.fault("first_model", "found %q at %d, expected m1 or m2", model, i)
		}
	}
	if len(rec.First) == 0 {
		return p.fault("first_model", "found none, expected one a job")
	}
	return nil
}

// replay holds the share of m1 against that of many draws: it must not be one that the
// rule makes unlikely (four standard deviations).
func (rec *modelOrder) replay(o *outcome) {
	const jobs = 64
	first := 0
	for seed := range jobs {
		cfg := plainConfig(1, 100, 1)
		cfg.Seed = int64(seed)
		r := newRig(o, cfg, 0)
		r.create(mixedModels("A", 6, []string{"m1", "m2"}), "1h", nil)
		r.run(0)
		models := ""
		for _, row := range r.backend.Log {
			models += row.Call.Model
		}
		switch models {
		case "m1m1m1m2m2m2":
			first++
		case "m2m2m2m1m1m1":
		default:
			o.differ("the models of job %d came as %s, want one after the other", seed, models)
		}
	}
	recorded := 0
	for _, model := range rec.First {
		if model == "m1" {
			recorded++
		}
	}
	share, n := float64(first)/jobs, float64(len(rec.First))
	if got := float64(recorded) / n; math.Abs(got-share) > 4*math.Sqrt(share*(1-share)/n) {
		o.differ("jobs that began with m1: got %.0f %%, want %.0f %%", 100*share, 100*got)
	}
}
