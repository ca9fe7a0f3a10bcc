package analysis

import (
	"testing"
	"time"

	"bgbench/pkg/spec"
)

func TestVerdictsLookAtTheInteractivePhases(t *testing.T) {
	phase := func(name, class string, rate float64, atOnce int) spec.Phase {
		return spec.Phase{Name: name, Class: class, Rate: rate, AtOnce: atOnce, Duration: spec.Duration(10 * time.Second)}
	}
	const chat, standard = spec.ClassInteractive, spec.ClassStandard
	for name, test := range map[string]struct {
		phases      []spec.Phase
		burst, idle string
	}{
		"the highest and the lowest rate":       {[]spec.Phase{phase("a", chat, 1, 0), phase("b", chat, 15, 0), phase("c", chat, 2, 0)}, "b", "a"},
		"requests at once are a rate":           {[]spec.Phase{phase("a", chat, 2, 0), phase("b", chat, 0, 32), phase("c", chat, 1, 0)}, "b", "c"},
		"the first of several":                  {[]spec.Phase{phase("a", chat, 1, 0), phase("b", chat, 1, 0)}, "a", "a"},
		"standard phases do not count":          {[]spec.Phase{phase("a", standard, 50, 0), phase("b", chat, 2, 0), phase("c", standard, 0, 1)}, "b", "b"},
		"unless the schedule has no other ones": {[]spec.Phase{phase("a", standard, 1, 0), phase("b", standard, 2, 0)}, "b", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			in := spec.Interactive{Phases: test.phases}
			if burst, idle := BurstPhase(in), IdlePhase(in); burst != test.burst || idle != test.idle {
				t.Errorf("found %s and %s, want %s and %s", burst, idle, test.burst, test.idle)
			}
		})
	}
}
