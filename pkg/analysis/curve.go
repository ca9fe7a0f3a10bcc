package analysis

import (
	"maps"
	"math"
	"slices"
	"time"
)

// curveUnits names the series that are kept over time, by canonical name.
var curveUnits = map[string]string{
	metricRunning:    "requests",
	metricWaiting:    "requests",
	metricKVUsage:    "ratio",
	metricAIMDLimit:  "requests",
	metricSaturation: "ratio",
	metricQueueSize:  "requests",
	metricBudget:     "ratio",

	metricAIMDDecreases: UnitCount, // cumulative, as the next two
	metricAIMDIncreases: UnitCount,
	metricEvictions:     UnitCount,
	metricProcessor:     "requests",
	metricAsync:         "requests",
}

// jobsSource is the source of curves that come from the polls of the jobs.
const jobsSource = "jobs"

// maxPoints bounds a curve: about one point a pixel of a chart.
const maxPoints = 600

// curves draws the progress of the jobs and the series of the servers.
func (c *cell) curves() []Curve {
	out := []Curve{}
	for _, h := range c.jobs {
		points := make([][2]float64, len(h.seen))
		for i, o := range h.seen {
			points[i] = point(o.at.Sub(c.start), float64(o.completed))
		}
		out = append(out, Curve{Name: "job:" + h.name, Source: jobsSource, Unit: "requests", Points: Decimate(points, maxPoints)})
	}

	for _, name := range slices.Sorted(maps.Keys(curveUnits)) {
		tracks := c.tracks(name)
		for _, t := range tracks {
			points := make([][2]float64, len(t.at))
			for i, at := range t.at {
				points[i] = point(seconds(at), t.values[i])
			}
			curve := Curve{Name: name, Source: t.source, Unit: curveUnits[name], Points: Decimate(points, maxPoints)}
			if apart := telling(t, tracks); apart != "" {
				curve.Source += " " + apart
			}
			out = append(out, curve)
		}
	}
	return out
}

// point rounds to what a chart can show, which halves the size of the file:
// milliseconds and 6 significant digits.
func point(at time.Duration, value float64) [2]float64 {
	return [2]float64{math.Round(at.Seconds()*1e3) / 1e3, significant(value, 6)}
}

func significant(x float64, digits int) float64 {
	if x == 0 {
		return 0
	}
	scale := math.Pow(10, float64(digits)-math.Ceil(math.Log10(math.Abs(x))))
	if rounded := math.Round(x*scale) / scale; !math.IsNaN(rounded) && !math.IsInf(rounded, 0) {
		return rounded
	}
	return x
}

// Decimate keeps at most limit points: the first, the last, and of each of equally
// many points between them the lowest and the highest, so that no peak is lost.
func Decimate(points [][2]float64, limit int) [][2]float64 {
	if len(points) <= limit {
		return points
	}
	inner := points[1 : len(points)-1]
	buckets := (limit - 2) / 2
	out := make([][2]float64, 0, limit)
	out = append(out, points[0])
	for b := range buckets {
		bucket := inner[b*len(inner)/buckets : (b+1)*len(inner)/buckets]
		low, high := 0, 0
		for i, p := range bucket {
			if p[1] < bucket[low][1] {
				low = i
			}
			if p[1] > bucket[high][1] {
				high = i
			}
		}
		out = append(out, bucket[min(low, high)])
		if low != high {
			out = append(out, bucket[max(low, high)])
		}
	}
	return append(out, points[len(points)-1])
}
