package interop

import (
	"strings"

	"bgbench/pkg/stats"
)

// warnOfTails says which percentiles of a file so few requests cannot bound; other
// tools print them all the same.
func (s *source) warnOfTails(run Run) {
	if run.Requests.OK == nil {
		return
	}
	n := *run.Requests.OK
	var beyond []string
	for _, p := range []float64{90, 95, 99, 99.9} {
		name := percentileName(p)
		reported := false
		for _, m := range run.Metrics {
			if _, ok := m.Percentiles[name]; ok && m.From == FromFile && m.Counts == countRequests {
				reported = true
			}
		}
		if reported && n < stats.MinimumN(p/100, level) {
			beyond = append(beyond, name)
		}
	}
	if len(beyond) > 0 {
		s.warn("%s: %s of %d requests are about the largest value seen and bound nothing (p95 needs %d, p99 %d)",
			run.Name, strings.Join(beyond, ", "), n, stats.MinimumN(.95, level), stats.MinimumN(.99, level))
	}
}
