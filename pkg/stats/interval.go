package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is a confidence interval.
type Interval struct{ Low, High float64 }

// Mean is the arithmetic mean of x, which is not empty.
func Mean[F ~float32 | ~float64](x []F) float64 {
	var sum float64
	for _, v := range x {
		sum += float64(v)
	}
	return sum / float64(len(x))
}

// SD is the standard deviation with divisor n−1; x has at least 2 values.
func SD[F ~float32 | ~float64](x []F) float64 {
	mean := Mean(x)
	var sum float64
	for _, v := range x {
		sum += (float64(v) - mean) * (float64(v) - mean)
	}
	return math.Sqrt(sum / float64(len(x)-1))
}

// GeometricMean is exp of the mean of the logs; every x is positive.
func GeometricMean(x []float64) float64 { return math.Exp(Mean(logs(x))) }

// MeanInterval is Student's interval for the mean, m ± t·s/√n with n−1 degrees of
// freedom; x has at least 2 values.
func MeanInterval(x []float64, level float64) Interval {
	return OneSample(x).Interval(level)
}

// GeometricMeanInterval is Student's interval on the logs, brought back by exp: it
// takes values to vary by a factor from run to run, as latencies do. Every x is
// positive and there are at least 2.
func GeometricMeanInterval(x []float64, level float64) Interval {
	in := MeanInterval(logs(x), level)
	return Interval{math.Exp(in.Low), math.Exp(in.High)}
}

func logs(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = math.Log(v)
	}
	return out
}

func student(df float64) distuv.StudentsT { return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df} }

func studentQuantile(p, df float64) float64 { return student(df).Quantile(p) }
