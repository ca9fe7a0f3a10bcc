package analysis

import (
	"fmt"
	"math"
)

// measured is x computed from n rows. A result that is not a finite number never
// leaves the package: JSON has no word for it, and a reader would have no use.
func measured(x float64, n int) Value {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return missing(n, "the result is not a finite number")
	}
	return Value{Value: &x, N: n}
}

// missing is the reason why there is no number.
func missing(n int, format string, args ...any) Value {
	return Value{N: n, Reason: fmt.Sprintf(format, args...)}
}

// perSecond is count over seconds.
func perSecond(count float64, seconds float64, n int) Value {
	if seconds <= 0 {
		return missing(n, "the phase has no measured time")
	}
	return measured(count/seconds, n)
}
