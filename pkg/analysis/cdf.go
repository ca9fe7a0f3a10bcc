package analysis

// CDFs are the distributions of a phase for drawing, by metric (ttft, itl, tpot, e2e).
type CDFs map[string][][2]float64

// Points of a curve: as many at equal distances in rank, and the tail, which a log axis
// stretches, halved as often as it can be.
const (
	cdfEven = 48
	cdfTail = 6
)

// cdf returns [value, share of total that is at most as long] in rising order. total
// counts those for which it never happened too, so that the curve ends below 1 there.
// Every point is a value that was measured.
func cdf(values ordered, total int) [][2]float64 {
	n := values.len()
	points := [][2]float64{}
	last := -1
	add := func(rank int) {
		if rank > last {
			points = append(points, [2]float64{significant(values.at(rank), 5), significant(float64(rank+1)/float64(total), 5)})
			last = rank
		}
	}
	if n == 0 {
		return points
	}
	for i := range cdfEven {
		add(i * (n - 1) / cdfEven)
	}
	for left := n / cdfEven; left > 0 && len(points) < cdfEven+cdfTail; left /= 2 {
		add(n - 1 - left)
	}
	add(n - 1)
	return points
}
