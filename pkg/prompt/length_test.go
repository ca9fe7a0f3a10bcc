package prompt

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"bgbench/pkg/random"
	"bgbench/pkg/spec"
)

func sampling(d spec.Distribution, seed int64) sampler {
	s, err := newSampler(d, random.Stream(seed, "test"))
	if err != nil {
		panic(err)
	}
	return s
}

func draw(d spec.Distribution, seed int64, n int) Tally {
	s := sampling(d, seed)
	var t Tally
	for range n {
		tokens, clipped := s.next()
		t.add(tokens, clipped, false)
	}
	return t
}

// phi is the distribution function of the standard normal.
func phi(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// clippedLognormal returns the moments of a log-normal with arithmetic mean m and
// deviation s that was clipped to [low, high], in closed form: the partial moments
// of a log-normal are normal distribution functions.
func clippedLognormal(m, s, low, high float64) (mean, sd, clipped float64) {
	variance := math.Log(1 + s*s/(m*m))
	mu, sigma := math.Log(m)-variance/2, math.Sqrt(variance)
	a, b := (math.Log(low)-mu)/sigma, (math.Log(high)-mu)/sigma
	below, above := phi(a), 1-phi(b)
	first := m*(phi(b-sigma)-phi(a-sigma)) + low*below + high*above
	second := math.Exp(2*mu+2*variance)*(phi(b-2*sigma)-phi(a-2*sigma)) + low*low*below + high*high*above
	return first, math.Sqrt(second - first*first), below + above
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s: found %.4f, want %.4f ± %.4f", what, got, want, tolerance)
	}
}

// The figures in the names were computed in closed form for inference-perf's
// sample_from_distribution; rejection in place of clipping would give 1339 and 826.
func TestLognormalHasInferencePerfsMoments(t *testing.T) {
	for name, test := range map[string]struct {
		d                         spec.Distribution
		mean, sd, clipped         float64
		tolerance, shareTolerance float64
	}{
		"1500 and 1200 in 10 to 4096 come out as 1442.5 and 964.8, 3.75 % clipped": {
			spec.Distribution{Type: spec.Lognormal, Mean: 1500, SD: 1200, Min: 10, Max: 4096}, 1442.5, 964.8, 0.0375, 5, 0.001,
		},
		"500 and 400 in 10 to 2048 come out as 494.3 and 366.3, 0.9 % clipped": {
			spec.Distribution{Type: spec.Lognormal, Mean: 500, SD: 400, Min: 10, Max: 2048}, 494.3, 366.3, 0.009, 2, 0.0006,
		},
	} {
		t.Run(name, func(t *testing.T) {
			mean, sd, clipped := clippedLognormal(test.d.Mean, test.d.SD, float64(test.d.Min), float64(test.d.Max))
			near(t, "closed form of the mean", mean, test.mean, 0.1)
			near(t, "closed form of the deviation", sd, test.sd, 0.1)
			near(t, "closed form of the share", clipped, test.clipped, 0.0005)
			got := draw(test.d, 42, 400_000)
			near(t, "mean", got.Realised().Mean, mean, test.tolerance)
			near(t, "deviation", got.Realised().SD, sd, test.tolerance)
			near(t, "clipped share", got.ClippedShare(), clipped, test.shareTolerance)
		})
	}
}

func TestNormalIsClippedNotRejected(t *testing.T) {
	// 10.7 % of a normal(1500, 1200) lie below 10, and stay as 10.
	d := spec.Distribution{Type: spec.Normal, Mean: 1500, SD: 1200, Min: 10, Max: 4096}
	s := sampling(d, 42)
	const n = 200_000
	atMin := 0
	for range n {
		if tokens, _ := s.next(); tokens == 10 {
			atMin++
		}
	}
	near(t, "share at the minimum", float64(atMin)/n, 0.107, 0.003)
}

func TestUniformReachesBothEndsEqually(t *testing.T) {
	d := spec.Distribution{Type: spec.Uniform, Min: 3, Max: 12}
	got := draw(d, 42, 100_000)
	if got.Min != 3 || got.Max != 12 || got.Clipped != 0 {
		t.Errorf("found %d to %d, %d clipped", got.Min, got.Max, got.Clipped)
	}
	want := sampling(d, 1).requested()
	near(t, "requested deviation", want.SD, math.Sqrt(99.0/12), 1e-12)
	near(t, "mean", got.Realised().Mean, want.Mean, 0.05)
	near(t, "deviation", got.Realised().SD, want.SD, 0.05)
}

func TestFixedIsFixed(t *testing.T) {
	got := draw(spec.Distribution{Type: spec.Fixed, Mean: 64, Min: 1, Max: 100}, 42, 10)
	if want := (Moments{64, 0}); got.Realised() != want || got.Min != 64 || got.Max != 64 {
		t.Errorf("found %+v", got)
	}
}

func TestHalvesRoundToEven(t *testing.T) {
	s := sampler{d: spec.Distribution{Min: 1, Max: 100}}
	for x, want := range map[float64]int{2.5: 2, 3.5: 4, 2.51: 3, 0.2: 1, 100.4: 100} {
		if got, _ := s.clip(x); got != want {
			t.Errorf("%g becomes %d, want %d", x, got, want)
		}
	}
}

func TestTalliesMergeAsIfTheyWereOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(rapid.IntRange(1, 5000)).Draw(t, "values")
		cut := rapid.IntRange(0, len(values)).Draw(t, "cut")
		var whole, left, right Tally
		for i, v := range values {
			clipped := v%3 == 0
			whole.add(v, clipped, !clipped)
			if i < cut {
				left.add(v, clipped, !clipped)
			} else {
				right.add(v, clipped, !clipped)
			}
		}
		left.Merge(right)
		a, b := whole.Realised(), left.Realised()
		if math.Abs(a.Mean-b.Mean) > 1e-6 || math.Abs(a.SD-b.SD) > 1e-6 {
			t.Fatalf("merged %+v, whole %+v", b, a)
		}
		whole.mean, whole.m2, left.mean, left.m2 = 0, 0, 0, 0
		if whole != left {
			t.Fatalf("merged %+v, whole %+v", left, whole)
		}
	})
}

func TestNothingDrawnHasNoShare(t *testing.T) {
	var none Tally
	if none.ClippedShare() != 0 || none.CappedShare() != 0 || none.Realised() != (Moments{}) {
		t.Errorf("an empty tally has shares or moments: %+v", none)
	}
}
