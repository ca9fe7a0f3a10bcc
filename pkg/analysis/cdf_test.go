package analysis

import "testing"

// counting is 1, 2, 3, … n.
type counting int

func (c counting) len() int         { return int(c) }
func (c counting) at(i int) float64 { return float64(i + 1) }
func (c counting) sum() float64     { return float64(c) * float64(c+1) / 2 }

func TestCDFIsMadeOfValuesAndTheirRanks(t *testing.T) {
	for _, c := range []struct {
		name     string
		n, total int
		points   int
	}{
		{"nothing has no points", 0, 0, 0},
		{"one value is one point", 1, 1, 1},
		{"a few values are all there", 20, 20, 20},
		{"many are decimated", 100_000, 100_000, cdfEven + cdfTail + 1},
		{"the curve ends below 1 where some never came", 90, 100, cdfEven + 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := cdf(counting(c.n), c.total)
			if len(got) != c.points {
				t.Fatalf("%d points, want %d: %v", len(got), c.points, got)
			}
			for i, p := range got {
				if want := significant(p[0]/float64(c.total), 5); p[1] != want {
					t.Errorf("point %d: %v of %d values are at most %v, found the share %v", i, p[0], c.total, p[0], p[1])
				}
				if i > 0 && p[0] <= got[i-1][0] {
					t.Errorf("point %d is not above the one before: %v", i, got)
				}
			}
			if c.n > 0 && (got[0][0] != 1 || got[len(got)-1][0] != float64(c.n)) {
				t.Errorf("from %v to %v, want the smallest and the largest value", got[0], got[len(got)-1])
			}
		})
	}
}
