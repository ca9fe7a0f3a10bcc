package gateway

import "bgbench/pkg/spec"

// signal is what a finished request tells the AIMD controller.
type signal string

const (
	signalNone          signal = ""
	signalSuccess       signal = "success"
	signal429           signal = "429"
	signal5xx           signal = "5xx"
	signalCapacityRetry signal = "capacity_retry"
)

// aimd adapts the concurrency limit of one endpoint: additive increase after a
// window of successes as long as the limit, multiplicative decrease on each signal
// of pressure. There is no cooldown, so n requests that fail together halve the
// limit n times (llm-d batch gateway, AIMDController).
type aimd struct {
	min, max, increase int
	factor             float64
	limit              int
	successes          int // since the last change of the limit or decrease
}

func newAIMD(cfg spec.AIMD, perEndpoint int) *aimd {
	return &aimd{
		min: cfg.Min, max: perEndpoint, increase: cfg.AdditiveIncrease,
		factor: cfg.BackoffFactor, limit: perEndpoint,
	}
}

func (a *aimd) success() {
	a.successes++
	if a.successes >= a.limit {
		a.successes = 0
		a.limit = min(a.max, a.limit+a.increase)
	}
}

func (a *aimd) decrease() {
	a.successes = 0
	a.limit = max(a.min, int(float64(a.limit)*a.factor))
}

// isPressure reports whether a signal makes the limit fall.
func (s signal) isPressure() bool {
	return s == signal429 || s == signal5xx || s == signalCapacityRetry
}

// signalOf classifies the end of a request. A request without a response in the
// output file (transport errors, timeouts, drops, an answer that is no JSON object)
// says nothing; every other status below 500 but 429 is a success, refusals
// included. capacityRetry says that an attempt before the last one met pressure,
// evicted that the router evicted the last one.
func signalOf(r result, capacityRetry, evicted bool, quirks spec.Quirks) signal {
	switch {
	case r.code == codeServer && !quirks.TimeoutIsNoSignal:
		return signal5xx
	case !r.hasResponse:
		return signalNone
	case evicted && !quirks.EvictionIsPressure:
		return signalNone
	case r.status == 429:
		return signal429
	case r.status >= 500:
		return signal5xx
	case r.status >= 400 && !quirks.RefusalIsSuccess:
		return signalNone
	// The retry is only remembered on answers that are 200.
	case r.status == 200 && capacityRetry:
		return signalCapacityRetry
	}
	return signalSuccess
}
