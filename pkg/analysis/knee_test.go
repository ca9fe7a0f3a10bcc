package analysis

import "testing"

func TestTheKneeIsWhereThroughputOverLatencyIsHighest(t *testing.T) {
	point := func(arm string, valid bool, ok, ttft float64) RatePoint {
		p := RatePoint{Arm: arm, Trial: 1, Valid: valid}
		p.Summary.OKPerS = measured(ok, 100)
		p.Summary.TTFTFromDue.P95 = measured(ttft, 100)
		return p
	}
	few := point("a", true, 30, 1)
	few.Summary.TTFTFromDue.P95 = missing(9, "p95 needs 59")
	points := []RatePoint{
		point("a", true, 5, 0.1), point("a", true, 10, 0.12), point("a", true, 12, 0.5), few,
		point("a", false, 20, 0.01), point("b", true, 1, 1),
	}
	markKnees(points)
	for i, want := range []bool{false, true, false, false, false, true} {
		if points[i].Knee != want {
			t.Errorf("point %d: knee is %v (power %s), expected %v", i, points[i].Knee, show(points[i].Power), want)
		}
	}
	if points[3].Power.Reason != "p95 needs 59" || points[4].Power.Reason != "the cell is INVALID" {
		t.Errorf("reasons %q and %q", points[3].Power.Reason, points[4].Power.Reason)
	}
}
