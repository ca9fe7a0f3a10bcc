package analysis

import (
	"fmt"
	"math"

	"bgbench/pkg/stats"
)

// level is the confidence level of every interval and bound.
const level = 0.95

// ordered are the values of one quantity in rising order.
type ordered interface {
	len() int
	at(i int) float64
	sum() float64 // in that order, so that the order of the rows leaves no trace
}

// outcomes are the values of a quantity in all rows that could have one.
type outcomes struct {
	values ordered
	// never counts the rows for which it never happened; they stand above every
	// value, as +Inf.
	never int
}

// distribution summarizes values. noun names what was counted, and none says why there
// is nothing.
func distribution(values ordered, noun, none string) Distribution {
	return outcomes{values, 0}.distribution(noun, none)
}

func (o outcomes) distribution(noun, none string) Distribution {
	d := Distribution{Unit: "s", N: o.len()}
	if d.N == 0 {
		nothing := missing(0, "%s", none)
		d.Mean, d.P50, d.P90, d.P95, d.P99, d.P999, d.Max = nothing, nothing, nothing, nothing, nothing, nothing, nothing
		return d
	}
	d.Mean, d.Max = o.mean(), o.max()
	d.P50, d.P90 = o.percentile(50, noun), o.percentile(90, noun)
	d.P95, d.P99, d.P999 = o.percentile(95, noun), o.percentile(99, noun), o.percentile(99.9, noun)
	return d
}

func (o outcomes) len() int { return o.values.len() + o.never }

func (o outcomes) at(i int) float64 {
	if i >= o.values.len() {
		return math.Inf(1)
	}
	return o.values.at(i)
}

func (o outcomes) mean() Value {
	if o.never > 0 {
		return o.fallsOnFailure("the mean")
	}
	return measured(o.values.sum()/float64(o.len()), o.len())
}

func (o outcomes) max() Value {
	if o.never > 0 {
		return o.fallsOnFailure("the maximum")
	}
	return measured(o.at(o.len()-1), o.len())
}

func (o outcomes) percentile(percent float64, noun string) Value {
	n := o.len()
	p := percent / 100
	if need := stats.MinimumN(p, level); n < need {
		return missing(n, "p%g needs at least %d %s, there are %d", percent, need, noun, n)
	}
	q := stats.QuantileAt(n, p, o.at)
	if math.IsInf(q, 1) {
		return o.fallsOnFailure(fmt.Sprintf("p%g", percent))
	}
	return measured(q, n)
}

func (o outcomes) fallsOnFailure(what string) Value {
	return missing(o.len(), "%s falls on a request that failed (%d of %d did)", what, o.never, o.len())
}
