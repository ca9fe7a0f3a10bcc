package analysis

// markKnees finds, for each arm, class and trial, the point of the curve of throughput
// against latency at which power, requests that ended ok a second over their p95 TTFT from
// the due time, is highest (Kleinrock 1979): beyond it a higher rate costs more latency
// than it brings requests. It is the best of the rates that were tried.
func markKnees(points []RatePoint) {
	type curve struct {
		arm, class string
		trial      int
	}
	best := make(map[curve]int)
	for i := range points {
		p := &points[i]
		p.Power = powerOf(p.Summary)
		if !p.Valid {
			p.Power = missing(p.Power.N, "the cell is INVALID")
		}
		if p.Power.Value == nil {
			continue
		}
		of := curve{p.Arm, p.Summary.Class, p.Trial}
		if at, ok := best[of]; !ok || *p.Power.Value > *points[at].Power.Value {
			best[of] = i
		}
	}
	for _, at := range best {
		points[at].Knee = true
	}
}

func powerOf(s PhaseSummary) Value {
	switch latency := s.TTFTFromDue.P95; {
	case s.OKPerS.Value == nil:
		return s.OKPerS
	case latency.Value == nil:
		return latency
	case *latency.Value <= 0:
		return missing(latency.N, "the latency is 0")
	default:
		return measured(*s.OKPerS.Value / *latency.Value, latency.N)
	}
}
