package analysis

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bgbench/pkg/record"
)

func TestLoadIsCountedOverTime(t *testing.T) {
	start := time.Unix(1000, 0).UTC()
	at := func(s float64) *time.Time {
		v := start.Add(time.Duration(s * float64(time.Second)))
		return &v
	}
	late := func(s float64) *float64 { return &s }
	l := loadSeconds{}
	for _, q := range []record.Request{
		{DueAt: at(0.1), SentAt: at(0.1), DoneAt: at(1.5), LatenessS: late(0), Status: record.StatusOK},
		{DueAt: at(0.9), SentAt: at(1.2), DoneAt: at(2.5), LatenessS: late(0.3), Status: record.StatusTimeout},
		{DueAt: at(2.0), LatenessS: nil, Status: record.StatusIncomplete}, // never sent, never done
		{SentAt: at(0.5), DoneAt: at(2.2), Status: record.StatusEvicted},  // of a backlog
	} {
		l.add(&q)
	}
	want := []Curve{
		{Name: "load:offered", Source: "requests", Unit: "requests/s", Points: [][2]float64{{0, 2}, {1, 0}, {2, 1}}},
		{Name: "load:sent", Source: "requests", Unit: "requests/s", Points: [][2]float64{{0, 1}, {1, 1}, {2, 0}}},
		{Name: "load:failed", Source: "requests", Unit: "requests/s", Points: [][2]float64{{0, 0}, {1, 0}, {2, 2}}},
		{Name: "load:lateness", Source: "requests", Unit: "s", Points: [][2]float64{{0, 0.3}, {1, 0}, {2, 0}}},
	}
	if diff := cmp.Diff(want, l.curves(start)); diff != "" {
		t.Error(diff)
	}
	if got := (loadSeconds{}).curves(start); got != nil {
		t.Errorf("no row gives the curves %v", got)
	}

	// Of an hour there are bins of 24 s, and each counts its own.
	hour := loadSeconds{}
	for i := range 3600 {
		hour.add(&record.Request{DueAt: at(float64(i)), Status: record.StatusOK})
	}
	offered := hour.curves(start)[0].Points
	if len(offered) > loadPoints || offered[0] != [2]float64{0, 1} || offered[1] != [2]float64{24, 1} {
		t.Errorf("%d points from %v and %v, want 150 of one request a second", len(offered), offered[0], offered[1])
	}
}
