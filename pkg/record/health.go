package record

import (
	"fmt"
	"time"
)

// LoadHealth is the load generator's verdict on itself.
type LoadHealth struct {
	Due  int `json:"due"`  // requests in the schedule
	Sent int `json:"sent"` // of those, sent
	// AchievedOffered is the achieved over the offered rate: the share of the schedule
	// that was sent, less what the sending took longer than the schedule. Null without
	// a schedule.
	AchievedOffered *float64 `json:"achieved_offered"`
	// Percentiles of lateness and of the loop's lag are right to 1/256.
	LatenessP50S float64 `json:"lateness_p50_s"`
	LatenessP99S float64 `json:"lateness_p99_s"` // 99 of 100 requests left no later
	LatenessMaxS float64 `json:"lateness_max_s"` // the latest request
	CPUSeconds   float64 `json:"cpu_s"`          // processor time of the process
	WallSeconds  float64 `json:"wall_s"`         // how long the run took
	// SimulatedSeconds is the length of the run on the virtual clock, 0 on the wall clock.
	SimulatedSeconds float64 `json:"simulated_s"`
	// Process is the generator itself; null on the virtual clock, where it is no part
	// of what is measured.
	Process *ProcessHealth `json:"process"`
	// Outages are the stretches in which an endpoint gave no answer; OutagesMore counts
	// those that are not listed.
	Outages     []Outage `json:"outages"`
	OutagesMore int      `json:"outages_more"` // not listed
}

// ProcessHealth is what may have disturbed a generator on the wall clock.
type ProcessHealth struct {
	CPUs           float64 `json:"cpus"`            // that the process used, on average
	GCPauses       uint64  `json:"gc_pauses"`       // of the Go runtime
	GCPauseMaxS    float64 `json:"gc_pause_max_s"`  // upper edge of its bin in the histogram of the Go runtime
	LoopLagP50S    float64 `json:"loop_lag_p50_s"`  // how late the event loop looked at its clock
	LoopLagP99S    float64 `json:"loop_lag_p99_s"`  // 99 of 100 looks
	LoopLagMaxS    float64 `json:"loop_lag_max_s"`  // the latest look
	SocketsOpened  int64   `json:"sockets_opened"`  // TCP connections made
	ConnectionUses int64   `json:"connection_uses"` // requests that were written to one
	Reused         int64   `json:"reused"`          // of those, on a connection that had carried another
}

// Outage is a stretch of more than a second in which every request that reached for an
// endpoint failed without an answer.
type Outage struct {
	Endpoint  string    `json:"endpoint"`   // inference or batch
	StartedAt time.Time `json:"started_at"` // when the first request failed
	// EndedAt is the first answer after it; null where none came before the end of the run.
	EndedAt *time.Time `json:"ended_at"`
	Failed  int        `json:"failed"` // requests, or polls
}

// Limits of a generator that kept its schedule.
const (
	// LatenessLimitS: at the 15 requests per second of a burst the mean gap is 67 ms.
	// A request that leaves later than this arrives among others than it was meant to.
	LatenessLimitS = 0.050
	// AchievedLimit: a schedule of which a hundredth was never sent is another schedule.
	AchievedLimit = 0.99
)

// Faults says where the generator fell short of its schedule; none is a generator
// that kept it.
func (h LoadHealth) Faults() []string {
	var faults []string
	if h.LatenessP99S > LatenessLimitS {
		faults = append(faults, fmt.Sprintf("lateness p99 %.1f ms is above %.0f ms", 1e3*h.LatenessP99S, 1e3*LatenessLimitS))
	}
	// In a short schedule the lateness of its last request alone is a large share.
	if a := h.AchievedOffered; a != nil && *a < AchievedLimit && (h.Sent < h.Due || h.LatenessMaxS > LatenessLimitS) {
		faults = append(faults, fmt.Sprintf("achieved/offered %.4f is below %g", *a, AchievedLimit))
	}
	return faults
}

// String is h on one line.
func (h LoadHealth) String() string {
	text := fmt.Sprintf("sent %d of %d", h.Sent, h.Due)
	if h.AchievedOffered != nil {
		text += fmt.Sprintf(", achieved/offered %.4f", *h.AchievedOffered)
	}
	text += fmt.Sprintf(", lateness p50 %s p99 %s max %s", milli(h.LatenessP50S), milli(h.LatenessP99S), milli(h.LatenessMaxS))
	if p := h.Process; p != nil {
		text += fmt.Sprintf(", %.2f CPUs, loop lag p99 %s max %s, %d GC pauses up to %s, %d sockets",
			p.CPUs, milli(p.LoopLagP99S), milli(p.LoopLagMaxS), p.GCPauses, milli(p.GCPauseMaxS), p.SocketsOpened)
		if p.ConnectionUses > 0 {
			text += fmt.Sprintf(" (%.0f %% of requests reused one)", 100*float64(p.Reused)/float64(p.ConnectionUses))
		}
	}
	if n := len(h.Outages) + h.OutagesMore; n > 0 {
		text += fmt.Sprintf(", %d outages", n)
	}
	return text
}

func milli(seconds float64) string { return fmt.Sprintf("%.3g ms", 1e3*seconds) }
