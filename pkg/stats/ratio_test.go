package stats

import (
	"math"
	"testing"
)

// A bound at the level lies on the line that the test at 1 − level just reaches.
func TestOneSidedPValuesBelongToTheirBounds(t *testing.T) {
	r := NewLogRatio([]float64{.342, .350, .338}, []float64{.561, .548, .570})
	if p := r.NonInferiorityP(r.UpperBound(0.95) - 1); math.Abs(p-0.05) > 1e-9 {
		t.Errorf("at the upper bound p is %g, expected 0.05", p)
	}
	if p := r.InferiorityP(r.LowerBound(0.95) - 1); math.Abs(p-0.05) > 1e-9 {
		t.Errorf("at the lower bound p is %g, expected 0.05", p)
	}
	if sum := r.NonInferiorityP(0.6) + r.InferiorityP(0.6); math.Abs(sum-1) > 1e-12 {
		t.Errorf("the two tests of a line have p-values that add up to %g, expected 1", sum)
	}
}
