package router

const (
	fcfsType        = "fcfs-ordering-policy"
	edfType         = "edf-ordering-policy"
	sloDeadlineType = "slo-deadline-ordering-policy"
)

// ordering reports whether a is dispatched before b inside one flow.
type ordering func(a, b *request) bool

var orderings = map[string]ordering{
	fcfsType: fcfs,
	// The deadline is enqueue time plus time to live, and that is one value for all
	// requests in v0.10, so the earliest deadline is the earliest arrival.
	edfType:         fcfs,
	sloDeadlineType: sloDeadline,
}

// fcfs is the order of entry into the queue.
func fcfs(a, b *request) bool {
	if a.enqueued != b.enqueued {
		return a.enqueued < b.enqueued
	}
	return a.seq < b.seq
}

// sloDeadline is the order of arrival plus time-to-first-token budget. Requests
// without a budget come last.
func sloDeadline(a, b *request) bool {
	if a.deadline != b.deadline {
		return a.deadline < b.deadline
	}
	if a.received != b.received {
		return a.received < b.received
	}
	return a.seq < b.seq
}
