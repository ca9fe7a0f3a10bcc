package analysis

import (
	"bgbench/pkg/stats"
)

// Share is a count out of a number, with an interval that takes the things counted to be
// independent. Requests of one trial are not quite, so that it holds within the trial
// and never stands for the spread between trials.
type Share struct {
	Count  int      `json:"count"`               // of the things counted
	N      int      `json:"n"`                   // out of so many
	Value  *float64 `json:"value"`               // count / n
	Low    *float64 `json:"ci_low"`              // bound at 95 %
	High   *float64 `json:"ci_high"`             // bound at 95 %
	Method string   `json:"ci_method,omitempty"` // Wilson or Clopper-Pearson
	Reason string   `json:"reason,omitempty"`    // why there is no value
}

// Methods of the interval of a Share.
const (
	methodWilson         = "Wilson"
	methodClopperPearson = "Clopper-Pearson"
)

// shareOf is a share of many, such as the requests of a phase.
func shareOf(count, n int, none string) Share {
	if n == 0 {
		return Share{Reason: none}
	}
	in := stats.Wilson(count, n, level)
	return Share{Count: count, N: n, Value: finite(float64(count) / float64(n)), Low: &in.Low, High: &in.High, Method: methodWilson}
}

// shareOfFew is a share of a few, such as the jobs of a profile: its interval is exact.
func shareOfFew(count, n int, none string) Share {
	if n == 0 {
		return Share{Reason: none}
	}
	in := stats.ClopperPearson(count, n, level)
	return Share{Count: count, N: n, Value: finite(float64(count) / float64(n)), Low: &in.Low, High: &in.High, Method: methodClopperPearson}
}

// unknownShare is one that could not be counted.
func unknownShare(reason string) Share { return Share{Reason: reason} }

// asValue is the share itself.
func (s Share) asValue() Value { return Value{Value: s.Value, N: s.N, Reason: s.Reason} }
