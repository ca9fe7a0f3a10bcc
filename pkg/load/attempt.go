package load

import (
	"time"

	"bgbench/pkg/sim/kernel"
)

// Attempt is what a transport saw of one request. Instants are on the kernel's
// clock; what did not happen is not set.
type Attempt struct {
	Sent, Headers, FirstChunk, FirstToken, LastToken, Done Stamp

	// ChunkGaps and ChunkTokens are as in record.Request.
	ChunkGaps   []float32
	ChunkTokens []int32

	// Token counts of the server; nil where it gave none.
	PromptTokens, CachedTokens, OutputTokens, ReasoningTokens *int64
	TokenSource                                               string

	// Status is one of record's. A transport says StatusCancelled for what it ended
	// because it was told to; the replay knows why it told it.
	Status        string
	HTTPStatus    int
	DroppedReason string
	Error         string
	FinishReason  string

	Endpoint                 string
	ConnectionReused         *bool
	BytesSent, BytesReceived *int64
	OutputSHA256             string
}

// Content notes a content chunk of n tokens that arrived at t.
func (a *Attempt) Content(t kernel.Time, n int) {
	if !a.FirstChunk.OK {
		a.FirstChunk = At(t)
	}
	if a.FirstToken.OK {
		a.ChunkGaps = append(a.ChunkGaps, float32((t - a.LastToken.Time).Seconds()))
	} else {
		a.FirstToken = At(t)
	}
	a.LastToken = At(t)
	a.ChunkTokens = append(a.ChunkTokens, int32(n))
}

// Together notes a content chunk of n tokens that arrived with the one before it.
func (a *Attempt) Together(n int) {
	a.ChunkGaps = append(a.ChunkGaps, 0)
	a.ChunkTokens = append(a.ChunkTokens, int32(n))
}

// heardAfter is when the server was first heard of after an instant: by the headers of the
// answer or by a chunk of it.
func (a Attempt) heardAfter(t kernel.Time) (kernel.Time, bool) {
	switch {
	case a.Headers.OK && a.Headers.Time > t:
		return a.Headers.Time, true
	case !a.LastToken.OK || a.LastToken.Time <= t:
		return 0, false
	}
	at := a.FirstToken.Time
	for _, gap := range a.ChunkGaps {
		if at > t {
			break
		}
		at += time.Duration(float64(gap) * float64(time.Second))
	}
	if at <= t { // the gaps are rounded
		at = a.LastToken.Time
	}
	return at, true
}

// Stamp is an instant on the kernel's clock that may not have come.
type Stamp struct {
	Time kernel.Time
	OK   bool
}

// At is the stamp of t.
func At(t kernel.Time) Stamp { return Stamp{t, true} }

// secondsSince is the time from start to s, nil where either is missing.
func (s Stamp) secondsSince(start Stamp) *float64 {
	if !s.OK || !start.OK {
		return nil
	}
	d := (s.Time - start.Time).Seconds()
	return &d
}

// instant is s on the calendar of k, nil where it is missing.
func (s Stamp) instant(k *kernel.Kernel) *time.Time {
	if !s.OK {
		return nil
	}
	t := calendar(k, s.Time)
	return &t
}

// calendar is t as rows hold instants: UTC, without a monotonic reading.
func calendar(k *kernel.Kernel, t kernel.Time) time.Time {
	return k.Instant(t).Round(0).UTC()
}
