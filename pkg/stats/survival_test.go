package stats

import (
	"testing"
)

// Remission in weeks of 21 patients on 6-MP (Freireich et al. 1963; Gehan 1965). The
// estimates are those of Kleinbaum and Klein, Survival Analysis, table 2.3, and the
// interval at week 10 that of R survfit(conf.type = "log-log").
func TestKaplanMeierOfRemissions(t *testing.T) {
	times := []float64{6, 6, 6, 7, 10, 13, 16, 22, 23, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35}
	happened := make([]bool, len(times))
	for i := range 9 {
		happened[i] = true
	}
	s := KaplanMeier(times, happened)
	for at, want := range map[float64]float64{
		5.9: 1, 6: .8571, 7: .8067, 9: .8067, 10: .7529, 13: .6902, 16: .6275, 22: .5378, 23: .4482, 34: .4482,
	} {
		near(t, "share", s.At(at), want, 5e-5)
	}
	in, ok := s.Interval(10, 0.95)
	if !ok {
		t.Fatal("no interval at week 10")
	}
	near(t, "low", in.Low, .5032, 5e-4)
	near(t, "high", in.High, .8894, 5e-4)
	if median, ok := s.Quantile(0.5); !ok || median != 23 {
		t.Errorf("the median is %v, %v, expected 23", median, ok)
	}
	if q, ok := s.Quantile(0.6); ok {
		t.Errorf("60 %% happened by %v, expected that nobody saw it", q)
	}
	if _, ok := s.Interval(36, 0.95); ok {
		t.Error("there is an interval for a week that nobody watched")
	}
}

// R survfit(Surv(time, status) ~ x, data = aml) of package survival: the maintained group.
func TestKaplanMeierOfMaintenance(t *testing.T) {
	s := KaplanMeier(
		[]float64{9, 13, 13, 18, 23, 28, 31, 34, 45, 48, 161},
		[]bool{true, true, false, true, true, false, true, true, false, true, false})
	for at, want := range map[float64]float64{9: .909, 13: .818, 18: .716, 23: .614, 31: .491, 34: .368, 48: .184} {
		near(t, "share", s.At(at), want, 5e-4)
	}
	if median, ok := s.Quantile(0.5); !ok || median != 31 {
		t.Errorf("the median is %v, %v, expected 31", median, ok)
	}
}

func TestKaplanMeierWithoutCensoringIsTheEmpiricalDistribution(t *testing.T) {
	s := KaplanMeier([]float64{4, 1, 3, 2}, []bool{true, true, true, true})
	for at, want := range map[float64]float64{0: 1, 1: .75, 2.5: .5, 3: .25, 4: 0} {
		near(t, "share", s.At(at), want, 1e-12)
	}
	for p, want := range map[float64]float64{0.25: 1, 0.5: 2, 1: 4} {
		if got, ok := s.Quantile(p); !ok || got != want {
			t.Errorf("the %v quantile is %v, %v, expected %v", p, got, ok, want)
		}
	}
}

func TestKaplanMeierOfWhatNeverHappened(t *testing.T) {
	s := KaplanMeier([]float64{1, 2}, []bool{false, false})
	if s.At(5) != 1 {
		t.Errorf("the share is %v, expected 1", s.At(5))
	}
	if _, ok := s.Quantile(0.01); ok {
		t.Error("a quantile was seen")
	}
}
