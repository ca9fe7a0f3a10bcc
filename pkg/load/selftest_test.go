package load

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"
)

func TestTheSearchEndsBetweenWhatHeldAndWhatFailed(t *testing.T) {
	for name, c := range map[string]struct {
		limit, most int
		hiccups     []int // tries, counted from 1, that fail whatever the load
		want        string
	}{
		"a limit in the middle":              {limit: 700, most: 10_000, want: "687 x (at 750: slow)"},
		"no limit":                           {limit: 99_999, most: 3000, want: "3000 x or more (the search ended there)"},
		"a limit below the first step":       {limit: 40, most: 10_000, want: "38 x (at 42: slow)"},
		"a machine that cannot do anything":  {limit: 0, most: 1000, want: "no x (at 1: slow)"},
		"a hiccup is no limit":               {limit: 99_999, most: 1000, hiccups: []int{1, 4}, want: "1000 x or more (the search ended there)"},
		"a hiccup while the gap is narrowed": {limit: 700, most: 10_000, hiccups: []int{5}, want: "687 x (at 750: slow)"},
	} {
		t.Run(name, func(t *testing.T) {
			tries := 0
			l, err := SelfTest{}.search(250, c.most, func(load int) (Rung, error) {
				tries++
				r := Rung{What: "x", Load: load}
				if load > c.limit || slices.Contains(c.hiccups, tries) {
					r.Faults = []string{"slow"}
				}
				return r, nil
			})
			if got := l.String(); err != nil || got != c.want {
				t.Errorf("found %s (%v), expected %s", got, err, c.want)
			}
		})
	}
	broken := errors.New("broken")
	if _, err := (SelfTest{}).search(1, 2, func(int) (Rung, error) { return Rung{}, broken }); !errors.Is(err, broken) {
		t.Errorf("found %v, expected the error of the try", err)
	}
}

func TestASelfTestDrivesRealRequestsAndLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	tried := map[string]int{}
	s := SelfTest{Rung: 100 * time.Millisecond, MaxRate: 50, MaxStreams: 5, Dir: dir, Progress: func(r Rung) {
		tried[r.What] = max(tried[r.What], r.Health.Sent)
		if r.Health.Sent != r.Health.Due || r.Health.Process == nil {
			t.Errorf("%d %s: found %+v", r.Load, r.What, r.Health)
		}
	}}
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if tried["requests/s"] != 5 || tried["streams"] != 5 {
		t.Errorf("found %v requests, expected 5 of each kind", tried)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("found %v (%v), expected no file to be left", left, err)
	}
}

func TestWhatAnAnswerTakesBeyondItsPaceIsAFault(t *testing.T) {
	j := judge{expected: time.Second, failed: 2, why: "timeout: x"}
	for range 200 {
		j.over = append(j.over, 0.010)
	}
	for range 6 {
		j.over = append(j.over, 0.2)
	}
	want := []string{"2 requests failed, such as with timeout: x", "answers p99 200.0 ms late, above 50 ms"}
	if got := j.faults(); !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
}
