package analysis

import (
	"maps"
	"slices"
	"time"

	"bgbench/pkg/record"
)

// loadSource is the source of curves that come from the rows of requests.
const loadSource = "requests"

// loadPoints bounds these curves: a rate needs seconds to be counted over.
const loadPoints = 150

// loadSecond is what happened in one second: requests that were due, that were sent of
// those, the largest lateness of one, and requests of any class that ended otherwise than ok.
type loadSecond struct {
	due, sent, failed int
	lateness          float64
}

// loadSeconds are kept by Unix time.
type loadSeconds map[int64]*loadSecond

func (l loadSeconds) of(at time.Time) *loadSecond {
	s := l[at.Unix()]
	if s == nil {
		s = &loadSecond{}
		l[at.Unix()] = s
	}
	return s
}

func (l loadSeconds) add(q *record.Request) {
	if q.DueAt != nil {
		s := l.of(*q.DueAt)
		s.due++
		if q.LatenessS != nil {
			s.lateness = max(s.lateness, *q.LatenessS)
		}
		if q.SentAt != nil {
			l.of(*q.SentAt).sent++
		}
	}
	if q.Status != record.StatusOK && q.DoneAt != nil {
		l.of(*q.DoneAt).failed++
	}
}

// curves counts over bins of whole seconds, as many as loadPoints at most.
func (l loadSeconds) curves(start time.Time) []Curve {
	if len(l) == 0 || start.IsZero() {
		return nil
	}
	seconds := slices.Sorted(maps.Keys(l))
	zero := start.Unix()
	first, last := seconds[0]-zero, seconds[len(seconds)-1]-zero
	width := (last-first)/loadPoints + 1
	bins := make([]loadSecond, (last-first)/width+1)
	for _, at := range seconds {
		s, bin := l[at], &bins[(at-zero-first)/width]
		bin.due, bin.sent, bin.failed = bin.due+s.due, bin.sent+s.sent, bin.failed+s.failed
		bin.lateness = max(bin.lateness, s.lateness)
	}
	curve := func(name, unit string, of func(loadSecond) float64) Curve {
		c := Curve{Name: name, Source: loadSource, Unit: unit}
		for i, bin := range bins {
			c.Points = append(c.Points, point(time.Duration(first+int64(i)*width)*time.Second, of(bin)))
		}
		return c
	}
	rate := func(n int) float64 { return float64(n) / float64(width) }
	return []Curve{
		curve("load:offered", "requests/s", func(s loadSecond) float64 { return rate(s.due) }),
		curve("load:sent", "requests/s", func(s loadSecond) float64 { return rate(s.sent) }),
		curve("load:failed", "requests/s", func(s loadSecond) float64 { return rate(s.failed) }),
		curve("load:lateness", "s", func(s loadSecond) float64 { return s.lateness }),
	}
}
