package spec

import "reflect"

// Quirks are behaviours of llm-d's batch gateway that few would ask for and that
// change results. true is the gateway as it was observed; false is what one would
// expect of it, so that the difference between two arms is what a quirk costs. Only
// an emulated stack can switch one off.
type Quirks struct {
	// WorkerHeldAfterJob keeps a worker taken after its job until the job's cancel
	// listener returns from a blocking read of 20 s.
	WorkerHeldAfterJob bool `yaml:"workerHeldAfterJob" json:"workerHeldAfterJob"`
	// GlobalPerJob makes concurrency.global bound each job; else it bounds the
	// processor.
	GlobalPerJob bool `yaml:"globalPerJob" json:"globalPerJob"`
	// SlotHeldInBackoff keeps the slots of a request while it waits for a retry.
	SlotHeldInBackoff bool `yaml:"slotHeldInBackoff" json:"slotHeldInBackoff"`
	// BudgetStampedAtRead stamps x-slo-ttft-ms when a line is read, before it waits for
	// a slot, and leaves it on retries; else every attempt says what is left.
	BudgetStampedAtRead bool `yaml:"budgetStampedAtRead" json:"budgetStampedAtRead"`
	// EverySignalHalves lets AIMD decrease its limit at every signal; else requests
	// that were sent before the last decrease cause no other.
	EverySignalHalves bool `yaml:"everySignalHalves" json:"everySignalHalves"`
	// EvictionIsPressure lets AIMD take a request that the router evicted for a sign of
	// overload.
	EvictionIsPressure bool `yaml:"evictionIsPressure" json:"evictionIsPressure"`
	// RefusalIsSuccess lets AIMD count answers from 400 to 499 but 429 as successes;
	// else they say nothing.
	RefusalIsSuccess bool `yaml:"refusalIsSuccess" json:"refusalIsSuccess"`
	// TimeoutIsNoSignal lets AIMD ignore timeouts and broken connections; else they
	// count as a 5xx.
	TimeoutIsNoSignal bool `yaml:"timeoutIsNoSignal" json:"timeoutIsNoSignal"`
	// RetryAfterOnlyOn429 ignores Retry-After on every other status.
	RetryAfterOnlyOn429 bool `yaml:"retryAfterOnlyOn429" json:"retryAfterOnlyOn429"`
	// RetryDelayClamped brings every delay, that of Retry-After too, into
	// [initialBackoff, maxBackoff] after its jitter.
	RetryDelayClamped bool `yaml:"retryDelayClamped" json:"retryDelayClamped"`
	// RestartStartsOver loses the finished lines of a job when the processor restarts:
	// the job runs again from the first line, or fails when some were on disk; else it
	// goes on where it was.
	RestartStartsOver bool `yaml:"restartStartsOver" json:"restartStartsOver"`
}

// ObservedQuirks returns the quirks as they were observed: all of them.
func ObservedQuirks() Quirks {
	return Quirks{
		WorkerHeldAfterJob:  true,
		GlobalPerJob:        true,
		SlotHeldInBackoff:   true,
		BudgetStampedAtRead: true,
		EverySignalHalves:   true,
		EvictionIsPressure:  true,
		RefusalIsSuccess:    true,
		TimeoutIsNoSignal:   true,
		RetryAfterOnlyOn429: true,
		RetryDelayClamped:   true,
		RestartStartsOver:   true,
	}
}

// Off lists the keys of the quirks that are switched off.
func (q Quirks) Off() []string {
	var off []string
	v := reflect.ValueOf(q)
	for i := range v.NumField() {
		if !v.Field(i).Bool() {
			off = append(off, v.Type().Field(i).Tag.Get("yaml"))
		}
	}
	return off
}
