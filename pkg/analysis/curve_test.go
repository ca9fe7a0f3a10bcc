package analysis

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDecimate(t *testing.T) {
	long := make([][2]float64, 10_000)
	for i := range long {
		long[i] = [2]float64{float64(i), 1}
	}
	long[4321][1], long[4400][1] = 50, -50
	got := Decimate(long, 600)
	if len(got) > 600 || len(got) < 100 {
		t.Errorf("%d points, expected some hundreds and 600 at most", len(got))
	}
	if got[0] != long[0] || got[len(got)-1] != long[len(long)-1] {
		t.Error("the first or the last point is gone")
	}
	for _, peak := range [][2]float64{long[4321], long[4400]} {
		if !slices.Contains(got, peak) {
			t.Errorf("the peak %v is gone", peak)
		}
	}
	short := long[:600]
	if len(Decimate(short, 600)) != 600 {
		t.Error("a curve within the limit was changed")
	}
}

func TestDecimateLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-10, 10), 1, 200).Draw(t, "values")
		points := make([][2]float64, len(values))
		for i, v := range values {
			points[i] = [2]float64{float64(i), v}
		}
		limit := rapid.IntRange(4, 64).Draw(t, "limit")
		got := Decimate(slices.Clone(points), limit)
		if len(got) > limit {
			t.Fatalf("%d points, limit %d", len(got), limit)
		}
		for i, p := range got {
			if !slices.Contains(points, p) || i > 0 && p[0] <= got[i-1][0] {
				t.Fatalf("point %v is invented or out of order", p)
			}
		}
		byValue := func(a, b [2]float64) int { return cmp.Compare(a[1], b[1]) }
		if slices.MaxFunc(got, byValue)[1] != slices.MaxFunc(points, byValue)[1] {
			t.Fatal("the highest value is gone")
		}
		if slices.MinFunc(got, byValue)[1] != slices.MinFunc(points, byValue)[1] {
			t.Fatal("the lowest value is gone")
		}
	})
}

func TestPointsAreRounded(t *testing.T) {
	if got := point(1234567*time.Microsecond, 0.123456789); got != [2]float64{1.235, 0.123457} {
		t.Errorf("found %v", got)
	}
	if got := point(-time.Second, 1234567.8); got != [2]float64{-1, 1234570} {
		t.Errorf("found %v", got)
	}
	if got := significant(5e-324, 6); got != 5e-324 {
		t.Errorf("the smallest number became %v", got)
	}
}
